"""What holds for the models of a pool, and how many more like them fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from heldout.predictions import Predictions
from heldout.progress import plain_bar
from heldout.reuse.adjusted import Adjusted
from heldout.reuse.alike import how_alike
from heldout.reuse.bounds import TestableModels
from heldout.reuse.cover import CoverCurve, cover_curve
from heldout.reuse.few import nothing_fits, too_few_groups
from heldout.reuse.first import may_be_among
from heldout.reuse.grouped import GroupedPool, Grouping
from heldout.reuse.leaderboard import (
    PairTests,
    leaderboard_order,
    neighbour_comparisons,
    rank_ranges,
    simultaneous_intervals,
    tied_groups,
)
from heldout.reuse.like_these import LikeThese, assumption_fit, difficulty_forecast
from heldout.reuse.pool import PoolBound, Tree, pool_level, pool_reach
from heldout.reuse.result import PoolResult
from heldout.reuse.similarity import SimilarityResult
from heldout.reuse.theorems import corollary4, theorem2_epsilon, theorem2_equation5, theorem2_equation6
from heldout.reuse.winner import Winner, expected_drop


@dataclass(frozen=True)
class Measured:
    """What holds for a pool, and how many models like its own fit."""

    pool: PoolResult
    fits: Callable[[Fraction], TestableModels]  # at an epsilon
    grouped: GroupedPool | None  # where whole groups of examples are the unit
    few: bool  # groups, too few to say anything


def measure(
    table: Predictions,
    counts: SimilarityResult,
    grouping: Grouping | None,
    delta: float,
    *,
    rng: np.random.Generator,
    progress: bool,
) -> Measured:
    """Error bars, intervals, comparisons and ranks of the models there are, over examples or whole groups."""
    bound = PoolBound(counts)
    winner = _winner(table, counts, grouping, rng)
    if grouping is None:
        pool, tree = _pool(bound, winner, table.n_missing, delta, progress=progress)
        return Measured(pool, partial(_like_these, bound, pool, tree, delta), None, few=False)
    grouped = GroupedPool(table, counts, grouping)
    pool = _grouped_pool(grouped, winner, table.n_missing, delta)
    few = too_few_groups(pool.example_groups, pool.epsilon["similarity"], delta)
    return Measured(pool, partial(_like_groups, grouped, delta, few=few), grouped, few)


def _winner(
    table: Predictions, counts: SimilarityResult, grouping: Grouping | None, rng: np.random.Generator
) -> Winner:
    """The first on the leaderboard, and what it is expected to lose."""
    model = int(leaderboard_order(counts)[0])
    codes = None if grouping is None else grouping.codes
    drop = expected_drop(table.correct, observed=table.observed, codes=codes, rng=rng)
    return Winner(model=model, name=counts.names[model], score=1 - float(counts.errors[model]), expected_drop=drop)


def _pool(bound: PoolBound, winner: Winner, n_missing: int, delta: float, *, progress: bool) -> tuple[PoolResult, Tree]:
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
        tests = PairTests(counts, delta)
        neighbours, groups = neighbour_comparisons(tests, order), tied_groups(tests, order)
        bar.update()
        ranks, top = rank_ranges(tests) if tests.complete else None, may_be_among(tests, order)
        bar.update()
        curve = cover_curve(counts)
        bar.update()
    result = PoolResult(
        names=counts.names,
        values=counts.errors,
        n_observed=counts.observed,
        similarity=counts,
        alike=how_alike(counts, order),
        cover=curve,
        epsilon={"union": by_union / bound.largest, "similarity": by_similarity / bound.largest},
        level={"union": delta / counts.n_models, "similarity": level, "pairs": tests.level},
        low=low,
        high=high,
        order=order,
        neighbours=neighbours,
        n_significant=tests.n_significant,
        ranks=ranks,
        top=top,
        winner=winner,
        groups=groups,
        theorem2=_theorem2(counts, curve, delta),
        adaptive=corollary4(counts.n_examples, counts.n_models, alpha=0.0, delta=delta)[0],
        difficulty_forecast=difficulty_forecast(bound),
        n_missing=n_missing,
        assumption=assumption_fit(bound, delta),
        example_groups=None,
        adjusted=Adjusted(right=counts.mean_kappa),
    )
    return result, tree


def _grouped_pool(grouped: GroupedPool, winner: Winner, n_missing: int, delta: float) -> PoolResult:
    """What holds for the pool where whole groups of examples are the unit."""
    counts = grouped.similarity
    low, high = grouped.intervals(delta)
    order = leaderboard_order(counts)
    reach, level = grouped.reach(delta), delta / counts.n_models
    tests = PairTests(counts, delta, grouped)
    return PoolResult(
        names=counts.names,
        values=counts.errors,
        n_observed=counts.observed,
        similarity=counts,
        alike=how_alike(counts, order),
        cover=cover_curve(counts),
        epsilon={"union": reach, "similarity": reach},
        level={"union": level, "similarity": level, "pairs": tests.level},
        low=low,
        high=high,
        order=order,
        neighbours=neighbour_comparisons(tests, order),
        n_significant=tests.n_significant,
        ranks=rank_ranges(tests) if tests.complete else None,
        top=may_be_among(tests, order),
        winner=winner,
        groups=tied_groups(tests, order),
        theorem2=dict.fromkeys(("eta", "cover", "epsilon", "equation_5", "equation_6"), math.nan),
        adaptive=math.nan,
        difficulty_forecast=None,
        n_missing=n_missing,
        assumption=None,
        example_groups=grouped.described(),
        adjusted=Adjusted(right=counts.mean_kappa),
    )


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


def _like_these(bound: PoolBound, pool: PoolResult, tree: Tree, delta: float, epsilon: Fraction) -> TestableModels:
    """How many models like these fit."""
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
    return nothing_fits(grouped.described()) if few else grouped.testable(float(epsilon), delta)
