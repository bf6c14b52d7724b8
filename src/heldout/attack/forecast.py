"""What the attacks gain, in closed form: to first order each point is a choice between m noisy scores.

After k random queries the score of the true label stands d' above those of the others, in units of their common
spread: d' = sqrt(k/n · m/(m-1)) for the optimal weights of NB. The label with the highest score is right with
probability

    ∫ φ(z - d') Φ(z)^(m-1) dz,

the m-alternative forced choice of signal detection. Weaker weights only scale d'.
"""

from __future__ import annotations

import functools
import math
from typing import Any

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
_gauss = functools.cache(np.polynomial.legendre.leggauss)  # nodes and weights; found when they are first used
MANY_RIVALS = 10
WIDTH = 7.0  # the same for `win_probability`: beyond lie 1e-12
BATCH = 4_000_000  # numbers held at once
REACH = 9.0  # standard deviations of the true label's score that are integrated over; beyond lie 1e-19


def detectability(k: float, n: float, m: int) -> float:
    """d' of NB after k queries on n points with m classes."""
    return math.sqrt(k / n * m / (m - 1))


def forced_choice(d: float, m: int) -> float:
    """P(the highest of m unit normals is the one with mean d).

    Examples
    --------
    >>> round(forced_choice(0.0, 10), 12)  # no signal: chance
    0.1
    >>> round(forced_choice(math.sqrt(2 * 0.1), 2), 4)  # Φ(√0.1)
    0.6241
    """
    nodes, weights = _gauss(400)
    z = d + REACH * nodes
    density = np.exp(-0.5 * (REACH * nodes) ** 2) / math.sqrt(2 * math.pi)
    return float(REACH * np.sum(weights * density * np.exp((m - 1) * log_ndtr(z))))


def forecast(n: int, m: int, k: int, *, attack: str = "nb", efficiency: float | None = None) -> float:
    """Expected accuracy after k queries without prior knowledge.

    `efficiency` is what answers and weights keep of NB's signal; by default that of the attack with exact answers.

    Examples
    --------
    >>> [round(forecast(10_000, m, k), 3) for m, k in ((2, 1000), (10, 1000), (100, 5000))]
    [0.624, 0.161, 0.049]
    >>> round(forecast(10_000, 2, 1000, attack="majority"), 3)
    0.6
    """
    _check(n, m, k)
    kept = EFFICIENCY[attack] if efficiency is None else efficiency
    return forced_choice(kept * detectability(k, n, m), m)


def forecast_with_prior(prior: NDArray[np.float64], n: int, k: int) -> float:
    """Expected accuracy of NB with a prior, if the prior is right: the same integral over the mixture of points.

    Parameters
    ----------
    prior : (points, m) float
        Probabilities of the labels at each point.
    n, k : int
        Points that are queried, and queries.

    Examples
    --------
    >>> uniform = np.full((1, 10), 0.1)
    >>> round(forecast_with_prior(uniform, 10_000, 1000), 4), round(forecast(10_000, 10, 1000), 4)
    (0.1611, 0.1611)
    """
    points, m = prior.shape
    _check(n, m, k)
    d = detectability(k, n, m)
    with np.errstate(divide="ignore"):
        logs = np.log(prior)
    wins = [prior[:, label] * win_probability(logs, np.full(points, label), d) for label in range(m)]
    return float(np.sum(wins) / points)


def win_probability(log_prior: NDArray[np.float64], labels: NDArray[Any], d: float) -> NDArray[np.float64]:
    """(p,) probability that the given label is the one with the highest log π + d Z, if it is the true one.

    Z are the scores in units of their spread, the true label's about d, the others' about 0. Rivals so far behind that
    they cannot catch up, and points where a rival is too far ahead, are left out of the integral.

    Parameters
    ----------
    log_prior : (p, m) float
        Only differences within a row matter.
    labels : (p,) int
        Column of the true label; outside 0 … m - 1 it cannot win.
    """
    won = np.zeros(len(log_prior))
    inside = np.flatnonzero((labels >= 0) & (labels < log_prior.shape[1]))
    own = log_prior[inside, labels[inside]]
    inside, own = inside[own > -np.inf], own[own > -np.inf]
    lead = own[:, None] - log_prior[inside]
    lead[np.arange(len(inside)), labels[inside]] = np.inf
    if d == 0:
        ties = (lead == 0).sum(axis=1)
        won[inside] = np.where((lead < 0).any(axis=1), 0.0, 1 / (1 + ties))
        return won
    lead /= d
    possible = lead.min(axis=1) > -2 * WIDTH - d
    inside, lead = inside[possible], lead[possible]
    rivals = (lead < 2 * WIDTH - d).sum(axis=1)
    order = np.argsort(rivals, kind="stable")
    at = 0
    while at < len(order):
        many = int(rivals[order[min(at + 999, len(order) - 1)]])
        nodes, rule = _gauss(128 if many > MANY_RIVALS else 32)
        density = WIDTH * rule * np.exp(-0.5 * (WIDTH * nodes) ** 2) / math.sqrt(2 * math.pi)
        rows = order[at : at + min(max(1, BATCH // (len(nodes) * max(1, many))), 1000)]
        near = np.sort(lead[rows], axis=1)[:, : int(rivals[rows[-1]])]
        won[inside[rows]] = ndtr((d + WIDTH * nodes)[:, None] + near[:, None, :]).prod(axis=2) @ density
        at += len(rows)
    return won


def answer_efficiency(
    attack: str, hits: NDArray[Any], probability: NDArray[np.float64], answers: NDArray[np.float64], *, n: int
) -> float:
    """What an attack keeps of the signal where many numbers of hits get the same answer.

    A weight w(answer) keeps E[Z w] / sqrt(E[w²]) of it, Z being the hits in standard deviations.

    Parameters
    ----------
    hits, probability : (c,)
        Numbers of hits of a random query on the attacked points, and how probable they are.
    answers : (c,) float
        Accuracy that is said of each.
    n : int
        Examples behind an accuracy.

    Examples
    --------
    >>> hits = np.arange(10_001)
    >>> p = np.exp(-((hits - 5000) ** 2) / 5000)
    >>> told = np.where(hits > 5000, 1.0, np.where(hits < 5000, 0.0, 0.5))  # only better or worse than chance is told
    >>> round(answer_efficiency("nb", hits, p / p.sum(), told, n=10_000), 2), round(EFFICIENCY["majority"], 2)
    (0.8, 0.8)
    """
    mean = float(np.sum(probability * hits))
    sd = math.sqrt(float(np.sum(probability * (hits - mean) ** 2)))
    said, index = np.unique(answers, return_inverse=True)
    mass = np.bincount(index, probability)
    z = np.divide(np.bincount(index, probability * (hits - mean) / sd), mass, out=np.zeros(len(mass)), where=mass > 0)
    above = said - float(np.sum(probability * answers))
    weight = {
        "nb": z,
        "majority": np.sign(np.where(np.abs(above) < 1e-9, 0.0, above)),
        "plurality": above > sd / n + 1e-9,
    }[attack]
    power = float(np.sum(mass * weight**2))
    return 0.0 if power <= 0 else float(np.sum(mass * weight * z)) / math.sqrt(power)


def forced_choice_queries(advantage: float, n: int, m: int, *, attack: str = "nb") -> float:
    """Queries after which the forecast is 1/m + advantage, 0 < advantage < 1 - 1/m.

    Examples
    --------
    >>> round(forced_choice_queries(0.1, 10_000, 2), 1)
    641.8
    """
    d = float(brentq(lambda d: forced_choice(d, m) - 1 / m - advantage, 0.0, 50.0, xtol=1e-12))
    return (d / EFFICIENCY[attack]) ** 2 * n * (m - 1) / m


def _check(n: int, m: int, k: int) -> None:
    if n < 1 or m < 2 or k < 0:
        raise InputError(f"{n} points, {m} classes, {k} queries: at least 1 point, 2 classes and 0 queries are needed.")
