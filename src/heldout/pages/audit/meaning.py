"""What an audit means, what it does not mean, what to do next."""

from __future__ import annotations

import math

from heldout.independence.leak_text import found_leak_text
from heldout.independence.result import AuditResult
from heldout.independence.verdict import range_text
from heldout.pages.audit.words import (
    effect_text,
    is_found,
    level_text,
    models_text,
    pixels_text,
    verdict_p_text,
    why_undetectable,
)
from heldout.pages.numbers import PERCENT, fixed
from heldout.statistics.power import POWER


def means(result: AuditResult) -> list[str]:
    """What the evidence says, with its numbers."""
    e, c, found = result.evidence, result.evidence.control, is_found(result)
    p = verdict_p_text(result)
    who, has = models_text(result, capital=True), "has" if result.n_models == 1 else "have"
    if c is not None and result.control is not None:
        test, control = fixed(e.untouched_error), fixed(c.untouched_error)
        given = "" if result.leak is None else ", given what the references find hard"
        untouched = models_text(result) if result.leak is None else f"{models_text(result)} and the references"
        alike = (
            f"If test set and control were random draws from one source, and {untouched} had been influenced by "
            f"neither, they would look alike{given}, and evidence as strong as this would turn up with probability {p} "
            "at most."
        )
        if result.outcome == "easier":
            return [
                alike,
                f"On untouched pictures the error is {test} on the test set and {control} on the control. If the "
                "control is such a draw, its error is the number to believe for fresh data of the same source.",
            ]
        if found:
            return [
                alike,
                f"On untouched pictures the error is {test} on the test set and {control} on the control: the test set "
                "is the harder one. Overfitting to it would make it easier, so it is not that."
                if result.leak is None
                else f"On untouched pictures the error is {test} on the test set and {control} on the control. Given "
                "what the references find hard, the test set is the harder one. Overfitting to it would make it "
                "easier, so it is not that.",
            ]
        sided = result.verdict_alternative == "greater"
        what = "The test set was not found easier" if sided else "No difference was found between the test set"
        return [
            f"{what} {'than' if sided else 'and'} the control: error {test} and {control} on untouched pictures, "
            f"p = {p}.",
            _limit(result),
        ]
    if found:
        higher = e.tested_statistic > 0
        return [
            f"The two error estimates differ by {fixed(e.tested_statistic, 5, sign=True)}, and evidence as strong "
            f"as this turns up with probability {p} at most if {models_text(result)} and test set are independent and "
            "small shifts are neutral. So at least one of the two does not hold.",
            "The direction is the one that overfitting gives: the pictures as they stand are easier than their shifts."
            if higher
            else "The direction is not the one that overfitting gives: the shifted pictures are the easier ones. "
            "Look at the preprocessing first.",
        ]
    return [
        f"{who} {has} about the same error on the pictures as they stand and on their shifts, properly weighted: "
        f"the difference is {fixed(e.tested_statistic, 5, sign=True)}, p = {p}.",
        _limit(result),
    ]


def _limit(result: AuditResult) -> str:
    if result.leak is not None:
        return found_leak_text(result.leak).replace(" %", PERCENT)
    why = why_undetectable(result)
    if why:
        return f"What could have been detected is not defined, because {why}. So this says very little."
    error = ""
    if result.evidence.control is not None:
        error = " on T"
        if math.isfinite(result.evidence.control.detectable_error.high):
            error += f", or of {range_text(result.evidence.control.detectable_error)} on the error rate,"
    return (
        f"An effect of {effect_text(result)}{error} would have been found with probability {POWER:g} (a "
        "range is over two ways in which it may come about). Anything smaller may be there unseen."
    )


def not_means(result: AuditResult) -> list[str]:
    """What must not be read into it."""
    c, found = result.evidence.control, is_found(result)
    points = []
    if not found:
        points.append("“No evidence” is not “clean”: it is silence down to the detectable effect, and no further.")
    else:
        if result.outcome == "easier":
            points.append("It is no proof of intent. Duplicates, choosing among models by test score, and reuse over "
                          "years all leave the same trace.")  # fmt: skip
        points.append("It does not say how large the difference is: a small p-value is not a large effect."
                      if c is not None
                      else "It does not say that there is overfitting: shifts that are not neutral give the same "
                      "numbers.")  # fmt: skip
    if c is None:
        points.append(
            "Without a control, invariance is an assumption: natural pictures are framed, their subject sits in the "
            "middle, and shifting them is not neutral. A strong test finds that too."
        )
    else:
        points.append("The control is only as good as its history: it must come from the same source and have been put "
                      "aside at random before any training or selection.")  # fmt: skip
    if result.leak is not None:
        points.append("References are taken to have seen no more of the test set than of the control. One that knows "
                      "the test set hides a leak, or makes the test set look hard; one that was trained on the control "
                      "makes the test set look easy, which is a false alarm.")  # fmt: skip
    points.append(f"p is for one audit, held to the level {level_text(result)}. Audits on every commit need "
                  "`--planned-audits`, or the e-value.")  # fmt: skip
    points.append("It is about this test set and these moves. Another test set, or overfitting that shifts of "
                  f"{pixels_text(result)} cannot show, is another question."
                  if result.leak is None
                  else "It is about this test set. Another one is another question.")  # fmt: skip
    return points


def next_steps(result: AuditResult) -> list[str]:
    """What to do with it."""
    c, found, n = result.evidence.control, is_found(result), len(result.test)
    points = []
    if result.outcome == "harder":
        points.append("Check that test set and control come from one source: how and when each was collected, and who "
                      "labelled it. Look through the test pictures that are counted as errors for wrong "
                      "labels.")  # fmt: skip
        points.append("Check that the control was in no training set.")
    if result.outcome == "easier":
        points.append("Make sure that the control is a random draw from the test set’s source; if it is not, an easier "
                      "test set shows nothing.")  # fmt: skip
        points.append("Report the control’s error, not the test set’s, and look for test pictures (and near "
                      "duplicates) in the training data.")  # fmt: skip
        points.append("Until that is settled, do not choose between models by this test set.")
    if c is None:
        points.append("Get a control: put fresh examples aside with `heldout split` before training, then audit with "
                      "`--control`. Only a control tells dependence from shifts that are not neutral.")  # fmt: skip
        if found:
            points.append("Until then, do not call this overfitting.")
    if result.leak is not None:
        if result.outcome == "easier" and result.leak.seen.n_listed:
            points.append("Look through the pictures below that look seen, and search the training data for "
                          "them.")  # fmt: skip
        if result.outcome == "harder":
            points.append("Check that no reference was trained on the test set.")
        if not found and len(result.reference_names) < 3:
            points.append("Add references: three take more noise off than one, and a leak that one of them shares is "
                          "hidden by it alone.")  # fmt: skip
        if not found:
            points.append("To see a smaller leak, use more examples in both sets.")
    elif not found:
        if why_undetectable(result):
            points.append("Use more examples, or a larger radius: here no move changed enough to measure anything.")
        else:
            both = " in both sets" if c is not None else ""
            points.append(f"To see half as large an effect, use about four times as many examples{both} "
                          f"({4 * n:,} instead of {n:,}).")  # fmt: skip
    if result.n_models == 1:
        points.append("To judge the architecture and not one run, train it N times with different seeds and audit all "
                      "N together: T is averaged first, which takes the noise of training out.")  # fmt: skip
    return points
