"""What the benchmarks share: a ResNet-20, and timing that alternates between the sides it compares."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def resnet20(seed: int = 0):
    """ResNet-20 with random weights and settled batch norms: speed does not depend on the weights."""
    import torch

    from experiments.cifar10.resnet import ResNet

    torch.manual_seed(seed)
    model = ResNet(3)
    with torch.no_grad():  # a forward pass in training mode fills the running statistics
        model.train()
        for _ in range(3):
            model(torch.randn(64, 3, 32, 32))
    return model.eval()


def alternate(sides: dict[str, Callable[[], int]], *, rounds: int) -> dict[str, np.ndarray]:
    """Work items a second of each side in rounds in which the sides take turns.

    The machine's mood changes from minute to minute; within a round it is nearly the same for all, so
    ratios are taken round by round, and their median is reported.
    """
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, run in sides.items():
            started = time.perf_counter()
            items = run()
            rates[name].append(items / (time.perf_counter() - started))
    return {name: np.array(r) for name, r in rates.items()}


def verdict(name: str, value: float, limit: str, holds: bool) -> None:
    """Print one line; a benchmark that misses its limit ends in exit code 1."""
    print(f"{name:58s} {value:10.3f}   {limit:12s} {'ok' if holds else 'MISSED'}")
    if not holds:
        atexit.register(os._exit, 1)
