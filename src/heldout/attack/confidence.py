"""What the answers say of one point: Lemma 4.1, and the weights it gives to the queries."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray


def log_confidence(point: ArrayLike, accuracies: ArrayLike, m: int) -> NDArray[np.float64]:
    r"""(m,) log conf(l, s, α) of section 4.1: the probability of a point's query labels if its own label is l.

    .. math:: conf(l, s, α) = \prod_{s_j = l} α_j \prod_{s_j ≠ l} (1 - α_j) / (m - 1)

    Parameters
    ----------
    point : (k,) int
        What the k queries said at this point.
    accuracies : (k,) float
        Their accuracies over all points.

    Examples
    --------
    >>> np.exp(log_confidence([0, 1], [0.5, 0.25], 3)).round(6).tolist()  # 1/2 3/8, 1/4 1/4, 1/4 3/8
    [0.1875, 0.0625, 0.09375]
    """
    labels, alpha = np.asarray(point), np.asarray(accuracies, dtype=np.float64)
    with np.errstate(divide="ignore"):  # accuracies of exactly 0 and 1 exclude a label for good
        hit, miss = np.log(alpha), np.log((1 - alpha) / (m - 1))
    return np.array([np.where(labels == label, hit, miss).sum() for label in range(m)])


def query_weights(accuracies: ArrayLike, m: int) -> NDArray[np.float64]:
    """w = ln(α (m-1) / (1-α)): what a query adds to the score of the label it named; ±∞ at accuracies of 1 and 0.

    Examples
    --------
    It is the weight of a classifier in multiclass AdaBoost (SAMME), ln((1 - error)/error) + ln(m - 1):

    >>> error, m = 0.3, 5
    >>> samme = np.log((1 - error) / error) + np.log(m - 1)
    >>> abs(query_weights(1 - error, m) - samme) < 1e-12
    np.True_
    >>> float(query_weights(1 / 10, 10))  # a query at chance says nothing
    0.0
    """
    alpha = np.asarray(accuracies, dtype=np.float64)
    with np.errstate(divide="ignore"):
        weights = np.log(alpha) + math.log(m - 1) - np.log1p(-alpha)
    # At chance exactly 0: the logarithms may round differently.
    return np.where(np.abs(alpha * m - 1) < 1e-12, 0.0, weights)
