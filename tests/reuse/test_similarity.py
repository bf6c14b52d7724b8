"""Similarity: counted the slow way, against pdist, on the shapes where blocks and tiles end, and on ImageNet."""

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from heldout.errors import InputError
from heldout.reuse import pairs
from heldout.reuse.packed import PackedLosses
from heldout.reuse.similarity import similarity

IMAGENET = Path(__file__).resolve().parents[2].parent / "shared/data/imagenet_predictions.npz"


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def table(correct, observed=None):
    names = tuple(f"net{i}" for i in range(len(correct)))
    block = correct if observed is None else (correct, observed)
    return PackedLosses.from_blocks([block], n_examples=correct.shape[1], names=names)


def slow_counts(correct, observed, i, j):
    """Both wrong, only i, only j, neither: one example at a time."""
    cells = {(False, False): 0, (False, True): 0, (True, False): 0, (True, True): 0}
    for x in range(correct.shape[1]):
        if observed[i, x] and observed[j, x]:
            cells[bool(correct[i, x]), bool(correct[j, x])] += 1
    return cells[False, False], cells[False, True], cells[True, False], cells[True, True]


def check_slowly(result, correct, observed):
    k, n = correct.shape
    below = disjoint = 0
    agreement, baseline = [], []
    for i in range(k):
        for j in range(i + 1, k):
            n11, n10, n01, n00 = slow_counts(correct, observed, i, j)
            assert result.counts(i, j) == (n11, n10, n01, n00)
            assert result.counts(j, i) == (n11, n01, n10, n00)
            common = n11 + n10 + n01 + n00
            if common == 0:
                disjoint += 1
                agreement.append(math.nan)
                baseline.append(math.nan)
                continue
            first, second = (n11 + n10) / common, (n11 + n01) / common
            agreement.append((n11 + n00) / common)
            baseline.append(first * second + (1 - first) * (1 - second))
            below += n11 * common < (n11 + n10) * (n11 + n01)
    np.testing.assert_array_equal(result.agreement(), agreement)
    np.testing.assert_allclose(result.baseline(), baseline, rtol=1e-12)
    assert (result.below_chance, result.disjoint) == (below, disjoint)
    shared = [value for value in agreement if not math.isnan(value)]
    if shared:
        assert result.mean_similarity == pytest.approx(np.mean(shared), rel=1e-12)
        assert result.mean_baseline == pytest.approx(np.nanmean(baseline), rel=1e-12)
    else:
        assert math.isnan(result.mean_similarity)
        assert math.isnan(result.mean_baseline)
    complete = [x for x in range(n) if observed[:, x].all()]
    times_wrong = [int((~correct[:, x]).sum()) for x in complete]
    assert result.difficulty.tolist() == [times_wrong.count(j) for j in range(k + 1)]
    assert result.n_complete == len(complete)
    assert result.observed.tolist() == observed.sum(axis=1).tolist()
    assert result.wrong.tolist() == (observed & ~correct).sum(axis=1).tolist()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.integers(1, 40), st.sampled_from([0.0, 0.3, 0.9]), st.integers(0, 2**32 - 1))
def test_oracle(k, n, missing, seed):
    rng = np.random.default_rng(seed)
    correct = rng.random((k, n)) < rng.random((k, 1))
    observed = rng.random((k, n)) >= missing
    correct &= observed
    check_slowly(similarity(table(correct, observed)), correct, observed)


# odd and even pools, one model more than a tile or a chunk of rows, and examples that end in the middle of a byte
@pytest.mark.parametrize(("k", "n"), [(2, 1), (3, 8), (64, 9), (65, 4088), (129, 4089), (257, 8177), (258, 23)])
@pytest.mark.parametrize("masked", [False, True])
def test_shapes(rng, k, n, masked):
    correct = rng.random((k, n)) < rng.random((k, 1))
    observed = rng.random((k, n)) < 0.9 if masked else np.ones((k, n), bool)
    observed[0, 0] = not masked
    result = similarity(table(correct & observed, observed))
    wrong, there = (observed & ~correct).astype(np.float64), observed.astype(np.float64)
    upper = np.triu_indices(k, 1)
    np.testing.assert_array_equal(result.both_wrong, (wrong @ wrong.T)[upper])
    np.testing.assert_array_equal(result.wrong, wrong.sum(axis=1))
    np.testing.assert_array_equal(result.observed, there.sum(axis=1))
    times_wrong = np.bincount(wrong.sum(axis=0)[observed.all(axis=0)].astype(int), minlength=k + 1)
    np.testing.assert_array_equal(result.difficulty, times_wrong)
    if masked:
        np.testing.assert_array_equal(result.common, (there @ there.T)[upper])
        np.testing.assert_array_equal(result.first_wrong, (wrong @ there.T)[upper])
        np.testing.assert_array_equal(result.second_wrong, (there @ wrong.T)[upper])
    else:
        assert result.common is None


@pytest.mark.parametrize("masked", [False, True])
def test_all_wrong_fills_the_digits(masked):
    # every count is as large as a block allows: one more example in a block would spill into the other model's count
    n = 3 * 4088 + 5
    observed = np.ones((5, n), bool)
    observed[0, 0] = not masked
    result = similarity(table(np.zeros((5, n), bool), observed))
    np.testing.assert_array_equal(result.both_wrong, [n - masked] * 4 + [n] * 6)
    np.testing.assert_array_equal(result.wrong, [n - masked] + [n] * 4)


@pytest.mark.parametrize("masked", [False, True])
def test_blocks_do_not_show(rng, monkeypatch, masked):
    correct = rng.random((37, 700)) < 0.7
    observed = rng.random((37, 700)) < 0.8 if masked else None
    whole = similarity(table(correct, observed))
    monkeypatch.setattr(pairs, "_BLOCK_MEMORY", 37 * 32 * 5)  # a few bytes of examples at a time
    monkeypatch.setattr(pairs, "_TILE", 4)
    monkeypatch.setattr(pairs, "_ROWS", 6)
    small = similarity(table(correct, observed))
    for name in ("wrong", "observed", "both_wrong", "common", "first_wrong", "second_wrong", "difficulty"):
        np.testing.assert_array_equal(getattr(small, name), getattr(whole, name))


@pytest.mark.parametrize("masked", [False, True])
def test_threads_do_not_show(rng, monkeypatch, masked):
    correct = rng.random((300, 5000)) < 0.7
    observed = rng.random((300, 5000)) < 0.8 if masked else None
    pytest.importorskip("threadpoolctl")
    shared = similarity(table(correct, observed))
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)  # as if it were not installed
    alone = similarity(table(correct, observed))
    for name in ("wrong", "observed", "both_wrong", "common", "first_wrong", "second_wrong", "difficulty"):
        np.testing.assert_array_equal(getattr(shared, name), getattr(alone, name))


def test_blas_gets_its_threads_back():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    before = threadpoolctl.threadpool_info()
    similarity(np.ones((3, 30), bool))
    assert threadpoolctl.threadpool_info() == before


def test_order_and_value_of_pdist(rng):
    correct = rng.random((23, 301)) < rng.random((23, 1))
    result = similarity(correct)
    distance = pdist(correct, "hamming")
    np.testing.assert_allclose(result.agreement(), 1 - distance, atol=1e-12)
    np.testing.assert_allclose(result.matrix(), 1 - squareform(distance), atol=1e-12)
    assert result.mean_similarity == pytest.approx(1 - distance.mean(), rel=1e-12)


def test_blocks_of_models(rng):
    correct, observed = rng.random((2, 10, 77)) < 0.6
    blocks = [correct[:3], (correct[3:4], observed[3:4]), (correct[4:], np.ones((6, 77), bool))]
    mask = np.ones((10, 77), bool)
    mask[3] = observed[3]
    joined = similarity(PackedLosses.from_blocks(iter(blocks), n_examples=77, names=list("abcdefghij")))
    at_once = similarity(table(correct, mask))
    assert joined.names == tuple("abcdefghij")
    for name in ("wrong", "observed", "both_wrong", "common", "first_wrong", "second_wrong", "difficulty"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(at_once, name))


def test_nothing_missing_needs_no_mask(rng):
    correct = rng.random((4, 20)) < 0.5
    assert table(correct, np.ones((4, 20), bool)).observed is None


@pytest.mark.parametrize("hidden", [0, 1])
@pytest.mark.parametrize("kind", [bool, int, float])
def test_masked_cells_are_missing(hidden, kind):
    """Neither a 0 nor a 1 under the mask counts."""
    cells = np.array([[1, 0, hidden, 1], [0, 0, 1, 1]], dtype=kind)
    masked = np.ma.array(cells, mask=[[0, 0, 1, 0], [0, 0, 0, 0]])
    observed = ~np.ma.getmaskarray(masked)
    packed = PackedLosses.from_blocks([masked[:1], (masked[1:], observed[1:])], n_examples=4)
    both = PackedLosses.from_blocks([(masked, np.array([[1, 1, 1, 0], [1, 1, 1, 1]]))], n_examples=4)
    for result in (similarity(masked), similarity(list(masked)), similarity(packed)):
        assert result.observed.tolist() == [3, 4]
        assert result.wrong.tolist() == [1, 2]
        assert result.counts(0, 1) == (1, 0, 1, 1)
    assert similarity(both).counts(0, 1) == (1, 0, 1, 0)


def test_missing_cells_do_not_matter(rng):  # whatever stands in a cell that is missing
    correct, observed, other = rng.random((3, 6, 50)) < 0.7
    one = similarity(table(correct & observed, observed))
    two = similarity(table(np.where(observed, correct, other), observed))
    np.testing.assert_array_equal(one.both_wrong, two.both_wrong)
    np.testing.assert_array_equal(one.wrong, two.wrong)
    np.testing.assert_array_equal(one.difficulty, two.difficulty)


def test_invariance(rng):  # neither the order of examples nor that of models changes a pair
    correct = rng.random((12, 90)) < 0.8
    models, examples = rng.permutation(12), rng.permutation(90)
    moved = similarity(correct[models][:, examples])
    np.testing.assert_array_equal(moved.matrix(), similarity(correct).matrix()[np.ix_(models, models)])
    np.testing.assert_array_equal(moved.difficulty, similarity(correct).difficulty)


def test_below_chance_is_exact():
    # n11 n = w1 w2 = 4: exactly as often as independent errors, so not below; then one pair just below
    equal = [[False, False, True, True], [False, True, False, True]]
    assert similarity(equal).below_chance == 0
    assert similarity([[False, False, True, True], [True, True, False, False]]).below_chance == 1


def test_one_model():
    result = similarity([[True, False, False]])
    assert (result.n_pairs, result.below_chance, result.mean_error) == (0, 0, pytest.approx(2 / 3))
    assert math.isnan(result.mean_similarity)
    assert result.to_dict()["mean_similarity"] is None
    assert "no two models share an example" in str(result)


def test_model_without_answers(rng):
    observed = np.ones((3, 9), bool)
    observed[1] = False
    result = similarity(table(rng.random((3, 9)) < 0.5, observed))
    assert np.isnan(result.errors).tolist() == [False, True, False]
    assert (result.disjoint, result.n_complete) == (2, 0)
    assert np.isnan(result.difficulty_curve()).all()
    assert "2 pairs" in str(result)
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["models"][1]["error"] is None


def test_prints_and_travels():
    correct = [[True, True, True, False], [True, True, False, False], [False, True, True, True]]
    result = similarity(table(np.array(correct)))
    text = str(result)
    assert "3 models on 4 examples, mean error 0.3333" in text
    assert "mean similarity 0.5000, 0.5417 if errors were independent" in text
    assert "25.00 % of examples are right for all models, 0.00 % wrong for all" in text
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["independent_similarity"] == pytest.approx(13 / 24)
    assert plain["models"][1] == {"name": "net1", "error": 0.5, "n_examples": 4}
    assert result.difficulty_curve().tolist() == [0.25, 0.75, 1.0, 1.0]
    assert result.counts(-1, 0) == (0, 1, 1, 2)


def test_zeros_and_ones_are_right_and_wrong():
    np.testing.assert_array_equal(similarity([[1, 0, 1], [0, 0, 1]]).both_wrong, [1])
    np.testing.assert_array_equal(similarity([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]).both_wrong, [1])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros((2, 2, 2), bool), "shape"),
        (np.zeros((0, 4), bool), "0 models"),
        (np.zeros((2, 0), bool), "0 examples"),
        ([[3, 1], [1, 2]], "holds 3, but only 1"),
        ([[1.0, math.nan], [1.0, 0.0]], "NaN stands in 1 of 4 cells"),
        ([["cat", "dog"], ["cat", "cat"]], "'cat' is text"),
        ("predictions.csv", r"heldout\.load_predictions"),
    ],
)
def test_refuses(bad, message):
    with pytest.raises(InputError, match=message):
        similarity(bad)


def test_refuses_blocks_that_do_not_fit():
    with pytest.raises(InputError, match=r"\(n_models, 5\)"):
        PackedLosses.from_blocks([np.ones((2, 5), bool), np.ones((2, 4), bool)], n_examples=5)
    with pytest.raises(InputError, match=r"\(2, 0\); it must be \(n_models, 0\).* at least one"):
        PackedLosses.from_blocks([np.ones((2, 0), bool)], n_examples=0)
    with pytest.raises(InputError, match="no model in the pool"):
        PackedLosses.from_blocks([], n_examples=5)
    with pytest.raises(InputError, match="True and False"):
        PackedLosses.from_blocks([[[3, 1], [1, 2]]], n_examples=2)
    with pytest.raises(InputError, match="`observed` has 1 models but `correct` has 2"):
        table(np.ones((2, 5), bool), np.ones((1, 5), bool))
    with pytest.raises(InputError, match="1 names for 2 models"):
        PackedLosses.from_blocks([np.ones((2, 5), bool)], n_examples=5, names=["a"])


@pytest.mark.skipif(not IMAGENET.exists(), reason="needs ../shared/data/imagenet_predictions.npz")
def test_imagenet():
    with np.load(IMAGENET) as data:
        names = data["models"].astype(str)
        kept = [i for i, name in enumerate(names) if not name.startswith("fv_")]
        correct = (data["preds_val"][:, kept] == data["labels_val"][:, None]).T
    result = similarity(correct)
    assert (result.n_models, result.n_examples) == (64, 50_000)
    assert round(100 * (1 - result.mean_error), 2) == 75.56
    assert round(result.mean_similarity, 4) == 0.8555
    assert round(result.mean_baseline, 4) == 0.6306
    assert round(100 * result.difficulty_curve()[0], 2) == 34.10
    assert round(100 * result.difficulty[-1] / result.n_complete, 2) == 4.91
    np.testing.assert_allclose(result.agreement(), 1 - pdist(correct, "hamming"), atol=1e-12)
