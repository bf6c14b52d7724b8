"""A result to text and to HTML with pictures. Nothing is computed here that a result could hold."""

from __future__ import annotations

from pathlib import Path

from heldout.attack.result import StressResult
from heldout.files import write_text
from heldout.memorization.result import MemorizationResult
from heldout.pages.budget.html import budget_html
from heldout.pages.compare.html import compare_html
from heldout.pages.memorization.html import memorization_html
from heldout.pages.scores.html import scores_html
from heldout.pages.stress.html import stress_html
from heldout.reuse.compare_result import CompareAllResult, CompareResult
from heldout.reuse.result import BudgetResult
from heldout.reuse.score_budget import ScoreBudgetResult

__all__ = [
    "budget_html",
    "compare_html",
    "memorization_html",
    "scores_html",
    "stress_html",
    "write_budget_report",
    "write_compare_report",
    "write_memorization_report",
    "write_stress_report",
]


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


def write_compare_report(
    result: CompareResult | CompareAllResult, folder: str | Path, *, command: str | None = None
) -> Path:
    """The same for a comparison."""
    path = Path(folder) / "report.html"
    write_text(path, compare_html(result, command=command))
    return path


def write_stress_report(result: StressResult, folder: str | Path, *, command: str | None = None) -> Path:
    """The same for a stress test."""
    path = Path(folder) / "report.html"
    write_text(path, stress_html(result, command=command))
    return path


def write_memorization_report(result: MemorizationResult, folder: str | Path, *, command: str | None = None) -> Path:
    """The same for a measurement of memorization."""
    path = Path(folder) / "report.html"
    write_text(path, memorization_html(result, command=command))
    return path
