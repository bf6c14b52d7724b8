"""The verdict of an audit of pictures in words, and words that several of its sections share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from heldout.independence.evidence import ControlEvidence, Evidence
from heldout.independence.summary.leak import (
    TITLES,
    control_size,
    few_groups_text,
    leak_notes,
    leak_verdict,
    level_text,
    nothing_found,
    p_times_text,
)
from heldout.statistics import Detectable
from heldout.statistics.checks import Alternative
from heldout.summary.numbers import NOT_DEFINED, pvalue_text

if TYPE_CHECKING:
    from heldout.independence.result import AuditResult


def verdict_text(result: AuditResult) -> str:
    """The verdict in one string: its title in capitals, then the sentence."""
    return f"{TITLES[result.outcome]} {sentence_of(result)}"


def sentence_of(result: AuditResult) -> str:
    """What follows the title.

    With a control: no evidence; easier, which is dependence if the control is a random draw from the same source;
    harder, which is not overfitting. Without one: no evidence, or rejected, which leaves open what fails.
    """
    e, one = result.evidence, result.n_models == 1
    tested = p_times_text(e.log_p_value, e.adjusted_log_p_value, e.planned_audits)
    if result.leak is not None:
        who = "the model is" if one else f"the {result.n_models} models, averaged, are"
        models, depends = ("the model", "depends") if one else ("the models", "depend")
        others = "the reference was" if len(result.references) == 1 else "the references were"
        return leak_verdict(
            result.leak,
            e.ruling,
            tested=f"{tested}, leak test, declared up front",
            easier=f"{who} surer of the true labels",
            harder=f"{who} less sure of the true labels",
            follows=f"If the control is a random draw from the same source, and neither {models} nor {others} trained "
            f"or selected on it, {models} {depends} on this test set.",
            causes="a reference that knows the test set, a control that "
            f"{'the model' if one else 'a model'} was trained on, or sets of another source or time",
        )
    level = f"at level {e.level:g}"
    if e.control is not None:
        return _against_control(e, e.control, f"{level}: ", tested, result.n_models)
    neutral = f"neutral up to {result.tolerance}" if result.tolerance else "neutral"
    grouped = result.test.groups is not None
    units = f"n = {result.n_examples:,}" + (f" in {result.n_groups:,} groups" if grouped else "")
    tested = f"{tested}, betting, {side_of(result.alternative)}, {units}"
    if result.outcome == "rejected":
        than, once = "higher" if e.tested_statistic > 0 else "lower", ", each group counted once," if grouped else ""
        return (
            f"{level}: it cannot both be true that the model is independent of this test set and that small shifts "
            f"are {neutral} ({tested}): the adversarial error estimate{once} is {abs(e.tested_statistic):.4f} {than} "
            "than the test error. Photographs are framed, so shifts seldom are quite neutral; do not call this "
            "overfitting before a control (--control) has told the two apart."
        )
    return (
        f"{level} ({tested}). {_found_text(e)} This rests on two assumptions: independence, which is tested, and that "
        f"small shifts are {neutral} (they keep a picture's label and likelihood), which is not. Only a control "
        "(--control) can tell them apart."
    )


def _against_control(e: Evidence, control: ControlEvidence, at: str, tested: str, n_models: int) -> str:
    if e.outcome == "no evidence":
        return f"{at}{nothing_found(control.statistic.alternative)} ({tested}). {_found_text(e)}"
    one = n_models == 1
    who = "the model does" if one else f"the {n_models} models, averaged, do"
    better = "better" if e.outcome == "easier" else "worse"
    told = f"{at}{who} {better} on this test set than on the control of {control_size(control.statistic)} ({tested})."
    if e.outcome == "easier":
        told += (
            " If the control is a random draw from the same source, put aside before any training or selection, "
            f"{'the model depends' if one else 'the models depend'} on this test set."
        )
    else:
        told += (
            " This is not overfitting to the test set: the two sets differ. Likely causes are wrong labels in the test "
            "set, another source or time, or a control that was trained on."
        )
    if control.disagree(e.level / e.planned_audits):
        told += (
            " The two halves of the test point in opposite directions: on T the test set looks "
            f"{'easier' if control.statistic.difference > 0 else 'harder'}, on the error rate the other way round."
        )
    return told


def _found_text(e: Evidence) -> str:
    """What would have been found four times in five, by each half of the test."""
    halves = [(e.detectable, "a mean T" if e.control is None else "a difference in T")]
    if e.control is not None:
        halves.append((e.control.detectable_error, "one in the error rate"))
    told = [f"{what} of {range_text(found)}" for found, what in halves if math.isfinite(found.high)]
    if not told:
        return "What could have been detected cannot be told from these data."
    text = ", or ".join(told)
    ways = "; a range is over two ways in which it may come about" if " to " in text else ""
    return (
        f"{text[0].upper()}{text[1:]} would have been found four times in five (a plug-in{ways}); a smaller one may "
        "well be there."
    )


def notes_of(result: AuditResult) -> list[str]:
    """Warnings on groups, and on a test set that is harder than the control."""
    sets = (("the test set", result.test), ("the control", result.control))
    grouped = [(name, of.n_groups) for name, of in sets if of is not None and of.groups is not None]
    told = [sentence for sentence in (few_groups_text(name, n) for name, n in grouped) if sentence]
    return told + ([] if result.leak is None else leak_notes(result.leak))


def who(result: AuditResult) -> str:
    """The model or models, as the subject of a sentence."""
    return "the model" if result.n_models == 1 else f"the {result.n_models} models"


def side_of(alternative: Alternative) -> str:
    """Of T, the error rate or any other test."""
    return "one-sided" if alternative == "greater" else "two-sided"


def level_of(result: AuditResult) -> str:
    """The level that p is held to."""
    return level_text(result.evidence.level, result.evidence.planned_audits)


def pixels_text(result: AuditResult) -> str:
    """The radius."""
    return f"{result.orbit.radius} {'pixel' if result.orbit.radius == 1 else 'pixels'}"


def names_text(names: Sequence[str], most: int = 12) -> str:
    """Every name once, with how often it comes; trainings of one function share theirs."""
    texts = [name if k == 1 else f"{name} (× {k})" for name, k in Counter(names).items()]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def verdict_p_text(result: AuditResult) -> str:
    """The p-value that is held to the level: times the planned audits, if there are several."""
    return pvalue_text(result.evidence.adjusted_log_p_value)


def range_text(found: Detectable, digits: int = 4) -> str:
    """Both ends, or one where they are the same or only one is known.

    Examples
    --------
    >>> range_text(Detectable(0.01, 0.0123)), range_text(Detectable(0.01, 0.01))
    ('0.0100 to 0.0123', '0.0100')
    """
    if math.isnan(found.high):
        return "not known"
    low, high = (f"{end:.{digits}f}" for end in (found.low, found.high))
    return low if low == high else f"{low} to {high}"


def why_undetectable(result: AuditResult) -> str | None:
    """Why the detectable effect is not defined; None where it is."""
    control = result.evidence.control
    if control is not None:
        # Without any spread the formula gives 0: nothing was measured, which is not "everything is found".
        if control.statistic.standard_error > 0:
            return None
        return "no T varies within a class, in the test set or in the control, so there is no spread to project from"
    if math.isfinite(result.evidence.detectable_effect):
        return None
    if not result.drawn.statistic.n_above:
        return "no example has a positive T, so there is nothing to project a positive mean from"
    return "not even the largest mean that these values of T allow would be found four times in five"


def effect_text(result: AuditResult) -> str:
    """The detectable effect on T, as a range, or that it is not defined."""
    return NOT_DEFINED if why_undetectable(result) else range_text(result.evidence.detectable)
