"""False alarms of the tests of `heldout options` where no model knows an order: `python -m experiments.options.levels`.

Appends a line to results/levels.jsonl after each world, and leaves out those that are there; 10,000 benchmarks of one
take about a minute of one core. `python -m experiments.options.tables` puts what is there into README.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from experiments.options.worlds import LEVELS, WRONG_WAYS, Benchmark, benchmark
from heldout.statistics import arrangement_tests, orbit_test, order_ranks, rank_sum_test

RESULTS = Path(__file__).resolve().parent / "results" / "levels.jsonl"
RESAMPLES, STEPS = 399, 3  # p is exact for any number of rounds
ALPHAS = (0.05, 0.01)
TESTS = (
    "conditional",
    "conditional, two-sided",
    "conditional ranks",
    "Poisson-binomial",
    "Poisson-binomial, two-sided",
    "rank sum",
)


def p_values(made: Benchmark, rng: np.random.Generator, *, steps: int | None = STEPS) -> tuple[float, ...]:
    """In the order of `TESTS`."""
    values = np.stack([made.wrong.astype(np.float64), order_ranks(made.starts, made.scores)])
    errors, ranks = arrangement_tests(
        made.starts, made.positions, values, strata=made.strata, n_resamples=RESAMPLES, steps=steps, rng=rng
    )
    even = orbit_test(made.wrong, starts=made.starts)
    both = np.exp(even.log_p_two_sided)
    rank_sum = rank_sum_test(made.starts, made.scores).p_value
    return errors.p_overfitted, errors.p_two_sided, ranks.p_overfitted, even.p_value, float(both), rank_sum


def rates(name: str, n_benchmarks: int, seed: int = 0) -> np.ndarray:
    """(tests, alphas): shares of p at or below a level."""
    found = []
    for i in range(n_benchmarks):
        rng = np.random.default_rng([seed, i])
        found.append(p_values(benchmark(rng, **{**LEVELS, **WRONG_WAYS}[name]), rng))
    return np.stack([(np.array(found) <= alpha).mean(axis=0) for alpha in ALPHAS], axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmarks", type=int, default=10_000)
    args = parser.parse_args()
    done = {json.loads(line)["world"] for line in RESULTS.read_text().splitlines()} if RESULTS.exists() else set()
    for name in (*LEVELS, *WRONG_WAYS):
        if name in done:
            continue
        n_benchmarks = args.benchmarks if name in LEVELS else args.benchmarks // 10
        found = rates(name, n_benchmarks).round(6).tolist()
        row = {"world": name, "benchmarks": n_benchmarks, "rates": dict(zip(TESTS, found, strict=True))}
        with RESULTS.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)


if __name__ == "__main__":
    main()
