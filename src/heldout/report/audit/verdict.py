"""The box at the top: what was found, and what could have been found."""

from __future__ import annotations

from typing import Any

from heldout.independence.result import AuditResult
from heldout.report.audit.words import (
    effect_text,
    is_found,
    names_text,
    side_text,
    verdict_p_text,
    verdict_sentence,
    verdict_word,
    why_undetectable,
)
from heldout.report.numbers import fixed, percent
from heldout.statistics.power import LEVEL, POWER

MANY = 5000  # examples from which on a tenth of a percent is too coarse
FOUND_TEXT = f"level {LEVEL:g}, power {POWER:g}"


def verdict_view(result: AuditResult) -> dict[str, Any]:
    """Headline, sentence and the numbers that stand large."""
    e, control, found = result.evidence, result.evidence.control, is_found(result)
    if not found:
        headline = "No evidence against independence"
    elif control is not None:
        headline = "Not independent of the test set"
    else:
        headline = "Cannot tell which fails: independence or neutral shifts"
    method = (
        "twice the smaller of two permutation p-values of test against control"
        if control is not None
        else f"betting test that mean T is zero, {side_text(result)}"
    )
    why = why_undetectable(result)
    what = "difference of T between test and control" if control is not None else "mean T"
    would = f"a true {what} this large would have been found ({FOUND_TEXT}); a plug-in estimate from these data"
    p = (
        "p-value",
        verdict_p_text(result),
        f"{method}; {'at most' if found else 'above'} the level of {LEVEL:g}",
    )
    # What was found stands large where something was; what could have been found where nothing was.
    small = f"Detectable effect {effect_text(result)}: {f'because {why}' if why else would}."
    sides: list[tuple[str, str]] = []
    numbers = [p]
    if not found:
        numbers.append(("Detectable effect", effect_text(result), f"because {why}" if why else would))
        small = ""
    elif control is not None and result.control is not None:
        digits = 1 if min(len(result.test), len(result.control)) < MANY else 2
        sides = [
            ("Error on the test set", percent(e.test_error, digits)),
            ("Error on the control", percent(float(result.control.losses.mean()), digits)),
        ]
    else:
        low_high = "harder" if e.statistic > 0 else "easier"
        numbers.insert(
            0,
            (
                "Mean T",
                fixed(e.statistic, sign=True),
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
    }


def _subject(result: AuditResult) -> str:
    """What was audited, in one line."""
    control = f" and {len(result.control):,} control" if result.control is not None else ""
    return f"{names_text(result.model_names, 3)}: {len(result.test):,} test{control} examples"
