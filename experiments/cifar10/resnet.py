"""The CIFAR-10 ResNets of He et al. (2016) with shortcut type A, as trained by akamaster/pytorch_resnet_cifar10.

`heldout audit --model experiments.cifar10.resnet:resnet20` loads the weights named by HELDOUT_RESNET_WEIGHTS
(default: ../shared/data/cifar10_resnet_weights.npz, from the project's root).
"""

from __future__ import annotations

import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

WEIGHTS = "../shared/data/cifar10_resnet_weights.npz"
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Block(nn.Module):
    """Two convolutions and a shortcut that subsamples and pads channels with zeros (type A)."""

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(n_out)
        self.stride, self.extra = stride, n_out // 4

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.stride != 1:
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.extra, self.extra))
        return F.relu(out + x)


class ResNet(nn.Module):
    """6n + 2 layers: n = 3 is ResNet-20, n = 5 is ResNet-32."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(*[Block(16, 16, 1) for _ in range(n)])
        self.layer2 = nn.Sequential(*[Block(16 if i == 0 else 32, 32, 2 if i == 0 else 1) for i in range(n)])
        self.layer3 = nn.Sequential(*[Block(32 if i == 0 else 64, 64, 2 if i == 0 else 1) for i in range(n)])
        self.linear = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.linear(x.mean(dim=(2, 3)))


def load(name: str, n: int) -> ResNet:
    model = ResNet(n)
    with np.load(os.environ.get("HELDOUT_RESNET_WEIGHTS", WEIGHTS)) as archive:
        state = {k.removeprefix(f"{name}/"): torch.from_numpy(archive[k]) for k in archive.files if k.startswith(name)}
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected, unexpected
    assert all(k.endswith("num_batches_tracked") for k in missing), missing
    return model.eval()


def resnet20() -> ResNet:
    """8.27 % test error."""
    return load("resnet20", 3)


def resnet32() -> ResNet:
    """7.37 % test error."""
    return load("resnet32", 5)
