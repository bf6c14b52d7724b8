"""STaR bets against a slow loop written from the formulas, and against every sequence there is."""

import hashlib
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.statistics import order_by_id, star_bets_log_pvalue
from heldout.statistics.betting import log_levels, star_log_wealth, star_rejects

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


def slow_rejects(xs, log_alpha, *, lower, upper, alternative, tolerance=0.0):
    v0 = ((upper - lower) / 2) ** 2
    up = [x - tolerance for x in xs]
    down = [-x - tolerance for x in xs]
    if alternative == "greater":
        wealth = slow_log_wealth(up, log_target=-log_alpha, lower=lower - tolerance, v0=v0)
    else:
        target = math.log(2) - log_alpha
        halves = (
            slow_log_wealth(up, log_target=target, lower=lower - tolerance, v0=v0),
            slow_log_wealth(down, log_target=target, lower=-upper - tolerance, v0=v0),
        )
        wealth = np.logaddexp(*halves) - math.log(2)
    return wealth >= -log_alpha - 1e-12


def slow_log_pvalue(xs, *, ids, **options):
    def key(i):
        return hashlib.blake2b(str(ids[i]).encode(), digest_size=16).digest()

    ordered = [xs[i] for i in sorted(range(len(xs)), key=key)]
    log_p = 0.0
    for j in itertools.count():
        log_alpha = math.log(0.5) - j * STEP
        if not slow_rejects(ordered, log_alpha, **options):
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
    for _ in range(25):
        xs = skewed_sample(rng, 150)
        ids = [f"image-{i:03d}" for i in rng.permutation(150)]
        options = {"lower": -0.96, "upper": 0.5, "alternative": alternative, "tolerance": tolerance}
        expected = slow_log_pvalue(xs.tolist(), ids=ids, **options)
        assert star_bets_log_pvalue(xs, ids=ids, **options) == pytest.approx(expected, abs=1e-12)
        seen.add(round(expected, 6))
    assert len(seen) > 5  # not all of them 1


def test_default_ids_are_the_positions():
    xs = skewed_sample(np.random.default_rng(2), 200) + 0.01
    options = {"lower": -0.96, "upper": 0.6, "alternative": "two-sided"}
    expected = slow_log_pvalue(xs.tolist(), ids=range(200), **options)
    assert star_bets_log_pvalue(xs, **options) == pytest.approx(expected, abs=1e-12)


def test_p_is_on_the_grid():
    rng = np.random.default_rng(3)
    for _ in range(100):
        log_p = star_bets_log_pvalue(skewed_sample(rng, 300), lower=-0.96, upper=0.5)
        j = (math.log(0.5) - log_p) / STEP
        assert log_p == 0.0 or j == pytest.approx(round(j), abs=1e-9)


def test_usual_levels_are_met_on_the_nose():  # a rejection at 0.05 must not print as 0.0500...01
    for j, alpha in ((10, 0.05), (20, 0.005), (30, 0.0005)):
        assert math.exp(log_levels(0, 31)[j]) == pytest.approx(alpha, rel=1e-14)
        assert math.exp(log_levels(0, 31)[j]) <= alpha
        assert log_levels(0, 31)[j] <= math.log(alpha)


def test_every_larger_level_rejects_too():
    """p is where the rejections of the grid end, and there are none beyond.

    Let a = ln(target / W) be what a bettor still needs. One example turns it into
    f(a) = a - log1p(min(sqrt(c a), cap) x). Where f = 0, f' > 1/2, since a = log1p(u) >= u / (1 + u)
    for u = sqrt(c a) x; so f crosses 0 once and rises beyond. Who needed less still needs less, up
    and down alike: the rejections are nested and the clause costs nothing.
    """
    rng = np.random.default_rng(4)
    log_alphas = log_levels(0, 60)
    ends = set()
    for alternative, tolerance in itertools.product(("two-sided", "greater"), (0.0, 0.01)):
        options = {"lower": -0.96, "upper": 0.5, "alternative": alternative, "tolerance": tolerance}
        for _ in range(50):
            xs = skewed_sample(rng, 60)
            ordered = xs[None, order_by_id(range(60))]
            rejects = star_rejects(ordered, np.arange(60)[None], 60, log_alphas=log_alphas, **options)[0]
            assert (np.diff(rejects.astype(int)) <= 0).all()
            log_p = star_bets_log_pvalue(xs, **options)
            assert (rejects == (log_alphas >= log_p - 1e-12)).all()
            ends.add(int(rejects.sum()))
    assert len(ends) > 10


def test_stops_at_the_first_failure(monkeypatch):  # the clause itself, should the bets ever change
    pattern = np.array([True, True, False, True] + [False] * 28)
    monkeypatch.setattr("heldout.statistics.betting.star_rejects", lambda *a, **k: pattern[None])
    assert star_bets_log_pvalue([0.1], lower=-0.5, upper=0.5) == pytest.approx(math.log(0.5) - STEP)


def test_blocks_of_levels_join():  # p beyond the first 32, 160 and 672 levels
    for n in (60, 300, 1200):
        xs = np.full(n, 0.2)
        options = {"lower": -0.5, "upper": 0.5, "alternative": "greater"}
        log_p = star_bets_log_pvalue(xs, **options)
        assert slow_rejects(xs.tolist(), log_p, **options)
        assert not slow_rejects(xs.tolist(), log_p - STEP, **options)


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


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_level_exactly(law, alternative):
    rows, probabilities = sequences(law, 6)
    options = {"lower": -0.96, "upper": 0.5, "alternative": alternative}
    log_p = np.array([star_bets_log_pvalue(row, **options) for row in rows])
    for log_alpha in log_levels(0, 40):
        assert probabilities[log_p <= log_alpha + 1e-12].sum() <= math.exp(log_alpha) * (1 + 1e-9)


def test_level_exactly_is_not_vacuous():
    rows, probabilities = sequences(LAWS[3], 6)
    log_p = np.array([star_bets_log_pvalue(r, lower=-0.96, upper=0.48, alternative="greater") for r in rows])
    assert probabilities[log_p <= math.log(0.5) + 1e-12].sum() > 0.1


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
    options = {"lower": -0.96, "upper": 0.6, "tolerance": tolerance, "alternative": "two-sided"}
    log_p = np.array([star_bets_log_pvalue(row, **options) for row in rows])
    for log_alpha in log_levels(0, 20):
        assert probabilities[log_p <= log_alpha + 1e-12].sum() <= math.exp(log_alpha) * (1 + 1e-9)


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
def test_listing_order_is_irrelevant(alternative):
    rng = np.random.default_rng(7)
    xs = skewed_sample(rng, 500)
    ids = [f"n{i}.png" for i in range(500)]
    options = {"lower": -0.96, "upper": 0.5, "alternative": alternative}
    log_p = star_bets_log_pvalue(xs, ids=ids, **options)
    for _ in range(5):
        shuffle = rng.permutation(500)
        assert star_bets_log_pvalue(xs[shuffle], ids=[ids[i] for i in shuffle], **options) == log_p


def test_ids_decide_the_order():
    xs = np.where(np.arange(300) % 7 == 0, 0.5, np.where(np.arange(300) % 11 == 0, -0.5, 0.0))
    ps = {star_bets_log_pvalue(xs, lower=-0.96, upper=0.5, ids=[f"{s}/{i}" for i in range(300)])
          for s in range(20)}  # fmt: skip
    assert len(ps) > 1


@pytest.mark.parametrize("scale", [0.5, 4.0])  # powers of two: not a bit moves
def test_units_and_sign_do_not_matter(scale):
    rng = np.random.default_rng(8)
    for _ in range(20):
        xs = skewed_sample(rng, 200)
        log_p = star_bets_log_pvalue(xs, lower=-0.96, upper=0.5)
        assert star_bets_log_pvalue(scale * xs, lower=-0.96 * scale, upper=0.5 * scale) == log_p
        assert star_bets_log_pvalue(-xs, lower=-0.5, upper=0.96) == log_p


def test_finite_where_p_underflows():
    log_p = star_bets_log_pvalue(np.full(1500, 0.4), lower=-0.5, upper=0.5)
    assert math.isfinite(log_p)
    assert math.exp(log_p) == 0.0
    # no bettor can make more than every bet at the largest size
    assert log_p > -1500 * math.log1p(0.98 * 0.4 / 0.5) - STEP


def test_nothing_happens_means_p_is_one():
    assert star_bets_log_pvalue(np.zeros(100), lower=-0.5, upper=0.5) == 0.0
    assert star_bets_log_pvalue([0.0], lower=-0.5, upper=0.5, alternative="greater") == 0.0


# ---------------------------------------------------------------- ids


def test_order_by_id_is_pinned():  # must never change between versions or platforms
    ids = ["cat.png", "dog.png", "bird.png", "ship.png", "frog.png"]
    digest = {i: hashlib.blake2b(i.encode(), digest_size=16).hexdigest() for i in ids}
    assert digest["cat.png"] == "7c23ed2fb817267018cceb188aeeb7b2"
    assert [ids[i] for i in order_by_id(ids)] == ["cat.png", "frog.png", "bird.png", "ship.png", "dog.png"]
    assert order_by_id(range(10)).tolist() == [0, 2, 5, 8, 7, 4, 3, 9, 1, 6]


def test_order_by_id_kinds_of_id():
    assert order_by_id([3, 1, 2]).tolist() == order_by_id(["3", "1", "2"]).tolist()
    assert order_by_id(np.array([3, 1, 2])).tolist() == order_by_id(["3", "1", "2"]).tolist()
    assert order_by_id(["a", "a", "a"]).tolist() == [0, 1, 2]  # stable
    assert len(order_by_id(["\udc80.png", "ü.png", "猫.png"])) == 3  # an undecodable file name is fine
    assert order_by_id([]).tolist() == []


@pytest.mark.parametrize("n_ids", [9, 11])
def test_as_many_ids_as_values(n_ids):
    with pytest.raises(InputError, match=f"`ids` names {n_ids} examples but there are 10 values"):
        star_bets_log_pvalue([0.1] * 10, lower=-0.5, upper=0.5, ids=range(n_ids))
