"""Predictions in, budget out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from heldout._version import __version__
from heldout.errors import InputError
from heldout.predictions import Predictions
from heldout.progress import plain_bar
from heldout.reuse.bounds import TestableModels, equal_models, testable_models
from heldout.reuse.cover import CoverCurve, cover_curve
from heldout.reuse.grouped import GroupedPool, Grouping, find_groups
from heldout.reuse.leaderboard import (
    MOST_RANKED,
    leaderboard_order,
    neighbour_comparisons,
    rank_ranges,
    simultaneous_intervals,
    tied_groups,
)
from heldout.reuse.like_these import LikeThese, assumption_fit, difficulty_forecast
from heldout.reuse.pool import PoolBound, Tree, pool_level, pool_reach
from heldout.reuse.result import BudgetResult, PoolResult, count_text
from heldout.reuse.score_budget import ScoreBudgetResult, score_budget
from heldout.reuse.similarity import SimilarityResult, similarity
from heldout.reuse.theorems import theorem2_epsilon, theorem2_equation5, theorem2_equation6
from heldout.reuse.thresholds import Number, check_share, exact, independent_similarity
from heldout.statistics import clopper_pearson


def budget(
    predictions: Predictions | ArrayLike,
    *,
    epsilon: Number = 0.01,
    delta: Number = 0.05,
    groups: ArrayLike | Sequence[Any] | str | None = None,
    progress: bool = False,
) -> BudgetResult | ScoreBudgetResult:
    """How many more models can this test set measure, and what is known of those it has?

    Parameters
    ----------
    predictions : Predictions, or (n_models, n_examples) array of 0 and 1
        What the models said, or where they were right; or scores between 0 and 1 (`Predictions.from_scores`), of which
        a `ScoreBudgetResult` tells what can be told without right and wrong.
    epsilon : float
        Error bar that further models shall have.
    delta : float
        Probability that a statement on all models at once fails: each of the error bar, the intervals, and the
        comparisons with the ranks they leave open.
    groups : (n_examples,) array, or str, optional
        The group of each example, where examples depend on each other: frames of one video, issues of one repository.
        Or what tells it: a column of the table, a CSV file `id,group`, a regular expression on the example ids. Whole
        groups are then the unit, and all that is said holds for many independent groups. Examples with one and the
        same input (a column such as `question`) are always one group.
    progress : bool
        Show a bar on stderr where pools are large.

    Returns
    -------
    BudgetResult
        How many models like these fit at epsilon, by three bounds; the smallest error bar that holds for all given
        models at once, their simultaneous intervals, and which differences between neighbours are significant.

    Examples
    --------
    >>> right = np.random.default_rng(0).random((5, 2000)) < 0.8
    >>> result = budget(right, epsilon=0.05)
    >>> result.n_models, len(result.pool.neighbours)
    (5, 4)
    """
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        check_share(name, value)
    table = predictions if isinstance(predictions, Predictions) else Predictions.from_correct(predictions)
    grouping = find_groups(table, groups)
    if not table.is_binary:
        return score_budget(
            table, grouping, epsilon=float(exact(epsilon)), delta=float(exact(delta)), progress=progress
        )
    if table.n_models == 1:
        raise InputError(_one_model(table, grouping, epsilon=epsilon, delta=delta))
    counts = similarity(table, progress=progress)
    if counts.disjoint == counts.n_pairs:
        raise InputError("no two models were run on a common example, so there is no similarity to tell.")
    error, alike = _means(counts)
    target, share = exact(epsilon), float(exact(delta))
    bound = PoolBound(counts)
    if grouping is None:
        pool, tree = _pool(bound, table.n_missing, share, progress=progress)
        found = LikeThese(bound, target, share, tree).testable()
        testable = _no_fewer_than_there_are(found, pool, bound, target)
        equal = _equal(counts, error, alike, epsilon=epsilon, delta=share)
    else:
        grouped = GroupedPool(table, counts, grouping)
        pool = _grouped_pool(grouped, table.n_missing, share)
        testable, equal = grouped.testable(float(target), share), None
    return BudgetResult(
        n_models=counts.n_models,
        n_examples=counts.n_examples,
        mean_error=counts.mean_error,
        mean_similarity=counts.mean_similarity,
        independent_similarity=counts.mean_baseline,
        epsilon=float(target),
        delta=share,
        testable=testable,
        equal=equal,
        pool=pool,
        exact_error=error,
        exact_similarity=alike,
        examples_each=_examples_each(counts),
        source=table.source,
        data_digest=table.digest(),
        version=__version__,
    )


def budget_from_numbers(
    n_examples: int, error: Number, similarity: Number, *, epsilon: Number = 0.01, delta: Number = 0.05
) -> BudgetResult:
    """The same from four numbers: what the set could take, without a pool to look at."""
    testable = testable_models(n_examples, error, similarity, epsilon=epsilon, delta=delta)
    return BudgetResult(
        n_models=None,
        n_examples=n_examples,
        mean_error=float(exact(error)),
        mean_similarity=float(exact(similarity)),
        independent_similarity=independent_similarity(error),
        epsilon=float(exact(epsilon)),
        delta=float(exact(delta)),
        testable=testable,
        equal=testable,
        pool=None,
        exact_error=exact(error),
        exact_similarity=exact(similarity),
        examples_each=n_examples,
        source="numbers",
        data_digest=None,
        version=__version__,
    )


def _no_fewer_than_there_are(
    found: TestableModels, pool: PoolResult, bound: PoolBound, epsilon: Fraction
) -> TestableModels:
    """A pool that is within epsilon, ends included, fits at epsilon.

    Counts are taken as the paper takes them, with a model that is off by exactly epsilon already off; the pool's own
    error bar has its ends included. They meet where n epsilon is a whole number.
    """
    assert found.similarity is not None
    k = len(bound.n)
    holds = {name: Fraction(round(e * bound.largest), bound.largest) <= epsilon for name, e in pool.epsilon.items()}
    union = max(found.union, k) if holds["union"] else found.union
    similarity = max(found.similarity, k) if holds["similarity"] else found.similarity
    return replace(found, union=union, similarity=max(union, similarity))


def _grouped_pool(grouped: GroupedPool, n_missing: int, delta: float) -> PoolResult:
    """What holds for the pool where whole groups of examples are the unit."""
    counts = grouped.similarity
    low, high = grouped.intervals(delta)
    order = leaderboard_order(counts)
    reach, level = grouped.reach(delta), delta / counts.n_models
    return PoolResult(
        similarity=counts,
        cover=cover_curve(counts),
        epsilon={"union": reach, "similarity": reach},
        level={"union": level, "similarity": level},
        low=low,
        high=high,
        order=order,
        neighbours=neighbour_comparisons(counts, order, delta, grouped),
        ranks=rank_ranges(counts, delta, grouped) if counts.n_models <= MOST_RANKED else None,
        groups=tied_groups(counts, order, delta, grouped),
        theorem2=dict.fromkeys(("eta", "cover", "epsilon", "equation_5", "equation_6"), math.nan),
        difficulty_forecast=None,
        n_missing=n_missing,
        assumption=None,
        example_groups=grouped.described(),
    )


def _pool(bound: PoolBound, n_missing: int, delta: float, *, progress: bool) -> tuple[PoolResult, Tree]:
    counts = bound.similarity
    with plain_bar(6, "bounds for all models at once", unit="steps", shown=progress) as bar:
        by_union = pool_reach(bound, None, delta)
        tree = bound.tree(bound.limits(by_union)[1])
        bar.update()
        by_similarity = pool_reach(bound, tree, delta, most=by_union)
        bar.update()
        level = pool_level(bound, tree, delta)
        bar.update()
        low, high = simultaneous_intervals(counts, level)
        order = leaderboard_order(counts)
        neighbours, groups = neighbour_comparisons(counts, order, delta), tied_groups(counts, order, delta)
        bar.update()
        ranks = rank_ranges(counts, delta) if counts.n_models <= MOST_RANKED else None
        bar.update()
        curve = cover_curve(counts)
        bar.update()
    result = PoolResult(
        similarity=counts,
        cover=curve,
        epsilon={"union": by_union / bound.largest, "similarity": by_similarity / bound.largest},
        level={"union": delta / counts.n_models, "similarity": level},
        low=low,
        high=high,
        order=order,
        neighbours=neighbours,
        ranks=ranks,
        groups=groups,
        theorem2=_theorem2(counts, curve, delta),
        difficulty_forecast=difficulty_forecast(bound),
        n_missing=n_missing,
        assumption=assumption_fit(bound, delta),
        example_groups=None,
    )
    return result, tree


def _means(counts: SimilarityResult) -> tuple[Fraction, Fraction]:
    """Mean error and mean similarity; exact where every model has every example, so that a pair at the very edge of
    what is possible is not pushed over it by rounding."""
    n, k = counts.n_examples, counts.n_models
    if counts.common is not None:
        return exact(counts.mean_error), exact(counts.mean_similarity)
    wrong = int(counts.wrong.sum())
    disagree = (k - 1) * wrong - 2 * int(counts.both_wrong.sum(dtype=np.int64))  # over all pairs
    return Fraction(wrong, n * k), 1 - Fraction(disagree, n * counts.n_pairs)


def _equal(
    counts: SimilarityResult, error: Fraction, alike: Fraction, *, epsilon: Number, delta: float
) -> TestableModels | None:
    """The paper's plug-in, as if all models had the mean error and the mean similarity; None where no models have both.

    Where answers are missing the two means are of different examples, and may not fit together.
    """
    both = error + (alike - 1) / 2
    if not 0 < error < 1 or not max(Fraction(0), 2 * error - 1) <= both <= error:
        return None
    return equal_models(_examples_each(counts), error, both, epsilon=epsilon, delta=delta)


def _examples_each(counts: SimilarityResult) -> int:
    """Answers that a model has, on average."""
    return round(float(counts.observed.mean()))


def _theorem2(counts: SimilarityResult, curve: CoverCurve, delta: float) -> dict[str, float]:
    """The eta at which (4) gives the smallest epsilon on this pool's own cover, and (5), (6) there."""
    n, k = int(counts.observed.min()), counts.n_models
    points = [
        (theorem2_epsilon(n, k, eta=float(eta), cover=int(size), delta=delta), float(eta), int(size))
        for eta, size in zip(curve.eta, curve.size, strict=True)
    ]
    usable = [point for point in points if not math.isnan(point[0])]
    if not usable:
        return {"eta": math.nan, "cover": math.nan, "epsilon": math.nan, "equation_5": math.nan, "equation_6": math.nan}
    epsilon, eta, size = min(usable)
    return {
        "eta": eta,
        "cover": float(size),
        "epsilon": epsilon,
        "equation_5": theorem2_equation5(n, k, eta=eta, cover=size, delta=delta),
        "equation_6": theorem2_equation6(n, k, eta=eta, cover=size, delta=delta),
    }


def _one_model(table: Predictions, grouping: Grouping | None, *, epsilon: Number, delta: Number) -> str:
    """What can still be told of a single model."""
    n = int(table.observed.sum()) if table.observed is not None else table.n_examples
    wrong = int(table.wrong.sum())
    if grouping is None:
        low, high = clopper_pearson(wrong, n, level=float(exact(delta)))
    else:
        grouped = GroupedPool(table, similarity(table), grouping)
        low, high = (float(end[0]) for end in grouped.intervals(float(exact(delta))))
    told = f"its error is {wrong / n:.4f}, between {low:.4f} and {high:.4f} with {100 * (1 - float(exact(delta))):g} %"
    if 0 < wrong < n and grouping is None:
        alone = testable_models(n, Fraction(wrong, n), 1, epsilon=epsilon, delta=delta).union
        told += (
            f", and by the union bound the set takes {count_text(alone)} models like it at ±{float(exact(epsilon)):g}"
        )
    return (
        f"there is only one model, {table.names[0]} ({table.source}), and similarity takes two; what can be told of it "
        f"alone: {told}."
    )
