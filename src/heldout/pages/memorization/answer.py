"""The box at the top: what was measured, and who is at which end of each metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.memorization.curve import PMV, PTV, Curve
from heldout.memorization.metrics import K_MAX, K_PTV, K_S, SSE
from heldout.memorization.ranking import GAP, Column, Ranking
from heldout.memorization.result import MemorizationResult
from heldout.pages.memorization.curves import Line, line_of, mean_lines
from heldout.pages.memorization.disagreement import opposed
from heldout.pages.memorization.words import (
    EQUAL,
    LEARNED,
    LEVEL_TEXT,
    MINUS_ONE,
    TURNS,
    and_text,
    corruptions,
    examples_text,
    finished,
    lead,
    lead_columns,
    models_text,
    name_text,
    perturbation_text,
    place,
    significant_text,
    trainings,
)
from heldout.pages.numbers import fixed, pair

LARGE = 3  # numbers that stand in the box, of a single model or where there is no metric
MOST_NAMED = 4  # metrics that a sentence lists
SEVERITIES = 0, 3, 5  # of the corruptions, told where there is no metric


def answer_view(result: MemorizationResult) -> dict[str, Any]:
    """Headline, sentences, the numbers that stand large, and a row a metric."""
    one = len(result.models) == 1
    disputed = None if one else _disputed(result)
    return {
        "tone": "quiet" if disputed is None else "neutral",
        "headline": _headline_of_one(result) if one else _headline(result, disputed),
        "sentences": [
            _measured(result),
            *(s.translate(TURNS) for s in result.unfit),
            *([] if one else _sure(result, disputed)),
        ],
        "subject": f"{models_text(result)}, {examples_text(result)}",
        "numbers": _numbers_of_one(result) if one else _numbers(result, disputed),
        "one": _rows_of_one(result) if one else [],
        "ends": [] if one else [_ends(r) for r in result.rankings],
        "level": LEVEL_TEXT,
        "significant": significant_text(result),
    }


@dataclass(frozen=True)
class Side:
    """A metric by which one model memorised significantly more than another."""

    column: Column
    models: tuple[str, str]  # the one that memorised more first
    values: tuple[float, float]


def _disputed(result: MemorizationResult) -> tuple[Side, Side] | None:
    """Two metrics that order both ends of the first ranking in opposite ways, the most direct ones that do."""
    r = lead(result)
    if r is None or tied(r):
        return None
    ends = r.models[0], r.models[-1]
    for models, (more, less) in opposed(result).items():
        if set(models) == set(ends):
            # Label noise is the direct measure: perturbations of pictures cannot overrule it.
            sides = [[c for c in side if _same_kind(c, r.column)] for side in (more, less)]
            if not all(sides):
                return None
            first, second = (min(side, key=place) for side in sides)
            found = Side(first, models, more[first]), Side(second, models[::-1], less[second][::-1])
            return found if place(first) < place(second) else found[::-1]
    return None


def _same_kind(first: Column, second: Column) -> bool:
    return (first.perturbation in (PMV, PTV)) == (second.perturbation in (PMV, PTV))


def _headline(result: MemorizationResult, disputed: tuple[Side, Side] | None) -> str:
    r = lead(result)
    if r is None:
        why = "No metric is defined for two of these models"
        if result.unfit:
            why = "No two of these models fit their labels, so that none is ranked"
        return _headline_of_falls(
            result, "The models were measured at different strengths and are not ranked" if result.unranked else why
        )
    if disputed is not None:
        return _headline_of_disputed(r, *disputed)
    first, last = r.estimates[0].value, r.estimates[-1].value
    if tied(r):
        return f"{r.column.title} is {fixed(first)} for {'both' if len(r.models) == 2 else 'all'} models"
    names = [name_text(r.models[i]) for i in (0, -1)]
    if r.differs(r.models[0], r.models[-1]):
        return (
            f"{names[0]} is at the memorised end ({r.column.title} {fixed(first)}), {names[1]} at the other "
            f"({fixed(last)})"
        )
    if _told_apart(result):
        opening = f"No significant difference between the ends of {r.column.title}:"
    else:
        opening = f"No significant difference: {r.column.title}"
    values = f"{fixed(first)} ({names[0]}) {{}} {fixed(last)} ({names[1]})"
    return f"{opening} " + (values.format("and") if len(r.models) == 2 else f"from {values.format('to')}")


def _headline_of_disputed(r: Ranking, first: Side, second: Side) -> str:
    (more, less), (a, b), (c, d) = first.models, first.values, second.values
    more, less = name_text(more), name_text(less)
    opening = f"The metrics disagree: by {first.column.title} {more}"
    if len(r.models) == 2:
        return (
            f"{opening} is at the memorised end ({fixed(a)}, {less} {fixed(b)}), by {second.column.title} {less} "
            f"({fixed(c)}, {more} {fixed(d)})"
        )
    ends = f"{opening} memorised more than {less} ({fixed(a)} and {fixed(b)})"
    if first.column == r.column:
        ends = f"{opening} is at the memorised end ({fixed(a)}) and {less} at the other ({fixed(b)})"
    return f"{ends}, by {second.column.title} {less} memorised more than {more} ({fixed(c)} and {fixed(d)})"


def _told_apart(result: MemorizationResult) -> list[Ranking]:
    """Rankings that know a significant difference between two models, the most direct measure first."""
    return sorted((r for r in result.rankings if r.above), key=lambda r: place(r.column))


def tied(r: Ranking) -> bool:
    """Whether all models have the same value, so that there are no ends."""
    return abs(r.estimates[0].value - r.estimates[-1].value) < EQUAL


def short(value: float) -> str:
    """Two digits, unless they would make a 0 or a 1 of something else.

    Examples
    --------
    >>> short(0.137), short(0.9972), short(1.0)
    ('0.14', '0.9972', '1.00')
    """
    return fixed(value, 2) if 0.005 <= value < 0.995 or value in (0, 1) else fixed(value)


def _headline_of_one(result: MemorizationResult) -> str:
    """What the curve did, and its metric."""
    model = result.models[0]
    columns = [c for c in lead_columns(result, model) if c != GAP]
    if not columns:
        return _headline_of_falls(result, f"{name_text(model)}: no metric is defined here")
    column = columns[0]
    curve = result.curve(model, column.perturbation)
    assert curve is not None
    if curve.unfit is not None:
        return f"{name_text(model)} does not fit its labels: {_fall(curve)}"
    value = short(result.table[model][column].value)
    metric = {
        K_S.name: f"slope k_S {value} (0 if every label is memorised)",
        K_PTV.name: f"slope k_PTV {value} (1 if every label is memorised)",
        K_MAX.name: f"largest step k_max {value} of 1",
    }.get(column.metric, f"{column.metric} {value}")
    return f"{name_text(model)}: {_fall(curve)}; {metric}"


def _fall(curve: Curve) -> str:
    """From the first strength to the last one."""
    line = line_of(curve, taken=curve.assumed)
    first, last, end = float(line.y[0]), float(line.y[-1]), f"{line.x[-1]:g}"
    labels = {PMV: " on the labels trained on", PTV: " on the true labels"}.get(curve.perturbation, "")
    where = f"a share of {end} of wrong labels" if labels else f"{perturbation_text(curve.perturbation)} {end}"
    if line.assumed:
        return f"accuracy{labels} is {short(last)} at {where}"
    goes = "falls to" if last < first else "rises to" if last > first else "stays at"
    return f"accuracy{labels} {short(first)} {goes} {short(last)} at {where}"


def _headline_of_falls(result: MemorizationResult, otherwise: str) -> str:
    """Where there is no metric: accuracies at the first, a middle and the last strength; of many models two."""
    lines, what = _curves_told(result)
    lines = [line for line in lines if line.x.tobytes() == lines[0].x.tobytes()]
    if len(lines) < min(2, len(result.models)):
        return otherwise
    x = lines[0].x
    at = [i for i, s in enumerate(x) if s in SEVERITIES]
    if len(at) < len(SEVERITIES):
        at = sorted({0, len(x) // 2, len(x) - 1})
    strengths = and_text([f"{x[i]:g}" for i in at])
    told = [f"{name_text(line.model)} {and_text([fixed(float(line.y[i])) for i in at])}" for line in lines]
    scale = "severities" if lines[0].unit == "severity" else "strengths"
    some = f" ({len(lines)} of {len(result.models)} models)" if len(lines) < len(result.models) else ""
    opening = f"Accuracy{what} at {scale} {strengths}{some}"
    if len(told) <= LARGE:
        return f"{opening}: {'; '.join(told)}"
    low, high = (int(f([line.y[-1] for line in lines])) for f in (np.argmin, np.argmax))
    return f"{opening}: at the last, {told[low]} is the lowest of {len(told)} models and {told[high]} the highest"


def _curves_told(result: MemorizationResult) -> tuple[list[Line], str]:
    """A line a model where there is no metric: the mean over corruptions, else the first perturbation."""
    lines = mean_lines(result)
    if lines:
        return lines, f", mean over {len(corruptions(result))} corruptions,"
    first = min(result.perturbations, key=lambda name: place(Column(name, K_MAX.name, "high")))
    return [line_of(c) for c in result.curves if c.perturbation == first], f" under {perturbation_text(first)}"


def _falls(result: MemorizationResult) -> list[tuple[str, str, str]]:
    """Where there is no metric there still are curves: where the first models' end."""
    lines, what = _curves_told(result)
    what = what.strip(", ").removeprefix("under ")
    return [
        (
            f"Accuracy of {name_text(line.model)}",
            fixed(float(line.y[-1])),
            f"{what}, strength {line.x[-1]:g}; it was {fixed(float(line.y[0]))} at strength {line.x[0]:g}",
        )
        for line in lines[:LARGE]
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


def _sure(result: MemorizationResult, disputed: tuple[Side, Side] | None) -> list[str]:
    """What of the headline is significant, and what other metrics say."""
    r = lead(result)
    if r is None:
        return []
    if disputed is not None:
        sentences = [f"Each of the two differences is significant ({significant_text(result)})."]
    elif tied(r):
        sentences = []
    elif r.differs(r.models[0], r.models[-1]):
        sentences = [f"The difference is significant ({significant_text(result)})."]
    else:
        sentences = [f"The difference is not significant ({significant_text(result)})."]
    apart = [other.column.title for other in _told_apart(result)]
    if disputed is None and apart and not r.differs(r.models[0], r.models[-1]):
        sentences.append(f"Models do differ significantly by {and_text(apart[:MOST_NAMED])}.")
    others = len(opposed(result)) - (disputed is not None)
    if others:
        pairs = f"{others} {'other ' if disputed is not None else ''}pair{'' if others == 1 else 's'} of models"
        sentences.append(f"The metrics {'also ' if disputed is not None else ''}disagree on {pairs}.")
    return sentences


def _numbers(result: MemorizationResult, disputed: tuple[Side, Side] | None) -> list[tuple[str, str, str]]:
    r = lead(result)
    if r is None:
        return _falls(result)
    if disputed is not None:
        return [number for side in disputed for number in _both(result, side)]
    if tied(r):
        e = r.estimates[0]
        return [(r.column.title, fixed(e.value), f"{pair((e.low, e.high))}, each model")]
    sure = r.differs(r.models[0], r.models[-1])
    ends = ((0, "At the memorised end: "), (-1, "At the other end: "))
    return [
        (
            f"{where if sure else ''}{name_text(r.models[i])}",
            fixed(r.estimates[i].value),
            f"{r.column.title}, {pair((r.estimates[i].low, r.estimates[i].high))}",
        )
        for i, where in ends
    ]


def _both(result: MemorizationResult, side: Side) -> list[tuple[str, str, str]]:
    """The two models by one of the metrics that disagree, the more memorised one first."""
    r = next(r for r in result.rankings if r.column == side.column)
    found = [(model, r.estimates[r.models.index(model)]) for model in side.models]
    return [(f"{r.column.title}: {name_text(m)}", fixed(e.value), pair((e.low, e.high))) for m, e in found]


def _ends(r: Ranking) -> dict[str, Any]:
    """One metric: who is at which end."""
    sure = r.differs(r.models[0], r.models[-1])
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
        "sure": "none" if tied(r) else "significant" if sure else "not significant",
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
