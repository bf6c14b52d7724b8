"""A prior for ImageNet from ranks alone, in place of the logits that the paper has.

The paper's analyst has one model (ResNet-50v2) and its logits. Here are only the first five ranks of twelve models. The
prior is that of one model, resnet50: its five labels in order, and how sure to be of each from how many of four weaker
models (alexnet, squeezenet1_1, vgg16, resnet18) put that label first. The share of points whose true label is in place
1 … 5 is counted for each such pattern on one half of the points and used on the other, and the other way round, as an
analyst would count it on data of the same source whose labels are known. What is left goes to the other labels alike.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

BASE = "resnet50"
WEAKER = ("alexnet", "squeezenet1_1", "vgg16", "resnet18")
CLASSES = 1000


def load(data: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    with np.load(data / "imagenet_val_top5.npz") as archive:
        return archive["top5"].astype(np.int64), archive["labels"].astype(np.int64), archive["models"].tolist()


def patterns(top5: np.ndarray, models: list[str], voters: tuple[str, ...] = WEAKER) -> tuple[np.ndarray, np.ndarray]:
    """(n, 5) labels of the base model; (n,) number of the pattern: votes of other models for places 1, 2 and 3."""
    base = top5[:, :, models.index(BASE)]
    votes = sum((base == top5[:, :1, models.index(name)]).astype(np.int64) for name in voters)
    return base, np.unique(votes[:, :3], axis=0, return_inverse=True)[1].reshape(-1)


def cross_fitted(base: np.ndarray, pattern: np.ndarray, labels: np.ndarray, *, seed: int = 0) -> np.ndarray:
    """(n, 1000) float32 probabilities, each half's from the other half's counts."""
    n = len(labels)
    half = np.random.default_rng(seed).permutation(n) % 2
    at = base == labels[:, None]
    prior = np.empty((n, CLASSES), dtype=np.float32)
    for fold in (0, 1):
        count, total = np.zeros((pattern.max() + 1, 5)), np.zeros(pattern.max() + 1)
        for place in range(5):
            np.add.at(count[:, place], pattern[half != fold], at[half != fold, place])
        np.add.at(total, pattern[half != fold], 1)
        overall = at[half != fold].mean(axis=0)
        share = (count + 2 * overall) / (total + 2)[:, None]  # rare patterns lean on all points together
        rows = np.flatnonzero(half == fold)
        p = share[pattern[rows]]
        prior[rows] = ((1 - p.sum(axis=1)) / (CLASSES - 5))[:, None]
        prior[rows[:, None], base[rows]] = p
    return prior
