"""Four ways to have pixels to move in: crop, pad, upsample, wrap; and pictures that are taken whole, without room."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from heldout.errors import InputError

Pixels = NDArray[Any]  # (height, width, channels), uint8 or float32
PadMode = Literal["reflect", "zero", "edge"]
PAD_MODES: tuple[PadMode, ...] = get_args(PadMode)


class Frame(Protocol):
    """Places a picture so that a window of fixed size can be shifted over it.

    Examples
    --------
    >>> from heldout.images import Crop, Frame, Upsample, Whole
    >>> frames: list[Frame] = [Crop(224, resize=256), Upsample(44, crop=32), Whole()]
    >>> [frame.room((300, 400)) for frame in frames]  # pixels that the window can move, of a picture of this size
    [16, 6, 0]
    """

    @property
    def wraps(self) -> bool:
        """Whether shifts are cyclic."""
        ...

    @property
    def needs_control(self) -> bool:
        """Whether shifts are surely not neutral, so that nothing can be concluded without a control."""
        ...

    @property
    def centre_is_untouched(self) -> bool:
        """Whether the centre window is the picture as the model is used in life."""
        ...

    @property
    def one_size(self) -> bool:
        """Whether windows are as large as pictures, so that all pictures must be of one size."""
        ...

    def place(self, picture: Pixels, margin: int) -> Pixels:
        """The centre window with `margin` pixels around it; InputError where there is no such room.

        Parameters
        ----------
        picture : (height, width, channels)
            As it was read.
        margin : int
            Pixels on each side.

        Returns
        -------
        (height, width, channels)
            Raw pixels.
        """
        ...

    def room(self, shape: tuple[int, int]) -> float:
        """Pixels around the centre window on the tightest side of a picture of this height and width.

        Parameters
        ----------
        shape : (int, int)
            Height and width of a picture.

        Returns
        -------
        float
            Negative where the picture is too small, `math.inf` where there is always room.
        """
        ...

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON.

        Returns
        -------
        dict
            Its name and options.
        """
        ...


@dataclass(frozen=True)
class Crop:
    """Resize the short side (if asked to), then cut the centre: ImageNet's 256/224 is Crop(224, resize=256).

    The rest of the resized picture is the room to move in. Sizes and centre follow torchvision's
    Resize and CenterCrop; resampling is Pillow's.

    Parameters
    ----------
    size : int
        Side of the window.
    resize : int, optional
        What the short side becomes first.
    interpolation : {"bilinear", "bicubic"}
        Of the resampling.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.images import Crop
    >>> picture = np.zeros((300, 400, 3), np.uint8)
    >>> Crop(224, resize=256).room((300, 400)), Crop(224, resize=256).place(picture, 15).shape
    (16, (254, 254, 3))
    """

    size: int
    resize: int | None = None
    interpolation: Literal["bilinear", "bicubic"] = "bilinear"

    wraps = False
    needs_control = False
    centre_is_untouched = True
    one_size = False

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
        """Pixels around the centre window on the tightest side; negative where the picture is too small.

        Parameters
        ----------
        shape : (int, int)
            Height and width of a picture.

        Returns
        -------
        int
            In pixels of the resized picture.
        """
        shape = self._resized_shape(shape)
        corner = self._corner(shape)
        return min(*corner, shape[0] - self.size - corner[0], shape[1] - self.size - corner[1])

    def place(self, picture: Pixels, margin: int) -> Pixels:
        """The centre window with `margin` pixels around it.

        Parameters
        ----------
        picture : (height, width, channels)
            As it was read.
        margin : int
            Pixels on each side.

        Returns
        -------
        (size + 2 margin, size + 2 margin, channels)
            Raw pixels.
        """
        height, width = picture.shape[-3:-1]
        room = self.room((height, width))
        if room < margin:
            raise InputError(f"a margin of {margin} pixels is needed, {room} are there")
        shape = self._resized_shape((height, width))
        if shape != (height, width):
            each = picture.reshape(-1, *picture.shape[-3:])
            picture = np.stack([resized(one, shape, self.interpolation) for one in each]).reshape(
                *picture.shape[:-3], *shape, -1
            )
        top, left = (c - margin for c in self._corner(shape))
        side = self.size + 2 * margin
        return picture[..., top : top + side, left : left + side, :]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON.

        Returns
        -------
        dict
            Its name and options.
        """
        return {"frame": "crop", **vars(self)}


@dataclass(frozen=True)
class Upsample(Crop):
    """Enlarge small pictures and cut the old size out of the middle: CIFAR's 32 is Upsample(44, crop=32).

    For models that were trained on enlarged pictures. Any other model sees a zoomed picture for the first time: a
    CIFAR-10 ResNet-20 falls from 92 to 73 % accuracy, and no longer shows what it knows by heart. Use `Pad` for those.

    Parameters
    ----------
    to : int
        What the short side becomes.
    crop : int
        Side of the window.
    interpolation : {"bilinear", "bicubic"}
        Of the resampling.

    Examples
    --------
    >>> from heldout.images import Upsample
    >>> Upsample(44, crop=32).room((32, 32)), Upsample(44, crop=32).to_dict()["frame"]
    (6, 'upsample')
    """

    centre_is_untouched = False

    def __init__(self, to: int, *, crop: int, interpolation: Literal["bilinear", "bicubic"] = "bilinear") -> None:
        super().__init__(crop, resize=to, interpolation=interpolation)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON.

        Returns
        -------
        dict
            Its name and options.
        """
        return {**super().to_dict(), "frame": "upsample"}


@dataclass(frozen=True)
class Pad:
    """Continue the picture beyond its edges, so that the untouched picture stays in the middle of the canvas.

    As in the augmentation that models of small pictures are trained with. What a shift brings in was never
    photographed, so shifts are surely not neutral: an audit of padded pictures needs a control.

    Parameters
    ----------
    mode : {"reflect", "zero", "edge"}
        "reflect" mirrors the picture without repeating its edge; "edge" repeats the outermost pixels; "zero" is the
        pixel value 0 *before* scale, mean and std, hence black, and (0 - mean) / std for the model: that is what
        torchvision's RandomCrop(32, padding=4) does ahead of ToTensor and Normalize.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.images import Pad
    >>> picture = np.arange(1, 5).reshape(1, 4, 1).repeat(4, axis=0)
    >>> [Pad(mode).place(picture, 2)[2, :, 0].tolist() for mode in ("reflect", "zero", "edge")]
    [[3, 2, 1, 2, 3, 4, 3, 2], [0, 0, 1, 2, 3, 4, 0, 0], [1, 1, 1, 2, 3, 4, 4, 4]]
    """

    mode: PadMode = "reflect"

    wraps = False
    needs_control = True
    centre_is_untouched = True
    one_size = True

    def __post_init__(self) -> None:
        if self.mode not in PAD_MODES:
            raise InputError(f"`mode` of Pad is {self.mode!r}; choose one of {', '.join(PAD_MODES)}.")

    def room(self, shape: tuple[int, int]) -> float:
        """As much as is asked for; a mirror shows a picture of n pixels for n - 1 of them.

        Parameters
        ----------
        shape : (int, int)
            Height and width of a picture.

        Returns
        -------
        float
            `math.inf` unless it is a mirror's.
        """
        return min(shape) - 1 if self.mode == "reflect" else math.inf

    def place(self, picture: Pixels, margin: int) -> Pixels:
        """The picture, continued by `margin` pixels on each side.

        Parameters
        ----------
        picture : (height, width, channels)
            As it was read.
        margin : int
            Pixels on each side.

        Returns
        -------
        (height + 2 margin, width + 2 margin, channels)
            Raw pixels.
        """
        height, width = picture.shape[-3:-1]
        if self.room((height, width)) < margin:
            raise InputError(
                f"a margin of {margin} pixels is needed, but a picture of {height} x {width} can be mirrored for "
                f"{min(height, width) - 1} only; pad with zero or edge."
            )
        if self.mode == "zero":
            shape = (*picture.shape[:-3], height + 2 * margin, width + 2 * margin, picture.shape[-1])
            padded = np.zeros(shape, dtype=picture.dtype)
            padded[..., margin : margin + height, margin : margin + width, :] = picture
            return padded
        return _continued(picture, margin, self.mode)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON.

        Returns
        -------
        dict
            Its name and options.
        """
        return {"frame": "pad", "mode": self.mode}


@dataclass(frozen=True)
class Wrap:
    """Shift cyclically: what leaves on one side comes in on the other. Exact where pictures live on a torus.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.images import Wrap
    >>> Wrap().place(np.arange(4).reshape(2, 2, 1), 1)[..., 0].tolist()
    [[3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0]]
    """

    wraps = True
    needs_control = False
    centre_is_untouched = True
    one_size = True

    def room(self, shape: tuple[int, int]) -> float:
        """There is always room on a torus.

        Parameters
        ----------
        shape : (int, int)
            Height and width of a picture.

        Returns
        -------
        float
            `math.inf`.
        """
        return math.inf

    def place(self, picture: Pixels, margin: int) -> Pixels:
        """The picture, continued periodically by `margin` pixels on each side.

        Parameters
        ----------
        picture : (height, width, channels)
            As it was read.
        margin : int
            Pixels on each side.

        Returns
        -------
        (height + 2 margin, width + 2 margin, channels)
            Raw pixels.
        """
        return _continued(picture, margin, "wrap")

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON.

        Returns
        -------
        dict
            Its name.
        """
        return {"frame": "wrap"}


@dataclass(frozen=True)
class Whole:
    """Pictures as they are, with no room to move in.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.images import Whole
    >>> Whole().place(np.arange(4).reshape(2, 2, 1), 0).shape, Whole().room((2, 2))
    ((2, 2, 1), 0)
    """

    wraps = False
    needs_control = False
    centre_is_untouched = True
    one_size = True

    def room(self, shape: tuple[int, int]) -> int:
        """None.

        Parameters
        ----------
        shape : (int, int)
            Height and width of a picture.

        Returns
        -------
        int
            0.
        """
        return 0

    def place(self, picture: Pixels, margin: int) -> Pixels:
        """The picture; InputError for any margin.

        Parameters
        ----------
        picture : (height, width, channels)
            As it was read.
        margin : int
            0.

        Returns
        -------
        (height, width, channels)
            The same.
        """
        if margin > 0:
            raise InputError(f"a margin of {margin} pixels is needed; whole pictures have none.")
        return picture

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON.

        Returns
        -------
        dict
            Its name.
        """
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


def _continued(picture: Pixels, margin: int, mode: str) -> Pixels:
    """`np.pad` of height and width, which takes four times as long for small pictures. Columns are taken only where
    the picture ends: pixel by pixel, they cost more than all else."""
    height, width, channels = picture.shape[-3:]
    rows, columns = _places(height, margin, mode), _places(width, margin, mode)
    wide = np.empty((*picture.shape[:-2], width + 2 * margin, channels), dtype=picture.dtype)
    wide[..., margin : margin + width, :] = picture
    for side in (slice(margin), slice(margin + width, None)):
        wide[..., side, :] = picture.take(columns[side], axis=-2)
    return wide.take(rows, axis=-3)


@lru_cache(maxsize=64)
def _places(size: int, margin: int, mode: Any) -> NDArray[np.intp]:
    """Which of `size` pixels stand where, with a margin on both sides."""
    return np.pad(np.arange(size), margin, mode=mode)
