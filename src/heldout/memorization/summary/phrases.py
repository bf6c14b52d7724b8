"""What several parts of the summary ask of a result, and how they call it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from heldout import summary as page
from heldout.memorization.curve import LEVEL, PMV, PTV, Curve
from heldout.memorization.metrics import K_MAX, Estimate
from heldout.memorization.perturb.corruptions import CORRUPTIONS
from heldout.memorization.ranking import GAP, Column, Ranking
from heldout.memorization.result import MemorizationResult

NOISE = (PMV, PTV)
FIRST = (PTV, PMV, "spatial", "spatial-random", "fgsm", "gaussian")  # told in this order, then the others
LEVEL_TEXT = f"{100 * LEVEL:g}{page.PERCENT}"
FORMULA = "A − (1 − A)/(m − 1)".replace(" ", "\N{NO-BREAK SPACE}")  # k_S of a model that learns, with m classes


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
    known = {PMV: "PMV, on the labels trained on", PTV: "PTV, on the true labels"}
    return known.get(name, name.replace("_", " ") if name in CORRUPTIONS else name)


def finished(result: MemorizationResult) -> list[str]:
    """Perturbations of pictures, on which finished models are tested."""
    return [name for name in result.perturbations if name not in NOISE]


def corruptions(result: MemorizationResult) -> list[str]:
    """Those of Hendrycks and Dietterich."""
    return [name for name in finished(result) if name in CORRUPTIONS]


def trainings(result: MemorizationResult) -> list[int]:
    """Trainings per rate, of the models that were retrained."""
    return sorted({c.correct.shape[1] for c in result.curves if c.perturbation in NOISE})


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
    return sorted(((c, e) for c, e in own if not np.isnan(e.value)), key=lambda item: place(item[0]))


def lead(result: MemorizationResult) -> Ranking | None:
    """The ranking that is told first."""
    return min(result.rankings, key=lambda r: place(r.column), default=None)


def disputed(result: MemorizationResult) -> tuple[tuple[str, str], tuple[Column, Column]] | None:
    """Both ends of the first ranking, and the most direct metrics that order them in opposite ways, if there are any.

    Label noise is the direct measure: perturbations of pictures cannot overrule it.
    """
    r = lead(result)
    for models, sides in opposed(result).items():
        if r is not None and set(models) == {r.models[0], r.models[-1]}:
            more, less = (
                [s.column for s in side if (s.perturbation in NOISE) == (r.perturbation in NOISE)] for side in sides
            )
            if more and less:
                return models, (min(more, key=place), min(less, key=place))
    return None


def opposed(result: MemorizationResult) -> dict[tuple[str, str], tuple[list[Ranking], list[Ranking]]]:
    """Pairs of models that metrics disagree on: those by which the first memorised more, and those by which less."""
    found = {}
    for a, b in itertools.combinations(result.models, 2):
        more, less = ([r for r in result.rankings if r.differs(*models)] for models in ((a, b), (b, a)))
        if more and less:
            found[a, b] = more, less
    return found


def n_compared(result: MemorizationResult) -> int:
    """Pairs of models that two metrics or more compare."""
    pairs = itertools.combinations(result.models, 2)
    return sum(sum({a, b} <= {*r.models} for r in result.rankings) > 1 for a, b in pairs)


def series_of(curve: Curve, **look: Any) -> page.Series:
    """A curve at the strengths at which a training ended well."""
    used = curve.used
    x, y, low, high = (tuple(v[used].tolist()) for v in (curve.strengths, curve.accuracy, *curve.bands))
    return page.Series(name=page.name_text(curve.model), x=x, y=y, low=low, high=high, **look)


def mean_series(result: MemorizationResult, looks: Mapping[str, Any]) -> list[page.Series]:
    """Per model that has them all, at the same severities, the mean over corruptions; none below two corruptions.

    Its band is the mean of the bands. Corruptions share their examples, so their errors depend on each other to an
    extent that was not measured; if they were the same, this would be the band, and otherwise it is narrower.
    """
    found, names = [], corruptions(result)
    for model in result.models if len(names) > 1 else ():
        curves = [c for c in result.measured[model].perturbations.values() if c.perturbation in names]
        own = [series_of(c, **looks.get(model, {})) for c in curves]
        if len(own) == len(names) and len({s.x for s in own}) == 1:
            y, low, high = map(tuple, np.mean([np.array([s.y, s.low, s.high]) for s in own], axis=0).tolist())
            found.append(replace(own[0], y=y, low=low, high=high))
    return found
