"""False alarms of `heldout compare --groups` where rare groups are larger, with and without `--largest-group`.

PYTHONPATH=src:. python -m experiments.compare.levels [--trials 4000]

writes results/levels.jsonl and results/widths.jsonl, in two minutes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.statistics.bounded_differences import bounded_intervals, bounded_log_p_values
from heldout.statistics.paired import LEVEL, is_told

HERE = Path(__file__).resolve().parent
LEVELS, WIDTHS = (HERE / "results" / f"{name}.jsonl" for name in ("levels", "widths"))

N_GROUPS = 5, 10, 20, 30, 60, 100
SHARES = 0.003, 0.01, 0.03, 0.1, 0.3  # of groups that are large
TIMES = 2, 5, 40  # as many examples
BETTER = 0.1, 0.3, 0.7  # mean difference in the other groups
USUAL = 10  # examples of the other groups
FARTHEST = 0.9  # mean difference in large groups; laws that would need a larger one are left out
APART = 0.2  # least share of examples on which models differ
OFF = 0.1  # true difference at which intervals are held against it, too; equal models are at 0

COSTS = 10, 30, 100  # groups of 1 to LARGEST examples
LARGEST = 20
STATED = 2, 5  # times as large as the largest there is
RIGHT = 0.7, 0.6  # both models
ALIKE = 0.7, 0.3, 0.0  # shares of a group on which a model does as on all of it
SELDOM = 0.05  # or: share of examples on which the models differ, the first being right on three in five of these

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Law:
    """Groups of which some are large and worse, so that over examples the models differ by `difference`."""

    n_groups: int
    share: float
    times: int
    better: float

    def worse(self, difference: float) -> float:
        """Mean difference in large groups."""
        large, other = self.share * self.times, 1 - self.share
        return (difference * (large + other) - other * self.better) / large

    def draw(self, n_trials: int, difference: float, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int_]]:
        """Sums of differences over groups, and sizes, (n_trials, n_groups) each."""
        large = rng.random((n_trials, self.n_groups)) < self.share
        sizes = np.where(large, USUAL * self.times, USUAL)
        return sums(rng, sizes, np.where(large, self.worse(difference), self.better)), sizes


def sums(rng: np.random.Generator, sizes: NDArray[np.int_], effects: Floats) -> Floats:
    """Over groups, right less wrong, where the mean difference of a group is its effect."""
    apart = np.maximum(APART, np.abs(effects))
    won = rng.binomial(sizes, (apart + effects) / 2)
    lost = rng.binomial(sizes - won, (apart - effects) / (2 - apart - effects))
    return np.asarray(won - lost, dtype=np.float64)


def laws() -> Iterator[Law]:
    """All of which large groups can be as much worse as equal models take."""
    for n_groups, share, times, better in product(N_GROUPS, SHARES, TIMES, BETTER):
        law = Law(n_groups, share, times, better)
        if abs(law.worse(0.0)) <= FARTHEST:
            yield law


def false_alarms(law: Law, n_trials: int, rng: np.random.Generator) -> dict[str, Any]:
    """Shares of trials in which equal models are told apart, and of intervals that miss the true difference."""
    largest, told, missed = USUAL * law.times, {}, {}
    d, sizes = law.draw(n_trials, 0.0, rng)
    shifted, of_shifted = law.draw(n_trials, OFF, rng)
    for name, most in (("as drawn", None), ("stated", largest)):
        told[name] = float(is_told(bounded_log_p_values(d, sizes, largest=most), LEVEL).mean())
        low, high = bounded_intervals(shifted, of_shifted, largest=most)
        missed[name] = float(((low > OFF) | (high < OFF)).mean())
    return asdict(law) | {"trials": n_trials, "told": told, "missed": missed}


def kinds() -> list[tuple[float | None, int]]:
    """How alike models are within groups, or None for such as differ seldom, and how many groups there are."""
    return list(product((*ALIKE, None), COSTS))


def cost(n_groups: int, alike: float | None, n_trials: int, rng: np.random.Generator) -> dict[str, Any]:
    """How many times as long the interval gets, in the median; groups of all sizes up to `LARGEST`, equally often.

    Of models that are `alike` within groups, or that differ `SELDOM`.
    """
    sizes = rng.integers(1, LARGEST + 1, (n_trials, n_groups))
    if alike is None:
        differ = rng.binomial(sizes, SELDOM)
        d = np.asarray(2 * rng.binomial(differ, 0.6) - differ, dtype=np.float64)
    else:
        first, second = (scores(rng, sizes, p, alike) for p in RIGHT)
        d = first - second
    widths = []
    for times in (1, *STATED):
        low, high = bounded_intervals(d, sizes, largest=times * LARGEST)
        widths.append(float(np.median(high - low)))
    longer = {f"{times}": round(width / widths[0], 3) for times, width in zip(STATED, widths[1:], strict=True)}
    return {"n_groups": n_groups, "alike": alike, "trials": n_trials, "longer": longer}


def scores(rng: np.random.Generator, sizes: NDArray[np.int_], p: float, alike: float) -> Floats:
    """Examples of each group on which a model is right: as on the whole group with probability `alike`, else alone."""
    like_it = rng.binomial(sizes, alike)
    return np.asarray(like_it * (rng.random(sizes.shape) < p) + rng.binomial(sizes - like_it, p), dtype=np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=4_000)
    args = parser.parse_args()
    every = list(laws())
    rngs = iter(np.random.default_rng(0).spawn(len(every) + len(kinds())))
    levels = [false_alarms(law, args.trials, next(rngs)) for law in every]
    costs = [cost(n, alike, args.trials, next(rngs)) for alike, n in kinds()]
    for path, rows in ((LEVELS, levels), (WIDTHS, costs)):
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


if __name__ == "__main__":
    main()
