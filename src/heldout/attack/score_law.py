"""The forecast where each label is named too rarely for sums of weights to be normal: many classes, few answers.

A label's score at a point is a sum over the queries that named it there, k/m of them on average. Its law is a k-fold
convolution, for the true label and for the others, on a grid; the true label must have the highest score of all, ties
being broken at random. The others are taken for independent, which they are but for terms of order 1/m.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

GRID = 2**15
REACH = 12.0  # standard deviations of a score that are covered, beside three of the largest weights
NEGLIGIBLE = 1e-13  # probability of hits below which their weight does not decide how wide the grid is


def discrete_forecast(
    weights: NDArray[np.float64],
    hits: NDArray[np.int64],
    probability: NDArray[np.float64],
    *,
    points: int,
    m: int,
    k: int,
) -> float:
    """Expected accuracy on the attacked points after k queries.

    Parameters
    ----------
    weights : (c,) float
        What a query adds to the labels it named if it had so many hits: -∞ rules a label out, +∞ settles it.
    hits, probability : (c,)
        Numbers of hits of a random query, and how probable they are.
    points, m : int
        Attacked points and classes.

    Examples
    --------
    >>> hits = np.arange(3)
    >>> law = np.array([0.25, 0.5, 0.25])  # two points, two labels
    >>> round(discrete_forecast(np.array([-1.0, 0.0, 1.0]), hits, law, points=2, m=2, k=0), 12)
    0.5
    """
    rate = hits / points
    named = {"true": probability * rate, "other": probability * (1 - rate) / (m - 1)}  # Lemma 4.1, mixed over answers
    finite = np.isfinite(weights)
    ruled_out = 1 - (1 - float(named["other"][weights == -np.inf].sum())) ** k  # at least once
    settled = 1 - (1 - float(named["true"][weights == np.inf].sum())) ** k
    w, p = weights[finite], {which: mass[finite] for which, mass in named.items()}
    large = float(np.abs(w[probability[finite] > NEGLIGIBLE]).max(initial=0.0))
    spread = math.sqrt(k * sum(float(np.sum(mass * w**2)) for mass in p.values()))
    drift = k * max(abs(float(np.sum(mass * w))) for mass in p.values())
    reach = REACH * spread + drift + 3 * large
    whole = bool((w == np.rint(w)).all())  # votes: their ties are real
    step = 1.0 if whole or reach == 0 else 2 * reach / GRID
    size = GRID if not whole else 2 ** math.ceil(math.log2(2 * reach + 2))
    places = np.clip(w, -reach, reach) / step
    other, true = (_law(places, p[which], float(named[which][~finite].sum()), size, k) for which in ("other", "true"))
    upto = np.minimum(ruled_out + np.cumsum(other), 1.0)
    below = np.concatenate(([ruled_out], upto[:-1]))
    # P(no other label is above s, and of those at s the true one is drawn) = (F(s)^m - F(s-)^m) / (m f(s))
    mass = upto - below
    wins = np.divide(upto**m - below**m, m * mass, out=below ** (m - 1), where=mass > 1e-15)
    return float(settled + np.sum(true * wins))


def _law(
    places: NDArray[np.float64], mass: NDArray[np.float64], endless: float, size: int, k: int
) -> NDArray[np.float64]:
    """(size,) law of a sum of k, each 0 or one of these places with these masses, if none of them is infinite.

    Index 0 is the lowest score.
    """
    once = np.zeros(size)
    low = np.floor(places).astype(np.int64)
    part = places - low  # shared between two neighbours, so that means are kept
    np.add.at(once, low % size, mass * (1 - part))
    np.add.at(once, (low + 1) % size, mass * part)
    once[0] += 1 - float(mass.sum()) - endless
    law = np.fft.irfft(np.fft.rfft(once) ** k, size)
    return np.fft.fftshift(np.maximum(law, 0.0))
