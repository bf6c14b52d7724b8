"""The smallest share of memorised items that a test would have found."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

POWER = 0.8


def detectable_share(
    wrong: NDArray[np.float64], n_orders: NDArray[np.int64], spread: float, *, level: float, two_sided: bool = False
) -> float:
    r"""Smallest share s of items, memorised in their printed order, that is found with power 0.8.

    Memorised items are right as printed and otherwise wrong as often as all are. With q_i the share of errors in the
    n_i - 1 other orders and p_i = (1 - 1/n_i) q_i, the errors as printed then fall short of their mean by s times the
    sum of p_i, memorised items bring their own variance, and the normal limit gives

    .. math:: s \sum_i p_i = (z_{1-\alpha} + z_{0.8}) \sqrt{(1 - s) \sigma^2 + s \sum_i p_i (1 - p_i)} + 1/2,    \tag{1}

    half an error being what a test of whole numbers gives away on average. A plug-in: q_i and sigma are what was
    measured.

    Parameters
    ----------
    wrong : (n_items,)
        q_i.
    n_orders : (n_items,)
        n_i, the printed order included.
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
    >>> round(detectable_share(np.full(500, 0.5), np.full(500, 24), math.sqrt(500 / 6), level=0.01), 3)
    0.127
    """
    z = float(ndtri(1 - level / (2 if two_sided else 1))) + float(ndtri(POWER))
    p = (1 - 1 / n_orders) * wrong
    lost, more = float(p.sum()), z**2 * (float((p * (1 - p)).sum()) - spread**2)
    if not lost > 0:
        return math.nan
    share = (lost + more + math.sqrt(max(0.0, (lost + more) ** 2 - lost**2 * (1 - 4 * (z * spread) ** 2)))) / (
        2 * lost**2
    )  # the larger root of (1), squared
    return share if share <= 1 else math.nan
