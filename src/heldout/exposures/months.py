"""Models by months as a picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.exposures.inputs import Board
from heldout.statistics.margins import MISSING

Floats = NDArray[np.float64]

MONTHS = 60  # in the picture; where there are more, several go together


@dataclass(frozen=True, kw_only=True, eq=False)
class MonthMap:
    """Mean residual of every model in every month, and before which month each model's cutoff lies."""

    months: tuple[str, ...]  # first and last where several go together
    residuals: Floats  # (k, months); NaN where a model has no example
    steps: tuple[int, ...]  # months that end by the cutoff; -1 where it is not known


def month_map(board: Board, residuals: Floats) -> MonthMap | None:
    """None without dates or cutoffs."""
    if board.dates is None or board.cutoffs is None:
        return None
    dated = ~np.isnat(board.dates)
    months = board.dates.astype("datetime64[M]").astype(np.int64)
    first, last = int(months[dated].min()), int(months[dated].max())
    width = -(-(last - first + 1) // MONTHS)
    bins = (months - first) // width
    count = (last - first) // width + 1
    there = (board.cells != MISSING) & dated
    values = np.full((len(board.names), count), np.nan)
    for b in range(count):
        own = dated & (bins == b)
        n = there[:, own].sum(axis=1)
        values[:, b] = np.where(n > 0, residuals[:, own].sum(axis=1) / np.maximum(1, n), np.nan)
    starts = [np.datetime64(first + b * width, "M") for b in range(count)]
    ends = [start + np.timedelta64(width, "M") - np.timedelta64(1, "D") for start in starts]
    names = tuple(
        str(s) if width == 1 else f"{s} to {e.astype('datetime64[M]')}" for s, e in zip(starts, ends, strict=True)
    )
    steps = tuple(-1 if np.isnat(c) else sum(bool(e <= c) for e in ends) for c in board.cutoffs)
    return MonthMap(months=names, residuals=values, steps=steps)
