"""One network of the random search: its setting, its layers, its augmentation, and a training whose step is one graph.

Everything that a step needs lies on the device in places that do not move: the order of all batches, the learning rate
and mixup's share of every step are written there before the first, and augmentation is drawn on the device. So a step
can be captured as a CUDA graph and costs one launch. On a processor, and on a GPU where nothing is captured, the same
`step` runs as it stands.
"""

from __future__ import annotations

import contextlib
import copy
import math
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from experiments.graphs import captured, in_bfloat16, laid, on

CHECKPOINTS = 10
CLASSES = 10
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
AHEAD = 2  # chunks of steps that wait on the device while the processor does something else


def drawn(seed: int) -> dict[str, Any]:
    """A setting of table 2; what a setting does not use is drawn all the same."""
    rng = np.random.default_rng([2019, seed])

    def one_of(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    def between(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    def coin() -> bool:
        return bool(rng.integers(2))

    return {
        "blocks": one_of(1, 2, 3),  # in each of three stages; the paper: 110 layers always
        "channels": one_of(4, 8, 16, 32),
        "bottleneck": coin(),
        "remove_first_relu": coin(),
        "last_normalisation": coin(),
        "preactivated_shortcut": coin(),
        "batch": one_of(128, 256, 512, 1024),  # the paper: 32 to 256
        "rate": between(1e-4, 0.5),
        "decay": 10 ** between(-5, -1),
        "decay_normalisation": coin(),
        "optimiser": one_of("sgd", "momentum", "nesterov", "adam"),
        "momentum": between(0.6, 0.99),
        "betas": (between(0.8, 0.95), between(0.9, 0.999)),
        "cosine": coin(),
        "falls_at": (one_of(0.2, 0.3, 0.4, 0.5), one_of(0.6, 0.7, 0.8, 0.9)),  # epochs 40 to 100, 120 to 180 of 200
        "crops": one_of(0, 2, 4, 8) if coin() else 0,
        "flips": coin(),
        "cutout": one_of(8, 12, 16) if coin() else 0,
        "dual_cutout": between(0.05, 0.3) if coin() else 0.0,
        "erasing": between(0.2, 0.8) if coin() else 0.0,
        "mixup": between(0.6, 1.4) if coin() else 0.0,
        "smoothing": between(0.01, 0.2) if coin() else 0.0,
    }


def rate(s: dict[str, Any], done: float) -> float:
    """Learning rate after this share of the training."""
    if s["cosine"]:
        return s["rate"] * (1 + math.cos(math.pi * done)) / 2
    return s["rate"] * 0.1 ** sum(done >= at for at in s["falls_at"])


# --- the network -------------------------------------------------------------------------------------


class Block(nn.Module):
    """Normalisation, ReLU, convolution, twice or three times; what goes past it."""

    def __init__(self, before: int, width: int, stride: int, s: dict[str, Any]) -> None:
        super().__init__()
        inner = width // 4 if s["bottleneck"] else width
        shapes = [(before, inner, 1, 1), (inner, inner, 3, stride), (inner, width, 1, 1)]
        if not s["bottleneck"]:
            shapes = [(before, width, 3, stride), (width, width, 3, 1)]
        self.norms = nn.ModuleList(nn.BatchNorm2d(a) for a, *_ in shapes)
        self.convs = nn.ModuleList(nn.Conv2d(a, b, k, t, k // 2, bias=False) for a, b, k, t in shapes)
        self.last = nn.BatchNorm2d(width) if s["last_normalisation"] else nn.Identity()
        changed = before != width or stride != 1
        self.past = nn.Conv2d(before, width, 1, stride, bias=False) if changed else nn.Identity()
        self.first_relu, self.preactivated = not s["remove_first_relu"], changed and s["preactivated_shortcut"]

    def forward(self, x: Tensor) -> Tensor:
        y = self.norms[0](x)
        if self.first_relu:
            y = F.relu(y)
        past = self.past(y if self.preactivated else x)
        y = self.convs[0](y)
        for norm, conv in zip(self.norms[1:], self.convs[1:], strict=True):
            y = conv(F.relu(norm(y)))
        return self.last(y) + past


class Network(nn.Module):
    """Three stages of blocks between a convolution and a linear map."""

    def __init__(self, s: dict[str, Any]) -> None:
        super().__init__()
        width, before = s["channels"] * (4 if s["bottleneck"] else 1), s["channels"]
        self.stem = nn.Conv2d(3, before, 3, 1, 1, bias=False)
        blocks = []
        for stage in range(3):
            for i in range(s["blocks"]):
                blocks.append(Block(before, width * 2**stage, 2 if stage and not i else 1, s))
                before = width * 2**stage
        self.blocks = nn.Sequential(*blocks)
        self.norm, self.head = nn.BatchNorm2d(before), nn.Linear(before, CLASSES)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.num_batches_tracked = None  # of no use here, and a kernel a step

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm(self.blocks(self.stem(x))))
        return self.head(x.mean(dim=(2, 3), dtype=torch.float32))


# --- pictures ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """Pictures on the device, normalised, channels last; the labels of the test set stay with numpy."""

    shown: Tensor  # (n, height, width, 3): bfloat16 on a GPU
    targets: Tensor
    tested: Tensor  # (n_test, 3, height, width), float32
    labels: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray, n_test: int, device: torch.device) -> Data:
        """The last pictures are the test set."""
        mean, std = (torch.tensor(v, device=device) for v in (MEAN, STD))
        parts = [
            (torch.as_tensor(part, device=device).float() / 255 - mean) / std for part in (x[:-n_test], x[-n_test:])
        ]
        targets = torch.as_tensor(y[:-n_test].astype(np.int64), device=device)
        shown = parts[0].to(torch.bfloat16 if device.type == "cuda" else torch.float32)
        return cls(shown, targets, parts[1].permute(0, 3, 1, 2), y[-n_test:])


def holes(x: Tensor, size: Tensor, g: torch.Generator) -> Tensor:
    """A square of 0 of this size somewhere in each picture, cut off at the edge."""
    n, h, w, _ = x.shape
    at = torch.rand(2, n, 1, 1, device=x.device, generator=g) * h
    rows, columns = (torch.arange(k, device=x.device) for k in (h, w))
    inside = ((rows[None, :, None] - at[0]).abs() < size[:, None, None] / 2) & (
        (columns[None, None] - at[1]).abs() < size[:, None, None] / 2
    )
    return x * ~inside[..., None]


def augmented(x: Tensor, s: dict[str, Any], g: torch.Generator) -> Tensor:
    """Crops, flips, cutout and erasing."""
    n, side = x.shape[:2]
    if pad := s["crops"]:
        big = F.pad(x, (0, 0, pad, pad, pad, pad))
        top, left = torch.randint(0, 2 * pad + 1, (2, n), device=x.device, generator=g)
        steps = torch.arange(side, device=x.device)
        each = torch.arange(n, device=x.device)[:, None, None]
        x = big[each, (top[:, None] + steps)[:, :, None], (left[:, None] + steps)[:, None]]
    if s["flips"]:
        turned = torch.rand(n, 1, 1, 1, device=x.device, generator=g) < 0.5
        x = torch.where(turned, x.flip(2), x)
    if s["cutout"]:
        x = holes(x, torch.full((n,), s["cutout"], device=x.device), g)
    if s["erasing"]:
        sizes = side * (0.15 + 0.4 * torch.rand(n, device=x.device, generator=g))
        x = holes(x, sizes * (torch.rand(n, device=x.device, generator=g) < s["erasing"]), g)
    return x


def loss(net: nn.Module, x: Tensor, y: Tensor, s: dict[str, Any], g: torch.Generator, share: Tensor) -> Tensor:
    """Of pictures with channels last; `share` is what mixup leaves of them."""

    def said(pictures: Tensor) -> Tensor:
        return net(pictures.permute(0, 3, 1, 2))

    def entropy(out: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(out, labels, label_smoothing=s["smoothing"])

    if s["dual_cutout"]:  # two views with different holes shall be answered alike; not together with mixup
        size = torch.full((len(x),), s["cutout"] or 8, device=x.device)
        one, two = (said(holes(x, size, g)) for _ in range(2))
        return (entropy(one, y) + entropy(two, y)) / 2 + s["dual_cutout"] * F.mse_loss(one, two)
    if s["mixup"]:
        other = torch.rand(len(x), device=x.device, generator=g).argsort()
        out = said(share * x + (1 - share) * x[other])
        return share * entropy(out, y) + (1 - share) * entropy(out, y[other])
    return entropy(said(x), y)


# --- a training --------------------------------------------------------------------------------------


class Training:
    """One network on its way, on a stream of its own where there is a GPU."""

    def __init__(
        self, seed: int, s: dict[str, Any], data: Data, epochs: int, stream: torch.cuda.Stream | None = None
    ) -> None:
        self.seed, self.setting, self.data, self.epochs, self.stream = seed, s, data, epochs, stream
        self.device = data.shown.device
        self.cuda = self.device.type == "cuda"
        self.generator = torch.Generator(device=self.device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.net = Network(s)
        self.net.to(self.device, memory_format=torch.channels_last)
        self.fresh = copy.deepcopy(self.net.state_dict())
        self.passes = self.net  # what goes forwards and backwards
        if data.shown.dtype == torch.bfloat16:
            self.passes = in_bfloat16(self.net, but=(nn.BatchNorm2d, nn.Linear))
        self.parameters, self.derived = list(self.net.parameters()), list(self.passes.parameters())
        self.copied = [i for i, (p, d) in enumerate(zip(self.parameters, self.derived, strict=True)) if p is not d]
        self.gradients = {i: torch.zeros_like(self.parameters[i]) for i in self.copied}
        plain = s["decay"] if s["decay_normalisation"] else 0.0
        self.kinds = [([i for i, p in enumerate(self.parameters) if (p.ndim > 1) == kernels], decay)
                      for kernels, decay in ((True, s["decay"]), (False, plain))]  # fmt: skip
        self.first, self.second = ([torch.zeros_like(p) for p in self.parameters] for _ in range(2))
        self.counts = [torch.zeros((), device=self.device) for _ in self.parameters]
        self.epoch = len(data.shown) // s["batch"]
        self.steps = epochs * self.epoch
        if self.steps < CHECKPOINTS:
            raise ValueError(f"{self.steps} steps of {s['batch']} pictures are fewer than {CHECKPOINTS} checkpoints")
        self.order = torch.zeros(self.steps * s["batch"], dtype=torch.int64, device=self.device)
        self.rates, self.shares = (torch.zeros(self.steps, device=self.device) for _ in range(2))
        self.rate, self.share, self.lost = (torch.zeros((), device=self.device) for _ in range(3))
        self.count = torch.zeros(1, dtype=torch.int64, device=self.device)  # not a scalar: indexing by one would wait
        self.within = torch.arange(s["batch"], device=self.device)
        self.wanted = {math.ceil(self.steps * (i + 1) / CHECKPOINTS) for i in range(CHECKPOINTS)}
        self.graph: torch.cuda.CUDAGraph | None = None
        self.marks: deque[torch.cuda.Event] = deque()
        self.kept: list[Tensor] = []
        self.done, self.began = 0, time.monotonic()
        if self.cuda:
            torch.cuda.synchronize()  # what was made here is used on another stream

    def on(self) -> contextlib.AbstractContextManager:
        return on(self.stream)

    def step(self) -> None:
        """Forwards, backwards, and the weights moved on."""
        s = self.setting
        with torch.no_grad():
            rows = self.order[self.count * s["batch"] + self.within]
            self.rate.copy_(self.rates[self.count][0])
            self.share.copy_(self.shares[self.count][0])
            self.count += 1
            if self.copied:
                torch._foreach_copy_(*([t[i] for i in self.copied] for t in (self.derived, self.parameters)))
            x = augmented(self.data.shown[rows], s, self.generator)
        lost = loss(self.passes, x, self.data.targets[rows], s, self.generator, self.share)
        found = dict(enumerate(torch.autograd.grad(lost, self.derived)))
        with torch.no_grad():
            self.lost.copy_(lost)
            if self.copied:
                torch._foreach_copy_(list(self.gradients.values()), [found[i] for i in self.copied])
            found |= self.gradients
            for places, decay in self.kinds:
                self.update(places, [laid(found[i]) for i in places], decay)

    def update(self, places: list[int], gradients: list[Tensor], decay: float) -> None:
        """One kernel for all weights, with the learning rate read from the device."""
        s = self.setting
        parameters, first = [self.parameters[i] for i in places], [self.first[i] for i in places]
        if s["optimiser"] == "adam":
            counts = [self.counts[i] for i in places]
            torch._foreach_add_(counts, 1)
            torch._fused_adam_(
                parameters, gradients, first, [self.second[i] for i in places], [], counts, lr=self.rate,
                beta1=s["betas"][0], beta2=s["betas"][1], weight_decay=decay, eps=1e-8, amsgrad=False, maximize=False,
            )  # fmt: skip
            return
        momentum = 0.0 if s["optimiser"] == "sgd" else s["momentum"]
        torch._fused_sgd_(
            parameters, gradients, first if momentum else [], weight_decay=decay, momentum=momentum, lr=self.rate,
            dampening=0.0, nesterov=s["optimiser"] == "nesterov", maximize=False, is_first_step=False,
        )  # fmt: skip

    def capture(self) -> None:
        """Turn a step into a graph, on a GPU."""
        if self.cuda:
            self.graph = captured(self.step, self.count, self.generator, self.stream)

    def begin(self) -> None:
        """As new, and all that the steps will read."""
        s, rng = self.setting, np.random.default_rng(self.seed)
        used = self.epoch * s["batch"]
        order = np.concatenate([rng.permutation(len(self.data.shown))[:used] for _ in range(self.epochs)])
        shares = rng.beta(s["mixup"], s["mixup"], self.steps) if s["mixup"] else np.ones(self.steps)
        with self.on(), torch.no_grad():
            self.generator.manual_seed(self.seed)
            for name, place in self.net.state_dict().items():
                place.copy_(self.fresh[name])
            for t in (*self.first, *self.second, *self.counts, self.count):
                t.zero_()
            self.order.copy_(torch.as_tensor(order))
            self.rates.copy_(torch.tensor([rate(s, i / self.steps) for i in range(self.steps)]))
            self.shares.copy_(torch.as_tensor(shares))
        self.marks.clear()
        self.kept, self.done, self.began = [], 0, time.monotonic()

    def ready(self) -> bool:
        """Whether the device is about to have nothing left to do for this one."""
        while self.marks and self.marks[0].query():
            self.marks.popleft()
        return len(self.marks) < AHEAD

    def go(self, most: int) -> int:
        """So many steps, or fewer up to the next checkpoint; nothing is waited for on a GPU."""
        until = min((w for w in self.wanted if w > self.done), default=self.done)
        count = min(most, until - self.done)
        with self.on():
            for _ in range(count):
                if self.graph is None:
                    self.step()
                else:
                    self.graph.replay()
            self.done += count
            if self.done in self.wanted and len(self.kept) < CHECKPOINTS:
                self.kept.append(self.predicted())
            if self.cuda:
                self.marks.append(torch.cuda.Event())
                self.marks[-1].record()
        return count

    def predicted(self) -> Tensor:
        """Answers to the test set, in float32."""
        self.net.eval()
        with torch.no_grad():
            found = [self.net(part).argmax(dim=1) for part in self.data.tested.split(2_500)]
        self.net.train()
        return torch.cat(found).to(torch.uint8)

    def answers(self) -> tuple[np.ndarray, bool, float]:
        """At every checkpoint, once all of them are there; whether all weights are finite, and the last loss."""
        with self.on():
            finite = all(bool(p.isfinite().all()) for p in self.parameters)
            return torch.stack(self.kept).cpu().numpy(), finite, float(self.lost)


# --- what it will take -------------------------------------------------------------------------------


def guess(s: dict[str, Any], n: int, epochs: int) -> float:
    """Seconds on a GPU, by itself: 3 µs a kernel, and what normalisation and ReLU move at 3 TB/s.

    A first guess, for the order of the queue; the search scales it by what its networks really take.
    """
    layers = 3 * s["blocks"] * (3 if s["bottleneck"] else 2) + 4
    widths = [s["channels"] * 2**stage * (1.5 if s["bottleneck"] else 1) for stage in range(3)]
    per_stage = s["blocks"] * (3 if s["bottleneck"] else 2)
    moved = sum(per_stage * w * (32 // 2**stage) ** 2 for stage, w in enumerate(widths)) * s["batch"] * 2 * 13
    passes = 2 if s["dual_cutout"] else 1
    return epochs * (n // s["batch"]) * (3e-6 * (40 + passes * 8 * layers) + passes * moved / 3e12)
