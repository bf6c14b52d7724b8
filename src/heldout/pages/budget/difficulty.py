"""How hard the examples are, and what Assumption A1 predicts."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.pages import svg
from heldout.pages.budget.order import thinned
from heldout.pages.budget.words import models_text
from heldout.pages.numbers import percent
from heldout.reuse.result import BudgetResult

MAX_POINTS = 250


def difficulty_view(result: BudgetResult) -> dict[str, Any] | None:
    """Figure 4, with the forecast over it; None without a pool or without an example that every model has."""
    pool = result.pool
    if pool is None or not pool.similarity.n_complete:
        return None
    s = pool.similarity
    k = s.n_models
    observed = s.difficulty_curve()
    places = thinned(k + 1, MAX_POINTS).tolist()

    def series(name: str, values: Any, style: svg.Style) -> svg.Series:
        return svg.Series(
            name=name,
            x=[float(j) for j in places],
            y=[float(values[j]) for j in places],
            hover=[f"{name}: {percent(float(values[j]))} wrong for at most {j:,} of {k:,} models" for j in places],
            style=style,
            markers=k <= 20,
        )

    all_series = [series("observed", observed, "a")]
    forecast = pool.difficulty_forecast
    if forecast is not None:
        all_series.append(series("Assumption A1", forecast, "c"))
    right, wrong = float(observed[0]), float(1 - observed[k - 1])
    gap = float(np.max(np.abs(forecast - observed))) if forecast is not None else None
    return {
        "chart": svg.line_chart(
            all_series,
            label=f"Share of examples that at most so many models get wrong: {percent(right)} right for all, "
            f"{percent(wrong)} wrong for all",
            x_label=f"models that get it wrong, at most (of {k:,})",
            y_label="share of examples",
            x_whole=True,
        ),
        "right": percent(right),
        "wrong": percent(wrong),
        "forecast_right": percent(float(forecast[0])) if forecast is not None else None,
        "forecast_wrong": percent(float(1 - forecast[k - 1])) if forecast is not None else None,
        "gap": percent(gap) if gap is not None else None,
        "n": f"{s.n_complete:,}",
        "complete": s.n_complete == s.n_examples,
        "models": models_text(result),
    }
