"""What went in, what was not computed, and how this was made."""

from __future__ import annotations

import math

from heldout.pages.budget.words import confidence_text, groups_of, groups_text, unequal_text
from heldout.pages.numbers import bar_text, fixed, percent
from heldout.reuse.grouped import ExampleGroups
from heldout.reuse.result import BudgetResult


def facts_view(result: BudgetResult) -> list[tuple[str, str]]:
    """What went in, one line a fact."""
    pool = result.pool
    facts = [("Test set", f"n = {result.n_examples:,} examples")]
    if pool is not None:
        s = pool.similarity
        spread = f" ({percent(float(s.errors.min()), 2)} to {percent(float(s.errors.max()), 2)})"
        facts += [
            ("Models", f"k = {s.n_models:,}, from {result.source}"),
            ("Mean error", percent(result.mean_error, 2) + spread),
        ]
    else:
        facts.append(("Error", f"{result.mean_error:g}, as stated"))
    chance = fixed(result.independent_similarity)
    alike = (
        f"{fixed(result.mean_similarity)}, mean over all pairs; {chance} if errors were independent, mean over the "
        "same pairs, each with its own two errors"
        if pool is not None
        else f"{result.mean_similarity:g}, as stated; {chance} if two models of this error erred independently"
    )
    facts.append(("Similarity", alike))
    if pool is not None:
        s = pool.similarity
        below = f"{s.below_chance:,} below chance" + (
            f", {s.disjoint:,} without a common example" if s.disjoint else ""
        )
        facts += [("Pairs", f"{s.n_pairs:,}; {below}"), ("Missing answers", f"{pool.n_missing:,}")]
    groups = groups_of(result)
    if groups is not None:
        facts.append(("Groups", f"{groups_text(groups)}{f', by {groups.named}' if groups.named else ''}"))
        facts.append(("Design effect", _effect_text(groups)))
        if groups.n_repeated:
            facts.append(("Repeated inputs", f"{groups.n_repeated:,} examples ({', '.join(groups.repeated_in)})"))
    return [
        *facts,
        ("Asked for", f"{bar_text(result.epsilon)} (epsilon = {result.epsilon:g}) for all models at once, with "
         f"probability {confidence_text(result)} (delta = {result.delta:g})"),
        ("Plugged in", "error and similarity, as if they were the true ones" if groups is None else "nothing but the "
         "design effects, estimated from these groups and taken with Student’s law"),
    ]  # fmt: skip


def _effect_text(groups: ExampleGroups) -> str:
    if not math.isfinite(groups.median_effect):
        return "not defined: every model is right, or wrong, everywhere"
    return f"{groups.median_effect:.2f}, median over models; {groups.largest_effect:.2f}, largest"


def not_computed(result: BudgetResult) -> list[str]:
    """What this page lacks, and why; silence must not read as "nothing to see"."""
    if result.pool is None:
        return [
            "Leaderboard with intervals for all models at once, rank ranges, and which differences are significant",
            "Who may be first, and what the winner’s score is worth",
            "Similarity of every pair, against chance and as a map",
            "Covering curve and Theorem 2",
            "Difficulty of the examples, and whether Assumption A1 fits",
        ]
    pool, missing = result.pool, []
    if not pool.similarity.n_complete:
        missing.append("Difficulty of the examples: none was answered by every model")
    elif pool.difficulty_forecast is None:
        why = result.testable.reason or "there is no common cause of errors"
        missing.append(f"Forecast of Assumption A1: {why}")
    if result.equal is None:
        missing.append(
            f"Curves against similarity and error bar, and what would fit were all models equal: {unequal_text(result)}"
        )
    if pool.cover.size[0] == pool.cover.size[-1]:
        missing.append("Covering curve: it takes all models at every similarity")
    if pool.ranks is None:
        missing.append("Rank ranges: the pool is too large to compare every pair")
    return missing


def origin_view(result: BudgetResult) -> list[tuple[str, str]]:
    """What made the result."""
    facts = [("heldout", result.version), ("Source", result.source)]
    if result.data_digest is not None:
        facts.append(("Data digest", result.data_digest))
    return facts
