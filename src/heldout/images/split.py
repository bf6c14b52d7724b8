"""Put a control aside before anybody trains on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.checks import check_count, check_seed, check_share
from heldout.errors import InputError
from heldout.groups import Codes, group_codes, group_sizes


def split(
    labels: ArrayLike, *, control: float | int, seed: int, groups: ArrayLike | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
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
    groups : (n,), optional
        The group of each example; no group is cut. Every group has the same chance to be drawn, whatever its size,
        within the class that most of its examples have (the smallest of equals). Sizes are met as well as whole groups
        allow: the control is drawn evenly from the groups in the order of their size, so that its share of the examples
        is off by about one large group for each class. Groups of one example give the split without groups.

    Returns
    -------
    rest, control : int arrays
        Positions of the examples that are left and of those put aside, each sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import split
    >>> rest, control = split([0] * 60 + [1] * 40, control=0.1, seed=0)
    >>> len(rest), len(control), int((control < 60).sum())
    (90, 10, 6)
    >>> videos = np.repeat(np.arange(20), 5)
    >>> rest, control = split([0] * 60 + [1] * 40, control=0.1, seed=0, groups=videos)
    >>> len(control), len(np.unique(videos[control])), np.intersect1d(videos[rest], videos[control]).size
    (10, 2, 0)
    """
    y = np.asarray(labels)
    if y.ndim != 1 or len(y) < 2:
        raise InputError(f"`labels` has shape {y.shape}; at least two examples are needed.")
    if isinstance(control, float):
        total = round(check_share(control, "control") * len(y))
    else:
        total = check_count(control, "control")
    if not 1 <= total < len(y):
        raise InputError(
            f"`control` is {control!r}, which puts {total:,} of {len(y):,} examples aside; 1 to {len(y) - 1:,} of them "
            "can be."
        )
    rng = np.random.default_rng(check_seed(seed))
    if groups is not None:
        codes = group_codes(groups, len(y))
        if codes.max() + 1 < len(y):
            return _split_groups(y, codes, total, rng)
    classes, counts = np.unique(y, return_counts=True)
    sizes = _by_largest_remainder(counts, total)
    chosen = [rng.choice(np.flatnonzero(y == c), size=s, replace=False) for c, s in zip(classes, sizes, strict=True)]
    in_control = np.zeros(len(y), dtype=bool)
    in_control[np.concatenate(chosen)] = True
    return np.flatnonzero(~in_control), np.flatnonzero(in_control)


def _by_largest_remainder(counts: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Share `total` out in proportion to the counts, in whole numbers that add up."""
    shares = counts * total / counts.sum()
    sizes = np.floor(shares).astype(np.int64)
    by_remainder = np.lexsort((np.arange(len(counts)), sizes - shares))  # largest remainder first
    sizes[by_remainder[: total - sizes.sum()]] += 1
    return np.asarray(sizes)


def _split_groups(
    y: NDArray[np.generic], codes: Codes, total: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Whole groups: a systematic sample of each class's groups in the order of their size, ties in random order.

    Position i of G is taken where floor(u + (i + 1) f) > floor(u + i f), u uniform: each with the same chance f, G f
    in all. A plain random draw would be as fair, but with groups of 1 to 20 it misses the size by a tenth.
    """
    sizes = group_sizes(codes)
    n_groups = len(sizes)
    drawn = round(total * n_groups / len(y))
    if not 1 <= drawn < n_groups:
        raise InputError(
            f"a control of {total:,} of {len(y):,} examples would hold {drawn} of {n_groups} groups; "
            "groups stay whole, so choose another size, or smaller groups."
        )
    classes = np.unique(y, return_inverse=True)[1].reshape(len(y))
    n_classes = int(classes.max()) + 1
    held = np.bincount(codes * n_classes + classes, minlength=n_groups * n_classes).reshape(n_groups, n_classes)
    main = held.argmax(axis=1)
    counts = np.bincount(main, minlength=n_classes)
    in_control = np.zeros(n_groups, dtype=bool)
    for c, take in enumerate(_by_largest_remainder(counts, drawn)):
        members = rng.permutation(np.flatnonzero(main == c))
        members = members[np.argsort(-sizes[members], kind="stable")]
        steps = np.floor(rng.random() + np.arange(len(members) + 1) * take / max(len(members), 1) + 1e-12)
        in_control[members[np.diff(steps) > 0]] = True
    return np.flatnonzero(~in_control[codes]), np.flatnonzero(in_control[codes])
