"""E-values and adjusted p-values: closed forms, and what they promise along a chain of audits."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from heldout.errors import InputError
from heldout.statistics import calibrated_log_evalue, holm


@pytest.mark.parametrize("p", [1.0, 0.99995, 0.999, 0.5, 0.05, 1e-4, 1e-12])
def test_calibrator_is_the_integral(p):
    expected = quad(lambda kappa: kappa * p ** (kappa - 1), 0, 1)[0]
    assert math.exp(calibrated_log_evalue(math.log(p))) == pytest.approx(expected, rel=1e-7)


def test_calibrator_has_mean_one():  # over a uniform p, in u = -log p, where nothing overflows
    mean, _ = quad(lambda u: math.exp(calibrated_log_evalue(-u) - u), 0, 50, limit=200)
    left_out = 1 / 50  # the tail, about the integral of 1 / u^2
    assert mean == pytest.approx(1 - left_out, abs=2e-3)


def test_calibrator_falls_with_p_and_is_finite_where_p_underflows():
    logs = [calibrated_log_evalue(-u) for u in (0.0, 1e-4, 1e-3, 0.1, 5.0, 2000.0)]
    assert logs == sorted(logs)
    assert math.isfinite(logs[-1])
    with pytest.raises(InputError, match="at most 0"):
        calibrated_log_evalue(0.1)


def test_holm_against_the_closed_testing_it_stands_for():
    """A hypothesis is rejected where Bonferroni rejects every set that holds it."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        ps = (rng.random(4) ** 3).tolist()
        sets = [[i for i in range(4) if mask >> i & 1] for mask in range(1, 16)]
        closed = [max(min(1.0, len(s) * min(ps[j] for j in s)) for s in sets if i in s) for i in range(4)]
        assert holm(ps) == pytest.approx(closed)


def chains(n_chains, correlation, n_audits=50, seed=0):
    """p-values of honest models that are audited on each of 50 commits on one test set."""
    rng = np.random.default_rng(seed)
    shared, own = rng.normal(size=(n_chains, 1)), rng.normal(size=(n_chains, n_audits))
    z = math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * own
    return 2 * norm.sf(np.abs(z))


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_planned_audits_and_e_values_hold_for_the_whole_chain(correlation):
    p = chains(4000, correlation)
    fails = np.any(p < 0.01, axis=1).mean()
    bonferroni = np.any(50 * p < 0.01, axis=1).mean()
    e = np.exp(np.vectorize(calibrated_log_evalue)(np.log(p)))
    so_far = np.cumsum(e, axis=1) / 50  # over the number that was planned, looked at after every commit
    added_up = np.any(so_far >= 100, axis=1).mean()
    allowed = 0.01 + 3 * math.sqrt(0.01 * 0.99 / 4000)
    assert fails > 0.03  # what --fail-under 0.01 alone does
    assert bonferroni <= allowed
    assert added_up <= allowed
    if correlation == 0.5:
        assert 0.08 < fails < 0.25
