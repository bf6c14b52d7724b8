"""One network, or several of a kind as one, on the way: a step is a CUDA graph."""

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
    """Everything a step needs lies on the device, so that a step can be one graph."""

    def __init__(self, setting: Setting, images: Tensor, device: str, groups: int = 1, half: bool = True) -> None:
        self.setting, self.device, self.groups, self.half = setting, device, groups, half
        self.generator = torch.Generator(device=device)
        self.network = setting.build(torch.Generator().manual_seed(0), groups)
        self.network.to(device, memory_format=torch.channels_last)
        self.single = self.network
        if groups > 1:
            self.single = setting.build(torch.Generator()).to(device, memory_format=torch.channels_last)
        self.passes = self.network  # what goes forwards and backwards
        if half:
            self.passes = in_bfloat16(self.network, but=(nn.BatchNorm1d, nn.BatchNorm2d))
        for module in self.passes.modules():
            if isinstance(module, Dropout):
                module.generator = self.generator
        named = dict(self.network.named_parameters())
        self.parameters = list(named.values())
        self.derived = list(self.passes.parameters())
        self.copied = [i for i, (p, d) in enumerate(zip(self.parameters, self.derived, strict=True)) if p is not d]
        self.gradients = {i: torch.zeros_like(self.parameters[i]) for i in self.copied}
        kernel = [p.ndim > 1 and not name.endswith("bias") for name, p in named.items()]
        self.kinds = [([i for i, k in enumerate(kernel) if k == kind], kind) for kind in (True, False)]
        self.first = [torch.zeros_like(p) for p in self.parameters]
        self.second = [torch.zeros_like(p) for p in self.parameters] if setting.optimiser == "adam" else []
        self.counts = [torch.zeros((), device=device) for p in self.parameters]
        self.images = images[: setting.size]
        self.targets = torch.zeros(groups, setting.size, dtype=torch.int64, device=device)
        self.order = torch.arange(setting.size, device=device).repeat(groups, 1)
        self.at = torch.zeros((), dtype=torch.int64, device=device)
        self.rate = torch.zeros((), device=device)
        self.within = torch.arange(setting.batch, device=device)
        self.right = torch.zeros(groups, device=device)
        self.steps = setting.size // setting.batch
        self.graph: torch.cuda.CUDAGraph | None = None

    def random(self, *shape: int) -> Tensor:
        return torch.rand(shape, device=self.device, generator=self.generator)

    def augment(self, x: Tensor) -> Tensor:
        """Shifts up to a tenth, turns, flips; what comes in from outside repeats the border, as Keras does."""
        n, turn = len(x), self.setting.rotation * np.pi / 180
        angle = (2 * self.random(n) - 1) * turn
        flip = 1 - 2 * (self.random(n) < 0.5).float()
        shift = (2 * self.random(n, 2) - 1) * 0.2  # a tenth of the width, in coordinates from -1 to 1
        cos, sin = torch.cos(angle), torch.sin(angle)
        matrix = torch.stack(
            [torch.stack([cos * flip, -sin, shift[:, 0]], 1), torch.stack([sin * flip, cos, shift[:, 1]], 1)], 1
        )
        grid = F.affine_grid(matrix, list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, padding_mode="border", align_corners=False)

    def step(self) -> None:
        rows = self.order[:, self.at + self.within]
        self.at += self.setting.batch
        x = self.images[rows.flatten()].float() * self.setting.scale
        if self.setting.augmented:
            x = self.augment(x)
        if self.groups > 1:
            x = x.unflatten(0, (self.groups, -1)).transpose(0, 1).flatten(1, 2)
        x = x.to(torch.bfloat16 if self.half else torch.float32).contiguous(memory_format=torch.channels_last)
        if self.half:
            with torch.no_grad():
                torch._foreach_copy_(*([t[i] for i in self.copied] for t in (self.derived, self.parameters)))
        out = self.passes(x)
        out = out.float().reshape(-1, out.shape[-1])
        wanted = self.targets.gather(1, rows)
        loss = F.cross_entropy(out, wanted.flatten(), reduction="sum") / self.setting.batch
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
        self.network.train()
        if stream is not None:
            self.graph = captured(self.step, self.at, self.generator, stream)

    @torch.no_grad()
    def begin(self, targets: list[np.ndarray], seeds: list[int]) -> None:
        """Networks as new."""
        self.generator.manual_seed(seeds[0])
        places = self.network.state_dict()
        for g, seed in enumerate(seeds):
            for name, value in self.setting.build(torch.Generator().manual_seed(seed)).state_dict().items():
                places[name].view(self.groups, *value.shape)[g].copy_(value)
            self.targets[g].copy_(torch.as_tensor(targets[g].astype(np.int64)))
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
        if self.groups > 1:
            places = self.network.state_dict()
            with torch.no_grad():
                for name, value in self.single.state_dict().items():
                    value.copy_(places[name].view(self.groups, *value.shape)[g])
        self.single.eval()
        try:
            yield self.single
        finally:
            self.single.train()

    def predict(self, g: int, images: list[Tensor]) -> list[np.ndarray]:
        """What the g-th network says of each set of images."""
        with self.finished(g) as network:
            return [answers(network, self.setting.scale, x).to(torch.uint8).cpu().numpy() for x in images]
