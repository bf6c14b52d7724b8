"""Which columns of sorted prompts are computed together, so that the fewest tokens run through a model."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heldout.scorers.tokens import Tokens


def common_beginnings(rows: Sequence[Tokens]) -> NDArray[np.int64]:
    """How many tokens each row has in common with the next; at most all but the last token of the shortest row.

    What is read of a row stands at its last token, and so in the last stretch of columns.

    Examples
    --------
    >>> common_beginnings([np.array([5, 6, 7, 8]), np.array([5, 6, 7, 9]), np.array([5, 4, 7])])
    array([2, 1])
    """
    most = min(map(len, rows)) - 1
    return np.array([min(most, common_beginning(a, b)) for a, b in itertools.pairwise(rows)], dtype=np.int64)


def common_beginning(a: Tokens, b: Tokens) -> int:
    """How many tokens two rows begin with alike."""
    n = min(len(a), len(b))
    differ = np.flatnonzero(a[:n] != b[:n])
    return int(differ[0]) if len(differ) else n


def stretches(common: NDArray[np.int64], length: int, call: int) -> list[int]:
    """Columns at which to branch, so that the fewest tokens are run.

    Up to column c there are 1 + #{i : common_i < c} different beginnings; a stretch from a to c costs (c - a) times
    that, and `call` for running the model once more. The shortest path over the columns where beginnings part.

    Parameters
    ----------
    common : (n_rows - 1,) int
        Tokens that each row has in common with the next.
    length : int
        Of the longest row.
    call : int
        Cost of one more stretch, in tokens.

    Returns
    -------
    list of int
        Ascending; the last stretch begins at the last of them.

    Examples
    --------
    >>> stretches(np.array([200, 213, 200, 213]), 250, call=10)  # 5 rows; pairs share 13 tokens more
    [200, 213]
    >>> stretches(np.array([200, 213, 200, 213]), 250, call=100)
    [200]
    """
    columns = np.unique(np.concatenate([[0], common]))
    beginnings = 1 + np.array([int((common < c).sum()) for c in columns])
    cost, come_from = np.zeros(len(columns)), np.zeros(len(columns), dtype=np.int64)
    for j in range(1, len(columns)):
        ways = cost[:j] + call + beginnings[j] * (columns[j] - columns[:j])
        come_from[j] = np.argmin(ways)
        cost[j] = ways[come_from[j]]
    at = int(np.argmin(cost + (len(common) + 1) * (length - columns)))
    cuts = []
    while at > 0:
        cuts.append(int(columns[at]))
        at = int(come_from[at])
    return cuts[::-1]
