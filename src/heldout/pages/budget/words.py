"""Words that several sections of a budget's page share."""

from __future__ import annotations

from heldout.pages.numbers import PERCENT, bar_text, percent, times_text
from heldout.pages.svg.shapes import shorten
from heldout.reuse.bounds import LARGEST
from heldout.reuse.curves import Curve
from heldout.reuse.grouped import ExampleGroups
from heldout.reuse.result import BudgetResult, PoolResult

NAMES = {"union": "Union bound", "similarity": "Similarity bound", "naive_bayes": "Naive Bayes"}
FEW = 100  # models, below which a ratio says less than a difference
LITTLE = 1.1  # times as many; what is below is not worth a boast
LONGEST = 48  # characters of a model's name in tables and sentences; the whole one is told to a pointer


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


def ratio_text(count: int, union: int) -> str:
    """What a bound gains over the union bound, both counted in all.

    Examples
    --------
    >>> ratio_text(840, 210), ratio_text(42, 41), ratio_text(3, 0), ratio_text(10**18, 10**17)
    ('4 times as many in all', '1 more than by the union bound', 'where the union bound allows none', 'past counting')
    """
    if count >= LARGEST:
        return "past counting"
    if not union:
        return "where the union bound allows none"
    return (
        f"{count - union:,} more than by the union bound"
        if count < FEW
        else f"{times_text(count / union)} as many in all"
    )


def equal_curves(result: BudgetResult) -> tuple[Curve, Curve] | None:
    """Models of the mean error against similarity and against epsilon; None where there is no such pool."""
    by_similarity, by_epsilon = result.by_similarity, result.by_epsilon
    return None if by_similarity is None or by_epsilon is None else (by_similarity, by_epsilon)


def unequal_text(result: BudgetResult) -> str:
    """Why no models can all have the mean error and the mean similarity."""
    if result.mean_error in (0.0, 1.0):
        return f"the mean error is {result.mean_error:g}"
    if groups_of(result) is not None:
        return "the paper’s bounds are for independent examples, and these come in groups"
    return "the mean error and the mean similarity come from different examples and do not fit together"


def groups_of(result: BudgetResult) -> ExampleGroups | None:
    """Groups of examples, where there are any."""
    return None if result.pool is None else result.pool.example_groups


def groups_text(groups: ExampleGroups) -> str:
    """How many groups there are, of how many examples.

    Examples
    --------
    >>> told = dict(n_groups=11, smallest=2, largest=2, named=None, n_repeated=0, repeated_in=(), design_effect=None)
    >>> groups_text(ExampleGroups(**told))
    '11 groups of 2 examples'
    """
    sizes = f"{groups.smallest:,} to {groups.largest:,}" if groups.smallest < groups.largest else f"{groups.largest:,}"
    return f"{groups.n_groups:,} groups of {sizes} examples"


def narrowest_text(result: BudgetResult) -> str | None:
    """The narrowest error bar that a single model of the mean error can have, read off the curve; None without one."""
    curves = equal_curves(result)
    if curves is None:
        return None
    fits = curves[1].x[(curves[1].union >= 1) & (curves[1].x > result.epsilon)]
    return bar_text(float(fits[0])) if len(fits) else None


def similarity_text(result: BudgetResult) -> str:
    """How alike two models are, and how alike they would be by chance."""
    return (
        f"two models agree on {percent(result.mean_similarity)} of the examples"
        f"{' on average' if result.pool is not None else ''}, {percent(result.independent_similarity)} by chance"
    )


def first_text(pool: PoolResult) -> str:
    """Who may be the best."""
    group = pool.groups[0]
    name = shorten(pool.similarity.names[group[0]], LONGEST)
    if len(group) == 2:
        return f"The second cannot be told from the first, {name}"
    if len(group) > 2:
        return f"None of the next {len(group) - 1:,} can be told from the first, {name}"
    if pool.ranks is not None and tuple(pool.ranks[group[0]]) == (1, 1):
        return f"The first, {name}, is significantly better than every other"
    if len(pool.neighbours) and pool.neighbours[0].contradicted:
        return f"The first, {name}, is worse than the second on the examples that both have"
    return f"The first, {name}, is significantly better than the second"


def contradicted_text(pool: PoolResult) -> str | None:
    """Places that the common examples turn round; only where answers are missing."""
    n = sum(c.contradicted for c in pool.neighbours)
    if not n:
        return None
    steps = "One step down the leaderboard goes" if n == 1 else f"{n:,} steps down the leaderboard go"
    return (
        f"{steps} the wrong way: on the examples that both models have, the lower one is significantly better. Missing "
        "answers moved them"
    )


def pairs_text(n: int) -> str:
    """A number of pairs.

    Examples
    --------
    >>> pairs_text(1), pairs_text(2211)
    ('1 pair', '2,211 pairs')
    """
    return "1 pair" if n == 1 else f"{n:,} pairs"


def steps_text(result: BudgetResult, pool: PoolResult) -> str:
    """How many differences between neighbours on the leaderboard are significant, and in what sense."""
    survive, n = sum(c.survives for c in pool.neighbours), len(pool.neighbours)
    sense = f"(paired, family-wise {confidence_text(result)}, for independent {pool.unit})"
    if n == 1:
        return f"The one step down the leaderboard is {'' if survive else 'not '}significant {sense}"
    if survive == 0:
        return f"None of the {n:,} steps down the leaderboard is significant {sense}"
    return f"{survive:,} of the {n:,} steps down the leaderboard {'is' if survive == 1 else 'are'} significant {sense}"
