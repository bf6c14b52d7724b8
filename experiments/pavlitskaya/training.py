"""A network on the way: a step is a CUDA graph. (fused.py has several of a kind as one.)"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import torch
from evaluate import answers
from networks import Dropout, Setting
from torch import Tensor, nn
from torch.nn import functional as F

from experiments.graphs import captured, in_bfloat16, laid


class Training:
    """Everything a step needs lies on the device, so that a step can be one graph.

    `groups` is how many networks there are: one, except in subclasses.
    """

    def __init__(self, setting: Setting, images: Tensor, device: str, groups: int = 1, half: bool = True) -> None:
        self.setting, self.device, self.groups, self.half = setting, device, groups, half
        self.generator = torch.Generator(device=device)
        self.images = images[: setting.size]
        self.targets = torch.zeros(groups, setting.size, dtype=torch.int64, device=device)
        self.order = torch.arange(setting.size, device=device).repeat(groups, 1)
        self.at = torch.zeros((), dtype=torch.int64, device=device)
        self.rate = torch.zeros((), device=device)
        self.within = torch.arange(setting.batch, device=device)
        self.right = torch.zeros(groups, device=device)
        self.steps = setting.size // setting.batch
        self.graph: torch.cuda.CUDAGraph | None = None
        self.build()

    def build(self) -> None:
        """The network, and all that changes with it."""
        self.network = self.setting.build(torch.Generator()).to(self.device, memory_format=torch.channels_last).train()
        self.passes = self.network  # what goes forwards and backwards
        if self.half:
            self.passes = in_bfloat16(self.network, but=(nn.BatchNorm1d, nn.BatchNorm2d))
        for module in self.passes.modules():
            if isinstance(module, Dropout):
                module.generator = self.generator
        self.parameters = list(self.network.parameters())
        self.derived = list(self.passes.parameters())
        self.copied = [i for i, (p, d) in enumerate(zip(self.parameters, self.derived, strict=True)) if p is not d]
        self.gradients = {i: torch.zeros_like(self.parameters[i]) for i in self.copied}
        kernel = [p.ndim > 1 for p in self.parameters]
        self.kinds = [([i for i, k in enumerate(kernel) if k == kind], kind) for kind in (True, False)]
        self.first = [torch.zeros_like(p) for p in self.parameters]
        self.second = [torch.zeros_like(p) for p in self.parameters] if self.setting.optimiser == "adam" else []
        self.counts = [torch.zeros((), device=self.device) for p in self.parameters]

    def random(self, *shape: int) -> Tensor:
        return torch.rand(shape, device=self.device, generator=self.generator)

    def moves(self, n: int) -> Tensor:
        """Shifts up to a tenth, turns, flips, (n, 2, 3) for `affine_grid`."""
        turn = self.setting.rotation * np.pi / 180
        angle = (2 * self.random(n) - 1) * turn
        flip = 1 - 2 * (self.random(n) < 0.5).float()
        shift = (2 * self.random(n, 2) - 1) * 0.2  # a tenth of the width, in coordinates from -1 to 1
        cos, sin = torch.cos(angle), torch.sin(angle)
        rows = (cos * flip, -sin, shift[:, 0]), (sin * flip, cos, shift[:, 1])
        return torch.stack([torch.stack(row, 1) for row in rows], 1)

    def augment(self, x: Tensor) -> Tensor:
        """Moved; what comes in from outside repeats the border, as Keras does."""
        grid = F.affine_grid(self.moves(len(x)), list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, padding_mode="border", align_corners=False)

    def step(self) -> None:
        rows = self.order[:, self.at + self.within]
        self.at += self.setting.batch
        x = self.images[rows.flatten()].float() * self.setting.scale
        if self.setting.augmented:
            x = self.augment(x)
        x = x.to(torch.bfloat16 if self.half else torch.float32).contiguous(memory_format=torch.channels_last)
        if self.half:
            with torch.no_grad():
                torch._foreach_copy_(*([t[i] for i in self.copied] for t in (self.derived, self.parameters)))
        out = self.passes(x).float()
        wanted = self.targets.gather(1, rows)
        loss = F.cross_entropy(out, wanted.flatten())
        gradients = dict(enumerate(torch.autograd.grad(loss, self.derived)))
        with torch.no_grad():
            self.right += (out.argmax(dim=1).view_as(wanted) == wanted).sum(dim=1)
            if self.half:
                torch._foreach_copy_(list(self.gradients.values()), [gradients[i] for i in self.copied])
            gradients |= self.gradients
            for places, kernels in self.kinds:
                self.update(places, gradients, 2 * self.setting.l2 if kernels else 0.0)

    def update(self, places: list[int], gradients: dict[int, Tensor], decay: float) -> None:
        parameters, first = [self.parameters[i] for i in places], [self.first[i] for i in places]
        gradients = [laid(gradients[i]) for i in places]
        if self.setting.optimiser == "sgd":
            torch._fused_sgd_(
                parameters, gradients, first if self.setting.momentum else [], weight_decay=decay,
                momentum=self.setting.momentum, lr=self.rate, dampening=0.0, nesterov=False, maximize=False,
                is_first_step=False,
            )  # fmt: skip
        else:
            counts = [self.counts[i] for i in places]
            torch._foreach_add_(counts, 1)
            torch._fused_adam_(
                parameters, gradients, first, [self.second[i] for i in places], [], counts, lr=self.rate,
                beta1=0.9, beta2=0.999, weight_decay=decay, eps=1e-7, amsgrad=False, maximize=False,
            )  # fmt: skip

    def prepare(self, stream: torch.cuda.Stream | None) -> None:
        """Turn a step into a graph."""
        if stream is not None:
            self.graph = captured(self.step, self.at, self.generator, stream)

    @torch.no_grad()
    def begin(self, targets: list[np.ndarray], seeds: list[int]) -> None:
        """Networks as new."""
        self.generator.manual_seed(seeds[0])
        for g, given in enumerate(targets):
            self.targets[g].copy_(torch.as_tensor(given.astype(np.int64)))
        self.renew(seeds)

    def renew(self, seeds: list[int]) -> None:
        """Weights of these seeds, and an optimiser that has seen nothing."""
        places, (seed,) = self.network.state_dict(), seeds
        for name, value in self.setting.build(torch.Generator().manual_seed(seed)).state_dict().items():
            places[name].copy_(value)
        for t in (*self.first, *self.second, *self.counts):
            t.zero_()

    def begin_epoch(self, rate: float) -> None:
        self.rate.fill_(rate)
        for order in self.order:
            order.copy_(torch.randperm(self.setting.size, device=self.device, generator=self.generator))
        self.at.zero_()
        self.right.zero_()

    def go(self, steps: int) -> None:
        for _ in range(steps):
            if self.graph is None:
                self.step()
            else:
                self.graph.replay()

    @contextlib.contextmanager
    def finished(self, g: int) -> Iterator[nn.Module]:
        """The g-th network by itself, in float32, as it answers when it does not train."""
        network = self.network_of(g)
        network.eval()
        try:
            yield network
        finally:
            network.train()

    def network_of(self, g: int) -> nn.Module:
        """The g-th network, as it is now."""
        return self.network

    def predict(self, g: int, images: list[Tensor]) -> list[np.ndarray]:
        """What the g-th network says of each set of images."""
        with self.finished(g) as network:
            return [answers(network, self.setting.scale, x).to(torch.uint8).cpu().numpy() for x in images]
