"""Intervals of mean scores: right and wrong as before, coverage by simulation, levels undo intervals."""

from __future__ import annotations

import numpy as np
import pytest

from heldout.reuse.grouped import group_moments
from heldout.statistics.binomial import clopper_pearson
from heldout.statistics.grouped import korn_graubard
from heldout.statistics.score_means import mean_score_intervals, mean_score_levels, steadiness


def moments(x):
    return group_moments(x, np.ones_like(x), (x**2).sum(axis=-1))


def test_right_and_wrong_are_korn_graubard(rng):
    x = (rng.random((5, 300)) < 0.2).astype(float)
    m = moments(x)
    low, high = mean_score_intervals(m, 0.0, 0.01)
    np.testing.assert_allclose((low, high), korn_graubard(x.mean(axis=1), 299, 299, 0.01))
    exact = np.array([clopper_pearson(int(row.sum()), 300, level=0.01) for row in x])
    np.testing.assert_allclose(np.stack([low, high], axis=1), exact, atol=0.002)
    assert (steadiness(300, x.sum(axis=1), x.sum(axis=1), 0.01) == 1).all()


def test_a_steady_score_is_never_sure():
    low, high = mean_score_intervals(moments(np.full((1, 50), 0.8)), 0.0, 0.05)
    assert 0.7 < low[0] < 0.79
    assert 0.81 < high[0] < 0.9


def test_levels_undo_intervals(rng):
    m = moments(rng.beta(2, 1, (4, 200)))
    level = mean_score_levels(m, 0.0, 0.05)
    low, high = mean_score_intervals(m, 0.0, level)
    share = m.total / m.n
    np.testing.assert_allclose(np.maximum(high - share, share - low), 0.05, rtol=1e-6)
    assert mean_score_levels(m, 0.0, 1e-9).tolist() == [1] * 4


def mixture(values, shares):
    values, ends = np.array(values), np.cumsum(shares)[:-1]
    return lambda rng, size: values[np.searchsorted(ends, rng.random(size), side="right")], float(values @ shares)


LAWS = {
    "uniform": (lambda rng, size: rng.random(size), 0.5),
    "mostly 0.8, some 0": mixture([0.8, 0.0], [0.92, 0.08]),
    "mostly 0.5, few 0": mixture([0.5, 0.0], [0.97, 0.03]),
    "mostly 0.1, few 1": mixture([0.1, 1.0], [0.95, 0.05]),
    "five trials, all alike": (lambda rng, size: rng.binomial(5, 0.7, size) / 5, 0.7),
    "five trials": (lambda rng, size: rng.binomial(5, rng.beta(0.5, 1.5, size)) / 5, 0.25),
    "near the end": (lambda rng, size: rng.beta(5, 1, size) ** 0.2, None),
}


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("n", "level"), [(50, 0.05), (50, 0.002), (300, 0.05), (300, 0.002)])
def test_coverage(law, n, level):
    """At most the level, and 1.3 times it where a few examples of one kind make all the difference."""
    rng = np.random.default_rng(7)
    draw, mean = LAWS[law]
    if mean is None:
        mean = float(draw(rng, 4_000_000).mean())
    x = draw(rng, (20_000, n))
    low, high = mean_score_intervals(moments(x), 0.0, level)
    missed = float(((low > mean) | (high < mean)).mean())
    assert missed <= 1.3 * level + 3 * np.sqrt(level / 20_000)
