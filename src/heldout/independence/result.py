"""What an audit of pictures returns: data, all of it computed in the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.independence.drawn import Drawn
from heldout.independence.evidence import Evidence, Examples
from heldout.independence.leak import LeakEvidence
from heldout.independence.plan import KINDS
from heldout.independence.verdict import Direction, Outcome, Verdict
from heldout.orbit import Rule, Translations
from heldout.report import Result
from heldout.results import today
from heldout.statistics import NModelTestResult, n_model_test
from heldout.statistics.checks import Alternative
from heldout.summary import Summary


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """One picture before and after its move, with what the model says of both."""

    id: str
    label: int
    predicted: int
    moved_predicted: int
    move: tuple[int, int]
    weight: float
    original: NDArray[np.uint8]  # (height, width, channels)
    moved: NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class LooksSeen:
    """One test picture of which the model is surer than the references lead one to expect."""

    id: str
    label: int
    margin: float  # log-odds of the true label, clipped, averaged over models
    expected: float  # from the references
    p_value: float  # of its rank among the control's


@dataclass(frozen=True, kw_only=True)
class SeenPicture(LooksSeen):
    """The same with the picture."""

    picture: NDArray[np.uint8]  # (height, width, channels)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AuditResult(Result):
    """Evidence for or against the independence of models and a test set.

    `test` and `control` hold what was found for every example; `evidence` holds every p-value and interval; `to_dict`
    is the JSON of `heldout audit --json`.

    Attributes
    ----------
    test, control : Examples
        What was found for every example: `T`, `weights`, `kinds`, `moves` and more.
    evidence : Evidence
        Every p-value and interval.
    outcome, p_value, verdict
        The verdict, also in plain words; `ruling` is all of it as data.
    model_names : tuple of str
        The audited models.

    Examples
    --------
    >>> from heldout import Translations, audit
    >>> from heldout.images import LabelledImages, Wrap, from_arrays
    >>> rng = np.random.default_rng(0)
    >>> images = LabelledImages(from_arrays(rng.random((40, 8, 8)), rng.integers(0, 2, 40)), Wrap())
    >>> def brightest_half(batch):
    ...     return np.stack([batch[..., :4].sum((1, 2, 3)), batch[..., 4:].sum((1, 2, 3))], 1)
    >>> result = audit(brightest_half, images, orbit=Translations(1), allow_chance=True)
    >>> result.outcome, result.n_examples, result.to_dict()["radius"]
    ('no evidence', 40, 1)
    """

    unlisted = (
        "test", "control", "evidence", "drawn", "orbit", "model_names", "class_names", "exhibits", "seen_pictures",
        "available",
    )  # fmt: skip
    derived = (
        "verdict", "verdict_alternative", "notes", "n_models", "references", "n_examples", "orbit.radius",
        "evaluations_per_image", "test.counts", "test.attack_success", "test.n_groups", "test.n_duplicates",
        "test.design_effect",
    )  # fmt: skip

    test: Examples
    control: Examples | None
    evidence: Evidence
    drawn: Drawn
    orbit: Translations
    rule: Rule
    alternative: Alternative
    tolerance: float
    seed: int
    model_names: tuple[str, ...]
    model_digests: tuple[str, ...]
    evaluations: int
    control_evaluations: int
    data_digest: str
    control_digest: str | None
    preprocessing: dict[str, Any]
    class_names: tuple[str, ...] | None
    version: str
    untouched_pictures: tuple[str, ...]  # what each model's untouched pictures are: see heldout.independence.untouched
    available: tuple[int, ...]  # pictures of test set and control, of which `limit` may have drawn fewer
    precisions: tuple[str, ...] = ()  # of each model's arithmetic, one for all of its scores
    batch_sizes: tuple[int, ...] = ()  # of each model; smaller than asked for where a device ran out of memory
    reference_digests: tuple[str, ...] = ()
    reference_evaluations: int = 0  # of models and references, on the untouched pictures of both sets
    exhibits: tuple[Exhibit, ...] = field(default=(), repr=False)
    look_seen: tuple[LooksSeen, ...] = field(default=(), repr=False)  # every test picture that is listed as seen
    seen_pictures: tuple[SeenPicture, ...] = field(default=(), repr=False)  # most suspicious first
    sources: tuple[str, ...] = ()  # what test set and control are called, where that is known
    created: str = field(default_factory=today)

    @property
    def T(self) -> NDArray[np.float64]:
        """(n_examples,) statistics, averaged over models."""
        return self.test.T

    @property
    def ruling(self) -> Verdict:
        """The verdict as data."""
        return self.evidence.ruling

    @property
    def outcome(self) -> Outcome:
        """ "no evidence"; with a control "easier" or "harder" than it; without one "rejected"."""
        return self.evidence.outcome

    @property
    def direction(self) -> Direction | None:
        """Whether the test set looks too easy or too hard, where something was found."""
        return self.evidence.direction

    @property
    def p_value(self) -> float:
        """The verdict's p-value."""
        return self.evidence.p_value

    @property
    def verdict(self) -> str:
        """In plain words."""
        from heldout.independence.summary import pictures

        return pictures.verdict_text(self)

    @property
    def leak(self) -> LeakEvidence | None:
        """The comparison with references, which is the verdict where there is one."""
        return None if self.evidence.control is None else self.evidence.control.leak

    @property
    def verdict_alternative(self) -> Alternative:
        """Of the verdict's test, one-sided by default with references; `alternative` is that of T and error rate."""
        return self.alternative if self.leak is None else self.leak.test.alternative

    @property
    def n_models(self) -> int:
        """How many trainings were averaged."""
        return len(self.test.statistics)

    @property
    def references(self) -> tuple[str, ...]:
        """Names of the models that the audited ones were compared with."""
        return () if self.leak is None else self.leak.reference_names

    @property
    def n_examples(self) -> int:
        """Of the test set."""
        return len(self.test)

    @property
    def evaluations_per_image(self) -> float:
        """How often a model was shown each test picture, on average."""
        return self.evaluations / (len(self.test) * self.n_models)

    @property
    def notes(self) -> list[str]:
        """What a reader must know of groups, and of a test set that is harder than the control."""
        from heldout.independence.summary import pictures

        return pictures.notes_of(self)

    def n_model_test(self, group_size: int) -> NModelTestResult:
        """K p-values for K disjoint groups of `group_size` models (section 3.1 of v1).

        Parameters
        ----------
        group_size : int
            Models in each group.

        Returns
        -------
        NModelTestResult
            One test per group; groups share their examples.
        """
        lower, upper = self.orbit.statistic_range(self.rule)
        return n_model_test(
            self.test.statistics,
            lower=lower,
            upper=upper,
            group_size=group_size,
            alternative=self.alternative,
            groups=self.test.groups,
            tolerance=self.tolerance,
            seed=self.seed,
        )

    def tables(self) -> Mapping[str, Callable[[], Mapping[str, Any]]]:
        """What `to_frame` makes frames of.

        Returns
        -------
        dict
            "examples": one row per example of test set and control, averaged over models (with references also its
            margin, what they lead one to expect, and the p-value of its rank); "models": one row per model and example.
        """
        return {"examples": self._by_example, "models": self._by_model}

    def _sets(self) -> dict[str, Examples]:
        return {"test": self.test} | ({} if self.control is None else {"control": self.control})

    def _by_example(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {}
        for name, some in self._sets().items():
            one = {
                "set": [name] * len(some),
                "id": list(some.ids),
                "label": some.labels.tolist(),
                "group": [None] * len(some) if some.groups is None else some.groups.tolist(),
                "error": some.untouched_losses.mean(axis=0).tolist(),
                "error_in_frame": some.losses.mean(axis=0).tolist(),
                "error_moved": some.moved_losses.mean(axis=0).tolist(),
                "T": some.T.tolist(),
            }
            if self.leak is not None:
                own = slice(0, len(self.test)) if name == "test" else slice(len(self.test), None)
                one["margin"] = self.leak.scores.scores[own].tolist()
                one["expected"] = self.leak.scores.expected[own].tolist()
                one["p_value"] = self.leak.seen.p_values.tolist() if name == "test" else [None] * len(some)
            for key, values in one.items():
                columns.setdefault(key, []).extend(values)
        return columns

    def _by_model(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {}
        for name, some in self._sets().items():
            for i, model in enumerate(self.model_names):
                one = {
                    "model": [model] * len(some),
                    "set": [name] * len(some),
                    "id": list(some.ids),
                    "label": some.labels.tolist(),
                    "kind": [KINDS[kind] for kind in some.kinds[i].tolist()],
                    "down": some.moves[i, :, 0].tolist(),
                    "right": some.moves[i, :, 1].tolist(),
                    "weight": some.weights[i].tolist(),
                    "error": some.untouched_losses[i].tolist(),
                    "error_moved": some.moved_losses[i].tolist(),
                    "T": some.statistics[i].tolist(),
                }
                for key, values in one.items():
                    columns.setdefault(key, []).extend(values)
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON, the evidence among it; an undefined number is None.

        Returns
        -------
        dict
            What `heldout audit --json` prints.
        """
        own = {"models": list(self.model_names), "orbit": self.orbit.name}
        return {**super().to_dict(), **own, **self.evidence.to_dict()}

    def summary(self) -> Summary:
        """What the audit says.

        Returns
        -------
        heldout.summary.Summary
            Headline, key figures and sections.
        """
        from heldout.independence.summary import pictures

        return pictures.audit_summary(self)
