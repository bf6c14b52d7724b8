"""Options that were scored one by one, each without the others in sight: their order cannot matter."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

SCORED_ALONE = (
    "each option was scored by itself, without the others in sight, so that another order merely reorders the scores"
)
CLOSE = 0.01  # of the difference by place; batches of another shape change scores by less
SHARE, FEWEST = 0.9, 3  # of the arrangements that differ by place, and how many there must be

Placed = tuple[NDArray[np.float64], NDArray[np.float64]]  # the same scores by place and by option


def letter_score(log_probs: Sequence[float] | NDArray[np.float64] | None, place: int) -> float:
    """Log-probability of one letter among those shown; NaN where it was not told.

    Examples
    --------
    >>> round(letter_score([-1.0, -1.0, -30.0], 0), 3), letter_score(None, 0)
    (-0.693, nan)
    """
    if log_probs is None:
        return math.nan
    told = [float(value) for value in log_probs]  # a handful: arrays took ten times as long
    high = max(told)
    if not math.isfinite(high):
        return math.nan
    return told[place] - high - math.log(math.fsum(math.exp(value - high) for value in told))


def merely_reordered(items: Iterable[Sequence[Placed]]) -> bool:
    """Whether scores move with their options and stay what they are, which those of letters never do.

    Parameters
    ----------
    items : iterable of sequences of (by_place, by_option)
        Scores of each item's arrangements, the printed one first.

    Returns
    -------
    bool
        True where that holds for 90 % of the arrangements in which something changed place.

    Examples
    --------
    >>> alone = [np.array([-3.0, -1.0, -2.0]), np.array([-1.0, -2.0, -3.0])]
    >>> merely_reordered([[(alone[0], alone[0]), (alone[1], alone[0])]] * 5)
    True
    >>> merely_reordered([[(alone[0], alone[0]), (alone[1], alone[1])]] * 5)
    False
    """
    follow: list[bool] = []
    for (printed, by_option), *others in (arrangements for arrangements in items if len(arrangements) > 1):
        for place, option in others:
            moved = float(np.max(np.abs(place - printed)))
            if np.isfinite(moved) and moved > 0:
                follow.append(float(np.max(np.abs(option - by_option))) <= CLOSE * moved)
    return len(follow) >= FEWEST and float(np.mean(follow)) >= SHARE
