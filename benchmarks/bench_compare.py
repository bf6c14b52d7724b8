"""What a comparison costs: two models on a million examples, and every pair of a leaderboard.

python benchmarks/bench_compare.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from common import verdict

from heldout import Predictions, budget, compare, compare_all
from heldout.reuse.compare_result import CompareResult


def fastest(run: Callable[[], CompareResult], rounds: int) -> tuple[float, CompareResult]:
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - started)
    return min(times), result


def million(rounds: int) -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(2, 0.7, size=10**6)
    right = Predictions.from_correct(rng.random((2, 10**6)) < np.stack([p, 0.998 * p]))
    trials = Predictions.from_scores(rng.binomial(10, np.stack([p, 0.998 * p])) / 10, trials=10)
    scores = Predictions.from_scores(np.clip(np.stack([p, 0.998 * p]) + rng.normal(0, 0.1, (2, 10**6)), 0, 1))
    for name, pool in (("right or wrong", right), ("ten trials each", trials), ("scores", scores)):
        seconds, result = fastest(lambda pool=pool: compare(pool, 0, 1), rounds)
        print(f"{name}: {result.difference:+.5f}, interval {result.interval}")
        verdict(f"compare on 10^6 examples, {name}, seconds", seconds, "< 1", seconds < 1)
    started = time.perf_counter()
    compare(right, 0, 1, sequential=True)
    seconds = time.perf_counter() - started
    verdict("the same at every look, seconds", seconds, "< 5", seconds < 5)


def every_pair() -> None:
    rng = np.random.default_rng(1)
    hard = rng.normal(size=500)
    ahead = rng.normal(size=(134, 500)) + rng.normal(0, 0.5, size=(134, 1)) - hard
    right = Predictions.from_correct(ahead > 0)
    scores = Predictions.from_scores((1 / (1 + np.exp(-ahead))).round(3))
    groups = np.arange(500) // 5
    for name, pool, kept in (("right or wrong", right, None), ("scores", scores, None), ("groups", right, groups)):
        started = time.perf_counter()
        result = compare_all(pool, groups=kept)
        seconds = time.perf_counter() - started
        print(result.summary().headline)
        verdict(f"every pair of 134 x 500, {name}, with intervals, seconds", seconds, "< 10", seconds < 10)
        started = time.perf_counter()
        budget(pool, groups=kept)
        seconds = time.perf_counter() - started
        verdict(f"the same by budget, {name}, seconds", seconds, "< 5", seconds < 5)


def memory() -> None:
    """Of all pairs of 60 models on 20,000 examples, beyond the table itself."""
    pool = Predictions.from_correct(np.random.default_rng(2).random((60, 20_000)) < 0.7)
    tracemalloc.start()
    compare_all(pool)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    verdict("every pair of 60 x 20,000, MiB", peak, "< 200", peak < 200)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    million(arguments.rounds)
    every_pair()
    memory()
