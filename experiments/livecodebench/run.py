"""LiveCodeBench of April 2024: exposure with every model its own family and by lineage, beside the naive drop.

PYTHONPATH=src:. python experiments/livecodebench/run.py [--resamples 9999]

writes results/*.json and results/tables.md; the table itself (../shared/data) may not be shipped.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from experiments.livecodebench.lineages import lineage
from experiments.pages import fill, rounded
from experiments.pages import table as in_markdown
from heldout import ExposureResult, Predictions, exposure

HERE = Path(__file__).resolve().parent
LIVE = HERE.parents[2] / "shared" / "data" / "livecodebench_apr2024.npz"


def read() -> tuple[Predictions, dict[str, str]]:
    with np.load(LIVE) as d:
        names = d["models"].tolist()
        columns = {name: d[name].tolist() for name in ("dates", "platform", "difficulty")}
        table = Predictions.from_scores(
            d["pass1"], scale="percent", names=names, ids=d["problems"].tolist(), columns=columns
        )
        return table, dict(zip(names, d["cutoff"].tolist(), strict=True))


def drops(table: Predictions, cutoffs: dict[str, str]) -> dict[str, float]:
    """The naive drop of every model at the cutoff of DeepSeek-Coder, in points: what a split at the cutoff shows."""
    cut = max(cutoffs.values())
    before = table.columns["dates"] <= cut
    right = table.scores >= 0.5
    return {
        name: 100 * float(row[before].mean() - row[~before].mean())
        for name, row in zip(table.names, right, strict=True)
    }


def lines(alone: ExposureResult, together: ExposureResult, naive: dict[str, float]) -> list[str]:
    out = [f"B = {alone.n_resamples:,} tables, seed {alone.seed}.", ""]
    out += ["| | every model its own | by lineage |", "|---|---|---|"]
    for name, show in (
        ("families", lambda r: f"{r.n_families}"),
        ("p, margins", lambda r: f"{r.p_margins:.2g}"),
        ("p, placebo", lambda r: f"{r.p_placebo:.2g} of {r.assignments:,} assignments"),
        ("smallest p of each", lambda r: f"{r.smallest_p_margins:.2g}, {r.smallest_p:.2g}"),
        ("verdict", lambda r: r.verdict),
        ("successes on exposed problems", lambda r: f"{r.observed} ({r.expected:.1f} ± {r.spread:.1f} expected)"),
        ("log-odds ratio", lambda r: f"{r.effect_log_odds:.2f} ({r.interval[0]:.2f} to {r.interval[1]:.2f})"),
        ("negative control, p", lambda r: f"{r.control.p_value:.2g} (z = {r.control.z:.1f})"),
    ):
        out.append(f"| {name} | {show(alone)} | {show(together)} |")
    out += ["", "| problems | exposed cells | successes | expected | z |", "|---|---|---|---|---|"]
    for row in alone.to_dict()["strata"]:
        if row["spread"]:
            z = (row["observed"] - row["expected"]) / row["spread"]
            cells = (
                f"{row['exposed']}",
                f"{row['observed']}",
                f"{row['expected']:.1f} ± {row['spread']:.1f}",
                f"{z:+.1f}",
            )
            out.append(f"| {row['name']} | {' | '.join(cells)} |")
    out += ["", "| model | z, all as references | z, clean references | p | Holm | fits best | naive drop |"]
    out += ["|---|---|---|---|---|---|---|"]
    exposed = sorted((m for m in alone.models if m.exposed), key=lambda m: -m.z_all)
    for m in exposed:
        cells = (f"{m.z_all:.1f}", f"{m.z:.1f}", f"{m.p_value:.2g}", f"{m.p_holm:.2g}", f"{m.effective_cutoff}")
        out.append(f"| {m.name} | {' | '.join(cells)} | {naive[m.name]:.0f} |")
    out += ["", "| model that could have seen nothing | z as a placebo | naive drop |", "|---|---|---|"]
    for m in sorted((m for m in alone.models if not m.exposed), key=lambda m: -naive[m.name]):
        out.append(f"| {m.name} | {m.z_placebo:+.1f} | {naive[m.name]:.0f} |")
    return out


def in_short(alone: ExposureResult, together: ExposureResult, naive: dict[str, float]) -> str:
    """What the benchmark's paper says, what came out, and why they differ."""
    exposed = [m for m in alone.models if m.exposed]
    most = sorted(exposed, key=lambda m: -m.z_all)[:4]
    strata = {row["name"]: row for row in alone.to_dict()["strata"] if row["spread"]}
    z = {name: f"{(r['observed'] - r['expected']) / r['spread']:+.1f}" for name, r in strata.items()}
    others = [m for m in alone.models if not m.exposed]
    out, why = max(others, key=lambda m: m.z_placebo), "not in the paper"
    seen = f"{len(exposed)} of {len(alone.models)}"
    drop = ", ".join(f"{m.name} {naive[m.name]:.0f}" for m in most)
    by_lineage = f"p {together.p_value:.2g} of {together.assignments} assignments: {together.verdict}"
    controls = f"{alone.control.p_value:.2g}, {together.control.p_value:.2g}"
    rows = [
        [
            "models that could have seen problems",
            "DeepSeek",
            seen,
            "all with a declared cutoff after the first problem",
        ],
        ["drop at the cutoff, points", "stark, on LeetCode", drop, "the four that stand out most, on all problems"],
        ["excess by kind of problem, z", "", ", ".join(f"{name} {v}" for name, v in z.items()), why],
        ["every model its own family", "", f"p {alone.p_value:.2g}: {alone.verdict}", why],
        ["by lineage", "", by_lineage, why],
        ["negative control, p: own, by lineage", "", controls, why],
        [f"most as a placebo, of {len(others)} others", "", f"{out.name}, z {out.z_placebo:+.1f}", why],
    ]
    return in_markdown(["", "Jain et al. 2024", "ours", "why they differ"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resamples", type=int, default=9999)
    args = parser.parse_args()
    table, cutoffs = read()
    asked = {"dates": "dates", "cutoffs": cutoffs, "strata": ["platform", "difficulty"], "n_resamples": args.resamples}
    alone = exposure(table, **asked, progress=True)
    together = exposure(table, families={name: lineage(name) for name in table.names}, **asked, progress=True)
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    for name, result in (("alone", alone), ("lineages", together)):
        told = {key: value for key, value in result.to_dict().items() if key not in ("created", "version")}
        (results / f"{name}.json").write_text(json.dumps(rounded(told), indent=1) + "\n")
    text = "\n".join(lines(alone, together, drops(table, cutoffs)))
    (results / "tables.md").write_text(text + "\n")
    fill(HERE / "README.md", {"in short": in_short(alone, together, drops(table, cutoffs))})
    print(text)


if __name__ == "__main__":
    main()
