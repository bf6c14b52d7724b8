"""Words that several sections of a budget's page share."""

from __future__ import annotations

from heldout.report.numbers import PERCENT, bar_text, percent
from heldout.reuse.result import BudgetResult, PoolResult

NAMES = {"union": "Union bound", "similarity": "With similarity", "naive_bayes": "Naive Bayes"}


def models_that_fit(result: BudgetResult) -> int:
    """All models the set can take, by the same bound as `further_models`."""
    t = result.testable
    return t.union if t.similarity is None else t.similarity


def confidence_text(result: BudgetResult) -> str:
    """How sure the bounds are."""
    return f"{100 * (1 - result.delta):.6g}{PERCENT}"


def points_text(half_width: float) -> str:
    """An error bar in words.

    Examples
    --------
    >>> points_text(0.01), points_text(0.00652)
    ('1 percentage point', '0.652 percentage points')
    """
    value = f"{100 * half_width:.3g}"
    return f"{value} percentage {'point' if value == '1' else 'points'}"


def models_text(result: BudgetResult) -> str:
    """The models there are, as a part of a sentence."""
    return "both models" if result.n_models == 2 else f"all {result.n_models:,} models"


def more_text(result: BudgetResult) -> str:
    """Models are "more" only where there are some."""
    return "more " if result.pool is not None else ""


def narrowest_text(result: BudgetResult) -> str | None:
    """The narrowest error bar that a single model can have, read off the curve; None where there is no such curve."""
    curve = result.by_epsilon
    if curve is None:
        return None
    fits = curve.x[curve.union >= 1]
    return bar_text(float(fits[0])) if len(fits) else None


def similarity_text(result: BudgetResult) -> str:
    """How alike two models are, and how alike they would be by chance."""
    return (
        f"two models agree on {percent(result.mean_similarity)} of the examples, "
        f"{percent(result.independent_similarity)} by chance"
    )


def first_text(pool: PoolResult) -> str:
    """Who may be the best."""
    group = pool.groups[0]
    name = pool.similarity.names[group[0]]
    if len(group) > 1:
        return f"The top {len(group):,} are tied: none can be told from the first, {name}"
    if pool.ranks is not None and tuple(pool.ranks[group[0]]) == (1, 1):
        return f"The first place is clear: {name}"
    return f"The first, {name}, is better than the second"


def pairs_text(n: int) -> str:
    """A number of pairs.

    Examples
    --------
    >>> pairs_text(1), pairs_text(2211)
    ('1 pair', '2,211 pairs')
    """
    return "1 pair" if n == 1 else f"{n:,} pairs"


def steps_text(pool: PoolResult) -> str:
    """How many differences between neighbours on the leaderboard are real."""
    survive, n = sum(c.survives for c in pool.neighbours), len(pool.neighbours)
    if n == 1:
        return f"The one step down the leaderboard is {'' if survive else 'not '}a real difference"
    if survive == 0:
        return f"None of the {n:,} steps down the leaderboard is a real difference"
    are = "is a real difference" if survive == 1 else "are real differences"
    return f"{survive:,} of the {n:,} steps down the leaderboard {are}"
