"""How the overfitted p-values at strength 6 depend on what the paper does not say.

    python experiments/werpachowski/sweep.py --runs 20 --steps 50000 --out FILE.json

Trains the overfitted models of `synthetic.py` once for each initial scale, RMSProp and rounding of
the gradient below, on the same data, and writes one row each. A row is saved as soon as it is known,
and rows already in FILE with the same runs, steps and seed are kept.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measures import n_model_pvalues, project_tests, round_off
from problem import CASES, DIMENSION, Floats32, pairwise_statistics
from tqdm import tqdm
from training import OPTIMIZERS, RUNS_AT_ONCE, Progress, train_group

from heldout.files import write_text

OVERFITTED = 1  # its index in CASES
ROWS = (  # init, optimizer, residual
    ("0.1", "tf1", "zero-one"),
    ("glorot-uniform", "tf1", "zero-one"),
    ("glorot-uniform", "tf1", "exact"),
    ("0.1", "tf1", "exact"),
    ("glorot-uniform", "tf1", "sigmoid"),
    ("truncated-0.1", "tf1", "zero-one"),
    ("sonnet", "tf1", "zero-one"),
    ("sonnet", "tf1", "exact"),
    ("0.2", "tf1", "exact"),
    ("glorot-uniform", "keras", "exact"),
    ("glorot-uniform", "torch", "exact"),
    ("zeros", "tf1", "exact"),
    ("1", "tf1", "exact"),
)


def train_overfitted(runs: int, steps: int, seed: int, row: tuple[str, str, str]) -> Floats32:
    """The final weights (n_runs, d + 1) of the overfitted models."""
    init, optimizer, residual = row
    d = DIMENSION + 1
    progress = Progress(
        weights=np.zeros((len(CASES), runs, d), dtype=np.float32),
        squares=np.zeros((RUNS_AT_ONCE, d), dtype=np.float32),
        case=OVERFITTED,
    )
    options: dict[str, Any] = {
        "init": init,
        "optimizer": OPTIMIZERS[optimizer],
        "residual": residual,
    }
    with tqdm(total=runs * steps, desc=" ".join(row), unit="step", unit_scale=True) as bar:
        while progress.run < runs:
            group, before = min(RUNS_AT_ONCE, runs - progress.run), 0
            for step in train_group(progress, seed=seed, steps=steps, **options):
                bar.update((step - before) * group)
                before = step
            progress.run, progress.step = progress.run + group, 0
    return progress.weights[OVERFITTED]


def measure_row(weights: Floats32, seed: int) -> dict[str, Any]:
    """Mean T and the p-values of N = 1 and N = all at strengths 5, 6, 7 and 10."""
    at = project_tests(weights, OVERFITTED, seed)
    found: dict[str, Any] = {}
    for strength in (5.0, 6.0, 7.0, 10.0):
        T = pairwise_statistics(at, strength=strength).T
        single = np.array(n_model_pvalues(T, 1))
        numbers = {
            "mean_T": T.mean(),
            "sd_of_mean_T": T.mean(axis=1).std(),
            "mean_p": single.mean(),
            "median_p": np.median(single),
            "p_all": n_model_pvalues(T, len(T))[0],
        }
        found[f"{strength:g}"] = {k: round_off(float(v)) for k, v in numbers.items()}
    return found


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args(argv)
    header = {"runs": args.runs, "steps": args.steps, "seed": args.seed}
    table: dict[str, Any] = {**header, "rows": []}
    if args.out.exists():
        stored = json.loads(args.out.read_text(encoding="utf-8"))
        table = stored if all(stored[k] == v for k, v in header.items()) else table
    known = {(r["init"], r["optimizer"], r["residual"]) for r in table["rows"]}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    for row in ROWS:
        if row in known:
            continue
        weights = train_overfitted(args.runs, args.steps, args.seed, row)
        named = dict(zip(("init", "optimizer", "residual"), row, strict=True))
        table["rows"].append({**named, "strength": measure_row(weights, args.seed)})
        write_text(args.out, json.dumps(table, indent=1) + "\n")
    for r in table["rows"]:
        six = r["strength"]["6"]
        print(
            f"| {r['init']} | {r['optimizer']} | {r['residual']} | {six['mean_T']:.4f} | {six['mean_p']:.3f} "
            f"| {six['median_p']:.3f} | {six['p_all']:.3f} |"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
