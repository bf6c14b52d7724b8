"""The smallest share of memorised items that a test would have found."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

POWER = 0.8


def learnt(starts: NDArray[np.int64], wrong: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Errors of a model that has memorised every item: right as printed, and else as measured.

    Examples
    --------
    >>> learnt(np.array([0, 2, 4]), np.array([True, True, False, True])).tolist()
    [False, True, False, True]
    """
    found = wrong.copy()
    found[starts[:-1]] = False
    return found


def detectable_share(lost: float, own: float, spread: float, *, level: float, two_sided: bool = False) -> float:
    r"""Smallest share s of items, memorised in their printed order, that is found with power 0.8.

    Memorised items are right as printed and in their other orders wrong as they were measured to be. Had all of them
    been memorised (`learnt`), the verdict's test would expect L errors, of which there are none, with a standard
    deviation of tau. With a share s of them the normal limit gives

    .. math:: s L = (z_{1-\alpha} + z_{0.8}) \sqrt{(1 - s) \sigma^2 + s \tau^2} + 1/2,    \tag{1}

    half an error being what a test of whole numbers gives away on average. L and tau are of the test's own draws: where
    few of an item's orders can be drawn, since most answers stand at one place or strata are small, memorising it gains
    little. A plug-in: L, tau and sigma are what was measured.

    Parameters
    ----------
    lost, own : float
        L and tau.
    spread : float
        sigma, the standard deviation of the errors under independence.
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
    >>> p = 0.5 * 23 / 24
    >>> round(detectable_share(500 * p, math.sqrt(500 * p * (1 - p)), math.sqrt(500 / 6), level=0.01), 3)
    0.127
    """
    z = float(ndtri(1 - level / (2 if two_sided else 1))) + float(ndtri(POWER))
    more = z**2 * (own**2 - spread**2)
    if not lost > 0:
        return math.nan
    share = (lost + more + math.sqrt(max(0.0, (lost + more) ** 2 - lost**2 * (1 - 4 * (z * spread) ** 2)))) / (
        2 * lost**2
    )  # the larger root of (1), squared
    return share if share <= 1 else math.nan
