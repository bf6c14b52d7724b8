"""The leak test of an audit: a model's scores on test set and control, less what references lead one to expect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from heldout.errors import InputError
from heldout.groups import group_codes
from heldout.results import Record
from heldout.statistics.checks import Alternative, Floats
from heldout.statistics.leak import (
    ALTERNATIVE,
    LeakScores,
    LeakTestResult,
    Method,
    both_sets,
    leak_scores,
    leak_test_of,
)
from heldout.statistics.leak_power import DetectableLeak, detectable_leak, effective_sizes, two_valued
from heldout.statistics.permutation import ControlTestResult
from heldout.statistics.power import LEVEL
from heldout.statistics.ranks import average_ranks
from heldout.statistics.seen import SeenExamples, seen_examples

SAME = 1.0 - 1e-9  # correlation from which on a reference is the model itself
# Rank correlation from which on it is the model on another scale, or rounded. Honest CIFAR-10 networks that differ in
# their seed alone have 0.84; margins of one model, rounded to 3 digits, more than 0.999999.
SAME_RANKS = 0.9999
# Of margins that neither model has clipped, where both are wrong on the very same few pictures: simulated logits times
# 0.8 to 1.5 have 0.994 and more, those of another model as good 0.91 and less.
SAME_MARGINS = 0.98
FEW_INSIDE = 20  # pictures
FEW_WRONG = 10  # pictures; with as many wrong answers, how far they are wrong tells one model from another
N_BARS = 40  # of the histograms of residuals
OTHER_WAY = 0.001  # level at which a reference's ranks go against the model's


@dataclass(frozen=True, kw_only=True)
class Residuals:
    """Histograms of what is left of the scores of both sets."""

    edges: tuple[float, ...]
    test: tuple[int, ...]  # counts
    control: tuple[int, ...]
    mean_test: float
    mean_control: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LeakEvidence(Record):
    """Test set against control on scores less what references lead one to expect, and what it could have found."""

    unlisted = ("test", "scores", "n_test", "reference_names", "level", "two_valued", "residuals")
    derived = ("references",)

    test: LeakTestResult
    scores: LeakScores = field(repr=False)  # of both sets together, the test set's first
    n_test: int
    seen: SeenExamples = field(repr=False)
    detectable: tuple[DetectableLeak, ...]
    residuals: Residuals = field(repr=False)
    reference_names: tuple[str, ...]
    kind: str  # of score, as printed; larger is better
    level: float  # for which `detectable` holds
    two_valued: bool  # right or wrong: a seen example moves all the way or not at all

    @property
    def p_value(self) -> float:
        """Of mean and tail together, for the declared alternative."""
        return self.test.p_value

    @property
    def spoke(self) -> ControlTestResult:
        """The statistic with the smaller p; its difference is positive where the test set is easier."""
        return self.test.spoke

    def disagree(self, level: float) -> bool:
        """Whether mean and tail would each be the verdict on its own, in opposite directions."""
        return self.test.disagree and max(self.test.mean.p_value, self.test.sparse.p_value) <= level

    def by_example(self, score: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Columns of both sets: what is compared, under the name `score`, what was expected of it, and of the test set
        the p-value of its rank among the control's, and whether it is listed as one that looks seen."""
        test, control = (
            {score: self.scores.scores[of], "expected": self.scores.expected[of]}
            for of in (slice(None, self.n_test), slice(self.n_test, None))
        )
        listed = np.isin(np.arange(self.n_test), self.seen.listed)
        return {**test, "p_value": self.seen.p_values, "looks_seen": listed}, control

    @property
    def references(self) -> tuple[str, ...]:
        """Names of the models that were compared with."""
        return self.reference_names

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON, the leak test's among it."""
        return {**super().to_dict(), **self.test.to_dict()}


def residual_histograms(residuals: Floats, n_test: int) -> Residuals:
    """Of both sets, the test set's residuals first, over the same edges."""
    low, high = float(residuals.min()), float(residuals.max())
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, N_BARS + 1)
    edges[0], edges[-1] = low - 1e-9, high + 1e-9
    test, control = residuals[:n_test], residuals[n_test:]
    return Residuals(
        edges=tuple(edges.tolist()),
        test=tuple(np.histogram(test, bins=edges)[0].tolist()),
        control=tuple(np.histogram(control, bins=edges)[0].tolist()),
        mean_test=float(test.mean()),
        mean_control=float(control.mean()),
    )


def weigh_leak(
    scores_test: ArrayLike,
    scores_control: ArrayLike,
    *,
    references_test: ArrayLike | None = None,
    references_control: ArrayLike | None = None,
    reference_names: Sequence[str] = (),
    classes_test: ArrayLike | None = None,
    classes_control: ArrayLike | None = None,
    groups_test: ArrayLike | None = None,
    groups_control: ArrayLike | None = None,
    clip: tuple[float, float] | None = None,
    method: Method = "regression",
    kind: str = "score",
    alternative: Alternative = ALTERNATIVE,
    level: float = LEVEL,
    rng: np.random.Generator,
    n_resamples: int = 9999,
    n_jobs: int = 1,
) -> LeakEvidence:
    """The leak test with all that is shown of it.

    Parameters
    ----------
    scores_test, scores_control : (n,), (n_control,)
        Larger is better.
    references_test, references_control : (k, n), (k, n_control), optional
        Scores of models that cannot have seen more of the test set than of the control.
    reference_names : k str
        For messages and reports.
    clip : (low, high), optional
        Of all scores; `heldout.statistics.leak.MARGIN_CLIP` for log-odds.
    kind : str
        What the scores are, as printed: "margin", "correct", "log-likelihood".
    level : float
        Of the verdict, already divided by the number of planned audits: for what could have been detected.
    """
    x, references, classes, n_test = both_sets(
        scores_test, scores_control, references_test, references_control, classes_test, classes_control
    )
    n_references = 0 if references is None else len(references)
    if len(reference_names) != n_references:
        raise InputError(f"{len(reference_names)} `reference_names` for {n_references} references.")
    if references is not None and n_references:
        check_references(x, references, reference_names)
    both = leak_scores(x, references, classes=classes, clip=clip, method=method)
    strata: dict[str, Any] = {
        "classes_test": classes_test,
        "classes_control": classes_control,
        "groups_test": groups_test,
        "groups_control": groups_control,
    }
    options = {"alternative": alternative, "rng": rng, "n_resamples": n_resamples, "n_jobs": n_jobs}
    found = leak_test_of(both, n_test, **strata, **options)
    ratios = both.log_ratios
    n, n_control = effective_sizes(
        np.zeros(n_test) if classes_test is None else classes_test,
        np.zeros(len(x) - n_test) if classes_control is None else classes_control,
        groups_test=groups_test,
        groups_control=groups_control,
    )
    return LeakEvidence(
        test=found,
        scores=both,
        n_test=n_test,
        seen=seen_examples(ratios[:n_test], ratios[n_test:], **strata),
        detectable=detectable_leak(
            both,
            n_test=n,
            n_control=n_control,
            classes=classes,
            groups=_joined_groups(groups_test, groups_control, n_test, len(x) - n_test),
            level=level,
            alternative=alternative,
            tail=found.tail_counts,
        ),
        residuals=residual_histograms(both.residuals, n_test),
        reference_names=tuple(reference_names),
        kind=kind,
        level=level,
        two_valued=two_valued(both),
    )


def check_references(
    scores: ArrayLike,
    references: ArrayLike,
    names: Sequence[str],
    *,
    excess: ArrayLike | None = None,
    references_excess: ArrayLike | None = None,
) -> None:
    """Refuse a reference that cannot serve: the model itself, one that says nothing, one that points the other way.

    Parameters
    ----------
    scores : (n,)
        Of the model, on both sets; not clipped, unless `excess` is there too, since clipping hides a change of scale.
    references : (k, n)
        The same of the references.
    names : k str
    excess, references_excess : (n,), (k, n), optional
        Of the highest logit over the true label's, 0 where a model is right: does not change its order with the scale
        of the logits, as margins of more than two classes do.
    """
    x, others = np.asarray(scores, dtype=np.float64), np.asarray(references, dtype=np.float64)
    if others.ndim != 2 or others.shape[1:] != x.shape or len(names) != len(others):
        raise InputError(
            f"`references` has shape {others.shape}; it must be ({len(names)}, {len(x)}): a row for each name, with a "
            "score for each example."
        )
    ranks = average_ranks(x)
    for i, (name, y) in enumerate(zip(names, others, strict=True)):
        if not np.isfinite(y).all():
            raise InputError(f"the reference {name} has {int((~np.isfinite(y)).sum())} scores that are not finite.")
        if y.min() == y.max():
            raise InputError(
                f"the reference {name} scores every example {y[0]:g}, so it cannot tell which ones are hard; leave it "
                "out."
            )
        alike = _correlation(ranks, average_ranks(y))
        same = np.array_equal(x, y) or _correlation(x, y) > SAME or alike > SAME_RANKS
        if not same and excess is not None and references_excess is not None:
            own, other = np.asarray(excess), np.asarray(references_excess)[i]
            same = bool(np.array_equal(own > 0, other > 0)) and (
                _same_inside(x, y)
                if (own > 0).sum() < FEW_WRONG
                else _correlation(average_ranks(own), average_ranks(other)) > SAME_RANKS
            )
        if same:
            raise InputError(
                f"the reference {name} scores every example as the model itself does, but for scale or rounding; a "
                "model less itself shows nothing. Give another model, one that cannot have seen more of the test set "
                "than of the control."
            )
        against = alike * math.sqrt(len(x) - 1)
        if against < ndtri(OTHER_WAY):
            raise InputError(
                f"the reference {name} points the other way: what the model finds easy it finds hard (rank "
                f"correlation {against / math.sqrt(len(x) - 1):.2f}); is its direction right, and are its examples in "
                "the same order?"
            )


def _same_inside(x: Floats, y: Floats) -> bool:
    """Whether two models' margins have one order, where neither is at an end of its range, as clipped ones are."""
    inside = (x > x.min()) & (x < x.max()) & (y > y.min()) & (y < y.max())
    if int(inside.sum()) < FEW_INSIDE:
        return False
    return _correlation(average_ranks(x[inside]), average_ranks(y[inside])) > SAME_MARGINS


def _joined_groups(
    test: ArrayLike | None, control: ArrayLike | None, n_test: int, n_control: int
) -> NDArray[np.intp] | None:
    """Numbers of the groups of both sets together, those of the control after those of the test set."""
    if test is None and control is None:
        return None
    first = np.arange(n_test) if test is None else group_codes(test, n_test)
    second = np.arange(n_control) if control is None else group_codes(control, n_control)
    return np.concatenate([first, second + first.max() + 1])


def _correlation(x: Floats, y: Floats) -> float:
    """Pearson's; 0 where one does not vary."""
    a, b = x - x.mean(), y - y.mean()
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / scale if scale > 0.0 else 0.0
