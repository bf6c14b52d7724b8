"""The box at the top: what was measured, and who is at which end of each metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.memorization.curve import PMV, Curve
from heldout.memorization.metrics import K_MAX, K_PTV, K_S, SSE
from heldout.memorization.ranking import GAP, Column, Ranking
from heldout.memorization.result import MemorizationResult
from heldout.report.memorization.curves import Line, line_of, mean_lines
from heldout.report.memorization.words import (
    LEARNED,
    LEVEL_TEXT,
    MINUS_ONE,
    and_text,
    corruptions,
    examples_text,
    finished,
    lead,
    lead_columns,
    models_text,
    name_text,
    perturbation_text,
    trainings,
)
from heldout.report.numbers import fixed, pair

LARGE = 3  # numbers that stand in the box, of a single model or where there is no metric


def answer_view(result: MemorizationResult) -> dict[str, Any]:
    """Headline, sentences, the numbers that stand large, and a row a metric."""
    one = len(result.models) == 1
    return {
        "headline": _headline_of_one(result) if one else _headline(result),
        "sentences": [_measured(result), *([] if one else _sure(result))],
        "subject": f"{models_text(result)}, {examples_text(result)}",
        "numbers": _numbers_of_one(result) if one else _numbers(result),
        "one": _rows_of_one(result) if one else [],
        "ends": [] if one else [_ends(r) for r in result.rankings],
        "level": LEVEL_TEXT,
    }


def _headline(result: MemorizationResult) -> str:
    r = lead(result)
    if r is None:
        return "No metric is defined for two of these models"
    first, last = r.estimates[0].value, r.estimates[-1].value
    if tied(r):
        return f"{r.column.title} is {fixed(first)} for {'both' if len(r.models) == 2 else 'all'} models"
    return (
        f"{name_text(r.models[0])} is at the memorised end ({r.column.title} {fixed(first)}), "
        f"{name_text(r.models[-1])} at the other ({fixed(last)})"
    )


def tied(r: Ranking) -> bool:
    """Whether all models have the same value, so that there are no ends."""
    return r.estimates[0].value == r.estimates[-1].value


def _headline_of_one(result: MemorizationResult) -> str:
    model = result.models[0]
    columns = lead_columns(result, model)
    if not columns:
        return "No metric is defined here"
    return f"{name_text(model)}: {columns[0].title} is {fixed(result.table[model][columns[0]].value)}"


def _falls(result: MemorizationResult) -> list[tuple[str, str, str]]:
    """Where there is no metric there still are curves: where the first models' end."""
    mean = f"mean of {len(corruptions(result))} corruptions"
    lines: list[tuple[Line, str]] = [(line, mean) for line in mean_lines(result)]
    if not lines:
        first = result.curves[0].perturbation
        lines = [(line_of(c), perturbation_text(first)) for c in result.curves if c.perturbation == first]
    return [
        (
            f"Accuracy of {name_text(line.model)}",
            fixed(float(line.y[-1])),
            f"{what}, strength {line.x[-1]:g}; it was {fixed(float(line.y[0]))} at strength {line.x[0]:g}",
        )
        for line, what in lines[:LARGE]
    ]


def _measured(result: MemorizationResult) -> str:
    """What was done."""
    parts = []
    noise = next((c for c in result.curves if c.perturbation == PMV), None)
    if noise is not None:
        many = len({c.model for c in result.curves if c.perturbation == PMV}) > 1
        times = and_text(["once" if s == 1 else f"{s} times" for s in trainings(result)])
        rates = len(noise.strengths)
        at = f"each of {rates} shares" if rates > 1 else f"a share of {noise.strengths[0]:g}"
        parts.append(f"{'Each model was' if many else 'The model was'} trained anew, {times} at {at} of wrong labels")
    names = [perturbation_text(name) for name in finished(result)]
    if names:
        shown = and_text(names) if len(names) <= 5 else f"{len(names)} perturbations"
        opening = "its" if len(result.models) == 1 else "their"
        parts.append(
            f"{'finished models were' if len(result.models) > 1 else 'the finished model was'} put to {opening} "
            f"training pictures, perturbed more and more ({shown})"
        )
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _sure(result: MemorizationResult) -> list[str]:
    r = lead(result)
    if r is None or tied(r):
        return []
    if r.surely(r.models[0], r.models[-1]):
        return [f"The difference is more than chance at {LEVEL_TEXT}, for all models at once."]
    return [f"The difference may be chance: the intervals, at {LEVEL_TEXT} for all models at once, overlap."]


def _numbers(result: MemorizationResult) -> list[tuple[str, str, str]]:
    r = lead(result)
    if r is None:
        return _falls(result)
    if tied(r):
        e = r.estimates[0]
        return [(r.column.title, fixed(e.value), f"{pair((e.low, e.high))}, each model")]
    ends = ((0, "At the memorised end"), (-1, "At the other end"))
    return [
        (
            f"{place}: {name_text(r.models[i])}",
            fixed(r.estimates[i].value),
            f"{r.column.title}, {pair((r.estimates[i].low, r.estimates[i].high))}",
        )
        for i, place in ends
    ]


def _ends(r: Ranking) -> dict[str, Any]:
    """One metric: who is at which end, with intervals that hold for all models at once."""
    sure = r.surely(r.models[0], r.models[-1])
    return {
        "metric": r.column.title,
        "reads": "larger" if r.column.memorised == "high" else "smaller",
        "ends": [
            {
                "model": "each model" if tied(r) else name_text(r.models[i]),
                "value": fixed(r.estimates[i].value),
                "interval": pair((r.estimates[i].low, r.estimates[i].high)),
            }
            for i in (0, -1)
        ],
        "sure": "none" if tied(r) else "more than chance" if sure else "may be chance",
    }


def _numbers_of_one(result: MemorizationResult) -> list[tuple[str, str, str]]:
    model = result.models[0]
    found = result.table[model]
    return [
        (c.title, fixed(found[c].value), f"{LEVEL_TEXT}: {pair((found[c].low, found[c].high))}")
        for c in lead_columns(result, model)[:LARGE]
    ] or _falls(result)


def _rows_of_one(result: MemorizationResult) -> list[tuple[str, str, str, str]]:
    """Every metric of the model, and what it would be at either end."""
    model = result.models[0]
    found = result.table[model]
    return [
        (c.title, fixed(found[c].value), pair((found[c].low, found[c].high)), reading(result, model, c))
        for c in lead_columns(result, model)
    ]


def reading(result: MemorizationResult, model: str, column: Column) -> str:
    """What a metric would be if the model memorised, or learned."""
    if column == GAP:
        return "0 if it does as well on examples it was not trained on"
    curve = result.curve(model, column.perturbation)
    assert curve is not None
    return {
        K_S.name: _reading_k_s(result, curve),
        K_PTV.name: "1 if it memorised every label; near 0 if it learned and wrong labels did not reach it",
        K_MAX.name: _reading_k_max(curve),
        SSE.name: "0 if accuracy falls along a straight line",
    }[column.metric]


def _reading_k_s(result: MemorizationResult, curve: Curve) -> str:
    opening = "0 if it memorised every label"
    a = float(curve.accuracy[0])
    if curve.strengths[0] > 0 or np.isnan(a):
        return opening
    learned = f"{opening}; if it learned, and kept its accuracy without noise of A = {fixed(a)}, about"
    if result.class_names is None or len(result.class_names) < 2:
        return f"{learned} {LEARNED}/{MINUS_ONE} with m classes: {fixed(2 * a - 1)} with two, {fixed(a)} with very many"
    m = len(result.class_names)
    return f"{learned} {LEARNED}/{m - 1} = {fixed(a - (1 - a) / (m - 1))}"


def _reading_k_max(curve: Curve) -> str:
    used = np.flatnonzero(curve.done.any(axis=1))
    a, strengths = curve.accuracy[used], curve.strengths[used]
    at, p = int(np.abs(np.diff(a)).argmax()), len(used) - 1
    if p == 1:
        return "the only step there is"
    return (
        f"the largest of {p} steps, from strength {strengths[at]:g} to {strengths[at + 1]:g}; an even fall from "
        f"{fixed(float(a[0]))} to {fixed(float(a[-1]))} has steps of {fixed(abs(float(a[0] - a[-1])) / p)}"
    )
