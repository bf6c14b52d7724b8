"""The page of an audit of scores."""

from __future__ import annotations

from heldout.independence.score_result import ScoreAuditResult
from heldout.pages.page import render
from heldout.pages.score_audit import summarise


def score_audit_html(result: ScoreAuditResult, *, command: str | None = None) -> str:
    """The report of one audit of scores, the verdict first.

    Parameters
    ----------
    result : ScoreAuditResult
    command : str, optional
        What was typed to get it.

    Returns
    -------
    str
        HTML, the same bytes for the same arguments.
    """
    return render(
        "score_audit.html.j2",
        title=f"{result.ruling.title}: {result.model_name or result.sources[0]}",
        view=summarise(result),
        command=command,
        extra=(),
    )
