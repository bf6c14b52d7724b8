"""Equations (7) and (8) of v1 against each other, against exact decimals and against the binomial law."""

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from heldout.statistics import bernstein_bound, bernstein_log_pvalue, two_interval_log_pvalue

GRID = list(
    itertools.product(
        (10, 1_000, 10_000, 1_271_167),
        (0.0, 1e-6, 0.03, 0.1, 0.5, 1.0),
        (1e-6, 1e-3, 0.0042, 0.05, 0.5, 1.0),
        (0.5, 1.0, 1.46, 1.5, 2.0),
    )
)


def test_8_inverts_7():
    underflows = 0
    for n, sd, mean, width in GRID:
        log_p = bernstein_log_pvalue(mean, sd, n, width=width)
        underflows += math.exp(log_p) == 0.0
        # Next to p = 3 the number ln(3/p) is lost in log p itself, whatever the formula.
        if log_p < math.log(3) - 1e-4:
            assert bernstein_bound(n, sd, log_delta=log_p, width=width) == pytest.approx(mean, rel=1e-10)
    assert underflows > 50


def test_8_as_printed():  # in 60 digits, where the cancellation of the printed form does no harm
    with localcontext() as context:
        context.prec = 60
        for n, sd, mean, width in GRID:
            m, s, t, u = Decimal(n), Decimal(sd), Decimal(mean), Decimal(width)
            exponent = m / (9 * u**2) * (s**2 + 3 * u * t - s * (s**2 + 6 * u * t).sqrt())
            printed = float(Decimal(3).ln() - exponent)
            assert bernstein_log_pvalue(mean, sd, n, width=width) == pytest.approx(printed, rel=1e-12, abs=1e-12)


def test_7_as_printed():
    for n, sd, _, width in GRID:
        for delta in (1.0, 0.05, 1e-9):
            printed = math.sqrt(2 * sd**2 * math.log(3 / delta) / n) + 3 * width * math.log(3 / delta) / n
            ours = bernstein_bound(n, sd, log_delta=math.log(delta), width=width)
            assert ours == pytest.approx(printed, rel=1e-12)


def test_sign_zero_and_monotone():
    assert bernstein_log_pvalue(0.0, 0.1, 100, width=1.5) == math.log(3)
    assert bernstein_log_pvalue(-0.02, 0.1, 100, width=1.5) == bernstein_log_pvalue(0.02, 0.1, 100, width=1.5)
    by_mean = [bernstein_log_pvalue(t, 0.1, 1000, width=1.5) for t in np.linspace(0, 1, 50)]
    by_sd = [bernstein_log_pvalue(0.01, s, 1000, width=1.5) for s in np.linspace(0, 1, 50)]
    by_n = [bernstein_log_pvalue(0.01, 0.1, n, width=1.5) for n in range(10, 1000, 20)]
    assert (np.diff(by_mean) < 0).all()
    assert (np.diff(by_sd) > 0).all()
    assert (np.diff(by_n) < 0).all()


@pytest.mark.parametrize("scale", [0.1, 3.0, 100.0])
def test_invariant_to_units(scale):
    ours = bernstein_log_pvalue(0.01 * scale, 0.1 * scale, 1000, width=1.5 * scale)
    assert ours == pytest.approx(bernstein_log_pvalue(0.01, 0.1, 1000, width=1.5), rel=1e-12)


def test_two_intervals_just_touch():  # appendix A, solved numerically for ln(3/delta)
    for n, first, difference, second in GRID:
        sds = (first, second / 4)

        def gap(log_term, n=n, sds=sds, difference=difference):
            halves = (bernstein_bound(n, sd, log_delta=math.log(3) - log_term, width=1.0) for sd in sds)
            return sum(halves) - difference

        log_term = brentq(gap, 0.0, n * difference, xtol=1e-300, rtol=1e-14)
        expected = math.log(2) + math.log(3) - log_term  # p = 2 delta
        assert two_interval_log_pvalue(difference, *sds, n) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_two_intervals_edges():
    assert two_interval_log_pvalue(0.0, 0.1, 0.2, 100) == math.log(6)
    forth = two_interval_log_pvalue(-0.1, 0.1, 0.2, 100)
    assert forth == pytest.approx(two_interval_log_pvalue(0.1, 0.2, 0.1, 100), rel=1e-14)
    # the paired test is the stronger one: figure 8 of v1, right
    paired_sd = math.sqrt(0.3**2 + 0.3**2 - 2 * 0.9 * 0.3 * 0.3)
    assert bernstein_log_pvalue(0.02, paired_sd, 10_000, width=1.5) < two_interval_log_pvalue(0.02, 0.3, 0.3, 10_000)


@pytest.mark.parametrize("n", [2, 10, 60, 400])
@pytest.mark.parametrize("share", [0.003, 0.05, 0.3, 0.5, 0.98])
def test_bound_covers_exactly(n, share):  # P(|mean - E| > B) summed over the binomial law
    k = np.arange(n + 1)
    mean, sd = k / n, np.sqrt(k / n * (1 - k / n))
    for delta in (0.5, 0.05, 0.005):
        bound = np.array([bernstein_bound(n, s, log_delta=math.log(delta), width=1.0) for s in sd])
        missed = binom.pmf(k, n, share)[np.abs(mean - share) > bound].sum()
        assert missed <= delta
