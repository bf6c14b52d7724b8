"""An e-value that needs no order of the examples and combines with others."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from heldout.statistics.checks import Alternative, check_alternative, check_sample, check_tolerance

# Shares of the largest admissible bet, fixed before any data: 0.98 down to 0.0014 in steps of sqrt(2).
# The best bet for a mean mu is about mu / variance, so this spans effects of three orders of magnitude.
BET_SHARES = 0.98 * 2.0 ** (-np.arange(20) / 2.0)


def mixture_log_evalue(
    values: ArrayLike,
    *,
    lower: float,
    upper: float,
    alternative: Alternative = "two-sided",
    tolerance: float = 0.0,
) -> float:
    r"""Log of the mean, over a fixed grid of bets, of the wealth of betting against "mean zero".

    .. math:: E = \frac{1}{|\Lambda|}\sum_{\lambda\in\Lambda} \prod_i (1 + \lambda T_i), \quad
              \Lambda \subset (-1/hi, -1/lo),

    with half the weight on each sign, or all of it on the positive one (`alternative="greater"`).
    Under the null E has expectation at most 1, so p = min(1, 1/E). E-values of disjoint examples
    multiply; e-values of the same examples are averaged. With a `tolerance` the null is
    abs(E T) <= tolerance, and the two signs bet against T - tolerance and T + tolerance.

    Parameters
    ----------
    values : (n,)
        T of every example.
    lower, upper : float
        The range that the rule guarantees.
    alternative, tolerance
        As in `independence_test`.

    Returns
    -------
    float
        Natural logarithm of E.

    Examples
    --------
    >>> import math
    >>> from heldout.statistics import mixture_log_evalue
    >>> mixture_log_evalue([0.0] * 10, lower=-0.96, upper=0.5)
    0.0
    >>> mixture_log_evalue([0.5] * 100, lower=-0.96, upper=0.5) > math.log(1e10)
    True
    """
    check_alternative(alternative)
    x = check_sample(values, lower=lower, upper=upper)
    check_tolerance(tolerance, lower=lower, upper=upper)
    distinct, counts = np.unique(x, return_counts=True)
    log_up = counts @ np.log1p(np.outer(distinct - tolerance, BET_SHARES / (tolerance - lower)))
    log_e_up = float(logsumexp(log_up)) - math.log(len(BET_SHARES))
    if alternative == "greater":
        return log_e_up
    log_down = counts @ np.log1p(np.outer(-distinct - tolerance, BET_SHARES / (upper + tolerance)))
    log_e_down = float(logsumexp(log_down)) - math.log(len(BET_SHARES))
    return float(np.logaddexp(log_e_up, log_e_down)) - math.log(2.0)
