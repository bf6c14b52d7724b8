"""The audit of scores: numbers of any model on any data in, evidence out; no model is needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from heldout._version import __version__
from heldout.checks import check_n_jobs, check_seed
from heldout.independence.checks import check_level
from heldout.independence.leak import LeakEvidence, weigh_leak
from heldout.independence.score_inputs import Reference, ScoreSets, gather
from heldout.independence.score_result import ScoreAuditResult, SeenExample
from heldout.independence.verdict import judge
from heldout.predictions.score_kinds import LargerIs
from heldout.predictions.scores import Scores
from heldout.statistics import calibrated_log_evalue
from heldout.statistics.checks import Alternative, Floats, check_alternative
from heldout.statistics.leak import ALTERNATIVE
from heldout.statistics.permutation import check_comparable
from heldout.statistics.power import LEVEL


def audit_scores(
    test: Scores | ArrayLike,
    control: Scores | ArrayLike,
    *,
    references: Sequence[Reference] = (),
    reference_names: Sequence[str] | None = None,
    kind: str | None = None,
    larger_is: LargerIs | None = None,
    classes: tuple[Any, Any] | None = None,
    groups: str | tuple[Any, Any] | None = None,
    chance: float | None = None,
    allow_chance: bool = False,
    strata: str | None = None,
    halves: bool = False,
    alternative: Alternative = ALTERNATIVE,
    level: float = LEVEL,
    planned_audits: int = 1,
    n_resamples: int = 9999,
    n_jobs: int = 1,
    seed: int = 0,
) -> ScoreAuditResult:
    """Is this model independent of this test set? From its scores on single examples, of any kind.

    The verdict is `leak_test`'s, with or without references: whether the model scores better on the test set than on
    the control, given what the references find hard, by the mean or by a few examples far above what was expected.

    Parameters
    ----------
    test, control : Scores, or arrays (n,) and (n_control,), or frames of pandas or polars
        One score for each example (`heldout.load_scores` reads files, and frames as here). The control is other
        examples of the same source that the model cannot have seen more of; what that assumes stands in the result.
    references : sequence, optional
        Models that cannot have seen more of the test set than of the control: each as Scores that hold the ids of both
        sets, or as a pair, its scores of the test set and of the control. They account for what makes some examples
        harder than others. One that knows the test set hides a leak; one that knows the control can make a false alarm.
    reference_names : k str, optional
        Names of the references; their files' without.
    kind : str, optional
        Of arrays: "margin", "log_likelihood", "probability", "correct", "loss", "perplexity", "error", or a name of
        your own with
    larger_is : {"better", "worse"}
        what a larger one means.
    classes : pair of (n,) and (n_control,), optional
        Strata within which examples are compared; `Scores.classes` otherwise, or the tasks of logs of several.
    groups : str or pair, optional
        Examples that depend on each other: whole groups are compared. A column, a CSV file id,group or a regular
        expression on ids; or the group of each example of both sets. Examples with one text are one group anyway.
    chance : float, optional
        Accuracy of a guess, where it is not known from the number of options: a reference that is no better is refused.
        For right and wrong, margins (above 0 is right), and scores beside which `correct` is known.
    allow_chance : bool
        Go on with such references, and with ones that have nothing to do with the model's scores.
    strata : str, optional
        Name of what `classes` are, for the result.
    halves : bool
        Test set and control are halves of one benchmark, as before and after a date: for what the result says.
    alternative : {"greater", "two-sided"}
        "greater" looks for a test set that is too easy, which is all that a leak can do; "two-sided" also finds one
        that is too hard, and must be chosen before seeing results.
    level, planned_audits
        As in `audit`.
    n_resamples : int
        Random splits of the permutation test; no p is below 1 / (n_resamples + 1).
    n_jobs : int
        Workers, as joblib counts them (-1: one for each core), here threads that weigh splits; the result does not
        depend on it.
    seed : int
        Of the splits.

    Returns
    -------
    ScoreAuditResult
        The verdict, what it rests on, which examples look seen, and what could have been found.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import audit_scores
    >>> rng = np.random.default_rng(0)
    >>> hard = rng.normal(size=2000)  # how hard each example is, for every model
    >>> model, other = -hard + rng.normal(size=2000), -hard + rng.normal(size=2000)
    >>> model[:60] += 4.0  # the first 1,000 are the test set, of which 60 were seen
    >>> result = audit_scores(model[:1000], model[1000:], references=[(other[:1000], other[1000:])], kind="margin")
    >>> result.outcome, result.p_value <= 0.01
    ('easier', True)
    """
    check_alternative(alternative)
    check_level(level, planned_audits, n_resamples, halves=1)
    rng = np.random.default_rng(check_seed(seed))
    sets = gather(
        test,
        control,
        references,
        reference_names=reference_names,
        kind=kind,
        larger_is=larger_is,
        classes=classes,
        groups=groups,
        chance=chance,
        allow_chance=allow_chance,
    )
    test_scores, control_scores, clipping = sets.clipped()
    leak = _leak_of(
        sets,
        test_scores,
        control_scores,
        alternative,
        level / planned_audits,
        rng=rng,
        n_resamples=n_resamples,
        n_jobs=check_n_jobs(n_jobs),
    )
    ids = tuple(sets.test.ids or (str(i) for i in range(len(sets.test))))
    adjusted = math.log(min(1.0, leak.p_value * planned_audits))
    return ScoreAuditResult(
        leak=leak,
        ruling=judge(adjusted, leak.spoke.difference, level=level, rests_on="scores"),
        log_e_value=calibrated_log_evalue(math.log(leak.p_value)),
        mean_test=float(sets.test.values.mean()),
        mean_control=float(sets.control.values.mean()),
        ids=ids,
        values=sets.test.values,
        values_control=sets.control.values,
        look_seen=_look_seen(leak, ids, sets.test),
        kind=sets.test.kind,
        larger_is_better=bool(sets.test.larger_is_better),
        clipping=clipping,
        strata=_compared_within(sets, strata or sets.strata),
        n_repeated=sets.n_repeated,
        joined_by_order=sets.joined_by_order,
        halves=halves,
        level=level,
        planned_audits=planned_audits,
        model_name=sets.test.name,
        sources=(sets.test.source, sets.control.source),
        digests=_digests(sets),
        seed=seed,
        version=__version__,
    )


def _leak_of(
    sets: ScoreSets,
    scores_test: Sequence[Floats],
    scores_control: Sequence[Floats],
    alternative: Alternative,
    level: float,
    *,
    rng: np.random.Generator,
    n_resamples: int,
    n_jobs: int,
) -> LeakEvidence:
    """The leak test on clipped scores, within class and over whole groups, where there are any."""
    classes_test, classes_control = sets.test.classes, sets.control.classes
    groups_test, groups_control = sets.groups
    if classes_test is not None and classes_control is not None:
        check_comparable(classes_test, classes_control, groups_test=groups_test, groups_control=groups_control)
    return weigh_leak(
        scores_test[0],
        scores_control[0],
        references_test=np.stack(scores_test[1:]) if sets.references else None,
        references_control=np.stack(scores_control[1:]) if sets.references else None,
        reference_names=sets.reference_names,
        classes_test=classes_test,
        classes_control=classes_control,
        groups_test=groups_test,
        groups_control=groups_control,
        kind=("" if sets.test.larger_is_better else "minus ") + sets.test.kind.replace("_", " "),
        alternative=alternative,
        level=level,
        rng=rng,
        n_resamples=n_resamples,
        n_jobs=n_jobs,
    )


def _compared_within(sets: ScoreSets, strata: str | None) -> str | None:
    """What examples were compared within, and how many of these both sets have."""
    if strata is None or sets.test.classes is None or sets.control.classes is None:
        return strata
    return f"{strata} ({len(np.intersect1d(sets.test.classes, sets.control.classes)):,} in both sets)"


def _digests(sets: ScoreSets) -> dict[str, Any]:
    """Hashes of all that came in."""
    references = {
        name: {"test": one.digest(), "control": other.digest()}
        for name, (one, other) in zip(sets.reference_names, sets.references, strict=True)
    }
    return {"test": sets.test.digest(), "control": sets.control.digest(), "references": references}


def _look_seen(leak: LeakEvidence, ids: Sequence[str], test: Scores) -> tuple[SeenExample, ...]:
    """The listed examples, with scores and expectations in the unit of the scores as they came."""
    sign = 1.0 if test.larger_is_better else -1.0
    return tuple(
        SeenExample(
            id=ids[i],
            score=float(test.values[i]),
            expected=sign * float(leak.scores.expected[i]),
            p_value=float(leak.seen.p_values[i]),
        )
        for i in leak.seen.listed.tolist()
    )
