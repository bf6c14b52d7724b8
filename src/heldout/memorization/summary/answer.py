"""The answer: a headline, what it rests on, and the numbers beside it."""

from __future__ import annotations

import math

import numpy as np

from heldout import summary as page
from heldout.memorization.metrics import K_MAX, K_PTV, K_S, SSE
from heldout.memorization.ranking import GAP, Column
from heldout.memorization.result import MemorizationResult
from heldout.memorization.summary import phrases

LARGE = 3  # numbers beside the headline, of a single model or where there is no metric
ENDS = {  # of a metric, as a single model is read against them
    K_S.name: "0 if every label is memorised",
    K_PTV.name: "1 if every label is memorised",
    K_MAX.name: "1 if accuracy falls in a single step",
    SSE.name: "0 if accuracy falls along a straight line",
    GAP.metric: "0 if it does as well on examples it was not trained on",
}


def headline(result: MemorizationResult) -> str:
    """Who is at which end, or the most direct metric of a single model."""
    r, model = phrases.lead(result), result.models[0]
    if not any(phrases.defined(result, name) for name in result.models):
        what, lines = _falls(result)
        ends = [f"{page.fixed(s.y[-1])} ({page.quoted(s.name)})" for s in sorted(lines, key=lambda s: s.y[-1])]
        return f"Accuracy at the last strength, {what}: {' to '.join(dict.fromkeys([ends[0], ends[-1]]))}"
    if len(result.models) == 1 and result.unfit:
        return f"{page.quoted(model)} does not fit its labels"
    if len(result.models) == 1:
        column, found = phrases.defined(result, model)[0]
        return f"{page.quoted(model)}: {phrases.title(column)} {page.fixed(found.value)} ({ENDS[column.metric]})"
    if r is None:
        return f"The models are not ranked: {why_unranked(result)}"
    most, least = page.quoted(r.models[0]), page.quoted(r.models[-1])
    if phrases.disputed(result) is not None:
        return f"The metrics disagree on {most} and {least}"
    if r.tied:
        return f"{phrases.title(r.column)} is {page.fixed(r.most_memorised_first[0].value)} for all models"
    if r.ends_differ:
        return f"By {phrases.title(r.column)}, {most} is at the memorised end and {least} at the other"
    return f"No significant difference by {phrases.title(r.column)} between {most} and {least}"


def why_unranked(result: MemorizationResult) -> str:
    """Why there is no ranking of several models."""
    if result.unranked:
        return "they were measured at different strengths"
    return "no two of them fit their labels" if result.unfit else "no metric is defined for two of them"


def _falls(result: MemorizationResult) -> tuple[str, list[page.Series]]:
    """Where there is no metric: the mean over corruptions, else the curves of the first perturbation."""
    means = phrases.mean_series(result, {})
    if means:
        return f"mean over {len(phrases.corruptions(result))} corruptions", means
    first = min(result.perturbations, key=lambda name: phrases.place(Column(name, K_MAX.name, "high")))
    lines = [phrases.series_of(c) for c in result.curves if c.perturbation == first]
    return page.quoted(phrases.perturbation_text(first)), lines


def sentences(result: MemorizationResult) -> tuple[str, ...]:
    """What was done, what is significant, and whether metrics agree."""
    retrained = "Retrained from scratch on labels of which more and more are wrong. " * bool(phrases.trainings(result))
    tested = "Tested on the training pictures, perturbed more and more. " * bool(phrases.finished(result))
    sudden = any(column.metric == K_MAX.name for model in result.models for column, _ in phrases.defined(result, model))
    tested += "How suddenly accuracy falls depends on the architecture and the augmentation too." * sudden
    done = (retrained + tested).strip()
    if not result.rankings:
        return (done,)
    apart = f"{sum(bool(r.significant) for r in result.rankings)} of {len(result.rankings)}"
    pairs = f"{len(phrases.opposed(result))} of {phrases.n_compared(result)}"
    return (
        done,
        f"Metrics by which models differ significantly: {apart}. Pairs of models that two metrics order in opposite "
        f"ways, both significantly: {pairs} that two metrics compare. Significant is family-wise {phrases.LEVEL_TEXT} "
        f"over all pairs of models, one metric at a time, for independent {phrases.units(result)}.",
    )


def figures(result: MemorizationResult) -> tuple[page.Figure, ...]:
    """The numbers beside the headline, the first one large."""
    r, clash, first = phrases.lead(result), phrases.disputed(result), result.models[0]
    shown: list[tuple[Column, str]] = []
    if len(result.models) == 1:
        shown = [(column, first) for column, _ in phrases.defined(result, first)[:LARGE]]
    elif r is not None:
        models, columns = clash or ((r.models[0], r.models[-1]), (r.column,))
        shown = [(column, model) for column in sorted(columns, key=phrases.place) for model in models]
    return tuple(
        page.Figure(
            name=f"{phrases.title(column)}: {page.quoted(model)}",
            value=page.fixed(found.value),
            note=f"{phrases.LEVEL_TEXT}: {page.pair((found.low, found.high))}",
            strong=not i,
        )
        for i, (column, model) in enumerate(shown)
        for found in [result.table[model][column]]
    )


def reading(result: MemorizationResult, column: Column) -> str:
    """What a metric of a single model would be if it memorised, or learned."""
    curve = result.curve(result.models[0], column.perturbation)
    if curve is None:
        return ENDS[column.metric]
    x, y = curve.strengths[curve.used], curve.accuracy[curve.used]
    told = ENDS[column.metric]
    if column.metric == K_PTV.name:
        told += "; near 0 if it learned and wrong labels did not reach it"
    elif column.metric == K_S.name and x[0] == 0:
        classes = [len(result.class_names)] if result.class_names and len(result.class_names) > 1 else [2, math.inf]
        names = {2: "two classes", math.inf: "very many"}
        learned = [f"{page.fixed(y[0] - (1 - y[0]) / (m - 1))} with {names.get(m, f'{m:g} classes')}" for m in classes]
        told += f"; if it learned, with an accuracy without noise of A = {page.fixed(y[0])}, about {phrases.FORMULA}: "
        told += page.listed(learned)
    elif column.metric == K_MAX.name:
        at = int(np.abs(np.diff(y)).argmax())
        told += f"; the largest of {len(y) - 1} is from strength {x[at]:g} to {x[at + 1]:g}; an even fall from "
        told += f"{page.fixed(y[0])} to {page.fixed(y[-1])} has steps of {page.fixed(abs(y[0] - y[-1]) / (len(y) - 1))}"
    return told
