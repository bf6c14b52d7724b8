"""How often memorised items are found: `python -m experiments.options.power` writes results/power.json.

`--figure` draws results/power.svg from it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments.options.worlds import benchmark
from heldout.statistics import arrangement_tests, orbit_test, order_ranks

RESULTS = Path(__file__).resolve().parent / "results"
N, ALPHA = 500, 0.01
RESAMPLES, FEWER = 999, 199  # the curve has fewer draws, and is a little lower for it
ASKED = {
    "10 % memorised in their order": {"memorised": 0.1},
    "10 % memorised by letter": {"memorised": 0.1, "letters": True},
    "10 % memorised, bias and skewed positions": {"memorised": 0.1, "bias": True, "skewed": True},
    "10 % memorised, 8 drawn orders": {"memorised": 0.1, "orders": 8},
}
SHARES = (0.03, 0.06, 0.1, 0.15, 0.2)
ORDERS = (1, 2, 4, 8, "all")
TESTS = ("conditional", "conditional ranks", "Poisson-binomial")


def found(world: dict[str, Any], n_benchmarks: int, *, n_resamples: int = RESAMPLES, seed: int = 1) -> list[float]:
    """Shares of benchmarks whose p is at most `ALPHA`, in the order of `TESTS`."""
    p = []
    for i in range(n_benchmarks):
        rng = np.random.default_rng([seed, i])
        made = benchmark(rng, n=N, **world)
        values = np.stack([made.wrong.astype(np.float64), order_ranks(made.starts, made.scores)])
        errors, ranks = arrangement_tests(
            made.starts, made.positions, values, strata=made.strata, n_resamples=n_resamples, rng=rng
        )
        p.append((errors.p_value, ranks.p_value, orbit_test(made.wrong, starts=made.starts).p_value))
    return (np.array(p) <= ALPHA).mean(axis=0).round(4).tolist()


def figure() -> None:
    """The curve over the memorised share, a line for each number of orders."""
    from matplotlib import rc_context  # only here: the numbers do not need it
    from matplotlib.figure import Figure

    made = json.loads((RESULTS / "power.json").read_text())
    page = Figure(figsize=(6.4, 4.0), layout="constrained")
    ax = page.subplots()
    for orders in ORDERS:
        rows = [row for row in made["curve"] if row["orders"] == orders]
        name = "all 24 orders" if orders == "all" else f"{orders} other order{'s' if orders > 1 else ''}"
        ax.plot(
            [100 * row["memorised"] for row in rows], [row["rates"]["conditional"] for row in rows], "o-", label=name
        )
    ax.set_xlabel(f"items memorised in their printed order, % of {N}")
    ax.set_ylabel(f"share of benchmarks with p ≤ {ALPHA:g}")
    ax.set_ylim(0, 1.02)
    ax.set_xlim(0, None)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "options"}):
        page.savefig(RESULTS / "power.svg", metadata={"Date": None, "Creator": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmarks", type=int, default=600)
    parser.add_argument("--figure", action="store_true", help="only draw what is there")
    args = parser.parse_args()
    if not args.figure:
        made: dict[str, Any] = {"items": N, "alpha": ALPHA, "resamples": [RESAMPLES, FEWER], "asked": [], "curve": []}
        for name, world in ASKED.items():
            rates = dict(zip(TESTS, found(world, args.benchmarks), strict=True))
            made["asked"].append({"world": name, "benchmarks": args.benchmarks, "rates": rates})
            print(made["asked"][-1], flush=True)
        for orders in ORDERS:
            for share in SHARES:
                n_benchmarks = args.benchmarks // 4
                shares = found({"memorised": share, "orders": orders}, n_benchmarks, n_resamples=FEWER)
                rates = dict(zip(TESTS, shares, strict=True))
                row = {"orders": orders, "memorised": share, "benchmarks": n_benchmarks, "rates": rates}
                made["curve"].append(row)
                print(row, flush=True)
        (RESULTS / "power.json").write_text(json.dumps(made, indent=1) + "\n")
    figure()


if __name__ == "__main__":
    main()
