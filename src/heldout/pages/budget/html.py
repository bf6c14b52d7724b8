"""The page of a budget."""

from __future__ import annotations

from heldout.pages.budget import summarise
from heldout.pages.budget.answer import headline
from heldout.pages.page import render
from heldout.reuse.result import BudgetResult


def budget_html(result: BudgetResult, *, command: str | None = None) -> str:
    """The report of one budget, the answer first.

    Parameters
    ----------
    result : BudgetResult
    command : str, optional
        What was typed to get it.

    Returns
    -------
    str
        HTML, the same bytes for the same arguments.
    """
    return render(
        "budget.html.j2",
        title=f"{headline(result)}: {result.source if result.pool is not None else 'four numbers'}",
        view=summarise(result),
        command=command,
        extra=(),
    )
