"""What each training had beside what the paper has, and how far it came: results/settings.md from the records.

python experiments/pavlitskaya/cuts.py
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import published
from networks import settings

RESULTS = Path(__file__).parent / "results"
HEAD = (
    "| network | seed | file | rates | learning rate (paper) | epochs (paper) | batch | right on the labels trained on,"
    " by rate | val, rate 0 |\n|---|---|---|---|---|---|---|---|---|"
)


def row(file: str, key: str, record: dict, curves: bool) -> str:
    name, seed = key.split("/")[:2]
    s, by_rate = record["setting"], record["summary"]
    paper = settings()[s["name"]]
    ends = sorted({v["epochs"] for v in by_rate.values()})
    epochs = (f"{ends[0]} to {ends[-1]}" if len(ends) > 1 else f"{ends[0]}") + f" ({published.epochs(name)})"
    rates = ", ".join(f"{float(r):g}" for r in by_rate) + ("; curves" if curves else "")
    right = " ".join(f"{v['pmv']:.3f}" for v in by_rate.values())
    val = next(iter(by_rate.values()))["val"]
    said = s["family"] == "vgg" or (s["family"] == "resnet" and not s["regularised"])
    learning = f"{s['rate']:g} ({paper.rate:g})" if said else f"{s['rate']:g} (not said)"
    return f"| {name} | {seed[4:]} | {file} | {rates} | {learning} | {epochs} | {s['batch']} | {right} | {val:.3f} |"


def main() -> None:
    lines = [
        "# Every training kept here, beside the published setting",
        "",
        "Written by `cuts.py` from the records. Where a network is shown with fewer epochs than others of its row, its "
        "labels were fitted (99.95 % in two epochs running) and it stopped.",
        "",
        HEAD,
    ]
    for path in sorted(RESULTS.glob("*.npz")):
        if path.stem.startswith("weights"):
            continue
        with np.load(path) as f:
            for key in sorted(k for k in f.files if k.endswith("/record")):
                curves = key.replace("record", "curves/spatial") in f.files
                lines.append(row(path.stem, key, json.loads(str(f[key])), curves))
    (RESULTS / "settings.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
