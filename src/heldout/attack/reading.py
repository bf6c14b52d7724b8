"""What an answer says of the hits behind it, to an analyst who knows how the oracle rounds."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from heldout.attack.oracle import Rounded

REACH = 12.0  # standard deviations of the hits that are looked at
TRIED = 101  # places tried for what lies outside the attacked points


def hits_law(points: float, options: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Numbers of hits of a random query, and their probabilities: binomial(points, 1/options).

    Examples
    --------
    >>> hits, probability = hits_law(4, 2)
    >>> hits.tolist(), probability.round(4).tolist()
    ([0, 1, 2, 3, 4], [0.0625, 0.25, 0.375, 0.25, 0.0625])
    """
    n, p = max(1, round(points)), 1 / options
    reach = REACH * math.sqrt(n * p * (1 - p)) + 20
    h = np.arange(max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach)) + 1)
    log_pmf = gammaln(n + 1) - gammaln(h + 1) - gammaln(n - h + 1) + xlogy(h, p) + xlog1py(n - h, -p)
    pmf = np.exp(log_pmf)
    return h, pmf / pmf.sum()


def answer_codes(hits: NDArray[np.int64], n: int, *, digits: int, outside: float) -> NDArray[np.int64]:
    """What is said of so many hits on the attacked points, in units of the last digit."""
    wrong = np.clip(n - np.rint(outside + hits).astype(np.int64), 0, n)
    scale = 10**digits
    return np.asarray(scale - np.rint(Rounded(digits).answer_counts(wrong, n) * scale), dtype=np.int64)


def answer_law(
    n: int, *, points: float, options: int, digits: int, outside: float
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Numbers of hits on the attacked points, their probabilities, and the accuracy that is said of each."""
    hits, probability = hits_law(points, options)
    return hits, probability, answer_codes(hits, n, digits=digits, outside=outside) / 10**digits


def expected_hits(
    answers: NDArray[np.float64], n: int, *, points: float, options: int, digits: int, outside: float | None
) -> NDArray[np.float64]:
    """E[hits on the attacked points | rounded answer], for each answer.

    By Lemma 4.1, mixed over the accuracies that round to the answer, this is the exact probability that the query is
    right at a point, times the number of points.

    Parameters
    ----------
    answers : (k,) float
        Rounded accuracies on all n examples.
    points : float
        Attacked points that can be hit at all.
    options : int
        Labels that are drawn from at each.
    outside : float or None
        Hits on the other points, the same for all queries; None: estimated from the answers by maximum likelihood.
    """
    scale = 10**digits
    said, index, counts = np.unique(np.rint(answers * scale).astype(np.int64), return_inverse=True, return_counts=True)

    hits, p = hits_law(points, options)

    def law_of(elsewhere: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Probability of each answer that was given, and the mean of the hits behind it."""
        code = answer_codes(hits, n, digits=digits, outside=elsewhere)
        found = np.minimum(np.searchsorted(said, code), len(said) - 1)
        there = said[found] == code
        mass = np.asarray(np.bincount(found[there], p[there], len(said)), dtype=np.float64)
        mean = np.bincount(found[there], (p * hits)[there], len(said))
        return mass, np.divide(mean, mass, out=said / scale * n - elsewhere, where=mass > 0)

    if outside is None:
        centre, step = float(answers.mean()) * n - points / options, n / scale
        tried = np.clip(np.linspace(centre - step, centre + step, TRIED), 0, n)
        fit = [float(np.sum(counts * np.log(np.maximum(law_of(c)[0], 1e-300)))) for c in tried]
        best = np.flatnonzero(np.array(fit) >= max(fit) - 1e-9)  # a plateau where one answer is all there is
        outside = float(tried[best[len(best) // 2]])
    return law_of(outside)[1][index]
