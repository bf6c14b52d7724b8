"""Noise in every pixel: of the sensor, of few photons, of broken bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def gaussian_noise(picture: Array, sd: float, *, rng: np.random.Generator) -> Array:
    """Normal noise of standard deviation `sd`, white being 1."""
    return np.clip(picture / 255 + rng.normal(size=picture.shape, scale=sd), 0, 1) * 255


def shot_noise(picture: Array, photons: float, *, rng: np.random.Generator) -> Array:
    """Poisson counts, where white sends `photons` on average."""
    return np.clip(rng.poisson(picture / 255 * photons) / photons, 0, 1) * 255


def impulse_noise(picture: Array, share: float, *, rng: np.random.Generator) -> Array:
    """A `share` of all values (each channel on its own) becomes black or white, as likely the one as the other."""
    hit = rng.random(picture.shape) <= share
    white = rng.random(picture.shape) <= 0.5
    return np.where(hit, np.where(white, 255, 0), picture)
