"""What the numbers mean, what they do not, what went in and what did not: rows of (when it is told, text)."""

from __future__ import annotations

from collections.abc import Iterator

from heldout import summary as page
from heldout.images.preprocessing import preprocessing_text
from heldout.memorization.curve import PMV, PTV
from heldout.memorization.metrics import DRAWS
from heldout.memorization.ranking import GAP
from heldout.memorization.result import MemorizationResult
from heldout.memorization.retrained import ENOUGH, HALF, LEAST
from heldout.memorization.summary import answer
from heldout.memorization.summary.sections import FORMULA

PAPER = "Pavlitskaya et al. 2022"
METHOD = (
    "S. Pavlitskaya, J. Oswald, J. M. Zöllner (2022), “Measuring overfitting in convolutional neural networks using "
    "adversarial perturbations and label noise”, <https://arxiv.org/abs/2209.13382>. PMV: J. M. Zhang, E. T. Barr, B. "
    "Guedj, M. Harman, J. Shawe-Taylor (2019), “Perturbed model validation”, <https://arxiv.org/abs/1905.10201>."
)


def advice(result: MemorizationResult) -> tuple[page.Section, ...]:
    """What each metric that is there means, with the number of its equation, and what must not be read into it."""
    names, units, trainings = result.perturbations, answer.units(result), answer.trainings(result)
    metrics = {column.metric for model in result.models for column, _ in answer.defined(result, model)}
    means = (
        (PMV in names,
         "PMV (Zhang et al. 2019), the direct measure: train from scratch with a share r of wrong labels, and take the "
         f"accuracy on the labels trained on. k_S is the size of its slope against r (eq. (6) of {PAPER}): 0 if every "
         f"label is memorised; with m classes about {FORMULA} if it learns with accuracy A, and no wrong label."),
        (PTV in names,
         f"PTV ({PAPER}): the same trainings, accuracy on the true labels. k_PTV is the slope as in eq. (6): 1 for a "
         "model that memorises every label and is wrong on exactly the wrong ones; near 0 for one that learns."),
        ("fgsm" in names, "fgsm: a step along the sign of the gradient (eq. (8))."),
        ("gaussian" in names, "gaussian: noise (eq. (9))."),
        ("spatial" in names, "spatial: the worst shift (of whole pixels) and turn of all grids up to the strength."),
        ("spatial-random" in names, "spatial-random: the worst of some such shifts and turns, drawn at random."),
        (answer.corruptions(result), "Corruptions and their severities are those of Hendrycks & Dietterich 2019."),
        ("k_max" in metrics, "k_max: the largest change of accuracy, up or down, between neighbours (eq. (10))."),
        ("SSE" in metrics, "SSE: squared distances from the best straight line through the first point (eq. (11))."),
        (GAP in result.columns, "Gap: accuracy on the training examples less that on validation examples, no noise."),
        (any(model.audit for model in result.measured.values()),
         "Audit p: p-value under the hypothesis that the model does not depend on these pictures and that small shifts "
         "are neutral; no control. Detectable is the mean T that this audit finds four times in five (level 0.05)."),
        (True,
         f"Intervals, {answer.LEVEL_TEXT}: for independent {units}, drawn anew. A metric is a norm of a curve (SSE "
         "its square), so its error is at most the norm of the curve’s error: drawn "
         f"{DRAWS:,} times for k_max and SSE, with the covariance of the measured curve; known for a slope. By the "
         f"rule of three one in n/3 of the {units} may fall at some strength unseen, which is added in quadrature. "
         "That may be wider than necessary."),
        (trainings,
         "The number of wrong labels is fixed, so the error of an accuracy under label noise is that of two means, on "
         "the true labels and on the wrong ones; trainings add what they vary by, with Student’s t, which takes "
         f"{ENOUGH} trainings per rate. An interval of a slope (k_S, k_PTV) may pass 1: it is not cut."),
        (True,
         f"Bands around curves are {answer.LEVEL_TEXT} intervals of each point by itself: of a single training by "
         "Clopper and Pearson, of several as the metrics’ intervals."),
        (result.rankings,
         "Comparisons are Bonferroni’s over the pairs. Models that share their examples, and under label noise their "
         "wrong labels, are compared in pairs, by the errors they share: models whose intervals overlap may differ."),
    )  # fmt: skip
    cautions = (
        ("k_max" in metrics,
         "k_max and SSE of perturbed pictures: a nearest-neighbour classifier, which memorises everything, can have a "
         "lower spatial k_max than a linear model. Compare like with like: one architecture, one augmentation."),
        (trainings,
         "k_S and k_PTV are about a way of training, on this many examples with so many wrong labels, for so long: the "
         "same network may memorise in twice the epochs what it did not before. They are not about one finished model, "
         "and say nothing of a method that does not fit its labels: one that, at some share r of "
         f"wrong labels, is right on less than {LEAST:g} (1 − r) A of those it is trained on, A being its accuracy "
         f"without noise, or whose A is below {HALF:g}. It is named and not ranked by them."),
        (answer.corruptions(result),
         "Severities of a corruption are steps of a scale without a unit, so neither a largest step nor a straight "
         "line means anything; the curves can be compared, model against model."),
        (len(result.models) > 1, "Being at the memorised end among these models says nothing about others."),
        (True, "A model that has memorised examples need not be worse on fresh ones for it."),
    )  # fmt: skip
    return (
        page.Section.of("What the numbers mean", page.Points.of(*means), anchor="means"),
        page.Section.of("What they do not mean", page.Points.of(*cautions), anchor="not"),
        page.Section.of("What to do next", page.Points.of(*_next(result)), anchor="next"),
    )


def _next(result: MemorizationResult) -> Iterator[tuple[object, str]]:
    """The ways on, each after its condition."""
    yield (
        answer.disputed(result) is not None,
        "Report every metric that was measured: no order of these models fits all.",
    )
    yield (not answer.trainings(result),
           "Where you have the training code, `heldout memorization retrain` is the direct measure: it asks what "
           "training makes of wrong labels.")  # fmt: skip
    yield (
        GAP not in result.columns,
        "Give fresh examples by --validation: the gap to them is how much better the training score looks.",
    )
    yield True, "Whether a model knows its test set is another question: `heldout audit`."


def facts(result: MemorizationResult) -> page.Facts:
    """What went in, one line per fact, and what did not: silence must not read as "nothing to see"."""
    same: dict[str, list[str]] = {}
    for name in result.perturbations:
        curve = next(c for c in result.curves if c.perturbation == name)
        told = f"{', '.join(f'{s:g}' for s in curve.strengths)} ({curve.unit})"
        same.setdefault(told, []).append(name.upper() if name in answer.NOISE else answer.perturbation_text(name))
    fresh = [m.validation.right.shape[1] for m in result.measured.values() if m.validation is not None]
    alone, audited = len(result.models) == 1, any(m.audit for m in result.measured.values())
    ran = [(c.precision, c.batch_size) for c in result.curves if c.precision is not None and c.batch_size is not None]
    return page.Facts.of(
        ("Models", page.names_text(result.models, len(result.models))),
        ("Training examples", answer.numbers_text([c.n for c in result.curves])),
        *(("Strengths", f"{page.names_text(names, len(names))}: {told}") for told, names in same.items()),
        ("Trainings per rate", answer.trainings(result)),
        ("Validation examples", answer.numbers_text(fresh) or "none, so there is no gap to fresh examples"),
        ("Classes", None if result.class_names is None else f"{len(result.class_names):,}"),
        ("Preprocessing", preprocessing_text(result.preprocessing)),
        ("Precision", page.arithmetic_text(*zip(*ran, strict=True)) if ran else None),
        ("  Run by", page.ways_text(c.way for c in result.curves if c.way is not None)),
        ("Label noise (PMV, PTV), the direct measure", None if answer.trainings(result) else "no model was retrained"),
        ("Perturbed pictures", None if set(result.perturbations) - {*answer.NOISE} else "not asked for"),
        ("Audit of the training pictures", None if audited else "not asked for"),
        ("Ranking", None if result.rankings else "there is only one model" if alone else answer.why_unranked(result)),
    )
