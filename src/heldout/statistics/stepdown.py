"""Many tests at once, step by step down the p-values: Holm's procedure on arrays of any size, in logs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def holm_level(log_p: ArrayLike, alpha: float) -> float:
    r"""The level at which Holm's procedure ends: a p-value is significant, family-wise, where it is at most this.

    With the p-values in order, those are rejected that come before the first one above

    .. math:: \alpha / (m - r),    \tag{1}

    r being how many come before it. Then all rejected ones, and no other, are at most alpha / (m - r) with the final r:
    Bonferroni's alpha / m for the r that it rejects, and more room for the rest. Some true null is rejected with
    probability alpha at most, however the tests depend on each other: the first such rejection needs a p-value of at
    most alpha over the number of true nulls [1]_.

    Parameters
    ----------
    log_p : (m,) array
        Logarithms of p-values; NaN counts as 1.
    alpha : float
        Family-wise level.

    References
    ----------
    .. [1] Holm (1979). A simple sequentially rejective multiple test procedure. Scand. J. Statist. 6(2), 65-70.

    Examples
    --------
    Of 0.01, 0.04 and 0.03 the first is below 0.05 / 3, and the next is not below 0.05 / 2:

    >>> holm_level(np.log([0.01, 0.04, 0.03]), 0.05)
    0.025
    """
    log_p = np.nan_to_num(np.asarray(log_p, dtype=np.float64).ravel(), nan=0.0)
    m = len(log_p)
    # alpha / m rejects most of what is ever rejected; only the rest has to be sorted
    done = int(np.count_nonzero(log_p <= math.log(alpha / max(1, m))))
    rest = np.sort(log_p[(log_p > math.log(alpha / max(1, m))) & (log_p <= math.log(alpha))])
    left = m - done - np.arange(len(rest))
    stops = rest > np.log(alpha / left)  # (1)
    rejected = done + (int(np.argmax(stops)) if stops.any() else len(rest))
    return alpha / max(1, m - rejected)


def holm_log_adjusted(log_p: ArrayLike) -> Floats:
    """(m,) logarithms of Holm's adjusted p-values: at most log alpha where the procedure rejects at alpha.

    Examples
    --------
    >>> np.exp(holm_log_adjusted(np.log([0.01, 0.04, 0.03]))).round(6).tolist()
    [0.03, 0.06, 0.06]
    """
    log_p = np.asarray(log_p, dtype=np.float64)
    m = len(log_p)
    order = np.argsort(log_p, kind="stable")
    steps = np.minimum(0.0, log_p[order] + np.log(m - np.arange(m)))
    adjusted = np.empty(m)
    adjusted[order] = np.maximum.accumulate(steps)
    return adjusted
