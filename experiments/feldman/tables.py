"""The tables of README.md from results/*.json: `PYTHONPATH=src:. python -m experiments.feldman.tables`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments.pages import fill, table
from heldout.attack.forecast import detectability, forced_choice

HERE = Path(__file__).resolve().parent


def load(name: str) -> Any:
    return json.loads((HERE / "results" / name).read_text())


def gained(row: dict[str, Any]) -> list[str]:
    """Points at the last answer, simulated and forecast."""
    return [f"{100 * row['advantage'][-1]:z.2f} ± {100 * row['std'][-1]:.2f}", f"{100 * row['forecast_gain'][-1]:z.2f}"]


def prior_free() -> str:
    by_set: dict[tuple[int, int], dict[str, Any]] = {}
    for row in load("prior_free.json"):
        by_set.setdefault((row["n_examples"], row["n_classes"]), {})[row["attack"]] = row
    rows = []
    for (n, m), of in by_set.items():
        attacks = ("nb", "majority", "linear-scan")
        cells = [cell for attack in attacks for cell in (gained(of[attack]) if attack in of else ("", ""))]
        rows.append([f"{n:,}", f"{m:,}", *cells])
    head = ["n", "m", "naive Bayes", "forecast", "majority", "forecast", "linear scan", "expected"]
    return table(head, rows)


def named_seldom(n: int = 10_000, m: int = 1_000) -> str:
    """Points gained by the fewest answers, where a label is named but a few times."""
    (row,) = [r for r in load("prior_free.json") if (r["attack"], r["n_examples"], r["n_classes"]) == ("nb", n, m)]
    k = row["queries"][0]
    choice = forced_choice(detectability(k, n, m), m) - 1 / m
    cells = [f"{100 * v:.3f}" for v in (row["advantage"][0], choice, row["forecast_gain"][0])]
    return table(["n", "m", "answers", "simulated", "forced choice", "forecast"],
                 [[f"{n:,}", f"{m:,}", str(k), *cells]])  # fmt: skip


def imagenet() -> str:
    rows = []
    for row in load("imagenet.json")["rows"]:
        published = "" if row["published"] is None else f"{row['published']:.2f}"
        forecast = f"{100 * (row['forecast'][-1] - row['baseline']):z.2f}"
        rows.append([row["name"], published, f"{100 * row['baseline']:.1f}", gained(row)[0], forecast])
    last = load("imagenet.json")["rows"][0]["queries"][-1]
    head = [f"after {last:,} answers", "published gain", "accuracy before, %", "gain here, points", "forecast"]
    return table(head, rows)


def reconstruction() -> str:
    found = load("reconstruction.json")
    classes = sorted({row["m"] for row in found["rows"]})
    told = {
        (row["k"], row["m"]): f"{row['largest_t']} ({row['largest_t'] / row['determined']:.2f})"
        for row in found["rows"]
    }
    rows = [[str(k), *(told[k, m] for m in classes)] for k in sorted({row["k"] for row in found["rows"]})]
    return table(["answers", *(f"m = {m}" for m in classes)], rows)


def least_sure() -> str:
    """Why less is gained than published: how the attacked points are before an answer."""
    found = load("imagenet.json")
    rows = []
    share = [f"{100 * found['accuracy'][f'top_{r}']:.1f}" for r in (1, 2, 4, 5)]
    rows.append([f"all points, {found['base']}", *share])
    for row in found["rows"]:
        if row["name"] in ("10,000 points, R = 2", "10,000 points, R = 2, eleven voters"):
            voters = "eleven voters" if "eleven" in row["name"] else "four voters"
            rows.append([f"the 10,000 least sure, {voters}", *(f"{100 * s:.1f}" for s in row["top_r_share"])])
    return table(["right label is, %", "first", "in the first 2", "4", "5"], rows)


def main() -> None:
    made = {
        "prior-free": prior_free(),
        "named seldom": named_seldom(),
        "imagenet": imagenet(),
        "least sure": least_sure(),
        "reconstruction": reconstruction(),
    }
    fill(HERE / "README.md", made)


if __name__ == "__main__":
    main()
