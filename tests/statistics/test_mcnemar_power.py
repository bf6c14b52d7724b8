"""Power of McNemar's exact test against every table counted, and what follows from it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammaln, xlogy

from heldout.statistics import mcnemar_power as module
from heldout.statistics.binomial import sign_test_log_pvalue
from heldout.statistics.mcnemar_power import detectable_gap, examples_for_gap, mcnemar_power


def counted(n, psi, gap, level):
    """Probability of all tables in which the better model is told, one by one."""
    up, down = (psi + gap) / 2, (psi - gap) / 2
    total = 0.0
    for b in range(n + 1):
        for c in range(n - b + 1):
            if b > c and sign_test_log_pvalue(b, c) <= math.log(level) + 1e-12:
                rest = n - b - c
                law = gammaln(n + 1) - gammaln(b + 1) - gammaln(c + 1) - gammaln(rest + 1)
                total += math.exp(law + xlogy(b, up) + xlogy(c, down) + xlogy(rest, 1 - psi))
    return total


@pytest.mark.parametrize(("n", "psi", "gap"), [(12, 0.5, 0.3), (30, 0.4, 0.2), (40, 0.2, 0.2), (20, 1.0, 0.6)])
@pytest.mark.parametrize("level", [0.05, 0.001])
def test_power_counted(n, psi, gap, level):
    assert mcnemar_power(n, psi, gap, level=level) == pytest.approx(counted(n, psi, gap, level), abs=1e-9)


def test_many_discordant_examples_by_the_normal_law(monkeypatch):
    n, psi, gap = 60_000, 0.1, 0.0038
    normal = mcnemar_power(n, psi, gap, level=0.05)
    monkeypatch.setattr(module, "MANY", 10**9)
    assert mcnemar_power(n, psi, gap, level=0.05) == pytest.approx(normal, abs=0.002)


@pytest.mark.parametrize(("gap", "psi"), [(0.06, 0.1), (0.02, 0.2), (0.3, 0.3)])
def test_examples_for_a_gap_have_the_power(gap, psi):
    n = examples_for_gap(gap, psi, level=0.05)
    assert mcnemar_power(n, psi, gap, level=0.05) >= 0.8
    assert mcnemar_power(math.floor(0.8 * n), psi, gap, level=0.05) < 0.8
    assert detectable_gap(n, psi, level=0.05) <= gap + 1e-6


def test_gap_that_is_found_four_times_in_five():
    rng = np.random.default_rng(0)
    gap = detectable_gap(200, 0.2, level=0.05)
    b, c, _ = rng.multinomial(200, [(0.2 + gap) / 2, (0.2 - gap) / 2, 0.8], size=2_000).T
    found = [sign_test_log_pvalue(int(i), int(j)) <= math.log(0.05) and i > j for i, j in zip(b, c, strict=True)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.03)


def test_edges():
    assert mcnemar_power(0, 0.1, 0.1, level=0.05) == 0
    assert mcnemar_power(100, 0.1, 0.0, level=0.05) == 0
    assert examples_for_gap(1e-9, 0.1, level=0.05) is None
    assert math.isnan(detectable_gap(5, 0.5, level=0.05))  # 2 / 2^5 > 0.05
    assert detectable_gap(6, 0.5, level=0.05) > 0.9
