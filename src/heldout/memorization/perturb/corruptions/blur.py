"""Blurs: out of focus, through frosted glass, of motion, of a zoom."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from heldout.memorization.perturb.corruptions.severities import Disk, Glass, Motion

Array = NDArray[Any]


def defocus_blur(picture: Array, disk: Disk) -> Array:
    """The mean over a disk; pictures are mirrored at their borders."""
    kernel = disk_kernel(disk)
    reach = kernel.shape[0] // 2
    x = np.pad(picture / 255, ((reach, reach), (reach, reach), (0, 0)), mode="reflect")
    size = x.shape[:2]
    # By Fourier transform, as a sum over up to 23 x 23 neighbours is slow; what wraps around falls on the padding.
    product = np.fft.rfft2(x, axes=(0, 1)) * np.fft.rfft2(kernel, s=size, axes=(0, 1))[:, :, None]
    blurred = np.fft.irfft2(product, s=size, axes=(0, 1))[2 * reach :, 2 * reach :]
    # The transform's rounding must not turn white into 254 and 0 into -0 when the fraction is cut.
    return np.clip(blurred.round(12), 0, 1) * 255


@lru_cache(maxsize=64)
def disk_kernel(disk: Disk) -> NDArray[np.float64]:
    """The disk on a grid of pixels, its edge smoothed by a Gaussian of 3 x 3 pixels (5 x 5 beyond radius 8)."""
    reach = max(8, int(disk.radius))
    along = np.arange(-reach, reach + 1)
    inside = (along[:, None] ** 2 + along**2 <= disk.radius**2).astype(float)
    half = 1 if disk.radius <= 8 else 2
    edge = np.exp(-(np.arange(-half, half + 1) ** 2) / (2 * disk.edge**2))
    edge /= edge.sum()
    inside /= inside.sum()
    for axis in (0, 1):
        inside = ndimage.correlate1d(inside, edge, axis=axis, mode="mirror")
    used = int(np.abs(along[inside.any(axis=0)]).max())
    return inside[reach - used : reach + used + 1, reach - used : reach + used + 1]


def smooth(x: Array, sigma: float) -> Array:
    """A Gaussian blur within each channel; the border's own values continue outside."""
    return np.asarray(ndimage.gaussian_filter(x, (sigma, sigma, 0), mode="nearest", truncate=4))


def glass_blur(picture: Array, glass: Glass, *, rng: np.random.Generator) -> Array:
    """A blur, pixels replaced by near ones, and the blur again."""
    height, width, channels = picture.shape
    x = (smooth(picture / 255, glass.sigma) * 255).astype(np.uint8)
    source = glass_sources(height, width, glass, rng=rng)
    shuffled = x.reshape(-1, channels)[source].reshape(x.shape)
    return np.clip(smooth(shuffled / 255, glass.sigma), 0, 1) * 255


def glass_sources(height: int, width: int, glass: Glass, *, rng: np.random.Generator) -> NDArray[np.intp]:
    """(pixels,) which pixel of the blurred picture ends up in each place.

    From the lower right corner to the upper left, row by row, each pixel takes the present value of one up to `reach`
    away (from -reach to reach - 1 in each direction). The original means to swap the two, but its two numpy views
    show the same pixel after the first half of the swap, so that the other keeps its value: the published pictures
    are made of copies, and so are ours. Copies can be followed back all at once: each step has the pixel it copies
    from as its parent, as of this round if that one came earlier, else of the round before.
    """
    pixels = height * width
    reach = glass.reach
    rows, columns = np.arange(height - reach, reach, -1), np.arange(width - reach, reach, -1)
    parent = np.tile(np.arange(pixels), (glass.times + 1, 1))
    here = (rows[:, None] * width + columns).ravel()
    for turn in range(1, glass.times + 1):
        parent[turn] = np.arange(pixels) + (turn - 1) * pixels  # untouched pixels keep their value
        steps = rng.integers(-reach, reach, size=(len(here), 2))
        there = here + steps[:, 1] * width + steps[:, 0]
        row, column = np.divmod(there, width)
        inside = (row > reach) & (row <= height - reach) & (column > reach) & (column <= width - reach)
        earlier = inside & (there > here)  # order of rows and columns, backwards, is the order of the flat index
        parent[turn, here] = there + np.where(earlier, turn, turn - 1) * pixels
    flat = parent.ravel()
    while True:
        further = flat[flat]
        if np.array_equal(further, flat):
            return flat[-pixels:]
        flat = further


def motion_blur(picture: Array, motion: Motion, *, rng: np.random.Generator) -> Array:
    """Moved along a line within 45 degrees of the horizontal."""
    return np.clip(moved_along(picture, motion, degrees=float(rng.uniform(-45, 45))), 0, 255)


def moved_along(x: Array, motion: Motion, *, degrees: float) -> NDArray[np.float64]:
    """The weighted sum of whole-pixel shifts along a line, one-sided; borders continue outside.

    Not ImageMagick's, which made the published pictures, but that of `imagecorruptions`: shifts that would leave the
    picture altogether are left out, and their weight with them.
    """
    height, width = x.shape[:2]
    steps = np.arange(2 * motion.radius + 1)
    weights = np.exp(-(steps**2) / (2 * motion.sigma**2))
    weights /= weights.sum()
    angle = math.radians(degrees)
    down = [-math.ceil(i * math.sin(angle) - 0.5) for i in steps.tolist()]
    right = [-math.ceil(i * math.cos(angle) - 0.5) for i in steps.tolist()]
    used = next((i for i in range(len(steps)) if abs(down[i]) >= height or abs(right[i]) >= width), len(steps))
    top, left = max(down[:used]), max(right[:used])
    bottom, beyond = -min(down[:used]), -min(right[:used])
    edges = [(max(top, 0), max(bottom, 0)), (max(left, 0), max(beyond, 0))] + [(0, 0)] * (x.ndim - 2)
    padded = np.pad(np.asarray(x, dtype=np.float64), edges, mode="edge")
    out = np.zeros(x.shape)
    for i in range(used):
        y0, x0 = edges[0][0] - down[i], edges[1][0] - right[i]
        out += weights[i] * padded[y0 : y0 + height, x0 : x0 + width]
    return out


def zoom_blur(picture: Array, factors: tuple[float, ...], *, centred: bool) -> Array:
    """The mean of the picture and of its enlargements."""
    x = (picture / 255).astype(np.float32)
    total = x.copy()
    for factor in factors:
        total += enlarged(x, factor, centred=centred)
    return np.clip(total / (len(factors) + 1), 0, 1) * 255


def enlarged(x: Array, factor: float, *, centred: bool, cut: bool = True) -> Array:
    """The middle of (h, w, c), enlarged bilinearly and cut back to (h, w, c).

    CIFAR-10-C cuts from the middle (`centred`), the package `imagecorruptions` from the top left; without `cut`, all
    of the enlargement is returned.
    """
    for axis in (0, 1):
        low, high, share = zoom_places(x.shape[axis], factor, centred, cut)
        out, other = x.take(low, axis=axis), x.take(high, axis=axis)
        other -= out
        other *= share[:, None, None] if axis == 0 else share[:, None]
        out += other
        x = out
    return x


@lru_cache(maxsize=512)
def zoom_places(
    n: int, factor: float, centred: bool, cut: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]:
    """The two old pixels of an axis of n between which each new one lies, and the second one's share."""
    part = math.ceil(n / factor)
    start = (n - part) // 2
    size = max(round(part * factor), n)
    place = np.arange(size) * ((part - 1) / max(size - 1, 1))  # first and last pixel stay where they are
    low = np.minimum(place.astype(np.intp), max(part - 2, 0))
    first = (size - n) // 2 if centred else 0
    kept = slice(first, first + n) if cut else slice(None)
    high = np.minimum(low + 1, part - 1)
    return (start + low)[kept], (start + high)[kept], (place - low)[kept].astype(np.float32)
