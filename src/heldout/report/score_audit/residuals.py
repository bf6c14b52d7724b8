"""Scores less what was expected of them, test set against control."""

from __future__ import annotations

from typing import Any

from heldout.independence.score_result import ScoreAuditResult
from heldout.report.residuals import residual_chart


def residuals_view(result: ScoreAuditResult) -> dict[str, Any]:
    """Both distributions over each other."""
    references = bool(result.leak.reference_names)
    less = "what the references lead one to expect" if references else "the mean of both sets"
    return {"chart": residual_chart(result.leak, f"{result.leak.kind} less {less}"), "references": references}
