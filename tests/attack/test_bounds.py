"""Upper bounds: closed forms, exact tails, and analysts that try to pass them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from heldout.attack.bounds import accuracy_bound, exact_accuracy_bound, expected_accuracy_bound, possible_answers
from heldout.errors import InputError
from heldout.statistics.binomial import log_upper_tail


def exact_log_tail(threshold, n, p):
    """In rational arithmetic; far beyond where floats underflow."""
    total = sum(
        math.comb(n, j) * p.numerator**j * (p.denominator - p.numerator) ** (n - j) for j in range(threshold, n + 1)
    )
    return math.log(total) - n * math.log(p.denominator)


@pytest.mark.parametrize(
    ("threshold", "n", "p"),
    [
        (60, 100, Fraction(1, 2)),
        (900, 1000, Fraction(1, 10)),
        (1500, 2000, Fraction(1, 100)),
        (3000, 3000, Fraction(1, 3)),
    ],
)
def test_log_tail_in_rational_arithmetic(threshold, n, p):
    assert log_upper_tail(threshold, n, float(p)) == pytest.approx(exact_log_tail(threshold, n, p), rel=1e-11)


def test_log_tail_where_floats_still_work():
    for threshold in range(13):
        expected = exact_log_tail(threshold, 12, Fraction(1, 4))
        assert log_upper_tail(threshold, 12, 0.25) == pytest.approx(expected, abs=1e-13)
    assert log_upper_tail(13, 12, 0.25) == -math.inf


@pytest.mark.parametrize("k", [1, 10, 50, 300])
@pytest.mark.parametrize("m", [2, 10, 1000])
def test_the_exact_bound_is_the_smallest_that_holds_and_below_the_theorem(k, m):
    n, delta = 2000, 0.05
    bound = exact_accuracy_bound(n, m, k, delta=delta)
    s = round(bound * n)
    b = k * math.log(n + 1) + math.log(1 / delta)
    if bound < 1:
        assert log_upper_tail(s, n, 1 / m) <= -b < log_upper_tail(s - 1, n, 1 / m)
    assert bound <= accuracy_bound(n, m, k, delta=delta) + 1 / n


def test_theorem_3_1():
    assert accuracy_bound(10_000, 2, 50, delta=0.05) == pytest.approx(0.5 + 2 * math.sqrt(
        (50 * math.log(10_001) + math.log(20)) / 20_000))  # fmt: skip
    assert accuracy_bound(10_000, 1000, 50, delta=0.05) == pytest.approx(
        0.001 + 2 * (50 * math.log(10_001) + math.log(20)) / 10_000
    )
    assert accuracy_bound(10_000, 2, 135, delta=0.05) < 1 == accuracy_bound(10_000, 2, 136, delta=0.05)
    assert expected_accuracy_bound(10_000, 2, 50) > accuracy_bound(10_000, 2, 50, delta=0.05)


def test_fewer_answers_give_less_away():
    rounded = exact_accuracy_bound(10_000, 2, 50, delta=0.05, answers=possible_answers(10_000, digits=2))
    assert 0.5 < rounded < exact_accuracy_bound(10_000, 2, 50, delta=0.05)


def test_no_analyst_at_all_passes_the_exact_bound_on_tiny_sets():
    """Every deterministic analyst of one query on three binary points: all outputs for every answer. The best of them
    reaches an accuracy with some probability; the bound excludes none that is reached more often than delta."""
    n, m, delta = 3, 2, 0.6
    labellings = list(itertools.product(range(m), repeat=n))
    bound = exact_accuracy_bound(n, m, 1, delta=delta)
    query = labellings[0]
    hits = 0  # by symmetry one query will do; the best output for each answer is the one most often above the bound
    groups: dict[int, list] = {}
    for y in labellings:
        groups.setdefault(sum(a == b for a, b in zip(query, y, strict=True)), []).append(y)
    for group in groups.values():
        hits += max(sum(np.mean(np.equal(r, y)) >= bound for y in group) for r in labellings)
    assert 0 < hits / len(labellings) <= delta


@pytest.mark.parametrize("arguments", [(0, 2, 1), (10, 1, 1), (10, 2, -1)])
def test_refuses(arguments):
    with pytest.raises(InputError, match="are needed"):
        accuracy_bound(*arguments, delta=0.05)
    with pytest.raises(InputError, match="`delta`"):
        exact_accuracy_bound(10, 2, 1, delta=0.0)
