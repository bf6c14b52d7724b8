"""A leaderboard of right and wrong, with all that holds for it at once: over examples alone, or over whole groups."""

from __future__ import annotations

import math

from heldout.progress import plain_bar
from heldout.reuse.adjusted import Adjusted
from heldout.reuse.alike import how_alike
from heldout.reuse.cover import CoverCurve, cover_curve
from heldout.reuse.first import may_be_among
from heldout.reuse.grouped import GroupedPool
from heldout.reuse.leaderboard import (
    PairTests,
    leaderboard_order,
    neighbour_comparisons,
    rank_ranges,
    simultaneous_intervals,
    tied_groups,
)
from heldout.reuse.like_these import assumption_fit, difficulty_forecast
from heldout.reuse.pool import PoolBound, Tree, pool_level, pool_reach
from heldout.reuse.result import PoolResult
from heldout.reuse.similarity import SimilarityResult
from heldout.reuse.theorems import corollary4, theorem2_epsilon, theorem2_equation5, theorem2_equation6
from heldout.reuse.winner import Winner


def independent_pool(
    bound: PoolBound, winner: Winner, n_missing: int, delta: float, *, progress: bool
) -> tuple[PoolResult, Tree]:
    """What holds for the pool where examples are independent, and the tree over its pairs."""
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


def grouped_pool(grouped: GroupedPool, winner: Winner, n_missing: int, delta: float) -> PoolResult:
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
