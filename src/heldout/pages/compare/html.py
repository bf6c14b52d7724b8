"""The page of a comparison."""

from __future__ import annotations

from heldout.pages.compare import headline, summarise, summarise_all
from heldout.pages.page import render
from heldout.reuse.compare_result import CompareAllResult, CompareResult


def compare_html(result: CompareResult | CompareAllResult, *, command: str | None = None) -> str:
    """The report of one pair, or of several, the answer first; the same bytes for the same arguments."""
    if isinstance(result, CompareAllResult):
        view = summarise_all(result)
        title = f"{view['headline']}: {result.pairs[0].source}"
        return render("compare_all.html.j2", title=title, view=view, command=command, extra=())
    title = f"{headline(result)}: {result.first} against {result.second}"
    return render("compare.html.j2", title=title, view=summarise(result), command=command, extra=())
