"""Labels that are wrong on purpose."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.checks import check_labels, check_share
from heldout.errors import InputError


def check_noise(labels: NDArray[np.int64], rates: ArrayLike, *, n_classes: int) -> None:
    """Refuse labels of which none could be wrong, or rates that make none of them wrong."""
    if n_classes < 2:
        raise InputError(f"the labels are of {n_classes} class; at least two are needed for a label to be wrong.")
    for rate in np.asarray(rates, dtype=np.float64).tolist():
        check_share(rate, "rate", zero=True, one=True)
        if rate > 0 and round(rate * len(labels)) < 1:
            raise InputError(f"a rate of {rate:g} of {len(labels):,} labels is less than one; give more examples.")


def noisy_labels(labels: ArrayLike, rate: float, *, classes: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The labels, an exact share of them replaced by a wrong one, each wrong one as likely as any other.

    Examples
    --------
    >>> labels = np.arange(10) % 3
    >>> noisy = noisy_labels(labels, 0.5, classes=3, rng=np.random.default_rng(0))
    >>> int((noisy != labels).sum())
    5
    """
    given = check_labels(labels, classes=classes)
    check_noise(given, [rate], n_classes=classes)
    out = given.copy()
    hit = rng.permutation(len(given))[: round(rate * len(given))]
    out[hit] = (given[hit] + rng.integers(1, classes, len(hit))) % classes
    return out
