"""Models like those of a pool: equal kinds give the paper's bounds, unequal ones are held to simulation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

import heldout
from heldout.predictions import Predictions
from heldout.reuse import bounds
from heldout.reuse.like_these import LikeThese, assumption_fit, common_cause, difficulty_forecast
from heldout.reuse.pool import PoolBound, pool_reach
from heldout.reuse.similarity import SimilarityResult, similarity
from heldout.statistics.binomial import lower_tail, upper_tail
from heldout.statistics.joint_binomial import joint_tail


def made_pool(n, wrong, both) -> PoolBound:
    """A pool of given counts, plugged in as they are."""
    k = len(wrong)
    pool = PoolBound(
        SimilarityResult(
            names=tuple(f"m{i}" for i in range(k)),
            n_examples=n,
            wrong=np.asarray(wrong, dtype=np.int64),
            observed=np.full(k, n, dtype=np.int64),
            both_wrong=np.asarray(both, dtype=np.int32),
            common=None,
            first_wrong=None,
            second_wrong=None,
            difficulty=np.zeros(k + 1, dtype=np.int64),
        )
    )
    pool.smoothing = 0.0
    return pool


def equal_pool(k, n, wrong, both):
    return made_pool(n, [wrong] * k, [both] * (k * (k - 1) // 2))


def test_equal_kinds_give_the_paper_s_counts():
    n, epsilon, delta = 20_000, Fraction(1, 100), 0.05
    like = LikeThese(equal_pool(120, n, 4_000, 2_600), epsilon, delta)
    paper = heldout.testable_models(n, 0.2, 0.86, epsilon=0.01, delta=delta)
    found = like.testable()
    assert found.union == paper.union
    assert found.naive_bayes == pytest.approx(paper.naive_bayes, rel=1e-3)
    # A model of the anchor's own kind, one of 120, costs its whole tail; widenings are tried on a grid.
    assert 0.9 * paper.similarity < found.similarity <= paper.similarity


def test_similarity_against_every_widening():
    """The best of all anchors and thresholds, tails summed the slow way, is hardly better."""
    n, delta, w = 400, 0.1, 0.4
    wrong = np.array([60, 60, 80, 80])
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    pool = made_pool(n, wrong, [round(wrong[i] * wrong[j] / (n * w)) for i, j in pairs])
    like = LikeThese(pool, Fraction(8, 100), delta)
    shares = np.zeros((4, 4))
    for (i, j), both in zip(pairs, pool.similarity.both_wrong / n, strict=True):
        shares[i, j] = shares[j, i] = both
    p, reach, grid = wrong / n, 32, np.arange(n + 1)

    def cost(a, c, side):
        total = 0.0
        for i in range(4):
            tail = binom.sf(wrong[i] + reach - 1, n, p[i]) if side > 0 else binom.cdf(wrong[i] - reach, n, p[i])
            if i == a:
                total += tail
                continue
            together = shares[a, i]
            law = binom.pmf(grid, n, p[a] * p[i] / together)
            x_a, x_i = together / p[i], together / p[a]
            if side > 0:
                total += np.sum(
                    law * binom.sf(wrong[i] + reach - 1, grid, x_i) * binom.cdf(wrong[a] + c - 1, grid, x_a)
                )
            else:
                total += np.sum(law * binom.cdf(wrong[i] - reach, grid, x_i) * binom.sf(wrong[a] - c, grid, x_a))
        return total / 4

    best = 0.0
    for a in range(4):
        up = [(binom.sf(wrong[a] + c - 1, n, p[a]), cost(a, c, 1)) for c in range(10, reach + 1)]
        down = [(binom.cdf(wrong[a] - c, n, p[a]), cost(a, c, -1)) for c in range(10, reach + 1)]
        best = max(best, *((delta - u - d) / (x + y) for u, x in up for d, y in down))
    assert 0.97 * math.floor(best) <= like.similarity() <= best


KINDS = np.array([0.03, 0.05, 0.08, 0.12, 0.18])


def shared_cause(n, w):
    """Five kinds of models that err only where W = 1."""
    wrong = np.rint(n * KINDS).astype(int)
    both = [wrong[i] * wrong[j] / (n * w) for i in range(5) for j in range(i + 1, 5)]
    return made_pool(n, wrong, np.rint(both))


@pytest.mark.parametrize(("w", "epsilon"), [(0.25, 0.02), (0.9, 0.018)])
def test_simulated_pools_of_unequal_models(rng, w, epsilon):
    """As many models as each bound allows, in equal shares of the five kinds: P(some is off) is at most delta, and
    delta itself for the Naive Bayes count. By the tail of the mean error it would be far more."""
    n, delta, repetitions = 4000, 0.1, 3000
    pool = shared_cause(n, w)
    found = LikeThese(pool, Fraction(str(epsilon)), delta).testable()
    assert 5 < found.union <= found.similarity <= found.naive_bayes < 40_000

    def rate(models: int) -> float:
        each = max(1, models // 5)
        hard = rng.binomial(n, w, repetitions)
        off = np.zeros(repetitions, dtype=bool)
        for kind in KINDS:
            reach = math.ceil(n * epsilon)
            counts = rng.binomial(hard[:, None], kind / w, (repetitions, each))
            off |= (np.abs(counts - round(n * kind)) >= reach).any(axis=1)
        return float(off.mean())

    noise = 4 * math.sqrt(delta / repetitions)
    assert rate(found.union) <= delta + noise
    assert rate(found.similarity) <= delta + noise
    assert rate(found.naive_bayes) == pytest.approx(delta, abs=noise + 0.01)
    by_the_mean = heldout.testable_models(n, Fraction(int(pool.wrong.sum()), 5 * n), 1, epsilon=epsilon, delta=delta)
    assert by_the_mean.union > 5 * found.union
    if w == 0.9:  # hardly anything in common, so that little else keeps the rate down
        assert rate(min(by_the_mean.union, 5000)) > 2 * delta


def test_union_is_the_mean_of_the_tails(cifar10_predictions):
    pool = PoolBound(similarity(cifar10_predictions))
    tails = [
        float(upper_tail(w + 100, 10_000, (w + 1) / 10_002) + lower_tail(w - 100, 10_000, (w + 1) / 10_002))
        for w in pool.wrong.tolist()
    ]
    found = LikeThese(pool, Fraction(1, 100), 0.05).testable()
    assert found.union == math.floor(0.05 * 30 / sum(tails)) == 41
    assert found.union <= found.similarity <= found.naive_bayes


@pytest.mark.parametrize(
    "epsilon", ["0.009", "0.011", *(pytest.param(e, marks=pytest.mark.slow) for e in ("0.0095", "0.0099"))]
)
def test_the_pool_fits_exactly_where_its_own_error_bar_says_so(cifar10_predictions, epsilon):
    pool = PoolBound(similarity(cifar10_predictions))
    union = LikeThese(pool, Fraction(epsilon), 0.05).testable().union
    # "off by epsilon or more" is "off by more than the example before"
    assert (union >= 30) == (pool_reach(pool, None, 0.05) <= math.ceil(10_000 * Fraction(epsilon)) - 1)


@pytest.mark.parametrize(
    "epsilon",
    [
        pytest.param("0.01234567890123456", marks=pytest.mark.slow),
        "0.0123456789012345678901234567890",
        "1e-30",
    ],
)
def test_epsilon_of_any_length(cifar10_predictions, epsilon):
    """Thresholds are whole examples: all digits count, and none may overflow."""
    pool = PoolBound(similarity(cifar10_predictions))
    like = LikeThese(pool, Fraction(epsilon), 0.05)
    assert (like.reach == math.ceil(10_000 * Fraction(epsilon))).all()
    found = heldout.budget(cifar10_predictions, epsilon=epsilon).testable
    assert found == like.testable()
    assert (found.union > 30) == (epsilon != "1e-30")


def tree_by_hand(pool, reach, delta):
    """The pool's tails less the overlaps along its tree, then every further model tied to its best neighbour."""
    tree = pool.tree(pool.wrong + reach)
    n, wrong, p = pool.n[0], pool.wrong, pool.p
    one = [float(upper_tail(w + reach, n, q) + lower_tail(w - reach, n, q)) for w, q in zip(wrong, p, strict=True)]
    best, both = [0.0] * len(one), 0.0
    for i, j, p11 in zip(tree.first, tree.second, tree.both_wrong, strict=True):
        overlap = float(joint_tail(n, p[i], p[j], p11, wrong[i] + reach, wrong[j] + reach)[0])
        overlap += float(
            joint_tail(n, p[i], p[j], p11, wrong[i] - reach, wrong[j] - reach, sides=("lower", "lower"))[0]
        )
        both += overlap
        best[i], best[j] = max(best[i], overlap), max(best[j], overlap)
    left = delta - (sum(one) - both)
    return 0 if left < 0 else len(one) + math.floor(left / (np.mean(one) - np.mean(best)))


@pytest.mark.parametrize(
    "epsilon", ["0.009", "0.012", *(pytest.param(e, marks=pytest.mark.slow) for e in ("0.0095", "0.01"))]
)
def test_the_tree_counts_where_it_is_the_tighter(cifar10_predictions, epsilon):
    pool = PoolBound(similarity(cifar10_predictions))
    like = LikeThese(pool, Fraction(epsilon), 0.05)
    assert like.by_tree() == tree_by_hand(pool, math.ceil(10_000 * Fraction(epsilon)), 0.05)
    found = like.testable()
    assert found.similarity == max(like.similarity(), like.by_tree(), found.union)


def test_a_chain_that_the_tree_knows_exactly(rng):
    """Models that are one model twice over cost once: by the tree, twice as many fit."""
    n, wrong = 2000, [300, 300, 500, 500]
    pool = made_pool(n, wrong, [300, 80, 80, 80, 80, 500])
    apart = made_pool(n, wrong[::2], [80])
    twice = LikeThese(pool, Fraction(3, 100), 0.05).by_tree()
    once = whole_union = LikeThese(apart, Fraction(3, 100), 0.05).testable().union
    assert twice >= 2 * once - 2 > whole_union


def test_assumption_fit_is_seldom_denied_where_it_holds(rng):
    repetitions, alarms = 200, 0
    for _ in range(repetitions):
        hard = rng.random(800) < 0.5
        correct = ~(hard & (rng.random((8, 800)) < np.linspace(0.1, 0.7, 8)[:, None]))
        fit = assumption_fit(PoolBound(similarity(correct)), 0.05)
        alarms += fit is not None and not fit.fits
    assert binomtest(alarms, repetitions, 0.05, alternative="greater").pvalue > 1e-3


def test_assumption_fit_is_denied_where_pairs_go_together(rng):
    """Two families with easy examples of their own: within one, models share more than A1 allows; across, less."""
    hard = rng.random((2, 4000)) < 0.5
    correct = ~(np.repeat(hard, 4, axis=0) & (rng.random((8, 4000)) < 0.5))
    fit = assumption_fit(PoolBound(similarity(correct)), 0.05)
    assert fit is not None
    assert fit.n_off == fit.n_pairs == 28
    shared, _ = common_cause(PoolBound(similarity(correct)))
    wrong = ~correct
    assert fit.observed == (wrong[fit.first] & wrong[fit.second]).mean()
    assert fit.implied == pytest.approx(wrong[fit.first].mean() * wrong[fit.second].mean() / shared)


def test_two_models_cannot_contradict_a1(rng):
    assert assumption_fit(PoolBound(similarity(rng.random((2, 500)) < 0.7)), 0.05) is None


def test_some_kinds_stand_for_all(cifar10_predictions, monkeypatch):
    """Large pools are counted by kinds taken evenly down the leaderboard; the union bound by all of them."""
    pool = PoolBound(similarity(cifar10_predictions))
    whole = LikeThese(pool, Fraction(12, 1000), 0.05).testable()
    monkeypatch.setattr("heldout.reuse.like_these.MOST_KINDS", 15)
    like = LikeThese(pool, Fraction(12, 1000), 0.05)
    assert len(like.kinds) == 15
    some = like.testable()
    assert some.union == whole.union
    assert some.similarity == pytest.approx(whole.similarity, rel=0.1)
    assert some.naive_bayes == pytest.approx(whole.naive_bayes, rel=0.5)


def test_missing_cells_count_each_model_by_its_own_examples(rng):
    correct = rng.random((20, 5000)) < 0.8
    observed = rng.random((20, 5000)) < 0.3
    result = heldout.budget(Predictions.from_correct(correct, observed=observed), epsilon=0.04)
    whole = heldout.testable_models(1500, 0.2, 0.68, epsilon=0.04)
    assert 0.5 * whole.union < result.testable.union < 2 * whole.union
    assert result.testable.naive_bayes is None
    assert "some answers are missing" in result.testable.reason
    assert result.testable.similarity == result.testable.union  # no two were run on the same examples
    assert 0.5 * whole.union < result.equal.union < 2 * whole.union


def test_nested_errors_are_not_less_alike_than_chance():
    """The strongest dependence there is, with errors far apart."""
    correct = np.ones((2, 500), dtype=bool)
    correct[0, :10] = correct[1, :300] = False
    result = heldout.budget(correct, epsilon=0.1)
    assert result.testable.reason is None
    assert result.testable.naive_bayes is not None
    assert result.equal.similarity is None  # for one common error, that similarity is below chance


def test_less_alike_than_chance():
    correct = np.ones((3, 300), dtype=bool)
    for i in range(3):
        correct[i, 60 * i : 60 * i + 60] = False
    result = heldout.budget(correct, epsilon=0.1)
    assert result.testable.naive_bayes is None
    assert "both wrong less often" in result.testable.reason
    assert result.testable.similarity >= result.testable.union
    assert result.pool.difficulty_forecast is None


@pytest.mark.slow
@given(st.integers(2, 4), st.integers(2, 60), st.data())
@settings(deadline=None, max_examples=60)
def test_pools_at_the_edge_of_what_is_possible_are_not_refused(k, n, data):
    """Errors that never fall together, or right answers that never do."""
    correct = np.ones((k, n), dtype=bool)
    each = data.draw(st.integers(1, max(1, n // k)))
    for i in range(k):
        correct[i, i * each : (i + 1) * each] = False
    if data.draw(st.booleans()):
        correct = ~correct
    testable = heldout.budget(correct, epsilon=0.2).testable
    if n <= 6 and testable.similarity is None:
        assert "too few to say how many models fit" in testable.reason
    else:
        assert testable.union <= testable.similarity


@pytest.mark.parametrize("right", [True, False])
def test_all_right_or_all_wrong(right):
    """There is no error to plug in, and still something to tell."""
    result = heldout.budget(np.full((3, 50), right), epsilon=0.01)
    assert result.equal is None
    assert result.by_similarity is None
    assert ((result.pool.high - result.pool.low) > 0.05).all()
    assert 0 <= result.testable.union < bounds.LARGEST
    assert result.testable.count == result.further_models == 0


def test_common_cause_and_forecast(rng):
    """40 % of the examples are hard; on those, three kinds of models err on their own."""
    n, x = 60_000, np.array([0.2, 0.5, 0.9])
    hard = rng.random(n) < 0.4
    correct = ~(hard & (rng.random((3, n)) < x[:, None]))
    pool = PoolBound(similarity(correct))
    shared, reason = common_cause(pool)
    assert reason is None
    assert shared == pytest.approx(0.4, abs=0.02)
    np.testing.assert_allclose(difficulty_forecast(pool), pool.similarity.difficulty_curve(), atol=0.01)


def test_rates_of_the_union_count_in_the_paper_s_setting(rng):
    """Independent models: union and Naive Bayes counts agree to first order, and the rate is delta."""
    pool = equal_pool(40, 2000, 400, 80)
    found = LikeThese(pool, Fraction(3, 100), 0.05).testable()
    counts = rng.binomial(2000, 0.2, (4000, found.union))
    hits = int((np.abs(counts - 400) >= 60).any(axis=1).sum())
    assert binomtest(hits, 4000, 0.05, alternative="greater").pvalue > 1e-4
    assert found.naive_bayes == pytest.approx(found.union * -math.log1p(-0.05) / 0.05, rel=0.02)
