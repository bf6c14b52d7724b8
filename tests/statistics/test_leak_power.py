"""What leak would be found: against closed forms, and against the test itself."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from heldout.errors import InputError
from heldout.statistics import detectable_leak, examples_needed, leak_power, leak_scores, leak_test
from heldout.statistics.leak_power import critical_value, effective_sizes, in_box


def rng_of(seed):
    return np.random.default_rng(seed)


def normal(rng, n):
    hard = rng.normal(size=n)
    return hard + 0.7 * rng.normal(size=n), hard + 0.7 * rng.normal(size=(3, n))


def heavy(rng, n):
    hard = 3 + 2 * rng.standard_t(3, size=n)
    x, *references = np.clip(hard + rng.standard_t(3, size=(4, n)), -5, 10)
    return x, np.array(references)


def binary(rng, n):
    hard = rng.normal(size=n)
    x, *references = (hard + 0.5 * rng.normal(size=(4, n)) > -0.7).astype(float)
    return x, np.array(references)


# ---------------------------------------------------------------- two normal numbers


@pytest.mark.parametrize("correlation", [-0.7, 0.0, 0.5, 0.9, 0.99])
def test_box_against_scipy(correlation):
    law = multivariate_normal([0.3, 1.0], [[1.44, correlation * 1.2 * 0.8], [correlation * 1.2 * 0.8, 0.64]])
    upper, lower = np.array([1.5, 2.0]), np.array([-1.5, -2.0])
    ours = in_box(lower, upper, np.array([0.3, 1.0]), np.array([1.2, 0.8]), correlation)
    assert ours == pytest.approx(law.cdf(upper, lower_limit=lower), abs=1e-5)
    ours = in_box(np.full(2, -np.inf), upper, np.array([0.3, 1.0]), np.array([1.2, 0.8]), correlation)
    assert ours == pytest.approx(law.cdf(upper), abs=1e-5)


def testcritical_value_value_in_closed_form():
    for level in (0.05, 0.001):
        one = norm.isf(1 - math.sqrt(1 - level))  # independent: P(both below c) is a square
        assert critical_value(0.0, level, "greater") == pytest.approx(one, abs=1e-4)
        two = norm.isf((1 - math.sqrt(1 - level)) / 2)
        assert critical_value(0.0, level, "two-sided") == pytest.approx(two, abs=1e-4)
        assert critical_value(0.9999, level, "greater") == pytest.approx(norm.isf(level), abs=0.02)  # one and the same


# ---------------------------------------------------------------- closed form


def test_mean_statistic_in_closed_form():
    """Where no example has anything to gain the tail statistic is constant, and a normal test of the mean is left."""
    x = rng_of(0).normal(size=200_000)
    flat = replace(leak_scores(x), expected=np.full(len(x), 100.0))
    n, n_control, share, pull = 800, 1200, 0.15, 0.5
    delta = pull * np.maximum(np.quantile(x, 0.95) - x, 0.0)
    d = delta.mean() * (1 - 1 / (n + n_control))  # what is expected rises with the example itself
    V = ((1 - share) * x.var() + share * np.var(x + delta)) / n + x.var() / n_control
    se = math.sqrt(V + share * (1 - share) * d**2 / n)
    mean, sd = share * d / se, math.sqrt(V) / se
    for alternative, c, low in (
        ("two-sided", norm.isf(0.025), -norm.isf(0.025)),
        ("greater", norm.isf(0.05), -math.inf),
    ):
        exact = 1 - (norm.cdf((c - mean) / sd) - norm.cdf((low - mean) / sd))
        ours = leak_power(flat, share=share, pull=pull, n_test=n, n_control=n_control, alternative=alternative)
        assert ours == pytest.approx(exact, abs=0.002)


def test_without_a_leak_power_is_the_level():
    scores = leak_scores(*normal(rng_of(0), 3000))
    for alternative in ("two-sided", "greater"):
        for level in (0.05, 0.001):
            found = leak_power(
                scores, share=1e-9, pull=0.5, n_test=500, n_control=700, level=level, alternative=alternative
            )
            assert found == pytest.approx(level, rel=1e-3)


def test_scores_that_do_not_vary_have_no_power():
    assert math.isnan(leak_power(leak_scores(np.ones(100)), share=0.5, pull=1.0, n_test=100, n_control=100))
    (found,) = detectable_leak(leak_scores(np.ones(100)), n_test=100, n_control=100, pulls=(1.0,))
    assert math.isnan(found.share)
    assert found.to_dict() == {"pull": 1.0, "share": None}


def test_power_grows_with_everything_that_helps():
    rng = rng_of(1)
    x, references = normal(rng, 4000)
    scores = leak_scores(x, references)
    usual = {"share": 0.05, "pull": 0.5, "n_test": 1000, "n_control": 1000}
    power = leak_power(scores, **usual)
    for better in ({"share": 0.06}, {"pull": 0.6}, {"n_test": 1500}, {"n_control": 1500}, {"level": 0.1}):
        assert leak_power(scores, **{**usual, **better}) > power
    assert leak_power(scores, **usual, alternative="two-sided") < power
    assert leak_power(leak_scores(x), **usual) < power  # without references


def test_right_or_wrong_moves_all_the_way_or_not_at_all():
    scores = leak_scores(*binary(rng_of(2), 4000))
    usual = {"n_test": 1000, "n_control": 1000}
    half = leak_power(scores, share=0.2, pull=0.5, **usual)
    assert half == pytest.approx(leak_power(scores, share=0.1, pull=1.0, **usual))


def test_units_of_the_scores_do_not_matter():
    x, references = normal(rng_of(3), 2000)
    usual = {"share": 0.05, "pull": 0.5, "n_test": 1000, "n_control": 1000}
    one, other = (leak_power(leak_scores(a * x + b, a * references + b), **usual) for a, b in ((1, 0), (3.0, -20.0)))
    assert one == pytest.approx(other, rel=1e-6)


def test_classes_are_taken_off():  # a spread between classes is no noise
    rng = rng_of(4)
    x, _ = normal(rng, 4000)
    classes = rng.integers(0, 4, 4000)
    usual = {"share": 0.2, "pull": 0.5, "n_test": 400, "n_control": 400}
    apart = leak_scores(x + 5.0 * classes)
    assert leak_power(apart, classes=classes, **usual) > leak_power(apart, **usual) + 0.1


def test_detectable_leak_is_where_power_is():
    scores = leak_scores(*heavy(rng_of(5), 3000))
    usual = {"n_test": 1500, "n_control": 1500, "alternative": "greater", "level": 0.01}
    found = detectable_leak(scores, **usual)
    assert [leak.pull for leak in found] == [0.25, 0.5, 1.0]
    shares = [leak.share for leak in found]
    assert shares == sorted(shares, reverse=True)
    for leak in found:
        assert leak_power(scores, share=leak.share, pull=leak.pull, **usual) == pytest.approx(0.8, abs=0.002)
    few = detectable_leak(scores, n_test=8, n_control=8, pulls=(0.05,))
    assert math.isnan(few[0].share)


def test_examples_needed_are_just_enough():
    scores = leak_scores(*heavy(rng_of(6), 3000))
    for more in ({}, {"ratio": 0.3}, {"n_control": 5000}):
        n = examples_needed(scores, share=0.05, pull=0.5, **more)

        def power(n, more=more):
            n_control = more.get("n_control", more.get("ratio", 1.0) * n)
            return leak_power(scores, share=0.05, pull=0.5, n_test=n, n_control=n_control)

        assert power(n) >= 0.8 > power(n - 1)
    assert examples_needed(scores, share=0.01, pull=0.25, n_control=50) is None  # a control so small is never enough


def test_effective_sizes_give_the_standard_error_of_the_test():
    rng = rng_of(7)
    classes = rng.choice(3, p=[0.8, 0.15, 0.05], size=400), rng.choice(3, p=[0.1, 0.3, 0.6], size=300)
    n, n_control = effective_sizes(*classes)
    counts = [np.bincount(c, minlength=3) for c in classes]
    weights = counts[0] * counts[1] / (counts[0] + counts[1])
    weights = weights / weights.sum()
    assert 1 / n + 1 / n_control == pytest.approx((weights**2 * (1 / counts[0] + 1 / counts[1])).sum())
    assert n + n_control < 400
    one_group = effective_sizes(*classes, groups_test=np.arange(400) // 4, groups_control=np.arange(300) // 4)
    assert one_group[0] + one_group[1] < n + n_control


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"share": 0.0}, "`share` is 0.0; it must be between 0 and 1, and not 0 itself"),
        ({"pull": 1.5}, "`pull` is 1.5"),
        ({"level": 1.0}, "`level` is 1.0"),
        ({"n_test": 0}, "`n_test` is 0; it must be a positive number"),
        ({"n_control": math.nan}, "`n_control` is nan"),
        ({"alternative": "less"}, "two-sided"),
        ({"classes": [0, 1]}, "`classes` has shape"),
        ({"groups": [0, 1]}, "`groups` has shape"),
    ],
)
def test_bad_input(change, message):
    given = {"share": 0.1, "pull": 0.5, "n_test": 50, "n_control": 50, **change}
    with pytest.raises(InputError, match=message):
        leak_power(leak_scores(np.arange(50.0)), **given)


# ---------------------------------------------------------------- against the test itself


def simulated(make, n, n_control, share, pull, repetitions, references=True):
    """How often the real test finds it."""
    rng, found = rng_of(0), 0
    for _ in range(repetitions):
        x, others = make(rng, n + n_control)
        seen = round(share * n)
        if set(x) <= {0.0, 1.0}:
            x[:seen] = np.where(rng.random(seen) < pull, 1.0, x[:seen])
        else:
            x[:seen] += pull * np.maximum(np.quantile(x, 0.95) - x[:seen], 0.0)
        sides = {"references_test": others[:, :n], "references_control": others[:, n:]} if references else {}
        found += leak_test(x[:n], x[n:], **sides, rng=rng, n_resamples=199).p_value <= 0.05
    return found / repetitions


CASES = [
    (normal, 1000, 1000, 0.05, 0.5, True),
    (normal, 1000, 1000, 0.02, 1.0, True),
    (normal, 1000, 1000, 0.15, 0.25, False),
    (normal, 2000, 500, 0.1, 0.25, True),
    (normal, 100, 100, 0.25, 0.5, True),
    (heavy, 1000, 1000, 0.05, 0.5, True),
    (heavy, 1000, 1000, 0.02, 1.0, True),
    (heavy, 300, 900, 0.3, 0.25, True),
    (binary, 1000, 1000, 0.2, 0.5, True),
    (binary, 400, 400, 0.3, 1.0, False),
]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "n", "n_control", "share", "pull", "references"), CASES)
def test_forecast_against_the_test(make, n, n_control, share, pull, references):
    x, others = make(rng_of(99), n_control)  # a pilot as large as the control: the control itself
    scores = leak_scores(x, others if references else None)
    forecast = leak_power(scores, share=share, pull=pull, n_test=n, n_control=n_control)
    found = simulated(make, n, n_control, share, pull, 400, references)
    assert forecast == pytest.approx(found, abs=0.07 + 2 * math.sqrt(found * (1 - found) / 400))
