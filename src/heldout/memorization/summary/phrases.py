"""What several sections ask of a result, and how they call it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from heldout.memorization.curve import LEVEL, PMV, PTV, Curve
from heldout.memorization.metrics import K_MAX, Estimate
from heldout.memorization.perturb.corruptions import CORRUPTIONS
from heldout.memorization.ranking import GAP, Column, Ranking
from heldout.summary.names import listed, name_text
from heldout.summary.numbers import PERCENT

if TYPE_CHECKING:
    from heldout.memorization.result import MemorizationResult

NOISE = (PMV, PTV)
FIRST = (PTV, PMV, "spatial", "spatial-random", "fgsm", "gaussian")  # told in this order, then the others
LEVEL_TEXT = f"{100 * LEVEL:g}{PERCENT}"
LEARNED, MINUS_ONE = (f.replace(" ", "\N{NO-BREAK SPACE}") for f in ("A − (1 − A)", "(m − 1)"))  # k_S is their ratio
Values = dict[Column, tuple[float, float]]  # of two models


def examples_text(result: MemorizationResult) -> str:
    """On what it was measured."""
    sizes = sorted({curve.n for curve in result.curves})
    where = f" of {result.source}" if result.source else ""
    return f"{listed([f'{n:,}' for n in sizes])} training example{'' if sizes == [1] else 's'}{where}"


def units_text(result: MemorizationResult) -> str:
    """What must be independent for levels to hold."""
    return "examples" if all(curve.groups is None for curve in result.curves) else "groups"


def significant_text(result: MemorizationResult) -> str:
    """What "significant" means."""
    family = f"family-wise {LEVEL_TEXT} over all pairs of models, one metric at a time"
    return f"{family}, for independent {units_text(result)}"


def perturbation_text(name: str) -> str:
    """A perturbation as a heading.

    Examples
    --------
    >>> perturbation_text("ptv"), perturbation_text("gaussian"), perturbation_text("motion_blur")
    ('PTV: accuracy on the true labels', 'gaussian', 'motion blur')
    """
    known = {PMV: "PMV: accuracy on the labels trained on", PTV: "PTV: accuracy on the true labels"}
    return known.get(name, name.replace("_", " ") if name in CORRUPTIONS else name)


def defined(found: Estimate | None) -> bool:
    """Whether there is a number."""
    return found is not None and not np.isnan(found.value)


def finished(result: MemorizationResult) -> list[str]:
    """Perturbations of pictures, on which finished models are tested."""
    return [name for name in result.perturbations if name not in NOISE]


def corruptions(result: MemorizationResult) -> list[str]:
    """Those of Hendrycks and Dietterich."""
    return [name for name in finished(result) if name in CORRUPTIONS]


def trainings(result: MemorizationResult) -> list[int]:
    """Trainings per rate, of the models that were retrained."""
    return sorted({c.correct.shape[1] for c in result.curves if c.perturbation in NOISE})


def place(column: Column) -> tuple[int, str, bool]:
    """Where a metric stands among others: the most direct measure first, whatever order they were asked for in."""
    known = {name: i for i, name in enumerate(FIRST)} | {GAP.perturbation: len(FIRST) + 1}
    return known.get(column.perturbation, len(FIRST)), column.perturbation, column.metric != K_MAX.name


def lead(result: MemorizationResult) -> Ranking | None:
    """The ranking that is told first."""
    return min(result.rankings, key=lambda r: place(r.column), default=None)


def lead_columns(result: MemorizationResult, model: str) -> list[Column]:
    """What is defined for a model, in the order it is told."""
    return sorted((c for c, e in result.table[model].items() if defined(e)), key=place)


def opposed(result: MemorizationResult) -> dict[tuple[str, str], tuple[Values, Values]]:
    """Pairs of models that metrics disagree on: those by which the first memorised more, and those by which less."""
    pairs: dict[tuple[str, str], tuple[Values, Values]] = {}
    for d in result.disagreements:
        models, told = d.models, list(zip(d.columns, d.values, strict=True))
        if models[::-1] in pairs:
            models, told = models[::-1], [(column, values[::-1]) for column, values in told[::-1]]
        for side, (column, values) in zip(pairs.setdefault(models, ({}, {})), told, strict=True):
            side[column] = values
    return pairs


@dataclass(frozen=True)
class Line:
    """A curve at the strengths at which a training ended well."""

    model: str
    unit: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    assumed: bool = False

    @property
    def name(self) -> str:
        """Of the model, as it is shown."""
        return name_text(self.model)


def line_of(curve: Curve) -> Line:
    """What is drawn of a curve."""
    used, (low, high) = curve.used, curve.bands
    x, y = curve.strengths[used], curve.accuracy[used]
    return Line(curve.model, curve.unit, x, y, low[used], high[used], curve.assumed)


def mean_lines(result: MemorizationResult) -> list[Line]:
    """Per model that has them all, at the same severities, the mean over corruptions; none below two corruptions.

    Its band is the mean of the bands. Corruptions share their examples, so their errors depend on each other to an
    extent that was not measured; if they were the same, this would be the band, and otherwise it is narrower.
    """
    lines: list[Line] = []
    names = corruptions(result)
    for model in result.models if len(names) > 1 else ():
        own = [line_of(c) for c in result.curves if c.model == model and c.perturbation in names]
        if len(own) == len(names) and len({line.x.tobytes() for line in own}) == 1:
            y, low, high = (np.mean([getattr(line, key) for line in own], axis=0) for key in ("y", "low", "high"))
            lines.append(Line(model, own[0].unit, own[0].x, y, low, high))
    return lines
