"""What similarity can gain for the 64 ImageNet models themselves: bounds, and the limit that no bound from pairs beats.

PYTHONPATH=src:. python -m experiments.mania.limit [SHARED_DATA]      writes results/limit.json, ten minutes
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from experiments.mania.pools import DELTA, RESULTS, SHARED, imagenet
from experiments.pages import rounded
from heldout import SimilarityResult, budget
from heldout.reuse.pool import PoolBound
from heldout.statistics.binomial import upper_tail
from heldout.statistics.joint_binomial import joint_tail

TOO_MANY = 322  # errors: the union bound's error bar is 326


def resampled_limit(correct: np.ndarray, *, delta: float, repetitions: int, rng: np.random.Generator) -> float:
    """The error bar that would hold exactly if the pool were the population: the (1 - delta) quantile of the largest
    deviation when examples are drawn with replacement. No bound from pairs can go below it."""
    wrong = (~correct).astype(np.float32)
    n = correct.shape[1]
    largest = []
    for _ in range(repetitions // 200):
        draws = rng.multinomial(n, np.full(n, 1 / n), size=200).astype(np.float32)
        largest.append(np.abs(draws @ wrong.T - wrong.sum(axis=1)).max(axis=1))
    return float(np.quantile(np.concatenate(largest).astype(np.float64), 1 - delta)) / n


def tree_or_anchor(counts: SimilarityResult, m: int) -> dict[str, float]:
    """P(some model has m or more errors too many): union bound, spanning tree, and the best single anchor at its best
    t, (3), over the eight models that are most like the others."""
    pool = PoolBound(counts)
    high = pool.wrong + m
    above = upper_tail(high, pool.n, pool.p)
    tree = pool.tree(high)
    i, j = tree.first, tree.second
    joined = above.sum() - joint_tail(pool.n[i], pool.p[i], pool.p[j], tree.both_wrong, high[i], high[j]).sum()
    anchored = []
    for a in np.argsort(-counts.matrix().mean(axis=1))[:8]:
        share, others = pool.shares_with(int(a))
        pair = pool.n[others], pool.p[others], pool.p[a], share[others], high[others]
        for c in range(m, m // 2, -m // 40):
            own = float(upper_tail(pool.wrong[a] + c, pool.n[a], pool.p[a]))
            anchored.append(own + joint_tail(*pair, pool.wrong[a] + c - 1, sides=("upper", "lower")).sum())
    return {"union": float(above.sum()), "tree": float(joined), "anchor": float(min(anchored))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, nargs="?", default=SHARED)
    parser.add_argument("--repetitions", type=int, default=20_000)
    args = parser.parse_args()
    table = imagenet(args.data)
    pool = budget(table, epsilon=0.01, delta=DELTA).pool
    rng = np.random.default_rng(0)
    found = {
        "repetitions": args.repetitions,
        "error_bar": pool.epsilon,
        "resampled_limit": resampled_limit(table.correct, delta=DELTA, repetitions=args.repetitions, rng=rng),
        "too_many": TOO_MANY,
        "one_tail": tree_or_anchor(pool.similarity, TOO_MANY),
        "theorem2": {k: v if np.isfinite(v) else None for k, v in pool.theorem2.items()},
    }
    (RESULTS / "limit.json").write_text(json.dumps(rounded(found), indent=1) + "\n")


if __name__ == "__main__":
    main()
