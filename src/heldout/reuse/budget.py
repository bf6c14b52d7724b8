"""Predictions in, budget out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from heldout._version import __version__
from heldout.checks import check_seed
from heldout.errors import InputError
from heldout.frames import is_frame
from heldout.predictions import Predictions, load_predictions
from heldout.predictions.item_columns import as_column
from heldout.reuse.adjusted import adjusted_similarity
from heldout.reuse.bounds import TestableModels, equal_models, testable_models, union_models
from heldout.reuse.curves import Curve, models_by_epsilon, models_by_similarity
from heldout.reuse.few import nothing_fits, nothing_needed, too_few_groups
from heldout.reuse.grouped import GroupedPool, Grouping, find_groups
from heldout.reuse.label_noise import SecondLabels, find_second_labels
from heldout.reuse.label_noise import label_noise as label_noise_of
from heldout.reuse.label_noise import second_labels as second_labels_of
from heldout.reuse.leaderboard import (
    leaderboard_order,
)
from heldout.reuse.like_these import LikeThese
from heldout.reuse.needed import GAP, examples_within, numbers_needed, pool_needed, round_up
from heldout.reuse.pool import PoolBound, Tree
from heldout.reuse.pools import grouped_pool, independent_pool, score_budget
from heldout.reuse.result import BudgetResult, PoolResult, ScoreBudgetResult
from heldout.reuse.scored import ScoredPool
from heldout.reuse.similarity import SimilarityResult, similarity
from heldout.reuse.thresholds import Number, check_exact_share, exact, independent_similarity
from heldout.reuse.winner import Winner, expected_drop
from heldout.statistics import clopper_pearson
from heldout.summary.numbers import exact_text

USUAL_EPSILON, USUAL_MODELS = 0.01, 100  # four numbers, no error bar asked for: at least so wide, and for so many


def budget(
    predictions: Predictions | ArrayLike,
    *,
    epsilon: Number | None = None,
    delta: Number = 0.05,
    gap: Number = GAP,
    groups: ArrayLike | Sequence[Any] | str | None = None,
    label_noise: Number | None = None,
    second_labels: ArrayLike | Sequence[Any] | str | None = None,
    probabilities: ArrayLike | None = None,
    seed: int = 0,
    progress: bool = False,
) -> BudgetResult | ScoreBudgetResult:
    """How many more models can this test set measure, what is known of those it has, and how many examples would do?

    Parameters
    ----------
    predictions : Predictions, or (n_models, n_examples) array, or a frame of pandas or polars
        What the models said, or where they were right (0 and 1); or scores between 0 and 1, of which a
        `ScoreBudgetResult` tells what can be told without right and wrong. Frames as `heldout.load_predictions` reads
        them: one column per model, or one row per model and example.
    epsilon : float, optional
        Error bar that further models shall have. Without, what the set can do for its own pool: the error bar that
        holds for all models there are, rounded up.
    delta : float
        Probability that a statement on all models at once fails: each of the error bar, the intervals, the comparisons
        with the ranks they leave open, and the sets of models that may be first, among the top 3 and the top 10.
    gap : float
        Difference between two models that shall be told: `needed` says how many examples that takes.
    groups : (n_examples,) array, or str, optional
        The group of each example, where examples depend on each other: frames of one video, issues of one repository.
        Or what tells it: a column of the table, a CSV file `id,group`, a regular expression on the example ids. Whole
        groups are then the unit, and all that is said holds for many independent groups. Examples with one and the
        same input (a column such as `question`) are always one group.
    label_noise : float, optional
        Share of the labels that may be wrong: how leaderboard and budget move, at random and in the worst case.
    second_labels : (n_examples,) array, or str, optional
        Other labels, by which every model is scored again; None or NaN where an example has none. Or what tells them: a
        column of the table, a .npy file, a CSV file `id,label`.
    probabilities : (n_models, n_examples, n_options), optional
        Of the options, NaN for options that an example does not have: for the chance-adjusted similarity kappa_p.
    seed : int
        Of the splits behind the winner's expected drop and the draws behind `needed`.
    progress : bool
        Show a bar on stderr where pools are large.

    Returns
    -------
    BudgetResult
        How many models like these fit at epsilon, by three bounds; the smallest error bar that holds for all given
        models at once, their simultaneous intervals, which differences are significant, who may be first, what the
        winner's score is worth, and how many examples other answers would take.

    Examples
    --------
    >>> right = np.random.default_rng(0).random((5, 2000)) < 0.8
    >>> result = budget(right, epsilon=0.05)
    >>> result.n_models, len(result.pool.neighbours)
    (5, 4)
    """
    for name, value in (("epsilon", epsilon), ("delta", delta), ("gap", gap), ("label_noise", label_noise)):
        if value is not None:
            check_exact_share(name, value)
    check_seed(seed)
    table = predictions if isinstance(predictions, Predictions) else _as_table(predictions)
    grouping, share = find_groups(table, groups), float(exact(delta))
    if table.n_models == 1:
        raise InputError(_one_model(table, grouping, epsilon=epsilon, delta=delta))
    if not table.is_binary:
        for what, given in (("label noise", label_noise), ("second labels", second_labels),
                            ("the chance-adjusted similarity", probabilities)):  # fmt: skip
            if given is not None:
                table.require_binary(what)
        return score_budget(
            table,
            grouping,
            epsilon=None if epsilon is None else float(exact(epsilon)),
            delta=share,
            gap=float(exact(gap)),
            seed=seed,
            tasks=task_sizes(table),
            progress=progress,
        )
    counts = similarity(table, progress=progress)
    if counts.disjoint == counts.n_pairs:
        raise InputError("no two models were run on a common example, so there is no similarity to tell.")
    error, alike = _means(counts)
    rng, bound = np.random.default_rng(seed), PoolBound(counts)
    winner = _winner(table, counts, grouping, rng)
    fits: Callable[[Fraction], TestableModels]
    if grouping is None:
        grouped, few = None, False
        pool, tree = independent_pool(bound, winner, table.n_missing, share, progress=progress)
        fits = partial(_like_these, bound, pool, tree, share)
    else:
        grouped = GroupedPool(table, counts, grouping)
        pool = grouped_pool(grouped, winner, table.n_missing, share)
        few = too_few_groups(pool.example_groups, pool.epsilon["similarity"], share)
        fits = partial(_like_groups, grouped, share, few=few)
    target = exact(_own_epsilon(pool) if epsilon is None else epsilon)
    pool = replace(pool, adjusted=adjusted_similarity(table, counts, probabilities))
    if label_noise is not None:
        noise = label_noise_of(
            table,
            counts,
            float(exact(label_noise)),
            order=pool.order,
            error_bar=pool.epsilon["similarity"],
            epsilon=float(target),
            delta=share,
            fits=lambda epsilon: fits(exact(epsilon)).count,
            grouped=grouped is not None,
        )
        pool = replace(pool, label_noise=noise)
    if second_labels is not None:
        pool = replace(pool, second_labels=_second_labels(table, second_labels, grouping, share))
    each = round(float(counts.observed.mean()))  # answers that a model has, on average
    equal = None if grouped is not None else _equal(each, error, alike, epsilon=target, delta=share)
    by_similarity, by_epsilon = (None, None) if equal is None else _curves(each, error, alike, target, share)
    needed = pool_needed(
        counts,
        grouped,
        pool.order,
        epsilon=float(target),
        delta=share,
        gap=float(exact(gap)),
        reach=pool.epsilon["similarity"],
        rng=rng,
    )
    return BudgetResult(
        n_examples=counts.n_examples,
        mean_error=counts.mean_error,
        mean_similarity=counts.mean_similarity,
        independent_similarity=counts.mean_baseline,
        epsilon=float(target),
        delta=share,
        testable=fits(target),
        equal=equal,
        pool=pool,
        needed=nothing_needed(needed) if few else needed,
        by_similarity=by_similarity,
        by_epsilon=by_epsilon,
        seed=seed,
        source=table.source,
        data_digest=table.digest(),
        version=__version__,
        too_few=few,
        tasks=task_sizes(table),
        trials_agree=table.trials is not None,
    )


def _as_table(array: ArrayLike) -> Predictions:
    """Right and wrong; or scores, where some cell is neither 0 nor 1; or a frame of either."""
    if is_frame(array):
        return load_predictions(array)
    cells = np.ma.asanyarray(array) if np.ma.isMaskedArray(array) else np.asarray(array)
    if cells.dtype.kind == "f":
        there = cells[np.isfinite(cells)]
        if ((there != 0) & (there != 1)).any():
            return Predictions.from_scores(array)
    return Predictions.from_correct(array)


def task_sizes(table: Predictions) -> dict[str, int]:
    """Examples of each task; none where there are not several."""
    tasks = table.columns.get("task")
    sizes = {} if tasks is None else dict(Counter(str(task) for task in tasks.tolist()))
    return sizes if len(sizes) > 1 else {}


def _second_labels(
    table: Predictions, given: ArrayLike | Sequence[Any] | str, grouping: Grouping | None, delta: float
) -> SecondLabels:
    """Every model scored again by the labels given, or found."""
    if isinstance(given, str):
        labels, named = find_second_labels(given, table), given
    else:
        labels, named = as_column(given, table.n_examples, "second_labels"), "as given"
    return second_labels_of(table, labels, source=named, delta=delta, grouping=grouping)


def _like_these(bound: PoolBound, pool: PoolResult, tree: Tree, delta: float, epsilon: Fraction) -> TestableModels:
    """How many models like these fit."""
    return _no_fewer_than_there_are(LikeThese(bound, epsilon, delta, tree).testable(), pool, bound, epsilon)


def _like_groups(grouped: GroupedPool, delta: float, epsilon: Fraction, *, few: bool) -> TestableModels:
    """The same over whole groups; none where these are too few to say anything."""
    return nothing_fits(grouped.described()) if few else grouped.testable(float(epsilon), delta)


def budget_from_numbers(
    n_examples: int,
    error: Number,
    similarity: Number,
    *,
    epsilon: Number | None = None,
    delta: Number = 0.05,
    gap: Number = GAP,
) -> BudgetResult:
    """The same from four numbers: what the set could take, without a pool to look at.

    Without an epsilon it is 0.01, or more where a hundred such models do not fit there by the union bound.

    Parameters
    ----------
    n_examples : int
        Size of the test set.
    error, similarity : float
        Of the models: their error rate, and the share of examples on which two of them are both right or both wrong.
    epsilon, delta, gap : float
        As in `budget`.

    Returns
    -------
    BudgetResult
        Without a pool: how many such models fit, and how many examples other answers would take.

    Examples
    --------
    >>> budget_from_numbers(50_000, error=0.244, similarity=0.85, epsilon=0.01).testable.union  # Mania et al. 2019
    251165
    """
    check_exact_share("gap", gap)
    if epsilon is None:
        epsilon = _usual_epsilon(n_examples, error, similarity, delta)
    testable = testable_models(n_examples, error, similarity, epsilon=epsilon, delta=delta)
    share = float(exact(delta))
    by_similarity, by_epsilon = _curves(n_examples, exact(error), exact(similarity), exact(epsilon), share)
    return BudgetResult(
        n_examples=n_examples,
        mean_error=float(exact(error)),
        mean_similarity=float(exact(similarity)),
        independent_similarity=independent_similarity(error),
        epsilon=float(exact(epsilon)),
        delta=share,
        testable=testable,
        equal=testable,
        pool=None,
        needed=numbers_needed(
            n_examples,
            float(exact(error)),
            float(exact(similarity)),
            epsilon=float(exact(epsilon)),
            delta=share,
            gap=float(exact(gap)),
        ),
        by_similarity=by_similarity,
        by_epsilon=by_epsilon,
        seed=None,
        source="numbers",
        data_digest=None,
        version=__version__,
    )


def _own_epsilon(pool: PoolResult) -> float:
    """What the set can do for its own pool, as a round number."""
    return round_up(max(pool.epsilon["similarity"], 1 / pool.similarity.n_examples))


def _usual_epsilon(n: int, error: Number, similarity: Number, delta: Number) -> float:
    """The smallest round error bar, 0.01 or more, at which a hundred such models fit; refuses what are no models."""
    testable_models(
        n, error, similarity, epsilon="0.5", delta=delta
    )  # says what is wrong with the numbers, if anything
    epsilon = USUAL_EPSILON
    while epsilon < 0.9 and union_models(n, error, epsilon=epsilon, delta=float(exact(delta))) < USUAL_MODELS:
        epsilon = round_up(1.0001 * epsilon)
    return epsilon


def _winner(
    table: Predictions, counts: SimilarityResult, grouping: Grouping | None, rng: np.random.Generator
) -> Winner:
    """The first on the leaderboard, and what it is expected to lose."""
    model = int(leaderboard_order(counts)[0])
    codes = None if grouping is None else grouping.codes
    drop = expected_drop(table.correct, observed=table.observed, codes=codes, rng=rng)
    return Winner(model=model, name=counts.names[model], score=1 - float(counts.errors[model]), expected_drop=drop)


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


def _means(counts: SimilarityResult) -> tuple[Fraction, Fraction]:
    """Mean error and mean similarity; exact where every model has every example, so that a pair at the very edge of
    what is possible is not pushed over it by rounding."""
    n, k = counts.n_examples, counts.n_models
    if counts.common is not None:
        return exact(counts.mean_error), exact(counts.mean_similarity)
    wrong = int(counts.wrong.sum())
    disagree = (k - 1) * wrong - 2 * int(counts.both_wrong.sum(dtype=np.int64))  # over all pairs
    return Fraction(wrong, n * k), 1 - Fraction(disagree, n * counts.n_pairs)


def _curves(n: int, error: Fraction, alike: Fraction, epsilon: Fraction, delta: float) -> tuple[Curve, Curve]:
    """What fits were all equal, against similarity and against epsilon."""
    return (
        models_by_similarity(n, error, epsilon=float(epsilon), delta=delta),
        models_by_epsilon(n, error, alike, delta=delta),
    )


def _equal(n: int, error: Fraction, alike: Fraction, *, epsilon: Number, delta: float) -> TestableModels | None:
    """The paper's plug-in, as if all models had the mean error and the mean similarity; None where no models have both.

    Where answers are missing the two means are of different examples, and may not fit together.
    """
    both = error + (alike - 1) / 2
    if not 0 < error < 1 or not max(Fraction(0), 2 * error - 1) <= both <= error:
        return None
    return equal_models(n, error, both, epsilon=epsilon, delta=delta)


def _one_model(table: Predictions, grouping: Grouping | None, *, epsilon: Number | None, delta: Number) -> str:
    """What can still be told of a single model, and what would tell more."""
    told = (
        _one_right_or_wrong(table, grouping, epsilon, delta) if table.is_binary else _one_score(table, grouping, delta)
    )
    return (
        f"there is only one model, {table.names[0]} ({table.source}), and a comparison takes two; what can be told of "
        f"it alone: {told}. Add another model's answers on the same examples."
    )


def _one_score(table: Predictions, grouping: Grouping | None, delta: Number) -> str:
    pool, share = ScoredPool(table, grouping), float(exact(delta))
    low, high = (float(end[0]) for end in pool.intervals(share))
    return (
        f"its mean score is {float(pool.means[0]):.4f}, between {low:.4f} and {high:.4f} with {100 * (1 - share):g} %, "
        f"over {table.n_examples:,} {'example' if table.n_examples == 1 else 'examples'}"
    )


def _one_right_or_wrong(table: Predictions, grouping: Grouping | None, epsilon: Number | None, delta: Number) -> str:
    n = int(table.observed.sum()) if table.observed is not None else table.n_examples
    wrong, share = int(table.wrong.sum()), float(exact(delta))
    if grouping is None:
        low, high = clopper_pearson(wrong, n, level=share)
    else:
        grouped = GroupedPool(table, similarity(table), grouping)
        low, high = (float(end[0]) for end in grouped.intervals(share))
    told = f"its error is {wrong / n:.4f}, between {low:.4f} and {high:.4f} with {100 * (1 - share):g} %"
    if 0 < wrong < n and grouping is None:
        p = Fraction(wrong, n)
        bar = _usual_epsilon(n, p, 1, delta) if epsilon is None else float(exact(epsilon))
        alone = testable_models(n, p, 1, epsilon=bar if epsilon is None else epsilon, delta=delta).union
        told += f", and by the union bound the set takes {exact_text(alone)} models like it at ±{bar:g}"
        half = (high - low) / 4
        more = examples_within(np.array([wrong / n]), np.ones((1, 1)), half, share)
        if more is not None:
            told += f"; half as wide an error bar, ±{half:.2g}, takes about {more:,} examples"
    return told
