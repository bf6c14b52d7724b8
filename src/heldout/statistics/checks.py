"""The door of the statistics: what every test asks of its numbers, once."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError

Alternative = Literal["two-sided", "greater"]
Floats = NDArray[np.float64]


def check_alternative(alternative: str) -> None:
    """Refuse anything but the two sides a mean-zero test can take."""
    if alternative not in get_args(Alternative):
        raise InputError(f"`alternative` is {alternative!r}; it must be 'two-sided' or 'greater'.")


def check_sample(values: ArrayLike, *, lower: float, upper: float, name: str = "T") -> Floats:
    """Return `values` as float64 after checking shape, finiteness and the declared range."""
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or x.size == 0:
        raise InputError(f"`{name}` has shape {x.shape}; it must be one number per example, at least one.")
    if not np.isfinite(x).all():
        raise InputError(f"`{name}` holds {int((~np.isfinite(x)).sum())} values that are not finite.")
    if not (math.isfinite(lower) and math.isfinite(upper) and lower < 0 < upper):
        raise InputError(
            f"the range [{lower}, {upper}] does not hold 0 inside; `lower` must be negative and `upper` "
            "positive, and both come from the rule (heldout.Translations.statistic_range), not from the data."
        )
    if x.min() < lower - 1e-12 or x.max() > upper + 1e-12:
        raise InputError(
            f"`{name}` runs from {x.min():.6g} to {x.max():.6g}, outside the declared range "
            f"[{lower:.6g}, {upper:.6g}]; give the range of the rule that made it."
        )
    return x


def check_tolerance(tolerance: float, *, lower: float, upper: float) -> None:
    """Refuse a tolerance that leaves nothing to test."""
    if not 0 <= tolerance < min(-lower, upper):
        raise InputError(f"`tolerance` is {tolerance}; it must be in [0, {min(-lower, upper):.4g}).")
