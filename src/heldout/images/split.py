"""Put a control aside before anybody trains on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError


def split(labels: ArrayLike, *, control: float | int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw a control at random within each class, before any training or selection.

    Parameters
    ----------
    labels : (n,)
        Classes of all examples.
    control : float or int
        Share of the examples, or their number. Class sizes are rounded by largest remainder, so
        that the total is met exactly and every class has its share.
    seed : int
        Equal seeds give equal splits.

    Returns
    -------
    rest, control : arrays of indices, each sorted

    Examples
    --------
    >>> rest, control = split([0] * 60 + [1] * 40, control=0.1, seed=0)
    >>> len(rest), len(control), int((control < 60).sum())
    (90, 10, 6)
    """
    y = np.asarray(labels)
    if y.ndim != 1 or len(y) < 2:
        raise InputError(f"`labels` has shape {y.shape}; at least two examples are needed.")
    total = round(control * len(y)) if isinstance(control, float) else int(control)
    if not 1 <= total < len(y):
        raise InputError(f"a control of {control!r} of {len(y)} examples would hold {total}; 1 to {len(y) - 1} can.")
    rng = np.random.default_rng(seed)
    classes, counts = np.unique(y, return_counts=True)
    shares = counts * total / len(y)
    sizes = np.floor(shares).astype(int)
    by_remainder = np.lexsort((classes, sizes - shares))  # largest remainder first
    sizes[by_remainder[: total - sizes.sum()]] += 1
    chosen = [rng.choice(np.flatnonzero(y == c), size=s, replace=False) for c, s in zip(classes, sizes, strict=True)]
    in_control = np.zeros(len(y), dtype=bool)
    in_control[np.concatenate(chosen)] = True
    return np.flatnonzero(~in_control), np.flatnonzero(in_control)
