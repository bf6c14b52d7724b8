"""Pages of budgets."""

from __future__ import annotations

from pathlib import Path

from heldout.files import write_text
from heldout.pages.budget.html import budget_html
from heldout.pages.scores.html import scores_html
from heldout.reuse.result import BudgetResult
from heldout.reuse.score_budget import ScoreBudgetResult

__all__ = ["budget_html", "scores_html", "write_budget_report"]


def write_budget_report(
    result: BudgetResult | ScoreBudgetResult, folder: str | Path, *, command: str | None = None
) -> Path:
    """Write `folder`/report.html, whole or not at all, and say where it is."""
    path = Path(folder) / "report.html"
    if isinstance(result, ScoreBudgetResult):
        write_text(path, scores_html(result, command=command))
    else:
        write_text(path, budget_html(result, command=command))
    return path
