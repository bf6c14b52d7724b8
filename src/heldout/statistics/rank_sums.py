r"""Ranks of the printed order among all orders of its item, by the log-probability of the right answer.

Rank 1 is the highest score; equal scores share the mean of their ranks. Where every order of an item was as likely to
be the printed one as any other, the rank of the printed one is one of the item's ranks at random, and

.. math:: R = \sum_i r_i, \qquad r_i \text{ uniform on the (shared) ranks of item } i,    \tag{1}

has the convolution of these laws as its own; twice R is a sum of whole numbers, of which `lattice_sums` has the tails.
Where positions have a law of their own, the ranks are values for `arrangement_test`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.results import Record
from heldout.statistics.lattice_sums import sum_log_tails
from heldout.statistics.poisson_binomial import Side, check_side, check_starts

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RankSumTestResult(Record):
    """The sum of the printed orders' ranks where every order is as likely as any other.

    Attributes
    ----------
    observed, expected, standard_deviation : float
        The sum, and its mean and spread under the null hypothesis; items without scores add nothing.
    log_p_value, p_value : float
        Of the declared alternative; the first is finite even where the second underflows.
    log_p_overfitted, log_p_two_sided : float
        Of each alternative.
    alternative : {"overfitted", "two-sided"}
        What was declared; "overfitted" looks for a smaller sum.
    mid_p : bool
        Whether the observed sum was counted half, which is not valid: false alarms may exceed the level.
    n_items : int
        Items all of whose orders have a score.

    Examples
    --------
    >>> from heldout.statistics import rank_sum_test
    >>> found = rank_sum_test([0, 3, 6], [-0.1, -1.0, -2.0, -0.5, -0.7, -0.9])
    >>> found.observed, found.expected, round(9 * found.p_value, 9)
    (2.0, 4.0, 1.0)
    """

    derived = ("p_value", "log_p_value", "valid")

    observed: float
    expected: float
    standard_deviation: float
    log_p_overfitted: float
    log_p_two_sided: float
    alternative: Side
    mid_p: bool
    n_items: int

    @property
    def log_p_value(self) -> float:
        """Logarithm of the p-value of the declared alternative."""
        return self.log_p_overfitted if self.alternative == "overfitted" else self.log_p_two_sided

    @property
    def p_value(self) -> float:
        """The p-value of the declared alternative; may underflow to 0."""
        return math.exp(self.log_p_value)

    @property
    def valid(self) -> bool:
        """Whether the level holds: not with `mid_p`."""
        return not self.mid_p


def order_ranks(starts: ArrayLike, scores: ArrayLike) -> Floats:
    """(m,) rank of every order among those of its item, 1 for the highest score; equals share theirs.

    Parameters
    ----------
    starts : (n_items + 1,) int
        Where the orders of each item begin; the first of them is the printed one.
    scores : (m,) float
        Of the right answer, say its log-probability. Where one of an item's is NaN, all of its orders have the same
        rank, the middle one, so that it counts neither way.

    Returns
    -------
    (m,) float
        Ranks; values for `arrangement_test`.

    Examples
    --------
    >>> from heldout.statistics import order_ranks
    >>> order_ranks([0, 3, 5], [-0.3, -0.1, -0.3, -1.0, float("nan")]).tolist()
    [2.5, 1.0, 2.5, 1.5, 1.5]
    """
    begin, x, item = _read(starts, scores)
    x = np.where(_unscored(begin, x)[item], 0.0, x)
    order = np.lexsort((-x, item))
    new = np.ones(len(x), dtype=bool)
    new[1:] = (np.diff(item[order]) > 0) | (x[order][1:] != x[order][:-1])  # -inf equals -inf
    run = np.cumsum(new) - 1
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(x)) - 1
    ranks = np.empty(len(x))
    ranks[order] = ((first + last) / 2)[run] - begin[:-1][item[order]] + 1
    return ranks


def rank_sum_test(
    starts: ArrayLike, scores: ArrayLike, *, alternative: Side = "overfitted", mid_p: bool = False
) -> RankSumTestResult:
    """Exact test of the sum of the printed orders' ranks (1), where every order was as likely to be printed.

    Parameters
    ----------
    starts, scores
        As in `order_ranks`.
    alternative : {"overfitted", "two-sided"}
        "overfitted": higher scores, hence a smaller sum, as printed. Two-sided p is twice the smaller one.
    mid_p : bool
        Count the observed sum half. Not valid.

    Returns
    -------
    RankSumTestResult
        The sum, what is expected, and p-values.

    Examples
    --------
    Ten items whose printed order has the highest of four scores:

    >>> import numpy as np
    >>> from heldout.statistics import rank_sum_test
    >>> found = rank_sum_test(np.arange(0, 41, 4), [-0.1, -0.2, -0.3, -0.4] * 10)
    >>> found.observed, found.expected, round(found.p_value * 4**10, 6)
    (10.0, 25.0, 1.0)
    """
    check_side(alternative)
    begin, x, item = _read(starts, scores)
    there = ~_unscored(begin, x)
    if not there.any():
        raise InputError("`scores` has no item with a score for every order; ranks are not applicable.")
    begin, x = np.concatenate([[0], np.cumsum(np.diff(begin)[there])]), x[there[item]]
    twice = np.rint(2 * order_ranks(begin, x)).astype(np.int64)
    observed = int(twice[begin[:-1]].sum())
    sizes = np.diff(begin)
    means = np.add.reduceat(twice, begin[:-1]) / sizes
    variance = float((np.add.reduceat(twice**2, begin[:-1]) / sizes - means**2).sum())
    tails = sum_log_tails(twice, begin, observed)  # (1)
    return RankSumTestResult(
        observed=observed / 2,
        expected=float(means.sum()) / 2,
        standard_deviation=math.sqrt(max(0.0, variance)) / 2,
        log_p_overfitted=tails.log_p("overfitted", mid_p=mid_p),
        log_p_two_sided=tails.log_p("two-sided", mid_p=mid_p),
        alternative=alternative,
        mid_p=mid_p,
        n_items=int(there.sum()),
    )


def _read(starts: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 1:
        raise InputError(f"`scores` has shape {x.shape}; it must be one number for every order.")
    begin = check_starts(starts, x, "scores")
    return begin, x, np.repeat(np.arange(len(begin) - 1), np.diff(begin))


def _unscored(begin: NDArray[np.int64], x: Floats) -> NDArray[np.bool_]:
    """(n,) items that lack a score."""
    return np.asarray(np.logical_or.reduceat(np.isnan(x), begin[:-1]))
