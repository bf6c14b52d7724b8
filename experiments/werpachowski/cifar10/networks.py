"""The networks, as functions of a list of tensors, so that a step can be one graph and a network is plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

CLASSES = 10
CHANNELS = 8  # three colours and five times 0: tensor cores take eight at a time
EPS = 1e-5
WIDE_FIRST = 16  # channels of a WideResNet's first convolution


@dataclass(frozen=True)
class Layer:
    """A 3 x 3 convolution, batch normalisation, ReLU."""

    width: int
    stride: int = 1
    opens: bool = False  # what comes in here is added ...
    closes: bool = False  # ... to what leaves there


def vgg() -> tuple[Layer, ...]:
    """The VGG-like network: eleven convolutions, strides instead of pooling."""
    widths = (64, 64, 128, 128, 128, 256, 256, 256, 512, 512, 512)
    strides = (1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1)
    return tuple(Layer(w, s) for w, s in zip(widths, strides, strict=True))


def residual() -> tuple[Layer, ...]:
    """Another architecture, for references: eight convolutions, two residual blocks."""
    return (
        Layer(64), Layer(128, 2), Layer(128, opens=True), Layer(128, closes=True),
        Layer(256, 2), Layer(512, 2), Layer(512, opens=True), Layer(512, closes=True),
    )  # fmt: skip


def tiny() -> tuple[Layer, ...]:
    """For trying things out."""
    return Layer(8), Layer(16, 2), Layer(16, opens=True, closes=True), Layer(32, 2)


@dataclass(frozen=True)
class Wide:
    """WideResNet-<depth>-<factor> of Zagoruyko and Komodakis (2016): normalisation and ReLU before a convolution."""

    depth: int
    factor: int

    def blocks(self) -> list[tuple[int, int, int]]:
        """Width before, width after and stride of each block of two convolutions."""
        found, width = [], WIDE_FIRST
        for group in range(3):
            for i in range((self.depth - 4) // 6):
                wider = WIDE_FIRST * 2**group * self.factor
                found.append((width, wider, 2 if group and not i else 1))
                width = wider
        return found


Layers = tuple[Layer, ...] | Wide


def wide(depth: int, factor: int) -> Callable[[], Wide]:
    return lambda: Wide(depth, factor)


NETWORKS: dict[str, Callable[[], Layers]] = {
    "vgg": vgg, "residual": residual, "tiny": tiny, "tinywide": wide(10, 1),
    **{f"wide{d}x{f}": wide(d, f) for d, f in ((28, 10), (22, 10), (16, 8), (40, 2))},
}  # fmt: skip


@dataclass
class Weights:
    """Of each layer its kernel, scale and shift, then the last map's weight and bias; and the running statistics.

    Of a WideResNet: the first kernel; scale, shift and kernel of both convolutions of each block and, where its width
    changes, the kernel of what goes past it; scale and shift; the last map's weight and bias.
    """

    tensors: list[Tensor]
    statistics: list[Tensor]  # mean, variance of each normalisation

    @classmethod
    def initial(cls, layers: Layers, generator: torch.Generator) -> Weights:
        if isinstance(layers, Wide):
            return cls(*initial_wide(layers, generator))
        tensors, statistics, width = [], [], 3
        first = torch.zeros(layers[0].width, CHANNELS, 3, 3)

        def uniform(*shape: int, fan_in: int) -> Tensor:
            return (2 * torch.rand(shape, generator=generator) - 1) / fan_in**0.5

        for layer in layers:
            tensors += [uniform(layer.width, width, 3, 3, fan_in=9 * width)]
            tensors += [torch.ones(layer.width), torch.zeros(layer.width)]
            statistics += [torch.zeros(layer.width), torch.ones(layer.width)]
            width = layer.width
        first[:, :3] = tensors[0]
        tensors[0] = first  # as no gradient comes from channels of 0, the rest of it stays 0
        tensors += [uniform(CLASSES, width, fan_in=width), uniform(CLASSES, fan_in=width)]
        return cls(tensors, statistics)


def initial_wide(network: Wide, generator: torch.Generator) -> tuple[list[Tensor], list[Tensor]]:
    tensors, statistics = [], []

    def kernel(to: int, width: int, size: int) -> Tensor:  # He et al.
        return torch.randn((to, width, size, size), generator=generator) * (2 / (size**2 * width)) ** 0.5

    def normalisation(width: int) -> None:
        tensors.extend([torch.ones(width), torch.zeros(width)])
        statistics.extend([torch.zeros(width), torch.ones(width)])

    first = torch.zeros(WIDE_FIRST, CHANNELS, 3, 3)
    first[:, :3] = kernel(WIDE_FIRST, 3, 3)
    tensors.append(first)
    last = WIDE_FIRST
    for width, last, _ in network.blocks():
        normalisation(width)
        tensors.append(kernel(last, width, 3))
        normalisation(last)
        tensors.append(kernel(last, last, 3))
        if last != width:
            tensors.append(kernel(last, width, 1))
    normalisation(last)
    tensors += [torch.randn((CLASSES, last), generator=generator) / last**0.5, torch.zeros(CLASSES)]
    return tensors, statistics


def logits(layers: Layers, tensors: list[Tensor], statistics: list[Tensor], x: Tensor) -> Tensor:
    """While training: batch statistics, and the running ones are moved on."""
    if isinstance(layers, Wide):
        return wide_logits(layers, tensors, statistics, x)
    kept = x
    for i, layer in enumerate(layers):
        kernel, scale, shift = tensors[3 * i : 3 * i + 3]
        if layer.opens:
            kept = x
        x = F.conv2d(x, kernel, stride=layer.stride, padding=1)
        x = F.batch_norm(x, statistics[2 * i], statistics[2 * i + 1], scale, shift, True, 0.1, EPS)
        x = F.relu(x, inplace=True)
        if layer.closes:
            x = x + kept
    return F.linear(x.mean(dim=(2, 3), dtype=torch.float32), tensors[-2], tensors[-1])


def wide_logits(network: Wide, tensors: list[Tensor], statistics: list[Tensor], x: Tensor) -> Tensor:
    weights, moving = iter(tensors), iter(statistics)

    def rectified(v: Tensor) -> Tensor:
        mean, variance, scale, shift = next(moving), next(moving), next(weights), next(weights)
        return F.relu(F.batch_norm(v, mean, variance, scale, shift, True, 0.1, EPS), inplace=True)

    x = F.conv2d(x, next(weights), padding=1)
    for width, wider, stride in network.blocks():
        ahead = rectified(x)
        y = F.conv2d(ahead, next(weights), stride=stride, padding=1)
        y = F.conv2d(rectified(y), next(weights), padding=1)
        x = y + (x if wider == width else F.conv2d(ahead, next(weights), stride=stride))
    x = rectified(x)
    return F.linear(x.mean(dim=(2, 3), dtype=torch.float32), next(weights), next(weights))


class Finished:
    """A trained network: normalisation folded into the kernels; convolutions in `dtype`, the rest in float32."""

    @torch.no_grad()
    def __init__(self, layers: tuple[Layer, ...], weights: Weights, dtype: torch.dtype, fused: bool = False) -> None:
        self.layers, self.dtype, self.fused = layers, dtype, fused
        self.kernels: list[tuple[Tensor, Tensor]] = []
        for i in range(len(layers)):
            kernel, scale, shift = weights.tensors[3 * i : 3 * i + 3]
            factor, offset = affine(scale, shift, *weights.statistics[2 * i : 2 * i + 2])
            folded = (kernel * factor[:, None, None, None]).to(dtype).contiguous(memory_format=torch.channels_last)
            self.kernels.append((folded, offset.to(dtype)))
        self.last = weights.tensors[-2].clone(), weights.tensors[-1].clone()

    @torch.no_grad()
    def features(self, x: Tensor) -> Tensor:
        """What the last map sees."""
        kept = x
        for layer, (kernel, bias) in zip(self.layers, self.kernels, strict=True):
            if layer.opens:
                kept = x
            x = convolved(x, kernel, bias, layer.stride, self.fused)
            if layer.closes:
                x = x + kept
        return x.mean(dim=(2, 3), dtype=torch.float32)

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(self.features(x), *self.last)

    def arrays(self) -> dict[str, np.ndarray]:
        """All that an audit uses of it: kernels and biases with the stride of each, and the last map."""
        found = {"strides": torch.tensor([layer.stride for layer in self.layers])}
        for i, (kernel, bias) in enumerate(self.kernels):
            found |= {f"kernel{i}": kernel.contiguous(), f"bias{i}": bias}
        found |= {"weight": self.last[0], "bias": self.last[1]}
        return {name: t.detach().cpu().numpy() for name, t in found.items()}


class FinishedWide(Finished):
    """Likewise; what is normalised before a block's first convolution cannot be folded and is done in `dtype`."""

    @torch.no_grad()
    def __init__(self, layers: Wide, weights: Weights, dtype: torch.dtype, fused: bool = False) -> None:
        self.layers, self.dtype, self.fused = layers, dtype, fused
        tensors, statistics = iter(weights.tensors), iter(weights.statistics)

        def normalisation() -> tuple[Tensor, Tensor]:
            return affine(next(tensors), next(tensors), next(statistics), next(statistics))

        def laid(t: Tensor) -> Tensor:
            return t.to(dtype).contiguous(memory_format=torch.channels_last)

        def over_channels(pair: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
            return tuple(t.to(dtype)[:, None, None] for t in pair)

        self.first = laid(next(tensors))
        self.parts = []
        for width, wider, stride in layers.blocks():
            before = over_channels(normalisation())
            kernel = next(tensors)
            factor, offset = normalisation()
            one = laid(kernel * factor[:, None, None, None]), offset.to(dtype)
            two = laid(next(tensors))
            self.parts.append((stride, before, one, two, None if wider == width else laid(next(tensors))))
        self.after = over_channels(normalisation())
        self.last = next(tensors).clone(), next(tensors).clone()

    @torch.no_grad()
    def features(self, x: Tensor) -> Tensor:
        x = F.conv2d(x, self.first, padding=1)
        for stride, (factor, offset), one, two, past in self.parts:
            ahead = torch.addcmul(offset, x, factor).relu_()
            y = F.conv2d(convolved(ahead, *one, stride, self.fused), two, padding=1)
            x = y.add_(x if past is None else F.conv2d(ahead, past, stride=stride))
        factor, offset = self.after
        return torch.addcmul(offset, x, factor).relu_().mean(dim=(2, 3), dtype=torch.float32)


def finished(layers: Layers, weights: Weights, dtype: torch.dtype, fused: bool = False) -> Finished:
    return (FinishedWide if isinstance(layers, Wide) else Finished)(layers, weights, dtype, fused)


def affine(scale: Tensor, shift: Tensor, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Batch normalisation that has been trained, as factor and offset."""
    factor = scale / (variance + EPS).sqrt()
    return factor, shift - mean * factor


def convolved(x: Tensor, kernel: Tensor, bias: Tensor, stride: int, fused: bool) -> Tensor:
    """A 3 x 3 convolution and ReLU."""
    if fused:
        return torch.cudnn_convolution_relu(x, kernel, bias, (stride, stride), (1, 1), (1, 1), 1)
    return F.conv2d(x, kernel, bias, stride=stride, padding=1).relu_()
