"""Where seeds decide on which side of a level a number lies, against draws of it."""

import numpy as np
import pytest

from heldout.statistics.seeds import draws_error, seed_decides


@pytest.mark.parametrize("times", [1, 2])
def test_how_far_seeds_move_a_share_of_draws(rng, times):
    p = times * rng.binomial(999, 0.03, size=4000) / 999
    assert draws_error(times * 0.03, 999, times=times) == pytest.approx(p.std(), rel=0.05)


def test_a_share_of_all_draws_does_not_move():
    assert draws_error(1.0, 99) == draws_error(1.0, 99, times=2) * 0 == 0


@pytest.mark.parametrize(
    ("drawn", "told"),
    [
        ([(0.048, 0.0021)], True),
        ([(0.052, 0.0021)], True),
        ([(0.045, 0.0021)], False),
        ([(0.05, 0.0)], False),  # no draws
        ([(0.048, np.nan)], False),
        ([(0.048, 0.004), (0.01, 0.002)], True),
        ([(0.048, 0.004), (0.056, 0.004)], True),  # both may be below
        ([(0.03, 0.012), (0.04, 0.001)], True),  # the smaller one may be above
        ([(0.04, 0.001), (0.01, 0.016)], False),  # neither reaches it
        ([(0.04, 0.02), (0.0556, 0.0)], False),  # one stays above, and is the larger
        ([(0.0556, 0.0), (0.06, 0.01)], False),  # one stays above, though the other is the larger
        ([(0.04, 0.02), (0.06, 0.004)], False),
        ([(0.04, 0.02), (0.02, 0.0)], True),
    ],
)
def test_a_seed_decides_where_the_largest_may_lie_on_either_side(drawn, told):
    assert seed_decides(0.05, *drawn) == seed_decides(0.05, *drawn[::-1]) == told


def test_as_numbers_within_two_standard_deviations_have_it(rng):
    """By hand: all that the numbers can be, as far as seeds go."""
    sides = set()
    for _ in range(300):
        drawn = [(rng.uniform(0.03, 0.07), rng.choice([0.0, 0.003, 0.01])) for _ in range(2)]
        reach = [np.linspace(p - 2 * error, p + 2 * error, 401) for p, error in drawn]
        largest = np.maximum.outer(*reach)
        told = seed_decides(0.05, *drawn)
        assert told == (largest.min() <= 0.05 <= largest.max())
        sides.add(told)
    assert sides == {True, False}
