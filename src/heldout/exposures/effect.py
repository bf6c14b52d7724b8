"""How large the effect of exposure is.

It is delta, the log-odds ratio of exposure: each value is tested by the chains of the margins test under tables tilted
by it, and the interval holds the values that neither of two one-sided tests rejects. Families are the unit: of every
value the p-values of several draws of their members are combined.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from heldout.exposures.families import combined, draws_of, fewer, members, successes
from heldout.exposures.inputs import Board
from heldout.exposures.kept import Kept
from heldout.statistics.margins import MarginChains, monte_carlo_p

# Draws of members, for the interval of delta: on LiveCodeBench by lineage another seed moved its lower end by 0.8 with
# three, and by 0.2 with twelve.
EFFECT_DRAWS, FEWEST = 12, 3  # where tables are small and where they are large
PER_DRAW = 10  # draws of the margins test for each of these
EFFECT_TABLES = 999  # of each delta that is tested
NEWTON, HALVINGS, FIRST_LOOK = 6, 5, 199
EFFECT_TESTS = 18  # of delta, or about so many
LOOK_WIDE = 5 * 99  # a fifth of it where the table is wide
LARGE = 3.0  # delta that is looked at again: it may be infinite
FARTHEST = 12.0  # delta beyond which an end is said to be infinite
NORMAL = 1.96


@dataclass(frozen=True, kw_only=True)
class Effect:
    """The log-odds ratio of exposure and its interval.

    Infinite where tables leave it open; NaN where nothing can move, or where so few tables could reject no value.
    """

    log_odds: float
    interval: tuple[float, float]


def effect(
    board: Board,
    *,
    level: float,
    steps: int,
    n_jobs: int,
    rng: np.random.Generator,
    n_tables: int = EFFECT_TABLES,
    kept: Kept | None = None,
) -> Effect:
    """delta by Newton's method on the expected statistic, its interval by inversion of exact tests."""
    drawn = members(board, max(FEWEST, min(EFFECT_DRAWS, draws_of(board) // PER_DRAW)), rng)
    tables = [_Tilted(board, rows, steps, n_jobs) for rows in drawn]
    seeds = [int(s) for s in rng.integers(0, 2**63, size=len(tables))]
    search = _Search(tables, seeds, kept or Kept(), look=fewer(board, min(FIRST_LOOK, n_tables), LOOK_WIDE))
    search.find()
    if not math.isfinite(search.error):
        return Effect(log_odds=math.nan, interval=(math.nan, math.nan))
    times = 1 if len(tables) == 1 else 2  # of a mean p
    usual = min(EFFECT_TABLES, n_tables)
    each = fewer(board, usual if times == 1 else max(search.look, usual // 2), EFFECT_TABLES)
    each = max(each, min(n_tables, math.ceil(2 * times / level)))  # p must be able to reject
    if times / (each + 1) > level / 2:
        return Effect(log_odds=search.best, interval=(math.nan, math.nan))
    return Effect(log_odds=search.best, interval=(search.end(-1.0, level, each), search.end(1.0, level, each)))


@dataclass(frozen=True, kw_only=True)
class _Tested:
    """What tables of one law say of a statistic."""

    p_greater: float
    p_less: float
    gap: float  # observed less expected
    variance: float


class _Tilted:
    """The table of some models, tested at any delta; one seed for all, so that p moves smoothly."""

    def __init__(self, board: Board, rows: NDArray[np.intp], steps: int, n_jobs: int) -> None:
        self._cells, self._seen, self._strata = board.cells[rows], board.seen[rows], board.strata
        self._steps, self._n_jobs = steps, n_jobs
        self.observed = float(((self._cells == 1) & self._seen).sum())

    def test(self, delta: float, n_tables: int, rng: np.random.Generator) -> _Tested:
        chains = MarginChains(
            self._cells, strata=self._strata, tilt=self._seen, delta=delta, steps=self._steps, n_jobs=self._n_jobs
        )
        sums = successes(chains, self._seen, n_tables, rng)
        s = self.observed
        return _Tested(
            p_greater=monte_carlo_p(s, sums),
            p_less=monte_carlo_p(-s, -sums),
            gap=s - float(sums.mean()),
            variance=float(sums.var()),
        )


class _Search:
    """delta, and the ends of its interval; every test is kept under its number, as the same are asked for in order."""

    def __init__(self, tables: list[_Tilted], seeds: list[int], kept: Kept, *, look: int) -> None:
        self._tables, self._seeds, self._kept, self._number = tables, seeds, kept, count()
        self.look, self.best, self.error = look, 0.0, math.inf

    def test(self, delta: float, n_tables: int) -> _Tested:
        """All draws of members together."""
        name = f"effect {next(self._number)}"
        return self._kept.part(name, _Tested, lambda: self._of_all(delta, n_tables))

    def _of_all(self, delta: float, n_tables: int) -> _Tested:
        pairs = zip(self._tables, self._seeds, strict=True)
        one = [table.test(delta, n_tables, np.random.default_rng(seed)) for table, seed in pairs]
        return _Tested(
            p_greater=combined([t.p_greater for t in one]),
            p_less=combined([t.p_less for t in one]),
            gap=float(np.mean([t.gap for t in one])),
            variance=float(np.mean([t.variance for t in one])),
        )

    def find(self) -> None:
        """The delta at which as much is expected as is observed, by Newton's method; no error where nothing moves."""
        for _ in range(NEWTON):
            found = self.test(self.best, self.look)
            if found.variance <= 0:
                break
            self.error = min(FARTHEST, 1 / math.sqrt(found.variance))
            move = max(-2.0, min(2.0, found.gap / found.variance))
            self.best += move
            if abs(move) < 0.05 * self.error:
                break
        if abs(self.best) > LARGE:  # perhaps no table has more, or less, than this one
            last = self.test(math.copysign(FARTHEST, self.best), self.look)
            self.best = math.copysign(math.inf, self.best) if last.gap * self.best >= 0 else self.best

    def end(self, side: float, level: float, n_tables: int) -> float:
        """The outermost value that is still rejected, next to the interval."""

        def rejected(delta: float) -> bool:
            found = self.test(delta, n_tables)
            return (found.p_greater if side < 0 else found.p_less) <= level / 2

        if math.isinf(self.best) and (self.best > 0) == (side > 0):
            return self.best
        inner = self.best if math.isfinite(self.best) else math.copysign(FARTHEST, self.best)
        reach = NORMAL * self.error * (1.0 if len(self._tables) == 1 else 1.3)
        outer = inner + side * reach
        while not rejected(outer):
            inner, reach = outer, 1.5 * reach
            outer = inner + side * reach / 2
            if abs(outer) > FARTHEST:
                return side * math.inf
        for _ in range(HALVINGS):
            middle = (inner + outer) / 2
            if rejected(middle):
                outer = middle
            else:
                inner = middle
        return outer
