"""Exact binomial tails, intervals and the sign test."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, gammaln, logsumexp
from scipy.stats import beta

from heldout.errors import InputError


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
    n, larger = first + second, max(first, second)
    tail = float(upper_tail(larger, n, 0.5))
    if tail > 1e-290:
        log_tail = math.log(tail)
    else:
        j = np.arange(larger, n + 1)
        log_tail = float(logsumexp(gammaln(n + 1) - gammaln(j + 1) - gammaln(n - j + 1)) - n * math.log(2))
    return min(0.0, math.log(2) + log_tail)


def clopper_pearson(
    successes: int, n: int, *, confidence: float | None = None, level: float | None = None
) -> tuple[float, float]:
    """Exact two-sided interval for a binomial share; it covers with at least `confidence`, or 1 - `level`.

    The bounds invert the two binomial tails at level / 2 each, through the beta law [1]_. A small level is given as
    such: 1 - confidence would lose its digits.

    References
    ----------
    .. [1] Clopper, Pearson (1934). Biometrika 26(4), 404-413.

    Examples
    --------
    Recht et al. 2019, vgg_15_BN_64 on CIFAR-10.1 v4, 1,715 right of 2,021:

    >>> low, high = clopper_pearson(1715, 2021, confidence=0.95)
    >>> round(100 * low, 1), round(100 * high, 1)
    (83.2, 86.4)
    """
    if not 0 <= successes <= n or n < 1:
        raise InputError(f"{successes} of {n} is not a share; n must be at least 1 and successes within 0..n.")
    if (confidence is None) == (level is None):
        raise InputError("give either `confidence` or `level`.")
    name, value = ("confidence", confidence) if level is None else ("level", level)
    if not 0 < value < 1:  # type: ignore[operator]
        raise InputError(f"`{name}` is {value}; it must be between 0 and 1.")
    tail = (1.0 - confidence if confidence is not None else level) / 2.0  # type: ignore[operator]
    low = 0.0 if successes == 0 else float(beta.ppf(tail, successes, n - successes + 1))
    high = 1.0 if successes == n else float(beta.isf(tail, successes + 1, n - successes))
    return low, high
