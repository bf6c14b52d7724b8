"""Labels that are wrong on purpose."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError


def noisy_labels(labels: ArrayLike, rate: float, *, classes: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The labels, an exact share of them replaced by a wrong one, each wrong one as likely as any other.

    Examples
    --------
    >>> labels = np.arange(10) % 3
    >>> noisy = noisy_labels(labels, 0.5, classes=3, rng=np.random.default_rng(0))
    >>> int((noisy != labels).sum())
    5
    """
    given = check_labels(labels)
    if not 0 <= rate <= 1:
        raise InputError(f"a rate of label noise is {rate:g}; it lies between 0 and 1.")
    if classes < 2:
        raise InputError(f"there are {classes} classes; two at least are needed for a label to be wrong.")
    if given.min() < 0 or given.max() >= classes:
        raise InputError(
            f"labels run from {given.min()} to {given.max()}; with {classes} classes they are 0 to {classes - 1}."
        )
    out = given.copy()
    hit = rng.permutation(len(given))[: round(rate * len(given))]
    if rate > 0 and not len(hit):
        raise InputError(f"a rate of {rate:g} of {len(given)} labels is less than one; more examples are needed.")
    out[hit] = (given[hit] + rng.integers(1, classes, len(hit))) % classes
    return out


def check_labels(labels: ArrayLike, what: str = "labels") -> NDArray[np.int64]:
    """(n,) whole numbers, one at least."""
    given = np.asarray(labels)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1 or given.dtype.kind not in "iub" or not len(given):
        raise InputError(
            f"{what} have the shape {given.shape} and the type {given.dtype}; whole numbers (n,) are needed."
        )
    return given.astype(np.int64)
