"""`compare`: by hand, against brute force, and family-wise over pairs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from heldout import CompareAllResult, CompareResult, InputError, Predictions, compare, compare_all
from heldout.statistics.sign_flips import sign_flip_test


def two(b, c, both, neither, **rest):
    """A table of two models with these counts."""
    first = [1] * (b + both) + [0] * (c + neither)
    second = [0] * b + [1] * both + [1] * c + [0] * neither
    return Predictions.from_correct([first, second], names=["a", "b"], **rest)


def test_right_and_wrong_is_mcnemar():
    result = compare(two(60, 30, 350, 60), "a", "b")
    assert result.p_value == pytest.approx(binomtest(60, 90).pvalue)
    assert result.difference == pytest.approx(0.06)
    assert (result.n_discordant, result.first_only, result.second_only) == (90, 60, 30)
    assert (result.verdict, result.better) == ("first better", "a")
    assert compare(two(60, 30, 350, 60), "b", "a").verdict == "second better"
    assert compare(two(40, 30, 350, 60), "a", "b").verdict == "not told apart"
    assert result.to_dict()["interval"] == list(result.interval)


def test_examples_are_listed_with_their_texts():
    pool = Predictions.from_arrays(
        [[0, 1, 2, 2], [0, 2, 2, 1]], [0, 1, 2, 1], names=["a", "b"], ids=list("wxyz"),
        columns={"question": ["one?", "two?", "three?", "four?"]},
    )  # fmt: skip
    rows = compare(pool, "a", "b").to_dict()["examples"]
    assert [(row["id"], row["text"], row["label"]) for row in rows] == [("x", "two?", "1"), ("z", "four?", "1")]
    assert (rows[0]["first_answer"], rows[0]["second_answer"]) == ("1", "2")


def test_scores_are_compared_by_sign_flips(rng):
    scores = rng.integers(0, 6, size=(2, 50)) / 5
    result = compare(Predictions.from_scores(scores, names=["a", "b"]), "a", "b")
    assert result.log_p_value == sign_flip_test(scores[0] - scores[1]).log_p_value
    assert result.difference == pytest.approx(scores[0].mean() - scores[1].mean())
    assert result.n_discordant == int((scores[0] != scores[1]).sum())
    assert "swapped" in result.null


def test_trials_that_agree_are_no_more_examples(rng):
    right = rng.random((2, 80)) < 0.6
    once = compare(Predictions.from_correct(right), 0, 1)
    ten = compare(Predictions.from_scores(right * 1.0, trials=10), 0, 1)
    assert (once.p_value, once.interval) == (ten.p_value, ten.interval)


def test_whole_groups_are_flipped(rng):
    right = rng.random((2, 120)) < 0.6
    group = rng.integers(0, 25, size=120)
    result = compare(Predictions.from_correct(right, columns={"repo": group}), 0, 1, groups="repo")
    sums = [int(right[0][group == g].sum()) - int(right[1][group == g].sum()) for g in np.unique(group)]
    assert result.log_p_value == sign_flip_test(np.array(sums, dtype=float)).log_p_value
    assert result.n_groups == len(np.unique(group))
    low, high = result.interval
    assert low < result.difference < high
    alone = compare(Predictions.from_correct(right), 0, 1, groups=np.arange(120))
    assert alone.p_value == compare(Predictions.from_correct(right), 0, 1).p_value


def test_only_examples_that_both_have():
    pool = Predictions.from_correct([[1, 1, None, 0, 1, 1], [0, 1, 1, None, 0, 1]], names=["a", "b"])
    result = compare(pool, "a", "b")
    assert (result.n_examples, result.n_missing, result.first_only) == (4, 2, 2)
    assert [row.position for row in result.parted] == [0, 4]


def test_pairs_are_adjusted_by_holm(rng):
    right = rng.random((4, 300)) < np.array([[0.9], [0.8], [0.8], [0.6]])
    result = compare_all(right)
    assert len(result) == 6
    alone = [compare(right, i, j) for i in range(4) for j in range(i + 1, 4)]
    assert [pair.p_value for pair in result.pairs] == pytest.approx([pair.p_value for pair in alone])
    smallest = min(result.pairs, key=lambda pair: pair.p_value)
    assert smallest.adjusted_p_value == pytest.approx(6 * smallest.p_value)
    assert all(a.interval[0] <= b.interval[0] for a, b in zip(result.pairs, alone, strict=True))
    assert compare_all(right, [0, 3])[0].p_value == alone[2].p_value


def test_sequential(rng):
    right = rng.random((2, 2_000)) < np.array([[0.9], [0.7]])
    result = compare(right, 0, 1, sequential=True)
    assert result.sequence is not None
    assert result.verdict == "first better"
    assert 10 < result.sequence.first < 1_000
    assert result.interval[0] > 0
    fixed = compare(right, 0, 1)
    assert result.interval[0] < fixed.interval[0]
    shuffled = compare(right[:, rng.permutation(2_000)], 0, 1)
    assert shuffled.p_value == fixed.p_value


def test_saved_and_read_again(rng, tmp_path):
    pool = Predictions.from_scores(rng.random((3, 60)).round(1), names=["a", "b", "c"], ids=range(60))
    for result in (compare(pool, "a", "b", sequential=True), compare(pool, "a", "b")):
        result.save(tmp_path / "one")
        back = CompareResult.load(tmp_path / "one")
        assert back.to_dict() == result.to_dict()
        assert str(back) == str(result)
        assert np.array_equal(back.discordant, result.discordant)
    result = compare_all(pool)
    result.save(tmp_path / "all")
    assert CompareAllResult.load(tmp_path / "all").to_dict() == result.to_dict()
    with pytest.raises(InputError, match="3 comparisons"):
        CompareResult.load(tmp_path / "all")


def test_equal_answers_are_not_told_apart():
    result = compare([[1, 0, 1, 1], [1, 0, 1, 1]], 0, 1)
    assert (result.verdict, result.p_value, result.n_discordant) == ("not told apart", 1.0, 0)
    low, high = result.interval
    assert low < 0 < high
    assert math.isnan(result.detectable_difference)
    assert result.to_dict()["detectable_difference"] is None


def test_bad_input():
    pool = two(3, 2, 5, 5)
    for arguments, sentence in (
        (("a", "c"), "no model 'c'"),
        (("a", "a"), "compared with itself"),
    ):
        with pytest.raises(InputError, match=sentence):
            compare(pool, *arguments)
    with pytest.raises(InputError, match="`level` is 2"):
        compare(pool, "a", "b", level=2)
    with pytest.raises(InputError, match="share 0 examples"):
        compare(Predictions.from_correct([[1, None], [None, 1]]), 0, 1)
    with pytest.raises(InputError, match="named twice"):
        compare_all(pool, ["a", "a"])


@pytest.mark.slow
def test_family_wise_level(rng):
    """Six equal models on shared examples, half of them hard: some pair is told apart in 5 % at most."""
    alarms = 0
    for _ in range(400):
        p = np.where(rng.random(200) < 0.5, 0.95, 0.4)
        alarms += compare_all(rng.random((6, 200)) < p).n_told_apart > 0
    assert alarms / 400 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


EXAMPLE = Path(__file__).parents[2] / "examples" / "cifar10_predictions.npz"


@pytest.mark.slow
@pytest.mark.parametrize("two", [("shake_drop", "wrn_28_10"), ("resnet_basic_110", "resnet_basic_56"), ("nas", "darc")])
def test_resampled_from_real_answers(rng, two):
    """Examples drawn anew: the interval covers the true difference in 95 %, the sequence at every look."""
    pool = Predictions.load(EXAMPLE).select(two)
    right = pool.correct
    true = float(right[0].mean() - right[1].mean())
    covered = ever = 0
    for _ in range(400):
        drawn = right[:, rng.integers(0, right.shape[1], size=1_000)]
        low, high = compare(drawn, 0, 1).interval
        covered += low <= true <= high
        s = compare(drawn, 0, 1, sequential=True).sequence
        ever += bool(((s.low > true) | (s.high < true)).any())
    assert covered / 400 >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 400)
    assert ever / 400 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)
