"""Flipped signs against every flip, McNemar's test, scipy, and where their null fails."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest, permutation_test

from heldout.statistics.bounded_differences import bounded_log_p_values
from heldout.statistics.sign_flips import EXACT, MOST, sign_flip_p_value


def test_every_flip(rng: np.random.Generator) -> None:
    for n in (1, 3, 8):
        d = rng.normal(size=n).round(1)
        sums = [abs(np.dot(s, d)) for s in product((1, -1), repeat=n)]
        assert sign_flip_p_value(d) == pytest.approx(np.mean([s >= abs(d.sum()) - 1e-12 for s in sums]))


def test_right_or_wrong_is_mcnemars(rng: np.random.Generator) -> None:
    assert sign_flip_p_value([1.0] * 9 + [-1.0] * 2 + [0.0] * 50) == pytest.approx(binomtest(9, 11).pvalue)
    d = np.repeat([1.0, -1.0], [40, 20])
    assert sign_flip_p_value(d) == pytest.approx(binomtest(40, 60).pvalue, abs=0.004)


def test_three_ways_agree(rng: np.random.Generator) -> None:
    d = rng.normal(0.1, 0.3, size=60)
    found = permutation_test((d,), np.sum, permutation_type="samples", n_resamples=20_000, rng=1)
    assert sign_flip_p_value(d) == pytest.approx(float(found.pvalue), abs=0.01)
    many = rng.normal(0.004, 0.2, size=MOST + 1)
    assert sign_flip_p_value(many) == pytest.approx(sign_flip_p_value(many[:MOST]), abs=0.03)
    assert sign_flip_p_value(many) == sign_flip_p_value(many)


def test_level_where_differences_are_symmetric(rng: np.random.Generator) -> None:
    p = [sign_flip_p_value(rng.choice([-0.5, -0.1, 0.0, 0.1, 0.5], size=EXACT)) for _ in range(600)]
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 600)


def test_skewed_differences_of_equal_models_are_why_it_is_not_the_verdict(rng: np.random.Generator) -> None:
    """0.05 better on nearly every example, a whole point worse on a few: equal on average."""
    d = rng.choice([0.05, -1.0, 0.0], p=[0.9, 0.045, 0.055], size=(200, 20))
    flips = np.mean([sign_flip_p_value(row) <= 0.05 for row in d])
    assert flips > 0.2
    assert np.mean(np.exp(bounded_log_p_values(d)) <= 0.05) <= 0.05
