"""What an audit means, what it does not mean, and what to do next: of pictures, and of scores."""

from __future__ import annotations

import math

from heldout import summary as page
from heldout.independence.result import AuditResult
from heldout.independence.score_result import ScoreAuditResult

ENOUGH_REFERENCES = 3


def advice(result: AuditResult | ScoreAuditResult) -> tuple[page.Section, ...]:
    """Three lists of sentences."""
    lists = {"What this means": _means, "What it does not mean": _not_means, "What to do next": _next_steps}
    return tuple(
        page.Section.of(title, page.Points(tuple(text for holds, text in points(result) if holds)))
        for title, points in lists.items()
    )


def _means(result: AuditResult | ScoreAuditResult) -> tuple[tuple[object, str], ...]:
    """What the evidence says."""
    ruling, premise = result.ruling, "model and test set are independent and small shifts are neutral"
    if ruling.rests_on != "betting":
        premise = "test set and control are random draws from one source that influenced neither models nor references"
    return (
        (ruling.found, f"If {premise}, evidence as strong as this turns up with probability "
                       f"{page.pvalue_text(ruling.log_p_value)} at most."),
        (ruling.outcome == "easier", "If the control is such a draw, its result is the number to believe for fresh "
                                     "data of the same source."),
        (ruling.outcome == "harder", "Overfitting to the test set would make it the easier one, so it is not that."),
        (ruling.outcome == "rejected", "Where mean T is above zero, the direction is the one that overfitting gives: "
                                       "the pictures as they stand are easier than their shifts. Where it is below, "
                                       "look at the preprocessing first."),
        (not ruling.found, "“No evidence” is not “clean”: there is silence down to what could have been found, and no "
                           "further."),
    )  # fmt: skip


def _not_means(result: AuditResult | ScoreAuditResult) -> tuple[tuple[object, str], ...]:
    """What must not be read into it."""
    alone = result.ruling.rests_on == "betting"
    shifts = ", or overfitting that shifts of so few pixels cannot show," if isinstance(result, AuditResult) else ""
    return (
        (result.outcome == "easier", "It is no proof of intent. Duplicates, choosing among models by test score, and "
                                     "reuse over years all leave the same trace."),
        (result.ruling.found and not alone, "It does not say how large the difference is: a small p-value is not a "
                                            "large effect."),
        (alone, "Without a control, invariance is an assumption: natural pictures are framed, their subject sits in "
                "the middle, and shifting them is not neutral. A strong test finds that too."),
        (not alone, "The control is only as good as its history: it must come from the same source and have been put "
                    "aside at random before any training or selection."),
        (result.references, "References are taken to have seen no more of the test set than of the control. One that "
                            "knows the test set hides a leak, or makes the test set look hard; one that knows the "
                            "control can raise a false alarm."),
        (True, "p is for one audit. Audits on every commit need `--planned-audits`, or the e-value."),
        (True, f"It is about this test set. Another one{shifts} is another question."),
    )  # fmt: skip


def _next_steps(result: AuditResult | ScoreAuditResult) -> tuple[tuple[object, str], ...]:
    """What to do with it."""
    outcome, n, alone = result.outcome, result.n_examples, result.ruling.rests_on == "betting"
    pictures = result if isinstance(result, AuditResult) else None
    scores = result if isinstance(result, ScoreAuditResult) else None
    return (
        (outcome == "harder", "Check that test set and control come from one source: how and when each was collected, "
                              "and who labelled it. Look through the errors on the test set for wrong labels."),
        (outcome == "harder", "Check that the control was in no training set, and the test set in no reference's."),
        (outcome == "easier", "Make sure that test set and control were drawn alike; if they were not, an easier test "
                              "set shows nothing."),
        (outcome == "easier", "Report the control's result, not the test set's, and look for test examples (and near "
                              "duplicates) in the training data, those below that look seen first."),
        (outcome == "easier", "Until that is settled, do not choose between models by this test set."),
        (alone, "Get a control: put fresh examples aside with `heldout split` before training, then audit with "
                "`--control`. Only a control tells dependence from shifts that are not neutral; until then, do not "
                "call anything overfitting."),
        (not alone and len(result.references) < ENOUGH_REFERENCES,
         "Add references (`--reference`, `--reference-scores`), models that cannot have seen more of the test set than "
         "of the control: three take more noise off than one, and a leak that one of them shares is hidden by it "
         "alone."),
        (scores and scores.kind == "correct", "Right and wrong say little of a single example: margins or "
                                                    "log-likelihoods of the target show a leak long before."),
        (pictures and not result.ruling.found and why_undetectable(pictures),
         "Use a larger radius: here no move changed enough to measure anything."),
        (not result.ruling.found, "To see half as large an effect, use about four times as many examples in both sets "
                                  f"({4 * n:,} instead of {n:,})."),
        (pictures and pictures.n_models == 1,
         "To judge the architecture and not one run, train it N times with different seeds and audit all N together: T "
         "is averaged first, which takes the noise of training out."),
    )  # fmt: skip


def why_undetectable(result: AuditResult) -> str:
    """Why the detectable effect is not defined; empty where it is."""
    e = result.evidence
    if e.control is not None and not e.control.statistic.standard_error > 0:
        # Without any spread the formula gives 0: nothing was measured, which is not "everything is found".
        return "no T varies within a class, in the test set or in the control, so there is no spread to project from"
    if e.control is not None or math.isfinite(e.detectable_effect):
        return ""
    if not result.drawn.statistic.n_above:
        return "no example has a positive T, so there is nothing to project a positive mean from"
    return "not even the largest mean that these values of T allow would be found four times in five"
