"""Exact binomial tails, intervals and the sign test."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, betainccinv, betaincinv

from heldout.checks import check_share
from heldout.errors import InputError

SMALL_LEVEL = 1e-100  # below it SciPy's inverse of the beta law is NaN for some counts and off for others
LOG_TINY = -700.0  # near the logarithm of the smallest number there is
MOST_TERMS = 100_000  # of a tail below 1e-290: even at 10^9 examples the last of them is e^-200 of the first


def upper_tail(threshold: ArrayLike, n: ArrayLike, p: ArrayLike) -> NDArray[np.float64]:
    """P(X >= threshold) for X ~ Bin(n, p), element by element.

    The tail is a regularised incomplete beta function, I_p(threshold, n - threshold + 1), good to about 1e-12 of itself
    up to n = 10^7 and to 1e-10 at 10^9; where a threshold lies outside 1..n the event is certain or impossible.

    Examples
    --------
    >>> float(upper_tail(2, 3, 0.5))
    0.5
    >>> upper_tail([0, 3, 4], 3, 0.5).tolist()
    [1.0, 0.125, 0.0]
    """
    a, n, p = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (threshold, n, p)))
    tail = betainc(np.clip(a, 1, np.maximum(n, 1)), np.maximum(n - a + 1, 1), p)
    return np.where(a <= 0, 1.0, np.where(a > n, 0.0, tail))


def lower_tail(threshold: ArrayLike, n: ArrayLike, p: ArrayLike) -> NDArray[np.float64]:
    """P(X <= threshold) for X ~ Bin(n, p), as `upper_tail`.

    Examples
    --------
    >>> lower_tail([-1, 0, 3], 3, 0.5).tolist()
    [0.0, 0.125, 1.0]
    """
    b, n, p = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (threshold, n, p)))
    tail = betaincc(np.clip(b + 1, 1, np.maximum(n, 1)), np.maximum(n - b, 1), p)
    return np.where(b < 0, 0.0, np.where(b >= n, 1.0, tail))


def probability_of(count: ArrayLike, n: ArrayLike, p: ArrayLike) -> NDArray[np.float64]:
    """P(X = count) for X ~ Bin(n, p), element by element.

    Examples
    --------
    >>> probability_of([0, 1, 4], 3, 0.5).round(12).tolist()
    [0.125, 0.375, 0.0]
    """
    from scipy.stats import binom  # takes a second to load, which only those who need it should wait for

    return np.asarray(binom.pmf(count, n, p))


def upper_quantile(tail: float, n: ArrayLike, p: ArrayLike) -> NDArray[np.int64]:
    """The smallest x with P(X > x) <= tail for X ~ Bin(n, p), element by element.

    Examples
    --------
    >>> upper_quantile(0.2, [3, 10], 0.5).tolist()
    [2, 6]
    """
    from scipy.stats import binom

    return np.asarray(binom.isf(tail, n, p)).astype(np.int64)


def lower_quantile(tail: float, n: ArrayLike, p: ArrayLike) -> NDArray[np.int64]:
    """The smallest x with P(X <= x) >= tail for X ~ Bin(n, p), element by element.

    Examples
    --------
    >>> lower_quantile(0.2, [3, 10], 0.5).tolist()
    [1, 4]
    """
    from scipy.stats import binom

    return np.asarray(binom.ppf(tail, n, p)).astype(np.int64)


def log_upper_tail(threshold: int, n: int, p: float) -> float:
    """log P(X >= threshold) for X ~ Bin(n, p), finite far beyond where the tail itself underflows.

    Past 1e-290 the tail is its first term times 1 + r_1 + r_1 r_2 + ..., with the falling ratios
    r = (n - j) p / ((j + 1) (1 - p)) of one term to the next.

    Examples
    --------
    >>> log_upper_tail(5000, 5000, 0.5) / math.log(2)
    -5000.0
    """
    tail = float(upper_tail(threshold, n, p))
    if tail > 1e-290 or not n * p < threshold <= n:
        return math.log(tail) if tail > 0 else -math.inf
    j = np.arange(threshold, min(n, threshold + MOST_TERMS))
    series = 1.0 + float(np.cumprod((n - j) * p / ((j + 1) * (1 - p))).sum())
    choose = math.lgamma(n + 1) - math.lgamma(threshold + 1) - math.lgamma(n - threshold + 1)
    return choose + threshold * math.log(p) + (n - threshold) * math.log1p(-p) + math.log(series)


def sign_test_log_pvalue(first: int, second: int) -> float:
    """Log p-value, two-sided and exact, that `first` and `second` come from a fair coin (McNemar's exact test).

    Finite even where p itself underflows.

    Examples
    --------
    >>> round(math.exp(sign_test_log_pvalue(1, 7)), 6)  # 2 (8 + 1) / 2^8
    0.070312
    >>> round(sign_test_log_pvalue(0, 5000) / math.log(2), 9)  # p = 2^-4999
    -4999.0
    """
    return min(0.0, math.log(2) + log_upper_tail(max(first, second), first + second, 0.5))


def sign_test_log_pvalues(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """The same for many pairs of counts at once.

    Examples
    --------
    >>> np.exp(sign_test_log_pvalues([1, 5], [7, 5])).round(6).tolist()
    [0.070312, 1.0]
    """
    a, b = (np.asarray(v, dtype=np.int64) for v in (first, second))
    most, n = np.maximum(a, b), a + b
    tail = upper_tail(most, n, 0.5)
    with np.errstate(divide="ignore"):
        log_p = np.asarray(np.minimum(0.0, math.log(2) + np.log(tail)))
    for i in np.argwhere(tail <= 1e-290):  # where the tail underflows, its series
        at = tuple(i.tolist())
        log_p[at] = sign_test_log_pvalue(int(a[at]), int(b[at]))
    return log_p


def clopper_pearson(
    successes: int, n: int, *, confidence: float | None = None, level: float | None = None
) -> tuple[float, float]:
    """Exact two-sided interval for a binomial share; it covers with at least `confidence`, or 1 - `level`.

    The bounds invert the two binomial tails at level / 2 each, through the beta law [1]_. A small level is given as
    such: 1 - confidence would lose its digits.

    Parameters
    ----------
    successes, n : int
        So many of so many.
    confidence, level : float, optional
        One of them.

    Returns
    -------
    low, high : float
        The ends, between 0 and 1.

    References
    ----------
    .. [1] Clopper, Pearson (1934). Biometrika 26(4), 404-413.

    Examples
    --------
    Recht et al. 2019, vgg_15_BN_64 on CIFAR-10.1 v4, 1,715 right of 2,021:

    >>> from heldout.statistics import clopper_pearson
    >>> low, high = clopper_pearson(1715, 2021, confidence=0.95)
    >>> round(100 * low, 1), round(100 * high, 1)
    (83.2, 86.4)
    """
    if not 0 <= successes <= n or n < 1:
        raise InputError(f"{successes} of {n} is not a share; n must be at least 1 and successes within 0..n.")
    given = {name: value for name, value in (("confidence", confidence), ("level", level)) if value is not None}
    if len(given) != 1:
        raise InputError("give either `confidence` or `level`.")
    ((name, value),) = given.items()
    check_share(value, name)
    level = value if name == "level" else 1.0 - value
    if level < SMALL_LEVEL:
        log_tail = math.log(level) - math.log(2)
        return _share_at(successes, n, log_tail), 1.0 - _share_at(n - successes, n, log_tail)
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, level / 2))
    high = 1.0 if successes == n else float(betainccinv(successes + 1, n - successes, level / 2))
    return low, high


def _share_at(threshold: int, n: int, log_tail: float) -> float:
    """The p at which log P(X >= threshold) = log_tail for X ~ Bin(n, p), where SciPy's inverse is NaN or off."""
    if threshold == 0:
        return 0.0
    from scipy.optimize import brentq

    # p^threshold <= P(X >= threshold) <= C(n, threshold) p^threshold
    choose = math.lgamma(n + 1) - math.lgamma(threshold + 1) - math.lgamma(n - threshold + 1)
    least, most = (log_tail - choose) / threshold, log_tail / threshold
    if threshold == n or least < LOG_TINY:  # one term is all of the tail, or as good as all
        return math.exp(least)
    return math.exp(
        brentq(
            lambda log_p: log_upper_tail(threshold, n, math.exp(log_p)) - log_tail,
            least * (1 + 1e-9),  # beyond rounding
            most * (1 - 1e-9),
            xtol=1e-14,
        )
    )
