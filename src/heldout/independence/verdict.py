"""The verdict in plain words; every word has its number beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from heldout.groups import FEW
from heldout.independence.evidence import Evidence, Outcome
from heldout.independence.leak import LeakEvidence
from heldout.independence.leak_text import found_leak_text, given_text, pvalue_text
from heldout.statistics import ControlTestResult, Detectable
from heldout.statistics.checks import Alternative


@dataclass(frozen=True)
class Verdict:
    """What the numbers allow to be said, and what it rests on."""

    outcome: Outcome
    title: str  # in capitals
    sentence: str  # what follows it

    def __str__(self) -> str:
        return f"{self.title} {self.sentence}"


def verdict(
    evidence: Evidence,
    *,
    alternative: Alternative,
    tolerance: float,
    n_examples: int,
    n_groups: int | None,
    n_models: int,
) -> Verdict:
    """Which of the outcomes it is, in words.

    With a control: NO EVIDENCE; EASIER THAN THE CONTROL, which is dependence if the control is a random draw from the
    same source; HARDER THAN THE CONTROL, which is no overfitting. Without one: NO EVIDENCE, or REJECTED, which leaves
    open what fails.
    """
    p_text = f"p = {pvalue_text(evidence.log_p_value)}"
    level = f"at level {evidence.level:g}"
    if evidence.planned_audits > 1:
        p_text += f", times {evidence.planned_audits} planned audits {pvalue_text(evidence.adjusted_log_p_value)}"
    if evidence.control is not None and evidence.control.leak is not None:
        return _against_references(evidence, evidence.control.leak, p_text, n_models)
    if evidence.control is not None:
        return _against_control(evidence, p_text, level, n_models)
    neutral = f"neutral up to {tolerance}" if tolerance else "neutral"
    units = f"n = {n_examples:,}" if n_groups is None else f"n = {n_examples:,} in {n_groups:,} groups"
    side = "one-sided" if alternative == "greater" else alternative
    tested = f"{p_text}, betting, {side}, {units}"
    if evidence.outcome == "rejected":
        than = "higher" if evidence.tested_statistic > 0 else "lower"
        once = "" if n_groups is None else ", each group counted once,"
        return Verdict(
            "rejected",
            "REJECTED",
            f"{level}: it cannot both be true that the model is independent of this test set and that small shifts "
            f"are {neutral} ({tested}): the adversarial error estimate{once} is {abs(evidence.tested_statistic):.4f} "
            f"{than} than the test error. Photographs are framed, so shifts seldom are quite neutral; do not call this "
            "overfitting before a control (--control) has told the two apart.",
        )
    return Verdict(
        "no evidence",
        "NO EVIDENCE",
        f"against independence {level} ({tested}). {found_text(evidence)} This rests on two assumptions: independence, "
        f"which is tested, and that small shifts are {neutral} (they keep a picture's label and likelihood), which is "
        "not. Only a control (--control) can tell them apart.",
    )


def _against_control(evidence: Evidence, p_text: str, level: str, n_models: int) -> Verdict:
    control = evidence.control
    assert control is not None
    one = n_models == 1
    who = "the model" if one else f"the {n_models} models, averaged,"
    does, it_depends = ("does", "the model depends") if one else ("do", "the models depend")
    found = _nothing_found(control.statistic.alternative)
    size = control_size(control.statistic)
    both = (
        " The two halves of the test point in opposite directions: on T the test set looks "
        f"{'easier' if control.statistic.difference > 0 else 'harder'}, on the error rate the other way round."
        if control.disagree(evidence.level / evidence.planned_audits)
        else ""
    )
    if evidence.outcome == "easier":
        return Verdict(
            "easier",
            "EASIER THAN THE CONTROL",
            f"{level}: {who} {does} better on this test set than on the control of {size} ({p_text}). If the control "
            "is a random draw from the same source, put aside before any training or selection, "
            f"{it_depends} on this test set.{both}",
        )
    if evidence.outcome == "harder":
        return Verdict(
            "harder",
            "HARDER THAN THE CONTROL",
            f"{level}: {who} {does} worse on this test set than on the control of {size} ({p_text}). This is not "
            "overfitting to the test set: the two sets differ. Likely causes are wrong labels in the test set, another "
            f"source or time, or a control that was trained on.{both}",
        )
    return Verdict(
        "no evidence",
        "NO EVIDENCE",
        f"against independence {level}: {found} ({p_text}). {found_text(evidence)}",
    )


def control_size(test: ControlTestResult) -> str:
    """Examples, and groups, of the control that were compared."""
    groups = "" if test.n_groups_control is None else f" in {test.n_groups_control:,} groups"
    return f"{test.n_control:,} examples{groups}"


def _against_references(evidence: Evidence, leak: LeakEvidence, p_text: str, n_models: int) -> Verdict:
    """How sure the model is of the true labels, given how sure the references are, on test set and control."""
    one, k = n_models == 1, len(leak.reference_names)
    who = "the model is" if one else f"the {n_models} models, averaged, are"
    it_depends = "the model depends" if one else "the models depend"
    models, others = "the model" if one else "the models", "the reference was" if k == 1 else "the references were"
    return leak_verdict(
        leak,
        evidence.outcome,
        level=evidence.level,
        tested=f"{p_text}, leak test, declared up front",
        easier=f"{who} surer of the true labels",
        harder=f"{who} less sure of the true labels",
        follows=f"If the control is a random draw from the same source, and neither {models} nor {others} trained or "
        f"selected on it, {it_depends} on this test set.",
        causes=f"a reference that knows the test set, a control that {'the model' if one else 'a model'} was trained "
        "on, or sets of another source or time",
    )


def leak_verdict(
    leak: LeakEvidence,
    outcome: Outcome,
    *,
    level: float,
    tested: str,
    easier: str,
    harder: str,
    follows: str,
    causes: str,
) -> Verdict:
    """The verdict of a leak test, on pictures or scores.

    Parameters
    ----------
    tested : str
        p, and what was tested.
    easier, harder : str
        What the model does on the test set.
    follows : str
        A sentence: what an easier test set means, and if what.
    causes : str
        Likely ones of a harder test set.
    """
    at, given, size = f"at level {level:g}", given_text(leak), control_size(leak.test.mean)
    both = ""
    if leak.disagree(leak.level):
        side = "easier" if leak.test.mean.difference > 0 else "harder"
        both = (
            f" Mean and tail of the test point in opposite directions: on average the test set looks {side}, by its "
            "tail the other way round."
        )
    if outcome == "easier":
        return Verdict(
            "easier",
            "EASIER THAN THE CONTROL",
            f"{at}: {given}{easier} on this test set than on the control of {size} ({tested}). {follows}{both}",
        )
    if outcome == "harder":
        return Verdict(
            "harder",
            "HARDER THAN THE CONTROL",
            f"{at}: {given}{harder} on this test set than on the control of {size} ({tested}). This is not overfitting "
            f"to the test set. Likely causes are {causes}.{both}",
        )
    found = _nothing_found(leak.test.alternative)
    return Verdict(
        "no evidence", "NO EVIDENCE", f"against independence {at}: {given}{found} ({tested}). {found_leak_text(leak)}"
    )


def _nothing_found(alternative: Alternative) -> str:
    if alternative == "greater":
        return "the test set was not found easier than the control"
    return "no difference between test set and control was found"


def found_text(evidence: Evidence) -> str:
    """What would have been found four times in five: with references a share of the test set, else by each half."""
    if evidence.control is not None and evidence.control.leak is not None:
        return found_leak_text(evidence.control.leak)
    halves = [(evidence.detectable, "a mean T" if evidence.control is None else "a difference in T")]
    if evidence.control is not None:
        halves.append((evidence.control.detectable_error, "one in the error rate"))
    told = [f"{what} of {range_text(found)}" for found, what in halves if math.isfinite(found.high)]
    if not told:
        return "What could have been detected cannot be told from these data."
    text = ", or ".join(told)
    ways = "; a range is over two ways in which it may come about" if " to " in text else ""
    return (
        f"{text[0].upper()}{text[1:]} would have been found four times in five (a plug-in{ways}); a smaller one may "
        "well be there."
    )


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


def unmatched_text(test: ControlTestResult) -> str:
    """Why some examples were not compared."""
    if test.n_groups_test is None:
        return "of classes that only one set has"
    return "of classes that only one set has, or in groups of several classes, of which the other set has none"


def few_groups_text(name: str, n_groups: int) -> str | None:
    """A warning where there are few groups; None where there are not.

    Examples
    --------
    >>> few_groups_text("the control", 11)
    'the control has only 11 groups: intervals and detectable effects are rough below 30.'
    """
    if n_groups >= FEW:
        return None
    return f"{name} has only {n_groups} groups: intervals and detectable effects are rough below {FEW}."
