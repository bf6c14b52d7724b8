"""Exact binomial intervals."""

from __future__ import annotations

from scipy.stats import beta

from heldout.errors import InputError


def clopper_pearson(successes: int, n: int, *, confidence: float) -> tuple[float, float]:
    """Exact two-sided interval for a binomial share; it covers with at least `confidence`.

    The bounds invert the two binomial tails at (1 - confidence) / 2 each, through the beta law [1]_.

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
    if not 0 < confidence < 1:
        raise InputError(f"`confidence` is {confidence}; it must be between 0 and 1.")
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if successes == 0 else float(beta.ppf(tail, successes, n - successes + 1))
    high = 1.0 if successes == n else float(beta.isf(tail, successes + 1, n - successes))
    return low, high
