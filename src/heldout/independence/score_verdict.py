"""The verdict of an audit of scores, in plain words."""

from __future__ import annotations

from heldout.independence.evidence import Outcome
from heldout.independence.leak import LeakEvidence
from heldout.independence.verdict import Verdict, control_size, found_leak_text

ASSUMES = (
    "test set and control differ in nothing but what the model may have seen, as two random parts of one source; sets "
    "of another time, author or difficulty differ in more"
)
ASSUMES_HALVES = (
    "the two halves of the benchmark differ in nothing but exposure; items that get harder or easier over time are the "
    "usual way in which this fails"
)
# Measured: items that are harder by 0.2 of a standard deviation in one of two sets of 1,000 raise a false alarm in 99 %
# of the audits without references, in 12 % with three that take 75 % off the variance, in 28 % with one.
TAKEN_UP = "references that saw neither set take up most of what makes some items harder than others, not all of it"


def assumption(leak: LeakEvidence, *, halves: bool) -> str:
    """What the verdict rests on."""
    if leak.reference_names:
        taken = f"; {TAKEN_UP}"
    else:
        taken = "; nothing takes up difficulty here, as references (--reference-scores) that saw neither set would, for the most part"
    return f"{ASSUMES_HALVES if halves else ASSUMES}{taken}"


def score_verdict(
    leak: LeakEvidence, outcome: Outcome, *, level: float, planned_audits: int, tested: str, halves: bool
) -> Verdict:
    """NO EVIDENCE, EASIER THAN THE CONTROL or HARDER THAN THE CONTROL, as for pictures."""
    at = f"at level {level:g}"
    k = len(leak.reference_names)
    given = ("given what the reference finds hard, " if k == 1 else f"given what the {k} references find hard, ") * (
        k > 0
    )
    size = control_size(leak.test.mean)
    both = ""
    if leak.test.disagree and max(leak.test.mean.p_value, leak.test.sparse.p_value) <= level / planned_audits:
        side = "easier" if leak.test.mean.difference > 0 else "harder"
        both = (
            f" Mean and tail of the test point in opposite directions: on average the test set looks {side}, by its "
            "tail the other way round."
        )
    nothing_but = "the two halves differ in nothing but exposure" if halves else "the two sets differ in nothing else"
    if outcome == "easier":
        return Verdict(
            "easier",
            "EASIER THAN THE CONTROL",
            f"{at}: {given}the model scores better on this test set than on the control of {size} ({tested}). If "
            f"{nothing_but}, the model has seen some of the test set, or was chosen by it.{both}",
        )
    if outcome == "harder":
        causes = "items of another difficulty, source or time, a control that the model was trained on"
        causes += ", or a reference that knows the test set" if k else ""
        return Verdict(
            "harder",
            "HARDER THAN THE CONTROL",
            f"{at}: {given}the model scores worse on this test set than on the control of {size} ({tested}). This is "
            f"not overfitting to the test set. Likely causes are {causes}.{both}",
        )
    found = "no difference between test set and control was found"
    if leak.test.alternative == "greater":
        found = "the test set was not found easier than the control"
    return Verdict(
        "no evidence", "NO EVIDENCE", f"against independence {at}: {given}{found} ({tested}). {found_leak_text(leak)}"
    )
