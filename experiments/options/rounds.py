"""How many rounds of swaps forget the data: `python -m experiments.options.rounds` writes results/rounds.json.

2,000 items with k options in the printed and B other orders, the last letter both the authors' and the model's
favourite; 30 % are right as printed, so that the data lie far from the mean of the draws.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from heldout.statistics import arrangement_test

RESULTS = Path(__file__).resolve().parent / "results" / "rounds.json"
N, RESAMPLES = 2000, 499
STEPS = (1, 5, 20, 60, None)  # the last: as many as are taken by default


def made(rng: np.random.Generator, k: int, orders: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """starts, positions and errors."""
    law = np.arange(1, k + 1) / (k * (k + 1) / 2)
    positions = np.column_stack([rng.choice(k, N, p=law), rng.integers(0, k, (N, orders))])
    wrong = rng.random(positions.shape) < rng.random((N, 1)) * (1 - 0.6 * (positions == k - 1))
    wrong[rng.random(N) < 0.3, 0] = False
    return np.arange(N + 1) * (orders + 1), positions.ravel(), wrong.ravel()


def main() -> None:
    rows = []
    for k in (4, 10):
        for orders in (1, 2, 4, 8):
            data, found = made(np.random.default_rng([k, orders]), k, orders), []
            for steps in STEPS:
                each = arrangement_test(*data, n_resamples=RESAMPLES, steps=steps, rng=np.random.default_rng(1))
                found.append([each.steps, round(each.expected, 1), round(each.standard_deviation, 1)])
            rows.append({"options": k, "orders": orders, "observed": each.observed, "found": found})
            print(rows[-1], flush=True)
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
