"""What nobody can beat: upper bounds on the accuracy that k answers of an oracle can buy.

The labels are uniform over m classes and the analyst knows nothing else of them; with prior knowledge, n stands for the
points that are hard and m for the labels that are still open there. An analyst who sees k answers, each one of A
possible values, can end in at most A^k classifiers, each right on Bin(n, 1/m) points. That holds for adaptive analysts
too: what is asked next is a function of the answers so far (and of coins, which may be tossed beforehand), so the
answers alone tell where the analyst ends, and there are A^k sequences of them.

References
----------
Feldman, Frostig, Hardt (2019). The advantages of multiple classes for reducing overfitting from test set reuse. ICML.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from heldout.checks import check_share
from heldout.errors import InputError
from heldout.statistics.binomial import log_upper_tail
from heldout.statistics.search import first_where

LARGEST_TILT = 700.0  # exp(-tilt) is all but 0


def possible_answers(n: int, digits: int | None = None) -> int:
    """How many values an accuracy on n points can take; rounded to some digits, no more than those leave.

    Examples
    --------
    >>> possible_answers(10_000), possible_answers(10_000, digits=2), possible_answers(50, digits=2)
    (10001, 101, 51)
    """
    return n + 1 if digits is None else min(n, 10**digits) + 1


def information(k: int, answers: int, delta: float) -> float:
    """b = k ln A + ln(1/delta) of Theorem 3.1 and Remark 3.2."""
    return k * math.log(answers) + math.log(1 / delta)


def accuracy_bound(n: int, m: int, k: int, *, delta: float, answers: int | None = None) -> float:
    """Theorem 3.1: with probability 1 - delta no analyst reaches this accuracy with k answers; 1 is vacuous.

    Examples
    --------
    >>> round(accuracy_bound(10_000, 2, 50, delta=0.05), 3)
    0.804
    >>> accuracy_bound(10_000, 2, 136, delta=0.05)
    1.0
    """
    _check(n, m, k, delta)
    b = information(k, n + 1 if answers is None else answers, delta)
    return min(1.0, 1 / m + 2 * max(math.sqrt(b / (n * m)), b / n))


def expected_accuracy_bound(n: int, m: int, k: int) -> float:
    """The same for the expected accuracy, with delta = 1/n (after Remark 3.2); 1 is vacuous."""
    _check(n, m, k, 0.5)
    b = (k + 1) * math.log(n + 1)
    return min(1.0, 1 / m + 1 / n + 2 * max(math.sqrt(b / (n * m)), b / n))


def exact_accuracy_bound(n: int, m: int, k: int, *, delta: float, answers: int | None = None) -> float:
    """The tighter bound behind Theorem 3.1: the smallest s/n with A^k P(Bin(n, 1/m) >= s) <= delta.

    It is 1 + 1/n, past every accuracy there is, where nothing can be excluded; at most 1 is returned then.

    Examples
    --------
    >>> exact_accuracy_bound(10_000, 2, 50, delta=0.05)
    0.6505
    """
    _check(n, m, k, delta)
    b = information(k, n + 1 if answers is None else answers, delta)
    smallest = first_where(lambda s: log_upper_tail(s, n, 1 / m) <= -b, n // m, n + 1)
    return min(1.0, smallest / n)


def prior_accuracy_bound(best: NDArray[Any], k: int, *, delta: float, answers: int) -> float:
    """The same for an analyst with a prior, if the labels are drawn from it: Theorem 3.1's argument, label by label.

    A fixed classifier is right at point i with probability at most max_l π_i(l), independently of the other points, so
    its hits are at most those of Bernoulli(max π_i) draws, whose tail Chernoff bounds; A^k classifiers are in reach.

    Parameters
    ----------
    best : (n,) float
        The probability of the most probable label at each point.

    Examples
    --------
    >>> known_nothing = np.full(10_000, 0.5)  # close to the exact quantile, 0.6505
    >>> round(prior_accuracy_bound(known_nothing, 50, delta=0.05, answers=10_001), 4)
    0.6511
    """
    p = np.asarray(best, dtype=np.float64)
    n, b = len(p), information(k, answers, delta)
    with np.errstate(divide="ignore"):
        if -float(np.sum(np.log(p))) <= b:  # even all n right cannot be excluded
            return 1.0

    def tilted(tilt: float) -> tuple[float, float]:
        """The hits at which this tilt is best, and -ln of the Chernoff bound there, which grows with the tilt."""
        hits = float(np.sum(p / (p + (1 - p) * math.exp(-tilt))))
        return hits, tilt * hits - float(np.sum(tilt + np.log(p + (1 - p) * math.exp(-tilt))))

    if tilted(LARGEST_TILT)[1] <= b:
        return 1.0
    tilt = float(brentq(lambda x: tilted(x)[1] - b, 0.0, LARGEST_TILT, xtol=1e-12))
    return min(1.0, math.ceil(tilted(tilt)[0]) / n)


def theorem_4_5_queries(t: int, m: int) -> float:
    """Queries that determine t labels up to a shift with probability 1/2, by Theorem 4.5; NaN where it says nothing.

    Examples
    --------
    >>> round(theorem_4_5_queries(1000, 3)), theorem_4_5_queries(10, 3)
    (1242, nan)
    """
    if m < 3 or t <= 4 * m:
        return math.nan
    return max(5 * t * math.log(m) / math.log(t / (4 * m)), 20 * m * math.log(t * m))


def reconstructable(k: int, m: int) -> int:
    """The largest t for which Theorem 4.5 is content with k queries; 0 where it says nothing.

    Beyond its pole at t = 4m the number of queries falls, then rises for good; the last t that fits is wanted.

    Examples
    --------
    >>> reconstructable(1242, 3), reconstructable(243, 3), reconstructable(242, 3), reconstructable(1000, 2)
    (1000, 19, 0, 0)
    """
    if m < 3:
        return 0
    if 20 * m * math.log((4 * m + 1) * m) > k:  # the second term alone, where it is least
        return 0
    rising = math.ceil(4 * m * math.e)  # from here on: the minimum of t / ln(t / 4m)
    fits = [t for t in range(4 * m + 1, rising + 1) if theorem_4_5_queries(t, m) <= k]
    if not fits:
        return 0
    return (
        first_where(lambda t: theorem_4_5_queries(t, m) > k, fits[-1], 10 * rising + 10 * k * (1 + int(math.log(k))))
        - 1
    )


def determined_labels(k: int, m: int) -> float:
    """The most labels that k answers to random queries can determine: t ln m = k times the entropy of an answer.

    An answer on t points is about normal with variance t (m-1)/m², so its entropy is ½ ln(2πe t (m-1)/m²).

    Examples
    --------
    >>> round(determined_labels(60, 2)), round(determined_labels(60, 10))
    (311, 59)
    """
    t = float(k)
    for _ in range(200):
        t = k * 0.5 * math.log(max(2 * math.pi * math.e * t * (m - 1) / m**2, 1.0)) / math.log(m)
    return t


def corollary_4_6_applies(k: int, m: int) -> bool:
    """Whether k is in the range of Corollary 4.6, k >= 40 m ln m."""
    return k >= 40 * m * math.log(m)


def _check(n: int, m: int, k: int, delta: float) -> None:
    if n < 1 or m < 2 or k < 0:
        raise InputError(f"{n} points, {m} classes, {k} queries: at least 1 point, 2 classes and 0 queries are needed.")
    check_share(delta, "delta")
