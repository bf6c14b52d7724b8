"""One picture, one corruption, one severity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.memorization.perturb.corruptions.severities import CIFAR, IMAGENET

Table = Literal["auto", "imagenet", "cifar"]

CORRUPTIONS: tuple[str, ...] = tuple(IMAGENET)
SMALL = 64  # pixels: pictures with a shorter side below this get CIFAR's severities


def corrupt(
    picture: ArrayLike,
    name: str,
    severity: int,
    *,
    rng: np.random.Generator,
    table: Table = "auto",
    frost: Sequence[NDArray[np.uint8]] | None = None,
) -> NDArray[np.uint8]:
    """Corrupt a picture as ImageNet-C and CIFAR-10-C do (Hendrycks & Dietterich 2019).

    Parameters
    ----------
    picture : (h, w, c) uint8, or float in 0..255 (rounded first)
        c is 1 (grey) or 3. A grey picture is corrupted in its one channel.
    name : str
        One of `CORRUPTIONS`.
    severity : int
        0 (untouched) to 5.
    rng : numpy.random.Generator
        All chance comes from it. The corruptions without chance leave it alone.
    table : {"auto", "imagenet", "cifar"}
        Which severities: those of ImageNet-C, meant for 224 px, in the form of the package `imagecorruptions-imaug`
        (which has its own motion blur, elastic transform and borders, for any size), or the weaker ones of CIFAR-10-C,
        meant for 32 px. "auto" takes CIFAR's where the shorter side is below 64 px, else ImageNet's.
    frost : sequence of (H, W, 3) uint8, optional
        Pictures of ice, of which one, and a piece of it, is drawn. The originals are photographs that do not come
        with this package: five textures drawn by our own rules take their place, as bright and as rough as
        photographs. To compare with published numbers, give the original ones here, in full size.

    Returns
    -------
    (h, w, c) uint8
        Fractions are cut, not rounded, as in the originals.

    Notes
    -----
    Both tables blur along a line as `imagecorruptions` does; the published CIFAR-10-C used ImageMagick. Glass blur
    copies pixels where the paper says that it swaps them, as the code that made the published pictures does.

    References
    ----------
    Hendrycks & Dietterich (2019). Benchmarking Neural Network Robustness to Common Corruptions and Perturbations. ICLR.

    Examples
    --------
    >>> grey = np.full((32, 32, 1), 100, dtype=np.uint8)
    >>> brighter = corrupt(grey, "brightness", 5, rng=np.random.default_rng(0))  # CIFAR's 0.3, of 255
    >>> int(brighter[0, 0, 0])
    176
    """
    x = checked_picture(picture)
    if name not in IMAGENET:
        raise InputError(f"there is no corruption {name!r}; choose one of {', '.join(CORRUPTIONS)}.")
    if severity not in range(6) or isinstance(severity, bool | np.bool_):
        raise InputError(f"severity {severity!r}: give a whole number from 0 (untouched) to 5.")
    if table not in ("auto", "imagenet", "cifar"):
        raise InputError(f'table {table!r}: choose "imagenet", "cifar" or "auto" (by size).')
    if not isinstance(rng, np.random.Generator):
        raise InputError(f"rng is a {type(rng).__name__}; give a numpy.random.Generator (numpy.random.default_rng).")
    if severity == 0:
        return x.copy()
    small = table == "cifar" or (table == "auto" and min(x.shape[:2]) < SMALL)
    strength = (CIFAR if small else IMAGENET)[name][int(severity) - 1]
    out = corrupted(x, name, strength, rng=rng, small=small, frost=frost)
    return np.asarray(out).astype(np.uint8)


def corrupted(
    x: NDArray[np.uint8],
    name: str,
    strength: Any,
    *,
    rng: np.random.Generator,
    small: bool,
    frost: Sequence[NDArray[np.uint8]] | None,
) -> NDArray[Any]:
    """Values from 0 to 255, not yet whole; `small`: the variant of CIFAR-10-C."""
    # Here, so that those who only want the names do not wait for scipy.ndimage and Pillow.
    from heldout.memorization.perturb.corruptions import blur, digital, ice, noise, weather

    match name:
        case "gaussian_noise":
            return noise.gaussian_noise(x, strength, rng=rng)
        case "shot_noise":
            return noise.shot_noise(x, strength, rng=rng)
        case "impulse_noise":
            return noise.impulse_noise(x, strength, rng=rng)
        case "defocus_blur":
            return blur.defocus_blur(x, strength)
        case "glass_blur":
            return blur.glass_blur(x, strength, rng=rng)
        case "motion_blur":
            return blur.motion_blur(x, strength, rng=rng)
        case "zoom_blur":
            return blur.zoom_blur(x, strength, centred=small)
        case "snow":
            return weather.snow(x, strength, rng=rng, small=small)
        case "frost":
            textures = ice.ice_textures() if frost is None else checked_textures(frost)
            return weather.frost(x, strength, rng=rng, small=small, textures=textures)
        case "fog":
            return weather.fog(x, strength, rng=rng)
        case "brightness":
            return weather.brightness(x, strength)
        case "contrast":
            return digital.contrast(x, strength)
        case "elastic_transform":
            return digital.elastic_transform(x, strength, rng=rng, small=small)
        case "pixelate":
            return digital.pixelate(x, strength, small=small)
        case _:
            return digital.jpeg_compression(x, strength)


def checked_picture(picture: ArrayLike) -> NDArray[np.uint8]:
    """As whole numbers, or an error."""
    x = np.asarray(picture)
    if x.ndim != 3 or x.shape[2] not in (1, 3) or 0 in x.shape:
        raise InputError(
            f"a picture of shape {x.shape} cannot be corrupted; give (height, width, channels) with 1 or 3 channels."
        )
    if x.dtype == np.uint8:
        return x
    if x.dtype.kind not in "fiu" or not (x.min() >= 0 and x.max() <= 255):
        raise InputError(
            f"a picture of {x.dtype} must have values from 0 to 255, all known; multiply by 255 if they go from 0 to 1."
        )
    return np.round(x).astype(np.uint8)


def checked_textures(frost: Sequence[NDArray[np.uint8]]) -> list[NDArray[np.uint8]]:
    """Pictures of ice, or an error."""
    textures = [np.asarray(texture) for texture in frost]
    if not textures or any(t.ndim != 3 or t.shape[2] != 3 or t.dtype != np.uint8 or min(t.shape) < 3 for t in textures):
        raise InputError(
            "`frost` takes one or more pictures of shape (height, width, 3) and type uint8; convert them with "
            'numpy.asarray(PIL.Image.open(path).convert("RGB")).'
        )
    return textures
