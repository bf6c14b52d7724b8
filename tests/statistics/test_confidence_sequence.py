"""Confidence sequences: the wealth by hand, validity at every look, agreement of p and interval."""

from __future__ import annotations

import math

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.statistics.confidence_sequence import SHARES, confidence_sequence, log_wealth_path


def test_wealth_by_hand():
    x, m = np.array([0.5, -1.0, 1.0, 0.0]), 0.25
    path, _ = log_wealth_path(x, m)
    for t in range(1, 5):
        wealth = np.mean([math.prod(1 - f + f * (1 + v) / (1 + m) for v in x[:t]) for f in SHARES])
        assert path[t - 1] == pytest.approx(math.log(wealth), rel=1e-10)
    first, state = log_wealth_path(x[:2], m)
    np.testing.assert_allclose(np.append(first, log_wealth_path(x[2:], m, start=state)[0]), path)


def test_the_wealth_is_a_martingale():
    """Its mean over all sequences of three values with mean m is 1."""
    values, shares = np.array([-1.0, 0.0, 1.0]), np.array([0.2, 0.3, 0.5])
    m = float(values @ shares)
    total = 0.0
    for codes in np.ndindex(3, 3, 3, 3):
        total += math.prod(shares[list(codes)]) * math.exp(log_wealth_path(values[list(codes)], m)[0][-1])
    assert total == pytest.approx(1.0)


def test_ends_are_where_the_wealth_is_the_bar(rng):
    x = rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.6, 0.3], size=400)
    found = confidence_sequence(x, looks=[400])
    low, high = found.interval
    assert log_wealth_path(x, low)[0][-1] == pytest.approx(math.log(40), abs=1e-6)
    assert log_wealth_path(-x, -high)[0][-1] == pytest.approx(math.log(40), abs=1e-6)


def test_many_distinct_values_on_a_grid(rng):
    x = rng.normal(0.1, 0.3, size=2_000).clip(-1, 1)
    low, high = confidence_sequence(x, looks=[2_000]).interval
    for values, end in ((x, low), (-x, -high)):
        assert math.log(40) <= log_wealth_path(values, end)[0][-1] <= math.log(40) + 0.05


def test_zero_is_outside_exactly_where_p_is_at_most_the_level(rng):
    for shift in (0.0, 0.05, 0.1, 0.2):
        x = rng.choice([-1.0, 0.0, 1.0], p=[0.15 - shift / 2, 0.7, 0.15 + shift / 2], size=500)
        found = confidence_sequence(x)
        low, high = found.interval
        assert (low > 0 or high < 0) == (found.p_value <= 0.05) == (found.first is not None)
        assert (np.diff(found.low) >= 0).all()
        assert (np.diff(found.high) <= 0).all()
        if found.first is not None:
            assert confidence_sequence(x[: found.first]).first == found.first
            assert confidence_sequence(x[: found.first - 1]).first is None


def misses(rng, draw, mean, n, n_runs):
    """Share of runs in which some interval, after some example, misses: the wealth at the true mean reaches the bar."""
    bar = math.log(40)
    found = 0
    for _ in range(n_runs):
        x = draw(n)
        found += max(log_wealth_path(x, mean)[0].max(), log_wealth_path(-x, -mean)[0].max()) >= bar
    return found / n_runs


@pytest.mark.slow
@pytest.mark.parametrize("p", [(0.1, 0.1), (0.02, 0.12), (0.5, 0.3), (0.0, 0.01)])
def test_level_at_every_look(rng, p):
    up, down = p
    rate = misses(
        rng, lambda n: rng.choice([1.0, -1.0, 0.0], p=[up, down, 1 - up - down], size=n), up - down, 3000, 800
    )
    assert rate <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 800)


@pytest.mark.slow
def test_level_of_skewed_fractions(rng):
    rate = misses(rng, lambda n: rng.beta(0.3, 2.7, n) * 2 - 1, -0.8, 3000, 400)
    assert rate <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


def test_sorted_differences_are_told_to_have_moved():
    """First up, then down: both bets pass, and no one mean is left."""
    drift = confidence_sequence(np.repeat([1.0, -1.0], [100, 400]))
    assert drift.moved
    early = confidence_sequence(np.concatenate([np.ones(40), np.tile([-1.0, 1.0, -1.0, 0.0], 40)]))
    low, high = early.interval
    assert early.moved == (not low <= early.means[-1] <= high)
    assert early.moved
    rng = np.random.default_rng(0)
    x = rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.6, 0.3], size=(60, 300))
    assert sum(confidence_sequence(row).moved for row in x) <= 2  # 0.2 % of them, by chance
    assert confidence_sequence(x[0]).upward
    assert not confidence_sequence(-x[0]).upward


def test_bad_input():
    with pytest.raises(InputError, match=r"\[-1, 1\]"):
        confidence_sequence([0.5, 1.5])
    with pytest.raises(InputError, match="`looks`"):
        confidence_sequence([0.5, 0.5], looks=[3])
    with pytest.raises(InputError, match="`level`"):
        confidence_sequence([0.5], level=1.0)
