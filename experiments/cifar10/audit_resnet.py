"""Audit ResNet-20 on CIFAR-10 test pictures, from the command line and from Python, and compare.

    python experiments/cifar10/audit_resnet.py CIFAR10.npz [--limit 1000] [--out experiments/cifar10/results]

CIFAR10.npz holds x_test and y_test (`get_cifar10.py` writes it). Run from the project's root.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from experiments.cifar10.resnet import MEAN, STD, resnet20
from heldout import LabelledImages, Translations, audit
from heldout.images import Upsample, from_npz
from heldout.scorers import TorchScorer


def plain_accuracy(path: Path) -> float:
    """On the original 32 x 32 pictures, to see that weights and preprocessing are the published ones."""
    scorer = TorchScorer(resnet20(), batch_size=500)
    with np.load(path) as archive:
        x, y = archive["x_test"], archive["y_test"]
    right = 0
    for i in range(0, len(x), 500):
        batch = ((x[i : i + 500] / 255 - np.array(MEAN)) / np.array(STD)).astype(np.float32)
        right += int((scorer.logits(batch.transpose(0, 3, 1, 2)).argmax(axis=1) == y[i : i + 500]).sum())
    return right / len(x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cifar10", type=Path)
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    args = parser.parse_args()

    accuracy = plain_accuracy(args.cifar10)
    print(f"plain accuracy on the 10,000 original pictures: {accuracy:.4f} (published: 0.9173)")
    assert accuracy == 0.9173

    images = LabelledImages(
        from_npz(args.cifar10, images_key="x_test", labels_key="y_test"), Upsample(44, crop=32), mean=MEAN, std=STD
    )
    scorer = TorchScorer(resnet20())
    scorer.name = "resnet20"  # as the command line calls it
    # This network was not trained on enlarged pictures: the audit would stop, and say so.
    from_python = audit(
        scorer, images, orbit=Translations(2), limit=args.limit, allow_frame_drop=True, progress=True, notify=print
    )
    print(from_python)

    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "heldout", "audit", "--model", "experiments.cifar10.resnet:resnet20",
            "--images", str(args.cifar10), "--images-key", "x_test", "--labels-key", "y_test",
            "--upsample", "44", "--crop", "32", "--mean", *map(str, MEAN), "--std", *map(str, STD),
            "--radius", "2", "--limit", str(args.limit), "--allow-frame-drop", "--out", folder, "--json",
        ]  # fmt: skip
        from_cli = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        report = (Path(folder) / "report.html").stat().st_size

    ours = json.loads(json.dumps(from_python.to_dict()))
    different = {k for k in ours if ours[k] != from_cli[k]}
    assert not different, different
    print(f"command line and Python agree on all {len(ours)} entries; the report has {report:,} bytes")
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / f"resnet20-{args.limit}.json").write_text(json.dumps(ours, indent=2) + "\n")


if __name__ == "__main__":
    main()
