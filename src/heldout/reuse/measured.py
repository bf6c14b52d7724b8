"""The parts of a budget that groups change: the pool, its winner, and how many more models fit at an epsilon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from heldout.predictions import Predictions
from heldout.reuse.bounds import TestableModels
from heldout.reuse.few import nothing_fits, too_few
from heldout.reuse.grouped import GroupedPool, Grouping
from heldout.reuse.leaderboard import leaderboard_order
from heldout.reuse.like_these import LikeThese
from heldout.reuse.pool import PoolBound, Tree
from heldout.reuse.pools import grouped_pool, independent_pool
from heldout.reuse.result import PoolResult
from heldout.reuse.similarity import SimilarityResult
from heldout.reuse.winner import Winner, expected_drop


@dataclass(frozen=True)
class Measured:
    """What holds for a pool, and how many models like its own fit."""

    pool: PoolResult
    fits: Callable[[Fraction], TestableModels]  # at an epsilon
    grouped: GroupedPool | None  # where whole groups of examples are the unit
    few: bool  # examples, or groups, too few to say anything


def measure(
    table: Predictions,
    counts: SimilarityResult,
    grouping: Grouping | None,
    delta: float,
    *,
    rng: np.random.Generator,
    progress: bool,
    n_jobs: int = 1,
) -> Measured:
    """Error bars, intervals, comparisons and ranks of the models there are, over examples or whole groups."""
    bound = PoolBound(counts, n_jobs=n_jobs)
    winner = _winner(table, counts, grouping, rng)
    if grouping is None:
        pool, tree = independent_pool(bound, winner, table.n_missing, delta, progress=progress)
        # what no model has is no example: of 100 with five answers each, five are told of
        few = too_few(int(counts.observed.max()), pool.epsilon["similarity"], delta)
        return Measured(pool, partial(_like_these, bound, pool, tree, delta, few=few), None, few)
    grouped = GroupedPool(table, counts, grouping)
    pool = grouped_pool(grouped, winner, table.n_missing, delta)
    few = too_few(len(grouped.sizes), pool.epsilon["similarity"], delta)
    return Measured(pool, partial(_like_groups, grouped, delta, few=few), grouped, few)


def _winner(
    table: Predictions, counts: SimilarityResult, grouping: Grouping | None, rng: np.random.Generator
) -> Winner:
    """The first on the leaderboard, and what it is expected to lose."""
    model = int(leaderboard_order(counts)[0])
    codes = None if grouping is None else grouping.codes
    drop = expected_drop(table.correct, observed=table.observed, codes=codes, rng=rng)
    return Winner(model=model, name=counts.names[model], score=1 - float(counts.errors[model]), expected_drop=drop)


def _like_these(
    bound: PoolBound, pool: PoolResult, tree: Tree, delta: float, epsilon: Fraction, *, few: bool
) -> TestableModels:
    """How many models like these fit; none where examples are too few to say anything."""
    if few:
        return nothing_fits(int(pool.similarity.observed.max()), "example")
    return _no_fewer_than_there_are(LikeThese(bound, epsilon, delta, tree).testable(), pool, bound, epsilon)


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


def _like_groups(grouped: GroupedPool, delta: float, epsilon: Fraction, *, few: bool) -> TestableModels:
    """The same over whole groups; none where these are too few to say anything."""
    return nothing_fits(len(grouped.sizes), "group") if few else grouped.testable(float(epsilon), delta)
