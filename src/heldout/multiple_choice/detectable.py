"""The smallest share of memorised items that a test would have found."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from heldout.statistics.search import first_where

POWER = 0.8
STEPS = 1000  # shares are told to a tenth of a percent


def detectable_share(
    wrong: NDArray[np.float64], n_orders: NDArray[np.int64], spread: float, *, level: float, two_sided: bool = False
) -> float:
    r"""Smallest share s of items, memorised in their printed order, that is found with power 0.8.

    Memorised items are right as printed and are otherwise wrong as often as all are. With q_i the share of errors in
    the n_i - 1 other orders, the printed order less the mean over all is (1 - 1/n_i)(W_i - q_i) for W_i ~ Bernoulli(
    q_i (1 - s)), and the normal limit gives

    .. math:: s \sum_i (1 - 1/n_i) q_i = z_{1-\alpha} \sigma_0 + z_{0.8} \sigma_1(s).    \tag{1}

    A plug-in: q_i are what was measured.

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
    >>> share = detectable_share(np.full(500, 0.5), np.full(500, 24), math.sqrt(125), level=0.01)
    >>> round(share, 3)
    0.146
    """
    keep = 1 - 1 / n_orders
    z_level, z_power = float(ndtri(1 - level / (2 if two_sided else 1))), float(ndtri(POWER))

    def missing(share: float) -> float:
        left = wrong * (1 - share)
        spread_then = math.sqrt(float(np.sum(keep**2 * left * (1 - left))))
        return share * float(np.sum(keep * wrong)) - z_level * spread - z_power * spread_then  # (1)

    if not missing(1.0) > 0:
        return math.nan
    return first_where(lambda steps: missing(steps / STEPS) > 0, 1, STEPS) / STEPS
