"""Trainings whose step is one CUDA graph; several run side by side, each on a stream of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from networks import NETWORKS, Weights, logits
from rescaled import Data, normalised, windows
from torch import Tensor
from torch.nn import functional as F

from experiments.graphs import captured, laid, on


@dataclass(frozen=True)
class Setting:
    """All that is the same for the seeds of one row of the study."""

    network: str = "vgg"
    shift: bool = True  # random 24 x 24 crops of the 32 x 32 training picture; else the whole picture, always the same
    epochs: int = 36
    leaked: int = 0  # test pictures in the training set
    batch: int = 512
    peak: float = 0.4  # learning rate, at a fifth of the training; up to it and down to 0 in straight lines
    momentum: float = 0.9  # Nesterov's
    decay: float = 5e-4  # of kernels and the last map
    flips: bool = True
    pad: int = 0  # black pixels around the whole picture, of which a 32 x 32 window is cut: the usual shifts
    original: bool = False  # CIFAR-10's own 32 x 32 pictures instead of crops of the enlarged ones

    @property
    def size(self) -> int:
        return 24 if self.shift else 32

    @property
    def moves(self) -> str:
        own = "original" if self.original else ""
        return (own or "shift") if self.shift else own + (f"pad{self.pad}" if self.pad else "fixed")

    @property
    def name(self) -> str:
        return f"{self.network}-{self.moves}-e{self.epochs}-leak{self.leaked}"


def rates(setting: Setting, steps: int) -> np.ndarray:
    """The learning rate of every step."""
    t = (np.arange(steps) + 0.5) / steps
    return setting.peak * np.minimum(t / 0.2, (1 - t) / 0.8)


class Training:
    """One network at a time; everything that a step needs lies in places that do not move."""

    def __init__(self, setting: Setting, data: Data, device: torch.device | str, most: int, compiled: bool) -> None:
        self.setting, self.data, self.device = setting, data, device
        self.layers = NETWORKS[setting.network]()
        self.cuda = torch.device(device).type == "cuda"
        self.stream = torch.cuda.Stream() if self.cuda else None
        self.generator = torch.Generator(device=device)
        initial = Weights.initial(self.layers, torch.Generator().manual_seed(0))
        self.weights = Weights([self.placed(t) for t in initial.tensors], [self.placed(t) for t in initial.statistics])
        # Convolutions run in bfloat16 copies of their kernels; all else is float32.
        kernels = [i for i, t in enumerate(self.weights.tensors) if t.ndim == 4]
        self.copied = kernels if self.cuda else []
        self.used = list(self.weights.tensors)
        for i in self.copied:
            self.used[i] = self.weights.tensors[i].to(torch.bfloat16)
        self.used = [t.requires_grad_() for t in self.used]
        self.gradients = {i: torch.zeros_like(self.weights.tensors[i]) for i in self.copied}
        self.moments = [torch.zeros_like(t) for t in self.weights.tensors]
        decayed = [i for i, t in enumerate(self.weights.tensors) if t.ndim > 1]
        plain = [i for i, t in enumerate(self.weights.tensors) if t.ndim == 1]
        self.kinds = [(decayed, setting.decay), (plain, 0.0)]
        steps = setting.epochs * (most // setting.batch)
        self.order = torch.zeros(steps * setting.batch, dtype=torch.int64, device=device)
        self.rates = torch.zeros(steps, device=device)
        self.rate = torch.zeros((), device=device)
        self.count = torch.zeros(1, dtype=torch.int64, device=device)  # not a scalar: indexing by one would wait
        self.within = torch.arange(setting.batch, device=device)
        self.shown = data.original if setting.original else data.shown
        if setting.pad:
            self.shown = F.pad(self.shown, (0, 0, *[setting.pad] * 4)).contiguous()
        self.right = torch.zeros((), device=device)
        self.logits = torch.compile(logits, dynamic=False) if compiled else logits
        self.graph: torch.cuda.CUDAGraph | None = None
        self.steps = self.epoch = self.done = 0

    def placed(self, t: Tensor) -> Tensor:
        return laid(t.to(self.device))

    def batch(self) -> tuple[Tensor, Tensor]:
        """The next pictures, cropped and flipped, and their labels."""
        rows = self.order[self.count * self.setting.batch + self.within]
        chance = torch.rand(3, len(rows), device=self.device, generator=self.generator)
        room = self.shown.shape[1] - self.setting.size
        top, left = (chance[:2] * (room + 1)).long().clamp(max=room)
        flipped = chance[2] < (0.5 if self.setting.flips else 0.0)
        x = windows(self.shown, rows, top, left, self.setting.size, flipped)
        return normalised(x, torch.bfloat16 if self.cuda else torch.float32), self.data.targets[rows]

    def step(self) -> None:
        with torch.no_grad():
            x, y = self.batch()
            self.rate.copy_(self.rates[self.count][0])
            self.count += 1
            if self.copied:
                torch._foreach_copy_(
                    [self.used[i] for i in self.copied], [self.weights.tensors[i] for i in self.copied]
                )
        out = self.logits(self.layers, self.used, self.weights.statistics, x)
        found = list(torch.autograd.grad(F.cross_entropy(out, y), self.used))
        with torch.no_grad():
            self.right += (out.argmax(dim=1) == y).sum()
            if self.copied:
                torch._foreach_copy_(list(self.gradients.values()), [found[i] for i in self.copied])
            for i, gradient in self.gradients.items():
                found[i] = gradient
            for places, decay in self.kinds:
                torch._fused_sgd_(
                    [self.weights.tensors[i] for i in places], [laid(found[i]) for i in places],
                    [self.moments[i] for i in places], weight_decay=decay, momentum=self.setting.momentum,
                    lr=self.rate, dampening=0.0, nesterov=True, maximize=False, is_first_step=False,
                )  # fmt: skip

    def prepare(self) -> None:
        """Turn a step into a graph."""
        if self.cuda:
            self.graph = captured(self.step, self.count, self.generator, self.stream)

    def begin(self, pool: np.ndarray, seed: int) -> None:
        """A network as new, and the order of all its batches."""
        with on(self.stream), torch.no_grad():
            self.generator.manual_seed(seed)
            fresh = Weights.initial(self.layers, torch.Generator().manual_seed(seed))
            for mine, theirs in ((self.weights.tensors, fresh.tensors), (self.weights.statistics, fresh.statistics)):
                for place, value in zip(mine, theirs, strict=True):
                    place.copy_(value)
            for t in self.moments:
                t.zero_()
            rows = torch.as_tensor(pool, device=self.device)
            self.epoch = len(pool) // self.setting.batch
            self.steps, used = self.epoch * self.setting.epochs, self.epoch * self.setting.batch
            for e in range(self.setting.epochs):
                order = torch.randperm(len(pool), device=self.device, generator=self.generator)
                self.order[e * used : (e + 1) * used] = rows[order[:used]]
            self.rates[: self.steps] = torch.as_tensor(rates(self.setting, self.steps), dtype=torch.float32)
            self.count.zero_()
            self.right.zero_()
            self.done = 0

    def go(self) -> None:
        """One step; `right` counts over the last epoch."""
        if self.done >= self.steps:
            return
        with on(self.stream):
            if self.done == self.steps - self.epoch:
                self.right.zero_()
            if self.graph is None:
                self.step()
            else:
                self.graph.replay()
        self.done += 1

    def accuracy(self) -> float:
        """On the last epoch, as trained."""
        with on(self.stream):
            return float(self.right) / (self.epoch * self.setting.batch)


def together(trainings: list[Training]) -> None:
    """Begun trainings, to the end, a step of each in turn."""
    for _ in range(max(t.steps for t in trainings)):
        for t in trainings:
            t.go()
    if trainings[0].cuda:
        torch.cuda.synchronize()
