"""50,000 pictures of 224 px go through in bounded memory, with a stub in place of the model.

Pictures are cut out when they are asked for, so that the set itself takes no memory; every one is read for the digest,
for the search of duplicates, before the model and in the rounds. What is measured is the peak of the whole process,
Python and its libraries included.

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
    spent = time.process_time()
    result = audit(stub, images, orbit=Translations(1), allow_chance=True, progress=True)
    elapsed = time.perf_counter() - started
    peak, spent = peak_gib(), time.process_time() - spent
    print(f"{len(images):,} pictures, {result.evaluations:,} evaluations in {elapsed:.0f} s ({spent:.0f} s of a CPU)")
    print(f"{before:.2f} GiB before the audit")
    verdict("peak memory in GiB, 224 px, radius 1", peak, "<= 1.12", peak <= 1.12)
