"""Ranks of printed orders, the items that look memorised, and answer positions, against slow definitions."""

import math
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2, multinomial, rankdata

from heldout.errors import InputError
from heldout.statistics import memorised_items, order_ranks, position_test, rank_sum_test

OPTION_SCORES = Path(__file__).resolve().parents[3] / "shared" / "data" / "llm_option_scores.npz"


def test_ranks_are_those_of_scipy(rng):
    sizes = rng.integers(1, 9, 40)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    scores = np.where(rng.random(starts[-1]) < 0.3, -np.inf, rng.integers(0, 4, starts[-1]) / 3.0)
    ranks = order_ranks(starts, scores)
    for a, b in pairwise(starts):
        np.testing.assert_array_equal(ranks[a:b], rankdata(-scores[a:b]))


def test_rank_sums_by_enumeration(rng):
    starts = np.array([0, 3, 5, 9, 12])
    scores = rng.integers(0, 3, 12).astype(float)
    ranks = order_ranks(starts, scores)
    parts = [ranks[a:b] for a, b in pairwise(starts)]
    sums = np.array([sum(x) for x in product(*parts)])
    found = rank_sum_test(starts, scores)
    assert found.p_value == pytest.approx(np.mean(sums <= found.observed))
    assert (found.expected, found.standard_deviation) == (pytest.approx(sums.mean()), pytest.approx(sums.std()))
    both = rank_sum_test(starts, scores, alternative="two-sided")
    sides = np.mean(sums <= found.observed), np.mean(sums >= found.observed)
    assert both.p_value == pytest.approx(min(1.0, 2 * min(sides)))
    half = rank_sum_test(starts, scores, mid_p=True)
    assert half.p_value == pytest.approx(sides[0] - np.mean(sums == found.observed) / 2)
    with pytest.raises(InputError, match="not applicable"):
        rank_sum_test([0, 2], [0.1, np.nan])


def test_item_p_values_from_the_definition(rng):
    starts = np.arange(0, 61, 6)
    positions, strata = rng.integers(0, 3, 60), np.repeat([3, 4], 5)
    scores = rng.integers(0, 5, 60).astype(float)
    scores[7] = np.nan
    found = memorised_items(starts, positions, scores, strata=strata)
    for i, (a, b) in enumerate(pairwise(starts)):
        mates = np.flatnonzero(strata == strata[i])
        share = [np.mean(positions[starts[mates]] == q) for q in range(3)]
        weights = [share[q] for q in positions[a:b]]
        as_high = sum(w for w, s in zip(weights, scores[a:b], strict=True) if s >= scores[a])
        expected = math.nan if i == 1 else as_high / sum(weights)
        assert found.p_values[i] == pytest.approx(expected, nan_ok=True)
    assert found.n_ranked == 9
    even = memorised_items(starts, positions, scores, uniform=True)
    assert even.p_values[0] == np.mean(scores[:6] >= scores[0])


def test_the_shortest_list():
    """At 24 orders and q = 0.1 a list has 42 % of the items at least; one fewer, and there is none."""
    n, starts, positions = 240, np.arange(0, 240 * 24 + 1, 24), np.tile(np.arange(24) % 4, 240)
    for n_first, listed in ((99, 0), (100, 100)):
        scores = np.tile(np.arange(24.0), (n, 1))
        scores[:n_first, 0] = 99.0
        found = memorised_items(starts, positions, scores.ravel(), uniform=True, q=0.1)
        assert (found.n_listed, found.n_first, found.shortest) == (listed, n_first, 100)
        assert (found.first_expected, found.floor) == (pytest.approx(n / 24), pytest.approx((n / 24) / n_first))
        assert set(found.listed.tolist()) == set(range(listed))


@pytest.mark.parametrize("q", [0.05, 0.1, 0.3])
def test_no_list_is_shorter_than_the_shortest(q, rng):
    """Items of other sizes, any of them first or second: the shortest list is one of all that were made."""
    shortest = set()
    for _ in range(200):
        sizes = rng.choice([2, 5, 24, 60], 30)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        scores = rng.random(starts[-1])
        scores[starts[:-1]] = np.where(rng.random(30) < rng.random(), 2.0, 0.99)
        found = memorised_items(starts, np.zeros(starts[-1], dtype=int), scores, uniform=True, q=q)
        assert found.n_listed == 0 or found.n_listed >= found.shortest > 0
        best = np.zeros(starts[-1])
        order = np.argsort(-sizes, kind="stable")[: found.shortest]  # the largest are first, the others last
        best[starts[:-1]] = -1.0
        best[starts[order]] = 1.0
        made = memorised_items(starts, np.zeros(starts[-1], dtype=int), best, uniform=True, q=q)
        assert made.n_listed == found.shortest
        shortest.add(found.shortest)
    assert shortest - {0}


def test_first_are_those_with_the_best_order_of_all():
    """All answers at A, where the model does worst: no item is first, though no other place was printed."""
    every, n = np.repeat(np.arange(4), 6), 40
    scores = np.random.default_rng(1).random((n, 24)) + every
    found = memorised_items(np.arange(0, n * 24 + 1, 24), np.tile(every, n), scores.ravel())
    assert (found.n_first, found.first_expected) == (0, 0.0)
    assert math.isnan(found.floor)


def test_positions_are_judged_within_strata():
    """Two sources that prefer other places look uniform together."""
    at, source = np.repeat([0, 1, 2, 3], 50), np.repeat(["x", "y", "y", "y"], 50)
    assert position_test(at, np.full(200, 4)).p_value == 1.0
    found = position_test(at, np.full(200, 4), strata=source)
    assert found.p_value < 1e-3
    assert found.counts == {"4": (50, 50, 50, 50)}
    assert found.statistic == pytest.approx(50 * 4 - 50 + 3 * (50 - 37.5) ** 2 / 37.5 + 37.5)
    assert found.freedom == 6


def test_false_discoveries_stay_at_their_rate():
    """Half of 400 items memorised, positions skewed and scores that depend on them, plug-in weights."""
    rng, q, shares = np.random.default_rng(5), 0.3, []
    law = np.array([0.22, 0.24, 0.29, 0.25])
    every = np.tile(np.repeat(np.arange(4), 6), (400, 1))
    for _ in range(150):
        scores = rng.normal(size=(400, 24)) + 0.7 * (every == 2)
        at = rng.choice(4, 400, p=law)
        printed = 6 * at + rng.integers(0, 6, 400)
        scores[np.arange(200), printed[:200]] += 5.0
        order = np.argsort(np.arange(24) != printed[:, None], axis=1, kind="stable")
        scores, positions = (np.take_along_axis(x, order, axis=1).ravel() for x in (scores, every))
        found = memorised_items(np.arange(0, 400 * 24 + 1, 24), positions, scores, q=q)
        shares.append(np.mean(found.listed >= 200) if found.n_listed else 0.0)
    assert np.mean(shares) <= q + 3 * np.std(shares) / math.sqrt(150)
    assert np.mean(shares) > 0.05  # lists are not empty


def test_positions_by_enumeration_and_in_the_limit():
    at = np.repeat(np.arange(3), [1, 2, 6])
    found = position_test(at, np.full(9, 3))
    tables = [(a, b, 9 - a - b) for a in range(10) for b in range(10 - a)]
    statistics = [sum((c - 3) ** 2 / 3 for c in t) for t in tables]
    law = multinomial.pmf(tables, 9, [1 / 3] * 3)
    assert found.statistic == pytest.approx(14 / 3)
    assert found.p_value == pytest.approx(law[np.array(statistics) >= 14 / 3 - 1e-9].sum())
    assert found.method == "exact"
    at = np.repeat(np.arange(4), [480, 530, 510, 480])
    found = position_test(at, np.full(2000, 4))
    assert (found.method, found.p_value) == ("chi-squared", pytest.approx(chi2.sf(found.statistic, 3)))
    options = np.repeat([4, 5], [40, 30])
    found = position_test(np.concatenate([np.arange(40) % 4, np.zeros(30, dtype=int)]), options)
    assert (found.method, found.p_value, found.freedom) == ("drawn", 1e-4, 7)
    assert found.counts == {"4": (10, 10, 10, 10), "5": (30, 0, 0, 0, 0)}
    with pytest.raises(InputError, match="one less than"):
        position_test([4], [4])


@pytest.mark.parametrize("sizes", [{4: 30}, {4: 25, 10: 40}, {5: 400}])
def test_level_of_the_position_test(sizes):
    rng, n_worlds = np.random.default_rng(1), 400
    options = np.concatenate([np.full(n, k) for k, n in sizes.items()])
    p = np.array([position_test(rng.integers(0, options), options, n_resamples=399).p_value for _ in range(n_worlds)])
    for level in (0.05, 0.2):
        error = math.sqrt(level * (1 - level) / n_worlds)
        assert level / 3 < np.mean(p <= level) <= level + 3 * error


@pytest.mark.skipif(not OPTION_SCORES.exists(), reason="needs ../shared/data/llm_option_scores.npz")
def test_positions_of_mmlu():
    with np.load(OPTION_SCORES) as file:
        found = position_test(file["mmlu_original_target"].astype(int), np.full(102, 4))
    assert found.counts == {"4": (19, 16, 25, 42)}
    assert round(found.p_value, 3) == 0.001
