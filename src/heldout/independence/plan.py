"""Which scores of pictures are needed, and what T they give: the lazy plan, for many pictures at once.

A plan looks at the scores that pictures have so far, and for each one either asks for more positions or gives the
final outcome. It asks only for what can still change the answer, and its answers equal those of
`score_map_statistics` on the full map bit for bit. It knows no radius and no picture: an index table says where each
move leads. The same lines run on NumPy arrays and on torch tensors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from heldout.errors import InputError
from heldout.orbit import Rule
from heldout.orbit.rules import check_rule
from heldout.orbit.table import MoveTable
from heldout.scorers.arrays import Array, Arrays, NumpyArrays

UNTOUCHED, ADVERSARIAL, WRONG = 0, 1, 2
KINDS = ("untouched", "adversarial", "wrong")
NOT_MOVED = -1  # where no single move is chosen
CELLS = 2**22  # scores that are looked at in one piece; bounds the memory, changes no bit


@dataclass(frozen=True)
class Decision:
    """What is known of n pictures, one row each."""

    settled: Array  # whether there is an outcome; where not, the other numbers mean nothing
    statistic: Array  # T
    weight: Array  # h(g(x)); for the random rules the mean over the wrong candidates; NaN if untouched
    kind: Array
    move: Array  # number of the move that g takes, or NOT_MOVED
    moved_loss: Array  # L(g(x)), its expectation for the random rules
    moved_score: Array  # excess score of g(x), the largest among the candidates for the random rules
    asked: Array  # (n, n_positions) which scores are wanted next
    open: Array  # how many are wanted in all where `ask` limits what is asked for, else 0
    symmetric: Array | None = None  # of a finite group: whether some versions are the same, and
    views_wrong: Array | None = None  # (n, n_positions) which versions are wrong, those that are the same each time


class Plan:
    """The plan of one orbit under one rule.

    A score map is a row of float64, one number for each position of the table, NaN where no score is known yet.

    Parameters
    ----------
    table : MoveTable
        The orbit.
    rule : {"strongest", "nearest", "random", "random2"}
        How a move is chosen.
    arrays : Arrays
        Where score maps live.
    """

    def __init__(self, table: MoveTable, rule: Rule, arrays: Arrays | None = None) -> None:
        check_rule(rule)
        if rule == "nearest" and table.lengths is None:
            raise InputError("the rule 'nearest' needs moves with a length, which these have not; use 'strongest'.")
        self.table, self.rule = table, rule
        self._xp = xp = arrays or NumpyArrays()
        self._is_random = rule in ("random", "random2")
        order = np.arange(table.n_moves)
        preferred = np.lexsort((order, table.lengths)) if rule == "nearest" and table.lengths is not None else order
        rank = np.argsort(preferred)
        # before[j, k]: from the same z, move k is preferred to move j among equally good targets
        before = rank < rank[:, None]
        self._rank, self._by_rank = xp.put(rank), xp.put(preferred)
        self._before = xp.put(before)
        self._matters = self._before if rule == "nearest" else xp.put(order != order[:, None])
        around, times = table.reached[table.centre], 1
        if self._is_random and table.first is not None:
            # A choice among distinct candidates, each of them reached by one move more than lead nowhere.
            distinct, at = np.unique(around, return_index=True)
            times = 1 + int((around == table.centre).sum())
            around = around[np.sort(at[distinct != table.centre])]
        self._choices = max(1, len(around) + (rule == "random2"))
        self._choices_by_move = times * self._choices
        # An example that every move leaves as it is has itself for its only neighbour.
        self._around = xp.put(around if len(around) else np.array([table.centre]))
        # n(x') is wanted at x itself and at each candidate
        self._targets = xp.put(np.append(table.reached[table.centre], table.centre))
        self._left, self._reached = xp.put(table.left), xp.put(table.reached)
        self._position = xp.put(np.arange(table.n_positions))
        points = np.arange(table.n_positions) if table.first is None else np.unique(table.first)
        self._points = xp.put(points) if table.is_group else None
        self._views = self._position if table.first is None else xp.put(table.first)

    def decide(self, maps: Array, ask: int) -> Decision:
        """Outcomes, or the positions to score next.

        Parameters
        ----------
        maps : (n, n_positions) float64
            Scores so far.
        ask : int
            Most positions a picture asks for while its weight is being settled; fewer is lazier, in more rounds.

        Returns
        -------
        Decision
            A picture that is not settled asks for at least one position, and never for one that is known.
        """
        xp = self._xp
        here, seen = maps[:, self.table.centre], maps[:, self._around]
        is_wrong, is_right, unknown, fooled = here > 0.0, here <= 0.0, xp.isnan(seen), seen > 0.0
        looks = is_wrong | is_right if self._is_random else is_right  # at its neighbours
        seen_all = looks & ~unknown.any(-1)
        moved = seen_all & is_right & fooled.any(-1)
        strongest = xp.most(xp.where(unknown, 0.0, seen))

        asked = xp.full(tuple(maps.shape), False)
        asked[:, self._around] = unknown & looks[:, None]
        asked[:, self.table.centre] = xp.isnan(here)  # after its neighbours: of a symmetric example it is one of them
        wanted = xp.full((len(maps),), 0)
        settled = seen_all & is_right & ~moved
        weight, moved_to = xp.full((len(maps),), math.nan), xp.full((len(maps),), 0.0)  # h, and E L(g) h(g)
        if self._is_random:
            move = xp.full((len(maps),), NOT_MOVED)
            rows = xp.nonzero(seen_all & (is_wrong | moved))[0]
            settled[rows], weight[rows], moved_to[rows], more = self._mean_weights(maps[rows], is_wrong[rows])
            loss, score = xp.count(fooled) / self._choices, strongest
        else:
            move = xp.where(moved, self._preferred(seen, strongest), NOT_MOVED)
            rows = xp.nonzero(is_wrong | moved)[0]
            settled[rows], weight[rows], more, wanted[rows] = self._weights(maps[rows], self._targets[move[rows]], ask)
            moved_to[rows] = weight[rows]
            loss, score = xp.where(moved, 1.0, 0.0), seen[xp.rows(len(seen)), move]
        asked[rows] = asked[rows] | more
        symmetric = views_wrong = None
        if self._points is not None:
            missing = xp.isnan(maps[:, self._points])
            asked[:, self._points] = asked[:, self._points] | missing
            settled = settled & ~missing.any(-1)
            symmetric = xp.full((len(maps),), len(self._points) < self.table.n_positions)
            views_wrong = maps[:, self._views] > 0.0
        return Decision(
            settled=settled,
            statistic=moved_to - xp.where(is_wrong, 1.0, 0.0),
            weight=weight,
            kind=xp.where(is_wrong, WRONG, xp.where(moved, ADVERSARIAL, UNTOUCHED)),
            move=move,
            moved_loss=xp.where(is_wrong, 1.0, loss),
            moved_score=xp.where(is_wrong, here, xp.where(moved, score, 0.0)),
            asked=asked,
            open=wanted,
            symmetric=symmetric,
            views_wrong=views_wrong,
        )

    def _preferred(self, seen: Array, strongest: Array) -> Array:
        """The number of the move that g takes from a right picture whose neighbours `seen` are not all right."""
        xp, is_best = self._xp, seen > 0.0
        if self.rule == "strongest":
            is_best = is_best & (seen == strongest[:, None])
        return self._by_rank[xp.least(xp.where(is_best, self._rank, self.table.n_moves - 1))]

    def _weights(self, maps: Array, target: Array, ask: int) -> tuple[Array, Array, Array, Array]:
        """Whether h(x') of each picture's x' is known, h(x'), the positions to ask for, and how many may settle it."""
        size = max(1, CELLS // self.table.n_moves**2)
        parts = [
            self._weights_of_part(maps[start : start + size], target[start : start + size], ask)
            for start in range(0, max(1, len(maps)), size)
        ]
        known, weight, asked, wanted = (self._xp.concatenate(part) for part in zip(*parts, strict=True))
        return known, weight, asked, wanted

    def _weights_of_part(self, maps: Array, target: Array, ask: int) -> tuple[Array, Array, Array, Array]:
        """n(x') is the number of right points z with g(z) = x'.

        A z is out once it is known to be wrong or to see a target it prefers to x'; it is in once
        everything it might prefer is known and is not preferred.
        """
        xp, n, n_positions = self._xp, len(maps), self.table.n_positions
        scores = maps.reshape(-1)
        first = (xp.rows(n) * n_positions)[:, None]  # of each picture's scores
        z = self._left[target] + first  # (n, move from z to x')
        windows = self._reached[self._left[target]] + first[..., None]  # (n, move from z to x', candidate of z)
        z_scores, seen = scores[z], scores[windows]
        if self.rule == "nearest":
            preferred = (seen > 0.0) & self._before
        else:
            score = scores[target[:, None] + first][..., None]
            preferred = (seen > score) | ((seen == score) & self._before)
        is_out = (z_scores > 0.0) | preferred.any(-1)
        is_open = xp.isnan(seen) & self._matters & ~is_out[..., None]
        z_open = xp.isnan(z_scores) & ~is_out
        # Ask first for the positions that lie in the windows of the most undecided z, the first of equals.
        cover = xp.counts(windows, is_open, len(scores)) + xp.counts(z, z_open, len(scores))
        cover = cover.reshape(n, n_positions)
        keys = cover * n_positions + (n_positions - 1 - self._position)  # no two of a picture are equal
        asked = (cover > 0) & (keys >= xp.nth_largest(keys, min(ask, n_positions))[:, None])
        weight = 1.0 / (1.0 + xp.count(~is_out))  # (9)
        return ~asked.any(-1), weight, asked, (cover > 0).sum(-1)

    def _mean_weights(self, maps: Array, is_wrong: Array) -> tuple[Array, Array, Array, Array]:
        """For the random rules, of pictures that have seen all their neighbours: whether all right points around the
        targets are known, the mean weight of the targets, E L(g(x)) h(g(x)), and the positions that are missing."""
        size = max(1, CELLS // self.table.n_moves**2)
        parts = [
            self._mean_weights_of_part(maps[start : start + size], is_wrong[start : start + size])
            for start in range(0, max(1, len(maps)), size)
        ]
        known, weight, expected, asked = (self._xp.concatenate(part) for part in zip(*parts, strict=True))
        return known, weight, expected, asked

    def _mean_weights_of_part(self, maps: Array, is_wrong: Array) -> tuple[Array, Array, Array, Array]:
        xp, n, n_positions = self._xp, len(maps), self.table.n_positions
        targets = (maps[:, self._around] > 0.0) & ~is_wrong[:, None]
        windows = self._reached[self._around]  # (target, neighbour of target)
        around = maps[:, windows]
        is_open = xp.isnan(around) & targets[..., None]
        places = (xp.rows(n) * n_positions)[:, None, None] + windows
        asked = xp.counts(places, is_open, n * n_positions).reshape(n, n_positions) > 0
        weights = 1.0 / (1.0 + xp.count(around <= 0.0) / self._choices_by_move)  # (10)
        own = 1.0 / (1.0 + xp.count(maps[:, self._around] <= 0.0) / self._choices)
        # Added one move after the other, as score_map_statistics does: the bits must agree.
        total = xp.full((n,), 0.0)
        for k in range(targets.shape[1]):
            total = total + xp.where(targets[:, k], weights[:, k], 0.0)
        mean = total / xp.where(is_wrong, 1.0, xp.count(targets))
        return (
            ~asked.any(-1),
            xp.where(is_wrong, own, mean),
            xp.where(is_wrong, own, total / self._choices),
            asked,
        )
