"""How many examples are needed: for the error bar asked for, for a difference, for the first place."""

from __future__ import annotations

import math
from typing import Any

from heldout.pages.budget.words import confidence_text, points_text
from heldout.pages.numbers import bar_text, percent
from heldout.reuse.result import BudgetResult, examples_text


def needed_view(result: BudgetResult) -> dict[str, Any]:
    """One line a question."""
    if result.too_few:
        return {"facts": []}
    need, n = result.needed, result.n_examples
    who = "one such model" if need.n_models == 1 else f"{need.n_models:,} models like these, all at once"
    facts = [
        (
            f"For {bar_text(need.epsilon)}",
            f"{_examples(need.examples_for_epsilon, n)}: {who}, with {confidence_text(result)}",
        ),
        ("Gap that can be told now", _now(result)),
        (f"To tell a gap of {points_text(need.gap)}", _examples(need.examples_for_gap, n)),
    ]
    if need.first_gap is not None:
        told = f"{_examples(need.examples_for_first, n)}: they are {points_text(need.first_gap)} apart"
        facts.append(("To tell the first from the second", told))
    return {
        "facts": facts,
        "n": f"{n:,}",
        "power": f"{100 * need.power:g}",
        "delta": f"{result.delta:g}",
        "disagreement": percent(need.disagreement),
        "pool": result.pool is not None,
        "groups": result.pool is not None and result.pool.example_groups is not None,
    }


def enough_text(result: BudgetResult) -> str:
    """Examples that the error bar asked for takes, and for how many models."""
    need = result.needed
    of = "one such model" if need.n_models == 1 else f"all {need.n_models:,} models"
    return f"{examples_text(need.examples_for_epsilon)} would do for {of}"


def _examples(count: int | None, n: int) -> str:
    """A number of examples, and how it compares with those there are."""
    if count is None:
        return "more than 10¹² examples"
    ratio = count / n
    if ratio > 1.05:
        beside = f"{ratio:,.0f} times" if ratio >= 10 else f"{ratio:.1f} times"
        return f"{count:,} examples, {beside} those there are"
    return f"{count:,} examples, no more than there are" if ratio <= 1 else f"{count:,} examples"


def _now(result: BudgetResult) -> str:
    gap = result.needed.gap_now
    return points_text(gap) if math.isfinite(gap) else "none: there are too few examples for any"
