"""Every bound on one table, with what it assumes."""

from __future__ import annotations

import math
from typing import Any

from heldout.report.budget.words import models_text
from heldout.report.numbers import NOT_DEFINED, PERCENT, bar_text, exact_text, fixed
from heldout.reuse.result import BudgetResult
from heldout.reuse.theorems import corollary4

UNION, SIMILARITY, NAIVE_BAYES = "Union bound (2)", "Similarity union bound (3)", "Naive Bayes (15)"


def bounds_view(result: BudgetResult) -> dict[str, Any]:
    """One row a bound: models that fit, models more, the error bar of the pool, what it rests on."""
    pool, t, further = result.pool, result.testable, result.further
    chosen = "union" if t.similarity is None else "similarity"
    rows = [
        _row(UNION, t.union, further["union"], bar=pool.epsilon["union"] if pool else None, chosen=chosen == "union"),
        _row(SIMILARITY, t.similarity, further["similarity"], bar=pool.epsilon["similarity"] if pool else None,
             chosen=chosen == "similarity"),
        _row(NAIVE_BAYES, t.naive_bayes, further["naive_bayes"]),
    ]  # fmt: skip
    return {
        "rows": rows,
        "has_pool": pool is not None,
        "bar_title": f"Error bar for {models_text(result)}" if pool else "",
        "reason": t.reason,
        "notes": [*_notes(result), *_theorems(result)],
        "similar": f"{result.mean_similarity:.4f}",
        "error": f"{result.mean_error:.4f}",
    }


def _notes(result: BudgetResult) -> list[tuple[str, str]]:
    """What each bound rests on."""
    tree = " For the models there are, a spanning tree over the pairs (Hunter–Worsley)." if result.pool else ""
    return [
        (UNION, "Each model’s own exact binomial tails, added up."),
        (SIMILARITY, f"One anchor model, and exact joint tails of every other model with it.{tree} Never worse than "
         "the union bound; it needs models that are at least as alike as chance."),
        (NAIVE_BAYES, "Exact if Assumption A1 holds: some examples are easy for all models, on the others they err "
         "independently."),
    ]  # fmt: skip


def _row(
    name: str, fit: int | None, further: int | None, *, bar: float | None = None, chosen: bool = False
) -> dict[str, Any]:
    return {
        "name": name,
        "fit": exact_text(fit),
        "further": exact_text(further),
        "bar": bar_text(bar, full=True) if bar is not None else "–",
        "chosen": chosen,
    }


def _theorems(result: BudgetResult) -> list[tuple[str, str]]:
    """Theorem 2 on the pool's own cover, and what adaptive use would need."""
    pool, n = result.pool, result.n_examples
    if pool is None:
        return []
    t, k = pool.theorem2, pool.similarity.n_models
    if math.isnan(t["epsilon"]):
        theorem2 = f"no error bar below ±100{PERCENT}: {n:,} examples are too few for it."
    else:
        closed = [f"({number}) {bar_text(t[f'equation_{number}'], full=True)}" for number in (5, 6)]
        theorem2 = (
            f"{bar_text(t['epsilon'], full=True)} by (4), at eta = {fixed(t['eta'], 3)}, where {t['cover']:,.0f} of "
            f"the {k:,} models cover the rest; in closed form {', '.join(closed)}. It shows how things grow; its "
            "constants are too large to compete with exact tails."
        ).replace(NOT_DEFINED, "does not apply here")
    adaptive, _, _ = corollary4(n, k, alpha=0.0, delta=result.delta)
    shown = bar_text(adaptive, full=True) if adaptive < 1 else f"more than ±100{PERCENT}, so nothing at all,"
    return [
        ("Theorem 2, this pool’s cover", theorem2),
        (
            "Corollary 4, adaptive use",
            f"If each of the {k:,} models had been chosen after seeing the exact scores of those before it, only "
            f"{shown} would be guaranteed for all (alpha = 0, whatever their similarity). Anything better needs the "
            "cover of all models that might have been submitted, had the scores been different. That cannot be read "
            "off the models seen.",
        ),
    ]
