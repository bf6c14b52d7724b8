"""The answer: a headline, what it rests on, the numbers beside it, and the words that all parts share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout import summary as page
from heldout.memorization.curve import LEVEL, PMV, PTV, Curve
from heldout.memorization.metrics import K_MAX, K_PTV, K_S, SSE, Estimate
from heldout.memorization.models import mean_line
from heldout.memorization.perturb.corruptions import CORRUPTIONS
from heldout.memorization.ranking import GAP, Column, Ranking, n_compared, opposed
from heldout.memorization.result import MemorizationResult

NOISE = {PMV: "PMV, on the labels trained on", PTV: "PTV, on the true labels"}
FIRST = (PTV, PMV, "spatial", "spatial-random", "fgsm", "gaussian")  # told in this order, then the others
LEVEL_TEXT = f"{100 * LEVEL:g}{page.PERCENT}"
AS_THEY_ARE = (
    "Intervals and comparisons of models that are perturbed are for these trainings as they are: how other trainings "
    "of the same methods would come out is not in them."
)
LARGE = 3  # numbers beside the headline, of a single model or where there is no metric
ENDS = {  # of a metric, as a single model is read against them; the first is told in the headline
    K_S.name: "0 if every label is memorised",
    K_PTV.name: "1 if every label is memorised; near 0 if it learned and wrong labels did not reach it",
    K_MAX.name: "1 if accuracy falls in a single step",
    SSE.name: "0 if accuracy falls along a straight line",
    GAP.metric: "0 if it does as well on examples it was not trained on",
}


def steepest(curve: Curve) -> tuple[float, float, bool]:
    """The strengths between which accuracy changes most, and whether it rises there."""
    x, y = curve.line[:2]
    steps = np.diff(y)
    at = int(np.abs(steps).argmax())
    return float(x[at]), float(x[at + 1]), bool(steps[at] > 0)


def title(column: Column) -> str:
    """A metric inside a sentence; its perturbation may have any name."""
    perturbation, _, metric = column.title.rpartition(" ")
    return f"{page.quoted(perturbation)} {metric}" if perturbation else metric


def perturbation_text(name: str) -> str:
    """A perturbation as a heading.

    Examples
    --------
    >>> perturbation_text("ptv"), perturbation_text("gaussian"), perturbation_text("motion_blur")
    ('PTV, on the true labels', 'gaussian', 'motion blur')
    """
    return NOISE.get(name, name.replace("_", " ") if name in CORRUPTIONS else name)


def corruptions(result: MemorizationResult) -> list[str]:
    """Perturbations that are those of Hendrycks and Dietterich."""
    return [name for name in result.perturbations if name in CORRUPTIONS]


def trainings(result: MemorizationResult) -> str:
    """Trainings per rate, of the models that were retrained; empty where none was."""
    return numbers_text([c.correct.shape[1] for c in result.curves if c.perturbation in NOISE])


def as_they_are(result: MemorizationResult) -> bool:
    """Whether intervals or comparisons are for single networks, so that other trainings of theirs are not in them."""
    return any(not curve.retrained and int(curve.done.any(axis=0).sum()) == 1 for curve in result.curves)


def units(result: MemorizationResult) -> str:
    """What must be independent for levels to hold."""
    return "examples" if all(curve.groups is None for curve in result.curves) else "groups"


def numbers_text(values: list[int]) -> str:
    """Counts that may differ from model to model: one in most cases."""
    return page.listed([f"{value:,}" for value in sorted(set(values))])


def place(column: Column) -> tuple[int, str, bool]:
    """Where a metric stands among others: the most direct measure first, whatever order they were asked for in."""
    known = {name: i for i, name in enumerate(FIRST)} | {GAP.perturbation: len(FIRST) + 1}
    return known.get(column.perturbation, len(FIRST)), column.perturbation, column.metric != K_MAX.name


def defined(result: MemorizationResult, model: str) -> list[tuple[Column, Estimate]]:
    """The metrics of a model that have a number, in the order they are told."""
    own = result.table[model].items()
    return sorted(((c, e) for c, e in own if not math.isnan(e.value)), key=lambda item: place(item[0]))


def lead(result: MemorizationResult) -> Ranking | None:
    """The ranking that is told first."""
    return min(result.rankings, key=lambda r: place(r.column), default=None)


def disputed(result: MemorizationResult) -> tuple[tuple[str, str], tuple[Column, Column]] | None:
    """Both ends of the first ranking, and the most direct metrics that order them in opposite ways, if there are any.

    Label noise is the direct measure: perturbations of pictures cannot overrule it.
    """
    r = lead(result)
    for models, sides in opposed(result.models, result.rankings).items():
        if r is not None and set(models) == {r.models[0], r.models[-1]}:
            more, less = (
                [s.column for s in side if (s.perturbation in NOISE) == (r.perturbation in NOISE)] for side in sides
            )
            if more and less:
                return models, (min(more, key=place), min(less, key=place))
    return None


def series_of(model: str, line: NDArray[np.float64], **look: Any) -> page.Series:
    """A line of a chart."""
    x, y, low, high = map(tuple, line.tolist())
    return page.Series(name=page.name_text(model), x=x, y=y, low=low, high=high, **look)


def mean_lines(result: MemorizationResult) -> dict[str, NDArray[np.float64]]:
    """Per model that has them all, the mean over corruptions; none below two corruptions."""
    names = corruptions(result)
    own = {name: [c for c in result.curves if c.model == name and c.perturbation in names] for name in result.models}
    found = {name: mean_line(curves, len(names)) for name, curves in own.items() if len(names) > 1}
    return {name: line for name, line in found.items() if line is not None}


def headline(result: MemorizationResult) -> str:
    """Who is at which end, or the most direct metric of a single model."""
    r, model = lead(result), result.models[0]
    own = {name: defined(result, name) for name in result.models}
    if not any(own.values()):
        return _falls(result)
    if len(own) == 1 and result.unfit:
        return f"{page.quoted(model)} does not fit its labels"
    if len(own) == 1:
        column, found = own[model][0]
        end, curve = ENDS[column.metric].partition(";")[0], result.curve(model, column.perturbation)
        if column.metric == K_MAX.name and curve is not None and steepest(curve)[2]:
            end = "the largest step, a rise"
        return f"{page.quoted(model)}: {title(column)} {page.fixed(found.value)} ({end})"
    if r is None:
        return f"The models are not ranked: {why_unranked(result)}"
    most, least = page.quoted(r.models[0]), page.quoted(r.models[-1])
    if disputed(result) is not None:
        return f"The metrics disagree on {most} and {least}"
    if r.tied:
        return f"{title(r.column)} is {page.fixed(r.most_memorised_first[0].value)} for all models"
    if r.ends_differ:
        if r.column.perturbation in NOISE:
            return f"By {title(r.column)}, {most} memorised more than {least}"
        return f"By {title(r.column)}, {most} is at the memorised end, {least} at the other"
    return f"No significant difference by {title(r.column)} between {most} and {least}"


def why_unranked(result: MemorizationResult) -> str:
    """Why there is no ranking of several models."""
    if result.unranked:
        return "they were measured at different strengths"
    return "no two of them fit their labels" if result.unfit else "no metric is defined for two of them"


def _falls(result: MemorizationResult) -> str:
    """Where there is no metric: how far accuracy falls, on average over corruptions or by the first perturbation."""
    first = min(result.perturbations, key=lambda name: place(Column(name, K_MAX.name, "high")))
    lines, what = mean_lines(result), f"mean over {len(corruptions(result))} corruptions"
    if not lines:
        lines, what = {c.model: c.line for c in result.curves if c.perturbation == first}, perturbation_text(first)
    last = sorted((line[1, -1], name) for name, line in lines.items())
    ends = [f"{page.fixed(y)} ({page.quoted(name)})" for y, name in (last[0], last[-1])]
    return f"Accuracy at the last strength, {page.quoted(what)}: {' to '.join(dict.fromkeys(ends))}"


def sentences(result: MemorizationResult) -> tuple[str, ...]:
    """What was done, what is significant, and whether metrics agree."""
    sudden = any(column.metric == K_MAX.name for model in result.models for column, _ in defined(result, model))
    done = page.that_hold(
        (trainings(result), "Retrained from scratch on labels of which more and more are wrong."),
        (set(result.perturbations) - {*NOISE}, "Tested on the training pictures, perturbed more and more."),
        (sudden, "How suddenly accuracy falls depends on the architecture and the augmentation too."),
        (as_they_are(result), AS_THEY_ARE),
    )
    if not result.rankings:
        return (" ".join(done),)
    apart = f"{sum(bool(r.significant) for r in result.rankings)} of {len(result.rankings)}"
    both = result.models, result.rankings
    return (
        " ".join(done),
        f"Metrics by which models differ significantly: {apart}. Pairs of models that two metrics order in opposite "
        f"ways, both significantly: {len(opposed(*both))} of {n_compared(*both)} that two metrics compare. Significant "
        f"is family-wise {LEVEL_TEXT} over all pairs of models, one metric at a time, for independent {units(result)}.",
    )


def figures(result: MemorizationResult) -> tuple[page.Figure, ...]:
    """The numbers beside the headline, the first one large."""
    r, clash, first = lead(result), disputed(result), result.models[0]
    shown: list[tuple[Column, str]] = []
    if len(result.models) == 1:
        shown = [(column, first) for column, _ in defined(result, first)[:LARGE]]
    elif r is not None:
        models, columns = clash or ((r.models[0], r.models[-1]), (r.column,))
        shown = [(column, model) for column in sorted(columns, key=place) for model in models]
    rows = [(f"{title(column)}: {page.quoted(model)}", result.table[model][column]) for column, model in shown]
    return page.figures(
        *((name, page.fixed(e.value), f"{LEVEL_TEXT}: {page.pair((e.low, e.high))}") for name, e in rows)
    )
