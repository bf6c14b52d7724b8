"""Additive Gaussian noise (9)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def gaussian(
    images: NDArray[np.float32], strength: float, *, rng: np.random.Generator, low: float, high: float
) -> NDArray[np.float32]:
    """x + ε n, n standard normal in every pixel (9), cut to the declared range so that a picture stays a picture.

    Examples
    --------
    >>> x = np.full((1, 2, 2, 1), 0.5, dtype=np.float32)
    >>> bool((gaussian(x, 0.0, rng=np.random.default_rng(0), low=0.0, high=1.0) == x).all())
    True
    """
    noise = rng.standard_normal(images.shape, dtype=np.float32)
    return np.clip(images + np.float32(strength) * noise, low, high)
