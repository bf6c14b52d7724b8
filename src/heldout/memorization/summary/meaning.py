"""What the numbers mean, and what they do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heldout.memorization.curve import PMV, PTV
from heldout.memorization.metrics import DRAWS
from heldout.memorization.ranking import GAP
from heldout.memorization.retrained import ENOUGH, HALF, LEAST
from heldout.memorization.summary.phrases import (
    LEARNED,
    LEVEL_TEXT,
    MINUS_ONE,
    NOISE,
    corruptions,
    defined,
    finished,
    significant_text,
    trainings,
    units_text,
)
from heldout.summary.names import listed

if TYPE_CHECKING:
    from heldout.memorization.result import MemorizationResult

PAPER = "Pavlitskaya et al. 2022"
METHOD = (
    "S. Pavlitskaya, J. Oswald, J. M. Zöllner (2022), “Measuring overfitting in convolutional neural networks using "
    "adversarial perturbations and label noise”, <https://arxiv.org/abs/2209.13382>. PMV: J. M. Zhang, E. T. Barr, B. "
    "Guedj, M. Harman, J. Shawe-Taylor (2019), “Perturbed model validation”, <https://arxiv.org/abs/1905.10201>."
)
KINDS = {
    "fgsm": "a step along the sign of the gradient (eq. (8))",
    "gaussian": "noise (eq. (9))",
    "spatial": "the worst shift (of whole pixels) and turn of all grids up to the strength",
    "spatial-random": "the worst of some random shifts (of whole pixels) and turns up to the strength",
}


def _metrics(result: MemorizationResult) -> set[str]:
    return {c.metric for row in result.table.values() for c, e in row.items() if defined(e)}


def meaning(result: MemorizationResult) -> tuple[str, ...]:
    """Each metric that is there, with the number of its equation."""
    points, metrics = [], _metrics(result)
    if PMV in result.perturbations:
        points.append(
            "PMV (Zhang et al. 2019): train from scratch with a share r of labels replaced by wrong ones, and take the "
            "accuracy on the labels that were trained on. k_S is the size of the slope of its line against r "
            f"(eq. (6) of {PAPER}). A model that memorises every label keeps an accuracy of 1: k_S = 0. One that "
            "learns with an accuracy of A does not reach the wrong labels: with m classes k_S is about "
            f"{LEARNED}/{MINUS_ONE}. Smaller means more memorised."
        )
    if PTV in result.perturbations:
        points.append(
            f"PTV ({PAPER}): the same trainings, accuracy on the true labels. k_PTV is the slope as in eq. (6). A "
            "model that memorises every label is wrong on exactly those that were made wrong: k_PTV = 1. One that "
            "learns is not misled: near 0. Larger means more memorised."
        )
    if finished(result):
        own = "; ".join(f"{name} is {what}" for name, what in KINDS.items() if name in result.perturbations)
        points.append(
            f"Perturbed pictures ({PAPER}): a finished model is tested on its own training pictures as these are "
            "changed more and more."
            + f" Here {own}." * bool(own)
            + " Corruptions and their severities are those of Hendrycks & Dietterich 2019." * bool(corruptions(result))
        )
    if "k_max" in metrics:
        points.append(
            "k_max: the largest change of accuracy from one strength to the next (eq. (10)). Larger means that "
            "accuracy falls more suddenly."
        )
    if "SSE" in metrics:
        points.append(
            "SSE: the squared distances of the accuracies from the best straight line through the first of them "
            "(eq. (11)). 0 is a straight line; larger means that accuracy falls more suddenly."
        )
    if GAP in result.columns:
        points.append("Gap: accuracy on the training examples less that on validation examples, without any noise.")
    if any(model.audit is not None for model in result.measured.values()):
        points.append(
            "Audit p: p-value under the hypothesis that the model does not depend on these pictures and that small "
            "shifts are neutral; no control. Detectable is the mean T that this audit finds four times in five "
            "(level 0.05, power 0.8)."
        )
    return (*points, *_intervals(result, metrics))


def _intervals(result: MemorizationResult, metrics: set[str]) -> list[str]:
    slopes = (
        " The number of wrong labels is fixed, so the error of an accuracy under label noise is that of two means, on "
        "the true labels and on the wrong ones; trainings add what they vary by, with Student’s t. An interval of a "
        "slope (k_S, k_PTV) may pass 1: it is not cut."
    )
    points = [
        f"Intervals, {LEVEL_TEXT}: for independent {units_text(result)}, drawn anew. A metric is the size of a curve, "
        "in a sense in which the size of a sum is at most the sum of the sizes; so the metric of the true curve lies "
        "no further from the measured one than the size of their difference. For k_max and SSE that size is drawn "
        f"{DRAWS:,} times, with the covariance of the measured curve; for a slope it is known. That holds also where a "
        "metric has a corner (SSE cannot be less than 0), and the interval may be wider than necessary. What was "
        f"never seen does not vary: by the rule of three one in n/3 of the {units_text(result)} may fall at some "
        f"strength unseen, which is added in quadrature.{slopes * bool(metrics & {'k_S', 'k_PTV'})}",
        _bands(result),
    ]
    if trainings(result):
        seeds = min(trainings(result))
        few = f", fewer than the {ENOUGH} that say how trainings differ" if 1 < seeds < ENOUGH else ""
        here = "is one, so the intervals do not say how trainings differ" if seeds == 1 else f"are {seeds}{few}"
        points.append(f"Trainings per rate: {ENOUGH} seeds or more say how trainings differ. Here there {here}.")
    if result.rankings:
        points.append(
            f"Comparisons are {significant_text(result)} (Bonferroni over the pairs): among models that do not differ, "
            "any > is rarer than one time in twenty. Models that share their examples, and under label noise their "
            "wrong labels, are compared in pairs, by the errors that they have in common; intervals that overlap may "
            "well belong to models that differ significantly."
        )
    return points


def _bands(result: MemorizationResult) -> str:
    seeds = {c.correct.shape[1] > 1 for c in result.curves}
    ways = [
        *(["those of a single training are Clopper-Pearson intervals"] if False in seeds else []),
        *(["those of several trainings are made as the metrics’ intervals are"] if True in seeds else []),
    ]
    return f"Bands around curves are {LEVEL_TEXT} intervals of each point by itself; {listed(ways)}."


def cautions(result: MemorizationResult) -> tuple[str, ...]:
    """What must not be read into the numbers."""
    points = []
    if "k_max" in _metrics(result):
        points.append(
            "k_max and SSE of perturbed pictures measure how suddenly accuracy falls. That depends on memorization, "
            "and on the architecture and the augmentation too. A nearest-neighbour classifier, which memorises "
            "everything, can have a lower spatial k_max than a linear model, as it does on scikit-learn’s digits. So "
            "compare like with like: one architecture, one augmentation."
        )
    if finished(result):
        points.append(
            "Label noise is the direct measure: it retrains and sees whether wrong labels are learned."
            + " It was not measured here." * (PTV not in result.perturbations)
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
            "Severities of a corruption are steps of a scale without a unit, so neither a largest step nor a straight "
            "line means anything; the curves can be compared, model against model."
        )
    if len(result.models) > 1:
        points.append("Ends are relative: that a model is at the memorised end among these says nothing about others.")
    return (*points, "A model that has memorised examples need not be worse on fresh ones for it.")
