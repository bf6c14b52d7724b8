"""The test given positions against all admissible choices of orders, and its draws with and without machine code."""

import math
from collections import Counter
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from scipy.stats import chisquare

from heldout.errors import InputError
from heldout.statistics import arrangement_test, arrangement_tests, arrangements

# positions of the answer in the orders of each item, the printed one first; strata
DESIGNS = {
    "all orders of two": ([[0, 1], [1, 0], [0, 1], [1, 0]], [2, 2, 2, 2]),
    "cyclic, two strata": ([[0, 1, 2], [2, 0, 1], [0, 1, 2], [1, 0], [0, 1]], [3, 3, 3, 2, 2]),
    "drawn": ([[0, 1, 1, 2], [1, 2, 0], [2, 2, 0, 1], [0, 0, 1]], [3, 3, 3, 3]),
    "drawn, lacking some": ([[0, 1], [1, 2, 2], [2, 0, 1], [0, 1, 2, 2]], [3, 3, 3, 3]),
    "drawn, an odd number": ([[1, 2, 0, 0], [2, 2, 2, 0], [0, 1]], [3, 3, 3]),  # the first two must meet
    "mixed": ([[0, 1, 1], [1, 0], [1, 0, 0], [2, 0, 1], [0, 2, 1]], [2, 2, 2, 3, 3]),
    "a product": ([[0, 1, 1], [1, 0, 1], [0, 0, 1, 1, 1, 1]], [2, 2, 2]),
}


def flat(name, seed=0):
    """starts, positions, values (errors and ranks), strata."""
    orders, strata = DESIGNS[name]
    rng = np.random.default_rng(seed)
    starts = np.cumsum([0, *map(len, orders)])
    values = np.stack([rng.integers(0, 2, starts[-1]), rng.integers(1, 9, starts[-1]) / 2])
    return starts, np.concatenate(orders), values.astype(float), np.array(strata)


def choices(starts, positions, strata):
    """All choices of one order of each item with the counts of positions as printed."""
    counts = Counter(zip(strata.tolist(), positions[starts[:-1]].tolist(), strict=True))
    for chosen in product(*(range(a, b) for a, b in pairwise(starts))):
        if Counter(zip(strata.tolist(), positions[list(chosen)].tolist(), strict=True)) == counts:
            yield list(chosen)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("name", DESIGNS)
def test_draws_have_the_law_of_all_choices(name, plain, monkeypatch):
    if plain:
        monkeypatch.setattr(arrangements, "_kernels", lambda: None)
    starts, positions, values, strata = flat(name)
    every = [values[:, chosen].sum(axis=1) for chosen in choices(starts, positions, strata)]
    law = Counter(map(tuple, np.array(every).tolist()))
    found = arrangement_tests(
        starts, positions, values, strata=strata, n_resamples=20_000, steps=30, rng=np.random.default_rng(1)
    )
    drawn = Counter(zip(found[0].drawn.tolist(), found[1].drawn.tolist(), strict=True))
    assert set(drawn) <= set(law)
    expected = np.array(list(law.values())) / len(every)
    assert len(law) > 2
    assert chisquare([drawn[x] for x in law], 20_000 * expected).pvalue > 1e-4
    for v, each in enumerate(found):
        sums = np.array(every)[:, v]
        slack = 5 * math.sqrt(0.25 / 20_000)
        assert each.p_overfitted == pytest.approx(np.mean(sums <= each.observed + 1e-9), abs=slack)
        more = np.mean(sums >= each.observed - 1e-9)
        assert each.p_two_sided == pytest.approx(min(1, 2 * min(each.p_overfitted, more)), abs=2 * slack)
        tight = each.steps == 0  # closed form
        assert each.expected == pytest.approx(sums.mean(), abs=1e-9 if tight else 0.05)
        assert each.standard_deviation == pytest.approx(sums.std(), abs=1e-9 if tight else 0.05)


def test_which_designs_permute():
    for name in DESIGNS:
        found = arrangement_test(*flat(name)[:2], flat(name)[2][0], strata=flat(name)[3], rng=np.random.default_rng(0))
        assert (found.steps == 0) == (name in ("all orders of two", "cyclic, two strata", "a product"))


@pytest.mark.parametrize("name", ["drawn", "drawn, lacking some"])
def test_a_round_of_swaps_is_reversible(name):
    """Flow from one table of positions to another equals the flow back, and moves nothing elsewhere."""
    starts, positions, values, strata = flat(name)
    design = arrangements._design(starts, positions, values, np.zeros(len(strata), dtype=np.intp))
    states = sorted({tuple(p) for p in permutations(design.places.tolist()) if _possible(design, p)})
    weight = np.array([math.prod(int(design.many[i, q]) for i, q in enumerate(state)) for state in states], dtype=float)
    weight /= weight.sum()
    place = {state: s for s, state in enumerate(states)}
    n_walks = 4_000
    flow, walk = np.zeros((len(states), len(states))), arrangements.walk_numpy
    for s, state in enumerate(states):
        rows = np.tile(np.array(state, dtype=np.uint8), (n_walks, 1))
        walk(rows, np.random.default_rng(s).integers(0, 2**64, n_walks, dtype=np.uint64), 1, design)
        flow[s] = np.bincount([place[tuple(row)] for row in rows.tolist()], minlength=len(states))
    flow *= weight[:, None] / n_walks
    error = np.sqrt(np.maximum(flow, 1 / n_walks) * weight[:, None] / n_walks)
    assert (np.abs(flow - flow.T) <= 5 * (error + error.T)).all()
    assert np.count_nonzero(flow - np.diag(np.diag(flow))) >= 2 * (len(states) - 1)  # connected


def _possible(design, state):
    return all(design.many[i, q] for i, q in enumerate(state))


@pytest.mark.parametrize("name", DESIGNS)
def test_machine_code_and_threads_change_no_bit(name, monkeypatch):
    pytest.importorskip("numba")
    starts, positions, values, strata = flat(name)
    n, m = 31, starts[-1]  # the design so many times over
    starts = np.concatenate([[0], (np.arange(n)[:, None] * m + starts[1:]).ravel()])
    args = starts, np.tile(positions, n), np.tile(values, n) + np.arange(n * m) % 3
    options = {"strata": np.tile(strata, n), "n_resamples": 101, "steps": 3}
    monkeypatch.setattr(arrangements, "PIECE", 1_000)
    one, two = (arrangement_tests(*args, **options, n_jobs=j, rng=np.random.default_rng(3)) for j in (1, 2))
    monkeypatch.setattr(arrangements, "_kernels", lambda: None)
    plain = arrangement_tests(*args, **options, rng=np.random.default_rng(3))
    other = arrangement_tests(*args, **options, rng=np.random.default_rng(4))
    assert one == two == plain
    assert one != other


def test_ties_and_sides():
    """One item: all its orders with the printed position are the class; equal sums count."""
    starts, positions, values = [0, 4], [0, 0, 0, 1], [1.0, 2.0, 1.0, 0.0]
    found = {
        (side, half): arrangement_test(
            starts, positions, values, alternative=side, mid_p=half, n_resamples=9_999, rng=np.random.default_rng(0)
        )
        for side in ("overfitted", "two-sided")
        for half in (False, True)
    }
    assert found["overfitted", False].p_value == pytest.approx(2 / 3, abs=0.02)
    assert found["two-sided", False].p_value == 1.0
    assert found["overfitted", True].p_value == pytest.approx(1 / 3, abs=0.02)
    assert found["overfitted", False].valid
    assert not found["overfitted", True].valid
    assert "not valid" in str(found["overfitted", True])
    assert found["overfitted", False].expected == pytest.approx(4 / 3)


def test_items_that_never_change_only_give_away_positions():
    """They add their value, and their positions are permuted like the others'."""
    rng = np.random.default_rng(0)
    starts, positions = np.arange(0, 81, 2), np.tile([0, 1], 40)
    positions[40:] = np.tile([1, 0], 20)
    wrong = np.tile([0.0, 1.0], 40)
    wrong[:40] = 1.0  # twenty items, all with the answer A as printed, always wrong
    found = arrangement_test(starts, positions, wrong, n_resamples=4_000, rng=rng)
    assert (found.n_items, found.n_varying, found.observed, found.expected) == (40, 20, 20.0, 30.0)
    assert found.drawn.std() == pytest.approx(found.standard_deviation, rel=0.05)


def test_refusals():
    rng = np.random.default_rng(0)
    for args, told in (
        (([0, 2], [0, 1], [0.0, np.nan]), "not finite"),
        (([0, 2], [0, 1], [0.0]), "`values` has shape"),
        (([0, 2], [0, -1], [0.0, 1.0]), "`positions` must hold"),
        (([0, 1, 1, 2], [0, 1], [0.0, 1.0]), "`starts` must rise"),
    ):
        with pytest.raises(InputError, match=told):
            arrangement_test(*args, rng=rng)
    with pytest.raises(InputError, match="`alternative`"):
        arrangement_test([0, 2], [0, 1], [0, 1], alternative="less", rng=rng)
