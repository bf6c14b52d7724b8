"""Figure 1 and the supplement's prior-free figures, simulated, with forecasts; and the ImageNet attack on real ranks.

python experiments/feldman/reproduce.py [SHARED_DATA] [--only prior-free imagenet figures]

Writes results/prior_free.json, results/imagenet.json, and the figures from what is there.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from experiments.feldman import imagenet
from experiments.pages import save
from heldout import StressRun, stress
from heldout.attack.ranks import prior_from_ranks

RESULTS = Path(__file__).parent / "results"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
PUBLISHED = {"all points, all labels": 0.42, "10,000 points, all labels": 1.44, "10,000 points, R = 2": 3.0}
QUERIES = 5200


def plain(run: StressRun, **more: object) -> dict[str, object]:
    return {"trials": run.trials, **more, **run.to_dict()}


def write(name: str, content: object) -> None:
    (RESULTS / name).write_text(json.dumps(content, indent=1) + "\n")


def prior_free(trials: int) -> None:
    rows = []
    for n in (10_000, 50_000):
        for m in (2, 10, 100, 1000):
            for attack in ("nb", "majority", "linear-scan") if m == 2 else ("nb", "linear-scan"):
                run = stress(n, m, queries=10_000, trials=trials, attack=attack, progress=True).run
                rows.append(plain(run))
                print(n, m, attack, run.mean[-1], run.forecast[-1], flush=True)
                write("prior_free.json", rows)


def imagenet_attack(data: Path, trials: int) -> None:
    top5, labels, models = imagenet.load(data)
    base, pattern = imagenet.patterns(top5, models)
    prior = imagenet.cross_fitted(base, pattern, labels)
    aims: dict[str, dict[str, int]] = {"all points, all labels": {}, "10,000 points, all labels": {"points": 10_000}}
    for top in (2, 4, 5):
        aims[f"all points, R = {top}"] = {"top": top}
        aims[f"10,000 points, R = {top}"] = {"top": top, "points": 10_000}
    rows = []
    for name, aim in aims.items():
        run = stress(labels=labels, prior=prior, queries=QUERIES, trials=trials, progress=True, **aim).run
        points = np.sort(prior.max(axis=1))[: run.points]
        attacked = np.argsort(prior.max(axis=1), kind="stable")[: run.points]
        inside = [float((base[attacked, :r] == labels[attacked, None]).any(axis=1).mean()) for r in (1, 2, 4, 5)]
        rows.append(
            plain(run, name=name, published=PUBLISHED.get(name), confidence_below=float(points[-1]), top_r_share=inside)
        )
        print(name, 100 * run.advantage[-1], 100 * (run.forecast[-1] - run.baseline), inside, flush=True)
        write("imagenet.json", {"rows": rows})
    best = aims["10,000 points, R = 2"]
    for digits in (3, 2, 1):
        run = stress(labels=labels, prior=prior, queries=QUERIES, trials=trials, digits=digits, **best).run
        rows.append(plain(run, name=f"10,000 points, R = 2, {run.answers}", published=None))
        print(digits, 100 * run.advantage[-1], 100 * (run.forecast[-1] - run.baseline), flush=True)
    everybody = tuple(name for name in models if name != imagenet.BASE)
    _, pattern = imagenet.patterns(top5, models, everybody)
    finer = imagenet.cross_fitted(base, pattern, labels)
    run = stress(labels=labels, prior=finer, queries=QUERIES, trials=trials, **best).run
    attacked = np.argsort(finer.max(axis=1), kind="stable")[: run.points]
    inside = [float((base[attacked, :r] == labels[attacked, None]).any(axis=1).mean()) for r in (1, 2, 4, 5)]
    rows.append(plain(run, name="10,000 points, R = 2, eleven voters", published=None, top_r_share=inside))
    print("eleven voters", 100 * run.advantage[-1], run.baseline, inside, flush=True)
    pooled = prior_from_ranks(top5, imagenet.CLASSES)
    run = stress(labels=labels, prior=pooled, queries=QUERIES, trials=trials, **best).run
    rows.append(plain(run, name="10,000 points, R = 2, all twelve models' ranks", published=None))
    print("pooled", 100 * run.advantage[-1], flush=True)
    share = {f"top_{r}": float((base[:, :r] == labels[:, None]).any(axis=1).mean()) for r in (1, 2, 4, 5)}
    write("imagenet.json", {"base": imagenet.BASE, "weaker": imagenet.WEAKER, "accuracy": share, "rows": rows})


def figures() -> None:
    from matplotlib.figure import Figure

    rows = json.loads((RESULTS / "prior_free.json").read_text())
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    for axis, n in zip(figure.subplots(1, 2, sharey=True), (10_000, 50_000), strict=True):
        for colour, m in enumerate((2, 10, 100, 1000)):
            for row in rows:
                if (row["n_examples"], row["n_classes"]) == (n, m) and row["attack"] in ("nb", "majority"):
                    k, gain = row["queries"], 100 * np.array(row["forecast_gain"])
                    dash = "-" if row["attack"] == "nb" else ":"
                    axis.plot(k, gain, dash, color=f"C{colour}", lw=1)
                    axis.errorbar(k, 100 * np.array(row["advantage"]), 100 * np.array(row["std"]), fmt="o", ms=3,
                                  color=f"C{colour}", mfc="white" if row["attack"] == "majority" else None,
                                  label=f"m = {m}" + (", majority" if row["attack"] == "majority" else ""))  # fmt: skip
        axis.set(
            xscale="log", yscale="log", title=f"n = {n:,}", xlabel="answers", ylabel="points gained", ylim=(0.01, 60)
        )
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    save(figure, RESULTS / "prior_free.png")

    rows = json.loads((RESULTS / "imagenet.json").read_text())["rows"]
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    for axis, aim in zip(figure.subplots(1, 2, sharey=True), ("all points", "10,000 points"), strict=True):
        named = [r for r in rows if r["name"].startswith(aim) and r["digits"] is None and r["name"].count(",") < 3]
        for colour, row in enumerate(named):
            axis.plot(row["queries"], 100 * np.array(row["forecast"]), color=f"C{colour}", lw=1)
            axis.errorbar(row["queries"], 100 * np.array(row["accuracy"]), 100 * np.array(row["std"]), fmt="o", ms=3,
                          color=f"C{colour}", label=row["name"].split(", ")[1])  # fmt: skip
        axis.set(title=f"figure 1, {aim}", xlabel="answers", ylabel="accuracy, %")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    save(figure, RESULTS / "figure1.png")

    rows = json.loads((RESULTS / "reconstruction.json").read_text())["rows"]
    figure = Figure(figsize=(6, 4.2), layout="constrained")
    axis = figure.subplots()
    for colour, m in enumerate((2, 3, 10)):
        mine = [r for r in rows if r["m"] == m]
        k = [r["k"] for r in mine]
        axis.plot(k, [r["largest_t"] for r in mine], "o-", color=f"C{colour}", ms=4, label=f"m = {m}")
        axis.plot(k, [r["determined"] for r in mine], ":", color=f"C{colour}", lw=1)
    axis.set(
        xlabel="answers", ylabel="labels recovered for certain", title="dotted: what the answers determine at most"
    )
    axis.title.set_fontsize(9)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    save(figure, RESULTS / "reconstruction.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=SHARED)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--only", nargs="+", default=["prior-free", "imagenet", "figures"])
    args = parser.parse_args()
    if "prior-free" in args.only:
        prior_free(args.trials)
    if "imagenet" in args.only:
        imagenet_attack(args.data, args.trials)
    if "figures" in args.only:
        figures()
