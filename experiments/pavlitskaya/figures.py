"""Figures 2 to 4 of the paper, of the trainings that are kept: results/figure2.png to figure4.png.

PYTHONPATH=src:. python experiments/pavlitskaya/figures.py
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from curves import all_curves, corruptions
from published import FACTORS
from runs import FAMILIES, OTHERS, Runs

from experiments.pages import save
from heldout import Curve

RESULTS = Path(__file__).parent / "results"
KINDS = {  # what is perturbed: title, and what the strengths are
    "pmv": ("PMV: labels trained on", "share of wrong labels"),
    "ptv": ("PTV: true labels", "share of wrong labels"),
    "spatial": ("moves (spatial attacks)", "pixels, and turns of as many degrees"),
    "fgsm": ("FGSM", "step size / 255"),
    "gaussian": ("noise on pixels", "standard deviation / 255"),
}
BLUE, ORANGE = "tab:blue", "tab:orange"


def look(name: str) -> dict[str, Any]:
    """By the factors of table I: orange less data, broken no regularisation, squares more parameters.

    Of the other networks: orange CIFAR-10, squares MobileNet.
    """
    if name in OTHERS:
        orange, broken, square = name.endswith("cifar"), False, name.startswith("mobilenet")
    else:
        orange, broken, square = (signs[name.split("-")[1]] > 0 for signs in FACTORS.values())
    return {"color": ORANGE if orange else BLUE, "ls": "--" if broken else "-", "marker": "s" if square else "o"}


def draw(axis: Any, name: str, x: np.ndarray, shares: np.ndarray) -> None:
    """The mean of (strengths, seeds), and a band where the seeds are."""
    how = look(name)
    label = name if name in OTHERS else name.split("-")[1]
    axis.plot(x, shares.mean(axis=1), ms=3.5, lw=1.2, label=label, **how)
    axis.fill_between(x, shares.min(axis=1), shares.max(axis=1), color=how["color"], alpha=0.12, lw=0)


def grid(columns: Sequence[tuple[str, dict[tuple[str, str], Curve], Sequence[str]]], rows: Sequence[str]) -> Any:
    """One row a kind of perturbation, one column a family: title, curves by kind and network, networks."""
    from matplotlib.figure import Figure  # only here and below: the numbers do not need it

    figure = Figure(figsize=(5.2 * len(columns), 2.9 * len(rows)), layout="constrained")
    axes = figure.subplots(len(rows), len(columns), squeeze=False, sharey=True)
    for across, kind in zip(axes, rows, strict=True):
        what, strengths = KINDS[kind]
        for axis, (title, curves, names) in zip(across, columns, strict=True):
            for name in names:
                if (curve := curves.get((kind, name))) is not None:
                    draw(axis, name, curve.strengths, curve.correct.mean(axis=2))
            axis.set_title(f"{title}, {what}" if title else what, fontsize=10)
            axis.set(xlabel=strengths, ylim=(-0.03, 1.03))
            axis.grid(alpha=0.3)
        across[0].set_ylabel("accuracy on training images")
    for axis in axes[0]:
        axis.legend(fontsize=8, ncols=2, loc="lower left")
    return figure


def figure2(found: dict[str, np.ndarray]) -> Any:
    """Accuracy under corruptions, mean of all fifteen."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2 * len(FAMILIES), 3.4), layout="constrained")
    for axis, (family, label) in zip(figure.subplots(1, len(FAMILIES), sharey=True), FAMILIES.items(), strict=True):
        for name in (f"{family}-C{i}" for i in range(1, 9)):
            if name in found:
                draw(axis, name, np.arange(found[name].shape[1]), found[name].mean(axis=0)[:, None])
        axis.set(title=f"{label}, corruptions", xlabel="severity, 0 untouched", ylim=(0.4, 1.02))
        axis.set_ylabel("accuracy on training images" if family == "vgg" else "")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8, ncols=2, loc="lower left")
    return figure


def main() -> None:
    runs = Runs(RESULTS)
    curves = {(c.perturbation, c.model): c for c in all_curves(runs)}
    families = [(label, curves, [f"{family}-C{i}" for i in range(1, 9)]) for family, label in FAMILIES.items()]
    save(figure2(corruptions(runs)), RESULTS / "figure2.png")
    save(grid(families, list(KINDS)), RESULTS / "figure3.png")
    others = [(network, curves, [name for name in OTHERS if name.startswith(network.lower())])
              for network in ("LeNet", "MobileNet")]  # fmt: skip
    save(grid(others, list(KINDS)), RESULTS / "figure4.png")


if __name__ == "__main__":
    main()
