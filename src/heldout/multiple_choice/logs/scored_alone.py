"""Options that were scored one by one, each without the others in sight: their order cannot matter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

SCORED_ALONE = (
    "each option was scored by itself, without the others in sight, so that another order merely reorders the scores"
)
CLOSE = 0.01  # of the difference by place; batches of another shape change scores by less
SHARE, FEWEST = 0.9, 3  # of the arrangements that differ by place, and how many there must be

Placed = tuple[NDArray[np.float64], NDArray[np.float64]]  # the same scores by place and by option


def merely_reordered(items: Iterable[Sequence[Placed]]) -> bool:
    """Whether scores move with their options and stay what they are, which those of letters never do.

    Items count whose scores tell their options apart, all but one of them at least, and once for each least score: a
    model that is sure of one letter, with one and the same score for all others, has the same scores in every order.

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
    >>> a, b = np.array([-3.0, -1.0, -2.0]), np.array([-1.0, -2.0, -3.0])
    >>> alone, letters = ([[(a - i, a - i), (b - i, c - i)] for i in range(5)] for c in (a, b))
    >>> merely_reordered(alone), merely_reordered(letters)
    (True, False)
    """
    follow: dict[tuple[float, int], bool] = {}
    for (printed, by_option), *others in (arrangements for arrangements in items if len(arrangements) > 1):
        if len(printed) > 2 and len(np.unique(printed)) < max(3, len(printed) - 1):
            continue
        for number, (place, option) in enumerate(others):
            if not (np.isfinite(place).all() and np.isfinite(printed).all()):
                continue
            moved = float(np.max(np.abs(place - printed)))
            if moved > 0:
                follows = float(np.max(np.abs(option - by_option))) <= CLOSE * moved
                least = float(np.min(printed)), number
                follow[least] = follow.get(least, True) and follows
    return len(follow) >= FEWEST and float(np.mean(list(follow.values()))) >= SHARE
