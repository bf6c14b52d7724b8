"""Counting over all pairs of models at once, by matrix products of their unpacked losses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.reuse.packed import PackedLosses

Ints = NDArray[np.int64]
Counts = NDArray[np.int32]
Floats32 = NDArray[np.float32]

# One float32 product counts for two rows at once: (a + 4096 b) . c = a.c + 4096 b.c. Both counts stay below 4096 and
# the sum below 2**24, where float32 is exact, as long as no more than 4095 examples are summed.
_SHIFT = 12
_BASE = 1 << _SHIFT
_BLOCK_BYTES = (_BASE - 1) // 8
_ROWS = 64  # models unpacked at a time; even, since two share a row on the left
_BLOCK_MEMORY = 192 * 2**20  # of unpacked losses at a time; more would not be faster
_TILE = 128  # left rows multiplied at a time: enough for BLAS, little waste below the diagonal


class PairCounter:
    """Running counts over blocks of examples where nothing is missing."""

    n_matrices = 1.5  # unpacked at a time: the losses, and half as many rows that stand for two models each

    def __init__(self, losses: PackedLosses) -> None:
        k = losses.n_models
        self.losses, self.k = losses, k
        n_bytes = losses.wrong.shape[1]
        largest = min(_BLOCK_BYTES, max(1, int(_BLOCK_MEMORY / (32 * k * self.n_matrices))))
        n_blocks = -(-n_bytes // largest)
        self.block = -(-n_bytes // n_blocks)  # blocks of one size: none is too thin for BLAS
        self.wrong = np.zeros(k, np.int64)
        self.observed = np.full(k, losses.n_examples, np.int64)
        self.both_wrong = np.zeros(k * (k - 1) // 2, np.int32)
        self.difficulty = np.zeros(k + 1, np.int64)
        self._allocate(8 * self.block)

    def _allocate(self, width: int) -> None:
        # below the models a row of ones, which counts each model's wrong answers in the same product
        self._right = np.ones((self.k + 1, width), np.float32)
        self._left = np.empty(((self.k + 1) // 2, width), np.float32)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Bytes of each block of examples."""
        n_bytes = self.losses.wrong.shape[1]
        return ((start, min(start + self.block, n_bytes)) for start in range(0, n_bytes, self.block))

    def add(self, start: int, stop: int) -> None:
        """Count one block of examples."""
        width = 8 * (stop - start)
        right, left = self._right[:, :width], self._left[:, :width]
        for row in range(0, self.k, _ROWS):  # a few rows at a time stay in the cache from bits to sums of two
            ones = np.unpackbits(self.losses.wrong[row : row + _ROWS, start:stop], axis=1)
            rows = right[row : row + len(ones)]
            rows[:] = ones
            two = left[row // 2 : (row + len(ones) + 1) // 2]
            two[:] = rows[0::2]
            two[: len(ones) // 2] += rows[1::2] * np.float32(_BASE)
        examples = min(8 * stop, self.losses.n_examples) - 8 * start
        self._add_difficulty(right[: self.k, :examples].sum(axis=0))
        for tile in range(0, len(left), _TILE):
            first = 2 * tile
            for odd, counts in enumerate(_split(left[tile : tile + _TILE] @ right[first:].T)):
                self.wrong[first + odd : first + 2 * len(counts) : 2] += counts[: (self.k - first + 1 - odd) // 2, -1]
                for row, count in enumerate(counts):
                    self._add_row(self.both_wrong, first + 2 * row + odd, count, first)

    def _add_difficulty(self, wrong: Floats32) -> None:
        self.difficulty += np.bincount(wrong.astype(np.int64), minlength=self.k + 1)

    def _add_row(self, total: Counts, i: int, counts: Counts, first: int) -> None:
        """Add model i's counts against models first, first + 1, ... to its place among the pairs."""
        if i < self.k - 1:
            start = i * (2 * self.k - i - 1) // 2
            total[start : start + self.k - 1 - i] += counts[i + 1 - first : self.k - first]

    def counts(self) -> dict[str, Any]:
        """What was counted, by the result's names."""
        nothing = dict.fromkeys(("common", "first_wrong", "second_wrong"))
        return {"wrong": self.wrong, "observed": self.observed, "both_wrong": self.both_wrong, **nothing}


class MaskedCounter(PairCounter):
    """Running counts where answers are missing: a row on the left stands for a model's losses and its mask."""

    n_matrices = 3.0

    def _allocate(self, width: int) -> None:
        self._right, self._there, self._left = (np.ones((self.k + 1, width), np.float32) for _ in range(3))
        self.observed[:] = 0
        self.common, self.first_wrong, self.second_wrong = (np.zeros_like(self.both_wrong) for _ in range(3))

    def add(self, start: int, stop: int) -> None:
        """Count one block of examples."""
        assert self.losses.observed is not None
        k, width = self.k, 8 * (stop - start)
        wrong, there, left = (table[:, :width] for table in (self._right, self._there, self._left))
        for row in range(0, k, _ROWS):
            rows = slice(row, min(row + _ROWS, k))
            wrong[rows] = np.unpackbits(self.losses.wrong[rows, start:stop], axis=1)
            there[rows] = np.unpackbits(self.losses.observed[rows, start:stop], axis=1)
            left[rows] = wrong[rows] + there[rows] * np.float32(_BASE)
        complete = there[:k].sum(axis=0) == k  # the bits that fill the last byte are never there
        self._add_difficulty(wrong[:k].sum(axis=0)[complete])
        for first in range(0, k, _TILE):
            rows = slice(first, min(first + _TILE, k))
            both, second_wrong = _split(left[rows] @ wrong[first:].T)
            self.wrong[rows] += both[:, -1]
            self.observed[rows] += second_wrong[:, -1]
            first_wrong, common = _split(left[rows] @ there[first:k].T)
            for row in range(len(both)):
                self._add_row(self.both_wrong, first + row, both[row], first)
                self._add_row(self.second_wrong, first + row, second_wrong[row], first)
                self._add_row(self.first_wrong, first + row, first_wrong[row], first)
                self._add_row(self.common, first + row, common[row], first)

    def counts(self) -> dict[str, Any]:
        """What was counted, by the result's names."""
        masked = {"common": self.common, "first_wrong": self.first_wrong, "second_wrong": self.second_wrong}
        return super().counts() | masked


def _split(products: Floats32) -> tuple[Counts, Counts]:
    """Take the two counts of each product apart."""
    both = products.astype(np.int32)
    return both & (_BASE - 1), both >> _SHIFT
