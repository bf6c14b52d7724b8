"""The three bounds against published numbers, brute force and simulated pools."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from heldout.errors import InputError
from heldout.reuse import bounds
from heldout.reuse.bounds import (
    LARGEST,
    NAIVE_BAYES_POINTS,
    Setting,
    SimilarityBound,
    log_inside_of,
    naive_bayes_sum,
)
from heldout.reuse.thresholds import both_wrong, error_thresholds, exact
from heldout.statistics.binomial import lower_tail, upper_tail

# error, similarity, published gains of the similarity and of the Naive Bayes bound (table 1; n = 10,000)
TABLE_1 = [(0.032, 0.975, 9.9, 1.6e4), (0.031, 0.976, 12.0, 3.4e4)]


def naive_bayes_probability(setting: Setting, k: float) -> float:
    """P(some of k models is off) under Assumption A1 (15), in closed form."""
    values, weights = setting.coupling.nodes(setting.n, points_per_width=NAIVE_BAYES_POINTS)
    return naive_bayes_sum(weights, log_inside_of(setting, values), k)


def setting(n, p, eta, epsilon):
    return Setting(n, p, float(both_wrong(p, eta)), *error_thresholds(n, p, epsilon))


def test_imagenet():
    models = bounds.testable_models(50_000, 0.244, 0.85, epsilon=0.01, delta=0.05)
    assert models.union == 251_165
    assert models.similarity == pytest.approx(1_062_137, abs=1)
    assert models.naive_bayes == pytest.approx(128_963_384, rel=1e-6)


def test_the_published_union_bound_has_its_lower_threshold_one_too_low():
    n, p, delta = 50_000, 0.244, 0.05
    one = float(upper_tail(12_700, n, p) + lower_tail(11_699, n, p))
    assert math.floor(delta / one) == 257_397


def gains(p, eta, *, lo_shift=0):
    s = setting(10_000, p, eta, 0.01)
    s = Setting(s.n, s.p, s.p11, s.lo + lo_shift, s.hi)
    union = bounds.union_bound_models(s, 0.05)
    return bounds.similarity_bound_models(s, 0.05) / union, bounds.naive_bayes_models(s, 0.05) / union


@pytest.mark.parametrize(("p", "eta", "published_similarity", "published_naive_bayes"), TABLE_1)
def test_table_1(p, eta, published_similarity, published_naive_bayes):
    similarity, naive_bayes = gains(p, eta)
    assert similarity == pytest.approx({0.032: 10.4, 0.031: 13.0}[p], rel=0.01)
    assert naive_bayes == pytest.approx({0.032: 1.2e4, 0.031: 2.5e4}[p], rel=0.02)
    # Inputs are printed with three digits; each published gain lies inside what that leaves open.
    corners = [gains(p + a, eta + b) for a in (-0.0005, 0.0005) for b in (-0.0005, 0.0005)]
    for published, values in zip(
        (published_similarity, published_naive_bayes), zip(*corners, strict=True), strict=True
    ):
        assert min(values) < published < max(values)


@pytest.mark.parametrize(("p", "eta", "expected"), [(0.032, 0.975, 1.5e4), (0.031, 0.976, 3.2e4)])
def test_table_1_with_the_threshold_one_too_low(p, eta, expected):
    assert gains(p, eta, lo_shift=-1)[1] == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("k", [2, 7, 40])
def test_similarity_bound_against_every_c_and_d(k):
    """The bound at its best c and d equals the minimum over all of them, tails summed the slow way."""
    s = setting(120, 0.2, 0.85, 0.09)
    w, x = s.coupling.w, s.coupling.x1
    j = np.arange(s.n + 1)
    pmf = binom.pmf(j, s.n, w)
    above = [
        binom.sf(c - 1, s.n, s.p) + (k - 1) * np.sum(pmf * binom.sf(s.hi - 1, j, x) * binom.cdf(c - 1, j, x))
        for c in range(s.hi + 1)
    ]
    below = [
        binom.cdf(d, s.n, s.p) + (k - 1) * np.sum(pmf * binom.cdf(s.lo, j, x) * binom.sf(d, j, x))
        for d in range(s.lo, s.n + 1)
    ]
    assert SimilarityBound(s).probability(k) == pytest.approx(min(above) + min(below), rel=1e-10)


def test_models_is_the_last_that_fits():
    for s, delta in ((setting(2000, 0.2, 0.85, 0.04), 0.05), (setting(500, 0.1, 0.95, 0.05), 0.1)):
        k = bounds.similarity_bound_models(s, delta)
        bound = SimilarityBound(s)
        assert bound.probability(k) <= delta < bound.probability(k + 1)
        k = bounds.naive_bayes_models(s, delta)
        assert naive_bayes_probability(s, k) <= delta < naive_bayes_probability(s, k + 1)
        k = bounds.union_bound_models(s, delta)
        assert k * s.one_model <= delta < (k + 1) * s.one_model


def test_naive_bayes_against_the_plain_sum():
    """(15) summed over every j with scipy's binomials."""
    s = setting(3000, 0.2, 0.9, 0.02)
    j = np.arange(s.n + 1)
    inside = binom.cdf(s.hi - 1, j, s.coupling.x1) - binom.cdf(s.lo, j, s.coupling.x1)
    expected = np.sum(binom.pmf(j, s.n, s.coupling.w) * (1 - np.clip(inside, 0, 1) ** 25))
    assert naive_bayes_probability(s, 25) == pytest.approx(expected, rel=1e-9)


def simulated_pools(rng, s, k, repetitions):
    """How often some of k models is off, drawn from the coupling: W is shared, X is each model's own."""
    hard = rng.binomial(s.n, s.coupling.w, repetitions)
    wrong = rng.binomial(hard[:, None], s.coupling.x1, (repetitions, k))
    return int(((wrong >= s.hi) | (wrong <= s.lo)).any(axis=1).sum())


@pytest.mark.parametrize(
    ("n", "p", "eta", "epsilon", "k"),
    [
        (1000, 0.25, 0.85, 0.04, 5),
        (1000, 0.25, 0.95, 0.035, 40),
        (300, 0.05, 0.97, 0.03, 20),
        (5000, 0.4, 0.6, 0.02, 10),
    ],
)
def test_simulated_pools_stay_below_the_bounds(rng, n, p, eta, epsilon, k):
    """20,000 pools: the rate is what the Naive Bayes formula says and no more than the other two allow."""
    s, repetitions = setting(n, p, eta, epsilon), 20_000
    hits = simulated_pools(rng, s, k, repetitions)
    exact_rate = naive_bayes_probability(s, k)
    assert hits > 30  # the event happens, so the comparison means something
    assert binomtest(hits, repetitions, exact_rate).pvalue > 1e-6
    similarity, union = SimilarityBound(s).probability(k), min(1.0, k * s.one_model)
    assert exact_rate <= similarity <= union
    assert hits / repetitions <= similarity + 4 * math.sqrt(similarity / repetitions)


def test_pools_that_are_not_naive_bayes_stay_below_too(rng):
    """Same error and pairwise similarity, other higher orders: two examples in a hundred are wrong for all."""
    n, k, epsilon = 1000, 30, 0.04
    always, rest = 0.02, 0.2
    p = always + (1 - always) * rest
    p11 = always + (1 - always) * rest**2
    s = Setting(n, p, p11, *error_thresholds(n, exact(p), epsilon))
    common = rng.binomial(n, always, 20_000)
    wrong = common[:, None] + rng.binomial((n - common)[:, None], rest, (20_000, k))
    hits = int(((wrong >= s.hi) | (wrong <= s.lo)).any(axis=1).sum())
    bound = SimilarityBound(s).probability(k)
    assert 30 < hits <= 20_000 * bound + 4 * math.sqrt(20_000 * bound)


@pytest.mark.parametrize("n", [1000, 49_999, 50_000])
@pytest.mark.parametrize("p", ["0.244", "0.1", "0.333"])
def test_thresholds_are_exact(n, p):
    lo, hi = error_thresholds(n, float(p), 0.01)
    assert (lo + Fraction(1, 100) * n <= n * Fraction(p), hi - n * Fraction(p) >= Fraction(n, 100)) == (True, True)
    assert (lo + 1) > n * (Fraction(p) - Fraction("0.01"))
    assert (hi - 1) < n * (Fraction(p) + Fraction("0.01"))


def test_order_of_the_bounds_and_their_limits():
    """Never above one another; at chance all agree, at identity the similarity bound has no end."""
    for eta in (0.6311, 0.7, 0.85, 0.95, 0.99):
        m = bounds.testable_models(50_000, 0.244, eta)
        assert m.union <= m.similarity <= m.naive_bayes
    chance = float(exact(0.244) ** 2 + (1 - exact(0.244)) ** 2)
    m = bounds.testable_models(50_000, 0.244, chance + 1e-12)
    assert m.similarity == pytest.approx(m.union, rel=1e-4)
    # Independent trials: 1 - (1 - r)^k = delta, a little more than the union bound's delta / r.
    assert m.naive_bayes == pytest.approx(-math.log1p(-0.05) / 0.05 * m.union, rel=1e-3)
    assert bounds.testable_models(50_000, 0.244, 1).similarity == LARGEST


def test_no_model_fits():
    m = bounds.testable_models(100, 0.3, 0.8, epsilon=0.01)
    assert (m.union, m.similarity, m.naive_bayes) == (0, 0, 0)


def test_less_alike_than_chance_leaves_the_union_bound():
    m = bounds.testable_models(50_000, 0.244, 0.55)
    assert (m.union, m.similarity, m.naive_bayes) == (251_165, None, None)
    assert "err independently have a similarity of 0.6311, and 0.55 is less" in m.reason
    assert "only the union bound applies" in m.reason


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"similarity": 0.3}, "no two models with error 0.244 have similarity 0.3: they agree on at least 0.512"),
        ({"similarity": 1.2}, "no two models"),
        ({"error": 0.0}, "`error` is 0"),
        ({"error": math.nan}, "`error` is nan"),
        ({"epsilon": 0.0}, "`epsilon` is 0"),
        ({"epsilon": 1.0}, "`epsilon` is 1"),
        ({"delta": 1.5}, "`delta` is 1.5"),
        ({"n_examples": 0}, "`n_examples` is 0"),
        ({"similarity": math.nan}, "`similarity` is nan"),
    ],
)
def test_impossible_numbers(change, words):
    numbers = {"n_examples": 50_000, "error": 0.244, "similarity": 0.85, "epsilon": 0.01, "delta": 0.05} | change
    with pytest.raises(InputError, match=words.replace("`", "`")):
        bounds.testable_models(numbers.pop("n_examples"), numbers.pop("error"), numbers.pop("similarity"), **numbers)
