"""False alarms of the tests of `heldout options` where no model knows an order: `python -m experiments.options.levels`.

Appends a line to results/levels.jsonl after each world, and leaves out those that are there; 10,000 benchmarks of one
take about a minute of one core. `python -m experiments.options.tables` puts what is there into README.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from experiments.options.worlds import LEVELS, OTHER_ORDERS, WRONG_WAYS, Benchmark, benchmark
from heldout.statistics import arrangement_tests, orbit_test, order_ranks, rank_sum_test

RESULTS = Path(__file__).resolve().parent / "results" / "levels.jsonl"
N, RESAMPLES, STEPS = 100, 199, 3  # p is exact for any number of rounds
WORLDS = {**LEVELS, **OTHER_ORDERS, **WRONG_WAYS}
ALPHAS = (0.05, 0.01)
TESTS = (
    "conditional",
    "conditional, two-sided",
    "conditional ranks",
    "Poisson-binomial",
    "Poisson-binomial, two-sided",
    "rank sum",
)


def p_values(made: Benchmark, rng: np.random.Generator, *, uniform: bool) -> tuple[float, ...]:
    """In the order of `TESTS`; the last three only where asked for."""
    values = np.stack([made.wrong.astype(np.float64), order_ranks(made.starts, made.scores)])
    errors, ranks = arrangement_tests(
        made.starts, made.positions, values, strata=made.strata, n_resamples=RESAMPLES, steps=STEPS, rng=rng
    )
    given = errors.p_overfitted, errors.p_two_sided, ranks.p_overfitted
    if not uniform:
        return *given, np.nan, np.nan, np.nan
    even = orbit_test(made.wrong, starts=made.starts)
    both = float(np.exp(even.log_p_two_sided))
    return *given, even.p_value, both, rank_sum_test(made.starts, made.scores).p_value


def rates(name: str, n_benchmarks: int, seed: int = 0) -> np.ndarray:
    """(tests, alphas): shares of p at or below a level."""
    world, found = {**WORLDS[name], "n": world_size(name)}, []
    for i in range(n_benchmarks):
        rng = np.random.default_rng([seed, i])
        found.append(p_values(benchmark(rng, **world), rng, uniform=is_uniform(name) or name in WRONG_WAYS))
    shares = [(np.array(found) <= alpha).mean(axis=0) for alpha in ALPHAS]
    return np.where(np.isnan(found[0]), np.nan, shares).T


def is_uniform(name: str) -> bool:
    """Whether every order is as likely to be printed as any other, so that all tests are valid."""
    return name not in WRONG_WAYS and not WORLDS[name].keys() & {"skewed", "sources"}


def world_size(name: str) -> int:
    """Items of a benchmark, before any is left out."""
    return int(WORLDS[name].get("n", N))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmarks", type=int, default=10_000)
    args = parser.parse_args()
    done = {json.loads(line)["world"] for line in RESULTS.read_text().splitlines()} if RESULTS.exists() else set()
    for name in WORLDS:
        if name in done:
            continue
        n_benchmarks = args.benchmarks // (25 if name in WRONG_WAYS else 1)
        found = [[None if np.isnan(x) else round(float(x), 6) for x in row] for row in rates(name, n_benchmarks)]
        row = {
            "world": name,
            "benchmarks": n_benchmarks,
            "items": world_size(name),
            "rates": dict(zip(TESTS, found, strict=True)),
        }
        with RESULTS.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)


if __name__ == "__main__":
    main()
