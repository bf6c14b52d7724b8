"""False alarms of margins, placebo and verdict where nobody is helped: `python -m experiments.exposure.levels`.

Appends a line to results/levels.jsonl after each world, and leaves out those that are there; 1,000 tables of each take
six minutes of one core. `python -m experiments.exposure.tables` puts what is there into README.md.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from experiments.exposure.worlds import CASES, CORRELATIONS, World, world
from heldout.exposures.families import family_p, whole_pass
from heldout.exposures.inputs import read_board
from heldout.exposures.placebo import placebo_test
from heldout.statistics.margins import monte_carlo_p

RESULTS = Path(__file__).resolve().parent / "results" / "levels.jsonl"
TABLES, STEPS = 199, 5  # p is exact for any number of rounds
DRAWS = 10  # of members of each family; p is valid for any number
LEVELS = (0.05, 0.01)
TESTS = ("margins", "placebo", "verdict", "margins without families", "verdict without families")


def p_values(made: World, seed: int, *, n_tables: int = TABLES, steps: int = STEPS) -> tuple[float, ...]:
    """p of margins and of placebo, as `heldout.exposure` finds them, and the same without families."""
    board = read_board(
        made.right, dates=None, cutoffs=None, seen=made.seen, strata=None, families=made.families.astype(str)
    )
    one, two, three = np.random.default_rng(seed).spawn(3)
    whole = whole_pass(board, n_tables, steps=steps, n_jobs=1, rng=one)
    margins = family_p(board, whole, n_tables, steps=steps, n_jobs=1, rng=two, n_draws=DRAWS)
    placebo = placebo_test(board, whole.mean, n_tables, three).p_value
    if len(board.family_names) == len(board.names):
        return margins, placebo, margins, placebo
    own = replace(board, families=np.arange(len(board.names)), family_names=board.names)
    without = monte_carlo_p(float((board.right & board.seen).sum()), whole.totals)
    return margins, placebo, without, placebo_test(own, whole.mean, n_tables, three).p_value


def rates(name: str, correlation: float, n_worlds: int, seed: int = 0, **more: float) -> np.ndarray:
    """(tests, levels): shares of p at or below a level, in the order of `TESTS`."""
    found = []
    for i in range(n_worlds):
        rng = np.random.default_rng([seed, i])
        found.append(p_values(world(rng, correlation=correlation, **{**CASES[name], **more}), i))
    p = np.array(found)
    every = np.stack([p[:, 0], p[:, 1], p[:, :2].max(axis=1), p[:, 2], p[:, 2:].max(axis=1)])
    return np.stack([(every <= level).mean(axis=1) for level in LEVELS], axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1000)
    args = parser.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    done = {(row["world"], row["correlation"]) for row in map(json.loads, lines)}
    for name in CASES:
        for correlation in CORRELATIONS:
            if (name, correlation) in done:
                continue
            found = rates(name, correlation, args.worlds).round(6).tolist()
            row = {"world": name, "correlation": correlation, "worlds": args.worlds, "resamples": TABLES}
            with RESULTS.open("a") as file:
                file.write(json.dumps({**row, "rates": dict(zip(TESTS, found, strict=True))}) + "\n")
            print(row, found, flush=True)


if __name__ == "__main__":
    main()
