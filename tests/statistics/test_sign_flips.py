"""Sign flips against all signs tried, and coverage of the interval where symmetry does not hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.statistics import sign_flips
from heldout.statistics.binomial import sign_test_log_pvalue
from heldout.statistics.sign_flips import detectable_mean, paired_interval, sign_flip_test


def all_signs(d):
    """Two-sided p, every choice of signs counted."""
    signs = 1 - 2 * ((np.arange(2 ** len(d))[:, None] >> np.arange(len(d))) & 1)
    return float((np.abs(signs @ np.abs(d)) >= abs(d.sum()) - 1e-9).mean())


@pytest.mark.parametrize("size", [1, 2, 5, 14])
def test_sums_on_a_lattice_are_exact(rng, size):
    for _ in range(20):
        d = rng.integers(-7, 8, size=size) / 10
        found = sign_flip_test(d)
        assert found.method == "exact"
        assert math.exp(found.log_p_value) == pytest.approx(all_signs(d), rel=1e-9)


def test_lattice_far_out():
    """Ones and twos, all of one sign: p = 2 / 2^n, far below what a Fourier transform alone can hold."""
    d = np.repeat([1.0, 2.0], 400)
    assert sign_flip_test(d).log_p_value == pytest.approx(-799 * math.log(2), rel=1e-9)


def test_all_of_one_size_is_mcnemar():
    d = np.repeat([0.3, -0.3, 0.0], [17, 6, 100])
    assert sign_flip_test(d).log_p_value == sign_test_log_pvalue(17, 6)


@pytest.mark.parametrize("largest", [1.0, 12.0])
def test_saddlepoint_against_all_signs(rng, largest):
    d = np.append(rng.normal(0.3, 1, size=17), largest)
    found = sign_flip_test(d)
    assert found.method == "saddlepoint"
    assert math.exp(found.log_p_value) == pytest.approx(all_signs(d), rel=0.02)


def test_many_units_by_series_and_in_full(rng, monkeypatch):
    d = rng.normal(0.01, 0.3, size=25_000)
    by_series, interval = sign_flip_test(d).log_p_value, paired_interval(d)
    monkeypatch.setattr(sign_flips, "MANY", 10**6)
    assert sign_flip_test(d).log_p_value == pytest.approx(by_series, rel=1e-6)
    np.testing.assert_allclose(paired_interval(d), interval, atol=2e-3 * (interval[1] - interval[0]))


def test_level_is_exact_under_swapping(rng):
    """Two scores of one law, swapped or not: p is at most 0.05 in 5 % at most."""
    scores = rng.beta(0.4, 0.4, size=(300, 60, 2))
    alarms = [sign_flip_test(a - b).log_p_value <= math.log(0.05) for a, b in scores.transpose(0, 2, 1)]
    assert np.mean(alarms) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)


def test_zero_is_inside_exactly_where_p_is_above_the_level(rng):
    for _ in range(30):
        d = np.where(rng.random(40) < 0.3, rng.beta(2, 2, 40) * np.where(rng.random(40) < 0.8, 1, -1), 0.0)
        low, high = paired_interval(d)
        assert (low <= 0 <= high) == (sign_flip_test(d).log_p_value > math.log(0.05))
        assert low <= d.mean() <= high


def test_interval_is_nearly_students_for_many_symmetric_units(rng):
    d = rng.normal(0.02, 0.2, size=3_000)
    low, high = paired_interval(d)
    half = 1.9608 * d.std(ddof=1) / math.sqrt(3_000)
    np.testing.assert_allclose((low, high), (d.mean() - half, d.mean() + half), atol=0.01 * half)


def test_interval_of_groups_of_one_is_that_of_examples(rng):
    d = rng.normal(0.05, 0.2, size=80).round(2)
    np.testing.assert_allclose(paired_interval(d, np.ones(80)), paired_interval(d), atol=1e-9)


def test_equal_answers_give_no_width_of_zero():
    low, high = paired_interval(np.zeros(100))
    assert -0.1 < low < 0 < high < 0.1
    assert paired_interval([0.5]) == (-math.inf, math.inf)


def test_detectable_mean_is_found_four_times_in_five(rng):
    noise = rng.normal(0, 0.2, size=100)
    gap = detectable_mean(noise)
    found = [sign_flip_test(rng.normal(gap, noise.std(), 100)).log_p_value <= math.log(0.05) for _ in range(250)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.08)
    assert math.isnan(detectable_mean([0.1, 0.2, 0.3]))


def test_bad_input():
    with pytest.raises(InputError, match="`differences`"):
        sign_flip_test([0.1, math.nan])
    with pytest.raises(InputError, match="`sizes`"):
        paired_interval([0.1, 0.2], [1])


def sparse(rng, n, share, positive):
    return np.where(rng.random(n) < share, rng.beta(2, 2, n) * np.where(rng.random(n) < positive, 1, -1), 0.0), None


def grouped(rng, n_groups, first, second):
    """Two models that are right on whole groups or not, 70 % alike."""
    sizes = rng.integers(1, 21, n_groups)
    group = np.repeat(np.arange(n_groups), sizes)

    def right(p):
        return np.where(rng.random(len(group)) < 0.7, (rng.random(n_groups) < p)[group], rng.random(len(group)) < p)

    return np.bincount(group, right(first) * 1.0 - right(second)), sizes.astype(float)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "arguments", "mean"),
    [
        (sparse, (100, 0.05, 1.0), 0.025),
        (sparse, (300, 0.02, 0.8), 0.006),
        (sparse, (1000, 0.01, 1.0), 0.005),
        (grouped, (30, 0.95, 0.95), 0.0),
        (grouped, (30, 0.95, 0.85), 0.1),
        (grouped, (60, 0.7, 0.6), 0.1),
    ],
)
def test_interval_covers(rng, draw, arguments, mean):
    covered = []
    for _ in range(1000):
        low, high = paired_interval(*draw(rng, *arguments))
        covered.append(low <= mean <= high)
    assert np.mean(covered) >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 1000)
