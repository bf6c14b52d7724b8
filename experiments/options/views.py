"""False alarms of the audit's tests on pictures with a finite orbit: `python -m experiments.options.views`.

A picture and its mirror image (2 views), or its eight dihedral views; a model gives every view a score, and one of them
is the given picture, at random. T is from its definition (`statistic`). Writes results/views.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from heldout.orbit import statistic_range
from heldout.statistics import independence_test, orbit_test

RESULTS = Path(__file__).resolve().parent / "results" / "views.json"
VIEWS = {"mirror images": 2, "dihedral views": 8}
RULES = ("strongest", "random")
METHODS = {"betting": "two-sided", "betting, greater": "greater", "mixture": "two-sided", "bernstein": "two-sided"}
N, ALPHAS = 200, (0.05, 0.01)


def scores(rng: np.random.Generator, n: int, views: int) -> np.ndarray:
    """(n, views) excess scores, wrong above 0, the given view first: the model likes some views better than others."""
    easy = rng.logistic(-1.5, 1.5, size=(n, 1))
    made = easy + rng.logistic(size=(n, views)) + rng.normal(size=views)
    given = rng.integers(0, views, n)
    return np.take_along_axis(made, (given[:, None] + np.arange(views)) % views, axis=1)


def statistic(made: np.ndarray, rule: str, at: int = 0) -> np.ndarray:
    """(n,) T of the view in column `at`: L(g(x)) h(g(x)) - L(x), where any view can be moved to any other.

    A wrong view x' has n(x') right views moved onto it: all of them by `strongest` where it has the highest score, none
    elsewhere; each with its probability by the random rules.
    """
    n, views = made.shape
    wrong = made > 0
    right = (~wrong).sum(axis=1)
    if rule == "strongest":
        weight = np.where(np.arange(views) == made.argmax(axis=1)[:, None], 1 / (1 + right)[:, None], 1.0)
        target = np.where(wrong[:, at] | ~wrong.any(axis=1), at, made.argmax(axis=1))
        rows = np.arange(n)
        return wrong[rows, target] * weight[rows, target] - wrong[:, at]
    moves = views - 1 if rule == "random" else views
    weight = 1 / (1 + right / moves)
    return np.where(wrong[:, at], weight - 1, (views - right) / moves * weight)


def rates(views: int, n_sets: int, seed: int = 0) -> dict[str, list[float]]:
    """Shares of p at or below each level."""
    p: dict[str, list[float]] = {}
    for i in range(n_sets):
        rng = np.random.default_rng([seed, views, i])
        made = scores(rng, N, views)
        for alternative in ("overfitted", "two-sided"):
            found = orbit_test(made > 0, alternative=alternative)
            p.setdefault(f"orbit test, {alternative}", []).append(found.p_value)
        for rule in RULES:
            low, high = statistic_range(rule, views - 1)
            t = statistic(made, rule)
            for name, side in METHODS.items():
                method, orders = name.split(",")[0], {"n_orders": 1} if "betting" in name else {}
                found = independence_test(t, lower=low, upper=high, method=method, alternative=side, seed=i, **orders)
                p.setdefault(f"{rule}, {name}", []).append(found.p_value)
    return {name: [float(np.mean(np.array(each) <= alpha)) for alpha in ALPHAS] for name, each in p.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=10_000)
    args = parser.parse_args()
    made = {name: rates(views, args.sets) for name, views in VIEWS.items()}
    RESULTS.write_text(json.dumps({"sets": args.sets, "pictures": N, "rates": made}, indent=1) + "\n")


if __name__ == "__main__":
    main()
