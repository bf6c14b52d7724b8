"""Words that several sections of the page share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heldout.memorization.curve import LEVEL, PMV, PTV, Curve
from heldout.memorization.metrics import K_MAX, Estimate
from heldout.memorization.perturb.corruptions import CORRUPTIONS
from heldout.memorization.ranking import GAP, Column, Ranking
from heldout.memorization.result import MemorizationResult
from heldout.pages.numbers import PERCENT, pair
from heldout.pages.svg.shapes import shorten

LONGEST = 40  # characters of a model's name in tables and sentences; the whole one is told to a pointer
TURNS = dict.fromkeys([0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])  # controls of direction
NOISE = (PMV, PTV)
EQUAL = 1e-12  # values that differ by less are the same, up to rounding in sums
FIRST = (PTV, PMV, "spatial", "spatial-random", "fgsm", "gaussian")  # told in this order, then the others
LEARNED, MINUS_ONE = (f.replace(" ", "\N{NO-BREAK SPACE}") for f in ("A − (1 − A)", "(m − 1)"))  # k_S is their ratio
LEVEL_TEXT = f"{100 * LEVEL:g}{PERCENT}"
FAMILY_WISE = f"family-wise {LEVEL_TEXT} over all pairs of models, one metric at a time"


def name_text(name: str) -> str:
    """A model's name, not too long, and without what would turn the text around it around.

    Examples
    --------
    >>> name_text("resnet\N{RIGHT-TO-LEFT OVERRIDE}50")
    'resnet50'
    """
    return shorten(name.translate(TURNS), LONGEST)


def models_text(result: MemorizationResult) -> str:
    """How many models, or which."""
    return name_text(result.models[0]) if len(result.models) == 1 else f"{len(result.models):,} models"


def units_text(result: MemorizationResult) -> str:
    """What must be independent for levels to hold."""
    return "examples" if all(curve.groups is None for curve in result.curves) else "groups"


def significant_text(result: MemorizationResult) -> str:
    """What "significant" means on this page."""
    return f"{FAMILY_WISE}, for independent {units_text(result)}"


def examples_text(result: MemorizationResult) -> str:
    """On what it was measured."""
    sizes = sorted({curve.n for curve in result.curves})
    where = f" of {result.source}" if result.source else ""
    return f"{and_text([f'{n:,}' for n in sizes])} training example{'' if sizes == [1] else 's'}{where}"


def and_text(parts: Sequence[str]) -> str:
    """Parts as a sentence lists them.

    Examples
    --------
    >>> and_text(["fog"]), and_text(["fog", "snow"]), and_text(["fog", "snow", "frost"])
    ('fog', 'fog and snow', 'fog, snow and frost')
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def interval_text(low: float, high: float) -> str:
    """An interval that may be broken behind its "to" only."""
    return pair((low, high)).replace(" to", "\N{NO-BREAK SPACE}to")


def defined(found: Estimate | None) -> bool:
    """Whether there is a number."""
    return found is not None and not np.isnan(found.value)


def perturbation_text(name: str) -> str:
    """A perturbation as a heading.

    Examples
    --------
    >>> perturbation_text("ptv"), perturbation_text("gaussian"), perturbation_text("motion_blur")
    ('PTV: accuracy on the true labels', 'gaussian', 'motion blur')
    """
    known = {PMV: "PMV: accuracy on the labels trained on", PTV: "PTV: accuracy on the true labels"}
    return known.get(name, name.replace("_", " ") if name in CORRUPTIONS else name)


def finished(result: MemorizationResult) -> list[str]:
    """Perturbations of pictures, to which finished models are put."""
    return [name for name in result.perturbations if name not in NOISE]


def corruptions(result: MemorizationResult) -> list[str]:
    """Those of Hendrycks and Dietterich."""
    return [name for name in finished(result) if name in CORRUPTIONS]


def place(column: Column) -> tuple[int, str, bool]:
    """Where a metric stands among others: the most direct measure first, and never by the order they were asked for."""
    known = {name: i for i, name in enumerate(FIRST)} | {GAP.perturbation: len(FIRST) + 1}
    return known.get(column.perturbation, len(FIRST)), column.perturbation, column.metric != K_MAX.name


def lead(result: MemorizationResult) -> Ranking | None:
    """The ranking that is told first."""
    return min(result.rankings, key=lambda r: place(r.column), default=None)


def lead_columns(result: MemorizationResult, model: str) -> list[Column]:
    """What is defined for a model, in the order it is told."""
    return sorted((c for c, e in result.table[model].items() if defined(e)), key=place)


def training_accuracy(result: MemorizationResult, model: str) -> float | None:
    """Accuracy on the training set as it is; None where it was not measured."""
    curve = result.untouched(model)
    return None if curve is None else float(curve.accuracy[0])


def trainings(result: MemorizationResult) -> list[int]:
    """Trainings a rate, of the models that were trained anew."""
    return sorted({c.correct.shape[1] for c in result.curves if c.perturbation in NOISE})


def strengths_text(curve: Curve) -> str:
    """The strengths of a curve."""
    return ", ".join(f"{s:g}" for s in curve.strengths)
