"""Figures 9 to 12 of v1 from the store, with our control where v1 has CIFAR-10.1: results/figure9.png to figure12.png.

    PYTHONPATH=src python experiments/werpachowski/cifar10/figures.py [RESULTS]

p by Bernstein's bound, rule `strongest`, radius 2. CIFAR-10.1 has 2,000 pictures; so the control is shown whole and in
subsets of 2,000, about N_SUBSETS for each number of networks.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import store
from store import statistics
from tables import GROUPS, HERE, LEAKS, MAIN, N_SUBSETS, p_of

from heldout.orbit import Translations
from heldout.statistics import independence_test

SMALL = 2_000  # pictures of CIFAR-10.1
SIZES = (500, 1_000, 2_000, 3_000, 5_000, 7_500)
COLOURS = {"test": "tab:blue", "control": "tab:orange", "control, 2,000": "tab:olive", "training": "tab:green"}
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


def averages(T: np.ndarray, size: int) -> list[np.ndarray]:
    return [T[i : i + size].mean(axis=0) for i in range(0, len(T) - size + 1, size)]


def p_values(T: list[np.ndarray], pictures: int | None = None) -> list[float]:
    """Of each, or of each on random subsets of so many pictures, about N_SUBSETS in all."""
    if pictures is None:
        return [p_of(t, "bernstein") for t in T]
    rng = np.random.default_rng(0)
    times = max(1, N_SUBSETS // len(T))
    return [p_of(rng.permutation(t)[:pictures], "bernstein") for t in T for _ in range(times)]


def uncapped(T: list[np.ndarray], pictures: int | None = None) -> list[float]:
    lower, upper = Translations(2).statistic_range("strongest")
    rng = np.random.default_rng(0)
    some = T if pictures is None else [rng.permutation(t)[:pictures] for t in T]
    return [
        independence_test(t, lower=lower, upper=upper, method="bernstein_uncapped", alternative="greater").p_value
        for t in some
    ]


def groups(count: int) -> list[int]:
    return sorted({g for g in (*GROUPS, count) if g <= count})


def figure9(of: dict[str, np.ndarray]) -> object:
    from matplotlib.figure import Figure  # only here and below: the numbers do not need it

    parts = {"test": (of["test"], None), "control": (of["control"], None), "control, 2,000": (of["control"], SMALL)}
    if "training" in of:
        parts["training"] = (of["training"], None)
    capped = {name: p_values(list(T), pictures) for name, (T, pictures) in parts.items()}
    figure = Figure(figsize=(10, 11), layout="constrained")
    (a, b), (c, d), (e, f) = figure.subplots(3, 2)
    for axis, name in ((a, "test"), (b, "training")):
        axis.hist(capped.get(name, []), BINS, color=COLOURS[name])
        axis.set(title=f"{name} set, {len(capped.get(name, []))} networks", xlabel="p", ylabel="networks")
    free = {name: uncapped(list(T), pictures) for name, (T, pictures) in parts.items()}
    most = np.quantile([v for values in free.values() for v in values], 0.99)
    for axis, found, bins, title in ((c, capped, BINS, "p"), (d, free, np.linspace(0, most, 31), "p, not capped at 1")):
        for name, values in found.items():
            shares = np.full(len(values), 1 / len(values))
            axis.hist(
                np.minimum(values, bins[-1]), bins, weights=shares, histtype="step", color=COLOURS[name], label=name
            )
        axis.set(xlabel=title, ylabel="share")
        axis.legend()
    for axis, part in ((e, "test"), (f, "train")):
        error = 100 * of[f"{part} error"]
        r = np.corrcoef(error, capped["test"])[0, 1]
        axis.plot(error, capped["test"], ".")
        axis.set(xlabel=f"{'test' if part == 'test' else 'training'} error, %", ylabel="p, test set")
        axis.set_title(f"correlation {100 * r:.0f} % (v1: {'49.4' if part == 'test' else '1.5'} %)")
    return figure


def histograms(panels: dict[str, tuple[np.ndarray, int | None]]) -> object:
    """p of N networks averaged, a panel for each."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5 * len(panels), 4), layout="constrained")
    for axis, (title, (T, pictures)) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
    ):
        for i, size in enumerate(groups(len(T))):
            values = p_values(averages(T, size), pictures)
            label = f"N = {size}: {len(values)}"
            if len(values) < 3:
                for v in values:
                    axis.axvline(v, linestyle=":", color=f"C{i}", label=label)
                    label = None
            else:
                axis.hist(values, BINS, weights=np.full(len(values), 1 / len(values)), histtype="step", label=label)
        axis.set(title=title, xlabel="p", ylabel="share")
        axis.legend(fontsize="small")
    return figure


def figure10(of: dict[str, np.ndarray]) -> object:
    return histograms(
        {
            "test set": (of["test"], None),
            "control": (of["control"], None),
            "control, subsets of 2,000": (of["control"], SMALL),
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
    return histograms({name.removesuffix("-leak0"): (of["test"], None) for name, of in sorted(wide.items())})


def draw(folder: Path, beside: Path | None = None) -> None:
    folders = [f for f in (folder, beside) if f and any(f.glob("networks-*.npz"))]
    of = read(folders, MAIN)[f"{MAIN}-leak0"]
    figures = {9: figure9(of), 10: figure10(of), 11: figure11(of)}
    if wide := read(folders, "wide"):
        figures[12] = figure12(wide)
    for number, figure in figures.items():
        # without the version that drew it: the same numbers make the same file
        figure.savefig(folder / f"figure{number}.png", dpi=80, metadata={"Software": None})
        print(folder / f"figure{number}.png")


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "results"
    if not any(folder.glob("networks-*.npz")):
        raise SystemExit(f"{folder} holds no networks-*.npz yet; study.py makes them.")
    draw(folder, LEAKS if len(sys.argv) == 1 else None)
