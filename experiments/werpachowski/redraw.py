"""Figures 5 and 6 from results/results.json, and the tables of README.md from it and from results/sweep.json.

PYTHONPATH=src:. python experiments/werpachowski/redraw.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from figures import draw_figure5, draw_figure6
from measures import at_strength
from published import PUBLISHED

from experiments.pages import fill, table

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"


def settings(sweep: dict[str, Any]) -> str:
    """What the p-values at strength 6 depend on."""
    rows = []
    for r in sweep["rows"]:
        at = r["strength"]
        six = [f"{at['6']['mean_T']:.4f}", *(f"{at['6'][key]:.3f}" for key in ("mean_p", "median_p", "p_all"))]
        rows.append(
            [r["init"], r["optimizer"], r["residual"], *six, f"{at['5']['mean_p']:.3f}", f"{at['10']['mean_p']:.4f}"]
        )
    head = ["initial weights", "RMSProp", "gradient", "mean T", "mean p, N = 1", "median", f"p, N = {sweep['runs']}"]
    return table([*head, "mean p at 5", "at 10"], rows)


def came_out(results: dict[str, Any]) -> str:
    """Strength 6, theirs and ours."""
    row = at_strength(results, "overfitted", PUBLISHED["strength"])
    rows = [
        ["mean p, N = 1", f"{row['p']['1']['mean']:.3f}", f"{PUBLISHED['mean_p_1']:.4g}"],
        ["median p, N = 1", f"{row['p']['1']['median']:.3f}", f"{PUBLISHED['median_p_1']:.4g}"],
        ["p, N = 25", *(", ".join(f"{p:.3f}" for p in of) for of in (row["p_values"]["25"], PUBLISHED["p_25"]))],
        ["p, N = 100", f"{row['p_values']['100'][0]:.3f}", f"{PUBLISHED['p_100']:.4g}"],
    ]
    return table([f"overfitted, strength {PUBLISHED['strength']:g}", "ours", "published"], rows)


def by_strength(results: dict[str, Any]) -> str:
    """Mean p of single runs, and the errors."""
    rows = []
    for case in ("overfitted", "independent"):
        found = results[case]
        p = {r["strength"]: r["p"]["1"]["mean"] for r in found["by_strength"]}
        lowest = min(min(r["p_values"]["1"]) for r in found["by_strength"])
        error = found["by_strength"][0]["test_error"]["mean"]
        cells = [f"{p[s]:.2g}" for s in SHOWN]
        rows.append([case, *cells, f"{lowest:.2g}", f"{error:.3f}", f"{found['expected_error']['mean']:.3f}"])
    return table(["mean p (N = 1) at strength", *(f"{s:g}" for s in SHOWN), "lowest single p", "R_S", "R"], rows)


SHOWN = (2.0, 5.0, 7.0, 8.0, 10.0, 50.0, 75.0, 100.0)


def main() -> None:
    results = json.loads((RESULTS / "results.json").read_text())
    draw_figure5(results, RESULTS / "figure5.png")
    draw_figure6(results, RESULTS / "figure6.png")
    made = {
        "settings": settings(json.loads((RESULTS / "sweep.json").read_text())),
        "came out": came_out(results),
        "by strength": by_strength(results),
    }
    fill(HERE / "README.md", made)


if __name__ == "__main__":
    main()
