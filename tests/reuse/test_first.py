"""Who may be first: a count by hand, and coverage on synthetic and on real matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from heldout.predictions import Predictions
from heldout.reuse import first as module
from heldout.reuse import leaderboard
from heldout.reuse.first import exclusion_level, may_be_among
from heldout.reuse.leaderboard import PairTests, leaderboard_order
from heldout.reuse.similarity import similarity
from tests.reuse.test_grouped import draw, grouped_pool
from tests.reuse.test_leaderboard import matrices

DELTA = 0.05


def sets_of(right, groups=None, observed=None):
    counts = similarity(Predictions.from_correct(right, observed=observed)) if groups is None else groups.similarity
    return may_be_among(PairTests(counts, DELTA, groups), leaderboard_order(counts))


@pytest.fixture
def ladder(rng):
    ease = rng.random(800)
    return 0.6 * ease + 0.4 * rng.random((14, 800)) < np.linspace(0.75, 0.5, 14)[:, None]


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_by_hand(ladder, rng, missing):
    """Every other model with scipy's one-sided test; excluded from the top T by T of them."""
    observed = rng.random(ladder.shape) >= missing
    k, sets = 14, sets_of(ladder, observed=observed if missing else None)
    p = np.ones((k, k))
    for i in range(k):
        for j in range(k):
            both = observed[i] & observed[j] if missing else np.ones(800, bool)
            wins, losses = int((both & ladder[i] & ~ladder[j]).sum()), int((both & ladder[j] & ~ladder[i]).sum())
            if wins > losses:
                p[i, j] = binomtest(wins, wins + losses, alternative="greater").pvalue
    for top in (1, 3, 10):
        level = DELTA / sum((k - top - 1 + a) / a for a in range(1, top + 1))
        assert exclusion_level(top, k, DELTA) == pytest.approx(level)
        assert set(sets[top]) == {j for j in range(k) if (p[:, j] <= level).sum() < top}
    assert 1 <= len(sets[1]) < len(sets[3]) < len(sets[10]) <= 14


def test_small_and_large_pools(ladder, monkeypatch):
    assert sets_of(ladder[:3])[3] == sets_of(ladder[:3])[10] == tuple(leaderboard_order(similarity(ladder[:3])))
    whole = sets_of(ladder)
    monkeypatch.setattr(leaderboard, "MOST_RANKED", 10)  # pairs are then not all tested
    assert sets_of(ladder) == whole
    monkeypatch.setattr(module, "LEADERS", 1)
    assert set(sets_of(ladder)[1]) >= set(whole[1])


def missed(sets, means):
    """For each T whether some of the true top T is missing."""
    order = np.argsort(-means, kind="stable")
    return np.array([not set(order[:top].tolist()) <= set(sets[top]) for top in (1, 3, 10)])


def check(count, repetitions):
    assert (count <= repetitions * DELTA + 3 * math.sqrt(repetitions * DELTA * (1 - DELTA))).all()


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.0, 0.005, 0.02])
@pytest.mark.parametrize("alike", [0.0, 0.8])
def test_coverage(rng, step, alike):
    skill = 0.7 - step * np.arange(15)
    repetitions, count, sizes = 600, np.zeros(3), np.zeros(3)
    for _ in range(repetitions):
        cells = np.where(rng.random(250) < alike, rng.random(250), rng.random((15, 250)))
        sets = sets_of(cells < skill[:, None])
        count += missed(sets, skill)
        sizes += [len(sets[top]) for top in (1, 3, 10)]
    check(count, repetitions)
    assert step == 0.0 or (sizes < 15 * repetitions).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cifar10", "mmlu_pro", "open_llm"])
@pytest.mark.parametrize("n", [250, 1000])
def test_coverage_on_real_matrices(rng, name, n):
    found = dict(matrices())
    if name not in found:
        pytest.skip(f"needs ../shared/data for {name}")
    right = found[name]
    repetitions, count = 200, np.zeros(3)
    for _ in range(repetitions):
        count += missed(sets_of(right[:, rng.integers(0, right.shape[1], n)]), right.mean(axis=1))
    check(count, repetitions)


@pytest.mark.slow
def test_coverage_with_groups(rng):
    """Groups of 1 to 20 examples, 70 % alike; twelve models, several of them equally good."""
    errors = np.repeat([0.2, 0.25, 0.35, 0.4], 3)
    repetitions, count = 300, np.zeros(3)
    for _ in range(repetitions):
        wrong, codes = draw(rng, 60, errors, 0.7)
        count += missed(sets_of(~wrong, groups=grouped_pool(wrong, codes)), -errors)
    check(count, repetitions)
