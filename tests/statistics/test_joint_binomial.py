"""Joint tails against the four-cell multinomial, the conditional sum of DESIGN, and the sum over every node."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from heldout.statistics.binomial import lower_tail, sign_test_log_pvalue, upper_tail
from heldout.statistics.joint_binomial import Coupling, joint_tail

SIDES = list(itertools.product(("upper", "lower"), repeat=2))


def multinomial_tail(n, cells, first, second, sides):
    """Every way to put n examples into the four cells, counted."""
    p11, p10, p01, p00 = cells
    total = 0.0
    for i in range(n + 1):
        for j in range(n + 1 - i):
            for l in range(n + 1 - i - j):  # noqa: E741
                one = i + j >= first if sides[0] == "upper" else i + j <= first
                other = i + l >= second if sides[1] == "upper" else i + l <= second
                if one and other:
                    rest = n - i - j - l
                    ways = math.factorial(n) / math.prod(map(math.factorial, (i, j, l, rest)))
                    total += ways * p11**i * p10**j * p01**l * p00**rest
    return total


@given(
    st.integers(1, 7),
    st.tuples(*[st.integers(0, 6)] * 4).filter(lambda c: sum(c) > 0),
    st.integers(-1, 8),
    st.integers(-1, 8),
    st.sampled_from(SIDES),
)
def test_four_cell_multinomial(n, cells, first, second, sides):
    """Every kind of pair: alike, independent, less alike than chance, never or always wrong."""
    shares = np.array(cells) / sum(cells)
    p1, p2 = shares[0] + shares[1], shares[0] + shares[2]
    expected = multinomial_tail(n, shares, first, second, sides)
    assert joint_tail(n, p1, p2, shares[0], first, second, sides=sides)[0] == pytest.approx(expected, abs=1e-12)


def conditional_tail(n, p1, p2, p11, first, second):
    """P(S1 >= first, S2 >= second) given S1 = j: S2 = Bin(j, p11/p1) + Bin(n-j, p01/(1-p1)), convolved."""
    total = 0.0
    for j in range(first, n + 1):
        weight = binom.pmf(j, n, p1)
        if weight < 1e-25:
            continue
        from_wrong = binom.pmf(np.arange(j + 1), j, p11 / p1)
        from_right = binom.pmf(np.arange(n - j + 1), n - j, (p2 - p11) / (1 - p1))
        total += weight * np.convolve(from_wrong, from_right)[second:].sum()
    return total


@pytest.mark.parametrize("p11", [0.02, 0.06, 0.15, 0.19])  # less alike than chance (0.08), then more
def test_conditional_sum(p11):
    n, p1, p2, first, second = 300, 0.4, 0.2, 140, 75
    expected = conditional_tail(n, p1, p2, p11, first, second)
    assert joint_tail(n, p1, p2, p11, first, second)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("n", "p", "eta", "epsilon"),
    [(50_000, 0.244, 0.85, 0.01), (50_000, 0.244, 0.999, 0.008), (10**6, 0.244, 0.85, 0.002),
     (10**6, 0.01, 0.999, 5e-4), (10_000, 0.032, 0.975, 0.01), (1000, 0.05, 0.93, 0.03)],
)  # fmt: skip
def test_spaced_nodes_equal_all_nodes(n, p, eta, epsilon):
    p11, threshold = p + (eta - 1) / 2, math.ceil(n * (p + epsilon))
    coupling = Coupling.of(p, p, p11)
    values, weights = coupling.nodes(n, points_per_width=1e9)
    assert np.all(np.diff(values) == 1)
    expected = np.sum(weights * upper_tail(threshold, values, coupling.x1) * upper_tail(threshold, values, coupling.x2))
    assert joint_tail(n, p, p, p11, threshold, threshold)[0] == pytest.approx(expected, rel=1e-11)


def test_many_pairs_at_once_equal_one_by_one(rng):
    n = rng.integers(5, 60, 40)
    cells = rng.dirichlet(np.ones(4), 40)
    p1, p2, p11 = cells[:, 0] + cells[:, 1], cells[:, 0] + cells[:, 2], cells[:, 0]
    first, second = rng.integers(0, n + 1), rng.integers(0, n + 1)
    together = joint_tail(n, p1, p2, p11, first, second, sides=("upper", "lower"))
    alone = [joint_tail(*row, sides=("upper", "lower"))[0] for row in zip(n, p1, p2, p11, first, second, strict=True)]
    np.testing.assert_allclose(together, alone, rtol=1e-13)
    assert ((p11 < p1 * p2).any(), (p11 > p1 * p2).any()) == (True, True)


def test_chunks_do_not_change_the_sum(rng, monkeypatch):
    import heldout.statistics.joint_binomial as module

    arguments = (2000, rng.uniform(0.1, 0.3, 30), 0.25, 0.09, 520, 530)
    whole = joint_tail(*arguments)
    monkeypatch.setattr(module, "CHUNK", 500)
    np.testing.assert_array_equal(joint_tail(*arguments), whole)


def test_the_four_corners_add_up():
    n, p1, p2, p11, a, b = 500, 0.3, 0.4, 0.2, 160, 190
    corners = [
        joint_tail(n, p1, p2, p11, a, b),
        joint_tail(n, p1, p2, p11, a, b - 1, sides=("upper", "lower")),
        joint_tail(n, p1, p2, p11, a - 1, b, sides=("lower", "upper")),
        joint_tail(n, p1, p2, p11, a - 1, b - 1, sides=("lower", "lower")),
    ]
    assert sum(float(c[0]) for c in corners) == pytest.approx(1.0, abs=1e-12)


def test_tails_against_exact_sums():
    """Integer arithmetic: P(Bin(12, 1/4) >= a)."""
    terms = [math.comb(12, j) * 3 ** (12 - j) / 4**12 for j in range(13)]
    for a in range(-1, 15):
        assert upper_tail(a, 12, 0.25) == pytest.approx(sum(terms[max(a, 0) :]), abs=1e-15)
        assert lower_tail(a, 12, 0.25) == pytest.approx(sum(terms[: max(a + 1, 0)]), abs=1e-15)
    assert upper_tail([0, 1, 3], 3, [0.0, 0.0, 1.0]).tolist() == [1.0, 0.0, 1.0]


def test_tails_far_out_against_a_ratio_sum():
    """Summed from the first term by ratios, in logs: an oracle at 1e-54."""
    n, a, p = 50_000, 13_700, 0.244
    log_term = math.lgamma(n + 1) - math.lgamma(a + 1) - math.lgamma(n - a + 1) + a * math.log(p)
    log_term += (n - a) * math.log1p(-p)
    ratios = [(n - j) / (j + 1) * p / (1 - p) for j in range(a, a + 2000)]
    series = 1 + sum(itertools.accumulate(ratios, lambda x, y: x * y))
    assert math.log(upper_tail(a, n, p)) == pytest.approx(log_term + math.log(series), abs=1e-8)


@pytest.mark.parametrize(("first", "second"), [(0, 3), (4, 4), (7, 2), (120, 91), (0, 0)])
def test_sign_test_is_binomtest(first, second):
    expected = binomtest(first, first + second).pvalue if first + second else 1.0
    assert math.exp(sign_test_log_pvalue(first, second)) == pytest.approx(expected)


def test_level_of_the_sign_test(rng):
    counts = rng.binomial(80, 0.5, 4000)
    alarms = sum(sign_test_log_pvalue(c, 80 - c) <= math.log(0.05) for c in counts)
    assert binomtest(alarms, 4000, 0.05, alternative="greater").pvalue > 1e-6
    assert alarms > 50  # nor so cautious that it says nothing
