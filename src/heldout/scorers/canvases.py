"""Pictures with room around them, kept where a model's batches live, and the windows of them that it sees.

A few slots hold one picture each. In the memory of this process windows are cut one after the other into one buffer;
on a torch device pictures arrive once, as they were read, are scaled there by the same arithmetic, and windows are
gathered there: only scores are looked at from outside.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.images import LabelledImages
from heldout.scorers.arrays import Array, Arrays, NumpyArrays
from heldout.scorers.base import Layout, Scorer
from heldout.scorers.batches import check_classes, excess_scores, memory_told, score_batch
from heldout.scorers.showing import DeviceShowing, Indices
from heldout.scorers.torch import TorchScorer


class Canvases(Protocol):
    """Slots for pictures."""

    arrays: Arrays

    def put(self, slots: Indices, indices: Indices, parts: Iterable[NDArray[Any]]) -> None:
        """Pictures of the set, placed with their margin, into slots; they come in parts, in their order."""
        ...

    def scores(self, slots: Array, shifts: Array) -> Array:
        """(n,) excess scores of windows: the pictures in `slots`, their content moved by `shifts` (down, right)."""
        ...

    def check(self) -> None:
        """InputError where a score so far was not finite; the device is waited for."""
        ...


def canvases_for(scorer: Scorer, images: LabelledImages, *, margin: int, n_slots: int, batch_size: int) -> Canvases:
    """Slots where the scorer wants its batches."""
    if isinstance(scorer, TorchScorer) and scorer.gathers:
        return DeviceCanvases(scorer, images, margin=margin, n_slots=n_slots, batch_size=batch_size)
    return HostCanvases(scorer, images, margin=margin, n_slots=n_slots, batch_size=batch_size)


class HostCanvases:
    """In the memory of this process, for any scorer.

    Parameters
    ----------
    margin : int
        Pixels around each window's place in the centre.
    n_slots : int
        Pictures that are held at once.
    batch_size : int
        A batch is filled up to this size: a model's arithmetic may depend on it, and some take no other.
    """

    def __init__(self, scorer: Scorer, images: LabelledImages, *, margin: int, n_slots: int, batch_size: int) -> None:
        self.arrays: Arrays = NumpyArrays()
        self._scorer, self._images, self._margin, self._batch_size = scorer, images, margin, batch_size
        self._index = np.full(n_slots, -1, dtype=np.intp)
        # In the order in which the model's memory wants them; its layout is then another view of the same.
        self._memory: Layout = "nhwc" if getattr(scorer, "channels_last", False) else scorer.layout
        self._canvases: NDArray[np.float32] | None = None
        self._buffer: NDArray[np.float32] | None = None

    def put(self, slots: Indices, indices: Indices, parts: Iterable[NDArray[Any]]) -> None:
        """Scaled once, for all windows."""
        last = self._memory == "nhwc"
        for slot, index, picture in zip(slots, indices, chain.from_iterable(parts), strict=True):
            canvas = self._images.scaled(picture, self._memory, counts=picture.dtype == np.uint8)
            if self._canvases is None:
                self._canvases = np.empty((len(self._index), *canvas.shape), dtype=np.float32)
                shape = window(canvas, self._margin, 0, 0, last).shape
                self._buffer = np.zeros((self._batch_size, *shape), dtype=np.float32)
            self._images.check_shape(int(index), canvas.shape, self._canvases.shape[1:])
            self._canvases[slot] = canvas
        self._index[slots] = indices

    def scores(self, slots: Array, shifts: Array) -> Array:
        """One batch."""
        assert self._canvases is not None
        assert self._buffer is not None
        last = self._memory == "nhwc"
        for place, (slot, (down, right)) in enumerate(zip(slots.tolist(), shifts.tolist(), strict=True)):
            self._buffer[place] = window(self._canvases[slot], self._margin, down, right, last)
        self._buffer[len(slots) :] = self._buffer[0]
        batch = self._buffer if self._memory == self._scorer.layout else self._buffer.transpose(0, 3, 1, 2)
        logits = score_batch(self._scorer, batch)
        rows = self._index[slots]
        return excess_scores(logits[: len(rows)], self._images.labels[rows], [self._images.ids[i] for i in rows])

    def check(self) -> None:
        """Nothing: every batch was checked when it came."""


class DeviceCanvases:
    """On a scorer's torch device.

    Parameters
    ----------
    margin, n_slots, batch_size
        As of `HostCanvases`.
    """

    def __init__(
        self, scorer: TorchScorer, images: LabelledImages, *, margin: int, n_slots: int, batch_size: int
    ) -> None:
        import torch

        self._showing = DeviceShowing(scorer, images, batch_size=batch_size)
        self.arrays: Arrays = self._showing.arrays
        self._torch, self._scorer, self._images = torch, scorer, images
        self._margin, self._batch_size = margin, batch_size
        self._index = np.full(n_slots, -1, dtype=np.intp)
        self._highest = 0  # label
        self._labels = torch.zeros(n_slots, dtype=torch.int64, device=scorer.device)
        self._bad = torch.full((), -1, dtype=torch.int64, device=scorer.device)  # a slot whose scores are not finite
        self._canvases: Any = None  # (n_slots, height, width, channels)
        self._runs: Any = None  # the same memory as rows of windows, one beginning at each pixel

    def put(self, slots: Indices, indices: Indices, parts: Iterable[NDArray[Any]]) -> None:
        """One copy to the device, which waits meanwhile, scaled there once for all windows."""
        torch, device = self._torch, self._scorer.device
        pixels, n = list(parts), 0
        with memory_told(self._scorer, (self._batch_size, *pixels[0].shape[1:])):
            if self._canvases is None:
                self._make_room(pixels[0].shape[1:])
            for part in pixels:
                self._images.check_shape(int(indices[n]), part.shape[1:], tuple(self._canvases.shape[1:]))
                n += len(part)
            places = torch.as_tensor(slots, device=device)
            with torch.inference_mode():
                raw = torch.from_numpy(np.concatenate(pixels)).to(device)
                self._canvases[places] = self._showing.scaled(raw, counts=raw.dtype == torch.uint8)
                self._labels[places] = torch.as_tensor(self._images.labels[indices], device=device)
        self._index[slots] = indices
        self._highest = max(self._highest, int(self._images.labels[indices].max()))

    def _make_room(self, shape: tuple[int, ...]) -> None:
        torch, n_slots = self._torch, len(self._index)
        height, width, channels = shape
        self._canvases = torch.empty((n_slots, *shape), dtype=torch.float32, device=self._scorer.device)
        self._side = height - 2 * self._margin, width - 2 * self._margin
        self._runs = self._canvases.as_strided(
            (n_slots * height * width - self._side[1] + 1, self._side[1] * channels), (channels, 1)
        )
        self._rows = torch.arange(self._side[0], device=self._scorer.device)

    def _windows(self, slots: Any, shifts: Any) -> Any:
        """(n, channels, height, width), gathered by rows: one index for all pixels of a row."""
        _, height, width, channels = self._canvases.shape
        start = self._margin - shifts  # the content moves down, hence the window up
        first = (slots * height + start[:, 0])[:, None] + self._rows
        found = self._runs[first * width + start[:, 1, None]]
        return found.reshape(len(slots), *self._side, channels).permute(0, 3, 1, 2)

    def scores(self, slots: Array, shifts: Array) -> Array:
        """One batch; the device is not waited for."""
        torch, n = self._torch, len(slots)
        if n < self._batch_size:
            slots = torch.cat([slots, slots[:1].expand(self._batch_size - n)])
            shifts = torch.cat([shifts, shifts[:1].expand(self._batch_size - n, 2)])
        shape = (self._batch_size, self._canvases.shape[3], *self._side)
        with torch.inference_mode(), memory_told(self._scorer, shape):
            logits = self._showing.run(self._windows(slots, shifts))
            if logits.shape[1] <= self._highest:
                held = self._index[self._index >= 0]
                check_classes(logits.shape[1], self._images.labels[held], [self._images.ids[i] for i in held])
            values, slots = logits[:n].to(torch.float64), slots[:n]
            is_finite = torch.isfinite(values).all(1)
            self._bad = torch.maximum(self._bad, torch.where(is_finite, -1, slots).amax())
            return values.amax(1) - values.gather(1, self._labels[slots, None])[:, 0]

    def check(self) -> None:
        """Which picture it was, if any."""
        slot = int(self._bad)
        if slot >= 0:
            name = self._images.ids[int(self._index[slot])]
            raise InputError(f"the model returns NaN or infinite logits for picture {name}.")


def window(canvas: NDArray[Any], margin: int, down: int, right: int, channels_last: bool) -> NDArray[Any]:
    """What the model sees when the content has moved by (down, right): the crop moves the other way."""
    axis = 0 if channels_last else 1
    height, width = canvas.shape[axis] - 2 * margin, canvas.shape[axis + 1] - 2 * margin
    rows, columns = slice(margin - down, margin - down + height), slice(margin - right, margin - right + width)
    return canvas[rows, columns] if channels_last else canvas[:, rows, columns]
