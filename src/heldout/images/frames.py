"""Three ways to have pixels to move in: crop, upsample, wrap; and pictures that are taken whole, without room."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from heldout.errors import InputError

Pixels = NDArray[Any]  # (height, width, channels), uint8 or float32


class Frame(Protocol):
    """Places a picture so that a window of fixed size can be shifted over it."""

    @property
    def wraps(self) -> bool:
        """Whether shifts are cyclic."""
        ...

    def place(self, picture: Pixels, margin: int) -> Pixels:
        """The centre window with `margin` pixels around it; InputError where there is no such room."""
        ...

    def room(self, shape: tuple[int, int]) -> float:
        """Pixels around the centre window on the tightest side of a picture of this height and width."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        ...


@dataclass(frozen=True)
class Crop:
    """Resize the short side (if asked to), then cut the centre: ImageNet's 256/224 is Crop(224, resize=256).

    The rest of the resized picture is the room to move in. Sizes and centre follow torchvision's
    Resize and CenterCrop; resampling is Pillow's.

    Examples
    --------
    >>> picture = np.zeros((300, 400, 3), np.uint8)
    >>> Crop(224, resize=256).room((300, 400)), Crop(224, resize=256).place(picture, 15).shape
    (16, (254, 254, 3))
    """

    size: int
    resize: int | None = None
    interpolation: Literal["bilinear", "bicubic"] = "bilinear"

    wraps = False

    def __post_init__(self) -> None:
        if self.size < 1 or (self.resize is not None and self.resize < self.size):
            raise InputError(f"cannot crop {self.size} pixels out of a short side of {self.resize}.")

    def _resized_shape(self, shape: tuple[int, int]) -> tuple[int, int]:
        height, width = shape
        if self.resize is None:
            return height, width
        short = min(height, width)
        return height * self.resize // short, width * self.resize // short

    def _corner(self, shape: tuple[int, int]) -> tuple[int, int]:
        return round((shape[0] - self.size) / 2), round((shape[1] - self.size) / 2)

    def room(self, shape: tuple[int, int]) -> int:
        """Pixels around the centre window on the tightest side; negative where the picture is too small."""
        shape = self._resized_shape(shape)
        corner = self._corner(shape)
        return min(*corner, shape[0] - self.size - corner[0], shape[1] - self.size - corner[1])

    def place(self, picture: Pixels, margin: int) -> Pixels:
        """The centre window with `margin` pixels around it."""
        height, width = picture.shape[:2]
        room = self.room((height, width))
        if room < margin:
            raise InputError(f"a margin of {margin} pixels is needed, {room} are there")
        shape = self._resized_shape((height, width))
        if shape != picture.shape[:2]:
            picture = resized(picture, shape, self.interpolation)
        top, left = (c - margin for c in self._corner(shape))
        side = self.size + 2 * margin
        return picture[top : top + side, left : left + side]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {"frame": "crop", **vars(self)}


def Upsample(to: int, *, crop: int, interpolation: Literal["bilinear", "bicubic"] = "bilinear") -> Crop:
    """Enlarge small pictures and cut the old size out of the middle: CIFAR's 32 is Upsample(44, crop=32)."""
    return Crop(crop, resize=to, interpolation=interpolation)


@dataclass(frozen=True)
class Wrap:
    """Shift cyclically: what leaves on one side comes in on the other. Exact where pictures live on a torus.

    Examples
    --------
    >>> Wrap().place(np.arange(4).reshape(2, 2, 1), 1)[..., 0].tolist()
    [[3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0]]
    """

    wraps = True

    def room(self, shape: tuple[int, int]) -> float:
        """There is always room on a torus."""
        return math.inf

    def place(self, picture: Pixels, margin: int) -> Pixels:
        """The picture, continued periodically by `margin` pixels on each side."""
        return np.pad(picture, ((margin, margin), (margin, margin), (0, 0)), mode="wrap")

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {"frame": "wrap"}


@dataclass(frozen=True)
class Whole:
    """Pictures as they are, with no room to move in.

    Examples
    --------
    >>> Whole().place(np.arange(4).reshape(2, 2, 1), 0).shape, Whole().room((2, 2))
    ((2, 2, 1), 0)
    """

    wraps = False

    def room(self, shape: tuple[int, int]) -> int:
        """None."""
        return 0

    def place(self, picture: Pixels, margin: int) -> Pixels:
        """The picture; InputError for any margin."""
        if margin > 0:
            raise InputError(f"a margin of {margin} pixels is needed; whole pictures have none.")
        return picture

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {"frame": "whole"}


def resized(picture: Pixels, shape: tuple[int, int], interpolation: str) -> Pixels:
    """Resample with Pillow; float pictures go channel by channel in 32-bit float."""
    method = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}[interpolation]
    size = (shape[1], shape[0])
    if picture.dtype == np.uint8 and picture.shape[2] in (1, 3):
        image = Image.fromarray(picture[..., 0] if picture.shape[2] == 1 else picture)
        return np.asarray(image.resize(size, method)).reshape(*shape, picture.shape[2])
    channels = [
        np.asarray(Image.fromarray(np.ascontiguousarray(picture[..., c], dtype=np.float32)).resize(size, method))
        for c in range(picture.shape[2])
    ]
    stacked = np.stack(channels, axis=-1)
    return stacked if picture.dtype != np.uint8 else np.clip(np.rint(stacked), 0, 255).astype(np.uint8)
