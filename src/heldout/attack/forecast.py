"""What the attacks gain, in closed form: to first order each point is a choice between m noisy scores.

After k random queries the score of the true label stands d' above those of the others, in units of their common
spread: d' = sqrt(k/n · m/(m-1)) for the optimal weights of NB. The label with the highest score is right with
probability

    ∫ φ(z - d') Φ(z)^(m-1) dz,

the m-alternative forced choice of signal detection. Weaker weights only scale d'.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from heldout.errors import InputError

# The signal that a weight keeps of NB's, whose weight is linear in a query's luck Z: E[Z sign Z] for the vote of Blum
# and Hardt, E[Z; Z > 1] / sqrt(P(Z > 1)) for the plurality over queries above mean + 1 sd (proof of Theorem 4.3).
EFFICIENCY = {
    "nb": 1.0,
    "majority": math.sqrt(2 / math.pi),
    "plurality": math.exp(-0.5) / math.sqrt(2 * math.pi) / math.sqrt(float(ndtr(-1.0))),
}
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(400)
REACH = 9.0  # standard deviations of the true label's score that are integrated over; beyond lie 1e-19


def detectability(k: float, n: float, m: int, *, attack: str = "nb") -> float:
    """d' after k queries on n points with m classes."""
    return EFFICIENCY[attack] * math.sqrt(k / n * m / (m - 1))


def forced_choice(d: float, m: int) -> float:
    """P(the highest of m unit normals is the one with mean d).

    Examples
    --------
    >>> round(forced_choice(0.0, 10), 12)  # no signal: chance
    0.1
    >>> round(forced_choice(math.sqrt(2 * 0.1), 2), 4)  # Φ(√0.1)
    0.6241
    """
    z = d + REACH * _NODES
    density = np.exp(-0.5 * (REACH * _NODES) ** 2) / math.sqrt(2 * math.pi)
    return float(REACH * np.sum(_WEIGHTS * density * np.exp((m - 1) * log_ndtr(z))))


def forecast(n: int, m: int, k: int, *, attack: str = "nb") -> float:
    """Expected accuracy after k queries without prior knowledge.

    Examples
    --------
    >>> [round(forecast(10_000, m, k), 3) for m, k in ((2, 1000), (10, 1000), (100, 5000))]
    [0.624, 0.161, 0.049]
    >>> round(forecast(10_000, 2, 1000, attack="majority"), 3)
    0.6
    """
    _check(n, m, k)
    return forced_choice(detectability(k, n, m, attack=attack), m)


def forecast_top(n_points: int, top: int, k: int, *, share: float, attack: str = "nb") -> float:
    """Expected accuracy on the attacked points, where the label is among the top R with probability `share`.

    Only those points answer to a query, so they alone carry the signal and its noise:
    share · mAFC(sqrt(k/(q · share) · R/(R-1)), R).
    """
    _check(n_points, top, k)
    if not 0 <= share <= 1:
        raise InputError(f"`share` is {share}; it must lie between 0 and 1.")
    if share == 0:
        return 0.0
    return share * forced_choice(detectability(k, n_points * share, top, attack=attack), top)


def forecast_with_prior(prior: NDArray[np.float64], n: int, k: int) -> float:
    """Expected accuracy of NB with a prior, if the prior is right: the same integral over the mixture of points.

    Parameters
    ----------
    prior : (points, m) float
        Probabilities of the labels at each point.
    n, k : int
        Points that are queried, and queries.

    A point's label is the one with the highest log π + d' Z, Z being the scores in units of their spread.

    Examples
    --------
    >>> uniform = np.full((1, 10), 0.1)
    >>> round(forecast_with_prior(uniform, 10_000, 1000), 4), round(forecast(10_000, 10, 1000), 4)
    (0.1611, 0.1611)
    """
    points, m = prior.shape
    _check(n, m, k)
    d = detectability(k, n, m)
    if d == 0:
        return float(prior.max(axis=1).mean())
    z = d + REACH * _NODES
    density = REACH * _WEIGHTS * np.exp(-0.5 * (REACH * _NODES) ** 2) / math.sqrt(2 * math.pi)
    total = 0.0
    with np.errstate(divide="ignore"):
        logs = np.log(prior)
    for row, log_row in zip(prior, logs, strict=True):
        for label in np.flatnonzero(row > 0).tolist():
            ahead = (log_row[label] - np.delete(log_row, label)) / d  # infinite where the rival is impossible
            total += row[label] * float(np.sum(density * np.exp(log_ndtr(z[:, None] + ahead).sum(axis=1))))
    return float(total / points)


def queries_to_reach(advantage: float, n: int, m: int, *, attack: str = "nb") -> int:
    """The smallest number of queries whose forecast is at least 1/m + advantage.

    Examples
    --------
    >>> queries_to_reach(0.1, 10_000, 2)  # Φ(√(k/n)) = 0.6, k/n = 0.2533²
    642
    """
    _check(n, m, 0)
    if not 0 < advantage < 1 - 1 / m:
        raise InputError(f"`advantage` is {advantage}; over {m} classes it lies between 0 and {1 - 1 / m:g}.")
    d = float(brentq(lambda d: forced_choice(d, m) - 1 / m - advantage, 0.0, 50.0, xtol=1e-12))
    return math.ceil((d / EFFICIENCY[attack]) ** 2 * n * (m - 1) / m - 1e-9)


def _check(n: int, m: int, k: int) -> None:
    if n < 1 or m < 2 or k < 0:
        raise InputError(f"{n} points, {m} classes, {k} queries: at least 1 point, 2 classes and 0 queries are needed.")
