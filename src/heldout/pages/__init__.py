"""Pages of comparisons."""

from __future__ import annotations

from pathlib import Path

from heldout.files import write_text
from heldout.pages.compare.html import compare_html
from heldout.reuse.compare_result import CompareAllResult, CompareResult

__all__ = ["compare_html", "write_compare_report"]


def write_compare_report(
    result: CompareResult | CompareAllResult, folder: str | Path, *, command: str | None = None
) -> Path:
    """Write `folder`/report.html, whole or not at all, and say where it is."""
    path = Path(folder) / "report.html"
    write_text(path, compare_html(result, command=command))
    return path
