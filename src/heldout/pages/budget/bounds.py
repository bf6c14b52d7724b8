"""Every bound on one table, with what it assumes."""

from __future__ import annotations

import math
from typing import Any

from heldout.pages.budget.words import groups_of, models_text, unequal_text
from heldout.pages.numbers import NOT_DEFINED, bar_text, exact_text, fixed
from heldout.reuse.result import BudgetResult
from heldout.reuse.theorems import corollary4

TITLES = {"union": "Union bound (2)", "similarity": "Similarity union bound (3)", "naive_bayes": "Naive Bayes (15)"}


def bounds_view(result: BudgetResult) -> dict[str, Any]:
    """One row a bound: models that fit, models more, those that would were all equal, the error bar of the pool."""
    pool, t, further = result.pool, result.testable, result.further
    chosen = "union" if t.similarity is None else "similarity"
    equal = result.equal.to_dict() if result.equal is not None else dict.fromkeys(TITLES)
    rows = [
        {
            "name": TITLES[key],
            "fit": exact_text(count),
            "further": exact_text(further[key]),
            "equal": exact_text(equal[key]),
            "bar": bar_text(pool.epsilon[key], full=True) if pool is not None and key in pool.epsilon else "–",
            "chosen": key == chosen,
        }
        for key, count in t.to_dict().items()
        if key == "union" or groups_of(result) is None
    ]
    return {
        "rows": rows,
        "has_pool": pool is not None,
        "bar_title": f"Error bar for {models_text(result)}" if pool else "",
        "reasons": _reasons(result),
        "notes": [*_notes(result), *_theorems(result)],
        "similar": f"{result.mean_similarity:.4f}",
        "error": f"{result.mean_error:.4f}",
    }


def _reasons(result: BudgetResult) -> list[str]:
    """Why a number of the table is not defined."""
    reasons = [f"{t[0].upper()}{t[1:]}." for t in (result.testable.reason,) if t]
    if result.pool is None:
        return reasons
    if result.equal is None:
        return [*reasons, f"Were all equal: not defined, since {unequal_text(result)}."]
    return [*reasons, *(f"Were all equal: {t}." for t in (result.equal.reason,) if t)]


def _notes(result: BudgetResult) -> list[tuple[str, str]]:
    """What each bound rests on."""
    if groups_of(result) is not None:
        told = (
            "The level at which each model’s Korn–Graubard interval is as wide as the error bar, the mean of these "
            "models’ levels for each further one. Rests on Student’s law for the groups there are."
        )
        return [(TITLES["union"], told)]
    tree = " For the models there are, a spanning tree over the pairs (Hunter–Worsley)." if result.pool else ""
    union = "the mean of these models’ tails for each further one" if result.pool else "added up"
    couple = " It needs models that are at least as alike as chance." if result.pool is None else ""
    kinds = ", each model at its own rate" if result.pool else ""
    return [
        (TITLES["union"], f"Each model’s own exact binomial tails, {union}."),
        (TITLES["similarity"], f"One anchor model, and exact joint tails of every other model with it.{tree} Never "
         f"worse than the union bound.{couple}"),
        (TITLES["naive_bayes"], "Exact if Assumption A1 holds: some examples are easy for all models, on the others "
         f"they err independently{kinds}."),
    ]  # fmt: skip


def _theorems(result: BudgetResult) -> list[tuple[str, str]]:
    """Theorem 2 on the pool's own cover, and what adaptive use would need."""
    pool, n = result.pool, result.n_examples
    if pool is None or pool.example_groups is not None:
        return []  # both theorems are for independent examples
    t, k = pool.theorem2, pool.similarity.n_models
    if math.isnan(t["epsilon"]):
        theorem2 = f"no error bar below ±100 points: {n:,} examples are too few for it."
    else:
        closed = [f"({number}) {bar_text(t[f'equation_{number}'], full=True)}" for number in (5, 6)]
        theorem2 = (
            f"{bar_text(t['epsilon'], full=True)} by (4), at eta = {fixed(t['eta'], 3)}, where {t['cover']:,.0f} of "
            f"the {k:,} models cover the rest; in closed form {', '.join(closed)}. It shows how things grow; its "
            "constants are too large to compete with exact tails."
        ).replace(NOT_DEFINED, "does not apply here")
    adaptive, _, _ = corollary4(n, k, alpha=0.0, delta=result.delta)
    shown = bar_text(adaptive, full=True) if adaptive < 1 else "more than ±100 points, so nothing at all,"
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
