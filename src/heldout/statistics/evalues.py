"""E-values: evidence that can be added up along a sequence of tests."""

from __future__ import annotations

import math

from heldout.errors import InputError


def calibrated_log_evalue(log_p: float) -> float:
    r"""Log of an e-value made of a p-value, without a number to choose (Vovk and Wang 2021, equation 6).

    .. math:: E = \int_0^1 \kappa p^{\kappa - 1} d\kappa = \frac{1 - p + p \ln p}{p\, (\ln p)^2},

    at most 1 on average whenever p is valid, since it is so for every kappa. It is 1/2 at p = 1 and
    grows nearly as 1/p.

    Parameters
    ----------
    log_p : float
        Natural logarithm of a p-value.

    Returns
    -------
    float
        Natural logarithm of the e-value.

    References
    ----------
    Vovk, Wang (2021). E-values: calibration, combination and applications. Annals of Statistics 49(3), 1736-1754.

    Examples
    --------
    >>> import math
    >>> from heldout.statistics import calibrated_log_evalue
    >>> [round(math.exp(calibrated_log_evalue(math.log(p))), 3) for p in (1.0, 0.05, 0.0001)]
    [0.5, 1.783, 117.762]
    """
    if not log_p <= 0.0:
        raise InputError(f"`log_p` is {log_p}; the logarithm of a p-value is at most 0.")
    if log_p > -1e-3:  # the formula is 0 / 0 at p = 1; its series is 1/2 - log(p) / 6 there
        return math.log(0.5 - log_p / 6.0)
    p = math.exp(log_p)
    return math.log(1.0 - p + p * log_p) - log_p - 2.0 * math.log(-log_p)


def holm(p_values: list[float] | tuple[float, ...]) -> list[float]:
    """Holm's adjusted p-values: at or below alpha for any true null with probability alpha at most, over all of them.

    Parameters
    ----------
    p_values : list of float
        In any order.

    Returns
    -------
    list of float
        In the same order.

    Examples
    --------
    >>> from heldout.statistics import holm
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    k = len(p_values)
    order = sorted(range(k), key=p_values.__getitem__)
    adjusted, running = [0.0] * k, 0.0
    for place, i in enumerate(order):
        running = max(running, min(1.0, (k - place) * p_values[i]))
        adjusted[i] = running
    return adjusted
