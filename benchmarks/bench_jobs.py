"""Worker processes against one: four ResNet-20 audits, each model on one thread.

python benchmarks/bench_jobs.py [--pictures 300] [--rounds 2]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from common import alternate, resnet20, verdict

from heldout import LabelledImages, Translations, audit_many
from heldout.images import Upsample, from_arrays
from heldout.scorers import TorchScorer
from heldout.workers import Shared


def of_smooth_noise(n: int) -> np.ndarray:
    """(n, 32, 32, 3) uint8: blobs, on which neighbouring shifts score alike, as on photographs."""
    from PIL import Image

    rough = np.random.default_rng(0).integers(0, 256, (n, 6, 6, 3), dtype=np.uint8)
    return np.stack([np.asarray(Image.fromarray(r).resize((32, 32), Image.Resampling.BICUBIC)) for r in rough])


def jobs(n: int, rounds: int) -> None:
    """The whole of `audit_many`, with what one process does before and after the scores."""
    import torch

    torch.set_num_threads(1)
    models = [TorchScorer(resnet20(seed)) for seed in range(4)]
    pictures = of_smooth_noise(n)
    frame = Upsample(44, crop=32)
    plain = LabelledImages(from_arrays(pictures, np.zeros(n, int)), frame)
    labels = models[0].logits(np.stack([plain.canvas(i, 0, "nchw") for i in range(n)])).argmax(axis=1)
    labels[::10] = (labels[::10] + 1) % 10  # a model that is right nine times in ten
    images = LabelledImages(from_arrays(pictures, labels), frame)
    statistics = set()

    def run(n_jobs: int, limit: int | None = None) -> int:
        options = {"orbit": Translations(2), "allow_chance": True, "allow_frame_drop": True}
        found = audit_many(models, images, n_jobs=n_jobs, limit=limit, **options)
        if limit is None:
            statistics.add(found.test.statistics.tobytes())
        return found.evaluations

    with Shared():  # keeps the workers of one audit for the next
        started = time.perf_counter()
        run(2, limit=24)
        print(
            f"workers start, import torch and look at 24 pictures: {time.perf_counter() - started:.1f} s, not counted "
            "below"
        )
        rates = alternate({"two": lambda: run(2), "one": lambda: run(1)}, rounds=rounds)
    assert len(statistics) == 1, "the same bits"
    ratios = rates["two"] / rates["one"]
    one, two = (float(np.median(rates[name])) for name in ("one", "two"))
    print(f"one worker {one:,.0f} evaluations/s, two {two:,.0f}/s; ratios {ratios.round(2)}")
    ratio = float(np.median(ratios))
    verdict("two workers over one, four ResNet-20 audits, one thread each", ratio, ">= 1.7", ratio >= 1.7)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    jobs(arguments.pictures, arguments.rounds)
