"""The box at the top: what was found, and what could have been found."""

from __future__ import annotations

from typing import Any

from heldout.independence.score_result import ScoreAuditResult
from heldout.report.audit.verdict import HEADLINES
from heldout.report.audit.words import plain_sentence
from heldout.report.numbers import fixed, share_text
from heldout.report.score_audit.words import kind_text, level_text, range_of_shares, verdict_p_text
from heldout.statistics.power import POWER


def answer_view(result: ScoreAuditResult) -> dict[str, Any]:
    """Headline, sentence and the numbers that stand large."""
    found = result.outcome != "no evidence"
    numbers = [
        ("p-value", verdict_p_text(result),
         f"leak test: mean and tail of what references leave, the smaller p under the same permutations; "
         f"{'at most' if found else 'above'} the level of {level_text(result)}"
         if result.leak.reference_names else
         f"leak test: mean and tail of the scores, the smaller p under the same permutations; "
         f"{'at most' if found else 'above'} the level of {level_text(result)}"),
        ("Detectable leak", range_of_shares(result),
         f"of the test set would have been found (level {level_text(result)}, power {POWER:g}), by how far a seen "
         "example moves; a plug-in estimate from these data"),
    ]  # fmt: skip
    if result.leak.reference_names:
        numbers.append(
            (
                "Taken off by references",
                share_text(result.leak.test.variance_removed),
                "of the variance of the scores, so that a leak stands out of what is left",
            )
        )
    name = kind_text(result)
    return {
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
