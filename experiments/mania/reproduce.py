"""The paper's numbers from its inputs, and the ImageNet pool's from real predictions.

python experiments/mania/reproduce.py SHARED_DATA
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from heldout import SimilarityResult, budget, load_predictions, testable_models
from heldout.reuse.pool import PoolBound
from heldout.statistics.binomial import upper_tail
from heldout.statistics.joint_binomial import joint_tail

RESULTS = Path(__file__).parent / "results"


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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--repetitions", type=int, default=20_000)
    arguments = parser.parse_args()

    table = load_predictions(
        arguments.data / "imagenet_predictions.npz", predictions_key="preds_val", labels_key="labels_val"
    )
    table = table.select([name for name in table.names if not name.startswith("fv_")])
    pool = budget(table, epsilon=0.01)
    pool.report(Path("runs") / "mania")
    rng = np.random.default_rng(0)
    plain = pool.to_dict()
    record = {
        "section 5.1": testable_models(50_000, 0.244, 0.85).to_dict(),
        "table 1": {str(row): testable_models(10_000, *row).to_dict() for row in ((0.032, 0.975), (0.031, 0.976))},
        "64 ImageNet models": {
            "accuracy": 1 - plain["mean_error"],
            "similarity": plain["mean_similarity"],
            "independent": plain["independent_similarity"],
            "right_for_all": plain["pool"]["right_for_all"],
            "wrong_for_all": plain["pool"]["wrong_for_all"],
            "testable_models": plain["testable_models"],
            "epsilon": plain["epsilon"],
            "resampled_limit": resampled_limit(table.correct, delta=0.05, repetitions=arguments.repetitions, rng=rng),
            "one tail at 322 examples": tree_or_anchor(pool.pool.similarity, 322),
            "theorem2": plain["pool"]["theorem2"],
            "neighbours_told_apart": sum(c["survives"] for c in plain["pool"]["neighbours"]),
        },
    }
    (RESULTS / "results.json").write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))
