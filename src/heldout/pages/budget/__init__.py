"""What a report says about one budget, as plain data; the template only lays it out. One module a section."""

from __future__ import annotations

from typing import Any

from heldout.pages.budget.alike import alike_view
from heldout.pages.budget.answer import answer_view
from heldout.pages.budget.bounds import bounds_view
from heldout.pages.budget.cover import cover_view
from heldout.pages.budget.curves import curves_view
from heldout.pages.budget.difficulty import difficulty_view
from heldout.pages.budget.facts import facts_view, not_computed, origin_view
from heldout.pages.budget.first import first_view
from heldout.pages.budget.leaderboard import leaderboard_view
from heldout.pages.budget.meaning import means, next_steps, not_means
from heldout.pages.budget.needed import needed_view
from heldout.pages.budget.noise import noise_view
from heldout.reuse.result import BudgetResult

__all__ = ["summarise"]


def summarise(result: BudgetResult) -> dict[str, Any]:
    """Everything the template shows, in the order it is shown."""
    return {
        "answer": answer_view(result),
        "means": means(result),
        "not_means": not_means(result),
        "next": next_steps(result),
        "facts": facts_view(result),
        "needed": needed_view(result),
        "first": first_view(result),
        "leaderboard": leaderboard_view(result),
        "alike": alike_view(result),
        "noise": noise_view(result),
        "curves": curves_view(result),
        "cover": cover_view(result),
        "difficulty": difficulty_view(result),
        "bounds": bounds_view(result),
        "not_computed": not_computed(result),
        "origin": origin_view(result),
    }
