r"""The margins test with the family as the unit, and how large the effect of exposure is.

Models of one family share what makes examples hard or easy for them, so that they are no independent witnesses. One
member of each family is drawn R times, without looking at results; each draw makes a table whose margins test is exact,
and the R p-values are combined by

.. math:: p = \min\Big(1, \frac{2}{R} \sum_r p_r\Big),    \tag{1}

which is valid however they depend on each other (Rüschendorf 1982; Vovk and Wang 2020). Where every model is its own
family there is one table, and its p.

The effect is delta, the log-odds ratio of exposure: each value is tested by the same chains under tables tilted by it,
and the interval holds the values that neither of two one-sided tests rejects.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from heldout.checkpoints import Arrays
from heldout.exposures.inputs import Board, Flags
from heldout.exposures.kept import Kept
from heldout.statistics.margins import MarginChains, monte_carlo_p

Floats = NDArray[np.float64]

DRAWS = 10  # times a member of each family is drawn
LEAST = 999  # tables of each such draw, at least where so many are asked for
EFFECT_DRAWS = 3  # of members, for the interval of delta
EFFECT_TABLES = 999  # of each delta that is tested
NEWTON, HALVINGS, FIRST_LOOK = 6, 5, 199
EFFECT_TESTS = 18  # of delta, or about so many
LOOK_WIDE = 5 * 99  # a fifth of it where the table is wide
LARGE = 3.0  # delta that is looked at again: it may be infinite
FARTHEST = 12.0  # delta beyond which an end is said to be infinite
WIDE = 500_000  # cells of a table from which on fewer tables are drawn for checks and for every delta
NORMAL = 1.96


@dataclass(frozen=True, kw_only=True, eq=False)
class Pass:
    """What B tables with the margins of the whole table say."""

    by_model: NDArray[np.int64]  # (B, k) successes on what a model could have seen
    by_stratum: NDArray[np.int64]  # (B, strata)
    mean: Floats  # (k, n) share of tables in which a cell is right

    @property
    def totals(self) -> Floats:
        """(B,) all of them together."""
        return np.asarray(self.by_model.sum(axis=1), dtype=np.float64)


def whole_pass(
    board: Board, n_tables: int, *, steps: int, n_jobs: int, rng: np.random.Generator, kept: Kept | None = None
) -> Pass:
    """Tables of all models, batch by batch."""
    kept = kept or Kept()
    chains = MarginChains(board.cells, strata=board.strata, steps=steps, n_jobs=n_jobs)
    seen = chains.packed(board.seen)
    found = kept.found("whole")
    parts = [found] if found else []
    start = len(found["by_model"]) if found else 0
    right = found["right"] if found else np.zeros(board.cells.shape, dtype=np.int64)
    for bits in chains.draw_bits(n_tables, rng, start):
        right = right + chains.counted(bits)
        hits = chains.successes(bits, seen)
        parts.append({"by_model": hits.sum(axis=2), "by_stratum": hits.sum(axis=1)})
        kept.put("whole", partial(_joined, tuple(parts), right=right))
    done = _joined(parts)
    return Pass(by_model=done["by_model"], by_stratum=done["by_stratum"], mean=right / n_tables)


def _joined(parts: Sequence[Arrays], **more: NDArray[np.int64]) -> Arrays:
    return {key: np.concatenate([part[key] for part in parts]) for key in ("by_model", "by_stratum")} | more


def members(board: Board, n_draws: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """One member of each family, several times; once where every model is its own."""
    by_family = [np.flatnonzero(board.families == f) for f in range(len(board.family_names))]
    if all(len(rows) == 1 for rows in by_family):
        return [np.arange(len(board.names))]
    return [np.array([rows[rng.integers(len(rows))] for rows in by_family]) for _ in range(n_draws)]


def fewer(board: Board, n_tables: int, most: int) -> int:
    """Tables for means and checks: at most so many, a fifth of them where the table is wide."""
    return max(1, min(n_tables, most // 5 if board.cells.size >= WIDE else most))


def combined(p_values: list[float]) -> float:
    """(1).

    Examples
    --------
    >>> combined([0.01]), combined([0.01, 0.03]), combined([0.9, 0.8])
    (0.01, 0.04, 1.0)
    """
    return p_values[0] if len(p_values) == 1 else min(1.0, 2 * math.fsum(p_values) / len(p_values))


def family_tables(n_tables: int, level: float) -> int:
    """Tables of each draw of members: a share of all, but enough for twice a mean p to reach the level."""
    return min(n_tables, max(LEAST, n_tables // DRAWS, math.ceil(2 / level)))


def smallest_margins(board: Board, n_tables: int, level: float) -> float:
    """The smallest p that the margins test can reach."""
    alone = len(board.family_names) == len(board.names)
    return 1 / (n_tables + 1) if alone else 2 / (family_tables(n_tables, level) + 1)


def family_p(
    board: Board,
    whole: Pass | None,
    n_tables: int,
    *,
    steps: int,
    n_jobs: int,
    rng: np.random.Generator,
    level: float = 0.05,
    kept: Kept | None = None,
) -> float:
    """p of the margins test, families being the unit; `whole` saves work where every model is its own."""
    kept = kept or Kept()
    drawn = members(board, DRAWS, rng)
    if len(drawn) == 1 and whole is not None:
        return monte_carlo_p(float((board.right & board.seen).sum()), whole.totals)
    each = n_tables if len(drawn) == 1 else family_tables(n_tables, level)

    def tested(rows: NDArray[np.intp], own: np.random.Generator) -> float:
        return _Tilted(board, rows, steps, n_jobs).test(0.0, each, own).p_greater

    several = enumerate(zip(drawn, rng.spawn(len(drawn)), strict=True))
    return combined([kept.part(f"family {r}", float, partial(tested, rows, own)) for r, (rows, own) in several])


def successes(chains: MarginChains, seen: Flags, n_tables: int, rng: np.random.Generator) -> Floats:
    """(B,) right cells among the exposed ones of every table."""
    flags = chains.packed(seen)
    stacks = [chains.successes(bits, flags).sum(axis=(1, 2)) for bits in chains.draw_bits(n_tables, rng)]
    return np.concatenate(stacks).astype(np.float64)


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


@dataclass(frozen=True, kw_only=True)
class Effect:
    """The log-odds ratio of exposure and its interval; infinite where tables leave it open."""

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
    kept = kept or Kept()
    drawn = members(board, EFFECT_DRAWS, rng)
    tables = [_Tilted(board, rows, steps, n_jobs) for rows in drawn]
    seeds = [int(s) for s in rng.integers(0, 2**63, size=len(tables))]
    look, usual = min(FIRST_LOOK, n_tables), min(EFFECT_TABLES, n_tables)
    each = fewer(board, usual if len(tables) == 1 else max(look, usual // 2), EFFECT_TABLES)
    look = fewer(board, look, LOOK_WIDE)
    each = max(each, min(n_tables, math.ceil((2 if len(tables) == 1 else 4) / level)))  # p must be able to reject
    number = count()

    def tested(delta: float, n: int) -> _Tested:
        """Once more, under the number of the question: the same questions are asked in the same order."""
        return kept.part(f"effect {next(number)}", _Tested, lambda: of_all(delta, n))

    def of_all(delta: float, n: int) -> _Tested:
        one = [t.test(delta, n, np.random.default_rng(seed)) for t, seed in zip(tables, seeds, strict=True)]
        return _Tested(
            p_greater=combined([t.p_greater for t in one]),
            p_less=combined([t.p_less for t in one]),
            gap=float(np.mean([t.gap for t in one])),
            variance=float(np.mean([t.variance for t in one])),
        )

    best, error = 0.0, math.inf
    for _ in range(NEWTON):
        found = tested(best, look)
        if found.variance <= 0:
            break
        error = 1 / math.sqrt(found.variance)
        move = max(-2.0, min(2.0, found.gap / found.variance))
        best += move
        if abs(move) < 0.05 * error:
            break
    if not math.isfinite(error):
        return Effect(log_odds=math.nan, interval=(math.nan, math.nan))
    if abs(best) > LARGE:  # perhaps no table has more, or less, than this one
        last = tested(math.copysign(FARTHEST, best), look)
        best = math.copysign(math.inf, best) if last.gap * best >= 0 else best
    error = min(error, FARTHEST)

    def end(side: float) -> float:
        """The outermost value that is still rejected, next to the interval."""

        def rejected(delta: float) -> bool:
            found = tested(delta, each)
            return (found.p_greater if side < 0 else found.p_less) <= level / 2

        if math.isinf(best) and (best > 0) == (side > 0):
            return best
        inner = best if math.isfinite(best) else math.copysign(FARTHEST, best)
        reach = NORMAL * error * (1.0 if len(tables) == 1 else 1.3)
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

    return Effect(log_odds=best, interval=(end(-1.0), end(1.0)))
