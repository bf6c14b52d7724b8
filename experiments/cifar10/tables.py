"""The tables of README.md from results/*.json: `PYTHONPATH=src:. python -m experiments.cifar10.tables`."""

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


def frames() -> str:
    rows = []
    for name, of in json.loads((HERE / "results" / "frames.json").read_text()).items():
        control = of["control"]
        in_frame, untouched = (
            f"{of[a]:.3f} / {control[b]:.3f}"
            for a, b in (("test_error", "frame_error"), ("untouched_error", "untouched_error"))
        )
        p = [f"{control['p_two_sided']:.2g}", f"{control['p_error_rate']:.2g}", f"{of['p_value']:.2g}"]
        rows.append([f"`{name}`", in_frame, untouched, f"{control['difference']:+.4f}", *p])
    head = ["ResNet-20", "error in the frame, test / control", "untouched", "T, test minus control", "p of T"]
    return table([*head, "p of the error", "verdict's p"], rows)


if __name__ == "__main__":
    fill(HERE / "README.md", {"measured": measured(), "frames": frames()})
