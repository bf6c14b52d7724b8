"""Figures 9 to 12 of v1 from the store, with our control where v1 has CIFAR-10.1: results/figure9.png to figure12.png.

    PYTHONPATH=src:. python experiments/werpachowski/cifar10/figures.py [RESULTS]

p by Bernstein's bound, two-sided, rule `strongest`, radius 2, with heldout's range of T (v1's is a little wider;
the third row of figure 9, with v1's correlations, has v1's).
CIFAR-10.1 has 2,000 pictures; so the control is shown whole and in random subsets of 2,000, N_SUBSETS for each number
of networks.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import published
import store
from against import groups
from evidence import N_SUBSETS, averages, p_by_v1, p_of, subsets
from kept import HERE, LEAKS, MAIN
from store import statistics

from experiments.pages import save

SMALL = published.N_NEW  # pictures of CIFAR-10.1
FEW = f"control, {SMALL:,}"
SIZES = (500, 1_000, 2_000, 3_000, 5_000, 7_500)
COLOURS = {"test": "tab:blue", "control": "tab:orange", FEW: "tab:olive", "training": "tab:green"}
LINEAR = "linear model, strength 6"  # of section 4, overfitted
COLOURS[LINEAR] = "tab:purple"
BINS = np.linspace(0.0, 1.0, 21)


def read(folders: list[Path], start: str) -> dict[str, dict[str, np.ndarray]]:
    """T (networks, pictures) and errors of the honest networks whose name starts so, by name."""
    found: dict[str, dict[str, list]] = {}
    seen = set()
    for folder in folders:
        labels = store.split(folder)
        for model in store.models(folder):
            name = model.key.split("/")[0]
            if not (name.startswith(start) and name.endswith("-leak0")) or model.key in seen:
                continue
            seen.add(model.key)
            of = found.setdefault(name, {})
            for part in ("test", "control"):
                of.setdefault(part, []).append(statistics(model[f"{part}_codes"]))
            if "rest_codes" in model:
                T = [statistics(model[f"{part}_codes"]) for part in ("train", "rest")]
                of.setdefault("training", []).append(np.concatenate(T))
            for part in ("test", "train"):
                wrong = model[f"{part}_predictions"] != labels[f"{part}_labels"]
                of.setdefault(f"{part} error", []).append(wrong.mean())
    return {name: {k: np.array(v) for k, v in of.items()} for name, of in found.items()}


def p_values(T: list[np.ndarray], pictures: int | None = None, method: str = "bernstein") -> list[float]:
    """Of each, or of N_SUBSETS random subsets of so many pictures."""
    return [p_of(t, method) for t in (T if pictures is None else (some for some, _ in subsets(T, pictures, N_SUBSETS)))]


def linear_model() -> list[float]:
    """p of the single overfitted runs of section 4 at strength 6, capped at 1; the others are not kept."""
    rows = json.loads((HERE.parent / "results" / "results.json").read_text())["overfitted"]["by_strength"]
    (at_6,) = (row for row in rows if row["strength"] == 6.0)
    return at_6["p_values"]["1"]


def figure9(of: dict[str, np.ndarray]) -> object:
    from matplotlib.figure import Figure  # only here and below: the numbers do not need it

    parts = {
        "test": (of["test"], None),
        "control": (of["control"], None),
        FEW: (of["control"], SMALL),
    }
    if "training" in of:
        parts["training"] = (of["training"], None)
    capped, free = (
        {name: p_values(list(T), pictures, method) for name, (T, pictures) in parts.items()}
        for method in ("bernstein", "bernstein_uncapped")
    )
    figure = Figure(figsize=(10, 11), layout="constrained")
    (a, b), (c, d), (e, f) = figure.subplots(3, 2)
    for axis, name in ((a, "test"), (b, "training")):
        axis.hist(capped.get(name, []), BINS, color=COLOURS[name])
        axis.set(title=f"{name} set, {len(capped.get(name, []))} networks", xlabel="p", ylabel="networks")
    capped[LINEAR] = linear_model()
    most = max(v for values in free.values() for v in values)  # 3 at most, by (8)
    for axis, found, bins, title in (
        (c, capped, BINS, "p of single networks"),
        (d, free, np.linspace(0, most, 31), "the same, not capped at 1"),
    ):
        for name, values in found.items():
            shares = np.full(len(values), 1 / len(values))
            axis.hist(values, bins, weights=shares, histtype="step", color=COLOURS[name], label=name)
        axis.set(title=title, xlabel="p", ylabel="share")
        axis.legend()
    p = [p_by_v1(T) for T in of["test"]]  # v1's correlation stands beside ours
    for axis, part in ((e, "test"), (f, "train")):
        error = 100 * of[f"{part} error"]
        r = np.corrcoef(error, p)[0, 1]
        axis.plot(error, p, ".")
        axis.set(xlabel=f"{'test' if part == 'test' else 'training'} error, %", ylabel="p, test set, v1's U")
        axis.set_title(f"correlation {100 * r:.1f} % (v1: {published.CORRELATION[part]:.1f} %)")
    return figure


Panel = dict[str, tuple[np.ndarray, int | None]]  # T of networks, and of how many pictures a subset has, by colour


def strips(panels: dict[str, Panel]) -> object:
    """p of N networks averaged: a row for each N, a point for each p, a line for their mean."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * len(panels), 4), layout="constrained")
    spread = np.random.default_rng(0)  # up and down, that points do not hide each other
    for axis, (title, panel) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        rows = []
        for size in groups(len(next(iter(panel.values()))[0])):
            for part, (T, pictures) in panel.items():
                values = p_values(averages(T, size), pictures)
                row = -len(rows)
                up = spread.uniform(-0.3, 0.3, len(values)) if len(values) > 5 else np.zeros(len(values))
                axis.plot(values, row + up, ".", color=COLOURS[part], alpha=0.4 if len(values) > 50 else 0.9)
                if len(values) > 1:
                    axis.plot([np.mean(values)] * 2, [row - 0.4, row + 0.4], color="black", linewidth=1)
                what = f"N = {size}" + (f", {part}" if len(panel) > 1 else "")
                number = f"{len(values)} subsets" if pictures else f"{len(values)} p-value{'s' * (len(values) > 1)}"
                rows.append(f"{what}\n{number}")
        axis.set_yticks(-np.arange(len(rows)), rows, fontsize="small")
        axis.set(title=title, xlabel="p (line: mean)", xlim=(-0.03, 1.03), ylim=(0.5 - len(rows), 0.5))
        axis.grid(axis="x", alpha=0.3)
    return figure


def figure10(of: dict[str, np.ndarray]) -> object:
    return strips(
        {
            "test set": {"test": (of["test"], None)},
            "control": {"control": (of["control"], None)},
            f"control, {N_SUBSETS} subsets of {SMALL:,}": {FEW: (of["control"], SMALL)},
        }
    )


def figure11(of: dict[str, np.ndarray]) -> object:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axis = figure.subplots()
    for part in ("test", "control"):
        T = of[part].mean(axis=0)
        sizes = [n for n in SIZES if n < len(T)]
        p = np.array([p_values([T], n) for n in sizes])
        half = 1.96 * p.std(axis=1, ddof=1) / p.shape[1] ** 0.5
        means = [*p.mean(axis=1), p_of(T, "bernstein")]
        axis.errorbar([*sizes, len(T)], means, [*half, 0], marker=".", capsize=3, color=COLOURS[part], label=part)
    axis.set(xlabel="pictures", ylabel=f"p, {len(of['test'])} networks averaged", ylim=(0, None))
    axis.legend()
    return figure


def figure12(wide: dict[str, dict[str, np.ndarray]]) -> object:
    """v1 has no control here."""
    return strips(
        {
            name.removesuffix("-leak0"): {part: (of[part], None) for part in ("test", "control")}
            for name, of in sorted(wide.items())
        }
    )


def draw(folder: Path, beside: Path | None = None) -> None:
    folders = [f for f in (folder, beside) if f and any(f.glob("networks-*.npz"))]
    of = read(folders, MAIN)[f"{MAIN}-leak0"]
    figures = {9: figure9(of), 10: figure10(of), 11: figure11(of)}
    if wide := read(folders, "wide"):
        figures[12] = figure12(wide)
    for number, figure in figures.items():
        save(figure, folder / f"figure{number}.png")
        print(folder / f"figure{number}.png")


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "results"
    if not any(folder.glob("networks-*.npz")):
        raise SystemExit(f"{folder} holds no networks-*.npz yet; study.py makes them.")
    draw(folder, LEAKS if len(sys.argv) == 1 else None)
