"""The placebo test: would other families, of like ability, have done as well with these cutoffs?

Residuals, what a model has right less what tables with the same margins have, stay where they are; exposures move from
family to family, within blocks of about five neighbours by score. It takes no Rasch model, but cutoffs that are
exchangeable among families of like ability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from heldout.exposures.inputs import Board
from heldout.statistics.margins import MISSING, TIE

Floats = NDArray[np.float64]
BLOCK = 5  # families of like ability


@dataclass(frozen=True, kw_only=True)
class Placebo:
    """p, and out of how many distinct assignments of exposures to families."""

    p_value: float
    assignments: int
    smallest_p: float
    n_blocks: int


def residuals(board: Board, mean: Floats) -> Floats:
    """(k, n) right less expected, 0 where a cell is missing."""
    return np.where(board.cells == MISSING, 0.0, board.right - mean)


def placebo_test(board: Board, mean: Floats, n_resamples: int, rng: np.random.Generator) -> Placebo:
    """Exposures permuted among families within blocks by score: all ways where there are few, else some at random."""
    of, scores = residuals(board, mean), board.scores
    families = [np.flatnonzero((board.families == f) & board.known) for f in range(len(board.family_names))]
    families = [rows for rows in families if len(rows)]
    own = np.stack([of[rows].mean(axis=0) for rows in families])
    exposures = np.stack([board.could[rows].mean(axis=0) for rows in families])
    # residuals of a row sum to nothing in every stratum: exposures that differ by a constant there are the same to the
    # sum, such as everything and nothing, and count as one assignment
    starts = np.flatnonzero(np.diff(board.strata, prepend=-1))
    exposures = np.round(exposures - np.minimum.reduceat(exposures, starts, axis=1)[:, board.strata], 12)
    kinds: dict[bytes, int] = {}
    kind = np.array([kinds.setdefault(row.tobytes(), len(kinds)) for row in exposures])
    first = [int(np.argmax(kind == a)) for a in range(len(kinds))]
    gains = own @ exposures[first].T  # (families, kinds): its sum of residuals, had it this exposure
    names = [board.family_names[board.families[rows[0]]] for rows in families]
    blocks = blocks_of(np.array([scores[rows].mean() for rows in families]), names)
    observed = float(gains[np.arange(len(families)), kind].sum())
    slack = TIE * max(1.0, abs(observed))
    counts = [_arrangements(kind[block]) for block in blocks]
    assignments = math.prod(counts)
    if assignments <= n_resamples + 1:
        totals = np.zeros(1)
        for block in blocks:
            ways = np.array(sorted(set(permutations(kind[block].tolist()))))
            sums = gains[block][np.arange(len(block)), ways].sum(axis=1)
            totals = (totals[:, None] + sums).ravel()
        p, smallest = float(np.mean(totals >= observed - slack)), 1 / assignments
    else:
        totals = np.zeros(n_resamples)
        for block in blocks:
            ways = rng.permuted(np.tile(kind[block], (n_resamples, 1)), axis=1)
            totals += gains[block][np.arange(len(block)), ways].sum(axis=1)
        p = float((1 + np.count_nonzero(totals >= observed - slack)) / (n_resamples + 1))
        smallest = 1 / (n_resamples + 1)
    return Placebo(p_value=p, assignments=assignments, smallest_p=smallest, n_blocks=len(blocks))


def blocks_of(scores: Floats, names: Sequence[str] = ()) -> list[NDArray[np.intp]]:
    """About five neighbours by score in each; equal scores by a hash of the name, so that the order of rows is nothing.

    Examples
    --------
    >>> [block.tolist() for block in blocks_of(np.array([0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.5, 0.4]))]
    [[0, 2, 4, 7], [6, 5, 3, 1]]
    """
    ties = np.array([crc32(name.encode()) for name in names] or [0] * len(scores), dtype=np.float64)
    return list(np.array_split(np.lexsort((ties, np.round(scores, 12))), max(1, round(len(scores) / BLOCK))))


def _arrangements(kinds: NDArray[np.intp]) -> int:
    """Distinct ways to give these exposures to these families.

    Examples
    --------
    >>> _arrangements(np.array([0, 0, 0, 1, 1])), _arrangements(np.array([2, 2]))
    (10, 1)
    """
    return math.factorial(len(kinds)) // math.prod(math.factorial(int(c)) for c in np.bincount(kinds))
