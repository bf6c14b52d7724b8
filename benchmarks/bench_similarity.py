"""Similarity of every pair of models: time against scipy's pdist, memory of large pools.

python benchmarks/bench_similarity.py [--rounds 5] [--large]

The pool of figure 3 of Mania et al. (1,235 models on 10,000 examples) as a matrix of bool, packing included on our
side. Memory is measured in a process of its own, beyond what it holds with the matrix loaded. `--large` adds 10,000
models on 100,000 examples, which come in blocks and never exist as a whole.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from common import alternate, verdict
from scipy.spatial.distance import pdist

from heldout.reuse.cover import cover_curve
from heldout.reuse.packed import PackedLosses
from heldout.reuse.similarity import similarity


def losses(k: int, n: int, seed: int = 0) -> np.ndarray:
    """Right answers of models of unequal strength on examples of unequal difficulty."""
    difficulty = np.random.default_rng(1).random(n, dtype=np.float32)  # the same for every block of models
    rng = np.random.default_rng(seed)
    strength = rng.uniform(0.1, 0.8, (k, 1)).astype(np.float32)
    correct = np.empty((k, n), bool)
    for row in range(0, k, 16):  # the numbers drawn are four times the size of the matrix
        some = strength[row : row + 16]
        correct[row : row + 16] = rng.random((len(some), n), dtype=np.float32) > difficulty * some
    return correct


def now_gb() -> float:
    """Memory held now; not the peak so far, which would hide what was freed and taken again."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e9


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def whole_pool(k: int, n: int, queue: multiprocessing.Queue) -> None:
    correct = losses(k, n)
    before, started = now_gb(), time.perf_counter()
    result = similarity(correct)
    summary = str(result)
    queue.put((time.perf_counter() - started, peak_gb() - before, summary))


def pool_in_blocks(k: int, n: int, queue: multiprocessing.Queue) -> None:
    def blocks() -> Iterator[np.ndarray]:
        for seed in range(0, k, 250):
            yield losses(min(250, k - seed), n, seed)

    before = now_gb()
    packed = PackedLosses.from_blocks(blocks(), n_examples=n)
    started = time.perf_counter()
    result = similarity(packed, progress=True)
    summary = str(result)
    queue.put((time.perf_counter() - started, peak_gb() - before, summary))


def covered_pool(k: int, n: int, queue: multiprocessing.Queue) -> None:
    result = similarity(losses(k, n))
    before, started = now_gb(), time.perf_counter()
    curve = cover_curve(result)
    queue.put((time.perf_counter() - started, peak_gb() - before, f"{len(curve.eta)} steps"))


def alone(run: Callable[..., None], k: int, n: int) -> float:
    """Run in a fresh process, whose peak nothing else has raised; GB beyond its start."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=run, args=(k, n, queue))
    process.start()
    elapsed, used, summary = queue.get()
    process.join()
    print(f"\n{run.__name__}: {k:,} x {n:,} in {elapsed:.1f} s, {used:.3f} GB beyond the start\n{summary}")
    return used


def main(rounds: int, large: bool) -> None:
    correct = losses(1235, 10_000)
    pairs = 1235 * 1234 // 2

    def ours() -> int:
        return similarity(correct).n_pairs

    def scipy_side() -> int:
        return len(pdist(correct, "hamming"))

    ours()  # BLAS starts its threads once
    rates = alternate({"heldout": ours, "pdist": scipy_side}, rounds=rounds)
    for name, rate in rates.items():
        print(f"{name:10s} {pairs / np.median(rate):8.3f} s")
    ratio = float(np.median(rates["heldout"] / rates["pdist"]))
    verdict("speed over pdist(hamming), 1,235 x 10,000", ratio, ">= 30", ratio >= 30)
    alone(covered_pool, 1235, 10_000)
    if large:
        alone(covered_pool, 10_000, 2_000)
    used = alone(whole_pool, 10_000, 10_000)
    verdict("GB beyond the start, 10,000 x 10,000", used, "<= 1", used <= 1.0)
    if large:
        used = alone(pool_in_blocks, 10_000, 100_000)
        verdict("GB beyond the start, 10,000 x 100,000 in blocks", used, "<= 1", used <= 1.0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    main(arguments.rounds, arguments.large)
