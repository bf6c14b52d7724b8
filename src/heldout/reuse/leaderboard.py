"""The leaderboard with honest error bars: intervals for all models at once, and which differences are significant.

Two models are compared on the examples where they disagree: if they are equally good, either is the right one there
with probability 1/2 (McNemar's exact test); where examples come in groups, by the sums of their differences over whole
groups. Which pairs stand beside each other is decided by the same data, so every comparison answers for *all* pairs,
whichever are looked at in the end: by Holm's procedure, step by step down all p-values, which tells equal models apart
with probability delta at most, however the pairs depend on each other.

A claim also has a direction. That Holm's procedure keeps directions right as well is proved for independent tests
[1]_ [2]_ and not for these; in simulations with models a hair apart (`tests/reuse/test_leaderboard.py`) wrong claims of
either kind stayed below delta, since two models that are nearly equal are nearly as hard to confuse as equal ones.

References
----------
.. [1] Shaffer (1980). Control of directional errors with stagewise multiple test procedures. Ann. Statist. 8(6).
.. [2] Finner (1999). Stepwise multiple test procedures and control of directional errors. Ann. Statist. 27(1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from heldout.reuse.grouped import GroupedPool
from heldout.reuse.similarity import SimilarityResult
from heldout.statistics.binomial import clopper_pearson, sign_test_log_pvalue, sign_test_log_pvalues
from heldout.statistics.stepdown import holm_level, holm_log_adjusted

MOST_RANKED = 3_000  # models; for rank ranges and for Holm's procedure every pair must be tested


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
    log_adjusted: float  # over all pairs, by Holm; to be held against delta
    survives: bool
    contradicted: bool = False

    @property
    def p_value(self) -> float:
        """Of this pair alone; not adjusted."""
        return math.exp(self.log_p_value)


class PairTests:
    """Every pair of the pool tested, and the level that Holm's procedure leaves each of them.

    Pools of more than `MOST_RANKED` models have too many pairs to test each; there it is Bonferroni's delta over the
    number of pairs.
    """

    def __init__(self, similarity: SimilarityResult, delta: float, groups: GroupedPool | None = None) -> None:
        self.similarity, self.delta, self.groups = similarity, delta, groups
        self.complete = similarity.n_models <= MOST_RANKED

    @cached_property
    def log_p(self) -> NDArray[np.float64]:
        """(pairs,) two-sided, of each pair alone, in pdist's order."""
        k, out = self.similarity.n_models, np.zeros(self.similarity.n_pairs)
        for i, row in enumerate(self.similarity.rows()):
            if self.groups is None:
                out[row.pairs] = sign_test_log_pvalues(
                    row.first_wrong - row.both_wrong, row.second_wrong - row.both_wrong
                )
            elif i < k - 1:
                out[row.pairs] = self.groups.log_p_values(i, np.arange(i + 1, k))
        return out

    @cached_property
    def level(self) -> float:
        """What a pair's own p-value must not exceed."""
        if not self.complete:
            return self.delta / self.similarity.n_pairs
        return holm_level(self.log_p, self.delta)

    @cached_property
    def _adjusted(self) -> NDArray[np.float64]:
        return holm_log_adjusted(self.log_p)

    @property
    def n_significant(self) -> int | None:
        """Pairs that are told apart; None where not every pair was tested."""
        return int(np.count_nonzero(self.log_p <= math.log(self.level))) if self.complete else None

    def compare(self, better: int, worse: int) -> Comparison:
        """One pair, held to what all of them leave it."""
        s = self.similarity
        _, better_wrong, worse_wrong, _ = s.counts(better, worse)
        if self.complete:
            first, second = sorted((better, worse))
            place = first * (2 * s.n_models - first - 1) // 2 + second - first - 1
            log_p, adjusted = float(self.log_p[place]), float(self._adjusted[place])
        else:
            log_p = (
                sign_test_log_pvalue(worse_wrong, better_wrong)
                if self.groups is None
                else float(self.groups.log_p_values(better, np.array([worse]))[0])
            )
            adjusted = min(0.0, log_p + math.log(s.n_pairs))
        told_apart = log_p <= math.log(self.level)
        return Comparison(
            better=better,
            worse=worse,
            better_only=worse_wrong,
            worse_only=better_wrong,
            log_p_value=log_p,
            log_adjusted=adjusted,
            survives=told_apart and worse_wrong > better_wrong,
            contradicted=told_apart and worse_wrong < better_wrong,
        )


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


def neighbour_comparisons(tests: PairTests, order: NDArray[np.intp]) -> tuple[Comparison, ...]:
    """Each model against the next one down the leaderboard."""
    pairs = zip(order[:-1].tolist(), order[1:].tolist(), strict=True)
    return tuple(tests.compare(better, worse) for better, worse in pairs)


def tied_groups(tests: PairTests, order: NDArray[np.intp]) -> tuple[tuple[int, ...], ...]:
    """Cut the leaderboard where a model is told from the first of its band for the first time."""
    bands: list[list[int]] = []
    for model in order.tolist():
        pair = tests.compare(bands[-1][0], model) if bands else None
        if pair is None or pair.survives or pair.contradicted:
            bands.append([model])
        else:
            bands[-1].append(model)
    return tuple(tuple(band) for band in bands)


def rank_ranges(tests: PairTests) -> NDArray[np.int64]:
    """(k, 2) smallest and largest rank of each model that the comparisons leave open.

    With probability at least 1 - delta all true ranks lie inside: a model is ranked below those that are significantly
    better and above those that are significantly worse. Pairs are compared on the examples that both have; where
    answers are missing, a range may therefore contradict the place on the leaderboard.
    """
    k, log_level = tests.similarity.n_models, math.log(tests.level)
    better, worse = np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64)
    for i, row in enumerate(tests.similarity.rows()):
        significant = tests.log_p[row.pairs] <= log_level
        # what both get wrong drops out of the difference of errors
        i_loses, i_wins = (
            significant & (row.first_wrong > row.second_wrong),
            significant & (row.second_wrong > row.first_wrong),
        )
        better[i] += int(i_loses.sum())
        worse[i] += int(i_wins.sum())
        better[i + 1 :] += i_wins
        worse[i + 1 :] += i_loses
    return np.stack([1 + better, k - worse], axis=1)
