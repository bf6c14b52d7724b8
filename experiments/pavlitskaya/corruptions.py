"""Curves under corruptions of networks that were trained where no corrupted pictures were at hand, from kept weights.

python experiments/pavlitskaya/corruptions.py DATA PICTURES.npy results/weights-pool-3.npz

PICTURES is what corrupted.py makes. Writes results/corruptions.npz, by file and seed as fgsm.npz is; it holds what it
held before of other files. Minutes on a processor. How many of the untouched pictures are answered as they were when
the network had just been trained is printed beside the accuracies.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from data import read_cifar
from evaluate import IMAGES, packed, right
from trained import read
from weights import kept

HERE = Path(__file__).parent
OUT = HERE / "results" / "corruptions.npz"


def main(folder: Path, pictures: Path, weights: Path) -> None:
    pool = weights.stem.removeprefix("weights-")
    before = {(t.name, t.seed): t["curves/spatial"][0] for t in read(weights.with_name(f"{pool}.npz"))}
    own, corrupted = read_cifar(folder), np.load(pictures, mmap_mode="r")
    x = torch.from_numpy(np.ascontiguousarray(own["train"][:IMAGES]))
    y = torch.from_numpy(own["train_y"][:IMAGES].astype(np.int64))
    found = {}
    if OUT.exists():
        with np.load(OUT) as f:
            found = {key: f[key] for key in f.files}
    for name, seed, setting, network in kept(weights):
        same = packed([right(network, setting.scale, x, y)])[0] ^ before[name, seed]
        rows = [right(network, setting.scale, torch.from_numpy(np.array(c)), y) for kind in corrupted for c in kind]
        bits = packed(rows).reshape(*corrupted.shape[:2], -1)
        found[f"{pool}/{name}/seed{seed}/curves/corruptions"] = bits
        shares = np.unpackbits(bits, axis=-1, count=IMAGES).mean(axis=(0, 2))
        told = f"{name} seed {seed}: {IMAGES - np.unpackbits(same).sum()} of {IMAGES} untouched ones as before;"
        print(told, "severities", " ".join(f"{a:.3f}" for a in shares), flush=True)
    np.savez_compressed(OUT, **found)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
