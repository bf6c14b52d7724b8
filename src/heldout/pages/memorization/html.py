"""The page of a measurement of memorization."""

from __future__ import annotations

from heldout.memorization.result import MemorizationResult
from heldout.pages.memorization import summarise
from heldout.pages.memorization.words import models_text
from heldout.pages.page import render


def memorization_html(result: MemorizationResult, *, command: str | None = None) -> str:
    """The report of one measurement, the answer first.

    Parameters
    ----------
    result : MemorizationResult
    command : str, optional
        What was typed to get it.

    Returns
    -------
    str
        HTML, the same bytes for the same arguments.
    """
    where = f" on {result.source}" if result.source else ""
    return render(
        "memorization.html.j2",
        title=f"Memorization of {models_text(result)}{where}",
        view=summarise(result),
        command=command,
        extra=(),
    )
