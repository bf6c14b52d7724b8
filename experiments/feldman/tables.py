"""The tables of README.md from results/*.json: `PYTHONPATH=src:. python -m experiments.feldman.tables`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments.pages import fill, table

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
    largest = {(row["k"], row["m"]): row["largest_t"] for row in found["rows"]}
    rows = [[str(k), *(str(largest[k, m]) for m in classes)] for k in sorted({row["k"] for row in found["rows"]})]
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
        "imagenet": imagenet(),
        "least sure": least_sure(),
        "reconstruction": reconstruction(),
    }
    fill(HERE / "README.md", made)


if __name__ == "__main__":
    main()
