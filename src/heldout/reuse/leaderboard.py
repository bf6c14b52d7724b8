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
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from heldout.reuse.grouped import GroupedPool
from heldout.reuse.similarity import SimilarityResult, condensed_row
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


@dataclass(frozen=True, kw_only=True)
class ScoreComparison:
    """Two models with scores that stand beside each other on the leaderboard."""

    better: int
    worse: int
    difference: float  # of mean scores on the examples that both have
    log_p_value: float  # of this pair alone, two-sided
    log_adjusted: float  # over all pairs, by Holm
    survives: bool
    contradicted: bool = False


class Told(Protocol):
    """A comparison of two models, held to what all pairs leave it."""

    @property
    def survives(self) -> bool:
        """Whether the better one is better."""

    @property
    def contradicted(self) -> bool:
        """Whether it is worse on the examples that both have."""


class TestedPairs(ABC):
    """Every pair of k models tested, and the level that Holm's procedure leaves each of them."""

    __test__ = False  # pytest collects classes by this name
    complete = True  # whether every pair was tested

    def __init__(self, n_models: int, delta: float) -> None:
        self.n_models, self.delta = n_models, delta

    @property
    def n_pairs(self) -> int:
        """All of them."""
        return self.n_models * (self.n_models - 1) // 2

    @property
    @abstractmethod
    def log_p(self) -> NDArray[np.float64]:
        """(pairs,) two-sided, of each pair alone, in pdist's order."""

    @property
    @abstractmethod
    def sign(self) -> NDArray[np.int8]:
        """(pairs,) 1 where the first is better on the examples both have, -1 where the second is."""

    @abstractmethod
    def compare(self, better: int, worse: int) -> Told:
        """One pair, held to what all of them leave it."""

    @cached_property
    def level(self) -> float:
        """What a pair's own p-value must not exceed."""
        return holm_level(self.log_p, self.delta)

    @cached_property
    def log_adjusted(self) -> NDArray[np.float64]:
        """(pairs,) over all pairs, by Holm."""
        return holm_log_adjusted(self.log_p)

    @property
    def n_significant(self) -> int | None:
        """Pairs that are told apart; None where not every pair was tested."""
        return int(np.count_nonzero(self.log_p <= math.log(self.level))) if self.complete else None

    def place(self, one: int, other: int) -> int:
        """Where a pair stands in pdist's order."""
        first, second = sorted((one, other))
        return first * (2 * self.n_models - first - 1) // 2 + second - first - 1

    def against_all(self, i: int) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.bool_]]:
        """Every other model, the two-sided log p-value against it, and whether model i is the better one."""
        pairs, others = condensed_row(i, self.n_models), np.delete(np.arange(self.n_models), i)
        return others, self.log_p[pairs], self.sign[pairs] * np.where(others > i, 1, -1) > 0


class PairTests(TestedPairs):
    """Pairs of models that are right or wrong, over examples or over whole groups of them.

    Pools of more than `MOST_RANKED` models have too many pairs to test each; there the level is Bonferroni's delta over
    the number of pairs.
    """

    def __init__(self, similarity: SimilarityResult, delta: float, groups: GroupedPool | None = None) -> None:
        super().__init__(similarity.n_models, delta)
        self.similarity, self.groups = similarity, groups
        self.complete = similarity.n_models <= MOST_RANKED

    @cached_property
    def log_p(self) -> NDArray[np.float64]:
        """(pairs,) two-sided, of each pair alone, in pdist's order."""
        k, out = self.n_models, np.zeros(self.n_pairs)
        for i, row in enumerate(self.similarity.rows()):
            if self.groups is None:
                out[row.pairs] = sign_test_log_pvalues(
                    row.first_wrong - row.both_wrong, row.second_wrong - row.both_wrong
                )
            elif i < k - 1:
                out[row.pairs] = self.groups.log_p_values(i, np.arange(i + 1, k))
        return out

    @cached_property
    def sign(self) -> NDArray[np.int8]:
        """(pairs,) 1 where the first is better on the examples both have, -1 where the second is."""
        out = np.zeros(self.n_pairs, dtype=np.int8)
        for row in self.similarity.rows():
            out[row.pairs] = np.sign(row.second_wrong - row.first_wrong)  # what both get wrong drops out
        return out

    @cached_property
    def level(self) -> float:
        """What a pair's own p-value must not exceed."""
        return holm_level(self.log_p, self.delta) if self.complete else self.delta / self.n_pairs

    def against_all(self, i: int) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.bool_]]:
        """Every other model, the two-sided log p-value against it, and whether model i is the better one."""
        if self.complete:
            return super().against_all(i)
        s, k = self.similarity, self.n_models
        pairs, others = condensed_row(i, k), np.delete(np.arange(k), i)
        if s.first_wrong is None or s.second_wrong is None:
            own, their = np.full(k - 1, s.wrong[i]), s.wrong[others]
        else:
            first, second = s.first_wrong[pairs].astype(np.int64), s.second_wrong[pairs].astype(np.int64)
            own, their = np.where(others > i, first, second), np.where(others > i, second, first)
        if self.groups is not None:
            return others, self.groups.log_p_values(i, others), own < their
        both = s.both_wrong[pairs].astype(np.int64)
        return others, sign_test_log_pvalues(own - both, their - both), own < their

    def compare(self, better: int, worse: int) -> Comparison:
        """One pair, held to what all of them leave it."""
        s = self.similarity
        _, better_wrong, worse_wrong, _ = s.counts(better, worse)
        if self.complete:
            place = self.place(better, worse)
            log_p, adjusted = float(self.log_p[place]), float(self.log_adjusted[place])
        else:
            log_p = (
                sign_test_log_pvalue(worse_wrong, better_wrong)
                if self.groups is None
                else float(self.groups.log_p_values(better, np.array([worse]))[0])
            )
            adjusted = min(0.0, log_p + math.log(self.n_pairs))
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


def tied_groups(tests: TestedPairs, order: NDArray[np.intp]) -> tuple[tuple[int, ...], ...]:
    """Cut the leaderboard where a model is told from the first of its band for the first time."""
    bands: list[list[int]] = []
    for model in order.tolist():
        pair = tests.compare(bands[-1][0], model) if bands else None
        if pair is None or pair.survives or pair.contradicted:
            bands.append([model])
        else:
            bands[-1].append(model)
    return tuple(tuple(band) for band in bands)


def rank_ranges(tests: TestedPairs) -> NDArray[np.int64]:
    """(k, 2) smallest and largest rank of each model that the comparisons leave open.

    With probability at least 1 - delta all true ranks lie inside: a model is ranked below those that are significantly
    better and above those that are significantly worse. Pairs are compared on the examples that both have; where
    answers are missing, a range may therefore contradict the place on the leaderboard.
    """
    k, log_level = tests.n_models, math.log(tests.level)
    better, worse, start = np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64), 0
    for i in range(k - 1):
        pairs = slice(start, start + k - 1 - i)
        start = pairs.stop
        significant = tests.log_p[pairs] <= log_level
        i_loses, i_wins = significant & (tests.sign[pairs] < 0), significant & (tests.sign[pairs] > 0)
        better[i] += int(i_loses.sum())
        worse[i] += int(i_wins.sum())
        better[i + 1 :] += i_wins
        worse[i + 1 :] += i_loses
    return np.stack([1 + better, k - worse], axis=1)
