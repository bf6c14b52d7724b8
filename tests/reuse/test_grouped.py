"""Examples in groups: groups of one change nothing, levels hold by simulation, moments equal a brute force."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import heldout
from heldout.errors import InputError
from heldout.groups import design_effect
from heldout.predictions import Predictions
from heldout.reuse.grouped import GroupedPool, Grouping, find_groups, group_moments
from heldout.reuse.leaderboard import PairTests, rank_ranges
from heldout.reuse.result import BudgetResult
from heldout.reuse.similarity import similarity
from heldout.reuse.unit import Unit

DELTA = 0.05


def draw(rng, n_groups, errors, alike, hard=0.6):
    """Groups of 1 to 20 examples, a share `alike` of each equal to its group's own; some examples are hard for all."""
    errors = np.asarray(errors, dtype=float)
    sizes = rng.integers(1, 21, n_groups)
    codes = np.repeat(np.arange(n_groups), sizes)

    def wrong(n):
        return (rng.random(n) < hard) & (rng.random((len(errors), n)) < (errors / hard)[:, None])

    return np.where(rng.random(len(codes)) < alike, wrong(n_groups)[:, codes], wrong(len(codes))), codes


def grouped_pool(wrong, codes, observed=None) -> GroupedPool:
    table = Predictions.from_correct(~wrong, observed=observed)
    return GroupedPool(table, similarity(table), Grouping(codes, None, 0, ()))


def misses(rng, n_groups, errors, alike, repetitions):
    """How often some model is outside ±epsilon, outside its interval, or outside its ranks."""
    errors = np.asarray(errors, dtype=float)
    best, worst = 1 + (errors[None] < errors[:, None]).sum(axis=1), (errors[None] <= errors[:, None]).sum(axis=1)
    count = np.zeros(3)
    for _ in range(repetitions):
        wrong, codes = draw(rng, n_groups, errors, alike)
        pool = grouped_pool(wrong, codes)
        farthest = float(np.abs(wrong.mean(axis=1) - errors).max())
        low, high = pool.intervals(DELTA)
        ranks = rank_ranges(PairTests(pool.similarity, DELTA, pool))
        count += [
            float(pool.levels(farthest).sum()) < DELTA,  # the same as: farther than the error bar
            bool(((low > errors) | (high < errors)).any()),
            bool(((ranks[:, 0] > best) | (ranks[:, 1] < worst)).any()),
        ]
    return count / repetitions


LADDER = (0.05, 0.05, 0.2, 0.2, 0.4, 0.4)


@pytest.mark.parametrize("alike", [1.0, 0.7, 0.5])
def test_level_at_a_glance(rng, alike):
    assert (misses(rng, 30, LADDER, alike, 60) <= DELTA + 3 * math.sqrt(DELTA * (1 - DELTA) / 60)).all()


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [30, 100])
@pytest.mark.parametrize("alike", [1.0, 0.7, 0.5])
@pytest.mark.parametrize("errors", [(0.05, 0.05), (0.2,) * 5, LADDER])
def test_level(rng, n_groups, alike, errors):
    repetitions = 1000
    assert (
        misses(rng, n_groups, errors, alike, repetitions) <= DELTA + 3 * math.sqrt(DELTA * 0.95 / repetitions)
    ).all()


@pytest.mark.slow
def test_without_groups_the_same_data_miss_often(rng):
    """Or the test above shows nothing."""
    bars = 0
    for _ in range(40):
        wrong, _ = draw(rng, 30, (0.2,) * 5, 0.7)
        bars += float(np.abs(wrong.mean(axis=1) - 0.2).max()) > heldout.budget(~wrong).pool.epsilon["similarity"]
    assert bars >= 8


def test_the_error_bar_is_where_its_costs_are_delta(rng):
    pool = grouped_pool(*draw(rng, 40, LADDER, 0.7))
    bar = pool.reach(DELTA)
    assert float(pool.levels(bar).sum()) <= DELTA < float(pool.levels(bar - 2e-7).sum())
    assert pool.testable(bar, DELTA).union >= 6
    assert pool.testable(bar - 2e-7, DELTA).union < 6


@pytest.mark.parametrize("epsilon", ["0.05", "0.1", "0.2"])
def test_the_pool_fits_where_its_error_bar_says_so(rng, epsilon):
    wrong, codes = draw(rng, 60, LADDER, 0.5)
    result = heldout.budget(~wrong, groups=codes, epsilon=epsilon)
    assert (result.testable.count >= 6) == (result.pool.epsilon["union"] <= float(epsilon))


def test_moments_of_differences_are_those_of_a_brute_force(rng):
    wrong, codes = draw(rng, 25, LADDER, 0.5)
    pool = grouped_pool(wrong, codes)
    others = np.array([4, 0, 2])
    fast = pool.differences(1, others)
    change = wrong[1].astype(int) - wrong[others].astype(int)
    sums = np.array([[row[codes == g].sum() for g in range(25)] for row in change], dtype=float)
    sizes = np.broadcast_to(np.bincount(codes).astype(float), sums.shape)
    slow = group_moments(sums, sizes, (change**2).sum(axis=1))
    for name, value in vars(slow).items():
        np.testing.assert_allclose(getattr(fast, name), value, rtol=1e-9, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(fast.design_effect, [design_effect(row, codes) for row in change], rtol=1e-9)


def test_missing_answers_count_on_what_both_have(rng):
    wrong, codes = draw(rng, 25, LADDER[:3], 0.5)
    everywhere = np.ones(wrong.shape, dtype=bool)
    some = rng.random(wrong.shape) < 0.7
    full, same = grouped_pool(wrong, codes), grouped_pool(wrong, codes, everywhere)
    assert full.errors.design_effect == pytest.approx(same.errors.design_effect)
    cut = grouped_pool(wrong, codes, some)
    both = some[0] & some[2]
    alone = grouped_pool(wrong[[0, 2]][:, both], np.unique(codes[both], return_inverse=True)[1])
    for name in ("n", "n_groups", "s2", "total", "square", "between", "jackknife"):
        found, expected = (getattr(p.differences(0, np.array([j])), name)[0] for p, j in ((cut, 2), (alone, 1)))
        assert found == pytest.approx(expected), name
    result = heldout.budget(Predictions.from_correct(~wrong, observed=some), groups=codes, epsilon=0.1)
    assert (
        (result.pool.low < result.pool.similarity.errors) & (result.pool.similarity.errors < result.pool.high)
    ).all()


@pytest.mark.parametrize("groups", [np.arange(400), [f"g{i}" for i in range(400)]])
def test_groups_of_one_are_no_groups(rng, groups):
    correct = rng.random((5, 400)) < np.array([[0.9], [0.8], [0.8], [0.7], [0.5]])
    plain = heldout.budget(correct, epsilon=0.05)
    found = heldout.budget(correct, epsilon=0.05, groups=groups)
    assert found.to_dict() == plain.to_dict() | {"groups_of_one": "as given"}


def test_names_of_groups_do_not_matter(rng):
    wrong, codes = draw(rng, 40, LADDER, 0.7)
    result = heldout.budget(~wrong, groups=codes)
    other = heldout.budget(~wrong, groups=[f"z{(7 * c) % 41}" for c in codes.tolist()])
    assert other.pool.low == pytest.approx(result.pool.low)
    assert other.pool.epsilon["union"] == pytest.approx(result.pool.epsilon["union"])
    np.testing.assert_array_equal(other.pool.ranks, result.pool.ranks)


def test_what_is_said(rng, tmp_path):
    wrong, codes = draw(rng, 40, LADDER, 0.7)
    result = heldout.budget(~wrong, groups=codes, epsilon=0.1)
    lines = dict(result.summary().lines)
    groups = result.pool.example_groups
    effects = [design_effect(row, codes) for row in wrong]
    assert groups.design_effect == pytest.approx(effects)
    assert lines["Design effect"].startswith(f"{np.median(effects):.2f}, ")
    assert lines["Design effect"].endswith(f"largest {max(effects):.2f}")
    assert lines["Groups"].startswith("40 of ")
    assert (result.testable.similarity, result.testable.naive_bayes) == (None, None)
    assert result.summary().warnings == ()
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["example_groups"]["n_groups"] == 40
    assert plain["example_groups"]["design_effect"]["largest"] == pytest.approx(max(effects))
    assert plain["testable_models"]["similarity"] is None
    assert plain["epsilon"]["similarity"] is None
    assert plain["pool"]["independent"] == "groups"
    assert "union bound is given" in plain["reason"]
    result.save(tmp_path / "result")
    again = BudgetResult.load(tmp_path / "result")
    assert again == result


def test_few_groups_get_a_warning_with_the_number(rng):
    wrong, codes = draw(rng, 11, LADDER, 0.7)
    (warning,) = heldout.budget(~wrong, groups=codes).summary().warnings
    assert "11 groups" in warning


def test_never_of_width_zero(rng):
    codes = np.repeat(np.arange(30), 5)
    correct = np.ones((3, 150), dtype=bool)
    correct[1, :5] = False
    correct[2] = False
    pool = heldout.budget(correct, groups=codes).pool
    assert (pool.high - pool.low > 0.1).all()
    assert pool.high[0] > 1 - 0.005 ** (1 / 150)  # wider than for independent examples


def test_one_model_in_groups():
    correct = np.ones((1, 500), dtype=bool)
    correct[0, :100] = False
    # independent examples: 0.1658 to 0.2378
    with pytest.raises(InputError, match=r"error is 20\.00 % \(9\.73 to 34\.30 % with 95 %\)\."):
        heldout.budget(correct, groups=np.repeat(np.arange(50), 10))


def test_ways_to_name_groups(tmp_path):
    ids = [f"{repo}-{i}" for i in range(20) for repo in ("django", "flask", "sympy")]
    correct = np.random.default_rng(0).random((2, 60)) < 0.5
    repos = [name.split("-")[0] for name in ids]
    table = Predictions.from_correct(correct, ids=ids, columns={"repo": repos})
    (tmp_path / "groups.csv").write_text(
        "\n".join(["id,group", *(f"{i},{r}" for i, r in zip(ids, repos, strict=True))])
    )
    expected = find_groups(table, repos)[0].codes.tolist()
    for spec in ("repo", str(tmp_path / "groups.csv"), "^(.*)-"):
        found = find_groups(table, spec)[0]
        assert found.codes.tolist() == expected
        assert found.named == spec
    with pytest.raises(InputError, match="neither a file, nor a column"):
        find_groups(table, "owner")
    with pytest.raises(InputError, match="no column 'repo' and no example ids"):
        find_groups(Predictions.from_correct(correct), "repo")
    with pytest.raises(InputError, match="one group for each of the 60 examples"):
        find_groups(table, repos[:-1])


def test_groups_of_one_are_told():
    """Nothing is said of groups that were named and change nothing, unless they are shown."""
    right = np.random.default_rng(0).random((3, 60)) < 0.5
    table, alone = Predictions.from_correct(right, columns={"repo": np.arange(60)}), "60 of one example each"
    for found in (table, Predictions.from_scores(right * 0.9)):
        groups = "repo" if found is table else np.arange(60)
        named = "repo" if found is table else "as given"
        result, plain = heldout.budget(found, groups=groups), heldout.budget(found)
        assert (result.groups_of_one, plain.groups_of_one, result.example_groups) == (named, None, None)
        assert result.error_bar == plain.error_bar
        assert dict(result.summary().lines)["Groups"].startswith(alone)
        assert result.to_dict()["groups_of_one"] == named
        pair, other = heldout.compare(found, 0, 1, groups=groups), heldout.compare(found, 0, 1)
        assert (pair.groups_of_one, pair.n_groups, pair.log_p_value) == (named, None, other.log_p_value)
        assert dict(pair.summary().lines)["Groups"] == f"{alone} ({named}); examples are the unit"
        assert ("--groups" in pair.html(), "--groups" in other.html()) == (False, True)
        several = heldout.compare_all(found, groups=groups)
        assert dict(several.summary().lines)["Groups"].startswith(alone)
        assert several.to_dict()["groups_of_one"] == named
        assert "Groups" not in dict(heldout.compare_all(found).summary().lines)


class TestRepeatedInputs:
    """Two examples that ask the same are one."""

    correct = np.random.default_rng(0).random((3, 8)) < 0.5
    texts = ("a", "b", "a", "c", "d", "", "", "a")

    def test_are_groups(self):
        table = Predictions.from_correct(self.correct, columns={"Question": self.texts})
        found = find_groups(table, None)[0]
        assert found.codes.tolist() == [0, 1, 0, 2, 3, 4, 5, 0]
        assert (found.n_repeated, found.named, found.repeated_in) == (3, None, ("Question",))
        lines = dict(heldout.budget(table).summary().lines)
        assert lines["Examples that share their input"].startswith("3 (Question)")

    def test_are_joined_with_the_groups_given(self):
        table = Predictions.from_correct(self.correct, columns={"question": self.texts})
        found = find_groups(table, [0, 1, 2, 3, 1, 4, 5, 6])[0]
        assert found.codes.tolist() == [0, 1, 0, 2, 1, 3, 4, 0]

    def test_need_all_texts_to_be_equal(self):
        columns = {"question": self.texts, "options": ("x", "x", "y", "x", "x", "x", "x", "x")}
        found = find_groups(Predictions.from_correct(self.correct, columns=columns), None)[0]
        assert found.codes.tolist() == [0, 1, 2, 3, 4, 5, 5, 0]

    def test_a_text_that_never_changes_is_no_input(self):
        table = Predictions.from_correct(self.correct, columns={"prompt": ["Answer!"] * 8})
        assert find_groups(table, None) == (None, None)

    def test_other_columns_are_no_input(self):
        table = Predictions.from_correct(self.correct, columns={"category": self.texts})
        assert find_groups(table, None) == (None, None)


@pytest.mark.parametrize("scores", [False, True])
def test_too_few_groups_lead_and_give_no_counts(rng, scores):
    """Three groups: an error bar of ±0.8 would hold for 10^14 models."""
    cells = rng.random((4, 60))
    result = heldout.budget(cells if scores else cells < 0.7, groups=np.arange(60) % 3)
    summary, needed = result.summary(), result.needed_summary()
    assert summary.headline == "Too few groups to say anything"
    for shown in (summary, needed):
        assert Unit.of_budget(result).bar(result.error_bar) in shown.sentences[0]
        assert "3 groups" in shown.warnings[0]
        assert not [name for name, _ in shown.lines if name.startswith("Examples for")]
    assert "How many examples are needed" not in [s.title for s in summary.sections]
    assert (result.further_models, result.needed.examples_for_gap, result.needed.examples_for_epsilon) == (
        0,
        None,
        None,
    )
    few = heldout.budget(cells[:, :5] if scores else cells[:, :5] < 0.7)
    assert (few.too_few, few.further_models, few.needed.examples_for_epsilon) == (True, 0, None)
    assert few.summary().headline == "Too few examples to say anything"
    assert few.testable.reason == "5 examples are too few to say how many models fit"
    many = heldout.budget(cells if scores else cells < 0.7, groups=np.arange(60) % 20).summary()
    assert many.headline != summary.headline
    assert "60 examples" in many.sentences[0]
    assert "20 groups" in many.warnings[0]
