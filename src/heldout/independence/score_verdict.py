"""The verdict of an audit of scores, in plain words."""

from __future__ import annotations

from heldout.independence.evidence import Outcome
from heldout.independence.leak import LeakEvidence
from heldout.independence.verdict import Verdict, leak_verdict

ASSUMES = (
    "test set and control differ in nothing but what the model may have seen, as two random parts of one source; sets "
    "of another time, author or difficulty differ in more"
)
ASSUMES_HALVES = (
    "the two halves of the benchmark differ in nothing but exposure; items that get harder or easier over time are the "
    "usual way in which this fails"
)
# Measured: items that are harder by 0.2 of a standard deviation in one of two sets of 1,000 raise a false alarm in 99 %
# of the audits without references, in 14 % with three that take 75 % off the variance, in 30 % with one.
TAKEN_OFF = "references that saw neither set take off most of what makes some items harder than others, not all of it"
NOT_TAKEN_OFF = (
    "nothing takes off what makes some items harder than others, as references (--reference-scores) that saw neither "
    "set would for the most part"
)


def assumption(leak: LeakEvidence, *, halves: bool) -> str:
    """What the verdict rests on."""
    return f"{ASSUMES_HALVES if halves else ASSUMES}; {TAKEN_OFF if leak.reference_names else NOT_TAKEN_OFF}"


def score_verdict(leak: LeakEvidence, outcome: Outcome, *, level: float, tested: str, halves: bool) -> Verdict:
    """NO EVIDENCE, EASIER THAN THE CONTROL or HARDER THAN THE CONTROL, as for pictures."""
    nothing_but = "the two halves differ in nothing but exposure" if halves else "the two sets differ in nothing else"
    causes = ["items of another difficulty, source or time", "a control that the model was trained on"]
    if leak.reference_names:
        causes.append("a reference that knows the test set")
    return leak_verdict(
        leak,
        outcome,
        level=level,
        tested=tested,
        easier="the model scores better",
        harder="the model scores worse",
        follows=f"If {nothing_but}, the model has seen some of the test set, or was chosen by it.",
        causes=", ".join(causes[:-1]) + (", or " if len(causes) > 2 else " or ") + causes[-1],
    )
