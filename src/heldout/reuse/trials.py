"""What trials of one example say of error bars, and what more of them would bring: the factor (2) of `scored.py`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.results import Record
from heldout.statistics.grouped import Floats


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Trials(Record):
    """Medians over models and pairs; NaN where trials are not known one by one.

    Parameters
    ----------
    fewest, median, most : int or None
        Trials of a cell.
    between, within : float
        Variance between examples, and of one trial inside an example.
    share_of_error_bar, share_of_gap : float
        Share of the squared error bar of a model, and of the difference of two, that is chance inside examples.
    with_twice_as_many, with_endlessly_many : float
        Factor of error bars with so many more trials, at most 1.
    gap_with_twice_as_many, gap_with_endlessly_many : float
        The same of gaps between two models.
    """

    unlisted = ("between", "within", "gap_with_endlessly_many")

    fewest: int | None
    median: int | None
    most: int | None
    between: float
    within: float
    share_of_error_bar: float
    with_twice_as_many: float
    with_endlessly_many: float
    share_of_gap: float
    gap_with_twice_as_many: float
    gap_with_endlessly_many: float

    @classmethod
    def of(
        cls, counts: NDArray[np.integer] | None, between: Floats, within: Floats, shares: Floats, pair_shares: Floats
    ) -> Trials:
        """From the trials of every cell that is there, variances and shares of every model, and shares of every pair.

        Examples
        --------
        >>> one = np.array([0.5])
        >>> found = Trials.of(np.array([2, 4, 9]), one, one, 0 * one, 1 * one)
        >>> found.fewest, found.with_endlessly_many, found.share_of_gap, round(found.gap_with_twice_as_many**2, 9)
        (2, 1.0, 0.5, 0.75)
        """
        share, gap = _median(shares), _median(pair_shares)
        known = (None, None, None) if counts is None else (counts.min(), np.median(counts), counts.max())
        fewest, median, most = (None if count is None else int(count) for count in known)
        return cls(
            fewest=fewest,
            median=median,
            most=most,
            between=_median(between),
            within=_median(within),
            share_of_error_bar=share,
            with_twice_as_many=_factor(share, 2),
            with_endlessly_many=_factor(share, math.inf),
            share_of_gap=gap,
            gap_with_twice_as_many=_factor(gap, 2),
            gap_with_endlessly_many=_factor(gap, math.inf),
        )


def _factor(share: float, more: float) -> float:
    return math.sqrt(1 - share * (1 - 1 / more))  # (2)


def _median(values: Floats) -> float:
    """Of those that are known."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else math.nan
