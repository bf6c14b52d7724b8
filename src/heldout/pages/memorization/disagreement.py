"""Where two metrics order two models in opposite ways, and how alike their orders are."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.memorization.ranking import Column
from heldout.memorization.result import MemorizationResult
from heldout.pages import svg
from heldout.pages.memorization.words import and_text, name_text, significant_text
from heldout.pages.numbers import fixed
from heldout.pages.svg.heat_maps import N_COLOURS

OPEN, MOST = 8, 60  # pairs of models unfolded, and shown at all
NUMBERED = 12  # metrics up to which the map has numbers


def disagreement_view(result: MemorizationResult) -> dict[str, Any] | None:
    """Pairs with their numbers, and the map of Kendall's tau; None below two rankings."""
    if len(result.rankings) < 2:
        return None
    pairs = opposed(result)
    rows = [_row(models, *sides) for models, sides in list(pairs.items())[:MOST]]
    opened = len(rows) if len(rows) <= OPEN + 3 else OPEN  # nobody unfolds three rows
    return {
        "n": len(pairs),
        "first": rows[:opened],
        "more": rows[opened:],
        "left": len(pairs) - len(rows),
        "level": significant_text(result),
        "tau": _tau(result),
        "pair": _single(result),
    }


Values = dict[Column, tuple[float, float]]  # of both models


def opposed(result: MemorizationResult) -> dict[tuple[str, str], tuple[Values, Values]]:
    """Pairs of models that metrics disagree on: those by which the first memorised more, and those by which less."""
    pairs: dict[tuple[str, str], tuple[Values, Values]] = {}
    for d in result.disagreements:
        more, less = (d.first, d.by_first), (d.second, d.by_second)
        models = d.model, d.other
        if models[::-1] in pairs:
            models = models[::-1]
            more, less = (d.second, d.by_second[::-1]), (d.first, d.by_first[::-1])
        sides = pairs.setdefault(models, ({}, {}))
        for side, (column, values) in zip(sides, (more, less), strict=True):
            side[column] = values
    return pairs


def _row(models: tuple[str, str], *sides: Values) -> dict[str, Any]:
    more, less = (
        and_text([f"{column.title} ({fixed(a)} against {fixed(b)})" for column, (a, b) in side.items()])
        for side in sides
    )
    return {"models": [name_text(model) for model in models], "more_by": more, "less_by": less}


def _single(result: MemorizationResult) -> str | None:
    """Two metrics have one tau, which needs no map."""
    if len(result.rankings) != 2 or not result.correlations:
        return None
    ((first, second), tau) = next(iter(result.correlations.items()))
    return f"Kendall’s tau between the orders by {first} and by {second} is {fixed(tau, 2, sign=True)}."


def _tau(result: MemorizationResult) -> dict[str, Any] | None:
    titles = [r.column.title for r in result.rankings]
    if len(titles) < 3 or not result.correlations:
        return None
    values = np.full((len(titles), len(titles)), np.nan)
    for (a, b), tau in result.correlations.items():
        i, j = titles.index(a), titles.index(b)
        values[i, j] = values[j, i] = tau
    (low, worst), (high, best) = (f((tau, pair) for pair, tau in result.correlations.items()) for f in (min, max))
    return {
        "chart": svg.heat_map(
            values,
            label=f"Kendall's tau between the orders of {len(titles)} metrics, from {low:.2f} to {high:.2f}",
            legend="Kendall’s tau between two orders",
            names=titles,
            cell_hover=True,
            numbered=len(titles) <= NUMBERED,
            edges=np.linspace(-1, 1, N_COLOURS + 1).tolist(),
        ),
        "range": f"It runs from {fixed(low, 2, sign=True)} ({' and '.join(worst)}) to {fixed(high, 2, sign=True)} "
        f"({' and '.join(best)})."
        if low < high
        else f"It is {fixed(low, 2, sign=True)} throughout.",
        "order": titles,
    }
