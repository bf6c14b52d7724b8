"""What an audit of scores returns: data, all of it computed in the run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.frames import Columns
from heldout.independence.leak import LeakEvidence
from heldout.independence.verdict import JudgedResult, Verdict
from heldout.results import today


@dataclass(frozen=True, kw_only=True)
class SeenExample:
    """A test example that the model knows better than was to be expected."""

    id: str
    score: float  # as it came
    expected: float  # in the same unit
    p_value: float  # its rank among the control's


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ScoreAuditResult(JudgedResult):
    """Evidence for or against the independence of a model and a test set, from scores alone.

    `leak` holds the test, the residuals and what could have been found; `to_dict` is the JSON of
    `heldout audit --scores ... --json`. Its table (`to_frame`) is "examples", one row per test example: its score as
    it came, the score that is compared (larger is better), what was expected of it, and the p-value of its rank among
    the control's.

    Attributes
    ----------
    leak : LeakEvidence
        The test, the residuals, and what could have been found.
    outcome, p_value, verdict
        The verdict, also in plain words.
    ids, values : tuple of str, (n,) float
        The test examples and their scores, as they came.
    values_control : (n_control,) float
        The control's scores.
    mean_test, mean_control : float
        Of the scores as they came.
    ruling : Verdict
        All of the verdict as data: of p, times the planned audits.
    log_e_value : float
        Calibrated from p; to be averaged over audits that share test set or control.
    look_seen : tuple of SeenExample
        All test examples that are listed as seen, most suspicious first.
    kind, larger_is_better, clipping
        What the scores are, and what was done to them, in words.
    strata, n_repeated, joined_by_order
        What was compared within; examples that share their text with another one; whether examples had no ids.
    halves, level, planned_audits, seed
        What `audit_scores` was given.
    model_name, sources, digests, version, created
        What came in, hashes of it; what made the result, and when.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import audit_scores
    >>> rng = np.random.default_rng(0)
    >>> result = audit_scores(rng.normal(2, 1, 300), rng.normal(0, 1, 300), kind="margin", n_resamples=999)
    >>> result.outcome, result.p_value
    ('easier', 0.001)
    """

    told_by = "heldout.independence.summary.scores:score_summary"
    tabled: ClassVar = {"examples": "_by_example"}
    unlisted = ("ids", "values", "values_control", "model_name", "ruling")
    derived = (
        "verdict", "outcome", "direction", "p_value", "log_p_value", "adjusted_p_value", "assumes", "notes",
        ("model", "model_name"), "references", "n_examples", "n_control", ("n_groups", "leak.test.mean.n_groups_test"),
        "leak.test.mean.n_groups_control", "leak.test.alternative",
    )  # fmt: skip

    leak: LeakEvidence
    ruling: Verdict  # of p, times the planned audits
    log_e_value: float  # calibrated from p, for audits that share test set or control: to be averaged
    ids: tuple[str, ...] = field(repr=False)  # of the test examples; numbered where they have none
    values: NDArray[np.float64]  # (n,) the model's scores of the test set, as they came
    values_control: NDArray[np.float64]
    mean_test: float  # of the scores as they came
    mean_control: float
    look_seen: tuple[SeenExample, ...] = field(repr=False)  # most suspicious first
    kind: str
    larger_is_better: bool
    clipping: str  # what was done to the scores, in words
    strata: str | None  # what was compared within, where it was
    n_repeated: int  # examples that share their text with another one of their set
    joined_by_order: bool  # examples had no ids
    halves: bool  # test set and control are halves of one benchmark
    level: float
    planned_audits: int
    model_name: str
    sources: tuple[str, ...]  # files of test set and control
    digests: dict[str, Any]  # of test set, control, and each reference's two
    seed: int
    version: str
    created: str = field(default_factory=today)

    @property
    def p_value(self) -> float:
        """The verdict's p-value: the leak test's."""
        return self.leak.p_value

    @property
    def log_p_value(self) -> float:
        """Its logarithm."""
        return math.log(self.p_value)

    @property
    def adjusted_p_value(self) -> float:
        """The same times the number of planned audits (Bonferroni), 1 at most."""
        return min(1.0, self.p_value * self.planned_audits)

    @property
    def assumes(self) -> str:
        """What the verdict rests on."""
        from heldout.independence.summary import scores

        return scores.assumption(self)

    @property
    def n_examples(self) -> int:
        """Of the test set."""
        return len(self.values)

    @property
    def n_control(self) -> int:
        """Examples of the control."""
        return len(self.values_control)

    @property
    def _by_example(self) -> Columns:
        return {"id": self.ids, "score": self.values, **self.leak.by_example("compared")[0]}
