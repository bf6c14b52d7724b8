"""The interval that agrees with McNemar's test: every table of small test sets counted."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import gammaln, xlogy

from heldout.statistics.binomial import sign_test_log_pvalue
from heldout.statistics.paired import difference_tail, is_told, mcnemar_intervals, restricted_shares


def tables(n):
    b, c = (v.ravel().astype(float) for v in np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij"))
    kept = b + c <= n
    return b[kept], c[kept]


def log_law(b, c, n, p10, p01):
    choose = gammaln(n + 1) - gammaln(b + 1) - gammaln(c + 1) - gammaln(n - b - c + 1)
    return choose + xlogy(b, p10) + xlogy(c, p01) + xlogy(n - b - c, max(0.0, 1 - p10 - p01))


@pytest.mark.parametrize(("p10", "p01"), [(0.2, 0.1), (0.0, 0.3), (0.5, 0.5), (0.01, 0.0)])
def test_tail_counted(p10, p01):
    n = 12
    b, c = tables(n)
    law = np.exp(log_law(b, c, n, p10, p01))
    for s in range(-n, n + 1):
        assert float(difference_tail(s, n, p10, p01)) == pytest.approx(law[b - c >= s].sum(), abs=1e-12)


def test_restricted_shares_are_the_most_likely():
    b, c, n = 9.0, 3.0, 40.0
    for delta in (-0.2, 0.0, 0.1, 0.4):
        p10, p01 = (float(v) for v in restricted_shares(b, c, n, np.array(delta)))
        assert p10 - p01 == pytest.approx(delta)
        best = log_law(b, c, n, p10, p01)
        for step in (-1e-4, 1e-4):
            if p01 + step >= 0 and p10 + step >= 0:
                assert log_law(b, c, n, p10 + step, p01 + step) <= best


def coverage(n, level=0.05):
    """The smallest over a grid of true shares, counted over all tables of n examples."""
    b, c = tables(n)
    low, high = mcnemar_intervals(b, c, n, level=level)
    covered = []
    for share, part in itertools.product((0.01, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0), (0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)):
        delta = share * part
        inside = (low <= delta + 1e-12) & (delta <= high + 1e-12)
        law = np.exp(log_law(b, c, n, (share + delta) / 2, (share - delta) / 2))
        covered.append(law[inside].sum())
    return min(covered)


def test_interval_covers():
    assert coverage(20) >= 0.95
    assert coverage(20, level=0.2) >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 100])
def test_interval_covers_larger_sets(n):
    assert coverage(n) >= 0.95


@pytest.mark.parametrize("level", [0.05, 0.001])
def test_zero_is_inside_exactly_where_p_is_above_the_level(level):
    b, c = tables(40)
    low, high = mcnemar_intervals(b, c, 40, level=level)
    p = np.array([sign_test_log_pvalue(int(i), int(j)) for i, j in zip(b, c, strict=True)])
    assert np.array_equal((low <= 0) & (high >= 0), p > math.log(level))
    assert (low <= (b - c) / 40 + 1e-12).all()
    assert (high >= (b - c) / 40 - 1e-12).all()
    assert (high > low).all()


def test_interval_is_the_same_the_other_way_round():
    low, high = mcnemar_intervals([9, 120], [3, 60], [50, 10_000])
    other = mcnemar_intervals([3, 60], [9, 120], [50, 10_000])
    np.testing.assert_allclose((low, high), (-other[1], -other[0]), atol=1e-9)


def test_one_model_right_on_every_example_and_the_other_on_none():
    low, high = mcnemar_intervals([7, 0, 3], [0, 7, 0], [7, 7, 3])
    assert high[0] == 1
    assert low[1] == -1
    assert 0 < low[0] < 1
    assert high[1] == -low[0]
    assert low[2] < 0 < high[2] == 1
    alone = mcnemar_intervals([0], [9], [9])
    assert alone[0][0] == -1


def test_p_equal_to_the_level_is_told_by_both():
    for b, level in ((6, 0.03125), (9, 2 / 2**9), (11, 2 / 2**11)):
        low, _ = mcnemar_intervals([b], [0], [50], level=level)
        assert low[0] > 0
        assert is_told(sign_test_log_pvalue(b, 0), level)
