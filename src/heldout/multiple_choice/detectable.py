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
    n_i - 1 other orders, the errors as printed then fall short of their mean over all n_i orders by s (1 - 1/n_i) q_i,
    and the normal limit gives

    .. math:: s \sum_i (1 - 1/n_i) q_i = (z_{1-\alpha} + z_{0.8}) \sigma + 1/2,    \tag{1}

    half an error being what a test of whole numbers gives away on average. A plug-in: q_i and sigma are what was measured.

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
    0.123
    """
    z = float(ndtri(1 - level / (2 if two_sided else 1))) + float(ndtri(POWER))
    lost = float(np.sum((1 - 1 / n_orders) * wrong))
    share = (z * spread + 0.5) / lost if lost > 0 else math.nan  # (1)
    return share if share <= 1 else math.nan
