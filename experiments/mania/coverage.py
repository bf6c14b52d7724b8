"""Do the pool's error bars hold? Draw test sets from real matrices, and count how often some model is missed.

python experiments/mania/coverage.py SHARED_DATA [--repetitions 3000] [--workers 2] [--smoothing 0.5]
    [--only cifar10:2000]

The matrix of right and wrong answers is taken as the population: n examples are drawn from its columns with
replacement, the bounds are computed on them, and the models' true errors are those of the whole matrix.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from pathlib import Path

import numpy as np

from heldout.reuse.leaderboard import simultaneous_intervals
from heldout.reuse.pool import PoolBound, pool_level, pool_reach
from heldout.reuse.similarity import similarity

DELTA = 0.05
CASES = [("cifar10", 500), ("cifar10", 2000), ("cifar10_best8", 200), ("cifar10_best8", 1000), ("imagenet", 300),
         ("imagenet", 1000), ("gsm8k", 249)]  # fmt: skip


def matrix(name: str, folder: Path) -> np.ndarray:
    """(n_models, n_examples), True where right."""
    if name.startswith("cifar10"):
        data = np.load(folder / "cifar10_predictions.npz")
        correct = data["preds"] == data["labels"]
        return correct if name == "cifar10" else correct[np.argsort(-correct.mean(axis=1))[:8]]
    if name == "imagenet":
        data = np.load(folder / "imagenet_predictions.npz")
        kept = [i for i, model in enumerate(data["models"]) if not str(model).startswith("fv_")]
        return (data["preds_val"][:, kept] == data["labels_val"][:, None]).T
    return np.load(folder / "open_llm_items.npz")["gsm8k_a_correct"][::60].astype(bool)


def draw(task: tuple[str, int, int, float, Path]) -> list[float]:
    """One test set: missed by epsilon (similarity, union), by intervals (similarity, union); the bars themselves."""
    name, n, seed, smoothing, folder = task
    correct = POPULATION.setdefault(name, matrix(name, folder))
    truth = 1 - correct.mean(axis=1)
    pool = PoolBound(similarity(correct[:, np.random.default_rng(seed).integers(0, correct.shape[1], n)]))
    pool.smoothing = smoothing
    union = pool_reach(pool, None, DELTA)
    tree = pool.tree(pool.limits(union)[1])
    reach = pool_reach(pool, tree, DELTA, most=union)
    level = pool_level(pool, tree, DELTA)
    off = np.abs(pool.similarity.errors - truth).max()
    missed = []
    for one in (level, DELTA / len(truth)):
        low, high = simultaneous_intervals(pool.similarity, one)
        missed.append(float(((truth < low) | (truth > high)).any()))
    return [float(off > reach / n + 1e-12), float(off > union / n + 1e-12), *missed, reach / n, union / n]


POPULATION: dict[str, np.ndarray] = {}
COLUMNS = ["missed_by_epsilon", "missed_by_union_epsilon", "missed_by_intervals", "missed_by_bonferroni_intervals",
           "epsilon", "union_epsilon"]  # fmt: skip

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--repetitions", type=int, default=3000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--smoothing", type=float, default=0.5)
    parser.add_argument("--only", metavar="POPULATION:N")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "coverage.json")
    arguments = parser.parse_args()
    rows = []
    with multiprocessing.Pool(arguments.workers) as workers:
        for name, n in CASES:
            if arguments.only not in (None, f"{name}:{n}"):
                continue
            tasks = [(name, n, seed, arguments.smoothing, arguments.data) for seed in range(arguments.repetitions)]
            means = np.mean(workers.map(draw, tasks, chunksize=8), axis=0)
            row = {"population": name, "n": n, "smoothing": arguments.smoothing, "repetitions": len(tasks)}
            rows.append(row | dict(zip(COLUMNS, means.tolist(), strict=True)))
            print(rows[-1], flush=True)
    arguments.out.write_text(json.dumps(rows, indent=1) + "\n")
