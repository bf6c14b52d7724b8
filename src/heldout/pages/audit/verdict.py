"""The box at the top: what was found, and what could have been found."""

from __future__ import annotations

import math
from typing import Any

from heldout.independence.leak import LeakEvidence
from heldout.independence.leak_text import found_leak_text, leak_share_text, way_text
from heldout.independence.leak_text import side_text as leak_side
from heldout.independence.result import AuditResult
from heldout.independence.verdict import range_text
from heldout.pages.audit.words import (
    effect_text,
    is_found,
    level_text,
    names_text,
    side_text,
    verdict_p_text,
    verdict_sentence,
    verdict_word,
    why_undetectable,
)
from heldout.pages.numbers import NOT_DEFINED, PERCENT, fixed, percent
from heldout.statistics.power import POWER

MANY = 5000  # examples from which on a tenth of a percent is too coarse
HEADLINES = {
    "no evidence": "No evidence against independence",
    "easier": "Easier than the control",
    "harder": "Harder than the control: not overfitting",
    "rejected": "Cannot tell which fails: independence or neutral shifts",
}


def verdict_view(result: AuditResult) -> dict[str, Any]:
    """Headline, sentence and the numbers that stand large."""
    e, control, found = result.evidence, result.evidence.control, is_found(result)
    headline = HEADLINES[result.outcome]
    leak = result.leak
    method = f"betting test that mean T is zero, {side_text(result)}"
    if leak is not None:
        method = f"leak test of test against control, less what references expect, {leak_side(leak.test.alternative)}"
    elif control is not None:
        method = "twice the smaller of two permutation p-values of test against control"
    why = why_undetectable(result)
    what = "difference of T between test and control" if control is not None else "mean T"
    would = (
        f"a true {what} this large would have been found (level {level_text(result)}, power {POWER:g}), "
        "in either of two ways in which it may come about; a plug-in estimate from these data"
    )
    p = (
        "p-value",
        verdict_p_text(result),
        f"{method}; {'at most' if found else 'above'} the level of {level_text(result)}",
    )
    # What was found stands large where something was; what could have been found where nothing was.
    small = f"Detectable effect {effect_text(result)}: {f'because {why}' if why else would}."
    sides: list[tuple[str, str]] = []
    numbers = [p]
    if leak is not None:
        small = found_leak_text(leak).replace(" %", PERCENT)
        if not found:
            numbers += _detectable_leak(leak, level_text(result))
            small = ""
    elif not found:
        numbers.append(("Detectable effect", effect_text(result), f"because {why}" if why else would))
        if control is not None and math.isfinite(control.detectable_error.high):
            numbers.append(("The same, error rate", range_text(control.detectable_error),
                            "the other half of the test: a true difference in the error rate this large"))  # fmt: skip
        small = ""
    if found and control is not None and result.control is not None:
        digits = 1 if min(len(result.test), len(result.control)) < MANY else 2
        sides = [
            ("Error on the test set", percent(e.untouched_error, digits)),
            ("Error on the control", percent(control.untouched_error, digits)),
        ]
    elif found:
        low_high = "harder" if e.tested_statistic > 0 else "easier"
        numbers.insert(
            0,
            (
                "Mean T" if result.test.groups is None else "Mean T, groups counted once",
                fixed(e.tested_statistic, sign=True),
                f"the moved pictures, properly weighted, are {low_high} by this much",
            ),
        )
    return {
        "word": verdict_word(result),
        "headline": headline,
        "found": found,
        "sentence": verdict_sentence(result),
        "subject": _subject(result),
        "p": verdict_p_text(result),
        "sides": sides,
        "numbers": [{"name": a, "value": b, "note": c} for a, b, c in numbers],
        "small": small,
        "warnings": result.notes,
    }


def _detectable_leak(leak: LeakEvidence, level: str) -> list[tuple[str, str, str]]:
    """The smallest leak that would have been found, for pictures known by heart and for ones that left a trace."""
    known = [found for found in leak.detectable if math.isfinite(found.share)]
    if not known:
        return [("Detectable leak", NOT_DEFINED, "not even a leak of the whole test set would have been found")]
    first, last = known[-1], known[0]
    share, faint = (leak_share_text(found.share).replace(" %", PERCENT) for found in (first, last))
    numbers = [("Detectable leak", share,
                f"of the test set, where a seen picture moves {way_text(first.pull, False)} up to the surest ones "
                f"(level {level}, power {POWER:g}); a plug-in estimate from these data")]  # fmt: skip
    if last is not first:
        numbers.append(("The same, a faint trace", faint, f"where it moves {way_text(last.pull, False)}"))
    return numbers


def _subject(result: AuditResult) -> str:
    """What was audited, in one line."""
    control = f" and {len(result.control):,} control" if result.control is not None else ""
    against = f", against {names_text(result.reference_names, 3)}" if result.reference_names else ""
    return f"{names_text(result.model_names, 3)}: {len(result.test):,} test{control} examples{against}"
