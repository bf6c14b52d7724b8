"""What wrong labels would do to the leaderboard and the budget."""

from __future__ import annotations

from typing import Any

from heldout.pages.budget.words import LONGEST
from heldout.pages.numbers import PERCENT
from heldout.pages.svg.shapes import shorten
from heldout.reuse.result import BudgetResult, noise_sentences, second_sentences

SHOWN = 50  # models


def noise_view(result: BudgetResult) -> dict[str, Any] | None:
    """Sentences and a table; None where nobody asked."""
    pool = result.pool
    if pool is None or (pool.label_noise is None and pool.second_labels is None):
        return None
    noise, second, s = pool.label_noise, pool.second_labels, pool.similarity
    sentences, columns, cells = [], [f"Error,{PERCENT}"], [[_percent(e)] for e in s.errors.tolist()]
    if noise is not None:
        sentences += noise_sentences(noise)
        columns.append("True error, at random")
        for row, error in zip(cells, noise.true_errors, strict=True):
            row.append(_percent(error) if error >= 0 else "below 0")
    if second is not None:
        sentences += second_sentences(second)
        columns += ["Error, second labels", "Place", "Place, second labels"]
        for row, *found in zip(cells, second.second_errors, second.ranks, second.second_ranks, strict=True):
            row += [_percent(found[0]), str(found[1]), str(found[2])]
    order = pool.order.tolist()[:SHOWN]
    names = [{"short": shorten(n, LONGEST), "full": n if len(n) > LONGEST else None} for n in s.names]
    return {
        "sentences": sentences,
        "columns": columns,
        "rows": [[names[i], *cells[i]] for i in order],
        "more": f"{s.n_models - SHOWN:,}" if s.n_models > SHOWN else None,
    }


def _percent(error: float) -> str:
    return f"{100 * error:.2f}"
