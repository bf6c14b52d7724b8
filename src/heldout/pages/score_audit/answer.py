"""The box at the top: what was found, and what could have been found."""

from __future__ import annotations

from typing import Any

from heldout.independence.leak_text import counts_text, side_text
from heldout.independence.score_result import ScoreAuditResult
from heldout.pages.audit.verdict import HEADLINES
from heldout.pages.audit.words import plain_sentence
from heldout.pages.numbers import fixed, share_text
from heldout.pages.score_audit.words import kind_of, level_text, shares_text, verdict_p_text
from heldout.statistics.power import POWER


def answer_view(result: ScoreAuditResult) -> dict[str, Any]:
    """Headline, sentence and the numbers that stand large."""
    found = result.outcome != "no evidence"
    of = "what references leave" if result.leak.reference_names else "the scores"
    how = "by how often a seen example that would be wrong becomes right"
    numbers = [
        ("p-value", verdict_p_text(result),
         f"leak test, {side_text(result.leak.test.alternative)}: mean and tail of {of}, {counts_text(result.leak)}; "
         f"{'at most' if found else 'above'} the level of {level_text(result)}"),
        ("Detectable leak", shares_text(result),
         f"of the test set would have been found (level {level_text(result)}, power {POWER:g}), "
         f"{how if result.leak.two_valued else 'by how far a seen example moves'}; a plug-in estimate from these data"),
    ]  # fmt: skip
    if result.leak.reference_names:
        numbers.append(
            (
                "Taken off by references",
                share_text(result.leak.test.variance_removed),
                "of the variance of the scores, so that a leak stands out of what is left",
            )
        )
    name = kind_of(result)
    return {
        "warnings": result.notes,
        "found": found,
        "headline": HEADLINES[result.outcome],
        "sentence": plain_sentence(result.ruling),
        "subject": f"{result.model_name or result.sources[0]}: {result.n_examples:,} test and "
        f"{len(result.values_control):,} control examples",
        "sides": [
            (f"Mean {name}, test set", fixed(float(result.values.mean()), 3)),
            (f"Mean {name}, control", fixed(float(result.values_control.mean()), 3)),
        ],
        "numbers": [{"name": a, "value": b, "note": c} for a, b, c in numbers],
    }
