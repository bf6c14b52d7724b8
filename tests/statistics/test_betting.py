"""STaR bets against a slow loop written from the formulas, and against every sequence there is."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from heldout.statistics import star_bets_log_pvalue
from heldout.statistics.betting import log_levels, random_orders, star_bets_capital, star_log_wealth, star_rejects

STEP = math.log(10) / 10


# ---------------------------------------------------------------- the slow way


def slow_log_wealth(xs, *, log_target, lower, v0):
    """One bettor, one example after the other, zeros included."""
    n, log_wealth, squares = len(xs), 0.0, 0.0
    for t, x in enumerate(xs):  # t examples came before this one
        need = max(log_target - log_wealth, 0.0)
        variance = (v0 + squares) / (t + 1)
        bet = min(math.sqrt(2 * need / ((n - t) * variance)), 0.98 / -lower)
        log_wealth += math.log1p(bet * x)
        squares += x * x
    return log_wealth


def slow_rejects(orders, log_alpha, *, lower, upper, alternative, tolerance=0.0):
    """(1): the mean over orders of what the bettors that aim at 1 / (0.6 alpha) hold, on the winning side."""
    sides = 2 if alternative == "two-sided" else 1
    target = math.log(sides / 0.6) - log_alpha
    v0 = ((upper - lower) / 2) ** 2
    held = [
        math.exp(slow_log_wealth([x - tolerance for x in xs], log_target=target, lower=lower - tolerance, v0=v0))
        for xs in orders
    ]
    return sum(held) / sides / len(held) >= math.exp(-log_alpha) * (1 - 1e-12)


def slow_log_pvalue(xs, *, seed=0, n_orders=None, **options):
    if options["alternative"] == "two-sided" and np.mean(xs) < 0:
        xs = -xs
        options = {**options, "lower": -options["upper"], "upper": -options["lower"]}
    rng = np.random.default_rng(seed)
    zeros = options.get("tolerance", 0.0) > 0
    values, times = random_orders(xs, zeros=zeros, rng=rng, n_orders=n_orders)
    orders = np.zeros((len(values), len(xs)))
    np.put_along_axis(orders, times, values, axis=1)
    log_p = 0.0
    for log_alpha in log_levels(0, 130).tolist():
        if not slow_rejects(orders.tolist(), log_alpha, **options):
            break
        log_p = log_alpha
    return log_p


def skewed_sample(rng, n):
    """Sparse and skewed, with a mean of either sign, so that p lands all over the grid."""
    share = rng.uniform(0.02, 0.5)
    tilt = rng.uniform(0.0, 1.0)
    return rng.choice([-0.8, -0.5, 0.2, 0.5], p=[0.4 * (1 - tilt), 0.6 * (1 - tilt), 0.6 * tilt, 0.4 * tilt],
                      size=n) * (rng.random(n) < share)  # fmt: skip


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
@pytest.mark.parametrize("tolerance", [0.0, 0.02])
def test_oracle(alternative, tolerance):
    rng = np.random.default_rng(1)
    seen = set()
    for seed in range(20):
        xs = skewed_sample(rng, 100)
        options = {"lower": -0.96, "upper": 0.5, "alternative": alternative, "tolerance": tolerance}
        options |= {"seed": seed, "n_orders": 6}
        expected = slow_log_pvalue(xs, **options)
        assert star_bets_log_pvalue(xs, **options) == pytest.approx(expected, abs=1e-12)
        seen.add(round(expected, 6))
    assert len(seen) > 3  # not all of them 1


@pytest.mark.parametrize("zeros", [False, True])
def test_random_orders(zeros):
    xs = skewed_sample(np.random.default_rng(2), 60)
    values, times = random_orders(xs, zeros=zeros, rng=np.random.default_rng(0), n_orders=2000)
    kept = np.sort(xs if zeros else xs[xs != 0])
    assert (np.sort(values, axis=1) == kept).all()  # every value once, in every order
    assert (np.diff(times, axis=1) > 0).all()
    assert times.min() >= 0
    assert times.max() < 60
    assert values.mean(axis=0) == pytest.approx(np.full(len(kept), kept.mean()), abs=0.06)  # each place alike


def test_p_is_on_the_grid():
    rng = np.random.default_rng(3)
    for _ in range(20):
        log_p = star_bets_log_pvalue(skewed_sample(rng, 300), lower=-0.96, upper=0.5)
        j = (math.log(0.5) - log_p) / STEP
        assert log_p == 0.0 or j == pytest.approx(round(j), abs=1e-9)


def test_usual_levels_are_met_on_the_nose():  # a rejection at 0.05 must not print as 0.0500...01
    for j, alpha in ((10, 0.05), (20, 0.005), (30, 0.0005)):
        assert math.exp(log_levels(0, 31)[j]) == pytest.approx(alpha, rel=1e-14)
        assert math.exp(log_levels(0, 31)[j]) <= alpha
        assert log_levels(0, 31)[j] <= math.log(alpha)


def test_stops_at_the_first_failure(monkeypatch):  # the clause itself, should the bets ever change
    pattern = np.array([True, True, False, True] + [False] * 28)
    monkeypatch.setattr(
        "heldout.statistics.betting.star_rejects", lambda *a, log_alphas, **k: pattern[: len(log_alphas)]
    )
    assert star_bets_log_pvalue([0.1], lower=-0.5, upper=0.5) == pytest.approx(math.log(0.5) - STEP)


@pytest.mark.parametrize("n", [10, 30, 60, 150, 400])
def test_blocks_of_levels_join(n):  # p within the first block of levels, in later ones, and where levels are coarse
    options = {"lower": -0.5, "upper": 0.5, "alternative": "greater"}
    xs = np.full(n, 0.2)
    log_p = star_bets_log_pvalue(xs, **options)
    j = int(np.argmin(np.abs(log_levels(0, 300) - log_p)))
    assert slow_rejects([xs.tolist()], log_p, **options)
    assert not slow_rejects([xs.tolist()], log_levels(j + 1, j + 2)[0], **options)


# ---------------------------------------------------------------- every sequence there is

LAWS = [  # mean zero, exactly
    {Fraction(-4, 5): Fraction(1, 5), Fraction(1, 5): Fraction(4, 5)},
    {Fraction(1, 2): Fraction(1, 6), Fraction(-1, 10): Fraction(5, 6)},
    {Fraction(-1, 2): Fraction(1, 10), Fraction(0): Fraction(7, 10), Fraction(1, 4): Fraction(1, 5)},
    {Fraction(-24, 25): Fraction(1, 4), Fraction(12, 25): Fraction(1, 2), Fraction(0): Fraction(1, 4)},
]


def sequences(law, n):
    """Every sequence of n values with its probability."""
    assert sum(law.values()) == 1
    rows = list(itertools.product(law, repeat=n))
    probabilities = [float(math.prod(law[x] for x in row)) for row in rows]
    return np.array(rows, dtype=float), np.array(probabilities)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [4, 5, 6])
def test_martingale(law, n):
    assert sum(x * p for x, p in law.items()) == 0
    rows, probabilities = sequences(law, n)
    times = np.broadcast_to(np.arange(n), rows.shape)
    targets = -log_levels(0, 40)
    for sign, lower in ((1, -0.96), (-1, -0.5)):
        log_wealth = star_log_wealth(sign * rows, times, n, log_targets=targets, lower=lower, v0=0.53)
        assert probabilities @ np.exp(log_wealth) == pytest.approx(np.ones(40), rel=1e-12)
        assert np.exp(log_wealth).std(axis=0).min() > 0.1  # it does bet


def every_order(n):
    return np.array(list(itertools.permutations(range(n))))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_level_exactly(law, alternative):
    """Over every sequence there is, with every order there is: no level is passed more often than it says."""
    rows, probabilities = sequences(law, 5)
    orders = rows[:, every_order(5)]  # (sequences, orders, values)
    times = np.broadcast_to(np.arange(5), orders.shape)
    log_alphas = log_levels(0, 40)
    sides = [(orders, -0.96, 0.5), (-orders, -0.5, 0.96)][: 2 if alternative == "two-sided" else 1]
    rejects = np.zeros((len(rows), 40), dtype=bool)
    for values, lower, upper in sides:  # either side, whichever wins
        rejects |= star_rejects(
            values, times, 5, log_alphas=log_alphas, lower=lower, upper=upper, alternative=alternative
        )
    assert (probabilities @ rejects <= np.exp(log_alphas) * (1 + 1e-9)).all()


def test_level_exactly_is_not_vacuous():
    rows, probabilities = sequences(LAWS[3], 5)
    orders = rows[:, every_order(5)]
    rejects = star_rejects(
        orders, np.broadcast_to(np.arange(5), orders.shape), 5,
        log_alphas=log_levels(0, 1), lower=-0.96, upper=0.48, alternative="greater",
    )  # fmt: skip
    assert probabilities @ rejects[:, 0] > 0.1


@pytest.mark.parametrize("law", LAWS)
def test_level_over_data_and_seed(law):
    """With a few orders drawn at random: over all sequences and many seeds, still at most the level."""
    rows, probabilities = sequences(law, 4)
    options = {"lower": -0.96, "upper": 0.5, "alternative": "greater", "n_orders": 3}
    log_p = np.array([[star_bets_log_pvalue(row, seed=s, **options) for s in range(12)] for row in rows])
    for log_alpha in log_levels(0, 12):
        passed = (log_p <= log_alpha + 1e-12).mean(axis=1)
        error = 3 * math.sqrt(float(probabilities**2 @ (passed * (1 - passed))) / 12)  # of 12 seeds
        assert probabilities @ passed <= math.exp(log_alpha) * (1 + 1e-9) + error


def test_largest_wealth_of_the_grid_would_not_be_valid():
    """Why each bettor is read at its own level only: 1 / max W over bettors and times is no p-value."""
    xs = np.random.default_rng(0).choice([-0.5, 0.5], size=(4000, 30))
    times = np.broadcast_to(np.arange(30), xs.shape)
    options = {"log_targets": -log_levels(0, 31), "lower": -0.5, "v0": 0.25}
    path = [star_log_wealth(xs[:, :t], times[:, :t], 30, **options) for t in range(2, 31, 2)]
    assert np.mean(path[-1][:, 10] >= math.log(20) - 1e-12) < 0.06
    assert np.mean(np.max(path, axis=(0, 2)) >= math.log(20)) > 0.06


@pytest.mark.parametrize("law", LAWS)
def test_tolerance_is_the_edge_of_its_null(law):
    """A mean of exactly the tolerance: the bettor for a positive mean is fair, the other loses."""
    tolerance = 1 / 20
    shifted = {x + Fraction(1, 20): p for x, p in law.items()}
    rows, probabilities = sequences(shifted, 5)
    times = np.broadcast_to(np.arange(5), rows.shape)
    targets = -log_levels(0, 20)
    up = star_log_wealth(rows - tolerance, times, 5, log_targets=targets, lower=-1.01, v0=0.6)
    down = star_log_wealth(-rows - tolerance, times, 5, log_targets=targets, lower=-0.65, v0=0.6)
    assert probabilities @ np.exp(up) == pytest.approx(np.ones(20), rel=1e-12)
    assert (probabilities @ np.exp(down) < 1).all()


# ---------------------------------------------------------------- order, symmetry, extremes


def test_bets_ignore_what_comes_later():
    rng = np.random.default_rng(5)
    xs = rng.choice([-0.5, 0.25], size=(1, 30))
    other = xs.copy()
    other[0, 20:] = 0.25
    options = {"log_targets": np.array([3.0]), "lower": -0.5, "v0": 0.25}
    times = np.arange(30)[None]
    head = [star_log_wealth(x[:, :20], times[:, :20], 30, **options) for x in (xs, other)]
    assert head[0] == head[1]
    # the last value moves the wealth through the last factor alone
    a, b = (star_log_wealth(np.append(xs[:, :29], [[v]], axis=1), times, 30, **options) for v in (0.0, 0.25))
    before = star_log_wealth(xs[:, :29], times[:, :29], 30, **options)
    assert a == pytest.approx(before, rel=1e-14)
    assert b > a


def test_zeros_may_be_left_out():
    rng = np.random.default_rng(6)
    xs = skewed_sample(rng, 400)
    times = np.flatnonzero(xs)
    options = {"log_targets": np.linspace(0.5, 20, 7), "lower": -0.96, "v0": 0.5}
    dense = star_log_wealth(xs[None], np.arange(400)[None], 400, **options)
    sparse = star_log_wealth(xs[None, times], times[None], 400, **options)
    padded = star_log_wealth(np.append(xs[times], [0, 0])[None], np.append(times, [0, 0])[None], 400, **options)
    assert sparse == pytest.approx(dense, rel=1e-13)
    assert (padded == sparse).all()


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_the_order_they_come_in_is_irrelevant(alternative):
    rng = np.random.default_rng(7)
    xs = skewed_sample(rng, 500)
    options = {"lower": -0.96, "upper": 0.5, "alternative": alternative}
    log_p = star_bets_log_pvalue(xs, **options)
    for _ in range(5):
        assert star_bets_log_pvalue(rng.permutation(xs), **options) == log_p


def data_set(n, n_nonzero, share, seed):
    """`share` of the non-zero values are positive."""
    rng = np.random.default_rng(seed)
    xs = np.zeros(n)
    xs[:n_nonzero] = np.where(rng.random(n_nonzero) < share, 0.5, -0.5) * rng.choice([1, 0.6, 0.3], n_nonzero)
    return xs


DATA_SETS = [(200, 20, 0.95), (1000, 60, 0.7), (3000, 120, 0.65), (10_000, 200, 0.6)]


def test_one_order_is_a_lottery():  # why there are many
    xs = data_set(*DATA_SETS[3], seed=3)
    ps = [star_bets_log_pvalue(xs, lower=-0.96, upper=0.5, seed=seed, n_orders=1) for seed in range(40)]
    assert max(ps) - min(ps) > math.log(5)


@pytest.mark.parametrize("setting", DATA_SETS)
def test_the_seed_hardly_matters_quickly(setting):
    ps = [star_bets_log_pvalue(data_set(*setting, seed=3), lower=-0.96, upper=0.5, seed=seed) for seed in range(10)]
    assert max(ps) < math.log(0.3)  # something to move
    assert max(ps) - min(ps) < math.log(1.5)


@pytest.mark.slow
@pytest.mark.parametrize("data_seed", [3, 4])
@pytest.mark.parametrize("setting", DATA_SETS)
def test_the_seed_hardly_matters(setting, data_seed):
    xs = data_set(*setting, seed=data_seed)
    ps = [star_bets_log_pvalue(xs, lower=-0.96, upper=0.5, seed=seed) for seed in range(100)]
    print(f"{setting}: p {math.exp(min(ps)):.3g} to {math.exp(max(ps)):.3g}")
    assert max(ps) - min(ps) < math.log(1.5)


@pytest.mark.parametrize("scale", [0.5, 4.0])  # powers of two: not a bit moves
def test_units_and_sign_do_not_matter(scale):
    rng = np.random.default_rng(8)
    for _ in range(5):
        xs = skewed_sample(rng, 200)
        log_p = star_bets_log_pvalue(xs, lower=-0.96, upper=0.5)
        assert star_bets_log_pvalue(scale * xs, lower=-0.96 * scale, upper=0.5 * scale) == log_p
        assert star_bets_log_pvalue(-xs, lower=-0.5, upper=0.96) == log_p


def test_finite_where_p_underflows():
    log_p = star_bets_log_pvalue(np.full(1500, 0.4), lower=-0.5, upper=0.5)
    assert math.isfinite(log_p)
    assert math.exp(log_p) == 0.0
    # no bettor can make more than every bet at the largest size
    assert log_p > -1500 * math.log1p(0.98 * 0.4 / 0.5) - 10 * STEP


def test_nothing_happens_means_p_is_one():
    assert star_bets_log_pvalue(np.zeros(100), lower=-0.5, upper=0.5) == 0.0
    assert star_bets_log_pvalue([0.0], lower=-0.5, upper=0.5, alternative="greater") == 0.0


# ---------------------------------------------------------------- another seed


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_capital_is_on_the_side_of_the_level_on_which_p_is(alternative):
    rng = np.random.default_rng(5)
    sides = set()
    for seed in range(25):
        xs = skewed_sample(rng, 200)
        options = {"lower": -0.96, "upper": 0.5, "alternative": alternative, "seed": seed, "n_orders": 40}
        log_p = star_bets_log_pvalue(xs, **options)
        for level in (0.6, 0.2, 0.05, 0.012, 0.001):
            found = star_bets_capital(xs, level=level, **options)
            assert (found.share >= 1 - 1e-12) == (log_p <= math.log(level) + 1e-12)
            sides.add((level, found.share >= 1))
    assert len(sides) == 10


def test_capital_tells_where_another_seed_decides():
    rng, decided, told, warned = np.random.default_rng(6), 0, 0, 0
    for _ in range(120):
        xs = rng.choice([-0.5, -0.3, 0.3, 0.5], p=[0.18, 0.18, 0.32, 0.32], size=150)
        options = {"lower": -0.96, "upper": 0.5, "n_orders": 40}
        found = star_bets_capital(xs, level=0.05, seed=0, **options)
        near = found.error > 0 and abs(found.share - 1) <= 2 * found.error
        ps = [star_bets_log_pvalue(xs, seed=seed, **options) for seed in range(4)]
        sides = {log_p <= math.log(0.05) + 1e-12 for log_p in ps}
        decided, told, warned = decided + (len(sides) > 1), told + (near and len(sides) > 1), warned + near
    assert decided >= 5
    assert told >= 0.7 * decided  # others were further from the level than two standard deviations
    assert warned <= 30  # and not everywhere


def test_capital_of_what_no_order_changes():
    equal = star_bets_capital([0.2] * 30, level=0.05, lower=-0.5, upper=0.5)
    assert equal.share > 1
    assert equal.error == 0
    nothing = star_bets_capital([0.0] * 30, level=0.05, lower=-0.5, upper=0.5)
    assert (nothing.share, nothing.error) == (0.05, 0)
    assert star_bets_capital([0.5] * 30 + [0.3], level=1e-30, lower=-0.96, upper=0.5).share < 0.01
