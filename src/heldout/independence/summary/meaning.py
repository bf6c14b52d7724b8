"""What an audit means, what it does not mean, and what to do next: of pictures, and of scores."""

from __future__ import annotations

from heldout import summary as page
from heldout.independence.result import AuditResult
from heldout.independence.score_result import ScoreAuditResult
from heldout.independence.summary import leak as words

ENOUGH_REFERENCES = 3
Told = tuple[object, str]  # when it is told, and the sentence


def advice(
    result: AuditResult | ScoreAuditResult, planned_audits: int, effects: words.Effects, *more: Told
) -> tuple[page.Section, ...]:
    """Three lists of sentences; `effects` would have been found, and `more` is what one kind of audit has to add to the
    last one."""
    ruling, outcome, n = result.ruling, result.outcome, result.n_examples
    alone, references = ruling.rests_on == "betting", bool(result.references)
    premise = "test set and control are random draws from one source that influenced no model"
    premise += " and no reference" * references
    if alone:
        premise = "models and test set are independent and small shifts are neutral"
    shifts = " and shifts of so few pixels" * (ruling.rests_on != "scores")
    first = ", those that look seen first" * bool(result.leak and result.leak.seen.n_listed)
    lists: dict[str, tuple[Told, ...]] = {
        "What this means": (
            (ruling.found, f"If {premise}, evidence as strong as this turns up with probability "
                           f"{page.pvalue_text(ruling.log_p_value)} at most."),
            (not ruling.found, "“No evidence” is not “clean”: there is silence down to what could have been found, and "
                               "no further."),
        ),
        "What it does not mean": (
            (outcome == "easier", "It is no proof of intent. Duplicates, choosing among models by test score, and "
                                  "reuse over years all leave the same trace."),
            (ruling.found and not alone, "It does not say how large the difference is: a small p-value is not a large "
                                         "effect."),
            (alone, "It does not say whether there is overfitting: without a control, neutral shifts are an "
                    "assumption, and natural pictures have their subject in the middle. A strong test finds that too."),
            (not alone, "The control is only as good as its history: it must come from the same source and have been "
                        "put aside at random before any training or selection."),
            (references, "References are taken to have seen no more of the test set than of the control. One that "
                         "knows the test set hides a leak, or makes the test set look hard; one that knows the control "
                         "can raise a false alarm."),
            (planned_audits == 1, "p is for one audit. Audits on every commit need `--planned-audits`, or the "
                                     "e-value."),
            (True, f"It is about this test set{shifts}. Anything else is another question."),
        ),
        "What to do next": (
            (outcome == "harder", "Look through the errors on the test set for wrong labels, and check how and when "
                                  "each set was collected, and that the control was in no training set"
                                  f"{', and the test set in no reference’s' * references}."),
            (outcome == "easier", "Report the control's result, the number to believe for fresh data, and look for "
                                  f"test examples (and near duplicates) in the training data{first}. Until that is "
                                  "settled, do not choose between models by this test set."),
            (alone, "Get a control: put fresh examples aside with `heldout split` before training, then audit with "
                    "`--control`."),
            (not alone and len(result.references) < ENOUGH_REFERENCES,
             "Add references (`--reference`, `--reference-scores`): three take more noise off than one, and a leak "
             "that one of them shares is hidden by it alone."),
            (not ruling.found and words.is_known(effects),
             "To see half as large an effect, use about four times as many examples"
             f"{' in both sets' * (not alone)} ({4 * n:,} instead of {n:,})."),
            *more,
        ),
    }  # fmt: skip
    return tuple(page.Section.of(title, page.Points(page.that_hold(*rows))) for title, rows in lists.items())
