"""What a report says about one audit of scores, as plain data; the template only lays it out. One module a section."""

from __future__ import annotations

from typing import Any

from heldout.independence.leak_text import kind_text
from heldout.independence.score_result import ScoreAuditResult
from heldout.pages.leak import detectable_view, residual_chart, statistics_view
from heldout.pages.score_audit.answer import answer_view
from heldout.pages.score_audit.facts import facts_view, origin_view
from heldout.pages.score_audit.meaning import means, next_steps, not_means
from heldout.pages.score_audit.seen import seen_view

__all__ = ["summarise"]


def summarise(result: ScoreAuditResult) -> dict[str, Any]:
    """Everything the template shows, in the order it is shown."""
    leak, references = result.leak, bool(result.leak.reference_names)
    less = "what the references lead one to expect" if references else "the mean of both sets"
    groups = "" if leak.test.mean.n_groups_test is None else " of whole groups"
    within = " within class" if result.strata else ""
    return {
        "answer": answer_view(result),
        "assumes": result.assumes,
        "means": means(result),
        "not_means": not_means(result),
        "next": next_steps(result),
        "residuals": {
            "chart": residual_chart(leak, f"{kind_text(leak.kind)} less {less}"),
            "references": references,
        },
        "statistics": statistics_view(leak, digits=5, permuted=f"{groups}{within}"),
        "detectable": detectable_view(leak),
        "seen": seen_view(result),
        "facts": facts_view(result),
        "origin": origin_view(result),
    }
