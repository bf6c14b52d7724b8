"""Curves under corruptions of networks that were trained where no corrupted pictures were at hand, from kept weights.

python experiments/pavlitskaya/corruptions.py DATA PICTURES.npy experiments/pavlitskaya/results/weights-pool-3.npz

PICTURES is what corrupted.py makes. Writes results/corruptions.npz, by file and seed as fgsm.npz is; it holds what it
held before of other files. Minutes on a processor. Networks on MNIST are left out. Untouched pictures must be answered
as they were when the network had just been trained, but for a few: else the weights are not those of the pool.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from data import read_cifar
from evaluate import accuracies, packed, right, under_corruptions
from trained import read
from weights import kept

HERE = Path(__file__).parent
OUT = HERE / "results" / "corruptions.npz"
FEW = 0.01  # of the answers may change where weights are rounded to float16


def main(folder: Path, pictures: Path, weights: Path, out: Path = OUT) -> None:
    pool = weights.stem.removeprefix("weights-")
    trainings = read(weights.with_name(f"{pool}.npz"))
    curves = {(t.name, t.seed): t.get("curves/spatial") for t in trainings}  # some were trained for their labels alone
    before = {training: bits[0] for training, bits in curves.items() if bits is not None}
    own, corrupted = read_cifar(folder), torch.from_numpy(np.load(pictures))
    n = corrupted.shape[2]
    x = torch.from_numpy(np.ascontiguousarray(own["train"][:n]))
    y = torch.from_numpy(own["train_y"][:n].astype(np.int64))
    found = {}
    if out.exists():
        with np.load(out) as f:
            found = {key: f[key] for key in f.files}
    for name, seed, setting, network in kept(weights):
        if setting.data != "cifar":
            continue
        differ = np.unpackbits(packed([right(network, setting.scale, x, y)])[0] ^ before[name, seed], count=n).mean()
        if differ > FEW:
            raise SystemExit(
                f"{name} seed {seed} answers {differ:.0%} of the untouched pictures otherwise than in {pool}."
            )
        bits = under_corruptions(network, setting.scale, corrupted, y)
        found[f"{pool}/{name}/seed{seed}/curves/corruptions"] = bits
        shares = " ".join(f"{a:.3f}" for a in accuracies(bits, n).mean(axis=0))
        print(f"{name} seed {seed}: {differ:.2%} of the untouched answers differ; severities {shares}", flush=True)
    np.savez_compressed(out, **found)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
