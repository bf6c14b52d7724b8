"""Weather: snow, frost, fog, and a bright day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.memorization.perturb.corruptions.blur import enlarged, moved_along
from heldout.memorization.perturb.corruptions.severities import Fog, Mix, Snow

Array = NDArray[Any]
LUMA = np.array([0.299, 0.587, 0.114])


def grey(x: Array) -> Array:
    """(h, w, 1) the brightness that the eye sees."""
    return x if x.shape[2] == 1 else (x @ LUMA)[:, :, None]


def snow(picture: Array, snow: Snow, *, rng: np.random.Generator, small: bool) -> Array:
    """Flakes blown by the wind over a paler picture, once as they are and once upside down."""
    height, width, _ = picture.shape
    noise = rng.normal(size=(height, width), loc=snow.mean, scale=snow.sd)
    # ImageNet's flakes are blown over the whole enlargement and cut afterwards, CIFAR's cut first, and to 8 bits.
    flakes = enlarged(noise[:, :, None], snow.zoom, centred=small, cut=small)[:, :, 0]
    flakes = np.clip(np.where(flakes < snow.threshold, 0, flakes), 0, 1)
    if small:
        flakes = (flakes * 255).astype(np.uint8) / 255
    blown = moved_along(flakes, snow.motion, degrees=float(rng.uniform(-135, -45)))
    layer = (np.round(blown * 255) / 255)[:height, :width, None]
    x = picture / 255
    x = snow.keep * x + (1 - snow.keep) * np.maximum(x, grey(x) * 1.5 + 0.5)
    return np.clip(x + layer + layer[::-1, ::-1], 0, 1) * 255


def frost(picture: Array, mix: Mix, *, rng: np.random.Generator, small: bool, textures: Sequence[Array]) -> Array:
    """A random piece of a picture of ice, added."""
    height, width, channels = picture.shape
    texture = textures[int(rng.integers(len(textures)))]
    if small:
        texture = texture[2::5, 2::5]  # what linear resizing to a fifth comes to
    rows, columns = texture.shape[:2]
    fit = max(1.0, height / rows, width / columns)
    # CIFAR's ice is used as it is where it is large enough, ImageNet's always a tenth larger than needed.
    scale = fit if small else 1.1 * fit
    tall, wide = (rows, columns) if scale == 1 else (int(np.ceil(rows * scale)), int(np.ceil(columns * scale)))
    top = int(rng.integers(0, max(tall - height, 1)))
    left = int(rng.integers(0, max(wide - width, 1)))
    if scale == 1:
        piece = texture[top : top + height, left : left + width].astype(np.float64)
    else:
        vertical, horizontal = cubic(rows, tall, top, height), cubic(columns, wide, left, width)
        narrow = np.einsum("ij,ijkc->ikc", vertical[1], texture[vertical[0]])
        piece = np.einsum("kl,iklc->ikc", horizontal[1], narrow[:, horizontal[0]])
        piece = np.clip(np.round(piece), 0, 255)
    return np.clip(mix.picture * picture + mix.frost * (grey(piece) if channels == 1 else piece), 0, 255)


def cubic(n: int, size: int, first: int, count: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """(count, 4) neighbours and weights that resize n pixels to `size`, for `count` new pixels from `first` on.

    Keys' cubic convolution with a = -0.75, as OpenCV has it; borders continue outside.
    """
    place = (np.arange(first, first + count) + 0.5) * (n / size) - 0.5
    low = np.floor(place).astype(np.intp)
    t = np.abs((place - low)[:, None] - np.arange(-1, 3))
    a = -0.75
    weights = np.where(t <= 1, ((a + 2) * t - (a + 3)) * t * t + 1, ((a * t - 5 * a) * t + 8 * a) * t - 4 * a)
    return np.clip(low[:, None] + np.arange(-1, 3), 0, n - 1), weights


def fog(picture: Array, fog: Fog, *, rng: np.random.Generator) -> Array:
    """A fractal cloud, added; the whole darkened to the picture's own range."""
    height, width, _ = picture.shape
    size = max(2, 1 << (max(height, width) - 1).bit_length())
    x = picture / 255
    top = x.max()
    x = x + fog.thickness * plasma(size, fog.decay, rng=rng)[:height, :width, None]
    return np.asarray(np.clip(x * top / (top + fog.thickness), 0, 1) * 255)


def plasma(size: int, decay: float, *, rng: np.random.Generator) -> NDArray[np.float64]:
    """(size, size) a periodic fractal between 0 and 1, by midpoint displacement; `size` is a power of 2.

    On a grid twice as fine at every turn, the middles of the squares, then those of the edges, get the mean of their
    four neighbours and a uniform displacement.
    """
    heights = np.zeros((1, 1))
    amplitude = 100.0
    while len(heights) < size:
        n = len(heights)
        finer = np.empty((2 * n, 2 * n))
        finer[::2, ::2] = heights
        right, below = np.roll(heights, -1, axis=1), np.roll(heights, -1, axis=0)
        shock = (rng.uniform(-amplitude, amplitude, (n, n)) * amplitude for _ in range(3))
        middle = (heights + right + below + np.roll(right, -1, axis=0)) / 4 + next(shock)
        finer[1::2, 1::2] = middle
        finer[::2, 1::2] = (heights + right + middle + np.roll(middle, 1, axis=0)) / 4 + next(shock)
        finer[1::2, ::2] = (heights + below + middle + np.roll(middle, 1, axis=1)) / 4 + next(shock)
        heights = finer
        amplitude /= decay
    heights -= heights.min()
    return np.asarray(heights / heights.max())


def brightness(picture: Array, more: float) -> Array:
    """The value of each pixel (its largest channel) raised, hue and saturation kept; black becomes grey."""
    x = picture / 255
    value = x.max(axis=2, keepdims=True)
    shape = np.divide(x, value, out=np.ones_like(x), where=value > 0)
    return np.asarray(shape * np.clip(value + more, 0, 1) * 255)
