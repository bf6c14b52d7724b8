"""The networks, as functions of a list of tensors, so that a step can be one graph and a network is plain data."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

CLASSES = 10
CHANNELS = 8  # three colours and five times 0: tensor cores take eight at a time
EPS = 1e-5


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


NETWORKS = {"vgg": vgg, "residual": residual, "tiny": tiny}


@dataclass
class Weights:
    """Of each layer its kernel, scale and shift, then the last map's weight and bias; and the running statistics."""

    tensors: list[Tensor]
    statistics: list[Tensor]  # mean, variance of each layer

    @classmethod
    def initial(cls, layers: tuple[Layer, ...], generator: torch.Generator) -> Weights:
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


def logits(layers: tuple[Layer, ...], tensors: list[Tensor], statistics: list[Tensor], x: Tensor) -> Tensor:
    """While training: batch statistics, and the running ones are moved on."""
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


class Finished:
    """A trained network: normalisation folded into the kernels; convolutions in `dtype`, the rest in float32."""

    @torch.no_grad()
    def __init__(self, layers: tuple[Layer, ...], weights: Weights, dtype: torch.dtype, fused: bool = False) -> None:
        self.layers, self.dtype, self.fused = layers, dtype, fused
        self.kernels: list[tuple[Tensor, Tensor]] = []
        for i in range(len(layers)):
            kernel, scale, shift = weights.tensors[3 * i : 3 * i + 3]
            mean, variance = weights.statistics[2 * i : 2 * i + 2]
            factor = scale / (variance + EPS).sqrt()
            folded = (kernel * factor[:, None, None, None]).to(dtype).contiguous(memory_format=torch.channels_last)
            self.kernels.append((folded, (shift - mean * factor).to(dtype)))
        self.last = weights.tensors[-2].clone(), weights.tensors[-1].clone()

    @torch.no_grad()
    def __call__(self, x: Tensor) -> Tensor:
        kept = x
        for layer, (kernel, bias) in zip(self.layers, self.kernels, strict=True):
            if layer.opens:
                kept = x
            if self.fused:
                s = layer.stride
                x = torch.cudnn_convolution_relu(x, kernel, bias, (s, s), (1, 1), (1, 1), 1)
            else:
                x = F.conv2d(x, kernel, bias, stride=layer.stride, padding=1).relu_()
            if layer.closes:
                x = x + kept
        return F.linear(x.mean(dim=(2, 3), dtype=torch.float32), *self.last)
