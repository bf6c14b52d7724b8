"""Several networks of one kind trained as one, by the kernels of convolutions.py and kernels.py.

It does what `Training` does. A step of six ResNets C5 takes 2.2 ms on an H200; the library's grouped convolutions, used
before, took 6.8 ms. Six ResNets C6 of 16 pictures each: 0.45 and 1.8 ms. A step of six VGGs C5: 4.8 ms; as plain
networks on six streams about 9.

Forwards and backwards are written out, so that activations lie in places that do not move and every kernel does as much
as it can on its way. agreement.py compares logits and gradients with those of the plain networks.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).resolve().parents[2]))
from convolutions import convolve, kernel_gradient
from kernels import end_back, normalise_back, placed, settle, take_step, unpool
from networks import CLASSES, Dropout
from torch import Tensor, nn
from torch.nn import functional as F
from training import Training

LEAST = 16  # channels that a kernel takes in
WHOLE = 16  # numbers that all parameters are filled up to: only then does Triton load several of them at once
PART = 256  # numbers that a dense layer adds up at once: long sums of few rows leave most of a GPU idle


def inwards(value: Tensor, pixels: int = 1) -> Tensor:
    """A tensor of a network as it is kept here: channels last, of kernels at least 16 of them coming in.

    A dense layer is a convolution of one pixel; what comes into the first one are `pixels` of an activation.
    """
    if value.ndim == 2:
        value = value.unflatten(1, (-1, pixels)).transpose(1, 2).flatten(1)[:, :, None, None]
    if value.ndim == 4:
        value = value.permute(2, 3, 1, 0)
        return F.pad(value, (0, 0, 0, max(0, LEAST - value.shape[2])))
    return value


def outwards(value: Tensor, like: Tensor, pixels: int = 1) -> Tensor:
    """And back."""
    if value.ndim == 4:
        value = value.permute(3, 2, 0, 1)
        if like.ndim == 2:
            return value[:, :, 0, 0].unflatten(1, (pixels, -1)).transpose(1, 2).flatten(1)
        return value[:, : like.shape[1]]
    return value


def product(given: Tensor, weight: Tensor) -> Tensor:
    """(G, B, C) by (G, C, n), the sum over C in parts, where these come out even."""
    parts = given.shape[2] // PART if given.shape[2] % PART == 0 else 1
    given = given.unflatten(2, (parts, -1)).transpose(1, 2)
    found = torch.bmm(given.flatten(0, 1), weight.unflatten(1, (parts, -1)).flatten(0, 1))
    return found.unflatten(0, (-1, parts)).sum(dim=1)


class Fused(Training):
    """Networks that share nothing, as one; activations in bfloat16, or float32 if not `half`."""

    last: str  # name of the last dense layer
    pixels: dict[str, int]  # that the first dense layer is given, by the name of its weight

    def build(self) -> None:
        G = self.groups
        self.network = self.setting.build(torch.Generator()).to(self.device, memory_format=torch.channels_last)
        self.read()
        state = {k: inwards(v, self.pixels.get(k, 1)) for k, v in self.network.state_dict().items()}
        names = sorted((k for k, _ in self.network.named_parameters()), key=lambda k: state[k].ndim < 4)
        sizes = {k: G * state[k].numel() for k in names}
        self.split = sum(n for k, n in sizes.items() if state[k].ndim == 4)
        total = -(-sum(sizes.values()) // WHOLE) * WHOLE
        channels = {k.removesuffix("weight"): v.shape[3] for k, v in state.items() if v.ndim == 4}

        def zeros(n: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(n, device=self.device, dtype=dtype)

        self.type = torch.bfloat16 if self.half else torch.float32
        self.flat, self.first, self.copy = zeros(total), zeros(total), zeros(total, self.type)
        self.second = zeros(total) if self.setting.optimiser == "adam" else None
        self.scratch = zeros(total + 4 * G * sum(channels.values()))
        self.gradient, self.count = self.scratch[:total], zeros(1)
        self.draws = zeros(1, torch.int64)  # what dropout is drawn by, another one at every step
        self.p, self.q, self.d = {}, {}, {}  # parameters, what the passes take of them, gradients
        at = 0
        for k, n in sizes.items():
            for views, flat in ((self.p, self.flat), (self.q, self.copy), (self.d, self.gradient)):
                views[k] = flat[at : at + n].view(G, *state[k].shape)
            at += n
        at = total
        # Of what a convolution gives: sums, also of the squares; of the gradient by it: sums, also of the products.
        self.sums: dict[str, dict[str, Tensor]] = {}
        for k, c in channels.items():
            parts = self.scratch[at : at + 4 * G * c].view(4, G, c)
            self.sums[k] = dict(zip(("sums", "squares", "gradients", "products"), parts, strict=True))
            at += 4 * G * c
        self.running = {k: zeros(G * len(v)).view(G, -1) for k, v in state.items() if "running" in k}
        self.x = self.room(32, LEAST)
        self.lay_out()

    def read(self) -> None:
        """What there is to know of the network."""
        raise NotImplementedError

    def lay_out(self) -> None:
        """Room for activations and gradients."""
        raise NotImplementedError

    def forwards(self) -> Tensor:
        """What the last dense layer is given, float32 (G, B, C)."""
        raise NotImplementedError

    def backwards(self, given: Tensor) -> None:
        """All other gradients, from that by what the last dense layer was given."""
        raise NotImplementedError

    def room(self, side: int, channels: int) -> Tensor:
        shape = self.groups, self.setting.batch, side, side, channels
        return torch.zeros(shape, device=self.device, dtype=self.type)

    def norm(self, name: str, norm: str) -> tuple[Tensor, ...]:
        """Of a convolution and the batch normalisation behind it: sums, squares, gamma, beta."""
        of = self.sums[name]
        return of["sums"], of["squares"], self.p[f"{norm}weight"], self.p[f"{norm}bias"]

    def norm_in_training(self, name: str, norm: str) -> tuple[Tensor, ...]:
        return *self.norm(name, norm), self.running[f"{norm}running_mean"], self.running[f"{norm}running_var"]

    def back_sums(self, name: str, y: Tensor | None) -> dict[str, Tensor]:
        """Where the sums of a gradient go: by themselves they are that by the bias."""
        if y is None:
            return {"sums": self.d[f"{name}bias"]}
        return {"sums": self.sums[name]["gradients"], "products": self.sums[name]["products"], "values": y}

    @torch.no_grad()
    def step(self) -> None:
        s = self.setting
        moves = self.moves(self.groups * s.batch) if s.augmented else None
        placed(self.images, self.order, self.at, self.x, s.scale, moves)
        wanted = self.targets.gather(1, self.order[:, self.at + self.within])
        self.at += s.batch
        self.learn(wanted)
        take_step(
            self.flat, self.gradient, self.first, self.second, self.copy, self.rate, self.count, split=self.split,
            decay=2 * s.l2, momentum=s.momentum,
        )  # fmt: skip
        self.count += 1
        self.draws += 1

    def learn(self, wanted: Tensor) -> Tensor:
        """Gradients of the batch that lies in x, and its logits."""
        self.scratch.zero_()
        given = self.forwards()
        weight, bias = self.p[f"{self.last}weight"][:, 0, 0], self.p[f"{self.last}bias"]
        logits = bias[:, None] + product(given, weight)
        self.right += (logits.argmax(dim=2) == wanted).sum(dim=1)
        slope = (logits.softmax(dim=2) - F.one_hot(wanted, CLASSES)) / self.setting.batch
        torch.bmm(given.transpose(1, 2), slope, out=self.d[f"{self.last}weight"][:, 0, 0])
        torch.sum(slope, dim=1, out=self.d[f"{self.last}bias"])
        self.backwards(torch.bmm(slope, weight.transpose(1, 2)))
        return logits

    def renew(self, seeds: list[int]) -> None:
        places = self.p | self.running
        for g, seed in enumerate(seeds):
            for name, value in self.setting.build(torch.Generator().manual_seed(seed)).state_dict().items():
                places[name][g].copy_(inwards(value, self.pixels.get(name, 1)))
        self.copy.copy_(self.flat)
        self.draws.fill_(seeds[0] << 20)  # more steps than there are
        for t in (self.first, self.second, self.count):
            if t is not None:
                t.zero_()

    @torch.no_grad()
    def network_of(self, g: int) -> nn.Module:
        places = self.p | self.running
        for name, value in self.network.state_dict().items():
            value.copy_(outwards(places[name][g], value, self.pixels.get(name, 1)))
        return self.network


@dataclass
class Block:
    """A residual block: what comes in, its two convolutions and what lies between, the shortcut, what goes out."""

    name: str
    stride: int
    x: Tensor
    y1: Tensor
    a1: Tensor
    y2: Tensor
    short: Tensor | None
    out: Tensor

    @property
    def place(self) -> tuple[int, int]:
        return self.out.shape[2], self.out.shape[4]


class ResNets(Fused):
    """Convolutions whose values are normalised, if at all, then cut. Biases before a normalisation stay 0."""

    last, pixels = "dense.", {}

    def read(self) -> None:
        self.modules = list(self.network.blocks)

    def lay_out(self) -> None:
        self.y0, out = self.room(32, 16), self.room(32, 16)
        self.x1, side = out, 32
        self.blocks: list[Block] = []
        for i, module in enumerate(self.modules):
            c, stride = module.first.out_channels, module.first.stride[0]
            side //= stride
            short = None if isinstance(module.shortcut, nn.Identity) else self.room(side, c)
            y1, a1, y2, after = (self.room(side, c) for _ in range(4))
            self.blocks.append(Block(f"blocks.{i}.", stride, out, y1, a1, y2, short, after))
            out = after
        kinds = "dz", "other", "dy", "dz1", "short"
        self.rooms = {(p, k): self.room(*p) for p in {b.place for b in self.blocks} | {(32, 16)} for k in kinds}

    def behind(self, name: str) -> str:
        """The batch normalisation behind a convolution."""
        return "norm." if name == "stem." else name.replace("first", "norm1").replace("second", "norm2")

    def forth(self, x: Tensor, name: str, y: Tensor, out: Tensor, stride: int = 1, add: Tensor | None = None) -> None:
        kernel, of = self.q[f"{name}weight"], self.sums[name]
        if self.setting.regularised:
            convolve(x, kernel, y, stride=stride, sums=of["sums"], squares=of["squares"])
            settle(y, out, norm=self.norm_in_training(name, self.behind(name)), add=add, relu=True)
        else:
            convolve(x, kernel, out, stride=stride, bias=self.p[f"{name}bias"], add=add, relu=True)

    def forwards(self) -> Tensor:
        self.forth(self.x, "stem.", self.y0, self.x1)
        for b in self.blocks:
            add = b.x
            if b.short is not None:
                add, short = b.short, f"{b.name}shortcut."
                convolve(b.x, self.q[f"{short}weight"], add, stride=b.stride, bias=self.p[f"{short}bias"])
            self.forth(b.x, f"{b.name}first.", b.y1, b.a1, b.stride)
            self.forth(b.a1, f"{b.name}second.", b.y2, b.out, add=add)
        return self.blocks[-1].out.mean(dim=(2, 3), dtype=torch.float32)

    def through_norm(self, dz: Tensor, name: str, y: Tensor, dy: Tensor) -> Tensor:
        """The gradient by what a convolution gives, from that behind its batch normalisation."""
        if not self.setting.regularised:
            return dz
        n, of = self.behind(name), self.sums[name]
        own = self.d[f"{n}weight"], self.d[f"{n}bias"]
        normalise_back(dz, y, dy, self.norm(name, n), of["gradients"], of["products"], *own)
        return dy

    def backwards(self, given: Tensor) -> None:
        regular, b = self.setting.regularised, self.blocks[-1]
        dz = self.rooms[b.place, "dz"]
        end_back(given, b.out, dz, cut=True, **self.back_sums(f"{b.name}second.", b.y2 if regular else None))
        for i in reversed(range(len(self.blocks))):
            b = self.blocks[i]
            first, second, short = (f"{b.name}{k}." for k in ("first", "second", "shortcut"))
            dy = self.through_norm(dz, second, b.y2, self.rooms[b.place, "dy"])
            kernel_gradient(b.a1, dy, self.d[f"{second}weight"])
            dz1 = self.rooms[b.place, "dz1"]
            cut = {"norm": self.norm(first, self.behind(first))} if regular else {"mask": b.a1}
            asked = cut | self.back_sums(first, b.y1 if regular else None)
            convolve(dy, self.q[f"{second}weight"], dz1, back=True, **asked)
            dy = self.through_norm(dz1, first, b.y1, self.rooms[b.place, "dy"])
            kernel_gradient(b.x, dy, self.d[f"{first}weight"], stride=b.stride)
            name, y, place = "stem.", self.y0, (32, 16)
            if i:
                before = self.blocks[i - 1]
                name, y, place = f"{before.name}second.", before.y2, before.place
            add = dz
            if b.short is not None:
                kernel_gradient(b.x, dz, self.d[f"{short}weight"], stride=b.stride)
                sums = self.sums[second]["gradients"] if regular else self.d[f"{second}bias"]
                self.d[f"{short}bias"].copy_(sums)
                add = self.rooms[place, "short"]
                convolve(dz, self.q[f"{short}weight"], add, stride=b.stride, back=True)
            dz = self.rooms[place, "other" if dz is self.rooms[place, "dz"] else "dz"]
            asked = self.back_sums(name, y if regular else None)
            convolve(dy, self.q[f"{first}weight"], dz, stride=b.stride, back=True, add=add, mask=b.x, **asked)
        dy = self.through_norm(dz, "stem.", self.y0, self.rooms[(32, 16), "dy"])
        kernel_gradient(self.x, dy, self.d["stem.weight"])


@dataclass
class Layer:
    """A convolution or dense layer with what follows it: a cut, and perhaps batch normalisation, dropout, pooling."""

    name: str
    side: int  # of what it is given, and gives
    channels: int
    norm: str = ""
    drop: float = 0.0
    pool: bool = False


class VGGs(Fused):
    """Convolutions whose values are cut, then normalised, if at all."""

    def read(self) -> None:
        self.layers: list[Layer] = []
        self.pixels, side = {}, 32
        for i, module in enumerate(self.network.layers):
            name = f"layers.{i}."
            if isinstance(module, nn.Conv2d):
                self.layers.append(Layer(name, side, module.out_channels))
            elif isinstance(module, nn.Linear):
                if side > 1:
                    self.pixels[f"{name}weight"] = side * side
                side = 1
                self.layers.append(Layer(name, 1, module.out_features))
            elif isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
                self.layers[-1].norm = name
            elif isinstance(module, Dropout):
                self.layers[-1].drop = module.p
            elif isinstance(module, nn.MaxPool2d):
                self.layers[-1].pool = True
                side //= 2
        self.last = self.layers.pop().name

    def lay_out(self) -> None:
        regular = self.setting.regularised
        self.y = [self.room(k.side, k.channels) for k in self.layers]
        self.a = [
            self.room(k.side // 2 if k.pool else k.side, k.channels) if k.pool or regular else y
            for k, y in zip(self.layers, self.y, strict=True)
        ]
        most = max(y.numel() for y in self.y)
        self.rooms = [torch.zeros(most, device=self.device, dtype=self.type) for _ in range(3)]

    def shaped(self, number: int, like: Tensor) -> Tensor:
        return self.rooms[number][: like.numel()].view(like.shape)

    def given(self, i: int) -> Tensor:
        """What a layer is given, in its own shape."""
        if i == 0:
            return self.x
        return self.a[i - 1] if self.layers[i].side > 1 else self.a[i - 1].flatten(2)[:, :, None, None]

    def dropped(self, i: int) -> tuple[Tensor, int, float] | None:
        return (self.draws, i, self.layers[i].drop) if self.layers[i].drop else None

    def forwards(self) -> Tensor:
        for i, k in enumerate(self.layers):
            of = self.sums[k.name]
            asked = {"sums": of["sums"], "squares": of["squares"]} if k.norm else {}
            convolve(
                self.given(i), self.q[f"{k.name}weight"], self.y[i], bias=self.p[f"{k.name}bias"], relu=True, **asked
            )
            if k.norm or k.pool:
                norm = self.norm_in_training(k.name, k.norm) if k.norm else None
                settle(self.y[i], self.a[i], norm=norm, pool=k.pool, dropped=self.dropped(i))
        return self.a[-1].flatten(2).float()

    def backwards(self, given: Tensor) -> None:
        k, y = self.layers[-1], self.y[-1]
        dz = self.shaped(0, y)
        end_back(given, self.a[-1], dz, cut=not k.norm, **self.back_sums(k.name, y if k.norm else None))
        for i in reversed(range(len(self.layers))):
            k, y, dy = self.layers[i], self.y[i], dz
            if k.norm:
                of, dy = self.sums[k.name], self.shaped(1, y)
                own = (self.d[f"{n}{part}"] for n, part in ((k.norm, "weight"), (k.norm, "bias"), (k.name, "bias")))
                normalise_back(dz, y, dy, self.norm(k.name, k.norm), of["gradients"], of["products"], *own)
            kernel_gradient(self.given(i), dy, self.d[f"{k.name}weight"])
            if i:
                dz = self.back_from(i, dy)

    def back_from(self, i: int, dy: Tensor) -> Tensor:
        """The gradient by what a layer gives before dropout and pooling, from that by what the next one gives."""
        kernel, x = self.q[f"{self.layers[i].name}weight"], self.given(i)
        k, y = self.layers[i - 1], self.y[i - 1]
        asked = self.back_sums(k.name, y if k.norm else None)
        if not k.pool and self.layers[i].side == k.side:
            dz = self.shaped(0 if k.norm or dy.data_ptr() != self.rooms[0].data_ptr() else 1, y)
            cut = {"dropped": self.dropped(i - 1)} if k.norm else {"mask": x}
            convolve(dy, kernel, dz, back=True, **cut, **asked)
            return dz
        given, dz = self.shaped(2, x), self.shaped(0, y)
        convolve(dy, kernel, given, back=True)
        if k.pool:
            asked.pop("values", None)
            unpool(given, y, dz, norm=self.norm(k.name, k.norm) if k.norm else None, **asked)
        else:  # all pixels go to a dense layer
            given = given.view(len(y), -1, k.channels)
            end_back(given, self.a[i - 1], dz, cut=not k.norm, dropped=self.dropped(i - 1), **asked)
        return dz


KINDS: dict[str, type[Fused]] = {"resnet": ResNets, "vgg": VGGs}
