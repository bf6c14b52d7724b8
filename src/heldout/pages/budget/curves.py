"""How the number of models that fit depends on similarity and on the width of the error bars."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.pages import svg
from heldout.pages.budget.words import NAMES, equal_curves
from heldout.pages.numbers import NOT_DEFINED, bar_text, count_words, fixed, percent
from heldout.reuse.bounds import TestableModels
from heldout.reuse.curves import Curve
from heldout.reuse.result import BudgetResult

STYLES: dict[str, svg.Style] = {"union": "a", "similarity": "b", "naive_bayes": "c"}
ABOVE = {"similarity": 2.0, "epsilon": 3.5}  # decades shown above the largest of the marked points
MAX_POINTS, MAX_ROWS = 60, 13


def curves_view(result: BudgetResult) -> dict[str, Any] | None:
    """Figures 1b and 2 for models of one error, the mean's point marked; None where there is no such model."""
    own = "this pool’s mean" if result.pool is not None else "as stated"
    curves = equal_curves(result)
    if result.equal is None or curves is None:
        return None
    eta, epsilon = curves
    return {
        "similarity": _chart(
            result.equal,
            eta,
            result.mean_similarity,
            label="Models that fit against their similarity",
            x_label=f"similarity of two models (dashed: {own}, {fixed(result.mean_similarity, 3)})",
            above=ABOVE["similarity"],
        ),
        "epsilon": _chart(
            result.equal,
            epsilon,
            result.epsilon,
            label="Models that fit against the width of the error bar",
            x_label=f"error bar in percentage points (dashed: asked for, {bar_text(result.epsilon)})",
            above=ABOVE["epsilon"],
            factor=100.0,
        ),
        "tables": [
            {"title": "Models that fit against similarity", "column": "similarity", "rows": _table(eta, 3)},
            {"title": "Models that fit against the error bar", "column": "epsilon", "rows": _table(epsilon, 4)},
        ],
        "epsilon_text": bar_text(result.epsilon),
        "error": percent(result.mean_error, 2),
        "pool": result.pool is not None,
    }


def _chart(
    equal: TestableModels, curve: Curve, own: float, *, label: str, x_label: str, above: float, factor: float = 1.0
) -> str | None:
    counts = equal.to_dict()
    marks = [
        svg.Mark(
            x=factor * own,
            y=math.log10(count),
            text=count_words(count),
            hover=f"{NAMES[key]}: {count:,} models",
            style=STYLES[key],
        )
        for key, count in counts.items()
        if count
    ]
    series = [_series(curve, key, factor) for key in NAMES if np.isfinite(_logs(curve, key)).any()]
    if not series:
        return None  # not even one model fits anywhere
    top = max([m.y for m in marks], default=1.0) + above
    lowest = min((v for s in series for v in s.y if math.isfinite(v)), default=0.0)
    low = max(0.0, min([lowest, *(m.y for m in marks)]) - 0.7)
    shown = curve.x[np.isfinite(_logs(curve, "union")) & (_logs(curve, "union") <= top)]
    ends = [*shown.tolist(), own] if len(shown) else [*curve.x.tolist(), own]
    summary = "; ".join(f"{NAMES[key]} {count_words(count)}" for key, count in counts.items())
    return svg.line_chart(
        series,
        label=f"{label}; at {own:g}: {summary}",
        x_label=x_label,
        y_label="models (log scale)",
        y_decades=True,
        x_range=(factor * min(ends), factor * max(ends) + 1e-9),
        y_range=(low, top),
        x_reference=factor * own,
        marks=marks,
    )


def _logs(curve: Curve, key: str) -> NDArray[np.float64]:
    """log10 of the counts; NaN where there is none, or no bound."""
    values = np.asarray(getattr(curve, key), dtype=np.float64)
    return np.log10(values, out=np.full(len(values), np.nan), where=values >= 1)


def _series(curve: Curve, key: str, factor: float) -> svg.Series:
    places = _spread(len(curve.x), MAX_POINTS)
    hovers = [f"{NAMES[key]} at {float(curve.x[i]):.4g}: {_count(curve, key, i)} models" for i in places]
    logs = _logs(curve, key)
    return svg.Series(
        name=NAMES[key],
        x=[factor * float(curve.x[i]) for i in places],
        y=[float(logs[i]) for i in places],
        hover=hovers,
        style=STYLES[key],
        markers=False,
    )


def _spread(n: int, most: int) -> list[int]:
    return list(range(n)) if n <= most else sorted({round(v) for v in np.linspace(0, n - 1, most)})


def _count(curve: Curve, key: str, i: int) -> str:
    value = float(getattr(curve, key)[i])
    return count_words(round(value)) if math.isfinite(value) else NOT_DEFINED


def _table(curve: Curve, digits: int) -> list[list[str]]:
    return [
        [fixed(float(curve.x[i]), digits), *(_count(curve, key, i) for key in NAMES)]
        for i in _spread(len(curve.x), MAX_ROWS)
    ]
