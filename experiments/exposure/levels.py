"""False alarms of margins, placebo and verdict where nobody is helped: `python -m experiments.exposure.levels 1000`."""

from __future__ import annotations

import sys

import numpy as np

from experiments.exposure.worlds import CASES, World, world
from heldout.exposures.inputs import read_board
from heldout.exposures.lineages import DRAWS, family_p, whole_pass
from heldout.exposures.placebo import placebo_test

TABLES, STEPS = 199, 5  # p is exact for any number of rounds


def p_values(made: World, seed: int, *, n_tables: int = TABLES, steps: int = STEPS) -> tuple[float, float]:
    """p of margins and of placebo, as `heldout.exposure` finds them."""
    board = read_board(
        made.right, dates=None, cutoffs=None, seen=made.seen, strata=None, families=made.families.astype(str)
    )
    one, two, three = np.random.default_rng(seed).spawn(3)
    whole = whole_pass(board, n_tables, steps=steps, n_jobs=1, rng=one)
    margins = family_p(board, whole, n_tables, steps=steps, n_jobs=1, rng=two)
    return margins, placebo_test(board, whole.mean, n_tables, three).p_value


def rates(name: str, correlation: float, n_worlds: int, seed: int = 0, **more: float) -> np.ndarray:
    """(3, 2) rates of margins, placebo and verdict at 0.05 and 0.01."""
    found = []
    for i in range(n_worlds):
        rng = np.random.default_rng([seed, i])
        found.append(p_values(world(rng, correlation=correlation, **{**CASES[name], **more}), i))
    p = np.array(found)
    all_three = np.stack([p[:, 0], p[:, 1], p.max(axis=1)])
    return np.stack([(all_three <= level).mean(axis=1) for level in (0.05, 0.01)], axis=1)


def main() -> None:
    n_worlds = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{n_worlds} tables each, B = {TABLES}, families drawn {DRAWS} times")
    print("| world | correlation | margins 0.05 | 0.01 | placebo 0.05 | 0.01 | verdict 0.05 | 0.01 |")
    print("|---|---|---|---|---|---|---|---|")
    for name in CASES:
        for correlation in (0.0, 0.7):
            cells = " | ".join(f"{r:.3f}" for r in rates(name, correlation, n_worlds).ravel())
            print(f"| {name} | {correlation:g} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
