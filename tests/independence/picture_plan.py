"""The plan for one picture at a time, written before the one for many: an oracle for its requests and outcomes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.orbit import Rule, Translations
from heldout.orbit.rules import check_rule

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]

UNTOUCHED, ADVERSARIAL, WRONG = 0, 1, 2
KINDS = ("untouched", "adversarial", "wrong")
ASK_AT_ONCE = 3  # positions a picture asks for while weights are settled; fewer is lazier, in more rounds


@dataclass(frozen=True)
class Outcome:
    """What a picture contributes."""

    statistic: float  # T
    weight: float  # h(g(x)); for the random rules the mean over the wrong candidates; NaN if untouched
    kind: int
    move: tuple[int, int]  # (0, 0) where nothing is moved, and for the random rules
    moved_loss: float  # L(g(x)), its expectation for the random rules
    moved_score: float  # excess score of g(x), the largest among the candidates for the random rules


class TranslationPlan:
    """The plan for translations under one rule.

    A score map is a flat float64 array of `size` positions with NaN where no score is known yet;
    `position(v)` says where the score of the picture moved by v stands, and `move_of[position]` which
    move leads there.

    Parameters
    ----------
    orbit, rule
        Moves and how one is chosen.
    period : (int, int), optional
        Side lengths of the torus, where shifts are cyclic: moves that differ by a whole turn share
        one position, so that no point is scored twice.
    """

    def __init__(self, orbit: Translations, rule: Rule, *, period: tuple[int, int] | None = None) -> None:
        check_rule(rule)
        radius = orbit.radius
        if period is not None and min(period) < 2 * radius + 1:
            raise InputError(
                f"pictures of {period[0]} x {period[1]} are too small to turn by radius {radius}; "
                f"the largest radius that fits is {(min(period) - 1) // 2}."
            )
        self.orbit, self.rule, self.period = orbit, rule, period
        self.reach = orbit.margin(rule)
        span = 2 * self.reach + 1
        sides = (span, span) if period is None else (min(span, period[0]), min(span, period[1]))
        rows, columns = np.arange(span) % sides[0], np.arange(span) % sides[1]
        self._flat = rows[:, None] * sides[1] + columns
        self.size = sides[0] * sides[1]
        self.centre = int(self._flat[self.reach, self.reach])

        moves = orbit.moves
        self._moves = moves
        # windows[p] lists the positions of p + u for all moves u, in their order; p within 2 * radius
        inner = self.reach - radius
        self._inner = inner
        grid = np.moveaxis(np.mgrid[-inner : inner + 1, -inner : inner + 1], 0, -1).reshape(-1, 1, 2)
        around = grid + moves + self.reach
        self._windows = self._flat[around[..., 0], around[..., 1]]
        lengths = (moves**2).sum(axis=1)
        order = np.arange(len(moves))
        # before[j, k]: from the same z, move k is preferred to move j among equally good targets
        self._by_length = np.lexsort((order, lengths))
        if rule == "nearest":
            rank = np.argsort(self._by_length)
            self._before = rank < rank[:, None]
            self._matters = self._before
        else:
            self._before = order < order[:, None]
            self._matters = order != order[:, None]

        # The move that leads to a position: on a torus the smallest of several.
        by_size = np.argsort(np.abs(np.mgrid[:span, :span] - self.reach).max(axis=0).ravel(), kind="stable")
        _, first = np.unique(self._flat.ravel()[by_size], return_index=True)
        self.move_of = np.stack(np.divmod(by_size[first], span), axis=1) - self.reach

    def position(self, move: tuple[int, int] | Positions) -> int:
        """Where the score of the picture moved by `move` stands in a score map."""
        return int(self._flat[move[0] + self.reach, move[1] + self.reach])

    def decide(self, scores: Floats, *, eager: bool = False) -> Outcome | Positions:
        """The outcome, or the positions to score next: few at a time, or all that may matter if `eager`."""
        here = scores[self.centre]
        if math.isnan(here):
            return np.array([self.centre])
        if self.rule in ("random", "random2"):
            return self._decide_random(scores, here=float(here))
        is_wrong = bool(here > 0.0)
        target = (0, 0)
        if not is_wrong:
            around = self._window((0, 0))
            seen = scores[around]
            unknown = np.isnan(seen)
            if unknown.any():
                return np.asarray(around[unknown])
            if not (seen > 0.0).any():
                return Outcome(0.0, math.nan, UNTOUCHED, (0, 0), 0.0, 0.0)
            if self.rule == "strongest":
                k = int(np.argmax(seen))  # the first of equals
            else:
                k = int(self._by_length[np.argmax(seen[self._by_length] > 0.0)])
            target = (int(self._moves[k, 0]), int(self._moves[k, 1]))
        incoming = self._incoming(scores, target, eager)
        if isinstance(incoming, np.ndarray):
            return incoming
        weight = 1.0 / (1.0 + incoming)  # (9)
        kind = WRONG if is_wrong else ADVERSARIAL
        return Outcome(weight - is_wrong, weight, kind, target, 1.0, float(scores[self.position(target)]))

    def _window(self, point: tuple[int, int]) -> Positions:
        side = 2 * self._inner + 1
        return np.asarray(self._windows[(point[0] + self._inner) * side + point[1] + self._inner])

    def _incoming(self, scores: Floats, target: tuple[int, int], eager: bool) -> int | Positions:
        """n(x'), the right points z = x' - v with g(z) = x', or the positions that may settle it.

        A z is out once it is known to be wrong or to see a target it prefers to x'; it is in once
        everything it might prefer is known and is not preferred.
        """
        side = 2 * self._inner + 1
        starts = np.array(target) - self._moves
        rows = (starts[:, 0] + self._inner) * side + starts[:, 1] + self._inner
        z = self._flat[starts[:, 0] + self.reach, starts[:, 1] + self.reach]
        z_scores = scores[z]
        windows = self._windows[rows]  # (move of z to x', candidate of z)
        seen = scores[windows]
        if self.rule == "nearest":
            preferred = (seen > 0.0) & self._before
        else:
            target_score = scores[self.position(target)]
            preferred = (seen > target_score) | ((seen == target_score) & self._before)
        out = (z_scores > 0.0) | preferred.any(axis=1)
        open_cells = np.isnan(seen) & self._matters & ~out[:, None]
        z_unknown = np.isnan(z_scores) & ~out
        if not z_unknown.any() and not open_cells.any():
            return int((~out).sum())
        # Ask first for the positions that lie in the windows of the most undecided z.
        cover = np.bincount(windows[open_cells], minlength=self.size)
        cover += np.bincount(z[z_unknown], minlength=self.size)
        best = np.argsort(-cover, kind="stable")[: self.size if eager else ASK_AT_ONCE]
        return np.asarray(best[cover[best] > 0])

    def _decide_random(self, scores: Floats, *, here: float) -> Outcome | Positions:
        choices = len(self._moves) + (self.rule == "random2")
        around = self._window((0, 0))
        seen = scores[around]
        unknown = np.isnan(seen)
        if unknown.any():
            return np.asarray(around[unknown])
        if here > 0.0:
            weight = 1.0 / (1.0 + int((seen <= 0.0).sum()) / choices)  # (10)
            return Outcome(weight - 1.0, weight, WRONG, (0, 0), 1.0, here)
        targets = self._moves[seen > 0.0]
        if not len(targets):
            return Outcome(0.0, math.nan, UNTOUCHED, (0, 0), 0.0, 0.0)
        windows = np.stack([self._window((int(t[0]), int(t[1]))) for t in targets])
        needed = np.unique(windows[np.isnan(scores[windows])])
        if len(needed):
            return needed
        right_around = (scores[windows] <= 0.0).sum(axis=1)
        weights = 1.0 / (1.0 + right_around / choices)  # (10)
        # Added one move after the other, as score_map_statistics does: the bits must agree.
        total = 0.0
        for weight in weights:
            total += float(weight)
        share = len(weights) / choices
        return Outcome(total / choices, total / len(weights), ADVERSARIAL, (0, 0), share, float(seen.max()))
