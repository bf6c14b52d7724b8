"""Cutoffs that fit a model better than the declared one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.exposures.dates import Days
from heldout.exposures.inputs import Board
from heldout.statistics.margins import MISSING, monte_carlo_p

MOST_DATES = 200  # of a scan


@dataclass(frozen=True, kw_only=True, eq=False)
class Scan:
    """The standardised excess as a function of a hypothetical cutoff, and the date that fits best."""

    dates: tuple[str, ...]
    z: tuple[float, ...]
    best: str
    p_value: float


def day_sums(board: Board, model: int, rows: NDArray[np.uint8]) -> tuple[Days, NDArray[np.int64]]:
    """Days of the examples that a model has, and (B + 1, days) what it has right on each, first as it is."""
    dates = board.dates
    assert dates is not None
    used = ~np.isnat(dates) & (board.cells[model] != MISSING)
    places = np.flatnonzero(used)[np.argsort(dates[used], kind="stable")]
    days, starts = np.unique(dates[places], return_index=True)
    own = (board.cells[[model]] == 1).astype(np.uint8)
    in_order = np.array_equal(places, np.arange(len(dates)))
    parts = [part if in_order else part[:, places] for part in (own, rows)]
    return days, np.concatenate([np.add.reduceat(part, starts, axis=1, dtype=np.int64) for part in parts])


def scan_dates(board: Board, model: int, dated: tuple[Days, NDArray[np.int64]], *, later: bool = False) -> Scan | None:
    """The date up to which the model does best, by `day_sums`; `later`: among examples after its cutoff.

    p is of the largest standardised excess over dates; mean and sd are over all B + 1 tables, the data's included, so
    that these are exchangeable and p is exact.
    """
    days, by_day = dated
    if later:
        if board.cutoffs is None or np.isnat(board.cutoffs[model]):
            return None
        after = days > board.cutoffs[model]
        days, by_day = days[after], by_day[:, after]
    if len(days) < 3:
        return None
    sums = np.cumsum(by_day, axis=1)
    kept = np.arange(len(days)) if later else np.arange(len(days) - 1)  # up to the last date is everything
    if len(kept) > MOST_DATES:
        kept = kept[np.linspace(0, len(kept) - 1, MOST_DATES).round().astype(int)]
    sums = sums[:, kept]
    spread = sums.std(axis=0)
    moving = spread > 0
    if not moving.any():
        return None
    z = (sums[:, moving] - sums[:, moving].mean(axis=0)) / spread[moving]
    highest = z.max(axis=1)
    at = [str(day) for day in days[kept][moving]]
    return Scan(
        dates=tuple(at),
        z=tuple(z[0].tolist()),
        best=at[int(np.argmax(z[0]))],
        p_value=monte_carlo_p(float(highest[0]), highest[1:]),
    )
