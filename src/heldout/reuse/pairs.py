"""Counting over all pairs of models at once, by matrix products of their unpacked losses."""

from __future__ import annotations

import importlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.reuse.packed import PackedLosses

Ints = NDArray[np.int64]
Counts = NDArray[np.int32]
Floats32 = NDArray[np.float32]
Each = Callable[[Callable[[int], None], Iterable[int]], object]  # calls a function for each number

# One float32 product counts for two rows at once: (a + 4096 b) . c = a.c + 4096 b.c. Both counts stay below 4096 and
# the sum below 2**24, where float32 is exact, as long as no more than 4095 examples are summed.
_SHIFT = 12
_BASE = 1 << _SHIFT
_MOST_SUMMED = _BASE - 1
_ROWS = 64  # models unpacked at a time; even, since two share a row on the left
_BLOCK_MEMORY = 192 * 2**20  # of unpacked losses at a time; more would not be faster
_MOST_THREADS = 8  # each holds a few tiles of counts
_TILE = 96  # left rows multiplied at a time: enough for BLAS, little waste below the diagonal


@contextmanager
def threads() -> Iterator[Each]:
    """Let each thread multiply its own tiles, with a BLAS that stays in its thread, where threadpoolctl can hold it.

    The threads of one product wait for each other at every step. On a machine that is busy with something else that
    is many times slower than threads that meet once a block; on an idle one the rest of the work gains from them.
    Without threadpoolctl (scikit-learn brings it) BLAS does as it likes.
    """
    try:
        threadpoolctl = importlib.import_module("threadpoolctl")
    except ImportError:
        yield lambda function, numbers: deque(map(function, numbers), maxlen=0)
        return
    control = threadpoolctl.ThreadpoolController().select(user_api="blas")
    allowed = max((library["num_threads"] for library in control.info()), default=1)
    with control.limit(limits=1), ThreadPoolExecutor(min(allowed, _MOST_THREADS)) as pool:
        yield lambda function, numbers: deque(pool.map(function, numbers), maxlen=0)


class PairCounter:
    """Running counts over blocks of examples where nothing is missing."""

    n_matrices = 1.5  # unpacked at a time: the losses, and half as many rows that stand for two models each

    def __init__(self, losses: PackedLosses) -> None:
        k = losses.n_models
        self.losses, self.k = losses, k
        n_bytes = losses.wrong.shape[1]
        largest = max(1, int(_BLOCK_MEMORY / (32 * k * self.n_matrices)))
        n_blocks = -(-n_bytes // largest)
        self.block = -(-n_bytes // n_blocks)  # blocks of one size: none is too thin for BLAS
        self.wrong = np.zeros(k, np.int64)
        self.observed = np.full(k, losses.n_examples, np.int64)
        self.both_wrong = np.zeros(k * (k - 1) // 2, np.int32)
        self.difficulty = np.zeros(k + 1, np.int64)
        self._allocate(8 * self.block)

    def _allocate(self, width: int) -> None:
        # below the models a row of ones, which counts each model's wrong answers in the same product
        self._right = np.empty((self.k + 1, width), np.float32)
        self._right[-1] = 1
        self._left = np.empty(((self.k + 1) // 2, width), np.float32)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Bytes of each block of examples."""
        n_bytes = self.losses.wrong.shape[1]
        return ((start, min(start + self.block, n_bytes)) for start in range(0, n_bytes, self.block))

    def add(self, start: int, stop: int, each: Each) -> None:
        """Count one block of examples; `each` shares the work on groups of rows among threads."""
        width = 8 * (stop - start)
        right, left = self._right[:, :width], self._left[:, :width]

        def unpack(row: int) -> None:  # a few rows stay in the cache from bits to sums of two
            ones = np.unpackbits(self.losses.wrong[row : row + _ROWS, start:stop], axis=1)
            rows = right[row : row + len(ones)]
            rows[:] = ones
            two = left[row // 2 : (row + len(ones) + 1) // 2]
            two[:] = rows[0::2]
            two[: len(ones) // 2] += rows[1::2] * np.float32(_BASE)

        def multiply(tile: int) -> None:
            first = 2 * tile
            even, odd = _two_counts(left[tile : tile + _TILE], right[first:])
            counts = np.empty((2 * len(even), even.shape[1]), np.int32)
            counts[0::2], counts[1::2] = even, odd
            counts = counts[: self.k - first]
            self.wrong[first : first + len(counts)] += counts[:, -1]
            self._add_pairs(self.both_wrong, first, counts)

        each(unpack, range(0, self.k, _ROWS))
        examples = min(8 * stop, self.losses.n_examples) - 8 * start
        self._add_difficulty(right[: self.k, :examples].sum(axis=0))
        each(multiply, range(0, len(left), _TILE))

    def _add_difficulty(self, wrong: Floats32) -> None:
        self.difficulty += np.bincount(wrong.astype(np.int64), minlength=self.k + 1)

    def _add_pairs(self, total: Counts, first: int, counts: Counts) -> None:
        """Add the counts of models first, first + 1, ... against the same and all later ones to their pairs."""
        models = np.arange(first, self.k)
        later = models > models[: len(counts), None]
        stop = first + len(counts)
        pairs = slice(*(i * (2 * self.k - i - 1) // 2 for i in (first, stop)))
        total[pairs] += counts[:, : len(models)][later]

    def counts(self) -> dict[str, Any]:
        """What was counted, by the result's names."""
        nothing = dict.fromkeys(("common", "first_wrong", "second_wrong"))
        return {"wrong": self.wrong, "observed": self.observed, "both_wrong": self.both_wrong, **nothing}


class MaskedCounter(PairCounter):
    """Running counts where answers are missing: a row on the left stands for a model's losses and its mask."""

    n_matrices = 3.0

    def _allocate(self, width: int) -> None:
        self._right, self._there, self._left = (np.empty((self.k + 1, width), np.float32) for _ in range(3))
        self._right[-1] = 1
        self.observed[:] = 0
        self.common, self.first_wrong, self.second_wrong = (np.zeros_like(self.both_wrong) for _ in range(3))

    def add(self, start: int, stop: int, each: Each) -> None:
        """Count one block of examples; `each` shares the work on groups of rows among threads."""
        k, width, losses = self.k, 8 * (stop - start), self.losses
        wrong, there, left = (table[:, :width] for table in (self._right, self._there, self._left))

        def unpack(row: int) -> None:
            assert losses.observed is not None
            rows = slice(row, min(row + _ROWS, k))
            wrong[rows] = np.unpackbits(losses.wrong[rows, start:stop], axis=1)
            there[rows] = np.unpackbits(losses.observed[rows, start:stop], axis=1)
            left[rows] = wrong[rows] + there[rows] * np.float32(_BASE)

        def multiply(first: int) -> None:
            rows = slice(first, min(first + _TILE, k))
            both, second_wrong = _two_counts(left[rows], wrong[first:])
            self.wrong[rows] += both[:, -1]
            self.observed[rows] += second_wrong[:, -1]
            self._add_pairs(self.both_wrong, first, both)
            self._add_pairs(self.second_wrong, first, second_wrong)
            first_wrong, common = _two_counts(left[rows], there[first:k])
            self._add_pairs(self.first_wrong, first, first_wrong)
            self._add_pairs(self.common, first, common)

        each(unpack, range(0, k, _ROWS))
        complete = there[:k].sum(axis=0) == k  # the bits that fill the last byte are never there
        self._add_difficulty(wrong[:k].sum(axis=0)[complete])
        each(multiply, range(0, k, _TILE))

    def counts(self) -> dict[str, Any]:
        """What was counted, by the result's names."""
        masked = {"common": self.common, "first_wrong": self.first_wrong, "second_wrong": self.second_wrong}
        return super().counts() | masked


def _two_counts(left: Floats32, right: Floats32) -> tuple[Counts, Counts]:
    """left @ right.T, a few thousand examples at a time, and the two counts of each product taken apart."""
    width = left.shape[1]
    n_parts = -(-width // _MOST_SUMMED)
    step = -(-width // n_parts)  # parts of one size: none is too thin for BLAS
    low, high = (np.zeros((len(left), len(right)), np.int32) for _ in range(2))
    for start in range(0, width, step):
        both = (left[:, start : start + step] @ right[:, start : start + step].T).astype(np.int32)
        low += both & (_BASE - 1)
        high += both >> _SHIFT
    return low, high
