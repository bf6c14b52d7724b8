"""50,000 pictures of 224 px go through in bounded memory, with a stub in place of the model.

python benchmarks/bench_memory.py [--images 50000]
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from common import verdict

from heldout import LabelledImages, Translations, audit
from heldout.images import Crop, from_dataset


class Noise:
    """Pictures of 256 px that are cut out of one noise strip when they are asked for."""

    def __init__(self, n: int) -> None:
        rng = np.random.default_rng(0)
        self.strip = rng.integers(0, 256, (1024, 1024, 3), dtype=np.uint8)
        self.targets = rng.integers(0, 2, n)

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        down, right = divmod(index * 769, 768)
        return self.strip[down % 768 : down % 768 + 256, right : right + 256], int(self.targets[index])


def stub(batch: np.ndarray) -> np.ndarray:
    """Brightness of a few pixels: no model at all, so that what is measured is ours."""
    score = batch[:, 0, ::56, ::56].sum(axis=(1, 2)) - batch[:, 1, ::56, ::56].sum(axis=(1, 2))
    return np.stack([score, -score], axis=1)


def peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=50_000)
    arguments = parser.parse_args()
    images = LabelledImages(from_dataset(Noise(arguments.images)), Crop(224))
    before, started = peak_gib(), time.perf_counter()
    result = audit(stub, images, orbit=Translations(1), allow_chance=True, progress=True)
    elapsed = time.perf_counter() - started
    used = peak_gib() - before
    print(f"{len(images):,} pictures, {result.evaluations:,} evaluations in {elapsed:.0f} s")
    verdict("GiB beyond the start, 224 px, radius 1", used, "<= 2", used <= 2.0)
