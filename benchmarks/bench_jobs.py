"""Worker processes against one: four ResNet-20 audits, each model on one thread.

python benchmarks/bench_jobs.py [--pictures 400]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from common import resnet20, verdict

from heldout import LabelledImages, Translations, audit_many
from heldout.images import Upsample, from_arrays
from heldout.scorers import TorchScorer


def of_smooth_noise(n: int) -> np.ndarray:
    """(n, 32, 32, 3) uint8: blobs, on which neighbouring shifts score alike, as on photographs."""
    from PIL import Image

    rough = np.random.default_rng(0).integers(0, 256, (n, 6, 6, 3), dtype=np.uint8)
    return np.stack([np.asarray(Image.fromarray(r).resize((32, 32), Image.Resampling.BICUBIC)) for r in rough])


def jobs(n: int) -> None:
    """The whole of `audit_many`, what one process does before and after the scores included."""
    import torch

    torch.set_num_threads(1)
    models = [TorchScorer(resnet20(seed)) for seed in range(4)]
    pictures = of_smooth_noise(n)
    frame = Upsample(44, crop=32)
    images = LabelledImages(from_arrays(pictures, np.zeros(n, int)), frame)
    batch = np.stack([images.canvas(i, 0, "nchw") for i in range(n)])
    labels = models[0].logits(batch).argmax(axis=1)
    labels[::10] = (labels[::10] + 1) % 10
    images = LabelledImages(from_arrays(pictures, labels), frame)

    def run(n_jobs: int) -> tuple[float, bytes]:
        started = time.perf_counter()
        found = audit_many(
            models,
            images,
            orbit=Translations(2),
            n_jobs=n_jobs,
            allow_chance=True,
            allow_frame_drop=True,
        )
        seconds = time.perf_counter() - started
        print(f"{n_jobs} worker(s): {seconds:.1f} s, {found.evaluations:,} evaluations")
        return seconds, found.test.T.tobytes()

    run(2)  # starts the workers, which stay for a while and have torch imported then
    (two, same), (one, bits) = run(2), run(1)
    assert same == bits
    verdict("two workers over one, four ResNet-20 audits, one thread each", one / two, ">= 1.7", one / two >= 1.7)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=400)
    jobs(parser.parse_args().pictures)
