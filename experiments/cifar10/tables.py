"""The first table of README.md from results/*.json: `PYTHONPATH=src:. python -m experiments.cifar10.tables`."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.pages import fill, table

HERE = Path(__file__).resolve().parent


def measured() -> str:
    rows = []
    for name, where in (("resnet20-1000", "CPU"), ("resnet20-10000-cuda", "H200, `--device cuda`")):
        of = json.loads((HERE / "results" / f"{name}.json").read_text())
        errors = [f"{of[key]:.3f}" for key in ("test_error", "adversarial_estimate")]
        p = [f"{of['p_values'][key]:.2g}" for key in ("betting", "mixture", "bernstein")]
        last = [f"{of['detectable_effect']:.2g}", f"{of['evaluations_per_image']:.1f}"]
        rows.append([f"{of['n_examples']:,} ({where})", *errors, f"{of['statistic']:+.4f}", *p, *last])
    head = ["pictures", "test error", "adversarial estimate", "mean T", "betting p", "mixture p", "Bernstein p"]
    return table([*head, "detectable effect", "evaluations per picture"], rows)


if __name__ == "__main__":
    fill(HERE / "README.md", {"measured": measured()})
