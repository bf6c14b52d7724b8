"""The page of a budget of scores."""

from __future__ import annotations

from heldout.pages.page import render
from heldout.pages.scores import summarise
from heldout.reuse.score_budget import ScoreBudgetResult


def scores_html(result: ScoreBudgetResult, *, command: str | None = None) -> str:
    """The report of one budget of scores, the answer first; the same bytes for the same arguments."""
    view = summarise(result)
    return render("scores.html.j2", title=f"{view['headline']}: {result.source}", view=view, command=command, extra=())
