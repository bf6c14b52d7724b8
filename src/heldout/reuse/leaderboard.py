"""The leaderboard with honest error bars: intervals for all models at once, and which differences are significant.

Two models are compared on the examples where they disagree: if they are equally good, either is the right one there
with probability 1/2 (McNemar's exact test); where examples come in groups, by the sums of their differences over whole
groups. Which pairs stand beside each other is decided by the same data, so every
comparison is held to delta divided by the number of *all* pairs, whichever are looked at in the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.reuse.grouped import GroupedPool
from heldout.reuse.similarity import SimilarityResult
from heldout.statistics.binomial import clopper_pearson, sign_test_log_pvalue, upper_tail

MOST_RANKED = 3_000  # models; every pair must be tested for rank ranges


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two models on the examples where only one of them is right.

    `survives` says that `better` is better, all pairs of the pool considered; `contradicted` that it is worse on the
    examples that both have, which can happen only where answers are missing.
    """

    better: int  # index of the model with the lower error
    worse: int
    better_only: int  # examples that only the better one gets right
    worse_only: int
    log_p_value: float  # of this pair alone, two-sided
    survives: bool
    contradicted: bool = False

    @property
    def p_value(self) -> float:
        """Of this pair alone; not adjusted."""
        return math.exp(self.log_p_value)


def simultaneous_intervals(
    similarity: SimilarityResult, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Clopper-Pearson intervals of every model's error, each at 1 - level: never of width 0."""
    pairs = zip(similarity.wrong.tolist(), similarity.observed.tolist(), strict=True)
    ends = np.array([clopper_pearson(wrong, n, level=level) for wrong, n in pairs])
    return ends[:, 0], ends[:, 1]


def leaderboard_order(similarity: SimilarityResult) -> NDArray[np.intp]:
    """Lowest error first; equal errors stay in the order given."""
    return np.argsort(similarity.errors, kind="stable")


def compare(
    similarity: SimilarityResult, better: int, worse: int, delta: float, groups: GroupedPool | None = None
) -> Comparison:
    """One pair, held to its share of delta."""
    _, better_wrong, worse_wrong, _ = similarity.counts(better, worse)
    if groups is None:
        log_p = sign_test_log_pvalue(worse_wrong, better_wrong)
    else:
        log_p = float(groups.log_p_values(better, np.array([worse]))[0])
    told_apart = log_p <= math.log(delta / similarity.n_pairs)
    return Comparison(
        better=better,
        worse=worse,
        better_only=worse_wrong,
        worse_only=better_wrong,
        log_p_value=log_p,
        survives=told_apart and worse_wrong > better_wrong,
        contradicted=told_apart and worse_wrong < better_wrong,
    )


def neighbour_comparisons(
    similarity: SimilarityResult, order: NDArray[np.intp], delta: float, groups: GroupedPool | None = None
) -> tuple[Comparison, ...]:
    """Each model against the next one down the leaderboard."""
    pairs = zip(order[:-1].tolist(), order[1:].tolist(), strict=True)
    return tuple(compare(similarity, better, worse, delta, groups) for better, worse in pairs)


def tied_groups(
    similarity: SimilarityResult, order: NDArray[np.intp], delta: float, groups: GroupedPool | None = None
) -> tuple[tuple[int, ...], ...]:
    """Cut the leaderboard where a model is told from the first of its band for the first time."""
    bands: list[list[int]] = []
    for model in order.tolist():
        pair = compare(similarity, bands[-1][0], model, delta, groups) if bands else None
        if pair is None or pair.survives or pair.contradicted:
            bands.append([model])
        else:
            bands[-1].append(model)
    return tuple(tuple(band) for band in bands)


def rank_ranges(similarity: SimilarityResult, delta: float, groups: GroupedPool | None = None) -> NDArray[np.int64]:
    """(k, 2) smallest and largest rank of each model that the comparisons leave open.

    With probability at least 1 - delta all true ranks lie inside: a model is ranked below those that are significantly
    better and above those that are significantly worse. Pairs are compared on the examples that both have; where
    answers are missing, a range may therefore contradict the place on the leaderboard.
    """
    k = similarity.n_models
    better, worse = np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64)
    for i, row in enumerate(similarity.rows()):
        only_i, only_j = row.first_wrong - row.both_wrong, row.second_wrong - row.both_wrong
        if groups is None:
            p = 2 * upper_tail(np.maximum(only_i, only_j), only_i + only_j, 0.5)
        else:
            p = np.exp(groups.log_p_values(i, np.arange(i + 1, k)))
        significant = p <= delta / max(1, similarity.n_pairs)
        i_loses, i_wins = significant & (only_i > only_j), significant & (only_j > only_i)
        better[i] += int(i_loses.sum())
        worse[i] += int(i_wins.sum())
        better[i + 1 :] += i_wins
        worse[i + 1 :] += i_loses
    return np.stack([1 + better, k - worse], axis=1)
