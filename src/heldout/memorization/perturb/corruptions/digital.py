"""What processing does: contrast, elastic distortion, pixelation, JPEG."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from heldout.memorization.perturb.corruptions.severities import Elastic

Array = NDArray[Any]


def contrast(picture: Array, share: float) -> Array:
    """Differences from each channel's mean, shrunk to a share."""
    x = picture / 255
    mean = x.mean(axis=(0, 1), keepdims=True)
    return np.asarray(np.clip((x - mean) * share + mean, 0, 1) * 255)


def elastic_transform(picture: Array, elastic: Elastic, *, rng: np.random.Generator, small: bool) -> Array:
    """A random affine map (CIFAR's only), then each pixel displaced smoothly."""
    height, width, _ = picture.shape
    x = (picture / 255).astype(np.float32)
    sigma: float | tuple[float, float]
    if small:
        side = min(height, width)  # 32 in the original
        x = sampled(x, *affine(height, width, elastic.corners * side, rng=rng), mode="mirror")
        limit, sigma, factor = 1.0, elastic.sigma * side, elastic.amplitude * side
    else:
        # Sides as in the package: the noise scales with the height, the smoothing with either.
        limit, sigma, factor = height * elastic.amplitude, (height * elastic.sigma, width * elastic.sigma), 1.0
    right, down = (
        ndimage.gaussian_filter(rng.uniform(-limit, limit, size=(height, width)), sigma, mode="reflect", truncate=3)
        for _ in range(2)
    )
    y, x_ = np.mgrid[:height, :width]
    return np.clip(sampled(x, y + factor * down, x_ + factor * right, mode="reflect"), 0, 1) * 255


def affine(height: int, width: int, most: float, *, rng: np.random.Generator) -> tuple[Array, Array]:
    """Where each pixel comes from (rows, columns), when three points about the centre move by up to `most` pixels."""
    cx, cy, reach = width // 2, height // 2, min(height, width) // 3
    before = np.array([[cx + reach, cy + reach], [cx + reach, cy - reach], [cx - reach, cy - reach]], dtype=float)
    after = before + rng.uniform(-most, most, size=(3, 2))
    if reach == 0:  # the three points are one: nothing to turn about
        before, after = before + np.array([[1, 1], [1, 0], [0, 0]]), before + np.array([[1, 1], [1, 0], [0, 0]])
    back = np.linalg.lstsq(np.column_stack([after, np.ones(3)]), before, rcond=None)[0]  # (3, 2)
    y, x = np.mgrid[:height, :width]
    from_x, from_y = (back[0, i] * x + back[1, i] * y + back[2, i] for i in (0, 1))
    return from_y, from_x


def sampled(x: Array, rows: Array, columns: Array, *, mode: str) -> Array:
    """Bilinear values of every channel at given places."""
    places = np.stack([rows, columns])
    channels = [ndimage.map_coordinates(x[:, :, c], places, order=1, mode=mode) for c in range(x.shape[2])]
    return np.stack(channels, axis=2)


def image(picture: Array) -> Image.Image:
    """As Pillow takes it."""
    return Image.fromarray(picture[:, :, 0] if picture.shape[2] == 1 else picture)


def pixelate(picture: Array, share: float, *, small: bool) -> Array:
    """Reduced to a share of the pixels a side, and enlarged again: CIFAR's by areas, ImageNet's by the nearest."""
    height, width, _ = picture.shape
    reduced = image(picture).resize((max(1, int(width * share)), max(1, int(height * share))), Image.Resampling.BOX)
    back = reduced.resize((width, height), Image.Resampling.BOX if small else Image.Resampling.NEAREST)
    return np.asarray(back).reshape(picture.shape)


def jpeg_compression(picture: Array, quality: int) -> Array:
    """Through JPEG and back."""
    file = BytesIO()
    image(picture).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file)).reshape(picture.shape)
