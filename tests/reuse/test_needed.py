"""Examples that are needed: met at the printed number, missed at four fifths of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

import heldout
from heldout.reuse.needed import BoundedGap, examples_within, round_up
from heldout.statistics.binomial import sign_test_log_pvalues
from heldout.statistics.mcnemar_power import MANY, detectable_gap, examples_for_gap, mcnemar_power
from tests.reuse.test_grouped import draw
from tests.reuse.test_leaderboard import OPEN_LLM, matrices

LIVECODEBENCH = OPEN_LLM.parent / "livecodebench_apr2024.npz"


def test_power_by_enumeration():
    """All (b, c) of 30 examples with scipy's test."""
    n, psi, gap = 30, 0.4, 0.3
    better, worse = (psi + gap) / 2, (psi - gap) / 2
    total = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            if b > c and binomtest(b, b + c).pvalue <= 0.05:
                log = math.lgamma(n + 1) - math.lgamma(b + 1) - math.lgamma(c + 1) - math.lgamma(n - b - c + 1)
                rest = (n - b - c) * math.log(1 - psi)
                total += math.exp(log + b * math.log(better) + c * math.log(worse) + rest)
    assert mcnemar_power(n, psi, gap, level=0.05) == pytest.approx(total, rel=1e-10)


def test_power_is_the_same_on_both_sides_of_many(monkeypatch):
    n = round(1.02 * MANY / 0.1)
    normal = mcnemar_power(n, 0.1, 0.004, level=0.05)
    monkeypatch.setattr("heldout.statistics.mcnemar_power.MANY", 10**9)
    assert mcnemar_power(n, 0.1, 0.004, level=0.05) == pytest.approx(normal, abs=0.001)


@pytest.mark.parametrize(("gap", "psi"), [(0.2, 0.3), (0.05, 0.1), (0.01, 0.08), (0.3, 0.1), (0.0004, 0.03)])
def test_gap_and_examples_are_each_others_inverse(gap, psi):
    n = examples_for_gap(gap, psi, level=0.05)
    assert mcnemar_power(n, psi, gap, level=0.05) >= 0.8 > mcnemar_power(round(0.8 * n), psi, gap, level=0.05)
    assert detectable_gap(n, psi, level=0.05) == pytest.approx(gap, rel=0.03)


def test_what_cannot_be_had():
    assert examples_for_gap(1e-7, 0.1, level=0.05) is None
    assert examples_for_gap(0.0, 0.1, level=0.05) is None
    assert math.isnan(detectable_gap(5, 0.5, level=0.05))  # 5 to 0 has p = 0.0625
    assert examples_within(np.array([0.5]), np.ones((1, 1)), 1e-7, 0.05) is None
    assert [round_up(x) for x in (0.010000001, 0.3, 1e-5, 1.0)] == [0.015, 0.3, 1e-5, 0.99]


def test_one_model_by_its_binomial():
    n = examples_within(np.array([0.3]), np.ones((1, 1)), 0.05, 0.05)
    inside = [binom.cdf(math.floor(m * 0.35 + 1e-9), m, 0.3) - binom.cdf(math.ceil(m * 0.25 - 1e-9) - 1, m, 0.3)
              for m in (n, round(0.8 * n))]  # fmt: skip
    assert inside[0] >= 0.95 > inside[1]


@pytest.mark.parametrize(("error", "epsilon"), [(0.5, 0.1), (0.01, 0.01), (0.99, 0.01), (0.3, 0.05), (0.001, 0.01)])
def test_from_the_number_printed_on_it_holds_for_good(error, epsilon):
    """Every number of examples: the one below fails, none from it on does (0.5 at 0.1: 94 holds, 96 does not)."""

    def inside(m):
        top, bottom = math.floor(m * (error + epsilon) + 1e-9), math.ceil(m * (error - epsilon) - 1e-9)
        return binom.cdf(top, m, error) - binom.cdf(bottom - 1, m, error)

    n = examples_within(np.array([error]), np.ones((1, 1)), epsilon, 0.05)
    assert inside(n - 1) < 0.95
    assert all(inside(m) >= 0.95 for m in range(n, 3 * n))


@pytest.mark.parametrize(
    ("n", "k", "right"), [(20, 2, 0.5), (50, 10, 0.7), (100, 2, 0.7), (100, 4, 0.9), (200, 4, 0.3)]
)
def test_the_pools_own_error_bar_is_not_contradicted(rng, n, k, right):
    """What holds for all models on n examples takes no more than n."""
    for _ in range(2):
        result = heldout.budget(rng.random((k, n)) < right)
        assert result.epsilon >= result.pool.epsilon["similarity"]
        assert 1 <= result.needed.examples_for_epsilon <= n


def test_groups_take_whole_groups_and_perfect_models_more_than_one(rng):
    codes = np.repeat(np.arange(50), 10)
    needed = heldout.budget(np.ones((3, 500), dtype=bool), groups=codes, epsilon=0.02).needed
    assert needed.examples_for_epsilon > 500
    assert needed.examples_for_epsilon % 10 == 0
    few = heldout.budget(rng.random((4, 40)) < 0.7, groups=np.arange(40) % 4).needed
    assert math.isnan(few.gap_now)  # four coins of one kind have p = 0.125


def score_budget(scores, **options):
    return heldout.budget(heldout.Predictions.from_scores(scores), **options)


def test_scores_at_the_edges(rng):
    """Models that never differ, one that is better everywhere, a second that is better on the examples both have."""
    base = rng.uniform(0.2, 0.7, 200)
    same = score_budget(np.tile(base, (3, 1))).needed
    assert same.first_gap is None
    assert same.examples_for_first is None
    assert 0.005 < same.gap_now < 0.2  # unseen examples could differ: 0 could not be told
    assert same.examples_for_gap > 100
    shifted = score_budget(np.stack([base, base + 0.1])).needed
    assert shifted.first_gap == pytest.approx(0.1)
    assert 6 <= shifted.examples_for_first <= 100
    assert shifted.gap_now > 0.005
    rounded = score_budget(np.stack([base, base * (1 + 1e-15)])).needed
    assert rounded.first_gap is None
    assert score_budget(rng.random((2, 50)), gap=1e-9).needed.examples_for_gap is None  # past 10^12
    scores, observed = np.full((2, 100), 0.6), np.ones((2, 100), dtype=bool)
    scores[1] = 0.7 + 0.1 * rng.random(100)
    scores[0, 50:] = 0.99
    observed[1, 50:] = False
    turned = heldout.budget(heldout.Predictions.from_scores(np.ma.masked_array(scores, ~observed)))
    assert turned.pool.order[0] == 0
    assert turned.needed.first_gap is None


def bounded_p(d, largest, rng, draws=20_000):
    """The p-value of the test by its definition: exponential weights, one unit more."""
    weights = rng.standard_exponential((draws, d.shape[-1]))
    return 2 * np.mean(d @ weights.T <= largest * rng.standard_exponential(draws), axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize(("n_groups", "size", "sd"), [(12, 25, 0.15), (50, 5, 0.2), (50, 1, 0.2), (100, 1, 0.05)])
def test_a_gap_is_told_as_often_as_promised_in_few_units(rng, n_groups, size, sd):
    """Scores in few groups, or few examples: a gap by normal quantiles would be told 62 % of the time, or never."""
    test = BoundedGap(np.full(n_groups, float(size)), 0.05, lambda variance, gap: variance)
    gap = test.now(sd**2)
    assert test.examples(gap, sd**2) == pytest.approx(n_groups * size, abs=2)

    def told(gap):
        sums = size * gap + math.sqrt(size) * sd * rng.standard_normal((400, n_groups))
        return np.mean(bounded_p(sums, size, rng) <= 0.05)

    assert told(1.08 * gap) >= 0.75
    assert told(0.87 * gap) < 0.8


def test_a_gap_of_scores_in_few_groups_is_no_normal_quantile(rng):
    codes = np.repeat(np.arange(8), 25)
    scores = np.clip(rng.random((2, 200)) * 0.5 + 0.2 * rng.random((2, 8))[:, codes], 0, 1)
    result = score_budget(scores, groups=codes)
    error = math.sqrt(result.needed.disagreement / 200)
    assert result.needed.gap_now > 1.15 * (1.96 + 0.8416) * error
    few = score_budget(scores[:, :75], groups=codes[:75]).needed
    assert math.isnan(few.gap_now)


def test_clones_need_no_more_than_one_of_them():
    """Twenty copies of one model are one model (whole counts make steps of some percent); the union bound's 3.02
    standard errors instead of 1.96 would ask for 2.4 times as many."""
    right = np.random.default_rng(0).random(4000) < 0.7
    result = heldout.budget(np.tile(right, (20, 1)), epsilon=0.05)
    alone = examples_within(np.array([1 - right.mean()]), np.ones((1, 1)), 0.05, 0.05)
    assert result.needed.examples_for_epsilon == pytest.approx(alone, rel=0.12)


def share_within(wrong, n, epsilon, repetitions, rng):
    """How often all models are within epsilon on n examples drawn from the table."""
    size, means, hits = wrong.shape[1], wrong.mean(axis=1, dtype=np.float64)[:, None], 0
    wrong = wrong.astype(np.float32)
    for _ in range(repetitions // 50):
        drawn = rng.multinomial(n, np.full(size, 1 / size), 50).T.astype(np.float32)
        hits += int((np.abs(wrong @ drawn / n - means) <= epsilon + 1e-6).all(axis=0).sum())
    return hits / repetitions


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cifar10", "mmlu_pro", "open_llm", "synthetic"])
def test_epsilon_is_met_and_missed_at_four_fifths(rng, name):
    found = {**dict(matrices()), "synthetic": rng.random((12, 2000)) < np.linspace(0.5, 0.9, 12)[:, None]}
    if name not in found:
        pytest.skip(f"needs ../shared/data for {name}")
    right = found[name][:, :3000]
    result = heldout.budget(right, epsilon=0.04)
    n, repetitions = result.needed.examples_for_epsilon, 1500
    noise = math.sqrt(0.05 * 0.95 / repetitions)
    assert share_within(~right, n, 0.04, repetitions, rng) >= 0.95 - 3 * noise
    assert share_within(~right, round(0.8 * n), 0.04, repetitions, rng) < 0.95 - 3 * noise


@pytest.mark.slow
def test_gap_is_told_and_missed_at_four_fifths(rng, cifar10_predictions):
    """Pairs of models that part as often as the pool's, and a gap apart as asked."""
    needed = heldout.budget(cifar10_predictions, gap=0.03).needed
    n, psi, repetitions = needed.examples_for_gap, needed.disagreement, 4000
    noise = math.sqrt(0.16 / repetitions)

    def told(n):
        cells = rng.multinomial(n, [(psi + 0.03) / 2, (psi - 0.03) / 2, 1 - psi], repetitions)
        return np.mean(
            (sign_test_log_pvalues(cells[:, 0], cells[:, 1]) <= math.log(0.05)) & (cells[:, 0] > cells[:, 1])
        )

    assert told(n) >= 0.8 - 3 * noise
    assert told(round(0.8 * n)) < 0.8 - 3 * noise
    now = needed.gap_now
    cells = rng.multinomial(10_000, [(psi + now) / 2, (psi - now) / 2, 1 - psi], repetitions)
    shown = np.mean(sign_test_log_pvalues(cells[:, 0], cells[:, 1]) <= math.log(0.05))
    assert shown == pytest.approx(0.8, abs=3 * noise)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.06, 0.12])
@pytest.mark.parametrize("kind", ["alone", "alike", "steady", "livecodebench"])
def test_scores_are_met_and_missed_at_four_fifths(rng, kind, epsilon):
    """Mean scores on n examples drawn from the table; a bound over all models asked for 1.3 to 2.5 times as many."""
    base = rng.random(400)
    tables = {
        "alone": rng.random((5, 400)),
        "alike": np.clip(base + rng.normal(0, 0.02, (30, 400)), 0, 1),
        "steady": np.vstack([np.clip(base, 0.4, 0.8), np.where(rng.random((2, 400)) < 0.9, 1.0, 0.2)]),
    }
    if kind == "livecodebench":
        if not LIVECODEBENCH.exists():
            pytest.skip("needs ../shared/data for livecodebench")
        with np.load(LIVECODEBENCH) as data:
            tables[kind] = data["pass1"] / 100
    scores, repetitions = tables[kind], 3000
    n = score_budget(scores, epsilon=epsilon).needed.examples_for_epsilon
    noise = math.sqrt(0.05 * 0.95 / repetitions)
    assert share_within(scores, n, epsilon, repetitions, rng) >= 0.95 - 3 * noise
    assert share_within(scores, round(0.8 * n), epsilon, repetitions, rng) < 0.95


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "alike", "right", "epsilon"),
    [([5] * 200, 0.7, 0.7, 0.06), ([5] * 100, 0.9, 0.98, 0.05), ([1, 2, 3, 5, 10, 20] * 40, 0.7, 0.7, 0.08)],
)
def test_groups_are_met_and_missed_at_four_fifths(rng, sizes, alike, right, epsilon):
    """Whole groups drawn from the table."""
    sizes = np.array(sizes)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    whole = (rng.random((10, len(sizes))) < right)[:, codes]
    table = np.where(rng.random((10, len(codes))) < alike, whole, rng.random((10, len(codes))) < right)
    n = heldout.budget(table, groups=codes, epsilon=epsilon).needed.examples_for_epsilon
    wrong = np.stack([np.bincount(codes, ~row) for row in table])
    means, per_group, repetitions = (~table).mean(axis=1)[:, None], sizes.mean(), 4000

    def met(n_groups):
        drawn = rng.integers(0, len(sizes), (repetitions, n_groups))
        shares = wrong[:, drawn].sum(axis=2) / sizes[drawn].sum(axis=1)
        return np.mean((np.abs(shares - means) <= epsilon + 1e-9).all(axis=0))

    noise = math.sqrt(0.05 * 0.95 / repetitions)
    assert met(round(n / per_group)) >= 0.95 - 3 * noise
    assert met(round(0.8 * n / per_group)) < 0.95


@pytest.mark.slow
def test_a_gap_between_groups_is_told_as_often_as_promised(rng):
    """Groups of 1 to 20 examples, 70 % alike."""
    wrong, codes = draw(rng, 400, np.array([0.2, 0.3, 0.3, 0.3, 0.4]), 0.7)
    needed = heldout.budget(~wrong, groups=codes, gap=0.1).needed
    n_groups, told = round(needed.examples_for_gap * 400 / len(codes)), 0
    for _ in range(300):
        sample, groups = draw(rng, n_groups, [0.2, 0.3], 0.7)
        sizes = np.bincount(groups)
        d = np.bincount(groups, sample[1].astype(float) - sample[0])
        told += bool(bounded_p(d, sizes.max(), rng, 4_000) <= 0.05)
    assert 0.68 < told / 300 < 0.92
