"""The slow way, from the definitions: points, moves, a generator g, and who lands where.

Nothing is shared with the package but the formula T = L(g(x)) h(g(x)) - L(x).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

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
