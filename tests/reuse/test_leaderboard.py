"""Which differences are significant: brute force on small pools, level by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from heldout.predictions import Predictions
from heldout.reuse.leaderboard import (
    compare,
    leaderboard_order,
    neighbour_comparisons,
    rank_ranges,
    simultaneous_intervals,
    tied_groups,
)
from heldout.reuse.similarity import similarity


def by_hand(correct, delta):
    """Every pair with scipy's binomtest at delta over the number of pairs: 1 where the first is better."""
    k = len(correct)
    sure = np.zeros((k, k), dtype=int)
    for i in range(k):
        for j in range(k):
            wins, losses = int((correct[i] & ~correct[j]).sum()), int((correct[j] & ~correct[i]).sum())
            if wins > losses and binomtest(wins, wins + losses).pvalue <= delta / (k * (k - 1) / 2):
                sure[i, j] = 1
    return sure


@pytest.fixture
def ladder(rng):
    """Six models, each a little better than the next, with much in common."""
    ease = rng.random(3000)
    skill = np.array([0.9, 0.88, 0.87, 0.8, 0.79, 0.6])
    return 0.7 * ease + 0.3 * rng.random((6, 3000)) < skill[:, None]


def test_ranks_and_comparisons_by_hand(ladder):
    pool = similarity(ladder)
    sure = by_hand(ladder, 0.05)
    assert 0 < sure.sum() < 15  # some pairs are told apart, some are not
    expected = np.stack([1 + sure.sum(axis=0), 6 - sure.sum(axis=1)], axis=1)
    np.testing.assert_array_equal(rank_ranges(pool, 0.05), expected)
    order = leaderboard_order(pool)
    assert (np.diff(pool.errors[order]) >= 0).all()
    for pair in neighbour_comparisons(pool, order, 0.05):
        assert pair.survives == bool(sure[pair.better, pair.worse])
        assert pair.better_only == int((ladder[pair.better] & ~ladder[pair.worse]).sum())
        assert pair.worse_only == int((ladder[pair.worse] & ~ladder[pair.better]).sum())
        assert pair.p_value == pytest.approx(binomtest(pair.better_only, pair.better_only + pair.worse_only).pvalue)


def test_groups_are_cut_at_the_first_model_told_from_the_leader(ladder):
    pool = similarity(ladder)
    order = leaderboard_order(pool)
    sure = by_hand(ladder, 0.05)
    groups = tied_groups(pool, order, 0.05)
    assert [i for group in groups for i in group] == order.tolist()
    for group, following in zip(groups, [*groups[1:], ()], strict=True):
        assert not any(sure[group[0], member] for member in group)
        if following:
            assert sure[group[0], following[0]]
    assert 1 < len(groups) < 6


@pytest.mark.parametrize(("wins", "losses", "told"), [(15, 3, False), (17, 3, True)])
def test_all_pairs_are_paid_for_and_both_sides(wins, losses, told):
    """Five models, ten pairs, delta 0.05: a pair must reach 0.005, two-sided. 15 to 3 has p = 0.0075, which would do
    for five comparisons (0.01) or one-sided (0.0038); 17 to 3 has p = 0.0026."""
    correct = np.ones((5, 100), dtype=bool)
    correct[1, :wins] = False
    correct[0, wins : wins + losses] = False
    pool = similarity(correct)
    assert compare(pool, 0, 1, 0.05).survives is told
    ranks = rank_ranges(pool, 0.05)
    # The other three are always right, and significantly better than the second; the first is, or is not.
    assert (ranks[1, 0], ranks[0, 1]) == ((5, 4) if told else (4, 5))


def test_only_examples_that_both_have_count():
    correct = np.array([[1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1]], dtype=bool)
    observed = np.array([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]], dtype=bool)
    pool = similarity(Predictions.from_correct(correct, observed=observed))
    pair = compare(pool, 0, 1, 0.05)
    assert (pair.better_only, pair.worse_only) == (0, 2)
    assert not pair.survives


def test_a_difference_against_the_order_never_survives():
    """The one with the lower error overall loses on what both have: no claim either way."""
    correct = np.zeros((2, 200), dtype=bool)
    observed = np.ones((2, 200), dtype=bool)
    correct[0, :100], observed[1, :100] = True, False
    correct[1, 100:140] = True
    pool = similarity(Predictions.from_correct(correct, observed=observed))
    assert pool.errors[0] < pool.errors[1]
    pair = compare(pool, 0, 1, 0.05)
    assert pair.p_value < 1e-9
    assert (pair.survives, pair.contradicted) == (False, True)
    assert tied_groups(pool, np.array([0, 1]), 0.05) == ((0,), (1,))  # told apart, whichever way


def test_equal_models_are_seldom_told_apart(rng):
    """Family-wise level: eight models of one error; any claim on any pair is false."""
    repetitions, delta, alarms = 300, 0.1, 0
    for _ in range(repetitions):
        hard = rng.random(400) < 0.4
        correct = ~(hard & (rng.random((8, 400)) < 0.5))
        ranks = rank_ranges(similarity(correct), delta)
        alarms += bool((ranks != [1, 8]).any())
    assert binomtest(alarms, repetitions, delta, alternative="greater").pvalue > 1e-3
    assert alarms > 0


def test_intervals_are_clopper_pearson_and_never_empty():
    correct = np.ones((3, 50), dtype=bool)
    correct[1, :7] = False
    correct[2] = False
    low, high = simultaneous_intervals(similarity(correct), 0.01)
    assert (high > low).all()
    assert (low[0], high[2]) == (0.0, 1.0)
    exact = binomtest(7, 50).proportion_ci(0.99, method="exact")
    assert (low[1], high[1]) == pytest.approx((exact.low, exact.high))
    assert high[0] == pytest.approx(1 - 0.005 ** (1 / 50))


def test_p_values_that_underflow_keep_their_logarithm():
    correct = np.zeros((2, 4000), dtype=bool)
    correct[0] = True
    pair = neighbour_comparisons(similarity(correct), np.array([0, 1]), 0.05)[0]
    assert pair.log_p_value == pytest.approx(-3999 * math.log(2))
    assert pair.survives
