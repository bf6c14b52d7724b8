"""What an audit of scores means, what it does not mean, what to do next."""

from __future__ import annotations

from heldout.independence.score_result import ScoreAuditResult
from heldout.pages.numbers import NOT_DEFINED, fixed, share_text
from heldout.pages.score_audit.words import kind_of, level_text, references_text, shares_text, verdict_p_text
from heldout.statistics.power import POWER


def means(result: ScoreAuditResult) -> list[str]:
    """What the evidence says, with its numbers."""
    test, k = result.leak.test, len(result.leak.reference_names)
    name = kind_of(result)
    side = "better" if test.mean.difference > 0 else "worse"
    given = f", less what {references_text(result)} lead{'s' if k == 1 else ''} one to expect" if k else ""
    points = [
        f"On average the model scores {fixed(abs(test.mean.difference), 4)} {side} on the test set than on the control "
        f"({name}{given}); p = {verdict_p_text(result)}, of mean and tail together."
    ]
    if k:
        points.append(
            f"Models agree on what is hard: {references_text(result)} take{'s' if k == 1 else ''} "
            f"{share_text(test.variance_removed)} off the variance of the scores."
        )
    shares = shares_text(result)
    how = "by how often a seen one turns right" if result.leak.two_valued else "by how far a seen example moves"
    if shares == NOT_DEFINED:
        points.append("Not even a leak of the whole test set would have been found four times in five. So this says "
                      "very little.")  # fmt: skip
    else:
        points.append(f"A leak of {shares} of the test set would have been found with probability {POWER:g}, "
                      f"{how}. Anything smaller may be there unseen.")  # fmt: skip
    return points


def not_means(result: ScoreAuditResult) -> list[str]:
    """What must not be read into it."""
    points = []
    if result.outcome == "no evidence":
        points.append("“No evidence” is not “clean”: it is silence down to the detectable leak, and no further.")
    if result.outcome == "easier":
        points.append("It is no proof of intent. Duplicates, choosing among models by test score, and reuse over years "
                      "all leave the same trace.")  # fmt: skip
    points.append(f"The control is only as good as its history. This assumes that {result.assumes}.")
    if result.leak.reference_names:
        points.append("A reference that knows the test set itself hides a leak; one that knows the control can make a "
                      "false alarm.")  # fmt: skip
    points.append(f"p is for one audit, held to the level {level_text(result)}. Audits on every commit need "
                  "`--planned-audits`, or the e-value.")  # fmt: skip
    return points


def next_steps(result: ScoreAuditResult) -> list[str]:
    """What to do with it."""
    points = []
    if result.outcome == "easier":
        points.append("Make sure that test set and control were drawn alike; if they were not, an easier test set "
                      "shows nothing.")  # fmt: skip
        if result.seen:
            points.append("Look for the examples listed below in the training data, word for word and reworded.")
        points.append("Report the control’s score, not the test set’s.")
    if result.outcome == "harder":
        points.append("Check that test set and control come from one source, and that the control was in no training "
                      "set.")  # fmt: skip
    if not result.leak.reference_names:
        points.append("Add references (`--reference-scores`): models that cannot have seen more of the test set than "
                      "of the control. They take off what makes some examples harder than others.")  # fmt: skip
    if result.kind == "correct":
        points.append("Right and wrong say little of a single example: margins or log-likelihoods of the target show a "
                      "leak long before.")  # fmt: skip
    if result.outcome == "no evidence":
        points.append("To see half as large a leak, use about four times as many examples in both sets, or more "
                      "references.")  # fmt: skip
    return points
