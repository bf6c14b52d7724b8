"""Ranks, equals sharing theirs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def average_ranks(values: ArrayLike) -> NDArray[np.float64]:
    """(n,) ranks from 1 on; equals have the mean of theirs. What `scipy.stats.rankdata` gives, without loading that.

    Examples
    --------
    >>> average_ranks([3.0, 1.0, 3.0, 2.0]).tolist()
    [3.5, 1.0, 3.5, 2.0]
    """
    given = np.asarray(values, dtype=np.float64)
    assert not np.isnan(given).any(), "NaN has no rank"
    _, place, counts = np.unique(given, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2.0)[place.reshape(-1)])
