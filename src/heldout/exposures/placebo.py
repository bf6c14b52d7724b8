"""The placebo test: would other families, of like ability, have done as well with these cutoffs?

Residuals, what a model has right less what tables with the same margins have, stay where they are; exposures move from
family to family, within blocks of about five neighbours by score. It takes no Rasch model, but cutoffs that are
exchangeable among families of like ability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from heldout.exposures.inputs import Board
from heldout.statistics.margins import MISSING, TIE, monte_carlo_p

Floats = NDArray[np.float64]
BLOCK = 5  # families of like ability
ENOUGH = 20  # assignments from which on the verdict may rest on them
ROUNDED = 9  # digits of sums of residuals, which are of the order of 1


@dataclass(frozen=True, kw_only=True)
class Placebo:
    """p, and out of how many distinct assignments of exposures to families."""

    p_value: float
    assignments: int
    smallest_p: float
    n_blocks: int
    error: float = 0.0  # standard deviation of p over seeds; none where all assignments are looked at


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
    gains = own @ exposures.T  # (families, families): the sum of residuals of one, had it the exposure of another
    names = [board.family_names[board.families[rows[0]]] for rows in families]
    blocks = [
        _Block.of(gains[np.ix_(rows, rows)])
        for rows in blocks_of(np.array([scores[rows].mean() for rows in families]), names)
    ]
    observed = float(np.trace(gains))
    assignments = math.prod(block.count for block in blocks)
    smallest = math.prod(block.largest for block in blocks)
    if assignments <= n_resamples + 1:
        totals = np.zeros(1)
        for block in blocks:
            totals = (totals[:, None] + block.sums).ravel()
        p, error = float(np.mean(totals >= observed - TIE * max(1.0, abs(observed)))), 0.0
    else:
        drawn = sum((rng.choice(block.sums, size=n_resamples) for block in blocks), np.zeros(n_resamples))
        p, smallest = monte_carlo_p(observed, drawn, unit=1.0), max(smallest, 1 / (n_resamples + 1))
        error = math.sqrt(p * (1 - p) / n_resamples)
    return Placebo(p_value=p, assignments=assignments, smallest_p=smallest, n_blocks=len(blocks), error=error)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Block:
    """Families of like ability, and the sums of residuals under every distinct way to give them their exposures."""

    sums: Floats

    @classmethod
    def of(cls, gains: Floats) -> _Block:
        """From the sum of residuals of every family under the exposure of every other."""
        # exposures under which every family has the same sum are one: everything and nothing (residuals of a row sum to
        # nothing in every stratum), those that differ where nothing can move, or on cells that the block does not have
        _, first, kind = np.unique(np.round(gains, ROUNDED), axis=1, return_index=True, return_inverse=True)
        ways = np.array(sorted(set(permutations(kind.ravel().tolist()))))
        return cls(sums=gains[:, first][np.arange(len(gains)), ways].sum(axis=1))

    @property
    def count(self) -> int:
        return len(self.sums)

    @property
    def largest(self) -> float:
        """The share of ways that reach the largest sum: no p of this block alone is smaller."""
        return float(np.mean(self.sums >= self.sums.max() - TIE * max(1.0, abs(float(self.sums.max())))))


def blocks_of(scores: Floats, names: Sequence[str] = ()) -> list[NDArray[np.intp]]:
    """About five neighbours by score in each; equal scores by a hash of the name, so that the order of rows is nothing.

    Examples
    --------
    >>> [block.tolist() for block in blocks_of(np.array([0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.5, 0.4]))]
    [[0, 2, 4, 7], [6, 5, 3, 1]]
    """
    ties = np.array([_hashed(name) for name in names] or [0] * len(scores), dtype=np.uint64)
    return list(np.array_split(np.lexsort((ties, np.round(scores, 12))), max(1, round(len(scores) / BLOCK))))


def _hashed(name: str) -> int:
    # CRC-32 is linear: it puts m0, m2, m4, ... into other blocks than m1, m3, m5, ..., and numbers go with cutoffs
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")
