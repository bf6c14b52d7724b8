"""What McNemar's exact test can see: its power, the examples a difference takes, the difference that n show."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri

from heldout.statistics.binomial import probability_of, upper_quantile, upper_tail
from heldout.statistics.search import first_where

POWER = 0.8
MOST_EXAMPLES = 10**12  # beyond, "more than can be had" says as much
MANY = 4_000  # examples on which two models part; from there on the normal law is exact to a tenth of a percent
FINEST = 1e-6  # to which a gap is found


def mcnemar_power(n: int, disagreement: float, gap: float, *, level: float) -> float:
    r"""Probability that the exact two-sided test tells two models apart, and the right way round.

    The number M of examples on which exactly one model is right is binomial with the disagreement :math:`\psi`; given M
    the better one has them with probability :math:`\theta = (1 + d / \psi) / 2`, and the test rejects from c(M) on:

    .. math:: \sum_M P(M)\; P(\mathrm{Bin}(M, \theta) \ge c(M)), \qquad
              2\, P(\mathrm{Bin}(M, 1/2) \ge c(M)) \le \text{level}.    \tag{1}

    Where M is large, b - c, which is normal with mean n d and variance n (psi - d²), has to reach z sqrt(M) and, since
    counts are whole, about one more:

    .. math:: \Phi\Big(\frac{n d - z \sqrt{n \psi} - 1}{\sqrt{n (\psi - d^2)}}\Big).    \tag{2}

    Parameters
    ----------
    n : int
        Examples.
    disagreement : float
        Share of examples on which exactly one of the two is right; taken as the gap where that is larger.
    gap : float
        True difference of the two shares of right answers.

    Examples
    --------
    Two models that part on a tenth of the examples, six points apart:

    >>> round(mcnemar_power(231, 0.1, 0.06, level=0.05), 3)
    0.801
    """
    psi = max(disagreement, gap)
    if gap <= 0 or n < 1:
        return 0.0
    mean, sd = n * psi, math.sqrt(n * psi * (1 - psi))
    if mean > MANY:
        spread = math.sqrt(n * max(psi - gap * gap, 1e-300))
        return float(ndtr((n * gap + ndtri(level / 2) * math.sqrt(mean) - 1) / spread))  # (2)
    m = np.arange(max(0, math.floor(mean - 9 * sd)), min(n, math.ceil(mean + 9 * sd)) + 1)
    critical = upper_quantile(level / 2, m, 0.5) + 1
    told = upper_tail(critical, m, min(1.0, (1 + gap / psi) / 2))
    return float(np.sum(probability_of(m, n, psi) * told))  # (1)


def examples_for_gap(gap: float, disagreement: float, *, level: float, power: float = POWER) -> int | None:
    """The number of examples from which on the test tells such a gap with the power asked for; None past 10^12.

    Examples
    --------
    >>> examples_for_gap(0.06, 0.1, level=0.05)
    231
    """
    psi = max(disagreement, gap)
    z = -float(ndtri(level / 2)) + float(ndtri(power))
    if gap <= 0 or psi * z * z / gap**2 > MOST_EXAMPLES / 4:
        return None
    start = max(4, math.ceil(psi * z * z / gap**2))
    most = 4 * start + 64
    return first_where(lambda n: mcnemar_power(n, psi, gap, level=level) >= power, start // 8, most)


def detectable_gap(n: int, disagreement: float, *, level: float, power: float = POWER) -> float:
    """The smallest true difference that n examples show with the power asked for; NaN where they show none.

    Examples
    --------
    >>> round(detectable_gap(500, 0.1, level=0.05), 4), detectable_gap(5, 0.1, level=0.05)
    (0.0407, nan)
    """
    if mcnemar_power(n, 1.0, 1.0, level=level) < power:
        return math.nan
    steps = round(1 / FINEST)
    found = first_where(lambda i: mcnemar_power(n, disagreement, i * FINEST, level=level) >= power, 1, steps)
    return found * FINEST
