"""What severities 1 to 5 mean, for 224 px and for 32 px.

`IMAGENET` are the numbers of ImageNet-C as in the package `imagecorruptions-imaug`, `CIFAR` those of CIFAR-10-C
(`make_cifar_c.py` of github.com/hendrycks/robustness).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Glass:
    """A blur of width sigma, pixels taken from up to `reach` away, `times` over, and the blur again."""

    sigma: float
    reach: int
    times: int


@dataclass(frozen=True)
class Disk:
    """A disk as the camera's aperture; its edge smoothed by a Gaussian."""

    radius: float
    edge: float


@dataclass(frozen=True)
class Motion:
    """Half of a Gaussian along a line of 2 radius + 1 pixels."""

    radius: int
    sigma: float


@dataclass(frozen=True)
class Snow:
    """Flakes: normal noise (mean, sd), enlarged by zoom, kept above a threshold, moved; keep: share of the colours."""

    mean: float
    sd: float
    zoom: float
    threshold: float
    motion: Motion
    keep: float


@dataclass(frozen=True)
class Mix:
    """Weight of the picture, weight of the frost."""

    picture: float
    frost: float


@dataclass(frozen=True)
class Fog:
    """Thickness, and how fast the fractal loses its fine detail."""

    thickness: float
    decay: float


@dataclass(frozen=True)
class Elastic:
    """Amplitude and smoothing width of the displacements, and how far corners move, as shares of the picture's side."""

    amplitude: float
    sigma: float
    corners: float


def zooms(stop: float, step: float) -> tuple[float, ...]:
    """1, 1 + step, ... below stop."""
    return tuple(float(z) for z in np.arange(1, stop, step))


IMAGENET: dict[str, tuple[Any, ...]] = {
    "gaussian_noise": (0.08, 0.12, 0.18, 0.26, 0.38),
    "shot_noise": (60, 25, 12, 5, 3),
    "impulse_noise": (0.03, 0.06, 0.09, 0.17, 0.27),
    "defocus_blur": (Disk(3, 0.1), Disk(4, 0.5), Disk(6, 0.5), Disk(8, 0.5), Disk(10, 0.5)),
    "glass_blur": (Glass(0.7, 1, 2), Glass(0.9, 2, 1), Glass(1, 2, 3), Glass(1.1, 3, 2), Glass(1.5, 4, 2)),
    "motion_blur": (Motion(10, 3), Motion(15, 5), Motion(15, 8), Motion(15, 12), Motion(20, 15)),
    "zoom_blur": (zooms(1.11, 0.01), zooms(1.16, 0.01), zooms(1.21, 0.02), zooms(1.26, 0.02), zooms(1.31, 0.03)),
    "snow": (
        Snow(0.1, 0.3, 3, 0.5, Motion(10, 4), 0.8),
        Snow(0.2, 0.3, 2, 0.5, Motion(12, 4), 0.7),
        Snow(0.55, 0.3, 4, 0.9, Motion(12, 8), 0.7),
        Snow(0.55, 0.3, 4.5, 0.85, Motion(12, 8), 0.65),
        Snow(0.55, 0.3, 2.5, 0.85, Motion(12, 12), 0.55),
    ),
    "frost": (Mix(1, 0.4), Mix(0.8, 0.6), Mix(0.7, 0.7), Mix(0.65, 0.7), Mix(0.6, 0.75)),
    "fog": (Fog(1.5, 2), Fog(2, 2), Fog(2.5, 1.7), Fog(2.5, 1.5), Fog(3, 1.4)),
    "brightness": (0.1, 0.2, 0.3, 0.4, 0.5),
    "contrast": (0.4, 0.3, 0.2, 0.1, 0.05),
    # The package's own, in place of Hendrycks': ±0.005 sides of noise, smoothed over 0.01 sides, times 250 x this.
    "elastic_transform": tuple(Elastic(0.005 * 250 * a, 0.01, 0) for a in (0.05, 0.065, 0.085, 0.1, 0.12)),
    "pixelate": (0.6, 0.5, 0.4, 0.3, 0.25),
    "jpeg_compression": (25, 18, 15, 10, 7),
}

CIFAR: dict[str, tuple[Any, ...]] = {
    "gaussian_noise": (0.04, 0.06, 0.08, 0.09, 0.10),
    "shot_noise": (500, 250, 100, 75, 50),
    "impulse_noise": (0.01, 0.02, 0.03, 0.05, 0.07),
    "defocus_blur": (Disk(0.3, 0.4), Disk(0.4, 0.5), Disk(0.5, 0.6), Disk(1, 0.2), Disk(1.5, 0.1)),
    "glass_blur": (Glass(0.05, 1, 1), Glass(0.25, 1, 1), Glass(0.4, 1, 1), Glass(0.25, 1, 2), Glass(0.4, 1, 2)),
    "motion_blur": (Motion(6, 1), Motion(6, 1.5), Motion(6, 2), Motion(8, 2), Motion(9, 2.5)),
    "zoom_blur": (zooms(1.06, 0.01), zooms(1.11, 0.01), zooms(1.16, 0.01), zooms(1.21, 0.01), zooms(1.26, 0.01)),
    "snow": (
        Snow(0.1, 0.2, 1, 0.6, Motion(8, 3), 0.95),
        Snow(0.1, 0.2, 1, 0.5, Motion(10, 4), 0.9),
        Snow(0.15, 0.3, 1.75, 0.55, Motion(10, 4), 0.9),
        Snow(0.25, 0.3, 2.25, 0.6, Motion(12, 6), 0.85),
        Snow(0.3, 0.3, 1.25, 0.65, Motion(14, 12), 0.8),
    ),
    "frost": (Mix(1, 0.2), Mix(1, 0.3), Mix(0.9, 0.4), Mix(0.85, 0.4), Mix(0.75, 0.45)),
    "fog": (Fog(0.2, 3), Fog(0.5, 3), Fog(0.75, 2.5), Fog(1, 2), Fog(1.5, 1.75)),
    "brightness": (0.05, 0.1, 0.15, 0.2, 0.3),
    "contrast": (0.75, 0.5, 0.4, 0.3, 0.15),
    "elastic_transform": (
        Elastic(0, 0, 0.08),
        Elastic(0.05, 0.2, 0.07),
        Elastic(0.08, 0.06, 0.06),
        Elastic(0.1, 0.04, 0.05),
        Elastic(0.1, 0.03, 0.03),
    ),
    "pixelate": (0.95, 0.9, 0.85, 0.75, 0.65),
    "jpeg_compression": (80, 65, 58, 50, 40),
}
