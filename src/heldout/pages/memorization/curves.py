"""Figure 3 of the paper: accuracy against strength, a panel a perturbation, a line a model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from heldout.memorization.curve import PMV, PTV, Curve
from heldout.memorization.result import MemorizationResult
from heldout.pages import svg
from heldout.pages.memorization.words import (
    NOISE,
    and_text,
    corruptions,
    interval_text,
    name_text,
    perturbation_text,
)
from heldout.pages.numbers import fixed, pair
from heldout.pages.svg.lines import HEIGHT
from heldout.pages.svg.shapes import WIDTH, shorten

STYLES: tuple[svg.Style, ...] = get_args(svg.Style)
VARIANTS: tuple[svg.Variant, ...] = get_args(svg.Variant)
LINES = len(STYLES) * len(VARIANTS)  # models that can be told apart
LONGEST_IN_LEGEND = 26  # characters
LONGEST_UNIT = 44  # characters that fit below a panel
ENDS = -0.02, 1.02  # of the accuracy axis, so that markers at 0 and 1 are whole
SMALL = 290.0, 205.0  # a sheet of the small multiples
GUIDES = {
    PMV: "a model that learns without error and memorises nothing, so that it is right on just the labels that are",
    PTV: "a model that memorises every label it is given",
}


@dataclass(frozen=True)
class Look:
    """How a model's line is drawn, the same in every panel."""

    style: svg.Style
    variant: svg.Variant | None
    faint: bool


def looks(models: Sequence[str]) -> dict[str, Look]:
    """A look for each model, as many as can be told apart; of more, ones spread evenly over their order."""
    few = len(models) <= len(STYLES)
    drawn = range(len(models)) if len(models) <= LINES else np.linspace(0, len(models) - 1, LINES).round().astype(int)
    return {
        models[i]: Look(STYLES[at % len(STYLES)], None if few else VARIANTS[at // len(STYLES)], not few)
        for at, i in enumerate(drawn)
    }


def curves_view(result: MemorizationResult) -> dict[str, Any]:
    """Panels, small multiples of the corruptions and their mean, a legend for all, and the numbers."""
    shown = looks(result.models)
    small = corruptions(result)
    small = small if len(small) > 1 else []
    means = mean_lines(result)
    mean = [line for line in means if line.model in shown]
    return {
        "legend": [
            {
                "name": shorten(name_text(model), LONGEST_IN_LEGEND),
                "full": model,
                "swatch": svg.swatch(look.style, variant=look.variant, label=f"line of {name_text(model)}"),
            }
            for model, look in shown.items()
        ]
        if len(result.models) > 1
        else [],
        "hidden": len(result.models) - len(shown),
        "panels": [_panel(result, name, shown) for name in result.perturbations if name not in small],
        "mean": None
        if not mean
        else {
            "chart": _chart(mean, shown, label=f"Mean accuracy over {len(small)} corruptions against severity"),
            "n": len(small),
        },
        "small": [
            {
                "title": perturbation_text(name),
                "chart": _chart(
                    _lines(result, name, shown),
                    shown,
                    label=f"{perturbation_text(name)}: accuracy against severity",
                    size=SMALL,
                ),
            }
            for name in small
        ],
        "tables": [
            *(_table(result, name) for name in result.perturbations),
            *([_mean_table(means, len(small))] if means else []),
        ],
        "lost": any(not c.done.any(axis=1).all() for c in result.curves),
    }


@dataclass(frozen=True, kw_only=True)
class Line:
    """What is drawn of one model."""

    model: str
    unit: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    assumed: bool = False


def line_of(curve: Curve, *, taken: bool = False) -> Line:
    """The strengths at which a training ended well."""
    used = curve.done.any(axis=1)
    low, high = curve.bands[:, used]
    return Line(
        model=curve.model,
        unit=curve.unit,
        x=curve.strengths[used],
        y=curve.accuracy[used],
        low=low,
        high=high,
        assumed=taken,
    )


def _lines(result: MemorizationResult, name: str, shown: Mapping[str, Look]) -> list[Line]:
    return [line_of(c, taken=c.assumed) for c in result.curves if c.perturbation == name and c.model in shown]


def _panel(result: MemorizationResult, name: str, shown: Mapping[str, Look]) -> dict[str, Any]:
    lines = _lines(result, name, shown)
    title, unit = perturbation_text(name), lines[0].unit
    last = max(float(line.x[-1]) for line in lines)
    guides = [svg.Guide(start=(0.0, 1.0), end=(last, 1 - last))] if name in NOISE and last <= 1 else []
    taken = [line.model for line in lines if line.assumed]
    return {
        "title": title,
        "unit": unit,
        "chart": _chart(lines, shown, label=f"{title}; accuracy against {unit}", guides=guides),
        "guide": GUIDES[name] if guides else None,
        "taken": f"The point at 0 is taken to be 1, not measured{'' if len(taken) == len(lines) else _of(taken)}."
        if taken
        else None,
    }


def _of(models: Sequence[str]) -> str:
    return f", for {and_text([name_text(model) for model in models])}"


def _chart(
    lines: Sequence[Line],
    shown: Mapping[str, Look],
    *,
    label: str,
    guides: Sequence[svg.Guide] = (),
    size: tuple[float, float] = (WIDTH, HEIGHT),
) -> str:
    last = max(float(line.x[-1]) for line in lines)
    unit = lines[0].unit
    series = [_series(line, shown[line.model]) for line in lines]
    return svg.line_chart(
        series,
        label=label,
        x_label=unit if len(unit) <= LONGEST_UNIT else "strength",
        y_label="accuracy",
        x_range=(-0.01 * last, 1.01 * last),
        y_range=ENDS,
        guides=guides,
        named=False,
        width=size[0],
        height=size[1],
    )


def _series(line: Line, look: Look) -> svg.Series:
    name = name_text(line.model)
    hover = [
        f"{name}, {x:g}: taken to be 1" if line.assumed and x == 0 else f"{name}, {x:g}: {fixed(y)} ({pair((a, b))})"
        for x, y, a, b in zip(line.x.tolist(), line.y.tolist(), line.low.tolist(), line.high.tolist(), strict=True)
    ]
    return svg.Series(
        name=name,
        x=line.x.tolist(),
        y=line.y.tolist(),
        low=line.low.tolist(),
        high=line.high.tolist(),
        hover=hover,
        style=look.style,
        variant=look.variant,
        faint=look.faint,
    )


def mean_lines(result: MemorizationResult) -> list[Line]:
    """Per model that has them all, at the same severities, the mean over corruptions; none below two corruptions.

    Its band is the mean of the bands. Corruptions share their examples, so that their errors go together to an extent
    nobody has measured; were they one and the same, this would be the band, and otherwise it is narrower.
    """
    lines: list[Line] = []
    names = corruptions(result)
    for model in result.models if len(names) > 1 else ():
        own = [line_of(c) for c in result.curves if c.model == model and c.perturbation in names]
        if len(own) < len(names) or len({line.x.tobytes() for line in own}) != 1:
            continue
        y, low, high = (np.mean([getattr(line, key) for line in own], axis=0) for key in ("y", "low", "high"))
        lines.append(Line(model=model, unit=own[0].unit, x=own[0].x, y=y, low=low, high=high))
    return lines


def _mean_table(lines: Sequence[Line], n: int) -> dict[str, Any]:
    """The mean over corruptions."""
    strengths = sorted({float(x) for line in lines for x in line.x})
    rows = []
    for line in lines:
        at = {float(x): i for i, x in enumerate(line.x)}
        told = [
            (fixed(float(line.y[at[s]])), interval_text(float(line.low[at[s]]), float(line.high[at[s]])))
            if s in at
            else ("–", "")
            for s in strengths
        ]
        rows.append((name_text(line.model), told))
    title = f"Mean over the {n} corruptions"
    return {"title": title, "unit": lines[0].unit, "strengths": [f"{s:g}" for s in strengths], "rows": rows}


def _table(result: MemorizationResult, name: str) -> dict[str, Any]:
    """All points of all models, those without a look too."""
    curves = [c for c in result.curves if c.perturbation == name]
    strengths = sorted({float(s) for c in curves for s in c.strengths})
    rows = []
    for c in curves:
        low, high = c.bands
        at = {float(s): i for i, s in enumerate(c.strengths)}
        cells = []
        for s in strengths:
            i = at.get(s)
            if i is None or math.isnan(c.accuracy[i]):
                cells.append(("–", ""))
            elif c.assumed and s == 0:
                cells.append(("1", "taken"))
            else:
                cells.append((fixed(float(c.accuracy[i])), interval_text(float(low[i]), float(high[i]))))
        rows.append((name_text(c.model), cells))
    return {
        "title": perturbation_text(name),
        "unit": curves[0].unit,
        "strengths": [f"{s:g}" for s in strengths],
        "rows": rows,
    }
