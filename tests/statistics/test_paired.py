"""McNemar's test with its interval and power: every table of small test sets counted, and scikit-free brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import gammaln, xlogy

from heldout.errors import InputError
from heldout.statistics.binomial import sign_test_log_pvalue
from heldout.statistics.paired import (
    critical_counts,
    detectable_gap,
    difference_tail,
    examples_for_gap,
    gap_shares,
    mcnemar_intervals,
    mcnemar_power,
    restricted_shares,
)


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
        covered.append(np.exp(log_law(b, c, n, *gap_shares(delta, share)))[inside].sum())
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


def test_critical_counts_by_hand():
    for m in (1, 5, 6, 17, 40, 333):
        for level in (0.05, 0.01):
            found = [b for b in range(m // 2 + 1, m + 1) if sign_test_log_pvalue(b, m - b) <= math.log(level)]
            assert critical_counts(np.array([float(m)]), level)[0] == (found[0] if found else m + 1)


def test_power_counted():
    n, p10, p01 = 25, 0.4, 0.1
    b, c = tables(n)
    found = np.array(
        [i > j and sign_test_log_pvalue(int(i), int(j)) <= math.log(0.05) for i, j in zip(b, c, strict=True)]
    )
    assert mcnemar_power(n, p10, p01) == pytest.approx(np.exp(log_law(b, c, n, p10, p01))[found].sum(), abs=1e-6)


def test_the_detectable_gap_is_detected():
    gap = detectable_gap(400, 0.15)
    assert mcnemar_power(400, *gap_shares(gap, 0.15)) >= 0.8
    assert mcnemar_power(400, *gap_shares(0.95 * gap, 0.15)) < 0.8
    n = examples_for_gap(gap, 0.15)
    assert 380 <= n <= 410
    assert all(mcnemar_power(i, *gap_shares(gap, 0.15)) >= 0.8 for i in (n, n + 1, n + 3))
    assert math.isnan(detectable_gap(5, 0.2))
    assert detectable_gap(100, 0.0) == pytest.approx(0.0781, abs=1e-3)  # six of a hundred, four times in five


def test_bad_numbers():
    for arguments in ({"n": 0, "disagreement": 0.1}, {"n": 10, "disagreement": 1.5}):
        with pytest.raises(InputError):
            detectable_gap(**arguments)
    with pytest.raises(InputError, match="`gap` is 0"):
        examples_for_gap(0.0, 0.1)
