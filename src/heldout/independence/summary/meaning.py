"""What an audit means, what it does not mean, and what to do next: of pictures, and of scores."""

from __future__ import annotations

import math

from heldout import summary as page
from heldout.independence.result import AuditResult
from heldout.independence.score_result import ScoreAuditResult
from heldout.independence.summary.leak import found_shares

ENOUGH_REFERENCES = 3
NO_SPREAD = "{} has no spread within any class of test set or control to project from"
NOT_ENOUGH = "not even the largest {} that these examples allow would be found four times in five"


def advice(result: AuditResult | ScoreAuditResult) -> tuple[page.Section, ...]:
    """Three lists of sentences, each with when it is told."""
    ruling, outcome, n = result.ruling, result.outcome, result.n_examples
    alone, found = ruling.rests_on == "betting", ruling.found
    pictures, shifts = result if isinstance(result, AuditResult) else None, ""
    planned = result.planned_audits if isinstance(result, ScoreAuditResult) else result.evidence.planned_audits
    leak, references = result.leak, bool(result.references)
    premise = "test set and control are random draws from one source that influenced no model"
    premise += " and no reference" * references
    if alone:
        premise = "models and test set are independent and small shifts are neutral"
    undefined = (
        not found_shares(leak) if leak else pictures is not None and len(why_undetectable(pictures)) == 2 - alone
    )
    if pictures:
        shifts = ", or overfitting that shifts of so few pixels cannot show,"
    lists: dict[str, tuple[tuple[object, str], ...]] = {
        "What this means": (
            (found, f"If {premise}, evidence as strong as this turns up with probability "
                    f"{page.pvalue_text(ruling.log_p_value)} at most."),
            (not found, "“No evidence” is not “clean”: there is silence down to what could have been found, and no "
                        "further."),
            (outcome == "easier", "If the control is such a draw, its result is the number to believe for fresh data."),
            (outcome == "harder", "Overfitting would make the test set the easier one, so it is not that."),
        ),
        "What it does not mean": (
            (outcome == "easier", "It is no proof of intent. Duplicates, choosing among models by test score, and "
                                  "reuse over years all leave the same trace."),
            (found and alone, "It does not say that there is overfitting: shifts that are not neutral give the same "
                              "numbers."),
            (found and not alone, "It does not say how large the difference is: a small p-value is not a large "
                                  "effect."),
            (alone, "Without a control, invariance is an assumption: natural pictures are framed, their subject sits "
                    "in the middle, and shifting them is not neutral. A strong test finds that too."),
            (not alone, "The control is only as good as its history: it must come from the same source and have been "
                        "put aside at random before any training or selection."),
            (result.references, "References are taken to have seen no more of the test set than of the control. One "
                                "that knows the test set hides a leak, or makes the test set look hard; one that knows "
                                "the control can raise a false alarm."),
            (planned == 1, "p is for one audit. Audits on every commit need `--planned-audits`, or the e-value."),
            (True, f"It is about this test set. Another one{shifts} is another question."),
        ),
        "What to do next": (
            (outcome == "harder", "Check how and when each set was collected, and who labelled it; that the control "
                                  f"was in no training set{', and the test set in no reference’s' * references}. Look "
                                  "through the errors on the test set for wrong labels."),
            (outcome == "easier", "Report the control's result, not the test set's, and look for test examples (and "
                                  "near duplicates) in the training data"
                                  f"{', those that look seen first' * bool(leak and leak.seen.n_listed)}. Until that "
                                  "is settled, do not choose between models by this test set."),
            (alone, "Get a control: put fresh examples aside with `heldout split` before training, then audit with "
                    "`--control`. Until then, do not call anything overfitting."),
            (not alone and len(result.references) < ENOUGH_REFERENCES,
             "Add references (`--reference`, `--reference-scores`): three take more noise off than one, and a leak "
             "that one of them shares is hidden by it alone."),
            (isinstance(result, ScoreAuditResult) and result.kind == "correct",
             "Right and wrong say little of a single example: margins or log-likelihoods of the target show a leak "
             "long before."),
            (pictures and not leak and not found and "mean T" in why_undetectable(pictures),
             "Use a larger radius: here no move changed enough to measure anything."),
            (not found and not undefined,
             "To see half as large an effect, use about four times as many examples"
             f"{' in both sets' * (not alone)} ({4 * n:,} instead of {n:,})."),
            (pictures and pictures.n_models == 1,
             "To judge the architecture and not one run, train it N times with different seeds and audit all N "
             "together: T is averaged first, which takes the noise of training out."),
        ),
    }  # fmt: skip
    return tuple(
        page.Section.of(title, page.Points(tuple(text for holds, text in rows if holds)))
        for title, rows in lists.items()
    )


def why_undetectable(result: AuditResult) -> dict[str, str]:
    """Why the detectable effect is not defined, of each half of the test for which it is not."""
    e, c = result.evidence, result.evidence.control
    if c is not None:
        # Without any spread the formula gives 0: nothing was measured, which is not "everything is found".
        halves = {"mean T": (c.statistic, e.detectable), "the error rate": (c.error_rate, c.detectable_error)}
        return {
            half: NOT_ENOUGH.format("difference") if of.standard_error > 0 else NO_SPREAD.format(half)
            for half, (of, found) in halves.items()
            if not (of.standard_error > 0 and math.isfinite(found.high))
        }
    if math.isfinite(e.detectable_effect):
        return {}
    if not result.drawn.statistic.n_above:
        return {"mean T": "no example has a positive T, so there is nothing to project a positive mean from"}
    return {"mean T": NOT_ENOUGH.format("mean")}
