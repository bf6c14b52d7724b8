"""Power of both tests, and coverage of the interval for delta: `python -m experiments.exposure.effects`.

30 models x 300 items, half of the models exposed to a third of the items, which helps them by so many logits. Writes
results/effects.json; about ten minutes of one core.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from experiments.exposure.levels import p_values
from experiments.exposure.worlds import world
from heldout.exposures.effect import effect
from heldout.exposures.inputs import read_board

RESULTS = Path(__file__).resolve().parent / "results" / "effects.json"
POWER = {(0.5, 0.0): 1000, (0.5, 0.7): 1000}  # tables, by gain in logits and correlation of ability and cutoff
COVERAGE = {0.5: 400, 1.5: 200}
SHAPE = {"k": 30, "n": 300, "half": True}


def power(gain: float, correlation: float, n_worlds: int) -> dict[str, float]:
    """Shares of tables with p at most 0.05."""
    asked = {"gain": gain, "correlation": correlation, **SHAPE}
    made = (world(np.random.default_rng([7, i]), **asked) for i in range(n_worlds))
    p = np.array([p_values(one, i)[:2] for i, one in enumerate(made)])
    every = {"margins": p[:, 0], "placebo": p[:, 1], "verdict": p.max(axis=1)}
    return {name: float((values <= 0.05).mean()) for name, values in every.items()}


def intervals(gain: float, n_worlds: int) -> np.ndarray:
    """(worlds, 3): low end, estimate, high end at 95 %."""
    found = []
    for i in range(n_worlds):
        made = world(np.random.default_rng([9, i]), gain=gain, **SHAPE)
        board = read_board(made.right, dates=None, cutoffs=None, seen=made.seen, strata=None, families=None)
        one = effect(board, level=0.05, steps=5, n_jobs=1, rng=np.random.default_rng(i), n_tables=399)
        found.append((one.interval[0], one.log_odds, one.interval[1]))
    return np.array(found)


def covered(gain: float, found: np.ndarray) -> float:
    """Share of intervals that hold the gain."""
    return float(((found[:, 0] <= gain) & (gain <= found[:, 2])).mean())


def main() -> None:
    rows: dict[str, list[dict[str, object]]] = {"power": [], "coverage": []}
    for (gain, correlation), n in POWER.items():
        found = power(gain, correlation, n)
        rows["power"].append({"gain": gain, "correlation": correlation, "worlds": n, "rates": found})
        print(rows, flush=True)
    for gain, n in COVERAGE.items():
        ends = intervals(gain, n)
        middle, width = float(np.median(ends[:, 1])), float(np.median(ends[:, 2] - ends[:, 0]))
        row = {"gain": gain, "worlds": n, "rate": covered(gain, ends), "median": middle, "median_width": width}
        rows["coverage"].append(row)
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
        print(rows, flush=True)


if __name__ == "__main__":
    main()
