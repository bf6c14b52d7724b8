"""What the numbers mean, and what they do not."""

from __future__ import annotations

from heldout.memorization.curve import PMV, PTV
from heldout.memorization.metrics import DRAWS
from heldout.memorization.ranking import GAP
from heldout.memorization.result import MemorizationResult
from heldout.memorization.retrained import ENOUGH, HALF, LEAST
from heldout.pages.memorization.words import (
    LEARNED,
    LEVEL_TEXT,
    MINUS_ONE,
    NOISE,
    and_text,
    corruptions,
    defined,
    finished,
    significant_text,
    trainings,
    units_text,
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
            "Audit p: p-value under the hypothesis that the model does not depend on these pictures and that small "
            "shifts are neutral; no control. Detectable is the mean T that this audit finds four times in five "
            "(level 0.05, power 0.8)."
        )
    return [*points, *_intervals(result)]


def _perturbations(result: MemorizationResult) -> str:
    kinds = {
        "fgsm": "a step along the sign of the gradient (eq. (8))",
        "gaussian": "noise (eq. (9))",
        "spatial": "the worst shift (of whole pixels) and turn of all grids up to the strength",
        "spatial-random": "the worst of some random shifts (of whole pixels) and turns up to the strength",
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
    passes = (
        " How many labels are wrong is fixed, so the error of an accuracy under label noise is that of two means, on "
        "the true labels and on the wrong ones; trainings add what they vary by, with Student’s t. An interval of a "
        "slope (k_S, k_PTV) may pass 1: it is not cut."
        if any(c.perturbation in NOISE and defined(e) for row in result.table.values() for c, e in row.items())
        else ""
    )
    points = [
        f"Intervals, {LEVEL_TEXT}: for independent {units_text(result)}, drawn anew. A metric is the size of a curve, "
        "in a sense in which the size of a sum is at most the sum of the sizes; so the metric of the true curve lies "
        "no further from the measured one than the size of their difference. Of k_max and SSE that size is drawn "
        f"{DRAWS:,} times, with the covariance of the measured curve; of a slope it is known. That holds also where a "
        "metric has a corner (SSE cannot be less than 0), and the interval may be wider than it need be. What was "
        f"never seen does not vary: by the rule of three one of {units_text(result)} in n/3 that falls at some "
        f"strength, which is added in quadrature.{passes}",
        _bands(result),
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
            f"Comparisons are {significant_text(result)} (Bonferroni over the pairs): among models that do not differ, "
            "any > is rarer than one time in twenty. Models that share their examples, and under label noise their "
            "wrong labels, are compared in pairs, by the errors that they have in common; intervals that overlap may "
            "well belong to models that differ significantly."
        )
    return points


def _bands(result: MemorizationResult) -> str:
    """How the bands of the curves are made."""
    single = any(c.correct.shape[1] == 1 for c in result.curves)
    several = any(c.correct.shape[1] > 1 for c in result.curves)
    ways = [
        *(["those of a single training are Clopper-Pearson intervals"] if single else []),
        *(["those of several trainings are made as the metrics’ intervals are"] if several else []),
    ]
    return f"Bands around curves are for each point by itself; {and_text(ways)}."


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
            "one finished model. They say nothing of a method that does not fit its labels: one that, at some share r "
            f"of wrong labels, is right on less than {LEAST:g} (1 − r) A of those it is trained on, A being its "
            f"accuracy without noise, or whose A is below {HALF:g}. It is named and not ranked by them."
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
