"""What a report says about one audit of scores, as plain data; the template only lays it out. One module a section."""

from __future__ import annotations

from typing import Any

from heldout.independence.score_result import ScoreAuditResult
from heldout.report.score_audit.answer import answer_view
from heldout.report.score_audit.facts import facts_view, origin_view
from heldout.report.score_audit.meaning import means, next_steps, not_means
from heldout.report.score_audit.residuals import residuals_view
from heldout.report.score_audit.seen import seen_view
from heldout.report.score_audit.statistics import detectable_view, statistics_view

__all__ = ["summarise"]


def summarise(result: ScoreAuditResult) -> dict[str, Any]:
    """Everything the template shows, in the order it is shown."""
    return {
        "answer": answer_view(result),
        "assumes": result.assumes,
        "means": means(result),
        "not_means": not_means(result),
        "next": next_steps(result),
        "residuals": residuals_view(result),
        "statistics": statistics_view(result),
        "detectable": detectable_view(result),
        "seen": seen_view(result),
        "facts": facts_view(result),
        "origin": origin_view(result),
    }
