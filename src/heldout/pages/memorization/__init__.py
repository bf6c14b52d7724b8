"""What a report says about memorization, as plain data; the template only lays it out. One module a section."""

from __future__ import annotations

from typing import Any

from heldout.memorization.result import MemorizationResult
from heldout.pages.memorization.answer import answer_view
from heldout.pages.memorization.curves import curves_view
from heldout.pages.memorization.disagreement import disagreement_view
from heldout.pages.memorization.facts import facts_view, not_computed, origin_view
from heldout.pages.memorization.meaning import cautions, means
from heldout.pages.memorization.pictures import pictures_view
from heldout.pages.memorization.ranking import ranking_view
from heldout.pages.memorization.table import table_view

__all__ = ["summarise"]


def summarise(result: MemorizationResult) -> dict[str, Any]:
    """Everything the template shows, in the order it is shown."""
    return {
        "answer": answer_view(result),
        "curves": curves_view(result),
        "table": table_view(result),
        "ranking": ranking_view(result),
        "disagreement": disagreement_view(result),
        "pictures": pictures_view(result),
        "means": means(result),
        "cautions": cautions(result),
        "facts": facts_view(result),
        "notes": list(result.notes),
        "failures": list(result.failures),
        "not_computed": not_computed(result),
        "origin": origin_view(result),
    }
