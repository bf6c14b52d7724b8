"""What a budget costs: the three bounds, every pair's similarity, the bound for a given pool, a whole leaderboard.

python benchmarks/bench_budget.py [--rounds 5]

The peer of the bounds is the sum as it is written: scipy.stats.binom over all j, for all thresholds t of the anchor
that can be best, on both tails. The peers of a whole leaderboard are eval-integrity and evalci, on the same table; they
answer different questions, and the table printed says which.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import bench_similarity
import numpy as np
from common import verdict
from scipy.stats import binom

from heldout import budget, testable_models
from heldout.reuse.bounds import Setting
from heldout.reuse.thresholds import both_wrong, error_thresholds

try:  # not in the time that is measured
    import pandas as pd
    from evalci import multi_compare
    from evalgate.leaderboard import audit_matrix
except ModuleNotFoundError as error:
    lacking: str | None = str(error)
else:
    lacking = None

N, ERROR, SIMILARITY, EPSILON, DELTA = 50_000, 0.244, 0.85, 0.01, 0.05
SYSTEMS, TASKS = 134, 500  # as SWE-bench Verified has them
FEW_SYSTEMS = 12  # on which evalci is timed; its time grows with the number of pairs


def direct_summation() -> dict[str, float]:
    """The three counts of the ImageNet numbers, by sums over every j and every t."""
    lo, hi = error_thresholds(N, ERROR, EPSILON)
    coupling = Setting(N, ERROR, float(both_wrong(ERROR, SIMILARITY)), lo, hi).coupling
    w, x = coupling.w, coupling.x1
    j = np.arange(N + 1)
    weight = binom.pmf(j, N, w)
    off_above, off_below = binom.sf(hi - 1, j, x), binom.cdf(lo, j, x)

    middle = round(N * ERROR)
    above = [  # P(S1 >= c) and P(S2 >= hi, S1 <= c - 1)
        (binom.sf(c - 1, N, ERROR), np.sum(weight * off_above * binom.cdf(c - 1, j, x))) for c in range(middle, hi + 1)
    ]
    below = [(binom.cdf(d, N, ERROR), np.sum(weight * off_below * binom.sf(d, j, x))) for d in range(lo, middle + 1)]
    a, b = np.array(above), np.array(below)
    anchor, others = a[:, None, 0] + b[None, :, 0], a[:, None, 1] + b[None, :, 1]
    similarity = 1 + np.floor(((DELTA - anchor) / others).max())

    union = np.floor(DELTA / (binom.sf(hi - 1, N, ERROR) + binom.cdf(lo, N, ERROR)))
    off = off_above + off_below
    low, high = 1, 2**40
    while low < high:  # the largest k whose probability (15) is at most delta
        k = (low + high + 1) // 2
        low, high = (k, high) if np.sum(weight * (1 - (1 - off) ** k)) <= DELTA else (low, k - 1)
    return {"union": union, "similarity": similarity, "naive_bayes": float(low)}


def three_bounds(rounds: int) -> None:
    started = time.perf_counter()
    direct = direct_summation()
    slow = time.perf_counter() - started
    ours = testable_models(N, ERROR, SIMILARITY, epsilon=EPSILON, delta=DELTA).to_dict()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        testable_models(N, ERROR, SIMILARITY, epsilon=EPSILON, delta=DELTA)
        times.append(time.perf_counter() - started)
    fast = float(np.median(times))
    print(f"direct {slow:.1f} s: {direct}; heldout {1000 * fast:.1f} ms: {ours}")
    verdict("three bounds, direct summation over heldout", slow / fast, ">= 100", slow / fast >= 100)
    same = all(abs(ours[name] / direct[name] - 1) < 1e-5 for name in ("union", "similarity"))
    verdict("same counts (Naive Bayes to 1e-4: 1 - (1 - r)^k rounds)", float(same), "= 1",
            same and abs(ours["naive_bayes"] / direct["naive_bayes"] - 1) < 1e-4)  # fmt: skip

    started = time.perf_counter()
    large = testable_models(10**7, ERROR, SIMILARITY, epsilon=0.001, delta=DELTA)
    elapsed = time.perf_counter() - started
    print(f"n = 10^7: {large.to_dict()}")
    verdict("three bounds at 10^7 examples, seconds", elapsed, "< 1", elapsed < 1)


def pool_bound() -> None:
    correct = bench_similarity.losses(67, 50_000)
    started = time.perf_counter()
    result = budget(correct)
    elapsed = time.perf_counter() - started
    assert result.pool is not None
    print(f"67 x 50,000: epsilon {result.pool.epsilon}")
    verdict("whole budget of 67 models x 50,000, seconds", elapsed, "< 5", elapsed < 5)


def systems() -> np.ndarray:
    """Systems of falling skill on tasks of unequal ease (a Rasch model)."""
    rng = np.random.default_rng(0)
    ease, skill = rng.normal(scale=1.6, size=TASKS), np.linspace(1.0, -1.5, SYSTEMS)
    return rng.random((SYSTEMS, TASKS)) < 1 / (1 + np.exp(-ease - skill[:, None]))


def whole_budget(right: np.ndarray) -> str:
    """`heldout.budget` as a user calls it: Holm over all pairs, ranks, first set, the winner's drop, bounds, cover."""
    pool = budget(right).pool
    assert pool is not None
    assert pool.ranks is not None
    width = float(np.mean(pool.ranks[:, 1] - pool.ranks[:, 0]))
    return (
        f"{pool.n_significant:,} of {pool.similarity.n_pairs:,} pairs told apart (Holm), ranks {width:.1f} wide on "
        f"average, {len(pool.top[1])} may be first, winner's drop {pool.winner.expected_drop:.4f}"
    )


def evalgate(right: np.ndarray) -> str:
    table = {f"system {i}": {j: int(cell) for j, cell in enumerate(row)} for i, row in enumerate(right)}
    audit = audit_matrix(table)
    width = np.mean([row.rank_hi - row.rank_lo for row in audit.rows])
    return (
        f"bootstrap ranks {width:.1f} wide on average, each on its own, {len(audit.tie_group)} tied with the first "
        f"(each pair alone at 0.05), winner's drop {audit.winners_curse:.4f} as if all were equal and independent"
    )


def evalci(right: np.ndarray) -> str:
    rows = [(f"system {i}", j, int(cell)) for i, row in enumerate(right) for j, cell in enumerate(row)]
    found = multi_compare(pd.DataFrame(rows, columns=["model", "item_id", "score"]), method="mcnemar")
    return (
        f"{int(found.significant.sum()):,} of {len(found):,} pairs told apart (Holm, chi-squared), bootstrap intervals"
    )


def timed(run: Callable[[np.ndarray], str], table: np.ndarray) -> tuple[float, str]:
    started = time.perf_counter()
    told = run(table)
    return time.perf_counter() - started, told


def whole_leaderboard(rounds: int) -> None:
    """All pairs of 134 systems, and the same table in two other packages."""
    right = systems()
    whole_budget(right[:5])  # what is imported late is imported
    times, told = zip(*(timed(whole_budget, right) for _ in range(rounds)), strict=True)
    ours = float(np.median(times))
    print(f"{'heldout':16s} {ours:8.2f} s   {told[0]}")
    peers: dict[str, tuple[float, str]] = {}
    if lacking is None:
        evalci(right[:2])
        evalgate(right[:2])
        peers = {"eval-integrity": timed(evalgate, right)}
        few, words = timed(evalci, right[:: SYSTEMS // FEW_SYSTEMS][:FEW_SYSTEMS])
        pairs, all_of_them = FEW_SYSTEMS * (FEW_SYSTEMS - 1), SYSTEMS * (SYSTEMS - 1)
        peers["evalci"] = few * all_of_them / pairs, f"{words}; {FEW_SYSTEMS} systems timed, scaled by pairs"
    else:
        print(f"{lacking}; pip install 'heldout[bench]' for the peers")
    for name, (seconds, words) in peers.items():
        print(f"{name:16s} {seconds:8.2f} s   {words}")
    verdict(f"whole budget of {SYSTEMS} x {TASKS}, seconds", ours, "< 5", ours < 5)
    if peers:
        ratio = min(seconds for seconds, _ in peers.values()) / ours
        verdict("faster of eval-integrity and evalci over heldout", ratio, ">= 2", ratio >= 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--large", action="store_true", help="also 10,000 models x 100,000 examples")
    arguments = parser.parse_args()
    three_bounds(arguments.rounds)
    pool_bound()
    whole_leaderboard(arguments.rounds)
    bench_similarity.main(arguments.rounds, arguments.large)
