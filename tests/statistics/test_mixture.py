"""The mixture e-value: its expectation is 1, summed over every sample there is."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.statistics import mixture_log_evalue
from heldout.statistics.mixture import BET_SHARES
from tests.statistics.test_betting import LAWS, sequences

ALTERNATIVES = ["two-sided", "greater"]


def slow_evalue(xs, *, lower, upper, alternative, tolerance=0.0):
    up, down = [], []
    for j in range(20):
        share = 0.98 / math.sqrt(2) ** j
        up.append(math.prod(1 + share / (tolerance - lower) * (x - tolerance) for x in xs))
        down.append(math.prod(1 + share / (upper + tolerance) * (-x - tolerance) for x in xs))
    mean_up, mean_down = sum(up) / 20, sum(down) / 20
    return mean_up if alternative == "greater" else (mean_up + mean_down) / 2


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("tolerance", [0.0, 0.03])
def test_oracle(alternative, tolerance):
    rng = np.random.default_rng(0)
    for n in (1, 7, 300):
        xs = rng.choice([-0.9, -0.3, 0.0, 0.2, 0.5], size=n)
        options = {"lower": -0.96, "upper": 0.5, "alternative": alternative, "tolerance": tolerance}
        expected = math.log(slow_evalue(xs.tolist(), **options))
        assert mixture_log_evalue(xs, **options) == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_every_bet_keeps_the_wealth_positive():
    assert (BET_SHARES > 0).all()
    assert (BET_SHARES < 1).all()
    assert math.isfinite(mixture_log_evalue([-0.96] * 5000, lower=-0.96, upper=0.5, alternative="greater"))
    assert math.isfinite(mixture_log_evalue([0.5] * 50_000, lower=-0.96, upper=0.5))


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [3, 5])
def test_expectation_is_one(law, n, alternative):
    rows, probabilities = sequences(law, n)
    options = {"lower": -0.96, "upper": 0.5, "alternative": alternative}
    log_e = np.array([mixture_log_evalue(row, **options) for row in rows])
    assert probabilities @ np.exp(log_e) == pytest.approx(1.0, rel=1e-12)
    for alpha in (0.9, 0.7, 0.5, 0.3, 0.1, 0.05):  # Markov, exactly
        assert probabilities[-log_e <= math.log(alpha)].sum() <= alpha


@pytest.mark.parametrize("law", LAWS)
def test_tolerance_is_the_edge_of_its_null(law):
    shifted = {x + Fraction(1, 20): p for x, p in law.items()}
    rows, probabilities = sequences(shifted, 4)
    options = {"lower": -0.96, "upper": 0.6, "tolerance": 0.05}
    means = {a: probabilities @ [math.exp(mixture_log_evalue(r, alternative=a, **options)) for r in rows]
             for a in ALTERNATIVES}  # fmt: skip
    assert means["greater"] == pytest.approx(1.0, rel=1e-12)
    assert means["two-sided"] < 1.0


def test_combination():
    """Dependent e-values may be averaged, those of disjoint examples multiplied; never the other way."""
    law = LAWS[0]
    rows, probabilities = sequences(law, 4)
    options = {"lower": -0.96, "upper": 0.5}
    first = np.exp([mixture_log_evalue(row, **options) for row in rows])
    same_examples = np.exp([mixture_log_evalue(row, alternative="greater", **options) for row in rows])
    assert probabilities @ ((first + same_examples) / 2) == pytest.approx(1.0, rel=1e-12)
    assert probabilities @ (same_examples * same_examples) > 1.01
    disjoint = sum(
        p * q * e * f for (p, e), (q, f) in itertools.product(zip(probabilities, first, strict=True), repeat=2)
    )
    assert disjoint == pytest.approx(1.0, rel=1e-12)


def test_no_order():
    rng = np.random.default_rng(1)
    xs = rng.choice([-0.5, 0.0, 0.31, 0.5], size=400)
    log_e = mixture_log_evalue(xs, lower=-0.96, upper=0.5)
    for _ in range(5):
        assert mixture_log_evalue(rng.permutation(xs), lower=-0.96, upper=0.5) == log_e


def test_mirror_and_units():
    xs = np.random.default_rng(2).choice([-0.5, 0.0, 0.31], size=100)
    log_e = mixture_log_evalue(xs, lower=-0.96, upper=0.5)
    assert mixture_log_evalue(-xs, lower=-0.5, upper=0.96) == pytest.approx(log_e, abs=1e-12)
    assert mixture_log_evalue(4 * xs, lower=-3.84, upper=2.0) == pytest.approx(log_e, abs=1e-12)


def test_finite_where_p_underflows():
    log_e = mixture_log_evalue([0.5] * 10_000, lower=-0.96, upper=0.5)
    best = 10_000 * math.log1p(0.98 * 0.5 / 0.96)
    assert log_e == pytest.approx(best - math.log(40), abs=1e-6)  # 1 of 20 bets, 1 of 2 signs


def test_errors():
    with pytest.raises(InputError, match="`alternative` is 'less'"):
        mixture_log_evalue([0.1], lower=-0.5, upper=0.5, alternative="less")
    with pytest.raises(InputError, match=r"`tolerance` is 0\.5"):
        mixture_log_evalue([0.1], lower=-0.5, upper=0.5, tolerance=0.5)
