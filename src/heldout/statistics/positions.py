r"""Whether the right answer stands at every position equally often.

Pearson's statistic, summed over strata of items with as many options (and of one source: sources that prefer other
places may look uniform together),

.. math:: X = \sum_s \sum_{q=1}^{k_s} \frac{(c_{sq} - n_s / k_s)^2}{n_s / k_s},    \tag{1}

has its exact law by enumeration where there is one stratum with few enough tables of counts; by drawn tables where some
expected count is below 50; and by the chi-squared law with the sum of all k_s - 1 degrees of freedom elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, gammaln

from heldout.checks import check_count
from heldout.errors import InputError
from heldout.groups import group_codes
from heldout.results import Record
from heldout.statistics.margins import TIE, monte_carlo_p

MOST_TABLES = 300_000  # that are enumerated: 4 options up to 119 items
FEW = 50  # an expected count below which the chi-squared law is not taken
CELLS = 4_000_000  # counts that are drawn at a time


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PositionTestResult(Record):
    """How often each position holds the right answer, and whether that is uniform.

    Attributes
    ----------
    counts : dict
        For each number of options (as text), how often each position holds the right answer.
    statistic, freedom : float, int
        Pearson's, and its degrees of freedom.
    p_value : float
        That positions are uniform in every stratum.
    method : {"exact", "drawn", "chi-squared"}
        Where p is from.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.statistics import position_test
    >>> found = position_test(np.repeat(np.arange(4), [19, 16, 25, 42]), [4] * 102)
    >>> found.counts, round(found.statistic, 2), round(found.p_value, 4), found.method
    ({'4': (19, 16, 25, 42)}, 15.88, 0.0012, 'exact')
    """

    counts: dict[str, tuple[int, ...]]
    statistic: float
    freedom: int
    p_value: float
    method: Literal["exact", "drawn", "chi-squared"]


def position_test(
    positions: ArrayLike,
    n_options: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    n_resamples: int = 9999,
    rng: np.random.Generator | None = None,
) -> PositionTestResult:
    """Test that the right answer stands at every position equally often.

    Parameters
    ----------
    positions : (n_items,) int
        Of the right answer as printed, from 0.
    n_options : (n_items,) int
        How many options each item has.
    strata : (n_items,), optional
        Items of one source; those with as many options are a stratum of their own in each.
    n_resamples : int
        Tables of counts that are drawn, where they are.
    rng : numpy.random.Generator, optional
        Of these tables; without one, that of the seed 0.

    Returns
    -------
    PositionTestResult
        Counts and p-value.

    Examples
    --------
    The printed answers of 102 questions of MMLU:

    >>> import numpy as np
    >>> from heldout.statistics import position_test
    >>> round(position_test(np.repeat(np.arange(4), [19, 16, 25, 42]), np.full(102, 4)).p_value, 3)
    0.001
    """
    at, k = np.asarray(positions), np.asarray(n_options)
    n_resamples = check_count(n_resamples, "n_resamples")
    if at.ndim != 1 or k.shape != at.shape or not len(at) or at.dtype.kind not in "iu" or k.dtype.kind not in "iu":
        raise InputError(f"`positions` has shape {at.shape} and `n_options` {k.shape}; both need one number per item.")
    if (at < 0).any() or (at >= k).any():
        raise InputError("`positions` must be from 0 to one less than `n_options`.")
    source = np.zeros(len(at), dtype=np.intp) if strata is None else group_codes(strata, len(at), what="strata")
    parts = [
        (size, (k == size) & (source == code))
        for size, code in sorted(set(zip(k.tolist(), source.tolist(), strict=True)))
    ]
    tables = [np.bincount(at[part], minlength=size) for size, part in parts]
    statistic = sum(float(_pearson(c)) for c in tables)
    freedom = sum(len(c) - 1 for c in tables)
    method: Literal["exact", "drawn", "chi-squared"]
    if len(tables) == 1 and comb(len(at) + freedom, freedom) <= MOST_TABLES:
        p, method = _enumerated(statistic, len(at), freedom + 1), "exact"
    elif min(c.sum() / len(c) for c in tables) < FEW:
        p, method = _drawn(statistic, tables, n_resamples, rng or np.random.default_rng(0)), "drawn"
    else:
        p, method = float(chdtrc(freedom, statistic)), "chi-squared"
    counts = {str(s): tuple(np.bincount(at[k == s], minlength=s).tolist()) for s in np.unique(k).tolist()}
    return PositionTestResult(counts=counts, statistic=statistic, freedom=freedom, p_value=p, method=method)


def _pearson(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """(1) for one stratum, over the last axis."""
    k, n = counts.shape[-1], counts.sum(axis=-1)
    return np.asarray(k * (counts**2).sum(axis=-1) / n - n)  # (1)


def _enumerated(statistic: float, n: int, k: int) -> float:
    """P(X >= statistic) over all tables of n items at k positions."""
    tables = np.zeros((1, 0), dtype=np.int64)
    for _ in range(k - 1):
        room = n - tables.sum(axis=1)
        first = np.repeat(np.arange(len(tables)), room + 1)
        offset = np.arange(len(first)) - np.repeat(np.cumsum(room + 1) - (room + 1), room + 1)
        tables = np.column_stack([tables[first], offset])
    tables = np.column_stack([tables, n - tables.sum(axis=1)])
    as_far = _pearson(tables) >= statistic - TIE * max(1.0, statistic)
    log_p = gammaln(n + 1) - gammaln(tables[as_far] + 1).sum(axis=1) - n * np.log(k)
    return float(min(1.0, np.exp(log_p).sum()))


def _drawn(statistic: float, tables: list[NDArray[np.int64]], n_resamples: int, rng: np.random.Generator) -> float:
    drawn = np.zeros(n_resamples)
    for table in tables:
        k, n = len(table), int(table.sum())
        size = CELLS // k
        for a in range(0, n_resamples, size):
            some = drawn[a : a + size]
            some += _pearson(rng.multinomial(n, np.full(k, 1 / k), size=len(some)))
    return monte_carlo_p(statistic, drawn, unit=1.0)
