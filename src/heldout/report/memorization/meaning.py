"""What the numbers mean, and what they do not."""

from __future__ import annotations

from heldout.memorization.curve import PMV, PTV, RESAMPLES
from heldout.memorization.ranking import GAP
from heldout.memorization.result import MemorizationResult
from heldout.memorization.retrained import ENOUGH
from heldout.report.memorization.words import (
    LEARNED,
    LEVEL_TEXT,
    MINUS_ONE,
    NOISE,
    at_once_text,
    corruptions,
    defined,
    finished,
    trainings,
)

PAPER = "Pavlitskaya et al. 2022"


def means(result: MemorizationResult) -> list[str]:
    """Each metric that is there, with the number of its equation."""
    metrics = {c.metric for row in result.table.values() for c, e in row.items() if defined(e)}
    names = result.perturbations
    points = []
    if PMV in names:
        points.append(
            "PMV (Zhang et al. 2019): train from scratch with a share r of labels replaced by wrong ones, and take the "
            "accuracy on the labels that were trained on. k_S is the size of the slope of its line against r "
            f"(eq. (6) of {PAPER}). A model that memorises every label keeps an accuracy of 1: k_S = 0. One that "
            "learns with an accuracy of A does not reach the wrong labels: with m classes k_S is about "
            f"{LEARNED}/{MINUS_ONE}. Smaller means more memorised."
        )
    if PTV in names:
        points.append(
            f"PTV ({PAPER}): the same trainings, accuracy on the true labels. k_PTV is the slope as in eq. (6). A "
            "model that memorises every label is wrong on just those that were made wrong: k_PTV = 1. One that "
            "learns is not misled: near 0. Larger means more memorised."
        )
    if finished(result):
        points.append(_perturbations(result))
    if "k_max" in metrics:
        points.append(
            "k_max: the largest change of accuracy from one strength to the next (eq. (10)), out of as many as there "
            "are steps. Larger means that accuracy falls more suddenly."
        )
    if "SSE" in metrics:
        points.append(
            "SSE: the squared distances of the accuracies from the best straight line through the first of them "
            "(eq. (11)). 0 is a straight line; larger means that accuracy falls more suddenly."
        )
    if GAP in result.columns:
        points.append("Gap: accuracy on the training examples less that on validation examples, without any noise.")
    if result.audits:
        points.append(
            "Audit p: how likely so large a mean T were if the model did not depend on these very pictures, by "
            "`heldout audit` without a control. A small one says that it does depend on them, as it may: it was "
            "trained on them."
        )
    return [*points, *_intervals(result)]


def _perturbations(result: MemorizationResult) -> str:
    kinds = {
        "fgsm": "a step along the sign of the gradient (eq. (8))",
        "gaussian": "noise (eq. (9))",
        "spatial": "the worst shift and turn of a grid",
        "spatial-random": "the worst of some random shifts and turns",
    }
    own = [f"{name} is {what}" for name, what in kinds.items() if name in result.perturbations]
    which = f" Here {'; '.join(own)}." if own else ""
    if corruptions(result):
        which += " Corruptions and their severities are those of Hendrycks & Dietterich 2019."
    return (
        f"Perturbed pictures ({PAPER}): a finished model is put to its own training pictures as these are changed "
        f"more and more.{which}"
    )


def _intervals(result: MemorizationResult) -> list[str]:
    noise = any(name in NOISE for name in result.perturbations)
    seeds = trainings(result)
    drawn = "examples and trainings" if noise and max(seeds, default=1) > 1 else "examples"
    points = [
        f"Intervals, {LEVEL_TEXT}: {drawn} are drawn anew {RESAMPLES:,} times. A metric is the size of a curve, in a "
        "sense in which the size of a sum is at most the sum of the sizes; so the metric of the true curve lies no "
        "further from the measured one than the size of their difference, which resampling tells. That holds also "
        "where a metric has a corner (SSE cannot be less than 0), and the interval may be wider than it need be. "
        "Where no answer changed, something that happens to 3 in n examples could have been missed; no interval is "
        "narrower than that. Bands around curves are for each point by itself."
    ]
    if noise:
        few = (
            f" Here there are {min(seeds)}, fewer than the {ENOUGH} that say how trainings differ."
            if 1 < min(seeds) < ENOUGH
            else " Here there is one, so that the intervals do not say how trainings differ."
            if min(seeds) == 1
            else f" Here there are {min(seeds)}."
        )
        points.append(f"Trainings a rate: {ENOUGH} seeds or more say how trainings differ.{few}")
    if result.rankings:
        points.append(
            f"Comparisons: the ranking’s intervals hold for {at_once_text(result)} at once, each at the "
            f"level {LEVEL_TEXT} to the power of 1/{len(result.models)} (Šidák). So two that do not overlap differ by "
            "more than chance. That is for one metric at a time."
        )
    return points


def cautions(result: MemorizationResult) -> list[str]:
    """What must not be read into the numbers."""
    points = []
    if any(c.metric == "k_max" and defined(e) for row in result.table.values() for c, e in row.items()):
        points.append(
            "k_max and SSE of perturbed pictures measure how suddenly accuracy falls. That depends on memorization, "
            "and on the architecture and the augmentation too. A classifier by the one nearest neighbour, which "
            "memorises everything, can have a lower spatial k_max than a linear model, as has been seen on "
            "scikit-learn’s digits. So compare like with like: one architecture, one augmentation."
        )
    if finished(result):
        points.append(
            "Label noise is the direct measure: it trains anew and sees whether wrong labels are learned."
            + (" It was not measured here." if PTV not in result.perturbations else "")
        )
    if any(name in NOISE for name in result.perturbations):
        points.append(
            "k_S and k_PTV are about a way of training, on this many examples with so many wrong labels; not about "
            "one finished model."
        )
    if corruptions(result):
        points.append(
            "Severities of a corruption are steps of a scale without a unit, so that neither a largest step nor a "
            "straight line means anything; the curves can be compared, model against model."
        )
    if len(result.models) > 1:
        points.append("Ends are relative: that a model is at the memorised end among these says nothing about others.")
    points.append("A model that has memorised examples need not be worse on fresh ones for it.")
    return points
