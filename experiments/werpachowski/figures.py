"""Figures 5 and 6, drawn from the numbers in `results.json` and from nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measures import GROUP_SIZES, at_strength
from problem import CASES

COLOURS = ("#1b5e9b", "#d1701c", "#2d8a4e", "#a63a8f", "#555555")
TITLES = {"independent": "independent test set", "overfitted": "overfitted to the test set"}


def _band(
    axes: Any,
    rows: list[dict[str, Any]],
    key: Callable[[dict[str, Any]], Any],
    label: str,
    colour: str,
) -> None:
    """A mean against strength with its interval; undefined points are left out."""
    kept = [(row["strength"], key(row)) for row in rows]
    kept = [(s, v) for s, v in kept if v is not None and v["mean"] is not None]
    if not kept:
        return
    x = [s for s, _ in kept]
    low, high, mean = ([v[name] for _, v in kept] for name in ("low", "high", "mean"))
    axes.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
    axes.plot(x, mean, color=colour, marker=".", ms=4, lw=1.2, label=label)


def _p_range(row: dict[str, Any], size: str) -> dict[str, Any] | None:
    """Mean p with the 95 % interval (N <= 2) or the range (N = 10, 25), as in the paper."""
    if size not in row["p"]:
        return None
    values = row["p_values"][size]
    if int(size) <= 2:
        return dict(row["p"][size])
    return {"mean": row["p"][size]["mean"], "low": min(values), "high": max(values)}


def _histogram(axes: Any, series: list[tuple[str, list[float]]], colours: Sequence[str] = COLOURS) -> None:
    """Shares of p-values in tenths of [0, 1], side by side."""
    edges = np.linspace(0.0, 1.0, 11)
    width = 0.09 / max(1, len(series))
    for i, ((label, values), colour) in enumerate(zip(series, colours, strict=False)):
        share = np.histogram(values, bins=edges)[0] / len(values)
        axes.bar(edges[:-1] + 0.005 + i * width, share, width, align="edge", color=colour, label=label)
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="p-value", ylabel="share of p-values")
    axes.legend(fontsize=8)


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, format="png", dpi=80, metadata={"Software": None})


def draw_figure5(results: dict[str, Any], path: Path) -> None:
    """Five rows for each case: p-values, errors, densities, one realisation, histograms."""
    from matplotlib.figure import Figure  # only here: the numbers do not need it

    figure = Figure(figsize=(12, 19), layout="constrained")
    grid = figure.subplots(5, 2)
    for column, case in enumerate(CASES):
        rows, axes = results[case.name]["by_strength"], grid[:, column]
        overfitted = case.n_shared > 0
        for size, colour in zip(map(str, GROUP_SIZES), COLOURS, strict=True):
            _band(axes[0], rows, lambda row, s=size: _p_range(row, s), f"N = {size}", colour)
        axes[0].set(title=TITLES[case.name], ylabel="p-value", ylim=(-0.03, 1.05))

        names = (("test_error", "test error R_S"), ("adversarial_error", "adversarial error R_S'"))
        names += (("estimate", "adversarial estimate R_g"),)
        for (key, label), colour in zip(names, COLOURS, strict=False):
            _band(axes[1], rows, lambda row, k=key: row[k], label, colour)
        risk = results[case.name]["expected_error"]
        axes[1].axhspan(risk["low"], risk["high"], color=COLOURS[3], alpha=0.15, lw=0)
        axes[1].axhline(risk["mean"], color=COLOURS[3], ls="--", lw=1.2, label="expected error R")
        axes[1].set(ylabel="error, 97.5 % of runs", ylim=(0, 1.02))

        _band(axes[2], rows, lambda row: row["density_wrong"], "h, originally wrong", COLOURS[0])
        _band(axes[2], rows, lambda row: row["density_hit"], "h, successful attacks", COLOURS[1])
        axes[2].set(ylabel="mean density, 97.5 % of runs", ylim=(0, 1.02))

        x = [row["strength"] for row in rows]
        for (key, label), colour in zip(names, COLOURS, strict=False):
            points = [row["single"][key] for row in rows]
            half = [v.get("half_width", 0.0) for v in points]
            bars = {"yerr": half, "capsize": 2} if any(half) else {}
            y = [v["value"] for v in points]
            axes[3].errorbar(x, y, color=colour, marker=".", ms=4, lw=1.2, label=label, **bars)
        single = results[case.name]["expected_error_single"]
        axes[3].axhline(single, color=COLOURS[3], ls="--", lw=1.2, label="expected error R")
        axes[3].set(ylabel="one run, 97.5 % Bernstein intervals", ylim=(0, 1.02))
        for a in axes[:4]:
            a.set(xscale="log", xlabel="strength")
            a.grid(alpha=0.25)
            a.legend(fontsize=8, loc="best")

        chosen = (0.1, 5.0, 6.0, 20.0) if overfitted else (0.1, 5.0, 20.0)
        p_values = [(f"strength {s:g}", at_strength(results, case.name, s)["p_values"]["1"]) for s in chosen]
        colours = dict(zip((0.1, 5.0, 20.0, 6.0), COLOURS, strict=False))  # of a strength the same in both columns
        _histogram(axes[4], p_values, [colours[s] for s in chosen])
    _save(figure, path)


def draw_figure6(results: dict[str, Any], path: Path) -> None:
    """Histograms of the N-model p-values: independent at strength 10, overfitted at 6."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.5), layout="constrained")
    panels = (("independent", 10.0), ("overfitted", 6.0))
    for axes, (case, strength) in zip(figure.subplots(1, 2), panels, strict=True):
        p_values = at_strength(results, case, strength)["p_values"]
        _histogram(axes, [(f"N = {size}", p_values[size]) for size in ("1", "2", "10") if size in p_values])
        axes.set_title(f"{TITLES[case]}, strength {strength:g}")
    _save(figure, path)
