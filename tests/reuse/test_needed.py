"""Examples that are needed: met at the printed number, missed at four fifths of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

import heldout
from heldout.reuse.needed import examples_within, round_up
from heldout.statistics.binomial import sign_test_log_pvalues
from heldout.statistics.mcnemar_power import MANY, detectable_gap, examples_for_gap, mcnemar_power
from tests.reuse.test_grouped import draw, grouped_pool
from tests.reuse.test_leaderboard import matrices


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
def test_groups(rng):
    """Groups of 1 to 20 examples, 70 % alike: with as many groups as n examples make, epsilon is met and missed, and a
    difference is told about as often as promised."""
    errors = np.array([0.2, 0.3, 0.3, 0.3, 0.4])
    wrong, codes = draw(rng, 400, errors, 0.7)
    result = heldout.budget(~wrong, groups=codes, epsilon=0.06, gap=0.1)
    per_group = len(codes) / 400
    met = {}
    for share in (1.0, 0.8):
        n_groups = round(share * result.needed.examples_for_epsilon / per_group)
        drawn = [draw(rng, n_groups, errors, 0.7)[0].mean(axis=1) for _ in range(600)]
        met[share] = np.mean([(np.abs(mean - errors) <= 0.06).all() for mean in drawn])
    assert met[1.0] >= 0.95 - 0.035  # design effects were estimated from 400 groups
    assert met[0.8] < met[1.0]
    n_groups = round(result.needed.examples_for_gap / per_group)
    told = 0
    for _ in range(300):
        sample, groups = draw(rng, n_groups, [0.2, 0.3], 0.7)
        pool = grouped_pool(sample, groups)
        told += bool(pool.log_p_values(0, np.array([1]))[0] <= math.log(0.05))
    assert 0.65 < told / 300 < 0.95
