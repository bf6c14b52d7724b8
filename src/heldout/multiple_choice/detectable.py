"""The smallest share of memorised items that a test would have found."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
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


def detectable_share(
    lost: NDArray[np.float64], own: float, spread: float, *, p_all: float, level: float, two_sided: bool = False
) -> float:
    r"""Smallest share s of items, memorised in their printed order, that is found with power 0.8.

    Memorised items are right as printed and in their other orders wrong as they were measured to be. Had all of them
    been memorised (`learnt`), the verdict's test would expect l_i errors of item i, of which there are none, and L in
    all, with a standard deviation of tau. With each of them memorised with probability s, the normal limit gives

    .. math:: s L = z_{1-\alpha} \sqrt{(1 - s) \sigma^2 + s \tau^2}
       + z_{0.8} \sqrt{(1 - s) \sigma^2 + s (1 - s) \textstyle\sum_i l_i^2} + 1/2,    \tag{1}

    the first root being the spread of the test's draws and the second that of what is found: the errors of items that
    are not memorised, and which items are. Half an error is what a test of whole numbers gives away on average. l and
    tau are of the test's own draws: where few of an item's orders can be drawn, since most answers stand at one place
    or strata are small, memorising it gains little. With s = 1 nothing is left to chance, and p itself tells. A
    plug-in: l, tau and sigma are what was measured.

    Parameters
    ----------
    lost : (n,) float
        l.
    own : float
        tau.
    spread : float
        sigma, the standard deviation of the errors under independence.
    p_all : float
        Of a model that has memorised every item.
    level : float
        Of the test.
    two_sided : bool
        Whether it has two sides.

    Returns
    -------
    float
        NaN where memorising every item would not be found.

    Examples
    --------
    >>> p = 0.5 * 23 / 24
    >>> own, spread = math.sqrt(500 * p * (1 - p)), math.sqrt(500 / 6)
    >>> round(detectable_share(np.full(500, p), own, spread, p_all=1e-9, level=0.01), 3)
    0.126
    """
    if p_all > level:
        return math.nan
    tail, more = float(ndtri(1 - level / (2 if two_sided else 1))), float(ndtri(POWER))
    total, varied = float(lost.sum()), float(lost @ lost)

    def gap(s: float) -> float:
        drawn, found = (1 - s) * spread**2 + s * own**2, (1 - s) * spread**2 + s * (1 - s) * varied
        return s * total - tail * math.sqrt(drawn) - more * math.sqrt(found) - 0.5  # (1)

    return float(brentq(gap, 0.0, 1.0, xtol=1e-6)) if gap(1.0) > 0 else 1.0
