"""What the verdict rests on, looked at: mixing, strata alone, a negative control, and who weighs most."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heldout.exposures.families import FEWEST_DRAWS, Pass, family_p, fewer, successes, whole_pass
from heldout.exposures.inputs import Board
from heldout.statistics.margins import MISSING, MarginChains, monte_carlo_p, standardised

Floats = NDArray[np.float64]

LONGER = 4  # times as many rounds, to look whether the mean has moved
FEWER = 999  # tables of a check
DRIFT = 0.25  # standard deviations that the mean may move, beyond three standard errors
NAMED = 5  # examples and families that weigh most


@dataclass(frozen=True, kw_only=True)
class Mixing:
    """The expected successes by chains as long as they were, and by longer ones."""

    expected: float
    longer: float
    standard_error: float  # of their difference
    spread: float
    longer_spread: float

    @property
    def drift(self) -> float:
        """Difference in standard deviations of the statistic."""
        return (self.expected - self.longer) / self.spread if self.spread > 0 else 0.0

    @property
    def mixed(self) -> bool:
        """Whether longer chains say the same."""
        return abs(self.expected - self.longer) <= 3 * self.standard_error + DRIFT * self.spread


@dataclass(frozen=True, kw_only=True)
class Part:
    """Successes on what models could have seen, in a part of the table or under another exposure."""

    name: str
    exposed: int
    observed: int
    expected: float
    spread: float
    p_value: float

    @property
    def z(self) -> float:
        """Standardised excess; NaN where nothing can move."""
        return float(standardised(self.observed, self.expected, self.spread))


@dataclass(frozen=True, kw_only=True)
class Weight:
    """A share of the excess."""

    name: str
    exposed: int
    excess: float


def mixing(board: Board, whole: Pass, *, steps: int, n_jobs: int, rng: np.random.Generator) -> Mixing:
    """Whether the chains are long enough for means."""
    n_tables = fewer(board, len(whole.totals), FEWER // 2)
    chains = MarginChains(board.cells, strata=board.strata, steps=LONGER * steps, n_jobs=n_jobs)
    sums = successes(chains, board.seen, n_tables, rng)
    totals = whole.totals
    return Mixing(
        expected=float(totals.mean()),
        longer=float(sums.mean()),
        standard_error=math.sqrt(float(totals.var()) / len(totals) + float(sums.var()) / len(sums)),
        spread=float(totals.std()),
        longer_spread=float(sums.std()),
    )


def strata_alone(board: Board, whole: Pass) -> tuple[Part, ...]:
    """Each stratum on its own."""
    parts = []
    for g, name in enumerate(board.strata_names):
        own, sums = board.strata == g, whole.by_stratum[:, g].astype(np.float64)
        hits = int((board.right & board.seen)[:, own].sum())
        parts.append(
            Part(
                name=name,
                exposed=int(board.seen[:, own].sum()),
                observed=hits,
                expected=float(sums.mean()),
                spread=float(sums.std()),
                p_value=monte_carlo_p(float(hits), sums),
            )
        )
    return tuple(parts)


def negative_control(board: Board, n_tables: int, *, steps: int, n_jobs: int, rng: np.random.Generator) -> Part | None:
    """Exposure turned into the future: nobody can have seen what came after the cutoff.

    Exposed cells are set aside; of what each exposed model could not have seen, the earlier half by date counts as
    seen. (All of it would be the mirror image of the test itself.) Families are the unit of its p.
    None without dates, or where nothing is left.
    """
    if board.dates is None:
        return None
    cells, seen = np.where(board.seen, MISSING, board.cells).astype(np.uint8), np.zeros_like(board.seen)
    for i in np.flatnonzero(board.seen.any(axis=1)).tolist():
        left = (cells[i] != MISSING) & ~np.isnat(board.dates)
        if left.any():
            days = np.sort(board.dates[left])
            seen[i] = left & (board.dates <= days[(len(days) - 1) // 2])
    if not seen.any():
        return None
    mirrored = replace(board, cells=cells, could=seen, seen=seen)
    if not mirrored.informative.any():
        return None
    few = fewer(board, n_tables, FEWER)
    whole = whole_pass(mirrored, few, steps=steps, n_jobs=n_jobs, rng=rng)
    totals = whole.totals
    return Part(
        name="earlier half of what came after the cutoff",
        exposed=int(seen.sum()),
        observed=int((mirrored.right & seen).sum()),
        expected=float(totals.mean()),
        spread=float(totals.std()),
        p_value=family_p(mirrored, whole, few, steps=steps, n_jobs=n_jobs, rng=rng, n_draws=FEWEST_DRAWS),
    )


def weights(board: Board, residuals: Floats) -> tuple[tuple[Weight, ...], tuple[Weight, ...]]:
    """Examples, and families, with the largest share of the excess."""
    share = np.where(board.seen, residuals, 0.0)
    by_example, seen = share.sum(axis=0), board.seen.sum(axis=0)
    top = np.argsort(-by_example, kind="stable")[:NAMED]
    examples = tuple(
        Weight(name=board.ids[j], exposed=int(seen[j]), excess=float(by_example[j])) for j in top.tolist() if seen[j]
    )
    by_family = np.bincount(board.families, weights=share.sum(axis=1), minlength=len(board.family_names))
    cells = np.bincount(board.families, weights=board.seen.sum(axis=1), minlength=len(board.family_names))
    first = np.argsort(-by_family, kind="stable")[:NAMED]
    families = tuple(
        Weight(name=board.family_names[f], exposed=int(cells[f]), excess=float(by_family[f]))
        for f in first.tolist()
        if cells[f]
    )
    return examples, families
