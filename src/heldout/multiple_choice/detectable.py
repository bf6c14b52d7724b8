"""The smallest share of memorised items that a test would have found."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

POWER = 0.8


def expected_errors(
    starts: NDArray[np.int64], wrong: NDArray[np.bool_], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""Chance that an item, right as printed, is wrong in an order that is drawn from its own by these weights,

    .. math:: p_i = \sum_{\pi \in S_i, \pi \ne \text{printed}} w(\pi)\, e(\pi) / \sum_{\pi \in S_i} w(\pi).    \tag{2}

    Where most answers stand at one place and one order has it there, a draw is mostly the printed order, and
    memorising it gains little.

    Parameters
    ----------
    starts : (n_items + 1,)
        Where the orders of each item begin, the printed one first.
    wrong : (m,)
        Whether each order is wrong.
    weights : (m,)
        How likely each order is to be drawn.

    Returns
    -------
    (n_items,) array

    Examples
    --------
    >>> expected_errors(np.array([0, 2, 4]), np.array([False, True, True, True]), np.array([3.0, 1.0, 1.0, 1.0]))
    array([0.25, 0.5 ])
    """
    lost = weights * wrong
    lost[starts[:-1]] = 0.0
    return np.asarray(np.add.reduceat(lost, starts[:-1]) / np.add.reduceat(weights, starts[:-1]))  # (2)


def detectable_share(expected: NDArray[np.float64], spread: float, *, level: float, two_sided: bool = False) -> float:
    r"""Smallest share s of items, memorised in their printed order, that is found with power 0.8.

    Memorised items are right as printed and in their other orders wrong as they were measured to be. With p_i the
    chance that such an item is wrong in an order drawn from its own (`expected_errors`), the errors as printed then
    fall short of their mean by s times the sum of p_i, memorised items bring their own variance, and the normal limit
    gives

    .. math:: s \sum_i p_i = (z_{1-\alpha} + z_{0.8}) \sqrt{(1 - s) \sigma^2 + s \sum_i p_i (1 - p_i)} + 1/2,    \tag{1}

    half an error being what a test of whole numbers gives away on average. A plug-in: p_i and sigma are what was
    measured.

    Parameters
    ----------
    expected : (n_items,)
        p_i.
    spread : float
        Standard deviation of the errors under independence, by the test that is the verdict.
    level : float
        Of the test.
    two_sided : bool
        Whether it has two sides.

    Returns
    -------
    float
        NaN where memorising every item would not be found so often.

    Examples
    --------
    >>> round(detectable_share(np.full(500, 0.5 * 23 / 24), math.sqrt(500 / 6), level=0.01), 3)
    0.127
    """
    z = float(ndtri(1 - level / (2 if two_sided else 1))) + float(ndtri(POWER))
    p = expected
    lost, more = float(p.sum()), z**2 * (float((p * (1 - p)).sum()) - spread**2)
    if not lost > 0:
        return math.nan
    share = (lost + more + math.sqrt(max(0.0, (lost + more) ** 2 - lost**2 * (1 - 4 * (z * spread) ** 2)))) / (
        2 * lost**2
    )  # the larger root of (1), squared
    return share if share <= 1 else math.nan
