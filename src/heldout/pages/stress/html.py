"""The page of a stress test."""

from __future__ import annotations

from heldout.attack.result import StressResult
from heldout.pages.page import render
from heldout.pages.stress import summarise


def stress_html(result: StressResult, *, command: str | None = None) -> str:
    """The report of one stress test, the answer first.

    Parameters
    ----------
    result : StressResult
    command : str, optional
        What was typed to get it.

    Returns
    -------
    str
        HTML, the same bytes for the same arguments.
    """
    return render(
        "stress.html.j2",
        title=f"{result.headline} {result.source}",
        view=summarise(result),
        command=command,
        extra=(),
    )
