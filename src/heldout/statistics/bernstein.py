"""The empirical Bernstein bound of Werpachowski et al. and the two tests built on it."""

from __future__ import annotations

import math

LOG_3 = math.log(3.0)
LOG_6 = math.log(6.0)


def bernstein_bound(n: int, sd: float, *, log_delta: float, width: float) -> float:
    r"""Half-width that |mean - expectation| passes with probability at most delta.

    Equation (7) of [1]_, after [2]_:

    .. math:: B = \sqrt{2\sigma^2 \ln(3/\delta) / n} + 3 U \ln(3/\delta) / n.    \tag{7}

    Parameters
    ----------
    n : int
        Number of examples (the paper's m).
    sd : float
        Empirical standard deviation, divisor n.
    log_delta : float
        Natural logarithm of delta, so that delta may underflow. It may be as large as ln 3 (B = 0).
    width : float
        Length U of an interval that surely holds every value.

    Returns
    -------
    float
        B.

    References
    ----------
    .. [1] Werpachowski, György, Szepesvári (2019). Detecting overfitting via adversarial
       examples. arXiv:1903.02380v1.
    .. [2] Mnih, Szepesvári, Audibert (2008). Empirical Bernstein stopping. ICML.

    Examples
    --------
    >>> import math
    >>> from heldout.statistics import bernstein_bound
    >>> round(bernstein_bound(10_000, 0.1, log_delta=math.log(0.05), width=1.5), 6)
    0.004704
    """
    log_term = LOG_3 - log_delta
    return sd * math.sqrt(2.0 * log_term / n) + 3.0 * width * log_term / n  # (7)


def bernstein_log_pvalue(mean: float, sd: float, n: int, *, width: float) -> float:
    r"""Log of the delta at which the bound (7) equals abs(mean), not capped at 0.

    Equation (8) of v1 without its min{1, .}: (7) is a quadratic in y = sqrt(ln(3/delta)) with the
    root 2|T| / (b + sqrt(b^2 + 12 U |T| / n)), b = sqrt(2 sigma^2 / n); written so, nothing cancels.

    Parameters
    ----------
    mean, sd : float
        Of the values; the empirical standard deviation has the divisor n.
    n : int
        Number of examples.
    width : float
        Length U of an interval that surely holds every value.

    Returns
    -------
    float
        At most ln 3.

    Examples
    --------
    >>> import math
    >>> from heldout.statistics import bernstein_bound, bernstein_log_pvalue
    >>> log_p = bernstein_log_pvalue(0.01, 0.1, 10_000, width=1.5)
    >>> math.isclose(bernstein_bound(10_000, 0.1, log_delta=log_p, width=1.5), 0.01, rel_tol=1e-12)
    True
    """
    if mean == 0.0:
        return LOG_3
    b = sd * math.sqrt(2.0 / n)
    y = 2.0 * abs(mean) / (b + math.sqrt(b * b + 12.0 * width * abs(mean) / n))  # (8)
    return LOG_3 - y * y


def two_interval_log_pvalue(difference: float, sd_first: float, sd_second: float, n: int) -> float:
    r"""Log of the 2 delta at which two Bernstein intervals of level 1 - delta just touch, not capped.

    Appendix A of v1: (11) and (12) hold together with probability 1 - 2 delta, each for values of
    range 1, so that

    .. math:: p = 6 e^{-y^2}, \quad y = 2|T| / (a + \sqrt{a^2 + 24 |T| / n}), \quad
              a = \sqrt{2/n}\,(\sigma_S + \sigma_g).

    Parameters
    ----------
    difference : float
        Of the two means.
    sd_first, sd_second : float
        Empirical standard deviations, divisor n.
    n : int
        Number of examples.

    Returns
    -------
    float
        At most ln 6.

    Examples
    --------
    >>> import math
    >>> from heldout.statistics import bernstein_bound, two_interval_log_pvalue
    >>> n, log_p = 10_000, two_interval_log_pvalue(0.05, 0.3, 0.25, 10_000)
    >>> log_delta = log_p - math.log(2)
    >>> halves = [bernstein_bound(n, sd, log_delta=log_delta, width=1.0) for sd in (0.3, 0.25)]
    >>> math.isclose(sum(halves), 0.05, rel_tol=1e-12)
    True
    """
    if difference == 0.0:
        return LOG_6
    a = math.sqrt(2.0 / n) * (sd_first + sd_second)
    y = 2.0 * abs(difference) / (a + math.sqrt(a * a + 24.0 * abs(difference) / n))
    return LOG_6 - y * y
