"""Which differences are significant: brute force on small pools, level by simulation."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from heldout.predictions import Predictions, load_predictions
from heldout.reuse.leaderboard import (
    PairTests,
    leaderboard_order,
    neighbour_comparisons,
    rank_ranges,
    simultaneous_intervals,
    tied_groups,
)
from heldout.reuse.similarity import similarity
from heldout.statistics.evalues import holm
from heldout.statistics.stepdown import holm_level, holm_log_adjusted

EXAMPLE = Path(__file__).parents[2] / "examples" / "cifar10_predictions.npz"
SHARED = Path(__file__).parents[3] / "shared" / "data"
MMLU, OPEN_LLM = SHARED / "mmlu_pro_predictions.npz", SHARED / "open_llm_items.npz"


def by_hand(correct, delta):
    """Every pair with scipy's binomtest, and Holm's steps one by one: 1 where the first is better."""
    k = len(correct)
    tests = []
    for i, j in itertools.combinations(range(k), 2):
        wins, losses = int((correct[i] & ~correct[j]).sum()), int((correct[j] & ~correct[i]).sum())
        p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
        tests.append((p, *((i, j) if wins > losses else (j, i))))
    sure = np.zeros((k, k), dtype=int)
    for step, (p, better, worse) in enumerate(sorted(tests)):
        if p > delta / (len(tests) - step):
            break
        sure[better, worse] = 1
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
    np.testing.assert_array_equal(rank_ranges(PairTests(pool, 0.05)), expected)
    order = leaderboard_order(pool)
    assert (np.diff(pool.errors[order]) >= 0).all()
    for pair in neighbour_comparisons(PairTests(pool, 0.05), order):
        assert pair.survives == bool(sure[pair.better, pair.worse])
        assert pair.better_only == int((ladder[pair.better] & ~ladder[pair.worse]).sum())
        assert pair.worse_only == int((ladder[pair.worse] & ~ladder[pair.better]).sum())
        assert pair.p_value == pytest.approx(binomtest(pair.better_only, pair.better_only + pair.worse_only).pvalue)


def test_groups_are_cut_at_the_first_model_told_from_the_leader(ladder):
    pool = similarity(ladder)
    order = leaderboard_order(pool)
    sure = by_hand(ladder, 0.05)
    groups = tied_groups(PairTests(pool, 0.05), order)
    assert [i for group in groups for i in group] == order.tolist()
    for group, following in zip(groups, [*groups[1:], ()], strict=True):
        assert not any(sure[group[0], member] for member in group)
        if following:
            assert sure[group[0], following[0]]
    assert 1 < len(groups) < 6


@pytest.mark.parametrize(("wins", "losses", "told"), [(15, 3, False), (11, 1, True)])
def test_all_pairs_are_paid_for_step_by_step_and_both_sides(wins, losses, told):
    """Five models, ten pairs, delta 0.05. The last three are always right and better than the second: p <= 2^-10, below
    0.05 / 10, so that three steps are done and the next pair must reach 0.05 / 7 = 0.0071, two-sided. 11 to 1 has
    0.0063, too much for Bonferroni's 0.005; 15 to 3 has 0.0075 and would do one step later (0.05 / 6), or one-sided."""
    correct = np.ones((5, 100), dtype=bool)
    correct[1, :wins] = False
    correct[0, wins : wins + losses] = False
    tests = PairTests(similarity(correct), 0.05)
    assert tests.n_significant == 3 + told
    assert tests.level == pytest.approx(0.05 / (7 - told))
    pair = tests.compare(0, 1)
    assert pair.survives is told
    assert math.exp(pair.log_adjusted) == pytest.approx(7 * pair.p_value)
    # The other three are always right, and significantly better than the second; the first is, or is not.
    ranks = rank_ranges(tests)
    assert (ranks[1, 0], ranks[0, 1]) == ((5, 4) if told else (4, 5))


def test_steps_agree_with_the_textbook(rng):
    """The level at which Holm's procedure ends, and adjusted p-values, against the loop over sorted p-values."""
    for m in (1, 2, 30, 400):
        for power in (1.0, 3.0, 8.0):
            p = rng.random(m) ** power
            p[rng.random(m) < 0.1] = 1.0
            adjusted = np.array(holm(p.tolist()))
            np.testing.assert_allclose(np.exp(holm_log_adjusted(np.log(p))), adjusted, rtol=1e-12)
            for alpha in (0.001, 0.05, 0.3):
                level = holm_level(np.log(p), alpha)
                np.testing.assert_array_equal(p <= level, adjusted <= alpha)
    assert holm_level(np.array([]), 0.05) == 0.05


def test_only_examples_that_both_have_count():
    correct = np.array([[1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1]], dtype=bool)
    observed = np.array([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]], dtype=bool)
    pool = similarity(Predictions.from_correct(correct, observed=observed))
    pair = PairTests(pool, 0.05).compare(0, 1)
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
    pair = PairTests(pool, 0.05).compare(0, 1)
    assert pair.p_value < 1e-9
    assert (pair.survives, pair.contradicted) == (False, True)
    assert tied_groups(PairTests(pool, 0.05), np.array([0, 1])) == ((0,), (1,))  # told apart, whichever way


@pytest.mark.slow
def test_equal_models_are_seldom_told_apart(rng):
    """Family-wise level: eight models of one error; any claim on any pair is false."""
    repetitions, delta, alarms = 300, 0.1, 0
    for _ in range(repetitions):
        hard = rng.random(400) < 0.4
        correct = ~(hard & (rng.random((8, 400)) < 0.5))
        ranks = rank_ranges(PairTests(similarity(correct), delta))
        alarms += bool((ranks != [1, 8]).any())
    assert binomtest(alarms, repetitions, delta, alternative="greater").pvalue > 1e-3
    assert alarms > 0


def wrong_claims(right, means, delta):
    """Whether any pair is told apart that is equal, or the wrong way round; the pairs that are told."""
    tests = PairTests(similarity(right), delta)
    first, second = np.triu_indices(len(right), 1)
    told = tests.log_p <= math.log(tests.level)
    wrong = tests.similarity.wrong
    said, true = np.sign(wrong[second] - wrong[first]), np.sign(means[first] - means[second])
    return bool((told & (said != true)).any()), int(told.sum())


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.0, 0.002, 0.01, 0.03])
@pytest.mark.parametrize("alike", [0.0, 0.8])
def test_family_wise_level_with_directions(rng, step, alike):
    """Ten models, neighbours a step apart, and ten far below that are told from them at once, so that Holm's later
    steps are reached. Any claim on equal models, or the wrong way round, counts."""
    skill = np.concatenate([0.7 - step * np.arange(10), np.linspace(0.4, 0.2, 10)])
    repetitions, alarms = 600, 0
    for _ in range(repetitions):
        shared, own = rng.random(300), rng.random((20, 300))
        # one uniform number a cell, the same for all models where they are alike: P(right) is the skill either way
        draw = np.where(rng.random(300) < alike, shared, own)
        alarms += wrong_claims(draw < skill[:, None], skill, 0.05)[0]
    assert alarms <= repetitions * 0.05 + 3 * math.sqrt(repetitions * 0.05 * 0.95)


def matrices():
    """Real 0/1 tables: models by examples."""
    yield "cifar10", load_predictions(EXAMPLE).correct
    if MMLU.exists():
        with np.load(MMLU) as data:
            run = (data["preds"] != -2).all(axis=0)
            yield "mmlu_pro", (data["preds"] == data["labels"])[:, run]
    if OPEN_LLM.exists():
        with np.load(OPEN_LLM) as data:
            yield "open_llm", data["gsm8k_a_correct"][:: len(data["gsm8k_a_correct"]) // 60].astype(bool)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cifar10", "mmlu_pro", "open_llm"])
@pytest.mark.parametrize("n", [300, 1500])
def test_family_wise_level_on_real_matrices(rng, name, n):
    """The whole table is the population; n of its examples are drawn, and every claim is held against the whole."""
    found = dict(matrices())
    if name not in found:
        pytest.skip(f"needs ../shared/data for {name}")
    right = found[name]
    means = right.mean(axis=1)
    repetitions, alarms, told = 200, 0, 0
    for _ in range(repetitions):
        off, claims = wrong_claims(right[:, rng.integers(0, right.shape[1], n)], means, 0.05)
        alarms, told = alarms + off, told + claims
    assert alarms <= repetitions * 0.05 + 3 * math.sqrt(repetitions * 0.05 * 0.95)
    assert told > 10 * repetitions


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
    pair = neighbour_comparisons(PairTests(similarity(correct), 0.05), np.array([0, 1]))[0]
    assert pair.log_p_value == pytest.approx(-3999 * math.log(2))
    assert pair.survives
