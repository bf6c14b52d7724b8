"""A result to text and to HTML with pictures. Nothing is computed here that a result could hold."""

from __future__ import annotations

from pathlib import Path

from heldout.files import write_text
from heldout.independence.result import AuditResult
from heldout.independence.score_result import ScoreAuditResult
from heldout.pages.audit.comparison import comparison_table
from heldout.pages.audit.html import audit_html, demo_html
from heldout.pages.budget.html import budget_html
from heldout.pages.compare.html import compare_html
from heldout.pages.score_audit.html import score_audit_html
from heldout.pages.scores.html import scores_html
from heldout.reuse.compare_result import CompareAllResult, CompareResult
from heldout.reuse.result import BudgetResult
from heldout.reuse.score_budget import ScoreBudgetResult

__all__ = [
    "audit_html",
    "budget_html",
    "compare_html",
    "comparison_table",
    "demo_html",
    "score_audit_html",
    "scores_html",
    "write_audit_report",
    "write_budget_report",
    "write_compare_report",
    "write_demo_report",
    "write_score_audit_report",
]


def write_audit_report(result: AuditResult, folder: str | Path, *, command: str | None = None) -> Path:
    """Write `folder`/report.html, whole or not at all, and say where it is."""
    path = Path(folder) / "report.html"
    write_text(path, audit_html(result, command=command))
    return path


def write_score_audit_report(result: ScoreAuditResult, folder: str | Path, *, command: str | None = None) -> Path:
    """The same for an audit of scores."""
    path = Path(folder) / "report.html"
    write_text(path, score_audit_html(result, command=command))
    return path


def write_demo_report(results: dict[str, AuditResult], folder: str | Path, *, command: str | None = None) -> Path:
    """The same for several audits on one page."""
    path = Path(folder) / "report.html"
    write_text(path, demo_html(results, command=command))
    return path


def write_budget_report(
    result: BudgetResult | ScoreBudgetResult, folder: str | Path, *, command: str | None = None
) -> Path:
    """The same for a budget."""
    path = Path(folder) / "report.html"
    if isinstance(result, ScoreBudgetResult):
        write_text(path, scores_html(result, command=command))
    else:
        write_text(path, budget_html(result, command=command))
    return path


def write_compare_report(
    result: CompareResult | CompareAllResult, folder: str | Path, *, command: str | None = None
) -> Path:
    """The same for a comparison."""
    path = Path(folder) / "report.html"
    write_text(path, compare_html(result, command=command))
    return path
