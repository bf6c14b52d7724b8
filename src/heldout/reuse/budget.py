"""Predictions in, budget out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from heldout._version import __version__
from heldout.checks import check_n_jobs, check_seed
from heldout.errors import InputError
from heldout.frames import is_frame
from heldout.predictions import Predictions
from heldout.predictions.doubts import find_doubts
from heldout.predictions.item_columns import as_column
from heldout.predictions.load import as_table
from heldout.predictions.values import as_array
from heldout.reuse.adjusted import adjusted_similarity
from heldout.reuse.few import check_narrow, nothing_needed
from heldout.reuse.grouped import Grouping, find_groups
from heldout.reuse.label_noise import LabelNoise, SecondLabels, find_second_labels
from heldout.reuse.label_noise import label_noise as label_noise_of
from heldout.reuse.label_noise import second_labels as second_labels_of
from heldout.reuse.measured import Measured, measure
from heldout.reuse.needed import GAP, pool_needed, round_up
from heldout.reuse.number_budget import equal_curves, equal_or_none
from heldout.reuse.one_model import one_model
from heldout.reuse.result import BudgetResult, PoolResult, ScoreBudgetResult
from heldout.reuse.score_budget import score_budget
from heldout.reuse.similarity import SimilarityResult, similarity
from heldout.reuse.thresholds import Number, check_exact_share, exact


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
    n_jobs: int = 1,
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
        Of the options, NaN for options that an example does not have: for CAPA, a chance-adjusted similarity.
    seed : int
        Of the splits behind the winner's expected drop and the draws behind `needed`.
    n_jobs : int
        Workers, as joblib counts them (-1: one for each core), here threads that share the pairs of models whose errors
        overlap; the result does not depend on it. Worth it from some hundred models on.
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
    >>> import numpy as np
    >>> from heldout import budget
    >>> right = np.random.default_rng(0).random((4, 2000)) < [[0.90], [0.89], [0.80], [0.70]]
    >>> result = budget(right, epsilon=0.05)
    >>> result.first, round(result.error_bar, 3)  # who may be best; every model's error is known to within this
    (['model 1', 'model 0'], 0.022)
    >>> [(row["better"], row["worse"], row["survives"]) for row in result.pool.named_neighbours]
    [('model 1', 'model 0', False), ('model 0', 'model 2', True), ('model 2', 'model 3', True)]
    >>> result.further_models > 1000  # that many more could be ranked with an error bar of 0.05
    True
    """
    for name, value in (("epsilon", epsilon), ("delta", delta), ("gap", gap), ("label_noise", label_noise)):
        if value is not None:
            check_exact_share(name, value)
    if epsilon is not None:
        check_narrow(epsilon)
    check_seed(seed)
    check_n_jobs(n_jobs)
    named = [name for name in (groups, second_labels) if isinstance(name, str)]
    table = predictions if isinstance(predictions, Predictions) else _as_table(predictions, columns=named)
    (grouping, of_one), share = find_groups(table, groups), float(exact(delta))
    if table.n_models == 1:
        raise InputError(one_model(table, grouping, epsilon=epsilon, delta=delta))
    if not table.is_binary:
        _needs_right_or_wrong(table, label_noise, second_labels, probabilities)
        scored = score_budget(
            table,
            grouping,
            epsilon=None if epsilon is None else float(exact(epsilon)),
            delta=share,
            gap=float(exact(gap)),
            seed=seed,
            tasks=task_sizes(table),
            progress=progress,
        )
        return replace(scored, groups_of_one=of_one)
    counts = similarity(table, progress=progress)
    if counts.disjoint == counts.n_pairs:
        raise InputError("no two models were run on a common example, so there is no similarity to tell.")
    rng = np.random.default_rng(seed)
    found = measure(table, counts, grouping, share, rng=rng, progress=progress, n_jobs=n_jobs)
    target = exact(_own_epsilon(found.pool) if epsilon is None else epsilon)
    pool = replace(found.pool, adjusted=adjusted_similarity(table, counts, probabilities))
    if label_noise is not None:
        pool = replace(pool, label_noise=_label_noise(table, counts, found, label_noise, target, share))
    if second_labels is not None:
        pool = replace(pool, second_labels=_second_labels(table, second_labels, grouping, share))
    found = replace(found, pool=pool)
    result = _result(table, counts, found, target, share, gap=float(exact(gap)), rng=rng, seed=seed)
    return replace(result, groups_of_one=of_one)


def _needs_right_or_wrong(table: Predictions, label_noise: Any, second_labels: Any, probabilities: Any) -> None:
    """Scores that are neither right nor wrong cannot tell all that may be asked."""
    asked = {
        "label noise": label_noise,
        "second labels": second_labels,
        "the chance-adjusted similarity": probabilities,
    }
    for what, given in asked.items():
        if given is not None:
            table.require_binary(what)


def _result(
    table: Predictions,
    counts: SimilarityResult,
    found: Measured,
    target: Fraction,
    delta: float,
    *,
    gap: float,
    rng: np.random.Generator,
    seed: int,
) -> BudgetResult:
    """How many models fit beside those that were measured, and how many examples other answers would take."""
    pool, epsilon = found.pool, float(target)
    error, alike = _means(counts)
    each = round(float(counts.observed.mean()))  # answers that a model has, on average
    alone = found.grouped is None and not found.few
    equal = equal_or_none(each, error, alike, epsilon=target, delta=delta) if alone else None
    by_similarity, by_epsilon = (None, None) if equal is None else equal_curves(each, error, alike, target, delta)
    needed = pool_needed(
        counts,
        found.grouped,
        pool.order,
        epsilon=epsilon,
        delta=delta,
        gap=gap,
        reach=pool.epsilon["similarity"],
        rng=rng,
    )
    return BudgetResult(
        n_examples=counts.n_examples,
        mean_error=counts.mean_error,
        mean_similarity=counts.mean_similarity,
        independent_similarity=counts.mean_baseline,
        epsilon=epsilon,
        delta=delta,
        testable=found.fits(target),
        equal=equal,
        pool=pool,
        needed=nothing_needed(needed) if found.few else needed,
        by_similarity=by_similarity,
        by_epsilon=by_epsilon,
        seed=seed,
        source=table.source,
        scored_by=table.scored_by,
        data_digest=table.digest(),
        version=__version__,
        too_few=found.few,
        tasks=task_sizes(table),
        trials_agree=table.trials is not None,
        doubts=find_doubts(table),
    )


def _label_noise(
    table: Predictions, counts: SimilarityResult, found: Measured, rate: Number, target: Fraction, delta: float
) -> LabelNoise:
    """How leaderboard and budget move where this share of the labels is wrong."""
    return label_noise_of(
        table,
        counts,
        float(exact(rate)),
        order=found.pool.order,
        error_bar=found.pool.epsilon["similarity"],
        epsilon=float(target),
        delta=delta,
        fits=lambda epsilon: found.fits(exact(epsilon)).count,
        grouped=found.grouped is not None,
    )


def _second_labels(
    table: Predictions, given: ArrayLike | Sequence[Any] | str, grouping: Grouping | None, delta: float
) -> SecondLabels:
    """Every model scored again by the labels given, or found."""
    if isinstance(given, str):
        labels, named = find_second_labels(given, table), given
    else:
        labels, named = as_column(given, table.n_examples, "second_labels"), "as given"
    return second_labels_of(table, labels, source=named, delta=delta, grouping=grouping)


def _as_table(array: ArrayLike, columns: Sequence[str] = ()) -> Predictions:
    """Right and wrong; or scores, where some cell is neither 0 nor 1; or a frame of either, with these columns."""
    cells = np.zeros(0) if is_frame(array) else as_array(array, what="predictions")
    there = cells[np.isfinite(cells)] if cells.dtype.kind == "f" else np.zeros(0)
    return as_table(array, "scores" if ((there != 0) & (there != 1)).any() else "correct", columns=columns)


def task_sizes(table: Predictions) -> dict[str, int]:
    """Examples of each task; none where there are not several."""
    tasks = table.columns.get("task")
    sizes = {} if tasks is None else dict(Counter(str(task) for task in tasks.tolist()))
    return sizes if len(sizes) > 1 else {}


def _own_epsilon(pool: PoolResult) -> float:
    """What the set can do for its own pool, as a round number."""
    return round_up(max(pool.epsilon["similarity"], 1 / pool.similarity.n_examples))


def _means(counts: SimilarityResult) -> tuple[Fraction, Fraction]:
    """Mean error and mean similarity; exact where every model has every example, so that a pair at the very edge of
    what is possible is not pushed over it by rounding."""
    n, k = counts.n_examples, counts.n_models
    if counts.common is not None:
        return exact(counts.mean_error), exact(counts.mean_similarity)
    wrong = int(counts.wrong.sum())
    disagree = (k - 1) * wrong - 2 * int(counts.both_wrong.sum(dtype=np.int64))  # over all pairs
    return Fraction(wrong, n * k), 1 - Fraction(disagree, n * counts.n_pairs)
