"""The answer: a headline, what it rests on, and the numbers beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heldout.memorization.curve import PMV, PTV, Curve
from heldout.memorization.metrics import K_MAX, K_PTV, K_S, SSE
from heldout.memorization.ranking import GAP, Column, Ranking
from heldout.memorization.summary.phrases import (
    LEARNED,
    LEVEL_TEXT,
    MINUS_ONE,
    NOISE,
    Line,
    corruptions,
    finished,
    lead,
    lead_columns,
    line_of,
    mean_lines,
    opposed,
    perturbation_text,
    place,
    significant_text,
    trainings,
)
from heldout.summary import Figure
from heldout.summary.names import listed, name_text
from heldout.summary.numbers import counted, fixed, pair

if TYPE_CHECKING:
    from heldout.memorization.result import MemorizationResult

LARGE = 3  # numbers beside the headline, of a single model or where there is no metric
MOST_NAMED = 4  # metrics that a sentence lists
SEVERITIES = 0, 3, 5  # of the corruptions, told where there is no metric


@dataclass(frozen=True)
class Side:
    """A metric by which one model memorised significantly more than another."""

    column: Column
    models: tuple[str, str]  # the one that memorised more first
    values: tuple[float, float]


def disputed(result: MemorizationResult) -> tuple[Side, Side] | None:
    """Two metrics that order both ends of the first ranking in opposite ways, the most direct ones that do."""
    r = lead(result)
    if r is None or r.tied:
        return None
    ends = {r.models[0], r.models[-1]}
    models = next((models for models in opposed(result) if set(models) == ends), None)
    if models is None:
        return None
    # Label noise is the direct measure: perturbations of pictures cannot overrule it.
    more, less = (
        {c: v for c, v in side.items() if (c.perturbation in NOISE) == (r.perturbation in NOISE)}
        for side in opposed(result)[models]
    )
    if not more or not less:
        return None
    first, second = min(more, key=place), min(less, key=place)
    found = Side(first, models, more[first]), Side(second, models[::-1], less[second][::-1])
    return found if place(first) < place(second) else found[::-1]


def headline(result: MemorizationResult) -> str:
    """Who is at which end, or what the curve of a single model does."""
    if len(result.models) == 1:
        return _headline_of_one(result)
    r, sides = lead(result), disputed(result)
    if r is None:
        return _headline_of_falls(result, f"The models are not ranked: {why_unranked(result)}")
    if sides is not None:
        return _headline_of_disputed(r, *sides)
    first, last = r.most_memorised_first[0], r.most_memorised_first[-1]
    if r.tied:
        return f"{r.column.title} is {fixed(first.value)} for {'both' if len(r.models) == 2 else 'all'} models"
    names = name_text(first.model), name_text(last.model)
    if r.ends_differ:
        return (
            f"{names[0]} is at the memorised end ({r.column.title} {fixed(first.value)}), {names[1]} at the other "
            f"({fixed(last.value)})"
        )
    opening = "No significant difference"
    opening += f" between the ends of {r.column.title}:" if _told_apart(result) else f": {r.column.title}"
    values = f"{fixed(first.value)} ({names[0]}) {{}} {fixed(last.value)} ({names[1]})"
    return f"{opening} " + (values.format("and") if len(r.models) == 2 else f"from {values.format('to')}")


def why_unranked(result: MemorizationResult) -> str:
    """Why there is no ranking of several models."""
    if result.unranked:
        return "they were measured at different strengths"
    return "no two of them fit their labels" if result.unfit else "no metric is defined for two of them"


def _headline_of_disputed(r: Ranking, first: Side, second: Side) -> str:
    (more, less), (a, b), (c, d) = map(name_text, first.models), first.values, second.values
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
    """Rankings with a significant difference between two models, the most direct measure first."""
    return sorted((r for r in result.rankings if r.significant), key=lambda r: place(r.column))


def _headline_of_one(result: MemorizationResult) -> str:
    model = result.models[0]
    column = next((c for c in lead_columns(result, model) if c != GAP), None)
    if column is None:
        return _headline_of_falls(result, f"{name_text(model)}: no metric is defined here")
    curve = result.measured[model].perturbations[column.perturbation]
    if curve.unfit is not None:
        return f"{name_text(model)} does not fit its labels: {_fall(curve)}"
    value = _short(result.table[model][column].value)
    metric = {
        K_S.name: f"slope k_S {value} (0 if every label is memorised)",
        K_PTV.name: f"slope k_PTV {value} (1 if every label is memorised)",
        K_MAX.name: f"largest step k_max {value} of 1",
    }.get(column.metric, f"{column.metric} {value}")
    return f"{name_text(model)}: {_fall(curve)}; {metric}"


def _short(value: float) -> str:
    """Two digits, unless they would make a 0 or a 1 of something else.

    Examples
    --------
    >>> _short(0.137), _short(0.9972), _short(1.0)
    ('0.14', '0.9972', '1.00')
    """
    return fixed(value, 2) if 0.005 <= value < 0.995 or value in (0, 1) else fixed(value)


def _fall(curve: Curve) -> str:
    """From the first strength to the last one."""
    line = line_of(curve)
    first, last, end = float(line.y[0]), float(line.y[-1]), f"{line.x[-1]:g}"
    labels = {PMV: " on the labels trained on", PTV: " on the true labels"}.get(curve.perturbation, "")
    where = f"a share of {end} of wrong labels" if labels else f"{perturbation_text(curve.perturbation)} {end}"
    if line.assumed:
        return f"accuracy{labels} is {_short(last)} at {where}"
    goes = "falls to" if last < first else "rises to" if last > first else "stays at"
    return f"accuracy{labels} {_short(first)} {goes} {_short(last)} at {where}"


def _headline_of_falls(result: MemorizationResult, otherwise: str) -> str:
    """Where there is no metric: accuracies at the first, a middle and the last strength; of many models two."""
    lines, what = _lines_told(result)
    lines = [line for line in lines if line.x.tobytes() == lines[0].x.tobytes()]
    if len(lines) < min(2, len(result.models)):
        return otherwise
    x = lines[0].x
    at = [i for i, s in enumerate(x) if s in SEVERITIES]
    if len(at) < len(SEVERITIES):
        at = sorted({0, len(x) // 2, len(x) - 1})
    told = [f"{line.name} {listed([fixed(float(line.y[i])) for i in at])}" for line in lines]
    scale = "severities" if lines[0].unit == "severity" else "strengths"
    some = f" ({len(lines)} of {len(result.models)} models)" if len(lines) < len(result.models) else ""
    opening = f"Accuracy{what} at {scale} {listed([f'{x[i]:g}' for i in at])}{some}"
    if len(told) <= LARGE:
        return f"{opening}: {'; '.join(told)}"
    low, high = (int(f([line.y[-1] for line in lines])) for f in (np.argmin, np.argmax))
    return f"{opening}: at the last, {told[low]} is the lowest of {len(told)} models and {told[high]} the highest"


def _lines_told(result: MemorizationResult) -> tuple[list[Line], str]:
    """One line per model where there is no metric: the mean over corruptions, else the first perturbation."""
    lines = mean_lines(result)
    if lines:
        return lines, f", mean over {len(corruptions(result))} corruptions,"
    first = min(result.perturbations, key=lambda name: place(Column(name, K_MAX.name, "high")))
    return [line_of(c) for c in result.curves if c.perturbation == first], f" under {perturbation_text(first)}"


def sentences(result: MemorizationResult) -> tuple[str, ...]:
    """What was done, what of the headline is significant, and what other metrics say."""
    told, r, sides = [_measured(result)], lead(result), disputed(result)
    if r is None:
        return tuple(told)
    if sides is not None:
        told.append(f"Each of the two differences is significant ({significant_text(result)}).")
    elif not r.tied:
        told.append(f"The difference is {'' if r.ends_differ else 'not '}significant ({significant_text(result)}).")
    apart = [other.column.title for other in _told_apart(result)]
    if sides is None and apart and not r.ends_differ:
        told.append(f"Models do differ significantly by {listed(apart[:MOST_NAMED])}.")
    others = len(opposed(result)) - (sides is not None)
    if others:
        other, also = ("other ", "also ") if sides is not None else ("", "")
        told.append(f"The metrics {also}disagree on {counted(others, f'{other}pair')} of models.")
    return tuple(told)


def _measured(result: MemorizationResult) -> str:
    parts = []
    noise = [c for c in result.curves if c.perturbation == PMV]
    if noise:
        times = listed(["once" if s == 1 else f"{s} times" for s in trainings(result)])
        rates = noise[0].strengths
        at = f"each of {len(rates)} shares" if len(rates) > 1 else f"a share of {rates[0]:g}"
        who = "Each model was" if len(noise) > 1 else "The model was"
        parts.append(f"{who} retrained from scratch, {times} at {at} of wrong labels")
    names = [perturbation_text(name) for name in finished(result)]
    if names:
        shown = listed(names) if len(names) <= 5 else f"{len(names)} perturbations"
        who, whose = (
            ("the finished models were", "their") if len(result.models) > 1 else ("the finished model was", "its")
        )
        parts.append(f"{who} tested on {whose} training pictures, perturbed more and more ({shown})")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def figures(result: MemorizationResult) -> tuple[Figure, ...]:
    """The numbers beside the headline, the first one large."""
    found = enumerate(_numbers(result))
    return tuple(Figure(name=name, value=value, note=note, strong=i == 0) for i, (name, value, note) in found)


def _numbers(result: MemorizationResult) -> list[tuple[str, str, str]]:
    r, sides = lead(result), disputed(result)
    if len(result.models) == 1:
        model = result.models[0]
        own = [(c, result.table[model][c]) for c in lead_columns(result, model)[:LARGE]]
        if own:
            return [(c.title, fixed(e.value), f"{LEVEL_TEXT}: {pair((e.low, e.high))}") for c, e in own]
    if r is None:
        return _falls(result)
    if sides is not None:
        by = {ranking.column: ranking for ranking in result.rankings}
        found = [(side.column, by[side.column].of(model)) for side in sides for model in side.models]
        return [(f"{c.title}: {name_text(e.model)}", fixed(e.value), pair((e.low, e.high))) for c, e in found]
    first, last = r.most_memorised_first[0], r.most_memorised_first[-1]
    if r.tied:
        return [(r.column.title, fixed(first.value), f"{pair((first.low, first.high))}, each model")]
    where = ("At the memorised end: ", "At the other end: ") if r.ends_differ else ("", "")
    return [
        (f"{end}{name_text(e.model)}", fixed(e.value), f"{r.column.title}, {pair((e.low, e.high))}")
        for end, e in zip(where, (first, last), strict=True)
    ]


def _falls(result: MemorizationResult) -> list[tuple[str, str, str]]:
    """Where there is no metric there still are curves: where the first models' end."""
    lines, what = _lines_told(result)
    what = what.strip(", ").removeprefix("under ")
    return [
        (
            f"Accuracy of {line.name}",
            fixed(float(line.y[-1])),
            f"{what}, strength {line.x[-1]:g}; it was {fixed(float(line.y[0]))} at strength {line.x[0]:g}",
        )
        for line in lines[:LARGE]
    ]


def reading(result: MemorizationResult, model: str, column: Column) -> str:
    """What a metric would be if the model memorised, or learned."""
    if column == GAP:
        return "0 if it does as well on examples it was not trained on"
    curve = result.measured[model].perturbations[column.perturbation]
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
    line = line_of(curve)
    at, p = int(np.abs(np.diff(line.y)).argmax()), len(line.x) - 1
    if p == 1:
        return "the only step there is"
    first, last = float(line.y[0]), float(line.y[-1])
    return (
        f"the largest of {p} steps, from strength {line.x[at]:g} to {line.x[at + 1]:g}; an even fall from "
        f"{fixed(first)} to {fixed(last)} has steps of {fixed(abs(first - last) / p)}"
    )
