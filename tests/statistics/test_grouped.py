"""Shares over groups: brute force on small groups, closed forms at the edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, norm, t

from heldout.groups import design_effect
from heldout.statistics import clopper_pearson
from heldout.statistics.grouped import GroupMoments, korn_graubard, korn_graubard_level


def moments(x, codes) -> GroupMoments:
    """The slow way, one example and one group at a time."""
    n, groups = len(x), sorted(set(codes.tolist()))
    mean = sum(x) / n
    sizes = [sum(codes == g) for g in groups]
    rest = [sum(v - mean for v, c in zip(x, codes, strict=True) if c == g) for g in groups]
    left_out = [(sum(x) - sum(x[codes == g])) / (n - m) for g, m in zip(groups, sizes, strict=True)]
    count = len(groups)
    jackknife = (count - 1) / count * sum((v - mean) ** 2 for v in left_out) * n**2
    values = (
        n,
        count,
        *(sum(m**power for m in sizes) for power in (2, 3, 4)),
        sum(x),
        sum(v * v for v in x),
        sum(e * e for e in rest),
        jackknife,
    )
    return GroupMoments(*(np.array([float(v)]) for v in values))


@pytest.fixture
def grouped(rng):
    codes = np.repeat(np.arange(40), rng.integers(1, 12, 40))
    alike = rng.random(40) < 0.3
    return np.where(rng.random(len(codes)) < 0.6, alike[codes], rng.random(len(codes)) < 0.3).astype(float), codes


def test_design_effect_is_that_of_the_groups(grouped):
    assert moments(*grouped).design_effect[0] == pytest.approx(design_effect(*grouped), rel=1e-12)


def test_spread_of_groups_all_alike(rng):
    """At correlation 1 the variance is that of whole groups, and degrees of freedom count them by their squares."""
    codes = np.repeat(np.arange(5), [1, 2, 3, 4, 5])
    m = moments(rng.random(15) < 0.4, codes)
    times, df = m.spread(1.0)
    assert times[0] >= (1 + 4 + 9 + 16 + 25) / 15 - 1e-12
    assert df[0] == pytest.approx(55**2 / (1 + 16 + 81 + 256 + 625) - 1)
    assert m.spread(0.0)[0][0] >= 1


@pytest.mark.parametrize(("wrong", "n"), [(0, 20), (3, 50), (50, 50), (7, 400)])
def test_many_degrees_of_freedom_give_clopper_pearson(wrong, n):
    low, high = korn_graubard(wrong / n, n, 1e12, 0.01)
    assert (float(low), float(high)) == pytest.approx(clopper_pearson(wrong, n, level=0.01), rel=1e-8)


def test_korn_graubard_by_its_definition():
    """n over the design effect, less the square of the ratio of the normal and Student's quantile."""
    worth = 80 * (norm.isf(0.005) / t.isf(0.005, 12)) ** 2
    x = 0.3 * worth
    low, high = korn_graubard(0.3, 80, 12, 0.01)
    assert float(low) == pytest.approx(beta.ppf(0.005, x, worth - x + 1))
    assert float(high) == pytest.approx(beta.isf(0.005, x + 1, worth - x))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("df", [1.0, 12.0, 1e6])
def test_levels_are_the_inverse_of_intervals(share, df):
    for level in (0.2, 0.01, 1e-5):
        low, high = korn_graubard(share, 60, df, level)
        reach = max(float(high) - share, share - float(low))
        if reach < max(share, 1 - share) - 1e-9:  # else it is all of [0, 1]
            assert float(korn_graubard_level(share, 60, df, reach + 1e-12)) == pytest.approx(level, rel=1e-6)
    assert float(korn_graubard_level(share, 60, df, 1.0)) < 1e-20


def test_levels_of_many_at_once():
    share, n, df = np.array([0.1, 0.4]), np.array([50.0, 80.0]), np.array([9.0, 30.0])
    both = korn_graubard_level(share, n, df, np.array([[0.1], [0.2]]))
    assert both.shape == (2, 2)
    alone = korn_graubard_level(0.4, 80, 30, 0.2)
    assert both[1, 1] == pytest.approx(float(alone), rel=1e-9)
    assert (both[1] < both[0]).all()
