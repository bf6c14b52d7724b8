"""The tables of README.md from results.json, check.json and seeds.json.

PYTHONPATH=src:. python -m experiments.demo.tables
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scipy.stats import binom

from experiments.pages import fill, table

HERE = Path(__file__).resolve().parent
LEVEL = 0.05


def load(name: str) -> Any:
    return json.loads((HERE / name).read_text())


def accuracies() -> str:
    found = load("results.json")["models"]
    parts = {"train": "training", "test": "test", "control": "control"}
    rows = [[name, *(f"{of['accuracy'][part]:.4f}" for part in parts)] for name, of in found.items()]
    return table(["accuracy", *parts.values()], rows)


def brute_force() -> str:
    rows = []
    for name, of in load("check.json").items():
        mean = {part: f"{of[part]['mean_T']:+.4f} (z = {of[part]['z']:.1f})" for part in ("test", "control")}
        alone, known, against = of["test"], of["control"], of["test_minus_control"]
        p = alone["bernstein_p"], alone["betting_p"], known["betting_p"], against["permutation_p"]
        shown = [f"{value:.2g}" for value in p]
        rows.append([name, mean["test"], *shown[:2], mean["control"], *shown[2:]])
    head = ["", "mean T, test", "Bernstein p", "betting p", "mean T, control", "betting p, control"]
    return table([*head, "test against control, permutation p on T"], rows)


def seeds() -> str:
    """Honest models that are accused."""
    found = load("seeds.json")
    alarms = {
        "verdict against the control": sum(row["p_value"] <= LEVEL for row in found),
        "betting, test set alone": sum(row["betting"] <= LEVEL for row in found),
        "Bernstein, test set alone": sum(row["bernstein"] <= LEVEL for row in found),
    }
    n = len(found)
    rows = [[name, f"{k} of {n}", f"{LEVEL * n:.1f}", f"{binom.sf(k - 1, n, LEVEL):.2f}"] for name, k in alarms.items()]
    return table([f"honest models accused at {LEVEL:g}", "number", "expected at most", "chance of as many"], rows)


if __name__ == "__main__":
    fill(HERE / "README.md", {"accuracies": accuracies(), "brute force": brute_force(), "seeds": seeds()})
