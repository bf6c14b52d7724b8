"""Covers: Definition 1 written the slow way, the smallest cover by brute force and by integer programming."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from heldout.errors import InputError
from heldout.reuse import cover as cover_module
from heldout.reuse.cover import cover, cover_curve
from heldout.reuse.packed import PackedLosses
from heldout.reuse.similarity import similarity


def random_pool(rng, k, n, *, missing=0.0):
    """Models of different strength on examples of different difficulty."""
    correct = rng.random((k, n)) > rng.random(n) * rng.uniform(0.2, 1.0, (k, 1))
    observed = rng.random((k, n)) >= missing
    observed[np.arange(k), rng.integers(n, size=k)] = True  # every model has an answer
    return correct & observed, observed


def pool_of(correct, observed):
    names = tuple(f"net{i}" for i in range(len(correct)))
    return similarity(PackedLosses.from_blocks([(correct, observed)], n_examples=correct.shape[1], names=names))


def error(correct, observed, q):
    return Fraction(int((observed[q] & ~correct[q]).sum()), int(observed[q].sum()))


def share(correct, observed, q, r):
    """On what share of the examples both have the two are both right or both wrong; None without any."""
    if q == r:
        return Fraction(1)
    both = observed[q] & observed[r]
    return Fraction(int((correct[q] == correct[r])[both].sum()), int(both.sum())) if both.any() else None


def slow_tables(correct, observed):
    k = len(correct)
    errors = [error(correct, observed, q) for q in range(k)]
    shares = [[share(correct, observed, q, r) for r in range(k)] for q in range(k)]
    return errors, shares


def is_cover(members, errors, shares, eta):
    """Definition 1, word for word, in rational numbers."""

    def similar(q, r):
        return shares[q][r] is not None and shares[q][r] >= eta

    return all(
        any(errors[m] <= errors[q] and similar(m, q) for m in members)
        and any(errors[m] >= errors[q] and similar(m, q) for m in members)
        for q in range(len(errors))
    )


def smallest(errors, shares, eta):
    k = len(errors)
    for size in range(1, k + 1):
        if any(is_cover(members, errors, shares, eta) for members in itertools.combinations(range(k), size)):
            return size
    raise AssertionError("the whole pool covers itself")


def levels(shares):
    """Every similarity of a pair: between two of them nothing changes."""
    return sorted({s for row in shares for s in row if s is not None})


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(1, 30), st.sampled_from([0.0, 0.4, 0.8]), st.integers(0, 2**32 - 1))
def test_definition(k, n, missing, seed):
    correct, observed = random_pool(np.random.default_rng(seed), k, n, missing=missing)
    pool, (errors, shares) = pool_of(correct, observed), slow_tables(correct, observed)
    for eta in [Fraction(0), *levels(shares)]:  # at a pair's own similarity, that pair is similar
        members = cover(pool, float(eta))
        assert is_cover(members, errors, shares, eta)
        assert members.tolist() == sorted(set(members.tolist()))
        for left_out in members:
            assert not is_cover(set(members.tolist()) - {left_out}, errors, shares, eta)  # nobody is spare


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_brute_force(missing):
    rng = np.random.default_rng(11)
    cases = found = on_curve = 0
    for _ in range(40):
        correct, observed = random_pool(rng, int(rng.integers(2, 9)), int(rng.integers(4, 40)), missing=missing)
        pool, (errors, shares) = pool_of(correct, observed), slow_tables(correct, observed)
        curve = cover_curve(pool)
        for eta in levels(shares):
            least = smallest(errors, shares, eta)
            size = len(cover(pool, float(eta)))
            assert least <= curve.at(float(eta)) <= size
            assert is_cover(cover(pool, float(eta)), errors, shares, eta)
            cases, found, on_curve = cases + 1, found + (size == least), on_curve + (curve.at(float(eta)) == least)
    assert cases > 250
    assert found >= 0.97 * cases
    assert on_curve >= 0.97 * cases


def test_integer_programming():
    rng = np.random.default_rng(3)
    ours = exact = 0
    for _ in range(6):
        correct, observed = random_pool(rng, 30, 200)
        pool = pool_of(correct, observed)
        shares, errors = pool.matrix(), pool.errors
        curve = cover_curve(pool)
        for eta in np.quantile(pool.agreement(), [0.1, 0.4, 0.7, 0.9, 0.97]):
            similar = shares >= eta
            from_below = similar & (errors[None, :] <= errors[:, None])
            from_above = similar & (errors[None, :] >= errors[:, None])
            needs = LinearConstraint(np.vstack([from_below, from_above]).astype(float), lb=1)
            least = round(milp(np.ones(30), constraints=needs, integrality=1, bounds=Bounds(0, 1)).fun)
            size = len(cover(pool, eta))
            assert least <= curve.at(eta)
            assert least <= size <= least + 2
            ours, exact = ours + size, exact + least
    assert ours <= 1.05 * exact


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_curve_is_a_staircase(missing):
    correct, observed = random_pool(np.random.default_rng(5), 60, 120, missing=missing)
    pool = pool_of(correct, observed)
    curve = cover_curve(pool)
    assert (np.diff(curve.eta) > 0).all()
    assert (np.diff(curve.size) > 0).all()
    assert curve.eta[-1] == 1.0
    assert curve.size[0] == 2  # the best and the worst model cannot stand for each other
    assert curve.size[-1] == 60
    assert [curve.at(eta) for eta in curve.eta] == curve.size.tolist()
    assert curve.at(0) == curve.size[0]
    assert curve.at(np.nextafter(curve.eta[3], 1)) == curve.size[4]
    assert curve.to_dict() == {"eta": curve.eta.tolist(), "size": curve.size.tolist()}


def test_curve_takes_the_smaller_of_nested_and_greedy():
    correct, observed = random_pool(np.random.default_rng(6), 25, 60, missing=0.2)
    pool = pool_of(correct, observed)
    curve = cover_curve(pool)
    etas, sizes = cover_module._Pool(pool).nested()
    assert (np.diff(etas) >= 0).all()
    assert sizes == list(range(2, 2 + len(sizes)))
    for eta in np.unique(pool.agreement()):
        nested = min(size for reached, size in zip(etas, sizes, strict=True) if reached >= eta)
        assert curve.at(eta) <= min(nested, len(cover(pool, eta)))


@pytest.mark.parametrize(("name", "value"), [("_LEVELS", 40), ("_WORK", 0)])
def test_coarse_curve_is_still_valid(monkeypatch, name, value):  # as in a pool too large to try every similarity
    correct, observed = random_pool(np.random.default_rng(8), 40, 90)
    pool = pool_of(correct, observed)
    fine = cover_curve(pool)
    monkeypatch.setattr(cover_module, name, value)
    coarse = cover_curve(pool)
    grid = np.unique(pool.agreement())
    sizes = np.array([[curve.at(eta) for eta in grid] for curve in (fine, coarse)])
    assert (sizes[0] <= sizes[1]).all()
    assert sizes[1].sum() <= 1.25 * sizes[0].sum()


def test_by_hand():
    # 0, 1, 2 and 4 wrong of 8, no two on the same example, so that two models differ where either is wrong
    correct = np.ones((4, 8), bool)
    correct[1, 0] = correct[2, 1:3] = correct[3, 4:8] = False
    pool = similarity(correct)
    assert cover(pool, 2 / 8).tolist() == [0, 3]  # the ends alone: model 2 and the worst agree on two examples
    assert cover(pool, 3 / 8).tolist() == [0, 2, 3]  # they no longer do; model 2 stands for model 1 from above
    assert cover(pool, 5 / 8).tolist() == [0, 2, 3]
    assert cover(pool, 6 / 8).tolist() == [0, 1, 2, 3]
    curve = cover_curve(pool)
    assert (curve.eta.tolist(), curve.size.tolist()) == ([2 / 8, 5 / 8, 1.0], [2, 3, 4])


def test_equal_models_cover_each_other():
    correct = np.array([[True, False, True]] * 5)
    assert len(cover(similarity(correct), 1.0)) == 1
    curve = cover_curve(similarity(correct))
    assert (curve.eta.tolist(), curve.size.tolist()) == ([1.0], [1])


def test_equal_errors_count_both_ways():
    correct = np.array([[True, True, False, True], [True, False, True, True]])  # one error each, half in common
    pool = similarity(correct)
    assert len(cover(pool, 0.5)) == 1
    assert len(cover(pool, 0.6)) == 2


def test_equal_errors_from_unequal_numbers_of_answers():
    # 1 wrong of 3 and 2 wrong of 6 are the same error: either model stands for both
    correct = np.array([[1, 1, 0, 0, 0, 0], [1, 1, 0, 1, 1, 0]], bool)
    observed = np.array([[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1]], bool)
    assert len(cover(pool_of(correct, observed), 1.0)) == 1


def test_models_that_share_no_example_are_not_similar():
    correct = np.array([[1, 1, 0, 0], [0, 0, 1, 0]], bool)
    observed = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], bool)
    pool = pool_of(correct, observed)
    assert cover(pool, 0.0).tolist() == [0, 1]
    curve = cover_curve(pool)
    assert (curve.eta.tolist(), curve.size.tolist()) == ([1.0], [2])


def test_one_model():
    pool = similarity([[True, False]])
    assert cover(pool, 1.0).tolist() == [0]
    assert cover_curve(pool).at(0.5) == 1


@pytest.mark.parametrize("eta", [-0.1, 1.1, float("nan")])
def test_refuses_eta(eta):
    pool = similarity([[True, False], [True, True]])
    with pytest.raises(InputError, match="`eta` is"):
        cover(pool, eta)
    with pytest.raises(InputError, match="`eta` is"):
        cover_curve(pool).at(eta)


def test_refuses_a_model_without_answers():
    observed = np.array([[True, True], [False, False]])
    pool = pool_of(np.array([[True, False], [False, False]]), observed)
    with pytest.raises(InputError, match="'net1' has no answer"):
        cover(pool, 0.5)
