"""The winner's drop: an exact count of all splits, and a corrected score that is unbiased."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from heldout.reuse import winner
from heldout.reuse.winner import _drop, expected_drop
from tests.reuse.test_leaderboard import matrices


def all_splits(scores, taken):
    """D by every choice of blocks, one unit each: the winner inside less the same model outside."""
    n = scores.shape[1]
    lost = []
    for inside in itertools.combinations(range(n), taken):
        outside = [i for i in range(n) if i not in inside]
        best = int(np.argmax(scores[:, inside].mean(axis=1)))
        lost.append(scores[best, list(inside)].mean() - scores[best, outside].mean())
    return float(np.mean(lost))


@pytest.mark.parametrize("taken", [2, 4, 6])
def test_every_split_counted(rng, taken):
    scores = (rng.random((5, 8)) < 0.6).astype(np.float32)
    blocks = np.broadcast_to(scores, (400, 5, 8))
    cells = np.ones((400, 1, 8), np.float32)
    assert _drop(blocks, cells, taken, rng) == pytest.approx(all_splits(scores, taken), abs=0.01)


def test_a_safe_winner_loses_nothing_and_few_examples_say_nothing(rng):
    right = rng.random((6, 400)) < np.array([0.95, 0.5, 0.5, 0.4, 0.3, 0.3])[:, None]
    assert expected_drop(right, rng=rng) == 0.0
    assert math.isnan(expected_drop(right[:, :3], rng=rng))
    assert math.isnan(expected_drop(right, codes=np.arange(400) % 3, rng=rng))


def test_few_groups_that_hold_most_examples_say_nothing(rng):
    sizes = np.array([1, 1, 1, 1, 30, 30])
    codes = np.repeat(np.arange(6), sizes)
    right = (rng.random((10, 6)) < 0.7)[:, codes]
    assert math.isnan(expected_drop(right, codes=codes, rng=rng))
    assert expected_drop(right, codes=np.arange(64) % 8, rng=rng) >= 0


@pytest.mark.parametrize("sizes", [[1, 2, 3, 5, 10, 20], [7] * 6])
def test_the_leader_alone_loses_nothing_whatever_the_sizes(rng, sizes):
    """With one model nothing is chosen, and splits of unequal blocks must not tell of a drop."""
    cells = np.broadcast_to(np.array(sizes, np.float32), (50, 1, 6))
    right = np.floor(cells * rng.random((50, 1, 1)).astype(np.float32))
    assert _drop(right, cells, 5, rng) == 0.0
    # the splits behind it, without taking the leader off: equal where each counts as m (n - m)
    n, got = cells[0, 0].sum(), right[0, 0]
    lost, weights = [], []
    for out in range(6):
        m = n - sizes[out]
        lost.append((got.sum() - got[out]) / m - got[out] / sizes[out])
        weights.append(m * (n - m))
    assert np.average(lost, weights=weights) == pytest.approx(0, abs=1e-6)


def test_a_winner_in_large_groups_drops_as_much_as_one_in_equal_groups(rng, monkeypatch):
    """Unequal groups: the drop is not lost with the leader's, which stays at zero on average (0.36 se were)."""
    monkeypatch.setattr(winner, "PARTITIONS", 10)
    sizes = np.array([1, 2, 3, 5, 10, 20] * 4)
    codes = np.repeat(np.arange(24), sizes)
    found, true = [], []
    for _ in range(150):
        right = (rng.random((10, 24)) < 0.7)[:, codes]
        found.append(expected_drop(right, codes=codes, rng=rng))
        true.append(right.mean(axis=1).max() - 0.7)
    error = math.sqrt(0.21 * (sizes**2).sum()) / sizes.sum()
    assert np.mean(found) == pytest.approx(np.mean(true), abs=0.25 * error)


def test_missing_cells_and_groups_of_one_change_little(rng):
    right = rng.random((12, 300)) < 0.6
    plain = expected_drop(right, rng=np.random.default_rng(1))
    assert expected_drop(right, codes=np.arange(300), rng=np.random.default_rng(1)) == pytest.approx(plain, abs=1e-6)
    everything = np.ones_like(right)
    assert expected_drop(right, observed=everything, rng=np.random.default_rng(1)) == pytest.approx(plain, abs=1e-6)
    scores = right * 0.5  # fractions: the same winner, half the drop
    assert expected_drop(scores, rng=np.random.default_rng(1)) == pytest.approx(plain / 2, abs=1e-6)


def normal_drop(lead, k, share):
    """D(m) of k models with independent normal scores, one of them `lead` standard errors (at n) ahead; in these."""
    s, x = 1 / math.sqrt(share), np.linspace(-10, 13, 20_001)
    ahead, behind = norm(lead, s), norm(0, s)
    first = (x - lead) * ahead.pdf(x) * behind.cdf(x) ** (k - 1)
    others = x * (k - 1) * behind.pdf(x) * behind.cdf(x) ** (k - 2) * ahead.cdf(x)
    return float(np.trapezoid(first + others, x))


def test_the_last_step_is_off_by_less_than_a_tenth():
    """(2) against the law of normal scores: exact for equal models, and for the worst lead of 2 to 300 models."""
    assert normal_drop(0.0, 40, 1.0) == pytest.approx(2.1608, abs=1e-3)  # the expected largest of forty
    for k in (2, 20, 100, 300):
        share = winner.SHARE
        off = [
            normal_drop(lead, k, 1.0) - math.sqrt(share) * normal_drop(lead, k, share) for lead in np.arange(0, 6, 0.5)
        ]
        assert off[0] == pytest.approx(0, abs=1e-6)
        assert min(off) > -0.1
        assert max(off) < 1e-6


def bias(draw, means, repetitions, rng, codes=None, error=None):
    """Mean of corrected score less true score, and its own standard error, in standard errors of the winner's score.

    What the best model gains or loses by luck of the draw is zero on average; taking off what goes with it leaves less
    noise.
    """
    best, off, lucky = int(np.argmax(means)), [], []
    for _ in range(repetitions):
        right = draw()
        scores = right.mean(axis=1)
        first = int(np.argmax(scores))
        lucky.append(scores[best] - means[best])
        off.append(scores[first] - expected_drop(right, codes=codes, rng=rng) - means[first])
    off = np.array(off) - np.cov(off, lucky)[0, 1] / np.var(lucky) * np.array(lucky)
    share = means[best]
    unit = error or math.sqrt(share * (1 - share) / right.shape[1])
    return np.mean(off) / unit, np.std(off) / unit / math.sqrt(repetitions)


def synthetic(rng, kind, n):
    skills = {
        "equal": np.full(40, 0.6),
        "nearly right": np.full(40, 0.95),
        "leader": np.r_[0.7 + 3 * math.sqrt(0.21 / n), np.full(19, 0.7)],
        "leader of many": np.r_[0.7 + 3 * math.sqrt(0.21 / n), np.full(99, 0.7)],
        "alike": np.full(40, 0.6),
        "ladder": np.linspace(0.64, 0.5, 15),
        "two": np.array([0.65, 0.6]),
    }[kind]
    shared = 0.8 if kind == "alike" else 0.0

    def draw():
        return np.where(rng.random(n) < shared, rng.random(n), rng.random((len(skills), n))) < skills[:, None]

    return draw, skills


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n"),
    [
        ("equal", 300),
        ("alike", 300),
        ("ladder", 300),
        ("two", 300),
        ("nearly right", 100),
        ("leader", 200),
        ("leader of many", 200),
    ],
)
def test_the_corrected_score_is_unbiased(rng, kind, n):
    draw, skills = synthetic(rng, kind, n)
    off, noise = bias(draw, skills, 1500, rng)  # which spreads by up to 1.9, so that the noise is below 0.05
    assert abs(off) <= 0.1 + 2 * noise
    assert noise < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cifar10", "mmlu_pro", "open_llm"])
@pytest.mark.parametrize("n", [300, 1500])
def test_the_corrected_score_is_unbiased_on_real_matrices(rng, name, n):
    found = dict(matrices())
    if name not in found:
        pytest.skip(f"needs ../shared/data for {name}")
    right = found[name]

    def draw():
        return right[:, rng.integers(0, right.shape[1], n)]

    off, noise = bias(draw, right.mean(axis=1), 1000, rng)
    assert abs(off) <= 0.1 + 3 * noise
    assert noise < 0.06


@pytest.mark.slow
def test_the_corrected_score_is_unbiased_with_groups(rng):
    """Sixty groups of five examples, all alike: worth sixty examples, and the drop is that of sixty."""
    codes = np.repeat(np.arange(60), 5)

    def draw():
        return (rng.random((20, 60)) < 0.6)[:, codes]

    error = math.sqrt(0.24 / 60)
    off, noise = bias(draw, np.full(20, 0.6), 400, rng, codes, error)
    assert abs(off) <= 0.1 + 3 * noise
    blind, _ = bias(draw, np.full(20, 0.6), 100, rng, None, error)
    assert blind > 0.5  # or the test shows nothing
