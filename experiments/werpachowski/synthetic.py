"""The synthetic problem of Werpachowski et al. (arXiv:1903.02380v1, section 4), figures 5 and 6.

    python experiments/werpachowski/synthetic.py --runs 100 --steps 50000 --out DIR

Linear classifiers in R^500, where the density h_g is known in closed form, so that the independence
test can be watched at work: on a model that never saw its test set, and on one that was trained on
half of it. Writes `figure5.png`, `figure6.png` and `results.json`; the figures are drawn from the
numbers in `results.json` and from nothing else. README.md says what came out.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# A step works on 100 x 500 matrices, too small to share: two BLAS threads are slower than one.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from figures import draw_figure5, draw_figure6
from measures import at_strength, summarise
from problem import CASES, DIMENSION
from published import PUBLISHED
from training import INITS, OPTIMIZERS, RESIDUALS, initial_weights, train

from heldout.errors import InputError
from heldout.files import write_text


def report(results: dict[str, Any]) -> str:
    """The numbers the paper prints, beside ours."""
    row, ours = at_strength(results, "overfitted", PUBLISHED["strength"]), []
    ours.append(("mean p, N = 1", row["p"]["1"]["mean"], PUBLISHED["mean_p_1"]))
    ours.append(("median p, N = 1", row["p"]["1"]["median"], PUBLISHED["median_p_1"]))
    if "100" in row["p_values"]:
        ours.append(("p, N = 100", row["p_values"]["100"][0], PUBLISHED["p_100"]))
    lines = ["overfitted, strength 6           ours   published"]
    lines += [f"{name:28s} {value:8.4f}  {published:9.4f}" for name, value, published in ours]
    lowest = min(r["p"]["1"]["mean"] for r in results["independent"]["by_strength"])
    lines.append(f"independent: lowest mean p over all strengths {lowest:.4f}")
    middle = [r for r in results["overfitted"]["by_strength"] if 10.0 <= r["strength"] <= 50.0]
    highest = max(r["p"]["1"]["mean"] for r in middle)
    lines.append(f"overfitted: highest mean p at strengths 10 to 50 {highest:.2g}")
    for case in CASES:
        found = results[case.name]
        error = found["by_strength"][0]["test_error"]["mean"]
        lines.append(f"{case.name}: R_S {error:.4f}, expected error {found['expected_error']['mean']:.4f}")
    return "\n".join(lines)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    names = ", ".join(INITS)
    parser.add_argument("--init", default="0.1", help=f"initial weights: {names}, or a standard deviation")
    parser.add_argument("--optimizer", choices=sorted(OPTIMIZERS), default="tf1", help="whose RMSProp")
    parser.add_argument(
        "--residual",
        choices=sorted(RESIDUALS),
        default="zero-one",
        help="rounding of dc/dz; its default and that of --init were fitted to the published p-values",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the figures and results.json")
    parser.add_argument("--resume", action="store_true", help="go on from OUT/checkpoint.npz if there is one")
    parser.add_argument(
        "--checkpoint-seconds", type=float, default=60.0, help="time between two checkpoints (default: 60)"
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    names = ("runs", "steps", "seed", "init", "optimizer", "residual")
    settings = {name: getattr(args, name) for name in names}
    try:
        if args.runs < 1 or args.steps < 1:
            raise InputError(f"`runs` is {args.runs} and `steps` {args.steps}; both must be at least 1.")
        initial_weights(args.init, DIMENSION, rng=np.random.default_rng(0))  # a wrong name fails now
        args.out.mkdir(parents=True, exist_ok=True)
        weights = train(
            settings,
            checkpoint=args.out / "checkpoint.npz",
            resume=args.resume,
            seconds_between=args.checkpoint_seconds,
        )
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    results = summarise(weights, settings)
    write_text(args.out / "results.json", json.dumps(results, separators=(",", ":"), allow_nan=False) + "\n")
    draw_figure5(results, args.out / "figure5.png")
    draw_figure6(results, args.out / "figure6.png")
    print(report(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
