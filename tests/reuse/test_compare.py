"""`compare`: by hand, against brute force, and family-wise over pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from heldout import CompareAllResult, CompareResult, InputError, Predictions, budget, compare, compare_all
from heldout.reuse.compare_result import Verdict
from heldout.statistics.bounded_differences import bounded_intervals, bounded_log_p_values
from tests.reuse.test_leaderboard import matrices


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
    assert result.ruling == Verdict(
        outcome="told apart", direction="first", log_p_value=result.log_p_value, level=0.05, rests_on="mcnemar"
    )
    assert compare(two(60, 30, 350, 60), "b", "a").verdict == "second better"
    assert compare(two(40, 30, 350, 60), "a", "b").verdict == "not told apart"
    plain = result.to_dict()
    assert plain["interval"] == list(result.interval)
    assert [plain[key] for key in ("verdict", "outcome", "direction")] == ["first better", "told apart", "first"]


def test_examples_are_listed_with_their_texts():
    pool = Predictions.from_arrays(
        [[0, 1, 2, 2], [0, 2, 2, 1]], [0, 1, 2, 1], names=["a", "b"], ids=list("wxyz"),
        columns={"question": ["one?", "two?", "three?", "four?"]},
    )  # fmt: skip
    rows = compare(pool, "a", "b").to_dict()["examples"]
    assert [(row["id"], row["text"], row["label"]) for row in rows] == [("x", "two?", "1"), ("z", "four?", "1")]
    assert (rows[0]["first_answer"], rows[0]["second_answer"]) == ("1", "2")


def test_scores_are_compared_by_the_bounded_mean(rng):
    scores = rng.integers(0, 6, size=(2, 50)) / 5
    result = compare(Predictions.from_scores(scores, names=["a", "b"]), "a", "b")
    assert result.log_p_value == pytest.approx(bounded_log_p_values(scores[0] - scores[1]))
    assert result.interval == pytest.approx([float(end) for end in bounded_intervals(scores[0] - scores[1])])
    assert result.difference == pytest.approx(scores[0].mean() - scores[1].mean())
    assert result.n_discordant == int((scores[0] != scores[1]).sum())
    assert result.ruling.rests_on == "scores"


def test_trials_that_agree_are_no_more_examples(rng):
    right = rng.random((2, 80)) < 0.6
    once = compare(Predictions.from_correct(right), 0, 1)
    ten = compare(Predictions.from_scores(right * 1.0, trials=10), 0, 1)
    assert (once.p_value, once.interval) == (ten.p_value, ten.interval)


def test_whole_groups_are_the_unit(rng):
    right = rng.random((2, 120)) < 0.6
    group = rng.integers(0, 25, size=120)
    result = compare(Predictions.from_correct(right, columns={"repo": group}), 0, 1, groups="repo")
    sums = [int(right[0][group == g].sum()) - int(right[1][group == g].sum()) for g in np.unique(group)]
    assert result.log_p_value == pytest.approx(bounded_log_p_values(sums, np.unique(group, return_counts=True)[1]))
    assert result.n_groups == len(np.unique(group))
    low, high = result.interval
    assert low < result.difference < high
    alone = compare(Predictions.from_correct(right), 0, 1, groups=np.arange(120))
    assert alone.p_value == compare(Predictions.from_correct(right), 0, 1).p_value


def test_groups_larger_than_any_here(rng):
    """Stated, they stand for the worst that could have been drawn; p and interval follow."""
    right = rng.random((3, 120)) < [[0.9], [0.6], [0.3]]
    group = rng.integers(0, 25, size=120)
    sums = [int(right[0][group == g].sum()) - int(right[1][group == g].sum()) for g in np.unique(group)]
    sizes = np.unique(group, return_counts=True)[1]
    plain, stated = compare(right[:2], groups=group), compare(right[:2], groups=group, largest_group=20)
    assert stated.log_p_value == pytest.approx(bounded_log_p_values(sums, sizes, largest=20))
    np.testing.assert_allclose(stated.interval, bounded_intervals(sums, sizes, largest=20))
    assert stated.detectable_difference > plain.detectable_difference
    assert (stated.largest_group, stated.largest_drawn) == (20, sizes.max())
    assert (plain.largest_group, plain.largest_drawn) == (None, sizes.max())
    same = compare(right[:2], groups=group, largest_group=int(sizes.max()))
    assert (same.p_value, same.interval) == (plain.p_value, plain.interval)
    pairs = compare_all(right, groups=group, largest_group=20).pairs
    assert pairs[0].log_p_value == stated.log_p_value
    assert {pair.largest_group for pair in pairs} == {20}


def test_groups_of_one_where_larger_ones_could_have_been_drawn(rng):
    right = rng.random((2, 120)) < [[0.9], [0.6]]
    alone, plain = compare(right, groups=np.arange(120), largest_group=1), compare(right)
    assert (alone.p_value, alone.n_groups, alone.groups_of_one) == (plain.p_value, None, "as given")
    larger = compare(right, groups=np.arange(120), largest_group=10)
    assert (larger.n_groups, larger.ruling.rests_on, larger.largest_drawn) == (120, "groups", 1)
    assert larger.interval[0] < plain.interval[0] < plain.interval[1] < larger.interval[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"largest_group": 5}, "name them with `groups`"),
        (
            {"largest_group": 2, "groups": np.arange(60) // 3},
            "the group of example 0 in .* has 3 examples; name 3 or more",
        ),
        (
            {"largest_group": 9, "groups": np.arange(60) // 3, "sequential": True},
            "for a single look.* leave one of the two out",
        ),
        ({"largest_group": 0, "groups": np.arange(60) // 3}, "at least 1"),
        ({"largest_group": 4.5, "groups": np.arange(60) // 3}, "whole number"),
        ({"largest_group": 10**400, "groups": np.arange(60) // 3}, "at most 1,000,000,000"),
    ],
)
def test_largest_groups_that_cannot_be(rng, options, message):
    with pytest.raises(InputError, match=message):
        compare(rng.random((2, 60)) < 0.6, **options)


def test_groups_that_are_joined_by_their_inputs_are_larger_than_named(rng):
    """Examples 0 and 3 are the same question, so that two groups of three are one of six."""
    texts = ["a", "b", "c", "a", "d", "e", *map(str, range(54))]
    pool = Predictions.from_correct(rng.random((2, 60)) < 0.6, columns={"question": texts})
    with pytest.raises(InputError, match=r"has 6 examples \(groups that share an input are one\); name 6 or more"):
        compare(pool, groups=np.arange(60) // 3, largest_group=3)
    assert compare(pool, groups=np.arange(60) // 3, largest_group=6).largest_drawn == 6


def test_only_examples_that_both_have():
    pool = Predictions.from_correct([[1, 1, None, 0, 1, 1], [0, 1, 1, None, 0, 1]], names=["a", "b"])
    result = compare(pool, "a", "b")
    assert (result.n_examples, result.n_missing, result.first_only) == (4, 2, 2)
    assert [row.position for row in result.parted] == [0, 4]


def test_pairs_are_adjusted_by_holm(rng):
    right = rng.random((4, 300)) < np.array([[0.9], [0.8], [0.8], [0.6]])
    result = compare_all(right)
    assert result.n_pairs == 6
    alone = [compare(right, i, j) for i in range(4) for j in range(i + 1, 4)]
    assert [pair.p_value for pair in result.pairs] == pytest.approx([pair.p_value for pair in alone])
    smallest = min(result.pairs, key=lambda pair: pair.p_value)
    assert smallest.adjusted_p_value == pytest.approx(6 * smallest.p_value)
    assert all(a.interval[0] <= b.interval[0] for a, b in zip(result.pairs, alone, strict=True))
    assert compare_all(right, [0, 3]).pairs[0].p_value == alone[2].p_value


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
        assert back == result
    result = compare_all(pool)
    result.save(tmp_path / "all")
    assert CompareAllResult.load(tmp_path / "all") == result
    with pytest.raises(InputError, match="holds a CompareAllResult"):
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


def test_one_model_right_on_every_example_and_the_other_on_none():
    for n in (2, 7, 30):
        result = compare([[1] * n, [0] * n], 0, 1)
        assert result.p_value == pytest.approx(2 / 2**n)
        assert result.interval[1] == 1
        assert compare([[0] * n, [1] * n], 0, 1).interval[0] == -1
    assert compare_all([[1] * 9, [0] * 9, [1] * 9]).n_told_apart == 2


def test_verdict_and_interval_agree_where_p_is_the_level():
    result = compare(two(6, 0, 40, 4), "a", "b", level=0.03125)
    assert result.p_value == pytest.approx(0.03125)
    assert (result.verdict, result.interval[0] > 0) == ("first better", True)


def test_float32_scores():
    """Thirds in float32, no two differences quite of one size."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        whole = rng.integers(0, 4, size=(2, 12))
        narrow = whole.astype(np.float32) / np.float32(3)
        p = [compare(Predictions.from_scores(rows), 0, 1).p_value for rows in (whole / 3, narrow)]
        assert p[1] == pytest.approx(p[0], rel=1e-4)


def test_a_pair_knows_nothing_of_a_third_model():
    right = np.array(two(9, 2, 150, 39).scores)
    third = np.full((1, 200), 0.5)
    alone, beside = compare(right, 0, 1), compare(Predictions.from_scores(np.concatenate([right, third])), 0, 1)
    for name in ("p_value", "interval", "detectable_difference", "test", "difference", "binary"):
        assert getattr(alone, name) == getattr(beside, name)
    family = compare_all(Predictions.from_scores(np.concatenate([right, third])))
    assert family.pairs[0].p_value == alone.p_value
    assert [pair.binary for pair in family.pairs] == [True, False, False]


def test_what_could_have_been_seen():
    tenth = np.full((2, 50), 0.5)
    tenth[0] += 0.1
    assert compare(Predictions.from_scores(tenth), 0, 1).detectable_difference > 0.05
    equal = compare(Predictions.from_scores(np.full((2, 1000), 0.5)), 0, 1)
    right = compare(np.ones((2, 1000)), 0, 1)
    assert equal.detectable_difference == pytest.approx(right.detectable_difference, rel=0.03)


def test_intervals_stay_inside_and_few_groups_are_told():
    rng = np.random.default_rng(0)
    right = rng.random((2, 40)) < 0.6
    for n_groups in (2, 3, 5):
        result = compare(right, 0, 1, groups=np.arange(40) % n_groups)
        low, high = result.interval
        assert -1 <= low < high <= 1
        assert math.isnan(result.detectable_difference)
        assert result.n_groups == n_groups


def test_sequence_of_groups_counts_complete_ones_once():
    """Unequal groups: difference, interval, p and verdict are all about the mean over groups."""
    sizes = [1] * 200 + [300]
    group = np.repeat(np.arange(201), sizes)
    first = np.concatenate([np.arange(200) % 10 < 7, np.zeros(300, bool)])
    result = compare(np.stack([first, ~first]), 0, 1, groups=group, sequential=True)
    assert (result.n_groups, result.n_examples, result.n_waiting) == (200, 200, 300)  # the last may still be filling
    low, high = result.interval
    assert result.difference == pytest.approx(0.4)
    assert 0 < low < result.difference < high
    assert result.verdict == "first better"
    assert result.ruling.rests_on == "sequence of groups"
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(60), rng.integers(1, 30, size=60))
    right = rng.random((2, len(group))) < np.array([[0.7], [0.5]])
    result = compare(right, 0, 1, groups=group, sequential=True)
    means = [np.mean(right[0][group == g]) - np.mean(right[1][group == g]) for g in range(59)]
    assert result.difference == pytest.approx(np.mean(means))
    assert result.sequence.means[-1] == pytest.approx(np.mean(means))


def test_groups_that_come_back_are_refused_in_a_sequence():
    right = np.random.default_rng(0).random((2, 60)) < 0.5
    with pytest.raises(InputError, match="example 3 belongs to a group that had ended before"):
        compare(right, 0, 1, groups=np.arange(60) % 3, sequential=True)
    with pytest.raises(InputError, match="share 1 complete group"):
        compare(right, 0, 1, groups=np.arange(60) // 30, sequential=True)


def test_sequence_on_sorted_examples_says_that_the_order_matters():
    first = np.concatenate([np.ones(100), np.zeros(400)])
    result = compare(np.stack([first, 1 - first]), 0, 1, sequential=True)
    assert (result.verdict, result.better, result.ruling.direction) == ("order matters", None, None)
    assert result.to_dict()["interval"] == [None, None]
    assert result.judged(math.log(0.01), 0.5).outcome == result.ruling.outcome == "order matters"


@pytest.mark.parametrize("kind", ["scores", "groups", "groups of scores", "missing", "right and wrong among scores"])
def test_budget_and_compare_have_the_same_p(kind):
    rng = np.random.default_rng(3)
    cells = rng.random((4, 90)) < np.array([[0.9], [0.8], [0.7], [0.5]])
    if "score" in kind or kind == "missing":
        cells = np.where(cells, rng.uniform(0.5, 1, (4, 90)), rng.uniform(0, 0.5, (4, 90))).round(2)
    if kind == "right and wrong among scores":
        cells[:2] = cells[:2] > 0.3
    observed = rng.random((4, 90)) < 0.8 if kind == "missing" else None
    pool = Predictions.from_scores(cells * 1.0, observed=observed)
    groups = np.arange(90) // 3 if "groups" in kind else None
    result = budget(pool, groups=groups, epsilon=0.2)
    for pair in result.pool.neighbours:
        own = compare(pool, pair.better, pair.worse, groups=groups)
        assert own.log_p_value == pytest.approx(pair.log_p_value, rel=1e-6)


def test_pairs_that_share_too_little_are_left_out_and_named():
    cells = np.random.default_rng(0).random((3, 40)) < 0.5
    observed = np.ones((3, 40), bool)
    observed[0, 20:], observed[1, :18] = False, False  # two common examples, both of group 4
    pool = Predictions.from_scores(cells * 1.0, observed=observed, names=["a", "b", "c"])
    grouped = compare_all(pool, groups=np.arange(40) // 4)
    assert [(pair.first, pair.second) for pair in grouped.pairs] == [("a", "c"), ("b", "c")]
    assert grouped.skipped == (("a", "b"),)
    assert grouped.n_pairs == 2
    assert grouped.to_dict()["skipped"] == [["a", "b"]]
    assert compare_all(pool).skipped == ()


def test_a_number_that_is_a_place_and_a_name():
    """As of a DataFrame whose columns are called 1, 2 and 3."""
    pool = Predictions.from_correct([[1, 0, 1], [0, 0, 1], [1, 1, 1]], names=["1", "2", "c"])
    assert compare(pool, "1", "2").first == "1"
    assert compare(pool, 0, "c").first == "1"
    with pytest.raises(InputError, match=r"`first` is 1, which is a position, .* has a model of that name, too"):
        compare(pool, 1, "c")


def test_models_and_level_of_the_wrong_kind():
    pool = Predictions.from_correct(np.ones((3, 8)), names=["gpt-4", "gpt-4o", "llama"])
    with pytest.raises(InputError, match=r"name two models of .*gpt-4, gpt-4o, llama"):
        compare(pool)
    with pytest.raises(InputError, match="name two models"):
        compare(pool, "llama")
    for model in (0.7, None, True, [0], 3, -1):
        with pytest.raises(InputError, match="models"):
            compare_all(pool, [0, model])
    with pytest.raises(InputError, match=r"no model 'lama'; did you mean 'llama'\? It has gpt-4, gpt-4o, llama"):
        compare(pool, "lama", "gpt-4")
    for level in ("0.05", None, True, 0, math.nan):
        with pytest.raises(InputError, match="`level`"):
            compare(pool, 0, 1, level=level)


@pytest.mark.slow
def test_family_wise_level(rng):
    """Six equal models on shared examples, half of them hard: some pair is told apart in 5 % at most."""
    alarms = 0
    for _ in range(400):
        p = np.where(rng.random(200) < 0.5, 0.95, 0.4)
        alarms += compare_all(rng.random((6, 200)) < p).n_told_apart > 0
    assert alarms / 400 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


@pytest.mark.slow
@pytest.mark.parametrize("places", [(0, 1), (2, -1)])
@pytest.mark.parametrize("name", ["cifar10", "mmlu_pro", "open_llm"])
def test_resampled_from_real_answers(rng, name, places):
    """Examples drawn anew: the interval covers the true difference in 95 %, the sequence at every look."""
    found = dict(matrices())
    if name not in found:
        pytest.skip(f"needs ../shared/data for {name}")
    pool = found[name]
    order = np.argsort(-pool.mean(axis=1), kind="stable")
    right = pool[[order[place] for place in places]]
    true = float(right[0].mean() - right[1].mean())
    covered = ever = 0
    for _ in range(200):
        drawn = right[:, rng.integers(0, right.shape[1], size=1_000)]
        low, high = compare(drawn, 0, 1).interval
        covered += low <= true <= high
        s = compare(drawn, 0, 1, sequential=True).sequence
        ever += bool(((s.low > true) | (s.high < true)).any())
    assert covered / 200 >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 200)
    assert ever / 200 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)
