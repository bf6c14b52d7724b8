"""What exposure costs: effective tables with given margins a second beside R's RaschSampler, and a large board.

python benchmarks/bench_exposure.py [--rounds 3] [--large]

RaschSampler (Debian: r-cran-raschsampler) draws the same tables by swaps; it knows no strata, so neither do we here.
Both are timed in seconds of one core, and samples are corrected for the autocorrelation of one model's successes on
what it could have seen. Without the results of LiveCodeBench in ../shared a simulated board of the same size is taken;
without R only our side is timed.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from common import verdict

from heldout import exposure
from heldout.statistics import margin_kernels
from heldout.statistics.margin_trades import popcounts
from heldout.statistics.margins import MarginChains

LIVE = Path(__file__).resolve().parents[2] / "shared" / "data" / "livecodebench_apr2024.npz"
MODEL = "DSCoder-33b-Base"
RASCH = """
suppressMessages(library(RaschSampler))
x <- as.matrix(read.csv("{folder}/x.csv", header = FALSE))
e <- scan("{folder}/e.csv", quiet = TRUE)
dimnames(x) <- NULL
cpu <- function() sum(proc.time()[c("user.self", "sys.self")])
started <- cpu()
drawn <- rsampler(x, rsctrl(burn_in = 100, n_eff = {n}, step = 16, seed = {seed}))
cat(cpu() - started, "\\n")
s <- unlist(rstats(drawn, function(t) sum(t[, {column}] * e)))
cat(s[-1], "\\n")
"""


def board() -> tuple[np.ndarray, np.ndarray, int]:
    """(models, items) right, who could have seen what, and the model that is looked at."""
    if LIVE.exists():
        with np.load(LIVE) as d:
            seen = d["dates"][None] <= d["cutoff"][:, None]
            return (d["pass1"] >= 50).astype(np.uint8), seen, d["models"].tolist().index(MODEL)
    rng = np.random.default_rng(0)
    logit = rng.normal(-1.5, 1, (45, 1)) - rng.normal(0, 2, 400)
    seen = np.arange(400) < np.where(np.arange(45) < 13, 162, 0)[:, None]
    return (rng.random((45, 400)) < 1 / (1 + np.exp(-logit))).astype(np.uint8), seen, 0


def correlation_time(series: np.ndarray) -> float:
    """1 + 2 sum of autocorrelations, cut where it first exceeds a fifth of the lag (Sokal); rows are chains."""
    centred = series - series.mean()
    n, tau = series.shape[1], 1.0
    for lag in range(1, n // 3):
        tau += 2 * float((centred[:, lag:] * centred[:, :-lag]).mean() / (centred**2).mean())
        if lag > 5 * tau:
            break
    return max(1.0, tau)


def ours(x: np.ndarray, e: np.ndarray, row: int, seed: int) -> float:
    """Effective tables a second: 100 chains of 400 rounds, one look each round."""
    chains = MarginChains(x)
    stack = np.repeat(chains.bits[None], 100, axis=0)
    flags = chains.packed(np.where(np.arange(len(x))[:, None] == row, e, False))[row]
    rng = np.random.default_rng(seed)
    sums, spent = [], 0.0
    for turn in range(450):
        keys = rng.integers(0, 2**64, len(stack), dtype=np.uint64)
        started = time.process_time()
        margin_kernels.walk(stack, keys, 1, chains.bounds, chains._there, chains._tilt, chains._odds, False)
        spent += (time.process_time() - started) * (turn >= 50)
        sums.append(popcounts(stack[:, row] & flags).sum(axis=1))
    tau = correlation_time(np.array(sums[50:], dtype=float).T)
    print(f"ours: {1e6 * spent / 400 / len(stack):.1f} µs a round, autocorrelation time {tau:.1f} rounds")
    return 400 * len(stack) / spent / tau


def theirs(x: np.ndarray, e: np.ndarray, row: int, seed: int, n: int = 4000) -> float:
    """RaschSampler's, its tables being items x models."""
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(f"{folder}/x.csv", x.T, fmt="%d", delimiter=",")
        np.savetxt(f"{folder}/e.csv", e.astype(int), fmt="%d")
        code = RASCH.format(folder=folder, n=n, seed=seed, column=row + 1)
        out = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=True).stdout.splitlines()
    tau = correlation_time(np.array(out[1].split(), dtype=float)[None])
    print(f"RaschSampler, step 16: {1e6 * float(out[0]) / n:.0f} µs a table, autocorrelation time {tau:.1f} tables")
    return n / float(out[0]) / tau


def large(n_resamples: int = 999) -> None:
    """200 models x 10,000 items in 100 families, everything that the verb does, the scan too."""
    rng = np.random.default_rng(1)
    k, n = 200, 10_000
    dates = np.sort(rng.random(n))
    cutoffs = np.where(np.arange(k) % 2 == 0, rng.choice(np.linspace(0.1, 0.6, 8), k), -1.0)
    logit = rng.normal(size=(k, 1)) - rng.normal(size=n) - dates
    right = rng.random((k, n)) < 1 / (1 + np.exp(-logit))
    days = (np.datetime64("2022-01-01") + (700 * dates).astype(int)).astype(str)
    until = (np.datetime64("2022-01-01") + (700 * cutoffs).astype(int)).astype(str)
    asked = {"dates": days.tolist(), "cutoffs": until.tolist(), "families": [f"f{i // 2}" for i in range(k)]}
    exposure(right[:, ::100], **{**asked, "dates": days[::100].tolist()}, n_resamples=19)  # compiles
    started, cpu = time.perf_counter(), time.process_time()
    found = exposure(right, **asked, n_resamples=n_resamples, n_jobs=2)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(found.summary().headline, f"p = {found.p_value:.3g}")
    verdict("200 models x 10,000 items, B = 999, two cores, seconds", seconds, "< 120", seconds < 120)
    print(f"CPU time of both: {cpu:.0f} s")
    verdict("the same, peak memory in GB", peak, "< 1", peak < 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="the large board only")
    args = parser.parse_args()
    if not args.large:
        x, seen, row = board()
        ours(x, seen[row], row, 99)  # compiles
        rates = []
        for seed in range(args.rounds):
            mine = ours(x, seen[row], row, seed)
            if shutil.which("Rscript") is None:
                print(f"{mine:,.0f} effective tables a second; Rscript is not installed, so there is no other side")
                continue
            other = theirs(x, seen[row], row, seed)
            rates.append(mine / other)
            print(f"effective tables a second: {mine:,.0f} and {other:,.0f}")
        if rates:
            ratio = float(np.median(rates))
            verdict("effective tables a second, times RaschSampler's", ratio, "> 15", ratio > 15)
    large()


if __name__ == "__main__":
    main()
