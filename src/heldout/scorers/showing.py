"""Raw pixels become batches where a model wants them, and what the model says of them comes back.

On a torch device raw pixels arrive as they were read, uint8 where they came so, are scaled there by the same
arithmetic, and only what is asked for comes back: logits, or one score for each picture.
"""

from __future__ import annotations

import contextlib
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.images import LabelledImages
from heldout.scorers.arrays import Array, Arrays, NumpyArrays, TorchArrays
from heldout.scorers.base import Scorer
from heldout.scorers.batches import (
    check_classes,
    check_shape,
    excess_scores,
    failure,
    filled,
    memory_told,
    ran_out_of_memory,
    score_batch,
)
from heldout.scorers.torch import TorchScorer

Indices = NDArray[np.intp]


class Showing(Protocol):
    """Pictures of a set before a model, in batches of one size."""

    arrays: Arrays
    is_here: bool  # in the memory of this process
    lag: int  # batches that may be on their way before the first one's scores are looked at

    def put(self, pixels: Array, *, counts: bool) -> Array:
        """A batch, scaled and filled up to its size; `counts`: the pixels came as uint8.

        Pixels are raw, (n, height, width, channels), and either here or of the kind of `arrays`.
        """
        ...

    def logits(self, batch: Array) -> NDArray[Any]:
        """(batch_size, n_classes) of all that is in a batch."""
        ...

    def excess(self, batch: Array, rows: Indices, labels: Array | None = None) -> Array:
        """(n,) s(x) = max_i l_i(x) - l_y(x) of a batch's first pictures, which are these of the set.

        Their `labels`, where they are at hand already, spare a copy. The device is not waited for.
        """
        ...

    def told(self, excess: Array, rows: Indices) -> NDArray[np.float64]:
        """The same in the memory of this process, and finite, or an InputError."""
        ...


def showing_for(scorer: Scorer, images: LabelledImages, *, batch_size: int) -> Showing:
    """Where the scorer wants its batches."""
    if isinstance(scorer, TorchScorer) and scorer.gathers:
        return DeviceShowing(scorer, images, batch_size=batch_size)
    return HostShowing(scorer, images, batch_size=batch_size)


class HostShowing:
    """In the memory of this process, for any scorer.

    Parameters
    ----------
    batch_size : int
        A batch is filled up to this size: a model's arithmetic may depend on it, and some take no other.
    """

    is_here, lag = True, 0

    def __init__(self, scorer: Scorer, images: LabelledImages, *, batch_size: int) -> None:
        self.arrays: Arrays = NumpyArrays()
        self._scorer, self._images, self._batch_size = scorer, images, batch_size

    def put(self, pixels: Array, *, counts: bool) -> Array:
        """In the scorer's layout."""
        return filled(self._images.scaled(pixels, self._scorer.layout, counts=counts), self._batch_size)

    def logits(self, batch: Array) -> NDArray[Any]:
        """One call of the scorer."""
        return score_batch(self._scorer, batch)

    def excess(self, batch: Array, rows: Indices, labels: Array | None = None) -> Array:
        """Checked at once."""
        logits = self.logits(batch)
        return excess_scores(logits[: len(rows)], self._images.labels[rows], [self._images.ids[i] for i in rows])

    def told(self, excess: Array, rows: Indices) -> NDArray[np.float64]:
        """As it is."""
        return np.asarray(excess)


class DeviceShowing:
    """On a scorer's torch device.

    Parameters
    ----------
    batch_size : int
        As of `HostShowing`.
    """

    is_here, lag = False, 1  # the device works on one batch while the answers to the last are looked at

    def __init__(self, scorer: TorchScorer, images: LabelledImages, *, batch_size: int) -> None:
        import torch

        self.arrays: Arrays = TorchArrays(scorer.device)
        self._torch, self._scorer, self._images, self._batch_size = torch, scorer, images, batch_size
        self._numbers: dict[tuple[float, ...], Any] = {}

    def put(self, pixels: Array, *, counts: bool) -> Array:
        """One copy to the device, unless it is there; (batch_size, channels, height, width)."""
        torch = self._torch
        with memory_told(self._scorer, (self._batch_size, *pixels.shape[1:])), torch.inference_mode():
            there = torch.is_tensor(pixels)
            raw = pixels if there else torch.from_numpy(np.ascontiguousarray(pixels)).to(self._scorer.device)
            values = self.scaled(raw, counts=counts)
            if missing := self._batch_size - len(values):
                values = torch.cat([values, values[:1].expand(missing, *values.shape[1:])])
            return values.permute(0, 3, 1, 2)

    def scaled(self, pixels: Any, *, counts: bool) -> Any:
        """What `LabelledImages.scaled` does, step by step in float32."""
        torch, images, number = self._torch, self._images, self._number
        images.check_channels(pixels.shape[-1])
        values = (pixels.flip(-1) if images.bgr else pixels).to(torch.float32)
        if images.scale is not None:
            values = values * number(images.scale)
        elif counts:
            values = values / number(255)
        return (values - number(*images.mean)) / number(*images.std)

    def _number(self, *values: float) -> Any:
        """An array on the device: by a number of Python's torch does not divide, it multiplies by the reciprocal, which
        gives other bits. Made once, since a copy has to wait for all that the device was asked to do before."""
        if values not in self._numbers:
            made = self._torch.tensor(values, dtype=self._torch.float32, device=self._scorer.device)
            self._numbers[values] = made
        return self._numbers[values]

    def run(self, batch: Any) -> Any:
        """(batch_size, n_classes) on the device, which is not waited for; what goes wrong is told in one sentence."""
        with self._torch.inference_mode():
            try:
                logits = self._scorer.run(batch)
            except InputError:
                raise
            except (Exception, SystemExit) as error:
                raise failure(self._scorer, tuple(batch.shape), error, grey=self._is_grey(batch, error)) from error
        check_shape(tuple(logits.shape), len(batch))
        return logits

    def _is_grey(self, batch: Any, error: BaseException) -> bool:
        if ran_out_of_memory(error) or batch.shape[1] != 3:
            return False
        with contextlib.suppress(RuntimeError):  # of a device that has failed for good
            return bool((batch == batch[:, :1]).all())
        return False

    def logits(self, batch: Array) -> NDArray[Any]:
        """One batch, waited for."""
        return np.asarray(self.run(batch).cpu().numpy())

    def excess(self, batch: Array, rows: Indices, labels: Array | None = None) -> Array:
        """NaN where a logit is not finite. Where `labels` are given, `rows` may be any that the pictures are among."""
        torch, known = self._torch, self._images.labels[rows]
        logits = self.run(batch)
        if logits.shape[1] <= known.max():
            check_classes(logits.shape[1], known, [self._images.ids[i] for i in rows])
        with memory_told(self._scorer, tuple(batch.shape)), torch.inference_mode():
            true = self.arrays.put(known) if labels is None else labels
            values = logits[: len(true)].to(torch.float64)
            found = values.amax(1) - values.gather(1, true[:, None])[:, 0]
            return torch.where(torch.isfinite(values).all(1), found, torch.nan)

    def told(self, excess: Array, rows: Indices) -> NDArray[np.float64]:
        """Waits for the device."""
        found = self.arrays.get(excess)
        if np.isnan(found).any():
            name = self._images.ids[int(rows[np.flatnonzero(np.isnan(found))[0]])]
            raise InputError(f"the model returns NaN or infinite logits for picture {name}.")
        return found
