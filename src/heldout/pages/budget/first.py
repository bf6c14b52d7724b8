"""Who may be first, and what the winner's score is worth."""

from __future__ import annotations

import math
from typing import Any

from heldout.pages.budget.words import LONGEST, confidence_text
from heldout.pages.numbers import percent
from heldout.pages.svg.shapes import shorten
from heldout.reuse.first import TOPS, list_names
from heldout.reuse.result import BudgetResult, PoolResult

NAMED = 12  # models by name


def first_view(result: BudgetResult) -> dict[str, Any] | None:
    """The sets, and the winner's three numbers; None without a pool."""
    pool = result.pool
    if pool is None:
        return None
    k = len(pool.order)
    return {
        "headline": first_sentence(pool),
        "confidence": confidence_text(result),
        "sets": [(_title(top), _names(pool, top)) for top in TOPS if top < k],
        "winner": winner_sentence(pool),
        "units": "groups" if pool.example_groups is not None else "examples",
    }


def first_sentence(pool: PoolResult) -> str:
    """How many may be first."""
    n, k = len(pool.top[1]), len(pool.order)
    name = shorten(pool.winner.name, LONGEST)
    if n == 1:
        only = shorten(pool.names(pool.top[1])[0], LONGEST)
        return f"Only {only} may be first: every other of the {k:,} models is excluded"
    of = "both models" if k == 2 else f"{n:,} of the {k:,} models"
    return f"{of[0].upper()}{of[1:]} may be first, not only {name}, which has the highest score"


def winner_sentence(pool: PoolResult) -> str:
    """The score, the drop to expect, and what is left."""
    w, digits = pool.winner, 2 if pool.similarity.n_examples >= 1_000 else 1
    name = shorten(w.name, LONGEST)
    if not math.isfinite(w.expected_drop):
        return f"What {name} will lose on fresh examples cannot be told from so few {pool.unit}"
    drop = f"{100 * w.expected_drop:.2f}"
    return (
        f"{name} is right on {percent(w.score, digits)} of the examples. It was chosen for coming out highest, and "
        f"on as many fresh examples a winner like it drops by {drop} {'point' if drop == '1.00' else 'points'} on "
        f"average: expect {percent(w.corrected, digits)}"
    )


def _title(top: int) -> str:
    return "May be first" if top == 1 else f"May be among the top {top}"


def _names(pool: PoolResult, top: int) -> str:
    names = [shorten(name, LONGEST) for name in pool.names(pool.top[top])]
    return f"{len(names):,}: {list_names(names, NAMED)}"
