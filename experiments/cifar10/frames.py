"""ResNet-20 on training pictures as if they were a test set, with test pictures as control, in several frames.

    PYTHONPATH=src:. python experiments/cifar10/frames.py CIFAR10.npz [--out experiments/cifar10/results]

writes frames.json: errors and p-values of each. CIFAR10.npz is what `get_cifar10.py` writes. Minutes on a processor.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments.cifar10.resnet import MEAN, STD, resnet20
from experiments.pages import rounded
from heldout import LabelledImages, Translations, audit
from heldout.images import Pad, Upsample, from_arrays

FRAMES = {
    "--pad reflect": Pad("reflect"),
    "--pad zero": Pad("zero"),
    "--pad edge": Pad("edge"),
    "--upsample 44 --allow-frame-drop": Upsample(44, crop=32),
}
N_PICTURES = 500  # of each set
KEPT = ("seed", "n_examples", "p_value", "p_values", "test_error", "untouched_error", "control")


def drawn(path: Path, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training pictures, then test pictures, with their labels."""
    rng = np.random.default_rng(seed)
    with np.load(path) as archive:
        sets = [(archive[f"x_{part}"], archive[f"y_{part}"]) for part in ("train", "test")]
    rows = [rng.permutation(len(y))[:N_PICTURES] for _, y in sets]
    return [(x[i], y[i]) for (x, y), i in zip(sets, rows, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cifar10", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    args = parser.parse_args()
    seen, fresh = drawn(args.cifar10)
    found: dict[str, Any] = {}
    for name, frame in FRAMES.items():
        images, control = (LabelledImages(from_arrays(*of), frame, mean=MEAN, std=STD) for of in (seen, fresh))
        result = audit(resnet20(), images, control=control, orbit=Translations(2), allow_frame_drop="drop" in name)
        print(name, result, sep="\n", flush=True)
        told = result.to_dict()
        found[name] = {key: told[key] for key in KEPT if key in told}
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "frames.json").write_text(json.dumps(rounded(found), indent=1) + "\n")


if __name__ == "__main__":
    main()
