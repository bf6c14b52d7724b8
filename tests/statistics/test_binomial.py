"""Clopper and Pearson: published numbers, the defining tails, and coverage summed exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from heldout.errors import InputError
from heldout.statistics import clopper_pearson


def test_published():  # Recht et al. 2019: vgg_15_BN_64 on CIFAR-10.1 v4, 1715 right of 2021
    low, high = clopper_pearson(1715, 2021, confidence=0.95)
    assert (round(100 * low, 1), round(100 * high, 1)) == (83.2, 86.4)


def test_published_binom_test():
    # R: binom.test(682, 925, p = 0.75), the example of its help page (Conover 1971, p. 97 f.)
    # 95 percent confidence interval: 0.7076683 0.7654066
    assert clopper_pearson(682, 925, confidence=0.95) == pytest.approx((0.7076683, 0.7654066), abs=5e-8)


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 30), (30, 30), (3, 30), (171, 1999)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_oracle(k, n, confidence):
    interval = binomtest(k, n).proportion_ci(confidence_level=confidence, method="exact")
    low, high = clopper_pearson(k, n, confidence=confidence)
    assert (low, high) == pytest.approx((interval.low, interval.high), rel=1e-9)
    tail = (1 - confidence) / 2
    if k > 0:
        assert binom.sf(k - 1, n, low) == pytest.approx(tail, rel=1e-8)
    if k < n:
        assert binom.cdf(k, n, high) == pytest.approx(tail, rel=1e-8)


def test_edges():
    assert clopper_pearson(0, 50, confidence=0.95) == pytest.approx((0.0, 1 - 0.025 ** (1 / 50)))
    assert clopper_pearson(50, 50, confidence=0.95) == pytest.approx((0.025 ** (1 / 50), 1.0))


@pytest.mark.parametrize("n", [1, 5, 23, 100])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_covers_exactly(n, confidence):
    low, high = np.array([clopper_pearson(k, n, confidence=confidence) for k in range(n + 1)]).T
    for share in np.concatenate([np.linspace(0, 1, 201), low + 1e-9, high - 1e-9]).clip(0, 1):
        covered = binom.pmf(np.arange(n + 1), n, share)[(low <= share) & (share <= high)].sum()
        assert covered >= confidence - 1e-9


def test_mirror():
    low, high = clopper_pearson(7, 40, confidence=0.9)
    assert clopper_pearson(33, 40, confidence=0.9) == pytest.approx((1 - high, 1 - low), rel=1e-12)


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (0, 0)])
def test_not_a_share(k, n):
    with pytest.raises(InputError, match=f"{k} of {n} is not a share"):
        clopper_pearson(k, n, confidence=0.95)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, float("nan")])
def test_confidence(confidence):
    with pytest.raises(InputError, match="`confidence` is"):
        clopper_pearson(1, 2, confidence=confidence)


@pytest.mark.parametrize(("k", "n"), [(1, 5), (2, 5), (4, 5), (5, 5), (3, 30), (40, 200)])
@pytest.mark.parametrize("level", [1e-99, 1e-101, 1e-200, 1e-300])
def test_levels_at_which_scipy_gives_up(k, n, level):
    """The tail at either end in whole numbers: 2 of 5 was NaN at 1e-200."""
    low, high = clopper_pearson(k, n, level=level)

    def tail(share, counts):
        p = Fraction(share)
        return sum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in counts)

    assert float(tail(low, range(k, n + 1)) / Fraction(level / 2)) == pytest.approx(1, rel=1e-8)
    assert low < k / n <= high <= 1
    if high < 1 - 1e-6:  # nearer to 1 its own digits are too few
        assert float(tail(high, range(k + 1)) / Fraction(level / 2)) == pytest.approx(1, rel=1e-8)
