"""Figures 1 to 4 on real pools, from results/pools.json: results/figure1.png to figure4.png, and figure1-language.png.

PYTHONPATH=src:. python -m experiments.mania.figures
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments.mania.pools import BIN, IMAGENET, RESULTS
from experiments.pages import save

BOUNDS = {"union": "union bound", "similarity": "similarity", "naive_bayes": "Naive Bayes"}
COLOURS = {"union": "tab:gray", "similarity": "tab:blue", "naive_bayes": "tab:orange"}
PICTURES = ("ImageNet", "CIFAR-10")
LANGUAGE = ("MMLU-Pro", "Open LLM")
SEARCH = "CIFAR-10, random search"


def title(found: dict[str, Any], name: str) -> str:
    return f"{name}: {found[name]['models']:,} models, {found[name]['examples']:,} examples"


def pairs(axis: Any, of: dict[str, Any]) -> None:
    """Figure 1a: pairs by similarity, as they are and as they were if errors were independent."""
    for key, mean, colour, label in (
        ("pairs_independent", "independent", "tab:gray", "if errors were independent"),
        ("pairs_alike", "similarity", "tab:blue", "as they are"),
    ):
        counts = np.array(of[key]["counts"])
        start = of[key]["from"]
        axis.stairs(counts / counts.sum(), start + BIN * np.arange(len(counts) + 1), fill=True, alpha=0.6, color=colour,
                    label=f"{label}, mean {of[mean]:.2f}")  # fmt: skip
        axis.axvline(of[mean], color=colour, lw=1)
    axis.set(xlabel="similarity of two models", ylabel="share of pairs")
    axis.legend(fontsize=8, loc="upper left")
    axis.set_ylim(0, 1.3 * axis.get_ylim()[1])


def testable(axis: Any, rows: dict[str, dict[str, float | None]], epsilon: float) -> None:
    """Figure 1b: how many models fit. From 0 where the counts are of one size; else as points, as a bar has no foot."""
    table = {b: np.array([np.nan if of[b] is None else of[b] for of in rows.values()]) for b in BOUNDS}
    known = np.concatenate(list(table.values()))
    wide = np.nanmax(known) > 20 * np.nanmin(known)
    for i, (bound, label) in enumerate(BOUNDS.items()):
        at = np.arange(len(rows)) + 0.27 * (i - 1)
        if wide:
            axis.plot(at, table[bound], "o", color=COLOURS[bound], label=label)
        else:
            axis.bar(at, table[bound], 0.25, color=COLOURS[bound], label=label)
        for x, v in zip(at, table[bound], strict=True):
            if not np.isnan(v):
                axis.annotate(f"{v:,.0f}" if v < 1e6 else f"{v:.1e}", (x, v), (0, 6), textcoords="offset points",
                              ha="center", va="bottom", fontsize=7, rotation=90)  # fmt: skip
    axis.set_xticks(range(len(rows)), list(rows))
    axis.set(yscale="log" if wide else "linear", ylabel=f"testable models at ±{epsilon:g}, 95 %")
    low, high = np.nanmin(known), np.nanmax(known)
    axis.set_ylim(*((low / 3, high * (high / low) ** 0.35) if wide else (0, 1.35 * high)))
    axis.set_xlim(-0.6, len(rows) - 0.4)
    axis.legend(fontsize=8)


def figure1(found: dict[str, Any], names: tuple[str, ...]) -> Any:
    from matplotlib.figure import Figure  # only here and below: the numbers do not need it

    figure = Figure(figsize=(11, 4 * len(names)), layout="constrained")
    for (a, b), name in zip(figure.subplots(len(names), 2, squeeze=False), names, strict=True):
        of = found[name]
        pairs(a, of)
        a.set_title(title(found, name), fontsize=10)
        rows = {"the paper's\nmeans": found["published"]["section 5.1"]} if name == "ImageNet" else {}
        if of["equal"]:
            rows["as if all\nwere equal"] = of["equal"]
        testable(b, rows | {"models\nlike these": of["like_these"]}, of["epsilon"])
    return figure


def figure2(found: dict[str, Any]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    curves = (("by_similarity", "similarity"), ("by_epsilon", "epsilon"))
    for axis, (key, label) in zip(figure.subplots(1, 2), curves, strict=True):
        curve = {
            k: np.array([np.nan if v is None else v for v in values]) for k, values in found["published"][key].items()
        }
        for bound in ("similarity", "naive_bayes"):
            axis.plot(curve["x"], curve[bound] / curve["union"], ".-", color=COLOURS[bound], label=BOUNDS[bound])
        axis.axvline(IMAGENET[label], color="black", lw=0.8, ls=":")
        axis.set(yscale="log", xlabel={"similarity": "similarity", "epsilon": "ε"}[label],
                 ylabel="testable models, over the union bound's")  # fmt: skip
        fixed = f"ε = {IMAGENET['epsilon']:g}" if key == "by_similarity" else f"similarity {IMAGENET['similarity']:g}"
        axis.set_title(f"n = {IMAGENET['n']:,}, error {IMAGENET['error']:g}, {fixed}", fontsize=10)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    return figure


def figure3(found: dict[str, Any]) -> Any:
    from matplotlib.figure import Figure

    names = [n for n in (SEARCH, "CIFAR-10", "CIFAR-10, our networks", "CIFAR-10, one recipe", *LANGUAGE) if n in found]
    figure = Figure(figsize=(11, 3.2 * len(names)), layout="constrained")
    for (a, b), name in zip(figure.subplots(len(names), 2), names, strict=True):
        of = found[name]
        pairs(a, of)
        a.set_title(title(found, name), fontsize=10)
        eta, size = of["cover"]["eta"], of["cover"]["size"]
        b.step([0, *eta], [size[0], *size], where="pre", color="tab:blue", label="cover found")
        b.axhline(of["models"], color="black", lw=0.8, ls=":", label="all models")
        b.axvline(of["similarity"], color="tab:blue", lw=0.8, ls="--", label="mean similarity")
        b.set(
            xlabel="η",
            ylabel="models that cover all at η",
            xlim=(min(of["independent"], eta[0]) - 0.02, 1.0),
            ylim=(0, None),
        )
        b.legend(fontsize=8, loc="upper left")
        b.grid(alpha=0.3)
    return figure


def figure4(found: dict[str, Any]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8), layout="constrained")
    for axis, name in zip(figure.subplots(2, 2).flat, (*PICTURES, *LANGUAGE), strict=True):
        of = found[name]
        counts = np.array(of["difficulty"])
        wrong = np.arange(len(counts))
        axis.step(wrong, counts.cumsum() / counts.sum(), where="post", label="as they are")
        if of["forecast"]:
            axis.plot(wrong, of["forecast"], color=COLOURS["naive_bayes"], lw=1, label="by Assumption A1")
        axis.set(
            xlabel="models that are wrong, at most",
            ylabel="share of examples",
            ylim=(0, 1.02),
            xlim=(0, len(counts) - 1),
        )
        axis.set_title(title(found, name), fontsize=10)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8, loc="lower right")
    return figure


def draw(folder: Path = RESULTS) -> None:
    found = json.loads((folder / "pools.json").read_text())
    save(figure1(found, PICTURES), folder / "figure1.png")
    save(figure1(found, LANGUAGE), folder / "figure1-language.png")
    save(figure2(found), folder / "figure2.png")
    save(figure3(found), folder / "figure3.png")
    save(figure4(found), folder / "figure4.png")


if __name__ == "__main__":
    draw()
