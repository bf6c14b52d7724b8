"""The slow way, from the definitions: points, moves, a generator g, and who lands where.

Nothing is shared with the package but the formula T = L(g(x)) h(g(x)) - L(x).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

Point = tuple[int, int]
Score = Callable[[Point], float]


def moves(radius: int) -> list[Point]:
    return [
        (down, right)
        for down in range(-radius, radius + 1)
        for right in range(-radius, radius + 1)
        if (down, right) != (0, 0)
    ]


def generator(score: Score, x: Point, radius: int, rule: str) -> Point:
    """g(x) for the deterministic rules."""
    if score(x) > 0:
        return x
    wrong = []
    for order, (down, right) in enumerate(moves(radius)):
        candidate = (x[0] + down, x[1] + right)
        if score(candidate) > 0:
            length = down * down + right * right
            key = (-score(candidate), order) if rule == "strongest" else (length, order)
            wrong.append((key, candidate))
    return min(wrong)[1] if wrong else x


def statistic(score: Score, x: Point, radius: int, rule: str, *, same=None, number=float):
    """T at x; `number=Fraction` computes exactly; `same` tells when two positions are one point."""
    same = same or (lambda p: p)
    one = number(1)
    if rule in ("strongest", "nearest"):
        target = generator(score, x, radius, rule)
        if score(target) <= 0:
            return number(0)
        sources = {
            same((target[0] - v[0], target[1] - v[1]))
            for v in moves(radius)
            if same(generator(score, (target[0] - v[0], target[1] - v[1]), radius, rule)) == same(target)
        } - {same(target)}
        weight = one / (one + len(sources))
        return weight - one if score(x) > 0 else weight

    choices = len(moves(radius)) + (1 if rule == "random2" else 0)

    def weight_at(p: Point):
        right = sum(score((p[0] - v[0], p[1] - v[1])) <= 0 for v in moves(radius))
        return one / (one + number(right) / number(choices))

    if score(x) > 0:
        return weight_at(x) - one
    total = number(0)
    for v in moves(radius):
        candidate = (x[0] + v[0], x[1] + v[1])
        if score(candidate) > 0:
            total += weight_at(candidate)
    return total / number(choices)


def torus_total(field, radius: int, rule: str) -> Fraction:
    height, width = field.shape
    return sum(
        (
            statistic(
                lambda p: float(field[p[0] % height, p[1] % width]),
                (i, j),
                radius,
                rule,
                same=lambda p: (p[0] % height, p[1] % width),
                number=Fraction,
            )
            for i in range(height)
            for j in range(width)
        ),
        Fraction(0),
    )


class Orbit:
    """Points that are pictures themselves, and moves between them, in the order that decides ties.

    Parameters
    ----------
    do : list of functions
        Each takes a picture to a picture.
    undo : list of functions
        The same moves backwards.
    score : function
        The excess score of a picture.
    """

    def __init__(self, do, undo, score):
        self.do, self.undo, self.score = do, undo, cache(score)
        self.candidates, self.generator, self.incoming = map(cache, (self.candidates, self.generator, self.incoming))

    def candidates(self, x) -> list:
        """Distinct pictures other than x, in the order in which moves first reach them."""
        return [y for y in dict.fromkeys(move(x) for move in self.do) if y != x]

    def generator(self, x):
        """g(x) of the rule "strongest"."""
        found = x
        if self.score(x) <= 0:
            for y in self.candidates(x):
                if self.score(y) > max(0, self.score(found)):
                    found = y
        return found

    def incoming(self, x, rule: str, number):
        """n(x)."""
        sources = {move(x) for move in self.undo} - {x}
        if rule == "strongest":
            return number(sum(self.generator(z) == x for z in sources))
        right = [z for z in sources if self.score(z) <= 0]
        (choices,) = {len(self.candidates(z)) for z in right} or {1}
        return number(len(right)) / number(choices + (rule == "random2"))

    def statistic(self, x, rule: str, number=float):
        """T at x."""
        one = number(1)
        if self.score(x) > 0:
            return one / (one + self.incoming(x, rule, number)) - one
        if rule == "strongest":
            y = self.generator(x)
            return number(0) if self.score(y) <= 0 else one / (one + self.incoming(y, rule, number))
        candidates, total = self.candidates(x), number(0)
        for y in candidates:
            if self.score(y) > 0:
                total += one / (one + self.incoming(y, rule, number))
        return total / number(len(candidates) + (rule == "random2")) if candidates else total
