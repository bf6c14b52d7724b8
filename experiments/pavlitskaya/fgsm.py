"""FGSM curves of the networks whose weights are kept, by heldout itself.

python experiments/pavlitskaya/fgsm.py DATA

The curves of `pool-2.npz` took the sign of the cross entropy's gradient in float32. Where a network is sure, that
gradient is rounded to 0, or to the wrong sign, and the attack does less than it could. heldout takes that of the
margin, which points the same way and is not rounded; so `results/fgsm.npz` replaces those curves for ResNet and
LeNet, by file and seed: later pools are attacked by the margin from the start (`evaluate.py`). VGG's and MobileNet's
weights are not kept: theirs stay as they are.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from data import read_cifar, read_mnist
from evaluate import IMAGES, STRENGTHS
from weights import kept

from heldout import LabelledImages, perturbation_curve
from heldout.images import Whole, from_arrays
from heldout.scorers import TorchScorer

HERE = Path(__file__).parent
POOL = "pool-2"  # whose networks the weights are


def main(folder: Path) -> None:
    data = {"cifar": read_cifar(folder), "mnist": read_mnist(folder)}
    found = {}
    for family in ("resnet", "lenet"):
        for name, seed, setting, network in kept(HERE / "results" / f"weights-{family}.npz"):
            own = data[setting.data]
            x = np.ascontiguousarray(own["train"][:IMAGES].transpose(0, 2, 3, 1))
            images = LabelledImages(from_arrays(x, own["train_y"][:IMAGES]), Whole(), scale=setting.scale)
            curve = perturbation_curve(TorchScorer(network), images, "fgsm", STRENGTHS, name=name)
            found[f"{POOL}/{name}/seed{seed}/curves/fgsm"] = np.packbits(curve.correct[:, 0], axis=1)
            print(name, " ".join(f"{a:.3f}" for a in curve.accuracy), flush=True)
    np.savez_compressed(HERE / "results" / "fgsm.npz", **found)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
