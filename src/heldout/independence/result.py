"""What an audit of pictures returns: data, all of it computed in the run."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.frames import Columns, stacked
from heldout.images.oddities import Oddities
from heldout.independence.drawn import Drawn
from heldout.independence.evidence import Evidence, Examples
from heldout.independence.leak import LeakEvidence
from heldout.independence.precision import InFloat32
from heldout.independence.verdict import JudgedResult, Verdict
from heldout.orbit import Rule
from heldout.orbit.named import PictureOrbit
from heldout.results import today
from heldout.statistics.checks import Alternative


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """One picture before and after its move, with what the model says of both."""

    id: str
    label: int
    predicted: int
    moved_predicted: int
    move: tuple[int, ...]  # (down, right), of views (element, down, right): see `heldout.orbit.square`
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
class AuditResult(JudgedResult):
    """Evidence for or against the independence of models and a test set.

    `test` and `control` hold what was found for every example; `evidence` holds every p-value and interval; `to_dict`
    is the JSON of `heldout audit --json`. Its tables (`to_frame`) are "examples", one row per example of test set and
    control, averaged over models (with references also its margin, what they lead one to expect, and the p-value of its
    rank), and "models", one row per model and example.

    Attributes
    ----------
    test, control : Examples
        What was found for every example: `T`, `weights`, `kinds`, `moves` and more.
    evidence : Evidence
        Every p-value and interval.
    outcome, p_value, verdict
        The verdict, also in plain words; `ruling` is all of it as data.
    model_names, class_names : tuple of str
        The audited models; the classes, where they have names.
    orbit, rule, alternative, tolerance, seed, sources
        What `audit` was given.
    drawn : Drawn
        What charts are drawn of; `drawn.model_groups` has the p-values of groups of models.
    look_seen, seen_pictures : tuple
        With references: test pictures that are listed as seen, most suspicious first, and the first of them to look at.
    exhibits : tuple of Exhibit
        Pictures before and after their move.
    available : tuple of int
        Pictures of test set and control, of which `limit` may have drawn fewer.
    at_chance : tuple of str
        Sets ("test", "control") on which a model is not reliably better than chance.
    oddities : tuple of Oddities
        Of test set and control: files with an EXIF orientation, transparency or several pages.
    untouched_pictures : tuple of str
        What each model's untouched pictures are: "original picture", or "centre of the frame".
    evaluations, control_evaluations, reference_evaluations : int
        Pictures scored on the test set, on the control, and for the comparison with references.
    precisions, batch_sizes, in_float32 : tuple
        Of each model: the arithmetic of all of its scores, the batches they came in, and, where it is not plain
        float32, how many of the pictures that were looked at first get another answer in that.
    ways : tuple of str
        What ran each model: "torch", "torch.compile" or "ONNX Runtime" for torch modules.
    reference_batch_sizes, reference_ways : tuple
        Of each reference.
    preprocessing : dict
        Frame, mean, std and scale of the pictures.
    data_digest, control_digest, model_digests, reference_digests, version, created : str
        Hashes of what came in; what made the result, and when.

    Examples
    --------
    >>> import numpy as np
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

    told_by = "heldout.independence.summary.pictures:audit_summary"
    tabled: ClassVar = {"examples": "_by_example", "models": "_by_model"}
    unlisted = (
        "test", "control", "evidence", "drawn", "orbit", "model_names", "class_names", "exhibits", "seen_pictures",
        "available",
    )  # fmt: skip
    derived = (
        "verdict", "verdict_alternative", "notes", "n_models", "references", "n_examples", "orbit.radius",
        "evaluations_per_image", "test.counts", "test.attack_success", "test.n_groups", "test.n_duplicates",
        "test.design_effect", ("models", "model_names"), ("orbit", "orbit.name"),
    )  # fmt: skip

    test: Examples
    control: Examples | None
    evidence: Evidence
    drawn: Drawn
    orbit: PictureOrbit
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
    in_float32: tuple[InFloat32 | None, ...] = ()  # None of models that run in it, as far as can be told
    ways: tuple[str, ...] = ()  # what runs each model; by rounding a part of its arithmetic
    reference_batch_sizes: tuple[int, ...] = ()
    reference_ways: tuple[str, ...] = ()
    reference_digests: tuple[str, ...] = ()
    reference_evaluations: int = 0  # of models and references, on the untouched pictures of both sets
    exhibits: tuple[Exhibit, ...] = field(default=(), repr=False)
    at_chance: tuple[str, ...] = ()  # "test", "control": where a model is not reliably better than chance
    oddities: tuple[Oddities, ...] = ()  # of the files of test set and control
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
    def p_value(self) -> float:
        """The verdict's p-value."""
        return self.evidence.p_value

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
    def n_examples(self) -> int:
        """Of the test set."""
        return len(self.test)

    @property
    def evaluations_per_image(self) -> float:
        """How often a model was shown each test picture, on average."""
        return self.evaluations / (len(self.test) * self.n_models)

    @property
    def _sets(self) -> dict[str, Examples]:
        return {"test": self.test} | ({} if self.control is None else {"control": self.control})

    @property
    def _by_example(self) -> Columns:
        leak = ({}, {}) if self.leak is None else self.leak.by_example("margin")
        sets = zip(self._sets.items(), leak, strict=False)
        return stacked([{**examples.by_example(name), **margins} for (name, examples), margins in sets])

    @property
    def _by_model(self) -> Columns:
        moved = not self.rule.startswith("random")
        parts = [examples.by_model(name, self.model_names, moved=moved) for name, examples in self._sets.items()]
        return stacked([*itertools.chain(*parts)])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON, the evidence among it; an undefined number is None.

        Returns
        -------
        dict
            What `heldout audit --json` prints.
        """
        return {**super().to_dict(), **self.evidence.to_dict()}
