"""A source, a frame and a pixel scale: what a scorer is fed from."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.groups import group_codes
from heldout.images.frames import Crop, Frame, Pad, Pixels, Upsample, Whole, Wrap
from heldout.images.sources import ImageSource, Part
from heldout.orbit.square import IDENTITY, acted

Layout = Literal["nchw", "nhwc"]
LOOKED_AT = 16  # pictures whose pixels tell whether floats may be bytes
UNIT = 1.5  # what floats between 0 and 1 may reach, after a resampling, say
OWN_FRAMES = {Crop, Upsample, Pad, Whole, Wrap}  # which place many pictures of one size at once


class ShapeError(InputError):
    """Pictures that differ in size once they are framed."""


@dataclass(frozen=True)
class LabelledImages:
    """Pictures as a model wants them: framed, scaled to (pixel * scale - mean) / std.

    Parameters
    ----------
    source : ImageSource
        `from_folder`, `from_csv`, `from_npz`, `from_arrays` or `from_dataset`.
    frame : Frame
        `Crop`, `Pad`, `Wrap`, `Upsample` or `Whole`.
    mean, std : sequences of float
        One per channel (or one for all), in the scaled unit.
    scale : float, optional
        Default: 1/255 for uint8 pixels, 1 for float ones, which are taken as they are.
    bgr : bool
        Turn the channel order round before mean and std.
    groups : (n,) of text or whole numbers, optional
        Which pictures depend on each other: frames of one video, crops of one patient. A group is then the unit of
        every test; pictures that stand alone have a group of their own.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import LabelledImages
    >>> from heldout.images import Wrap, from_arrays
    >>> images = LabelledImages(from_arrays(np.zeros((3, 8, 8), np.uint8), [0, 1, 0]), Wrap(), mean=(0.5,), std=(0.5,))
    >>> len(images), images.canvas(0, 1, "nchw").shape, float(images.canvas(0, 1, "nchw").max())
    (3, (1, 10, 10), -1.0)
    """

    source: ImageSource
    frame: Frame
    mean: Sequence[float] = (0.0,)
    std: Sequence[float] = (1.0,)
    scale: float | None = None
    bgr: bool = False
    groups: ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.groups is not None:
            group_codes(self.groups, len(self))  # refuses what names no group for each picture
        if not all(0 < s < math.inf for s in self.std):
            raise InputError(f"`std` is {tuple(self.std)}; every value must be positive.")
        if not all(map(math.isfinite, self.mean)):
            raise InputError(f"`mean` is {tuple(self.mean)}; every value must be a finite number.")
        if self.scale is not None and not (math.isfinite(self.scale) and self.scale != 0):
            raise InputError(f"`scale` is {self.scale}; it must be a finite number other than 0.")

    def __len__(self) -> int:
        return len(self.source.labels)

    @property
    def labels(self) -> NDArray[np.int64]:
        """(n,) classes, from 0."""
        return self.source.labels

    @property
    def ids(self) -> Sequence[str]:
        """(n,) names."""
        return self.source.ids

    def with_frame(self, frame: Frame) -> LabelledImages:
        """The same pictures, framed in another way.

        Parameters
        ----------
        frame : Frame
            `Crop`, `Pad`, `Wrap`, `Upsample` or `Whole`.

        Returns
        -------
        LabelledImages
            A new one.
        """
        return replace(self, frame=frame)

    def take(self, rows: NDArray[np.intp]) -> LabelledImages:
        """Some of the pictures.

        Parameters
        ----------
        rows : (r,) int
            Positions.

        Returns
        -------
        LabelledImages
            In this order, with their groups.
        """
        names = self.group_names
        return replace(
            self, source=Part(self.source, rows), groups=None if names is None else [names[int(i)] for i in rows]
        )

    @property
    def group_names(self) -> list[str] | None:
        """(n,) the group of each picture, as text; None where none are given."""
        return None if self.groups is None else [str(name) for name in np.asarray(self.groups).tolist()]

    def place(self, index: int, margin: int, element: int = IDENTITY) -> Pixels:
        """Raw pixels of one picture's centre window with `margin` pixels around it.

        Parameters
        ----------
        index : int
            Which picture.
        margin : int
            Pixels on each side.
        element : int
            A flip or turn of the whole picture before it is framed, by its number in `heldout.orbit.square`.

        Returns
        -------
        (height, width, channels) uint8 or float32
            As they were read.
        """
        return self._framed(index, acted(self.source.read(index), element, axes=(0, 1)), margin)

    def _framed(self, index: int, picture: Pixels, margin: int) -> Pixels:
        height, width = picture.shape[:2]
        room = self.frame.room((height, width))
        if room < 0:
            raise InputError(
                f"picture {self.ids[index]} is {height} x {width}, smaller than the crop of "
                f"{json.dumps(self.frame.to_dict())}."
            )
        if room < margin:
            raise InputError(
                f"picture {self.ids[index]} ({height} x {width}): {margin} pixels are needed around the window, "
                f"but {json.dumps(self.frame.to_dict())} leaves {room}."
            )
        return self.frame.place(picture, margin)

    def place_many(self, indices: NDArray[np.intp], margin: int) -> Pixels:
        """The same of several pictures, which must be of one size once they are framed, and finite.

        Parameters
        ----------
        indices : (n,) int
            Which pictures.
        margin : int
            Pixels on each side.

        Returns
        -------
        (n, height, width, channels) uint8 or float32
            As they were read.
        """
        read_many = getattr(self.source, "read_many", None)
        if read_many is not None and type(self.frame) in OWN_FRAMES:
            self.place(int(indices[0]), margin)  # the sentence about too little room names a picture
            pixels = self.frame.place(read_many(indices), margin)
        else:
            pixels = self._stacked(indices, [self.place(int(i), margin) for i in indices])
        return self._finite(indices, pixels)

    def place_views(self, indices: NDArray[np.intp], elements: Sequence[int]) -> Pixels:
        """Several pictures in several views each. The whole picture is moved, then framed: a centre that lies between
        two pixels, or a resampling, would not be the same the other way round.

        Parameters
        ----------
        indices : (n,) int
            Which pictures; each is read once.
        elements : sequence of int
            The views, by their numbers in `heldout.orbit.square`.

        Returns
        -------
        (n, n_views, height, width, channels) uint8 or float32
            As they were read.
        """
        found: list[Pixels] = []
        for index in indices.tolist():
            picture = self.source.read(index)
            found += [self._framed(index, acted(picture, element, axes=(0, 1)), 0) for element in elements]
        each = np.repeat(indices, len(elements))
        pixels = self._finite(each, self._stacked(each, found))
        return pixels.reshape(len(indices), len(elements), *pixels.shape[1:])

    def _finite(self, indices: NDArray[np.intp], pixels: Pixels) -> Pixels:
        if pixels.dtype != np.uint8 and not np.isfinite(pixels).all():
            worst = int(np.flatnonzero(~np.isfinite(pixels).all(axis=(1, 2, 3)))[0])
            raise InputError(f"picture {self.ids[int(indices[worst])]} holds pixels that are NaN or infinite.")
        return pixels

    def _stacked(self, indices: NDArray[np.intp], pictures: list[Pixels]) -> Pixels:
        for index, picture in zip(indices, pictures, strict=True):
            self.check_shape(int(index), picture.shape, pictures[0].shape)
        return np.stack(pictures)

    def check_shape(self, index: int, shape: tuple[int, ...], others: tuple[int, ...]) -> None:
        """InputError where a picture, framed, has another shape than those before it.

        Parameters
        ----------
        index : int
            Which picture.
        shape, others : tuple of int
            Its shape and theirs.
        """
        if shape != others:
            raise ShapeError(
                f"picture {self.ids[index]} has shape {shape} where others have {others}; crop them all to one size."
            )

    def canvas(self, index: int, margin: int, layout: Layout) -> NDArray[np.float32]:
        """The same, scaled for the model, in its layout; windows of it are what the model sees.

        Parameters
        ----------
        index, margin : int
            As in `place`.
        layout : {"nchw", "nhwc"}
            Channels first or last.

        Returns
        -------
        (channels, height, width) or (height, width, channels) float32
            Scaled.
        """
        pixels = self.place(index, margin)
        if pixels.dtype != np.uint8 and not np.isfinite(pixels).all():
            raise InputError(f"picture {self.ids[index]} holds pixels that are NaN or infinite.")
        return self.scaled(pixels, layout, counts=pixels.dtype == np.uint8)

    def scaled(self, pixels: Pixels, layout: Layout, *, counts: bool) -> NDArray[np.float32]:
        """Raw pixels (..., height, width, channels) as the model wants them; `counts`: they came as uint8.

        Parameters
        ----------
        pixels : (..., height, width, channels)
            As they were read.
        layout : {"nchw", "nhwc"}
            Channels first or last.
        counts : bool
            Divide by 255, unless there is a `scale`.

        Returns
        -------
        float32 array
            In the layout.
        """
        channels = pixels.shape[-1]
        self.check_channels(channels)
        if self.bgr:
            pixels = pixels[..., ::-1]
        # Step by step in float32, as torchvision's ToTensor and Normalize do: the same bits reach the model.
        values = np.array(np.moveaxis(pixels, -1, -3) if layout == "nchw" else pixels, dtype=np.float32, order="C")
        if self.scale is not None:
            values *= np.float32(self.scale)
        elif counts:
            values /= np.float32(255)
        by_channel = values if layout == "nchw" else np.moveaxis(values, -1, -3)
        for c in range(channels):  # a plane at a time: numpy is slow along an axis of three
            mean, std = (np.float32(given[c % len(given)]) for given in (self.mean, self.std))
            if mean != 0:
                by_channel[..., c, :, :] -= mean
            if std != 1:
                by_channel[..., c, :, :] /= std
        return values

    def check_channels(self, channels: int) -> None:
        """InputError where `mean`, `std` or `bgr` are for pictures of another number of channels.

        Parameters
        ----------
        channels : int
            Of the pictures.
        """
        if self.bgr and channels == 1:
            raise InputError("`bgr=True` turns the order of three channels round; these pictures have one.")
        for name, given in (("mean", self.mean), ("std", self.std)):
            if len(given) not in (1, channels):
                raise InputError(f"`{name}` has {len(given)} values for pictures of {channels} channels.")

    def preprocessing(self) -> dict[str, Any]:
        """What is done to a picture, as plain data.

        Returns
        -------
        dict
            Frame, mean, std, scale and order of channels.
        """
        return {
            **self.frame.to_dict(),
            "mean": list(self.mean),
            "std": list(self.std),
            "scale": self.scale,
            "bgr": self.bgr,
        }

    def digest(self) -> str:
        """A hash of the data, their names and groups, and what is done to them.

        Returns
        -------
        str
            16 hexadecimal digits.
        """
        text = self.source.digest() + json.dumps([self.preprocessing(), list(self.ids)], sort_keys=True)
        if self.groups is not None:
            text += json.dumps(self.group_names)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def check_scale(images: LabelledImages, name: str, rows: NDArray[np.intp] | None = None) -> None:
    """InputError where floats may be bytes: none is below 0 and some are far above 1, and nobody said what they are.

    Some pictures are looked at. Floats that a mean was taken off are below 0 somewhere, and stay as they are.
    """
    if images.scale is not None:
        return
    rows = np.arange(len(images)) if rows is None else rows
    some = rows[np.unique(np.linspace(0, len(rows) - 1, LOOKED_AT).astype(int))]
    if images.source.read(int(some[0])).dtype == np.uint8:
        return
    low, high = math.inf, -math.inf
    for row in some:
        picture = images.source.read(int(row))
        low, high = min(low, float(picture.min())), max(high, float(picture.max()))
    if low >= 0 and high > UNIT:
        raise InputError(
            f"`scale`: the pixels of {name} are floats from {low:g} to {high:g}. Only uint8 are divided by 255, and "
            "nobody can tell whether these should be; say it: "
            f"`scale={1 / 255:.9f}` divides them by 255, "
            "`scale=1` leaves them as they are."
        )


def check_labelled(images: Any, name: str) -> None:
    """Pictures need a frame and labels; arrays alone have neither."""
    if not isinstance(images, LabelledImages):
        raise InputError(
            f"`{name}` is of the type {type(images).__name__}; it must be heldout.LabelledImages, such as "
            "LabelledImages(from_arrays(pictures, labels), Crop(224)), both from heldout.images."
        )
