"""Wrong labels: the formulas by simulation, the worst case by trying everything, second labels by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from heldout import BudgetResult, InputError, Predictions, budget
from heldout.reuse.label_noise import _survivors, find_second_labels, noise_factor
from heldout.reuse.similarity import similarity
from heldout.statistics.binomial import sign_test_log_pvalue


def spoiled(labels, share, m, rng):
    """Labels of which each is wrong with this probability, and then any other."""
    wrong = rng.random(len(labels)) < share
    return np.where(wrong, (labels + rng.integers(1, m, size=len(labels))) % m, labels)


@pytest.mark.parametrize(("m", "share"), [(2, 0.1), (4, 0.05), (10, 0.2)])
def test_random_noise_by_simulation(rng, m, share):
    n, error = 200_000, 0.3
    truth = rng.integers(0, m, size=n)
    answers = np.where(rng.random(n) < error, (truth + rng.integers(1, m, size=n)) % m, truth)
    observed = (answers != spoiled(truth, share, m, rng)).mean()
    factor = noise_factor(share, 1 / (m - 1))
    assert observed == pytest.approx(share + factor * error, abs=4 * math.sqrt(0.25 / n))
    assert (observed - share) / factor == pytest.approx((answers != truth).mean(), abs=0.01)


@pytest.mark.slow
def test_true_errors_and_error_bars_hold(rng):
    """With 5 % of the labels wrong at random, corrected errors of all models are within the corrected bar in 95 %."""
    m, n, share, k = 5, 2_000, 0.05, 4
    true = np.array([0.1, 0.15, 0.2, 0.3])
    hits = 0
    for _ in range(60):
        truth = rng.integers(0, m, size=n)
        answers = np.where(rng.random((k, n)) < true[:, None], (truth + rng.integers(1, m, size=(k, n))) % m, truth)
        found = budget(
            Predictions.from_arrays(answers, spoiled(truth, share, m, rng)), label_noise=share
        ).pool.label_noise
        hits += np.abs(np.array(found.true_errors) - true).max() <= found.error_bar_random
        assert found.error_bar_random == pytest.approx(found.error_bar / found.factor)
    assert hits >= 60 * 0.95 - 3 * math.sqrt(60 * 0.05 * 0.95)


def test_worst_case_by_trying_everything(rng):
    """Every choice of wrong labels and of the true ones: the lead never falls below b - c - 2 t, and gets there."""
    n, m, k = 6, 3, 2
    for _ in range(20):
        labels = rng.integers(0, m, size=n)
        first, second = (np.where(rng.random(n) < p, labels, rng.integers(0, m, size=n)) for p in (0.8, 0.4))
        b, c = int(((first == labels) & (second != labels)).sum()), int(((first != labels) & (second == labels)).sum())
        lowest = b - c
        for places in itertools.combinations(range(n), k):
            for values in itertools.product(range(m), repeat=k):
                true = labels.copy()
                true[list(places)] = values
                lowest = min(lowest, int((first == true).sum() - (second == true).sum()))
        t = min(b, k)
        if t == k:  # else labels are left over for examples that both get wrong
            assert lowest == b - c - 2 * t
        assert lowest >= b - c - 2 * k


def test_survivors_by_hand():
    right = np.zeros((2, 200), dtype=bool)
    right[:, :100] = True
    right[0, 100:130] = True  # 30 against 0
    counts = similarity(right)
    assert sign_test_log_pvalue(30 - 6, 6) < math.log(0.05) < sign_test_log_pvalue(30 - 10, 10)
    assert _survivors(counts, 0.03, 0.05) == (1, 1)  # six labels
    assert _survivors(counts, 0.05, 0.05) == (1, 0)  # ten
    pool = Predictions.from_correct(right)
    noise = budget(pool, label_noise=0.03, epsilon=0.2).pool.label_noise
    assert noise.first_safe_below == pytest.approx(30 / 400)
    assert (noise.n_classes, noise.factor) == (None, 0.97)
    assert noise.error_bar_worst == pytest.approx(noise.error_bar + 0.03)
    assert noise.models_worst <= noise.models_random <= noise.models


def test_second_labels_by_hand(rng, tmp_path):
    labels = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    answers = np.array([[0, 1, 2, 0, 1, 2, 1, 1], [0, 1, 2, 0, 1, 0, 1, 0]])
    others = np.array([0, 1, 2, 0, 1, 0, 1, None], dtype=object)  # two differ, the last has none
    pool = Predictions.from_arrays(answers, labels, names=["a", "b"], ids=[f"x{i}" for i in range(8)])
    result = budget(pool, second_labels=others, epsilon=0.45)
    second = result.pool.second_labels
    assert (second.n_examples, second.n_changed) == (7, 2)
    assert second.errors == pytest.approx((1 / 7, 2 / 7))
    assert second.second_errors == pytest.approx((1 / 7, 0.0))
    assert (second.ranks, second.second_ranks) == ((1, 2), (2, 1))
    (tmp_path / "second.csv").write_text("id,label\n" + "".join(f"x{i},{v}\n" for i, v in enumerate(others[:7])))
    assert (
        budget(pool, second_labels=str(tmp_path / "second.csv"), epsilon=0.45).pool.second_labels.errors
        == second.errors
    )
    np.save(tmp_path / "second.npy", labels)
    same = budget(pool, second_labels=str(tmp_path / "second.npy"), epsilon=0.45).pool.second_labels
    assert (same.n_changed, same.kendall, same.n_turned) == (0, pytest.approx(1.0), 0)


def test_saved_and_shown(rng, tmp_path):
    labels = rng.integers(0, 3, size=400)
    answers = np.where(rng.random((4, 400)) < np.array([[0.98], [0.8], [0.8], [0.6]]), labels, 0)
    result = budget(
        Predictions.from_arrays(answers, labels),
        label_noise="0.03",
        second_labels=spoiled(labels, 0.1, 3, rng),
        epsilon=0.1,
    )
    result.save(tmp_path / "result")
    back = BudgetResult.load(tmp_path / "result")
    assert back == result
    assert result.pool.label_noise.too_good == ("model 0",)


def test_with_groups(rng):
    right = rng.random((3, 300)) < 0.8
    noise = budget(right, label_noise=0.02, groups=np.arange(300) // 5, epsilon=0.2).pool.label_noise
    assert noise.n_significant is None
    assert noise.models_random <= noise.models


def test_bad_input(tmp_path):
    right = Predictions.from_correct([[1, 0, 1, 1], [1, 1, 0, 1]])
    answers = Predictions.from_arrays([[0, 1, 0, 1], [1, 1, 0, 0]], [0, 1, 0, 1])
    named = Predictions.from_arrays([["cat", "dog", "cat", "cat"]] * 2, ["cat", "dog", "cat", "dog"])
    scores = Predictions.from_scores([[0.5, 1.0], [0.2, 0.1]])
    for pool, arguments, sentence in (
        (right, {"second_labels": [0, 1, 0, 1]}, "knows right and wrong only"),
        (answers, {"label_noise": 0.6}, "below 0.5, where labels say nothing"),
        (answers, {"label_noise": 0}, "label_noise"),
        (answers, {"second_labels": "nowhere"}, "neither a file nor a column"),
        (answers, {"second_labels": ["x", "y", "x", "y"]}, "no class number"),
        (answers, {"second_labels": [7, 8, 7, 9]}, "none of which is a label"),
        (answers, {"second_labels": [1, 2, 1, 2]}, "on 4 with 1 taken off, so that one .* from 0 and the other from 1"),
        (answers, {"second_labels": [1, 0, 1, 0]}, "another label than the table on every one of 4 examples"),
        (named, {"second_labels": ["Cat", "Dog", "Cat", "cat"]}, r"one of 4 .* \(such as 'Cat' for 'cat'\)"),
        (answers, {"second_labels": [None] * 4}, "no label for any example"),
        (scores, {"label_noise": 0.03}, "label noise needs scores of 0 or 1"),
    ):
        with pytest.raises(InputError, match=sentence):
            budget(pool, **arguments)
    (tmp_path / "other.csv").write_text("id,label\nq,1\nr,0\n")
    with pytest.raises(InputError, match="names none"):
        find_second_labels(str(tmp_path / "other.csv"), answers)


def test_second_labels_take_whole_groups(rng):
    """Twelve groups of fifty alike examples are twelve examples, by either labels: nothing can be told apart."""
    codes = np.repeat(np.arange(12), 50)
    labels = rng.integers(0, 4, size=600)
    right = np.stack([np.arange(12) % 3 > 0, np.arange(12) % 2 > 0, np.arange(12) % 4 > 0])[:, codes]
    answers = np.where(right, labels, (labels + 1) % 4)
    second = np.where(codes == 3, (labels + 1) % 4, labels)
    table = Predictions.from_arrays(answers, labels)
    blind = budget(table, second_labels=second).pool.second_labels
    assert blind.n_significant > 0  # or the test shows nothing
    assert blind.n_second > 0
    found = budget(table, groups=codes, second_labels=second)
    by_groups = found.pool.second_labels
    assert (by_groups.n_significant, by_groups.n_second) == (found.pool.n_significant, 0)
    assert by_groups.high - by_groups.low > 3 * (blind.high - blind.low)
    wide, narrow = (budget(table, second_labels=second, delta=d).pool.second_labels for d in ("0.01", "0.2"))
    assert (wide.level, narrow.level) == (0.01, 0.2)
    assert wide.low < blind.low < narrow.low


def test_second_labels_of_some_examples_in_one_group_are_refused(rng):
    labels = rng.integers(0, 3, size=40)
    table = Predictions.from_arrays(rng.integers(0, 3, size=(2, 40)), labels)
    some = np.where(np.arange(40) < 10, labels, None)
    with pytest.raises(InputError, match="all examples that as given has a label for are in one group"):
        budget(table, groups=np.arange(40) // 10, second_labels=some)


def test_worst_case_where_answers_are_missing():
    """All 10 wrong labels of 200 may stand on the 100 examples that both models have."""
    n = 200
    labels, answers, observed = np.zeros(n, int), np.zeros((2, n), int), np.ones((2, n), dtype=bool)
    answers[1, :20] = 1  # only the first is right
    observed[1, 100:] = False
    labels[20:40], labels[100:150] = 2, 1
    noise = budget(
        Predictions.from_arrays(answers, labels, observed=observed, classes="any"), label_noise=0.05
    ).pool.label_noise
    assert (noise.n_wrong, noise.n_significant, noise.n_significant_worst) == (10, 1, 0)
    assert noise.first_safe_below == 20 / (2 * n)
    assert noise.error_bar_worst == pytest.approx(noise.error_bar + 0.1)  # 10 of the second model's 100 labels


def test_options_of_each_example_make_the_factor(rng):
    labels = np.arange(400) % 4
    answers = np.where(rng.random((3, 400)) < 0.7, labels, (labels + 1) % 4)
    options = np.where(np.arange(400) < 200, 4, 10)
    table = Predictions.from_arrays(answers, labels, columns={"n_options": options})
    noise = budget(table, label_noise=0.06).pool.label_noise
    assert noise.factor == pytest.approx(1 - 0.06 * (1 + (1 / 3 + 1 / 9) / 2))
    assert noise.n_classes is None
