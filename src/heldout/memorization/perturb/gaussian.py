"""Additive Gaussian noise (9)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heldout.memorization.perturb.base import Perturbation, Pictures, View


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


class Gaussian(Perturbation):
    """The same noise at every strength, only more of it, so that a picture that falls has fallen to the strength."""

    name = "gaussian"
    unit = "standard deviation of the noise, in 1/255 of the pixel range"

    def perturbed(self, view: View, strength: float) -> Pictures:
        """Noise of each picture's own."""
        sd = strength * view.unit
        return np.concatenate(
            [
                gaussian(view.pixels[i : i + 1], sd, rng=rng, low=view.low, high=view.high)
                for i, rng in enumerate(view.generators(self.name))
            ]
        )
