"""Tails of lattice sums and the orbit test against direct convolution, closed forms and full enumeration."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from heldout.errors import InputError
from heldout.statistics import orbit_test
from heldout.statistics.lattice_sums import sum_log_tails
from heldout.statistics.poisson_binomial import poisson_binomial_log_tails


def convolved(p):
    """Law of the count by direct convolution: sums of positive numbers in long doubles, whose range is 1e-4900."""
    law = np.zeros(len(p) + 1, dtype=np.longdouble)
    law[0] = 1
    for i, share in enumerate(np.asarray(p, dtype=np.longdouble)):
        law[1 : i + 2] = law[1 : i + 2] * (1 - share) + law[: i + 1] * share
        law[0] *= 1 - share
    return law


SHARES = {
    "24 orders": lambda rng, n: rng.integers(0, 25, n) / 24,
    "any": lambda rng, n: rng.random(n),
    "rare": lambda rng, n: rng.random(n) * 1e-3,
    "mixed": lambda rng, n: np.where(rng.random(n) < 0.5, rng.random(n) ** 8, 1 - rng.random(n) ** 8),
}


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("n", [1, 7, 5000])
def test_tails_equal_direct_convolution(name, n):
    p = SHARES[name](np.random.default_rng(n), n)
    law = convolved(p)
    lower, upper = np.cumsum(law), np.cumsum(law[::-1])[::-1]
    sd = math.sqrt((p * (1 - p)).sum())
    counts = {round(p.sum() + z * sd) for z in (-12, -8, -3, -1, 0, 0.5, 2, 6, 11.5, 25)} | {0, 1, n - 1, n}
    depths = []
    for count in sorted(c for c in counts if 0 <= c <= n):
        found = poisson_binomial_log_tails(p, count)
        for got, want in ((found.lower, lower[count]), (found.upper, upper[count]), (found.point, law[count])):
            if want > 0:
                assert got == pytest.approx(float(np.log(want)), rel=1e-9, abs=1e-9)
                depths.append(float(np.log10(want)))
            else:
                assert got < -11_000  # where long doubles end, or impossible
    assert n < 5000 or min(depths) < -30


def test_tails_are_binomial_where_shares_are_equal():
    for n, p, count in ((100_000, 0.3, 29_000), (100_000, 0.3, 31_500), (40, 0.5, 3)):
        found = poisson_binomial_log_tails(np.full(n, p), count)
        assert found.lower == pytest.approx(binom.logcdf(count, n, p), rel=1e-8)
        assert found.upper == pytest.approx(binom.logsf(count - 1, n, p), rel=1e-8)


def test_certain_and_impossible_counts():
    p = [0.0, 1.0, 0.5, 1.0]
    for count, lower, upper, point in ((1, 0, 1, 0), (2, 0.5, 1, 0.5), (3, 1, 0.5, 0.5), (4, 1, 0, 0), (-1, 0, 1, 0)):
        found = poisson_binomial_log_tails(p, count)
        assert [math.exp(v) for v in (found.lower, found.upper, found.point)] == pytest.approx([lower, upper, point])
    assert poisson_binomial_log_tails([], 0).lower == 0.0
    assert poisson_binomial_log_tails(np.full(3, 1e-300), 3).lower == 0.0
    assert poisson_binomial_log_tails(np.full(3, 1e-300), 3).upper == pytest.approx(-900 * math.log(10))
    with pytest.raises(InputError, match="between 0 and 1"):
        poisson_binomial_log_tails([0.5, 1.2], 1)


def test_sums_of_any_whole_numbers(rng):
    """All outcomes of a few laws, counted; values with gaps, repeats, a common factor and their own weights."""
    laws = [[0, 6, 6], [-3, 9], [12], [0, 3, 30, 3]]
    starts = np.cumsum([0, *map(len, laws)])
    for weighted in (False, True):
        chances = [np.ones(len(v)) / len(v) if not weighted else rng.dirichlet(np.ones(len(v))) for v in laws]
        every = {}
        for places in product(*(range(len(v)) for v in laws)):
            total = sum(v[i] for v, i in zip(laws, places, strict=True))
            every[total] = every.get(total, 0) + math.prod(c[i] for c, i in zip(chances, places, strict=True))
        for s in range(min(every) - 2, max(every) + 3):
            found = sum_log_tails(
                np.concatenate(laws), starts, s, log_weights=np.log(np.concatenate(chances)) if weighted else None
            )
            lower, upper = (sum(v for x, v in every.items() if sign * x >= sign * s) for sign in (-1, 1))
            got = [math.exp(v) for v in (found.lower, found.upper, found.point)]
            assert got == pytest.approx([lower, upper, every.get(s, 0.0)], abs=1e-12)


def test_p_values_of_the_orbit_test_by_enumeration():
    """All arrangements of a few examples, in fractions: p is the share of them with as few errors."""
    wrong = np.array([[0, 1, 1, 0], [0, 0, 0, 1], [0, 1, 1, 1]], dtype=bool)
    sums = [sum(int(w[i]) for w, i in zip(wrong, at, strict=True)) for at in product(range(4), repeat=3)]
    for given in product(range(4), repeat=3):
        turned = np.array([np.roll(w, -i) for w, i in zip(wrong, given, strict=True)])
        errors = int(turned[:, 0].sum())
        less = Fraction(sum(s <= errors for s in sums), len(sums))
        more = Fraction(sum(s >= errors for s in sums), len(sums))
        same = Fraction(sum(s == errors for s in sums), len(sums))
        for flat in (False, True):
            args = (turned.ravel(), {"starts": range(0, 13, 4)}) if flat else (turned, {})
            found = orbit_test(args[0], **args[1])
            assert (found.errors, found.p_value) == (errors, pytest.approx(float(less)))
            both = orbit_test(args[0], **args[1], alternative="two-sided")
            assert both.p_value == pytest.approx(min(1.0, 2 * float(min(less, more))))
            half = orbit_test(args[0], **args[1], mid_p=True)
            assert half.p_value == pytest.approx(float(less - same / 2))
            assert found.valid
            assert not half.valid


def test_groups_move_together():
    """One slide's tiles share their turn; the other pictures have their own."""
    wrong = np.array([[0, 1, 1, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]], dtype=bool)
    groups = ["slide", "slide", "slide", "alone"]
    totals = wrong[:3].sum(axis=0)[:, None] + wrong[3]
    found = orbit_test(wrong, groups=groups)
    assert (found.n_groups, found.expected) == (2, totals.mean())
    assert found.standard_deviation == pytest.approx(totals.std())
    assert found.p_value == pytest.approx(np.mean(totals <= 0))
    alone = orbit_test(wrong, groups=range(4))
    assert alone.p_value == pytest.approx(orbit_test(wrong).p_value)


@pytest.mark.parametrize("shared", [False, True])
def test_level_with_groups(shared, rng):
    """Groups of five whose arrangement is common, or each example's own: the level holds either way."""
    n_worlds, n_groups = 300, 12
    hits, blind = 0, 0
    for _ in range(n_worlds):
        easy = np.repeat(rng.random((n_groups, 1)), 5, axis=0)
        base = rng.random((5 * n_groups, 8)) < easy  # what the model says to each view, in a frame of its own
        if shared:
            base = np.repeat(base[::5], 5, axis=0)  # tiles of one slide are alike
        turn = np.repeat(rng.integers(0, 8, n_groups), 5) if shared else rng.integers(0, 8, 5 * n_groups)
        wrong = np.take_along_axis(base, (turn[:, None] + np.arange(8)) % 8, axis=1)
        hits += orbit_test(wrong, groups=np.repeat(np.arange(n_groups), 5)).p_value <= 0.05
        blind += orbit_test(wrong).p_value <= 0.05
    assert hits / n_worlds <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / n_worlds)
    if shared:
        assert blind / n_worlds > 0.1  # what groups are for


def test_refusals():
    for args, told in (
        (([[0.5, 1]], {}), "True and False"),
        (([True, False], {}), "must be a table"),
        (([True, False, True], {"starts": [0, 2]}), "`starts` must rise from 0 to the 3 arrangements"),
        (([True, False], {"starts": [0, 1, 2], "groups": [0, 1]}), "same moves for all"),
        (([[True, False]], {"alternative": "less"}), "'overfitted' or 'two-sided'"),
    ):
        with pytest.raises(InputError, match=told):
            orbit_test(args[0], **args[1])
