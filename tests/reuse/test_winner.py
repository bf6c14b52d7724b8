"""The winner's drop: an exact count of all splits, and a corrected score that is unbiased."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

import heldout
from heldout import Predictions
from heldout.reuse import winner
from heldout.reuse.winner import _drop, expected_drop, n_blocks_for
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


def test_each_block_is_left_out_in_its_turn(rng):
    scores = (rng.random((5, 8)) < 0.6).astype(np.float32)
    blocks, cells = scores[None], np.ones((1, 1, 8), np.float32)
    first = int(np.argmax(scores.sum(axis=1)))
    leader = all_splits(scores[[first]], 7)
    assert leader == pytest.approx(0, abs=1e-6)
    assert _drop(blocks, cells, np.zeros(len(cells[0]), bool)) == pytest.approx(all_splits(scores, 7), abs=1e-6)


@pytest.mark.parametrize(("k", "n_blocks", "taken"), [(2, 3, 6), (3, 4, 6), (40, 8, 7)])
def test_every_split_counted(rng, monkeypatch, k, n_blocks, taken):
    """All choices of the examples to choose on, by (2) and (3); as many blocks as examples where there are few."""
    n = {3: 9, 4: 8, 8: 8}[n_blocks]
    assert min(n_blocks_for(k), n) == n_blocks
    monkeypatch.setattr(winner, "PARTITIONS", 4_000)
    monkeypatch.setattr(winner, "SPLITS", 40_000)
    scores = rng.permuted(np.tile(np.arange(n) < n // 2, (k, 1)), axis=1)  # equal ones: much to be lost
    true = math.sqrt(taken / n) * all_splits(scores.astype(np.float32), taken)
    assert true > 0.08
    assert expected_drop(scores, rng=rng) == pytest.approx(true, abs=0.008)


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
    assert _drop(right, cells, np.zeros(1, bool)) == 0.0
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


def test_a_winner_with_far_fewer_examples_than_others_says_nothing(rng):
    """Of equal models those with few examples come first by luck, and the blocks left out may hold none of them."""
    right = rng.random((10, 200)) < 0.6
    few = np.ones(right.shape, dtype=bool)
    few[:5] = rng.random((5, 200)).argsort(axis=1) < 3
    assert math.isnan(expected_drop(right, observed=few, rng=rng))
    few[:5] = rng.random((5, 200)).argsort(axis=1) < 20
    assert expected_drop(right, observed=few, rng=rng) > 0
    right[0] = False  # the one that has few never wins
    few[:] = True
    few[0, 3:] = False
    assert expected_drop(right, observed=few, rng=rng) >= 0


def normal_drop(lead, k, share):
    """D(m) of k models with independent normal scores, one of them `lead` standard errors (at n) ahead; in these."""
    s, x = 1 / math.sqrt(share), np.linspace(-10, 13, 20_001)
    ahead, behind = norm(lead, s), norm(0, s)
    first = (x - lead) * ahead.pdf(x) * behind.cdf(x) ** (k - 1)
    others = x * (k - 1) * behind.pdf(x) * behind.cdf(x) ** (k - 2) * ahead.cdf(x)
    return float(np.trapezoid(first + others, x))


def last_step(k, lead):
    """Corrected less true score by (2) and (3), in standard errors of normal scores."""
    share = 1 - 1 / n_blocks_for(k)
    return normal_drop(lead, k, 1.0) - math.sqrt(share) * normal_drop(lead, k, share)


@pytest.mark.parametrize("k", [2, 3, 5, 6, 10, 20, 50, 100, 500, 2000])
def test_the_last_step_is_off_by_about_a_tenth(k):
    """(2) against the law of normal scores: exact for equal models, too much at the worst lead, with (3) of any k."""
    assert normal_drop(0.0, 40, 1.0) == pytest.approx(2.1608, abs=1e-3)  # the expected largest of forty
    off = [last_step(k, lead) for lead in np.arange(0, 6, 0.25)]
    assert off[0] == pytest.approx(0, abs=1e-6)
    assert max(off) < 1e-6
    assert -0.104 < min(off) < -0.03  # nor are fewer left out than that allows


def bias(draw, means, repetitions, rng, codes=None, error=None):
    """Mean of corrected score less true score, and its own standard error, in standard errors of the winner's score.

    With them the root mean squares of corrected score and score itself. What the best model gains or loses by luck of
    the draw is zero on average; taking off what goes with it leaves less noise.
    """
    best, off, lucky, itself = int(np.argmax(means)), [], [], []
    for _ in range(repetitions):
        right = draw()
        scores = right.mean(axis=1)
        first = int(np.argmax(scores))
        lucky.append(scores[best] - means[best])
        itself.append(scores[first] - means[first])
        off.append(itself[-1] - expected_drop(right, codes=codes, rng=rng))
    far = [math.sqrt(np.mean(np.square(errors))) for errors in (off, itself)]
    off = np.array(off) - np.cov(off, lucky)[0, 1] / np.var(lucky) * np.array(lucky)
    share = means[best]
    unit = error or math.sqrt(share * (1 - share) / right.shape[1])
    return np.mean(off) / unit, np.std(off) / unit / math.sqrt(repetitions), np.array(far) / unit


@pytest.mark.slow
@pytest.mark.parametrize("scored", [False, True])
def test_the_true_score_of_the_first_is_in_its_interval(rng, scored):
    """At least as often as promised, of twenty equal models; the interval of one model alone would hold less often."""
    held, alone = [], []
    for _ in range(300):
        cells = rng.beta(3, 2, (20, 100)) if scored else rng.random((20, 100)) < 0.6
        table = Predictions.from_scores(cells) if scored else Predictions.from_correct(cells)
        pool = heldout.budget(table).pool
        low, high = pool.winner_interval
        held.append(low <= 0.6 <= high)
        first = cells[pool.winner.model]
        alone.append(abs(first.mean() - 0.6) <= 1.96 * first.std() / 10)
    assert np.mean(held) >= 0.95
    assert np.mean(alone) < 0.85


def synthetic(rng, kind, n):
    skills = {
        "equal": np.full(40, 0.6),
        "ten equal": np.full(10, 0.6),
        "three equal": np.full(3, 0.6),
        "two equal": np.full(2, 0.6),
        "one ahead": np.r_[0.7 + math.sqrt(0.21 / n), np.full(9, 0.7)],
        "two ahead": np.r_[0.7 + 2 * math.sqrt(0.21 / n), np.full(9, 0.7)],
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
    off, noise, _ = bias(draw, skills, 1500, rng)  # which spreads by up to 1.9, so that the noise is below 0.05
    assert abs(off) <= 0.1 + 2 * noise
    assert noise < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 2000])
@pytest.mark.parametrize(
    ("kind", "most", "than_itself"),
    [
        ("two equal", 1.15, 1.1),
        ("three equal", 1.2, 1.1),
        ("ten equal", 1.55, 0.95),
        ("equal", 1.85, 0.9),
        ("one ahead", 1.6, 1.05),
        ("two ahead", 1.65, 1.25),
        ("leader", 1.5, 1.35),
    ],
)
def test_the_corrected_score_is_not_far_off_on_one_board(rng, kind, most, than_itself, n):
    """Root mean squares; with a twentieth left out of two equal models they were 1.45, and 1.4 times those of the score
    itself."""
    draw, skills = synthetic(rng, kind, n)
    off, noise, (corrected, itself) = bias(draw, skills, 1000 if n < 100 else 500, rng)
    assert corrected <= most
    assert corrected <= than_itself * itself
    assert abs(off) <= 0.1 + 3 * noise


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

    off, noise, _ = bias(draw, right.mean(axis=1), 1000, rng)
    assert abs(off) <= 0.1 + 3 * noise
    assert noise < 0.06


@pytest.mark.slow
def test_the_corrected_score_is_unbiased_with_groups(rng):
    """Sixty groups of five examples, all alike: worth sixty examples, and the drop is that of sixty."""
    codes = np.repeat(np.arange(60), 5)

    def draw():
        return (rng.random((20, 60)) < 0.6)[:, codes]

    error = math.sqrt(0.24 / 60)
    off, noise, _ = bias(draw, np.full(20, 0.6), 400, rng, codes, error)
    assert abs(off) <= 0.1 + 3 * noise
    blind, *_ = bias(draw, np.full(20, 0.6), 100, rng, None, error)
    assert blind > 0.5  # or the test shows nothing
