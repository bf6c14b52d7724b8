"""What measuring memorization returns: curves and metrics of every model, and who memorised more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from heldout._version import __version__
from heldout.memorization import models as several
from heldout.memorization.curve import LEVEL, Curve
from heldout.memorization.metrics import Estimate
from heldout.memorization.models import Audited, ModelResult, Unranked
from heldout.memorization.ranking import Column, Correlation, Disagreement, Ranking
from heldout.memorization.retrained import LabelNoiseCurve
from heldout.report import Result
from heldout.results import today

__all__ = ["Audited", "MemorizationResult"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MemorizationResult(Result):
    """Curves of one or several models, their metrics with intervals, and who memorised more.

    `MemorizationResult.of` makes it from curves. Its tables (`to_frame`) are "curves", one row per model, perturbation
    and strength, and "metrics", one row per model and metric.

    Parameters
    ----------
    measured : dict of str to ModelResult
        Per model its curves, gap and audit.
    rankings : tuple of Ranking
        Models in the order of each metric.
    correlations : tuple of Correlation
        How alike the orders by two metrics are.
    disagreements : tuple of Disagreement
        Pairs of models that two metrics order in opposite ways, each significantly.
    unranked : tuple of Unranked
        Models that were measured at other strengths than the others.
    unpaired : tuple of (str, str)
        Ranked models that do not share their examples, so that they are compared as if independent.
    failures : tuple of str
        Trainings that raised.
    notes : tuple of str
        What trainings noticed: sentences. The JSON's `notes` are all `remarks`.
    source, digest : str
        The training set and its hash.
    preprocessing : dict
        What was done to pictures.
    class_names : tuple of str, optional
        Of the labels.
    seed, version, created
        Of all that was drawn; what made the result, and when.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import Curve, MemorizationResult
    >>> right = np.array([[[1, 1, 1, 1]], [[1, 1, 0, 0]], [[1, 0, 0, 0]]], dtype=bool)
    >>> curve = Curve.of(
    ...     model="net", perturbation="spatial", unit="pixels", strengths=np.arange(3.0), correct=right,
    ...     done=np.ones((3, 1), dtype=bool), even=True, seed=0,
    ... )
    >>> result = MemorizationResult.of([curve])
    >>> result.models, [(column.metric, round(estimate.value, 6)) for column, estimate in result.table["net"].items()]
    (('net',), [('k_max', 0.5), ('SSE', 0.0125)])
    """

    told_by = "heldout.memorization.summary:summarise"
    verb: ClassVar[str] = "memorization"
    level: ClassVar[float] = LEVEL
    tabled: ClassVar = {
        "curves": ("curves", ("model", "perturbation", "unit", ("strength", "strengths"), "accuracy",
                              ("low", "bands.0"), ("high", "bands.1"))),
        "metrics": ("_estimates", (("model", "0"), ("perturbation", "1.perturbation"), ("metric", "1.metric"),
                                   ("value", "2.value"), ("low", "2.low"), ("high", "2.high"),
                                   ("memorised", "1.memorised"), ("reason", "2.reason"))),
    }  # fmt: skip
    unlisted = ("measured", "source", "digest", "preprocessing", "class_names")
    derived = ("verb", "level", "data", ("models", "measured"), ("notes", "remarks"))

    measured: dict[str, ModelResult]
    rankings: tuple[Ranking, ...] = ()
    correlations: tuple[Correlation, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    unranked: tuple[Unranked, ...] = ()
    unpaired: tuple[tuple[str, str], ...] = ()
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    source: str = ""
    digest: str = ""
    preprocessing: dict[str, Any] = field(default_factory=dict)
    class_names: tuple[str, ...] | None = None
    seed: int = 0
    version: str = __version__
    created: str = field(default_factory=today)

    @classmethod
    def of(cls, curves: Sequence[Curve | LabelNoiseCurve], **others: Any) -> MemorizationResult:
        """Everything that follows from the curves: gaps, rankings and where they disagree.

        Parameters
        ----------
        curves : sequence of Curve or LabelNoiseCurve
            One per model and perturbation.
        validation : dict of str to (s, v) bool
            Per model, whether it is right on each validation example.
        validation_examples : dict of str to str
            Per model, a hash of the validation examples: equal ones are compared example by example.
        validation_groups : dict of str to (v,) int
            Per model, codes of groups of validation examples, where they come in groups.
        audits : dict of str to Audited
            Per model, `heldout audit` on the training pictures.
        failures, notes : sequences of str
            Sentences on trainings that raised, and on what was noticed.
        preprocessing : dict
            What was done to pictures.
        seed : int
            Of the draws behind comparisons.
        **others
            Other fields: source, digest, preprocessing, class_names, failures, notes, created.

        Returns
        -------
        MemorizationResult
            Of all models.
        """
        return cls(**several.compared(curves, **others))

    @property
    def models(self) -> tuple[str, ...]:
        """Their names, in the order they came."""
        return tuple(self.measured)

    @property
    def curves(self) -> tuple[Curve, ...]:
        """All of them, one model after the other."""
        return tuple(several.all_curves(self.measured))

    @property
    def perturbations(self) -> tuple[str, ...]:
        """Their names, in the order they came."""
        return tuple(dict.fromkeys(curve.perturbation for curve in self.curves))

    def curve(self, model: str, perturbation: str) -> Curve | None:
        """One of the curves, if it is there.

        Parameters
        ----------
        model, perturbation : str
            Their names.

        Returns
        -------
        Curve or None
            None where it was not measured.
        """
        own = self.measured.get(model)
        return None if own is None else own.perturbations.get(perturbation)

    @property
    def columns(self) -> tuple[Column, ...]:
        """What models are compared by."""
        return several.all_columns(self.measured)

    @property
    def table(self) -> dict[str, dict[Column, Estimate]]:
        """Every metric of every model, each with an interval of its own."""
        columns = self.columns
        found = {name: {c: several.estimate_of(model, c) for c in columns} for name, model in self.measured.items()}
        return {name: {c: e for c, e in row.items() if e is not None} for name, row in found.items()}

    @property
    def unfit(self) -> tuple[str, ...]:
        """A sentence for each method that does not fit its labels."""
        return tuple(dict.fromkeys(c.unfit for c in self.curves if c.unfit is not None))

    @property
    def data(self) -> dict[str, Any]:
        """The training set, for JSON."""
        return {"source": self.source, "digest": self.digest, "preprocessing": self.preprocessing}

    @property
    def remarks(self) -> tuple[str, ...]:
        """What must be known beside the numbers: sentences."""
        from heldout.memorization.summary import remarks

        return remarks(self)

    @property
    def _estimates(self) -> list[tuple[str, Column, Estimate]]:
        return [(model, column, found) for model, row in self.table.items() for column, found in row.items()]
