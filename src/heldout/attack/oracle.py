"""The only thing an analyst may ask: how accurate is this on the hidden labels?

A mechanism decides what is said. It has one method, `answer(losses) -> float`: the 0/1 losses of a query go in, the
loss that is shown comes out, so that every mechanism that can guard a test set can also be attacked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError


class Mechanism(Protocol):
    """What hands out losses."""

    def answer(self, losses: NDArray[np.bool_]) -> float:
        """The loss that is shown for a query."""
        ...


@dataclass(frozen=True)
class Exact:
    """Says the mean loss."""

    def answer(self, losses: NDArray[np.bool_]) -> float:
        """The mean loss itself."""
        return float(losses.mean())


@dataclass(frozen=True)
class Rounded:
    """Says the mean loss rounded to some digits, halves up.

    Examples
    --------
    >>> Rounded(2).answer(np.arange(1000) < 125)
    0.13
    """

    digits: int

    def __post_init__(self) -> None:
        if self.digits < 1:
            raise InputError(f"`digits` is {self.digits}; an answer needs at least one digit after the point.")

    def answer(self, losses: NDArray[np.bool_]) -> float:
        """The rounded mean loss, from whole numbers: in floats 0.125 · 100 may fall on either side of a half."""
        scale, n = int(10**self.digits), len(losses)
        return (2 * int(losses.sum()) * scale + n) // (2 * n) / scale


class AccuracyOracle:
    """Hidden labels behind a counter.

    Parameters
    ----------
    labels : (n,) int
        The labels, which the analyst does not see.
    mechanism : Mechanism
        What is said of a query; the exact loss by default.

    Examples
    --------
    >>> oracle = AccuracyOracle([0, 1, 1, 0])
    >>> oracle.accuracy([0, 1, 0, 0]), oracle.queries
    (0.75, 1)
    """

    def __init__(self, labels: ArrayLike, mechanism: Mechanism | None = None) -> None:
        self._labels: NDArray[Any] = np.asarray(labels)
        if self._labels.ndim != 1 or len(self._labels) == 0 or self._labels.dtype.kind not in "iu":
            raise InputError(
                f"`labels` has the shape {self._labels.shape} and the type {self._labels.dtype}; whole numbers of "
                "shape (n,), at least one, are needed."
            )
        self.mechanism: Mechanism = Exact() if mechanism is None else mechanism
        self.queries = 0

    def __len__(self) -> int:
        return len(self._labels)

    def accuracy(self, query: ArrayLike) -> float:
        """What the mechanism says of a query: 1 less the loss it shows."""
        labels = np.asarray(query)
        if labels.shape != self._labels.shape:
            raise InputError(f"a query has {labels.shape} labels; the test set has {len(self)}.")
        self.queries += 1
        return 1.0 - self.mechanism.answer(labels != self._labels)

    def true_accuracy(self, query: ArrayLike) -> float:
        """The accuracy itself, uncounted: for judging an attack, not for making it."""
        return float(np.mean(np.asarray(query) == self._labels))
