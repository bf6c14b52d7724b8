"""Bounds for a given pool: exact enumeration, never above the union bound, coverage on real matrices."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import squareform
from scipy.stats import binomtest, multivariate_normal

from heldout.predictions import Predictions
from heldout.reuse.leaderboard import simultaneous_intervals
from heldout.reuse.pool import PoolBound, Tree, normal_overlap, pool_level, pool_reach
from heldout.reuse.similarity import condensed_row, similarity
from heldout.statistics.binomial import lower_tail, upper_tail


def bound_of(correct, observed=None):
    table = Predictions.from_correct(np.asarray(correct, dtype=bool), observed=observed)
    return PoolBound(similarity(table))


def plain(pool):
    """Without the half example in each cell, so that draws from the matrix itself are the exact law."""
    pool.smoothing = 0.0
    return pool


def solve(pool, delta):
    """Reach by the union bound, by the tree, the tree itself."""
    union = pool_reach(pool, None, delta)
    tree = pool.tree(pool.limits(union)[1])
    return union, pool_reach(pool, tree, delta, most=union), tree


def exact_probability(correct, low, high):
    """P(some count leaves its limits) when n examples are drawn from the columns: all n^n draws, counted."""
    wrong = ~np.asarray(correct, dtype=bool)
    n = wrong.shape[1]
    hits = 0
    for draw in itertools.product(range(n), repeat=n):
        counts = wrong[:, draw].sum(axis=1)
        hits += bool(((counts >= high) | (counts <= low)).any())
    return hits / n**n


@pytest.mark.parametrize("seed", range(6))
def test_between_the_truth_and_the_union_bound(seed):
    rng = np.random.default_rng(seed)
    correct = rng.random((4, 6)) < rng.uniform(0.4, 0.9, (4, 1))
    pool = plain(bound_of(correct))
    low, high = pool.limits(1)
    tree = pool.tree(high)
    assert len(tree.first) == 3
    truth = exact_probability(correct, low, high)
    bound = pool.hunter_worsley(low, high, tree)
    assert truth <= bound + 1e-12
    assert bound <= pool.union(low, high) + 1e-12


def test_two_models_are_exact_on_each_tail():
    """For two events the inequality is an equation."""
    correct = np.array([[1, 1, 0, 0, 1, 1], [1, 0, 0, 1, 1, 1]], dtype=bool)
    pool = plain(bound_of(correct))
    low, high = pool.limits(1)
    nowhere = np.array([-1, -1]), np.array([7, 7])
    above, below = exact_probability(correct, nowhere[0], high), exact_probability(correct, low, nowhere[1])
    assert pool.hunter_worsley(low, high, pool.tree(high)) == pytest.approx(above + below, abs=1e-12)


def test_copies_of_one_model_cost_next_to_nothing(rng):
    """All events are nearly the same (half an example in each cell keeps them apart): k copies are nearly one."""
    row = rng.random(5000) < 0.7
    copies = bound_of(np.repeat(row[None], 12, axis=0))
    alone = pool_reach(bound_of(row[None]), None, 0.05)
    union, reach, tree = solve(copies, 0.05)
    assert alone <= reach <= alone + (union - alone) / 4
    assert pool_level(copies, tree, 0.05) > 0.02  # Bonferroni: 0.0042


@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(5, 60), st.sampled_from([0.01, 0.05, 0.3]))
@settings(deadline=None, max_examples=60)
def test_never_above_the_union_bound(seed, k, n, delta):
    """Whatever the pool: alike, apart, perfect, useless."""
    rng = np.random.default_rng(seed)
    common = rng.random(n)
    correct = np.where(rng.random((k, n)) < rng.random(), common, rng.random((k, n))) < rng.random((k, 1))
    pool = bound_of(correct)
    union, reach, tree = solve(pool, delta)
    assert reach <= union
    assert pool.hunter_worsley(*pool.limits(reach), tree) <= delta
    assert delta / k * (1 - 1e-9) <= pool_level(pool, tree, delta) <= delta
    if union:
        assert pool.union(*pool.limits(union - 1)) > delta  # nothing smaller would do


def test_any_tree_is_valid_and_the_chosen_one_is_good(rng):
    """Two families of near-copies: the tree stays inside them; a tree across them gains less."""
    families = rng.random((2, 500)) < 0.75
    correct = np.where(rng.random((8, 500)) < 0.97, families[[0, 1] * 4], rng.random((8, 500)) < 0.75)
    pool = bound_of(correct)
    low, high = pool.limits(pool_reach(pool, None, 0.05))
    tree = pool.tree(high)
    across = sum(i % 2 != j % 2 for i, j in zip(tree.first, tree.second, strict=True))
    assert across == 1
    first, second = np.zeros(7, dtype=int), np.arange(1, 8)
    shares = ((~correct[0] & ~correct[1:]).sum(axis=1) + 0.5) / 502
    star = Tree(first, second, shares)
    assert pool.hunter_worsley(low, high, tree) < pool.hunter_worsley(low, high, star) < pool.union(low, high)


def test_models_on_other_examples_are_not_joined(rng):
    correct = rng.random((4, 200)) < 0.7
    observed = np.ones((4, 200), dtype=bool)
    observed[1, :20] = observed[3, :20] = False
    observed[2, 50:90] = False
    pool = bound_of(correct, observed)
    tree = pool.tree(pool.limits(pool_reach(pool, None, 0.05))[1])
    assert [sorted(edge) for edge in zip(tree.first.tolist(), tree.second.tolist(), strict=True)] == [[1, 3]]
    np.testing.assert_allclose(tree.both_wrong, [((~correct[1] & ~correct[3])[20:].sum() + 0.5) / 182])


def test_limits_follow_each_model_s_own_number_of_examples():
    observed = np.ones((2, 10), dtype=bool)
    observed[1, 5:] = False
    pool = bound_of(np.array([[1] * 6 + [0] * 4, [1, 1, 1, 0, 0] + [0] * 5]), observed)
    low, high = pool.limits(2)  # epsilon = 2/10: off by more means 3 of 10, 2 of 5
    assert (low.tolist(), high.tolist()) == ([1, 0], [7, 4])


def test_condensed_row_is_squareform_s_row():
    k = 7
    square = squareform(np.arange(k * (k - 1) // 2))
    for node in range(k):
        assert condensed_row(node, k).tolist() == np.delete(square[node], node).tolist()


def test_normal_overlap():
    for h, k, r in [(1.0, 2.0, 0.5), (2.5, 2.5, 0.9), (3.0, 1.5, -0.3), (2.0, 2.0, 0.0)]:
        expected = multivariate_normal.cdf([-h, -k], cov=[[1, r], [r, 1]])
        assert normal_overlap(h, np.array([k]), np.array([r]))[0] == pytest.approx(expected, abs=1e-7)


def misses(correct, *, n, repetitions, delta, rng):
    """Draw n examples from a real matrix: how often some error is further off than stated, or outside its interval."""
    truth = 1 - correct.mean(axis=1)
    by_epsilon = by_interval = 0
    for _ in range(repetitions):
        sample = correct[:, rng.integers(0, correct.shape[1], n)]
        pool = bound_of(sample)
        _, reach, tree = solve(pool, delta)
        by_epsilon += bool(np.abs(pool.similarity.errors - truth).max() > reach / n + 1e-12)
        low, high = simultaneous_intervals(pool.similarity, pool_level(pool, tree, delta))
        by_interval += bool(((truth < low) | (truth > high)).any())
    return by_epsilon, by_interval


def assert_covers(hits, repetitions, delta):
    assert binomtest(hits, repetitions, delta, alternative="greater").pvalue > 1e-3


@pytest.mark.slow
def test_coverage_on_a_real_matrix(cifar10_predictions, rng):
    """Ten CIFAR-10 models with errors from 3 % to 18 %."""
    repetitions, delta = 120, 0.1
    for hits in misses(cifar10_predictions.correct[::3], n=500, repetitions=repetitions, delta=delta, rng=rng):
        assert_covers(hits, repetitions, delta)
        assert hits > 0  # nor does it say nothing


@pytest.mark.slow
@pytest.mark.parametrize(("n", "rows"), [(200, slice(0, 8)), (2000, slice(0, 30, 3)), (500, slice(None))])
def test_coverage_on_real_matrices(cifar10_predictions, n, rows):
    """`experiments/mania/coverage.py` has the long version."""
    repetitions, delta = 200, 0.05
    correct = cifar10_predictions.correct[rows]
    for hits in misses(correct, n=n, repetitions=repetitions, delta=delta, rng=np.random.default_rng(n)):
        assert_covers(hits, repetitions, delta)


def test_level_by_its_own_inequality(rng):
    """k · level · (share of the union bound that does not overlap) is delta at the level returned, and above delta just
    beyond it: thresholds found here by looking at every count."""
    ease = rng.random(120)
    correct = np.where(rng.random((5, 120)) < 0.9, ease, rng.random((5, 120))) < np.array(
        [[0.9], [0.8], [0.8], [0.7], [0.6]]
    )
    pool, delta = bound_of(correct), 0.1
    _, _, tree = solve(pool, delta)

    def charge(level):
        counts = np.arange(-1, 122)
        high = [next(c for c in counts if upper_tail(c, 120, p) <= level / 2) for p in pool.p]
        low = [max(c for c in counts if lower_tail(c, 120, p) <= level / 2) for p in pool.p]
        low, high = np.array(low), np.array(high)
        return 5 * level * pool.hunter_worsley(low, high, tree) / pool.union(low, high)

    level = pool_level(pool, tree, delta, steps=30)
    assert 0.1 / 5 < level < 0.1
    assert charge(level) <= delta * (1 + 1e-9)
    assert charge(level * 1.001) > delta


@pytest.mark.slow
@pytest.mark.parametrize(("k", "n", "p"), [(10, 50, 0.00876), (5, 50, 0.0102), (10, 20, 0.02246)])
def test_intervals_of_models_with_next_to_no_errors(k, n, p):
    """Independent models and few errors: whole counts leave slack in the tails that is not similarity."""
    rng, repetitions, delta = np.random.default_rng(k * n), 300, 0.05
    missed = 0
    for _ in range(repetitions):
        pool = bound_of(rng.random((k, n)) >= p)
        _, _, tree = solve(pool, delta)
        low, high = simultaneous_intervals(pool.similarity, pool_level(pool, tree, delta))
        missed += bool(((p < low) | (p > high)).any())
    assert_covers(missed, repetitions, delta)


def test_plugged_in_zero_never_gives_width_zero():
    """A model without an error in 1,000 examples: its interval still reaches 0.7 %."""
    correct = np.ones((2, 1000), dtype=bool)
    correct[1, 0] = False
    pool = bound_of(correct)
    _, _, tree = solve(pool, 0.05)
    low, high = simultaneous_intervals(pool.similarity, pool_level(pool, tree, 0.05))
    assert low.tolist()[0] == 0.0
    assert (high > 0.003).all()
    assert math.isclose(high[0], 1 - (pool_level(pool, tree, 0.05) / 2) ** (1 / 1000), rel_tol=1e-9)


def test_threads_change_nothing(rng):
    """Pairs in pieces, of which there are several: the bound to the same bits."""
    hard, able = rng.normal(size=400), np.linspace(-1, 1, 150)[:, None]
    counts = similarity(able - hard + 0.5 * rng.normal(size=(150, 400)) > 0)
    one, two = (PoolBound(counts, n_jobs=n_jobs) for n_jobs in (1, 2))
    limits = one.limits(30)
    tree = one.tree(limits[1])
    assert one.hunter_worsley(*limits, tree) == two.hunter_worsley(*limits, tree) < one.union(*limits)
