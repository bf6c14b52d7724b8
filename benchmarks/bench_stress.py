"""What an attack costs: against the loop one would write in NumPy, in memory, in the number of classes, over workers.

python benchmarks/bench_stress.py [--rounds 3]

The peer is the loop as it is written, its drawing included:

    q = rng.integers(0, m, n)
    s[arange, q] += w

It is given its weights; ours also counts the hits of every query for the oracle and takes the best label of every
point. That both do the same is checked on the same queries, regenerated from (seed, query, point).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

import numpy as np
from common import alternate, verdict

from heldout import stress
from heldout.attack.knowledge import Knowledge
from heldout.attack.naive_bayes import NaiveBayes
from heldout.attack.oracle import AccuracyOracle
from heldout.attack.queries import Queries

N, M, K = 50_000, 10, 5_000
JOBS = 2
LARGE = """
import json, resource, sys, time
import numpy as np
from heldout.attack.knowledge import Knowledge
from heldout.attack.naive_bayes import NaiveBayes
from heldout.attack.oracle import AccuracyOracle
n, m, k = 50_000, 1000, 5_200
labels = np.random.default_rng(0).integers(0, m, n)
oracle, attack = AccuracyOracle(labels), NaiveBayes(Knowledge(n=n, m=m), seed=0)
attack.play(oracle, k, n_jobs=2)
accuracy = oracle.true_accuracy(attack.predict_after([k], n_jobs=2)[0])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"accuracy": accuracy, "peak_mb": peak}))
"""


def attack(labels: np.ndarray, m: int, k: int, *, seed: int = 0, jobs: int = JOBS) -> np.ndarray:
    """Ask and predict, whole."""
    analyst = NaiveBayes(Knowledge(n=len(labels), m=m), seed=seed)
    analyst.play(AccuracyOracle(labels), k, n_jobs=jobs)
    return analyst.predict_after([k], n_jobs=jobs)[0]


def numpy_loop(n: int, m: int, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    s, arange = np.zeros((n, m)), np.arange(n)
    for w in weights:
        q = rng.integers(0, m, n)
        s[arange, q] += w
    return s


def same_queries(n: int, m: int, k: int) -> bool:
    """The loop on our queries, with the accuracies it sees itself: the same labels, to the last one."""
    labels = np.random.default_rng(1).integers(0, m, n)
    queries, s, arange = Queries(n, m, 0), np.zeros((n, m)), np.arange(n)
    for j in range(k):
        q = queries.labels(j)
        alpha = 1 - (q != labels).sum() / n
        s[arange, q] += np.log(alpha) + np.log(m - 1) - np.log1p(-alpha)
    return bool((s.argmax(axis=1) == attack(labels, m, k)).all())


def seconds(settings: dict[str, tuple[int, int, int]], rounds: int) -> dict[str, float]:
    """The shortest time of each (n, m, k), taking turns: what is compared is a cost, not the machine's mood."""
    times: dict[str, list[float]] = {name: [] for name in settings}
    for seed in range(rounds):
        for name, (n, m, k) in settings.items():
            labels = np.random.default_rng(0).integers(0, m, n)
            started = time.perf_counter()
            attack(labels, m, k, seed=seed)
            times[name].append(time.perf_counter() - started)
    return {name: min(t) for name, t in times.items()}


def main(rounds: int) -> None:
    labels = np.random.default_rng(0).integers(0, M, N)
    attack(labels, M, 10)  # compiles
    verdict(
        "the same labels as the loop on the same queries",
        float(same_queries(N, M, 400)),
        "= 1",
        same_queries(N, M, 400),
    )

    rng, weights = np.random.default_rng(0), np.random.default_rng(1).normal(size=K)
    sides = {
        "numpy": lambda: len(numpy_loop(N, M, weights, rng)) and N * K,
        "heldout": lambda: len(attack(labels, M, K)) and N * K,
    }
    rates = alternate(sides, rounds=rounds)
    ratio = float(np.median(rates["heldout"] / rates["numpy"]))
    print({name: f"{np.median(r) / 1e6:.0f} million labels a second" for name, r in rates.items()})
    verdict(f"n = {N:,}, m = {M}, k = {K:,}: heldout over the NumPy loop", ratio, ">= 6", ratio >= 6)

    started = time.perf_counter()
    large = json.loads(subprocess.run([sys.executable, "-c", LARGE], capture_output=True, check=True, text=True).stdout)
    print(f"n = 50,000, m = 1000, k = 5,200: {large}, {time.perf_counter() - started:.1f} s with the start of Python")
    verdict("its peak memory, MB", large["peak_mb"], "<= 600", large["peak_mb"] <= 600)

    settings = {"base": (N, 10, 2000), "m": (N, 1000, 2000), "k": (N, 10, 4000), "n": (2 * N, 10, 2000)}
    cost = seconds(settings, 3 * rounds)
    verdict("m = 1000 over m = 10, time", cost["m"] / cost["base"], "<= 1.3", cost["m"] / cost["base"] <= 1.3)
    for name, what in (("k", "queries"), ("n", "points")):
        ratio = cost[name] / cost["base"]
        verdict(f"twice the {what}, time", ratio, "1.6 to 2.4", 1.6 <= ratio <= 2.4)

    results, times = {}, {}
    for jobs in (1, 2, 1, 2):
        started = time.perf_counter()
        results[jobs] = stress(20_000, 10, queries=2000, trials=8, n_jobs=jobs).to_dict()
        times.setdefault(jobs, []).append(time.perf_counter() - started)
    verdict(
        "8 trials: the same result on 1 and 2 workers", float(results[1] == results[2]), "= 1", results[1] == results[2]
    )
    print(f"8 trials, 1 worker over 2, time: {min(times[1]) / min(times[2]):.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    main(parser.parse_args().rounds)
