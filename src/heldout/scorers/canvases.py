"""Pictures with room around them, kept where a model's batches live, and the windows of them that it sees.

A few slots hold one picture each. In the memory of this process windows are cut one after the other into one buffer;
on a torch device pictures arrive once, as they were read, are scaled there by the same arithmetic, and windows are
gathered there: only scores are looked at from outside.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.images import LabelledImages
from heldout.orbit.square import AXES, IDENTITY, INVERSE, MATRICES, acted, has_turns, shifts_before
from heldout.scorers.arrays import Array, Arrays, NumpyArrays
from heldout.scorers.base import Layout, Scorer
from heldout.scorers.batches import excess_scores, memory_told, score_batch
from heldout.scorers.showing import DeviceShowing, Indices
from heldout.scorers.torch import TorchScorer

AT_ONCE = 2**18  # numbers that are scaled in one piece: a megabyte, which stays in the cache


class Canvases(Protocol):
    """Slots for pictures."""

    arrays: Arrays
    ask: int  # positions a picture asks for in a round

    def send(self, pixels: NDArray[Any]) -> Array:
        """Placed pictures on their way to where the slots are; any thread may call it."""
        ...

    def put(self, slots: Indices, indices: Indices, parts: Iterable[Array]) -> None:
        """Pictures of the set, placed with their margin and sent, into slots; they come in parts, in their order."""
        ...

    def scores(self, slots: Array, versions: Array) -> Array:
        """(n,) excess scores of windows: the pictures in `slots`, their content moved by `versions` (down, right), or
        flipped and turned about the centre first, (element, down, right)."""
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

    ask = 3

    def __init__(self, scorer: Scorer, images: LabelledImages, *, margin: int, n_slots: int, batch_size: int) -> None:
        self.arrays: Arrays = NumpyArrays()
        self._scorer, self._images, self._margin, self._batch_size = scorer, images, margin, batch_size
        self._labels = np.zeros(n_slots, dtype=np.int64)
        self._names = np.empty(n_slots, dtype=object)
        # In the order in which the model's memory wants them; its layout is then another view of the same.
        self._memory: Layout = "nhwc" if getattr(scorer, "channels_last", False) else scorer.layout
        self._canvases: NDArray[np.float32] | None = None
        self._windows: NDArray[np.float32] | None = None  # the same memory, by slot and by the window's first pixel
        self._buffer: NDArray[np.float32] | None = None

    def send(self, pixels: NDArray[Any]) -> Array:
        """They are there already."""
        return pixels

    def put(self, slots: Indices, indices: Indices, parts: Iterable[Array]) -> None:
        """Scaled once, for all windows."""
        n = 0
        for part in parts:
            step = max(1, AT_ONCE // part[0].size)
            for start in range(0, len(part), step):
                pictures = part[start : start + step]
                canvases = self._images.scaled(pictures, self._memory, counts=pictures.dtype == np.uint8)
                if self._canvases is None:
                    self._make_room(canvases.shape[1:])
                assert self._canvases is not None
                self._images.check_shape(int(indices[n]), canvases.shape[1:], self._canvases.shape[1:])
                self._canvases[slots[n : n + len(canvases)]] = canvases
                n += len(canvases)
        self._labels[slots] = self._images.labels[indices]
        self._names[slots] = [self._images.ids[i] for i in indices]

    def _make_room(self, shape: tuple[int, ...]) -> None:
        self._canvases = np.empty((len(self._labels), *shape), dtype=np.float32)
        self._windows = windows(self._canvases, self._margin, channels_last=self._memory == "nhwc")
        self._buffer = np.zeros((self._batch_size, *self._windows.shape[3:]), dtype=np.float32)

    def scores(self, slots: Array, versions: Array) -> Array:
        """One batch."""
        assert self._windows is not None
        assert self._buffer is not None
        elements = versions[:, 0].tolist() if versions.shape[1] == 3 else []
        shifts = shifts_before(versions[:, 0], versions[:, 1:]) if elements else versions
        down, right = (self._margin - shifts.T).tolist()  # the content moves down, hence the window up
        places = enumerate(zip(slots.tolist(), down, right, strict=True))
        if elements:
            axes = (0, 1) if self._memory == "nhwc" else (1, 2)
            for place, at in places:
                self._buffer[place] = acted(self._windows[at], elements[place], axes=axes)
        else:
            for place, at in places:
                self._buffer[place] = self._windows[at]
        self._buffer[len(slots) :] = self._buffer[0]
        batch = self._buffer if self._memory == self._scorer.layout else self._buffer.transpose(0, 3, 1, 2)
        logits = score_batch(self._scorer, batch)
        return excess_scores(logits[: len(slots)], self._labels[slots], self._names[slots])

    def check(self) -> None:
        """Nothing: every batch was checked when it came."""


class DeviceCanvases:
    """On a scorer's torch device.

    Parameters
    ----------
    margin, n_slots, batch_size
        As of `HostCanvases`.
    """

    ask = 8  # fewer rounds save more than they cost

    def __init__(
        self, scorer: TorchScorer, images: LabelledImages, *, margin: int, n_slots: int, batch_size: int
    ) -> None:
        import torch

        self._showing = DeviceShowing(scorer, images, batch_size=batch_size)
        self.arrays: Arrays = self._showing.arrays
        self._torch, self._scorer, self._images = torch, scorer, images
        self._margin, self._batch_size = margin, batch_size
        self._index = np.full(n_slots, -1, dtype=np.intp)
        self._held = self._index[:0]  # all that are in slots
        self._labels = torch.zeros(n_slots, dtype=torch.int64, device=scorer.device)
        self._bad = torch.full((), -1, dtype=torch.int64, device=scorer.device)  # a slot whose scores are not finite
        cuda: Any = torch.cuda
        self._arrivals = cuda.Stream(scorer.device) if scorer.device.type == "cuda" else None
        self._canvases: Any = None  # (n_slots, height, width, channels)
        self._runs: Any = None  # the same memory as rows of windows, one beginning at each pixel
        self._moved: Any = None  # which pixels of a window stand where after each flip and turn, and shifts before it

    def send(self, pixels: NDArray[Any]) -> Array:
        """A copy beside the work of the device, which goes on meanwhile; raw pixels, as they were read."""
        torch, raw = self._torch, self._torch.from_numpy(np.require(pixels, requirements=["C", "W"]))
        with memory_told(self._scorer, (self._batch_size, *raw.shape[1:])), torch.inference_mode():
            if self._arrivals is None:
                return raw.to(self._scorer.device)
            with torch.cuda.stream(self._arrivals):
                return raw.to(self._scorer.device)

    def put(self, slots: Indices, indices: Indices, parts: Iterable[Array]) -> None:
        """Scaled there once for all windows."""
        torch, device = self._torch, self._scorer.device
        pixels, n = list(parts), 0
        with memory_told(self._scorer, (self._batch_size, *pixels[0].shape[1:])):
            if self._arrivals is not None:
                work = torch.cuda.current_stream(device)
                work.wait_stream(self._arrivals)
                for part in pixels:
                    part.record_stream(work)  # whose memory is not given to the next arrival before it was read
            if self._canvases is None:
                self._make_room(pixels[0].shape[1:])
            for part in pixels:
                self._images.check_shape(int(indices[n]), part.shape[1:], tuple(self._canvases.shape[1:]))
                n += len(part)
            places = torch.as_tensor(slots, device=device)
            with torch.inference_mode():
                raw = torch.cat(pixels)
                self._canvases[places] = self._showing.scaled(raw, counts=raw.dtype == torch.uint8)
                self._labels[places] = torch.as_tensor(self._images.labels[indices], device=device)
        self._index[slots] = indices
        self._held = self._index[self._index >= 0]

    def _make_room(self, shape: tuple[int, ...]) -> None:
        torch, n_slots = self._torch, len(self._index)
        height, width, channels = shape
        self._canvases = torch.empty((n_slots, *shape), dtype=torch.float32, device=self._scorer.device)
        self._side = height - 2 * self._margin, width - 2 * self._margin
        self._runs = self._canvases.as_strided(
            (n_slots * height * width - self._side[1] + 1, self._side[1] * channels), (channels, 1)
        )
        self._rows = torch.arange(self._side[0], device=self._scorer.device)

    def _windows(self, slots: Any, versions: Any) -> Any:
        """(n, channels, height, width), gathered by rows: one index for all pixels of a row."""
        if versions.shape[1] == 3:
            return self._acted_windows(slots, versions[:, 0], versions[:, 1:])
        _, height, width, channels = self._canvases.shape
        start = self._margin - versions  # the content moves down, hence the window up
        first = (slots * height + start[:, 0])[:, None] + self._rows
        found = self._runs[first * width + start[:, 1, None]]
        return found.reshape(len(slots), *self._side, channels).permute(0, 3, 1, 2)

    def _acted_windows(self, slots: Any, elements: Any, shifts: Any) -> Any:
        """The same of pictures that are flipped and turned first, gathered by pixels."""
        _, height, width, channels = self._canvases.shape
        if self._moved is None:
            put, pixels = self.arrays.put, np.arange(height * width).reshape(height, width)
            seen = pixels[: self._side[0], : self._side[1]]  # where they stand from a window's first pixel on
            square = self._side[0] == self._side[1]
            sources = [acted(seen, e, axes=(0, 1)) if square or not has_turns([e]) else seen for e in range(len(AXES))]
            self._moved = put(np.stack([s.reshape(-1) for s in sources])), put(MATRICES[INVERSE])
        sources, before = self._moved
        start = self._margin - (before[elements] * shifts[:, None]).sum(-1)  # as `shifts_before`
        first = (slots * height + start[:, 0]) * width + start[:, 1]
        places = (first[:, None] + sources[elements]).reshape(-1)
        found = self._canvases.view(-1, channels).index_select(0, places)
        return found.reshape(len(slots), *self._side, channels).permute(0, 3, 1, 2)

    def scores(self, slots: Array, versions: Array) -> Array:
        """One batch; the device is not waited for."""
        torch, n = self._torch, len(slots)
        if n < self._batch_size:
            slots = torch.cat([slots, slots[:1].expand(self._batch_size - n)])
            versions = torch.cat([versions, versions[:1].expand(self._batch_size - n, -1)])
        shape = (self._batch_size, self._canvases.shape[3], *self._side)
        with torch.inference_mode(), memory_told(self._scorer, shape):
            found = self._showing.excess(self._windows(slots, versions), self._held, self._labels[slots[:n]])
            self._bad = torch.maximum(self._bad, torch.where(torch.isnan(found), slots[:n], -1).amax())
            return found

    def check(self) -> None:
        """Which picture it was, if any."""
        slot = int(self._bad)
        if slot >= 0:
            name = self._images.ids[int(self._index[slot])]
            raise InputError(f"the model returns NaN or infinite logits for picture {name}.")


def windows(canvases: NDArray[Any], margin: int, *, channels_last: bool) -> NDArray[Any]:
    """What the model may see of canvases (n, ...): (n, first row, first column, window's own axes), a view."""
    first = 1 if channels_last else 2
    sides = tuple(canvases.shape[axis] - 2 * margin for axis in (first, first + 1))
    found = np.lib.stride_tricks.sliding_window_view(canvases, sides, axis=(first, first + 1))
    return found.transpose(0, 1, 2, 4, 5, 3) if channels_last else found.transpose(0, 2, 3, 1, 4, 5)


def window(
    canvas: NDArray[Any], margin: int, down: int, right: int, channels_last: bool, element: int = IDENTITY
) -> NDArray[Any]:
    """What the model sees when the content has been flipped or turned and then moved by (down, right): the crop moves
    the other way."""
    ((down, right),) = shifts_before(np.array([element]), np.array([[down, right]])).tolist()
    seen: NDArray[Any] = windows(canvas[None], margin, channels_last=channels_last)[0, margin - down, margin - right]
    return acted(seen, element, axes=(0, 1) if channels_last else (1, 2))
