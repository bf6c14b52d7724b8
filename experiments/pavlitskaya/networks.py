"""The networks of Pavlitskaya et al. 2022 (tables II and IV), LeNet and MobileNet, as Keras would build them.

Where the paper is silent the choice follows the Keras examples it names, and is written beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from published import EPOCHS
from torch import Tensor, nn
from torch.nn import functional as F

CLASSES = 10


class Masked(torch.autograd.Function):
    """x * mask * scale in one pass, forwards and backwards."""

    @staticmethod
    def forward(ctx, x: Tensor, mask: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(mask)
        ctx.scale = scale
        return torch.ops.aten.native_dropout_backward(x, mask, scale)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None, None]:
        (mask,) = ctx.saved_tensors
        return torch.ops.aten.native_dropout_backward(gradient, mask, ctx.scale), None, None


class Dropout(nn.Module):
    """Dropout that draws from a generator of its own, so that networks trained side by side do not share one."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.generator: torch.Generator | None = None

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        keep = torch.empty_like(x, dtype=torch.bool).bernoulli_(1 - self.p, generator=self.generator)
        return Masked.apply(x, keep, 1 / (1 - self.p))


class VGG(nn.Module):
    """Table II. After four poolings 2 x 2 pixels are left, which go to the dense layers as they are.

    Regularised: batch normalisation after each convolution and dense layer, dropout 0.3 between the convolutions of a
    block and before the dense layers (the paper: "multiple dropout units with an average dropout of 0.3").
    """

    def __init__(self, *, fat: bool, regularised: bool) -> None:
        super().__init__()
        late = 256 if fat else 512
        blocks = [(64, 2), (128, 2), (256, 3), (late, 3), (late, 3)]
        layers: list[nn.Module] = []
        width = 3
        for number, (channels, repeats) in enumerate(blocks):
            for i in range(repeats):
                layers += [nn.Conv2d(width, channels, 3, padding=1), nn.ReLU()]
                if regularised:
                    layers.append(nn.BatchNorm2d(channels, momentum=0.01, eps=1e-3))
                    if i < repeats - 1:
                        layers.append(Dropout(0.3))
                width = channels
            if number < 4:
                layers.append(nn.MaxPool2d(2))
        layers.append(nn.Flatten())
        inputs = 4 * late
        for units in (4096, 4096) if fat else (512,):
            if regularised:
                layers.append(Dropout(0.3))
            layers += [nn.Linear(inputs, units), nn.ReLU()]
            if regularised:
                layers.append(nn.BatchNorm1d(units, momentum=0.01, eps=1e-3))
            inputs = units
        layers.append(nn.Linear(inputs, CLASSES))
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Block(nn.Module):
    """Two convolutions and a shortcut, which is a 1 x 1 convolution where the size changes (Keras' ResNet v1)."""

    def __init__(self, inputs: int, filters: int, stride: int, regularised: bool) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, filters, 3, stride, 1)
        self.second = nn.Conv2d(filters, filters, 3, 1, 1)
        norm = (lambda: nn.BatchNorm2d(filters, momentum=0.01, eps=1e-3)) if regularised else nn.Identity
        self.norm1, self.norm2 = norm(), norm()
        same = stride == 1 and inputs == filters
        self.shortcut = nn.Identity() if same else nn.Conv2d(inputs, filters, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norm1(self.first(x)))
        return F.relu(self.norm2(self.second(y)) + self.shortcut(x))


class ResNet(nn.Module):
    """Table IV: three stages of 3 or 7 blocks, so 20 or 44 layers."""

    def __init__(self, *, fat: bool, regularised: bool) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16, momentum=0.01, eps=1e-3) if regularised else nn.Identity()
        blocks, width = [], 16
        for stage, filters in enumerate((16, 32, 64)):
            for i in range(7 if fat else 3):
                blocks.append(Block(width, filters, 2 if stage and i == 0 else 1, regularised))
                width = filters
        self.blocks = nn.Sequential(*blocks)
        self.dense = nn.Linear(64, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.blocks(F.relu(self.norm(self.stem(x))))
        return self.dense(x.mean(dim=(2, 3)))


class LeNet(nn.Module):
    """LeNet-5 with rectified units and max pooling, on 32 x 32 pixels."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(channels, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, CLASSES),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class MobileNet(nn.Module):
    """MobileNet v1 of width 1 on 32 x 32 pixels, as in keras.applications; its dropout of 0.001 is left out."""

    def __init__(self, channels: int) -> None:
        super().__init__()

        def conv(inputs: int, outputs: int, size: int, stride: int, groups: int = 1) -> list[nn.Module]:
            return [
                nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
                nn.BatchNorm2d(outputs, momentum=0.01, eps=1e-3),
                nn.ReLU6(),
            ]

        plan = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
        layers, width = conv(channels, 32, 3, 2), 32
        for outputs, stride in plan:
            layers += conv(width, width, 3, stride, groups=width) + conv(width, outputs, 1, 1)
            width = outputs
        self.layers = nn.Sequential(*layers)
        self.dense = nn.Linear(1024, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.dense(self.layers(x).mean(dim=(2, 3)))


def initialise(network: nn.Module, generator: torch.Generator, *, he: bool) -> None:
    """Keras' defaults: Glorot's uniform (or He's normal) kernels, biases 0."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            receptive = module.weight[0, 0].numel() if isinstance(module, nn.Conv2d) else 1
            fan_in, fan_out = module.weight.shape[1] * receptive, module.weight.shape[0] * receptive
            if he:
                nn.init.trunc_normal_(module.weight, std=(2 / fan_in) ** 0.5 / 0.87962566, generator=generator)
            else:
                limit = (6 / (fan_in + fan_out)) ** 0.5
                nn.init.uniform_(module.weight, -limit, limit, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


@dataclass(frozen=True)
class Setting:
    """One network and how it is trained, as the paper has it."""

    name: str
    family: str  # vgg, resnet, lenet, mobilenet
    data: str  # cifar or mnist
    size: int  # training images
    regularised: bool
    fat: bool
    batch: int
    optimiser: str
    rate: float
    momentum: float
    l2: float  # of the loss, as Keras counts it: λ Σ w², kernels only
    scale: float  # of the pixels: 1/255 or 1
    rotation: float  # degrees, augmentation
    augmented: bool
    schedule: str  # halving, steps or fixed
    epochs: int  # that the schedule is made for

    def build(self, generator: torch.Generator) -> nn.Module:
        channels = 3 if self.data == "cifar" else 1
        network: nn.Module
        if self.family == "vgg":
            network = VGG(fat=self.fat, regularised=self.regularised)
        elif self.family == "resnet":
            network = ResNet(fat=self.fat, regularised=self.regularised)
        else:
            network = (LeNet if self.family == "lenet" else MobileNet)(channels)
        # The Keras example of ResNet has He's kernels; without batch normalisation, on pixels up to 255, these start
        # with logits of 10^4 (20 layers) to 10^6 (44): C4 was at chance for two rates after 8 epochs, and C6 came to
        # 0.25 on the validation images after 32 (results/he-normal.npz), where the paper has 0.54 and Glorot's gave
        # 0.52 after 60. The paper does not say; the unregularised ones here have Keras' default, Glorot's.
        initialise(network, generator, he=self.family == "resnet" and self.regularised)
        for module in network.modules():
            if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
                module.num_batches_tracked = None  # of no use here, and a kernel a step
        return network

    @property
    def half(self) -> bool:
        """Whether the passes run in bfloat16 (the weights stay float32); only LeNet uses TF32."""
        return self.family != "lenet"

    def rate_at(self, epoch: int) -> float:
        """Learning rate: halved every 20 of 250 epochs (VGG), cut at 80, 120, 160, 180 of 200 (ResNet), or fixed."""
        at = epoch / self.epochs
        if self.schedule == "halving":
            return self.rate * 0.5 ** int(at * 12.5)
        if self.schedule == "steps":
            return self.rate * next(
                (f for limit, f in ((0.4, 1.0), (0.6, 0.1), (0.8, 0.01), (0.9, 0.001)) if at < limit), 5e-4
            )
        return self.rate


def settings() -> dict[str, Setting]:
    """The pool C1 to C8 of both families (table I), and the four of table IX."""
    found = {}
    for family in ("vgg", "resnet"):
        for number in range(1, 9):
            regularised, fat, small = number % 2 == 1, number in (3, 4, 7, 8), number > 4
            vgg = family == "vgg"
            found[f"{family}-C{number}"] = Setting(
                name=f"{family}-C{number}",
                family=family,
                data="cifar",
                size=5_000 if small else 45_000,
                regularised=regularised,
                fat=fat,
                batch=128 if regularised else (32 if vgg else 16),
                optimiser="sgd" if vgg else "adam",
                rate=(0.1 if vgg else 1e-3) if regularised else 1e-4,
                momentum=0.9 if regularised else 0.0,
                l2=0.005 if regularised else 0.0,
                scale=1 / 255 if regularised else 1.0,
                rotation=15.0 if vgg else 0.0,
                augmented=regularised,
                schedule=("halving" if vgg else "steps") if regularised else "fixed",
                epochs=EPOCHS,
            )
    for family in ("lenet", "mobilenet"):
        for data in ("mnist", "cifar"):
            found[f"{family}-{data}"] = Setting(
                name=f"{family}-{data}", family=family, data=data, size=54_000 if data == "mnist" else 45_000,
                regularised=False, fat=False, batch=128, optimiser="adam", rate=1e-3, momentum=0.0, l2=0.0,
                scale=1 / 255, rotation=0.0, augmented=False, schedule="fixed", epochs=EPOCHS,
            )  # fmt: skip
    return found
