"""v1's rescaled CIFAR-10 on the device: 32 to 44 by bilinear sampling, the centre, and what the model sees of it."""

from __future__ import annotations

import functools

import numpy as np
import torch
from networks import CHANNELS
from pictures import LARGE, MARGIN, SIDE, leaked, split
from torch import Tensor
from torch.nn import functional as F

FRAMES = {"black": "constant", "edge": "replicate", "mirror": "reflect"}  # and torch's names for them
MEAN, SPREAD = (125.3, 123.0, 113.9), (63.0, 62.1, 66.7)  # of CIFAR-10's training pictures


def taps() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each of the 44 places: the two pixels it lies between, and their weights in units of 2^-22."""
    centre = (np.arange(LARGE) + 0.5) * SIDE / LARGE
    low = np.floor(centre - 0.5).astype(np.int64)
    first, second = np.clip(low, 0, SIDE - 1), np.clip(low + 1, 0, SIDE - 1)
    share = np.where(first == second, 0.0, centre - 0.5 - low)
    return first, second, np.rint(np.stack([1 - share, share]) * 2**22).astype(np.int32)


def enlarged(x: Tensor) -> Tensor:
    """(n, 32, 32, 3) uint8 to (n, 44, 44, 3), bit for bit what Pillow's bilinear resize gives: columns, then rows."""
    first, second, weights = (torch.as_tensor(t, device=x.device) for t in taps())

    def along(v: Tensor, dim: int) -> Tensor:
        shape = [1] * v.ndim
        shape[dim] = LARGE
        total = v.index_select(dim, first).int() * weights[0].view(shape)
        total += v.index_select(dim, second).int() * weights[1].view(shape)
        return ((total + (1 << 21)) >> 22).to(torch.uint8)

    step = 5_000  # bounds memory
    return torch.cat([along(along(x[i : i + step], 2), 1) for i in range(0, len(x), step)])


def windows(x: Tensor, rows: Tensor, top: Tensor, left: Tensor, size: int, flipped: Tensor | None = None) -> Tensor:
    """The size x size windows of x[rows] at these corners, left to right where flipped: (k, 3, size, size), uint8.

    Channels come last in memory.
    """
    steps = torch.arange(size, device=x.device)
    columns = steps.expand(len(rows), -1)
    if flipped is not None:
        columns = torch.where(flipped[:, None], size - 1 - columns, columns)
    picked = x[rows[:, None, None], (top[:, None] + steps)[:, :, None], (left[:, None] + columns)[:, None, :]]
    return picked.permute(0, 3, 1, 2)


def normalised(x: Tensor, dtype: torch.dtype) -> Tensor:
    """(k, 3, height, width) uint8 as the networks take them: (k, 8, height, width), channels last in memory."""
    out = torch.zeros(len(x), *x.shape[2:], CHANNELS, dtype=dtype, device=x.device)
    mean, spread = (_constant(v, x.device) for v in (MEAN, SPREAD))
    out[..., :3] = (x.permute(0, 2, 3, 1) - mean) / spread
    return out.permute(0, 3, 1, 2)


@functools.cache
def _constant(values: tuple[float, ...], device: torch.device) -> Tensor:
    """Made once: a graph cannot fetch it from the host."""
    return torch.tensor(values, device=device)


class Data:
    """Pictures and labels on the device.

    `shown` are the pictures that may be trained on, 32 x 32: v1's fixed random crops of the training pictures, then
    the test pictures as they are tested. `large` are those that are audited, 44 x 44: test, control, some of the
    training pictures and the rest of them, in the order of `parts`. `original` is `shown` before it was enlarged, and
    `framed` are pictures that are audited with a frame around them instead.
    """

    def __init__(self, x: np.ndarray, y: np.ndarray, device: torch.device | str, limit: int | None = None) -> None:
        n = len(x) * 5 // 6  # the last of six batches is the test set
        test = np.arange(n, len(x))
        s = split(n, control=n // 5, audited=n // 5)
        train, corners, control, audited = s.train, s.corners, s.control, s.audited
        rest = np.setdiff1d(train, audited)
        if limit:  # for trying things out
            train, corners, test, control, audited, rest = (
                a[:limit] for a in (train, corners, test, control, audited, rest)
            )
        self.n_train, self.n_test = len(train), len(test)
        self.parts, at = {}, 0
        for name, rows in (("test", test), ("control", control), ("train", audited), ("rest", rest)):
            self.parts[name] = slice(at, at + len(rows))
            at += len(rows)
        to = {"device": device}
        ids = np.concatenate([test, control, audited, rest])
        self.ids = ids
        self.small = torch.as_tensor(x[ids], **to)
        self.large = enlarged(self.small)
        self.labels = torch.as_tensor(y[ids].astype(np.int64), **to)
        corner = torch.as_tensor(corners, **to)
        trained = enlarged(torch.as_tensor(x[train], **to))
        fixed = windows(trained, torch.arange(len(train), **to), corner[:, 0], corner[:, 1], SIDE).permute(0, 2, 3, 1)
        middle = self.large[: len(test), MARGIN : MARGIN + SIDE, MARGIN : MARGIN + SIDE]
        self.shown = torch.cat([fixed, middle]).contiguous()
        self.targets = torch.as_tensor(np.concatenate([y[train], y[test]]).astype(np.int64), **to)
        self.original = torch.as_tensor(np.concatenate([x[train], x[test]]), **to)
        self.control, self.audited = control, audited

    def become(self, other: Data) -> None:
        """Other pictures in the same places, for trainings that are made already."""
        for name in ("small", "large", "labels", "shown", "targets", "original"):
            getattr(self, name).copy_(getattr(other, name))

    def framed(self, frame: str, n: int) -> Tensor:
        """The first n pictures that are audited, 32 x 32 as they are, in a frame of 6 pixels."""
        x = self.small[:n].permute(0, 3, 1, 2)
        if frame == "black":
            x = F.pad(x, [MARGIN] * 4)
        else:
            x = F.pad(x.float(), [MARGIN] * 4, mode=FRAMES[frame]).to(torch.uint8)  # whole numbers: exact
        return x.permute(0, 2, 3, 1).contiguous()

    def pool(self, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows of `shown` that a training uses, and which test pictures are among them."""
        among = leaked(count, seed, self.n_test)
        return np.concatenate([np.arange(self.n_train), self.n_train + among]), among

    def kept(self) -> dict[str, np.ndarray]:
        """What the tables need to know of the data."""
        return {
            "test_labels": self.labels[self.parts["test"]].to(torch.uint8).cpu().numpy(),
            "control_labels": self.labels[self.parts["control"]].to(torch.uint8).cpu().numpy(),
            "train_labels": self.labels[self.parts["train"]].to(torch.uint8).cpu().numpy(),
            "control": self.control.astype(np.uint16),
            "audited": self.audited.astype(np.uint16),
        }
