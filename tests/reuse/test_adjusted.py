"""Chance-adjusted similarity against scikit-learn and against loops written from the formulas."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from heldout import InputError, Predictions, budget, load_predictions, similarity
from heldout.reuse.adjusted import adjusted_similarity, answer_kappa, capa, read_probabilities
from heldout.summary import fixed

EXAMPLE = Path(__file__).parents[2] / "examples" / "cifar10_predictions.npz"


def slow_capa(p, q, labels):
    """Goel et al. 2025, one example and one option at a time; p and q are lists of rows of any length."""
    n = len(labels)
    agree = right_p = right_q = wrong = 0.0
    for a, b, y in zip(p, q, labels, strict=True):
        for first, second in zip(a, b, strict=True):
            agree += first * second / n
        right_p += a[y] / n
        right_q += b[y] / n
        wrong += 1 / (len(a) - 1) / n
    chance = right_p * right_q + (1 - right_p) * (1 - right_q) * wrong
    return (agree - chance) / (1 - chance)


def test_kappa_of_right_and_wrong_is_cohens(rng):
    right = rng.random((6, 300)) < rng.uniform(0.4, 0.95, size=(6, 1))
    found = similarity(right)
    expected = [cohen_kappa_score(right[i], right[j]) for i in range(6) for j in range(i + 1, 6)]
    np.testing.assert_allclose(found.kappa(), expected, atol=1e-12)
    assert found.mean_kappa == pytest.approx(np.mean(expected))
    assert found.to_dict()["kappa"] == found.mean_kappa


def test_kappa_with_missing_answers(rng):
    right, there = rng.random((3, 200)) < 0.7, rng.random((3, 200)) < 0.8
    found = similarity(Predictions.from_correct(right, observed=there)).kappa()
    for place, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        both = there[i] & there[j]
        assert found[place] == pytest.approx(cohen_kappa_score(right[i][both], right[j][both]))


def test_kappa_is_undefined_where_chance_is_certain():
    found = similarity([[True, True], [True, True], [True, False]])
    assert math.isnan(found.kappa()[0])
    assert found.mean_kappa == pytest.approx(0.0)  # the other two pairs: one model is always right


def test_capa_by_loops(rng):
    options = rng.integers(2, 6, size=40)
    p = np.full((4, 40, 5), np.nan)
    for x, m in enumerate(options):
        p[:, x, :m] = rng.dirichlet(np.ones(m), size=4)
    labels = np.array([rng.integers(m) for m in options])
    found = capa(p, labels)
    rows = [[list(p[k, x, :m]) for x, m in enumerate(options)] for k in range(4)]
    for i in range(4):
        for j in range(4):
            assert found[i, j] == pytest.approx(slow_capa(rows[i], rows[j], labels), rel=1e-9)


def test_answers_are_capa_of_certainties(rng):
    labels = rng.integers(0, 4, size=80)
    answers = np.where(rng.random((3, 80)) < 0.6, labels, rng.integers(0, 4, size=(3, 80)))
    table = Predictions.from_arrays(answers, labels)
    np.testing.assert_allclose(answer_kappa(table), capa(np.eye(4)[answers], labels), atol=1e-12)
    by_column = Predictions.from_arrays(answers, labels, columns={"n_options": np.full(80, 4)})
    np.testing.assert_allclose(answer_kappa(by_column), answer_kappa(table), atol=1e-12)
    assert answer_kappa(Predictions.from_correct(answers == labels)) is None


def test_capa_of_answers_is_not_cohens_kappa_of_them():
    """Which is high for any two models that know the labels; the page names each for what it is."""
    table = load_predictions(EXAMPLE)
    found = adjusted_similarity(table, similarity(table))
    pairs = [cohen_kappa_score(*table.predictions[[i, j]]) for i in range(30) for j in range(i + 1, 30)]
    assert (round(found.answers, 4), round(float(np.mean(pairs)), 2)) == (0.3571, 0.90)
    a, b = table.correct.mean(axis=1)[:2]
    chance = a * b + (1 - a) * (1 - b) / 9
    same = np.mean(table.predictions[0] == table.predictions[1])
    assert answer_kappa(table)[0, 1] == pytest.approx((same - chance) / (1 - chance))


def test_independent_models_have_none(rng):
    """Independent errors, wrong answers drawn from the others: all three kinds are near 0; copies have 1."""
    labels = rng.integers(0, 5, size=20_000)
    answers = np.where(rng.random((2, 20_000)) < 0.7, labels, (labels + rng.integers(1, 5, size=(2, 20_000))) % 5)
    table = Predictions.from_arrays(answers, labels)
    found = adjusted_similarity(table, similarity(table), np.eye(5)[answers])
    assert found.right == pytest.approx(0, abs=0.03)
    assert found.answers == pytest.approx(0, abs=0.03)
    assert found.probabilities == pytest.approx(found.answers)
    copies = Predictions.from_arrays(answers[[0, 0]], labels)
    assert answer_kappa(copies)[0, 1] == pytest.approx(1)


def test_budget_carries_it(rng, tmp_path):
    labels = rng.integers(0, 3, size=300)
    answers = np.where(rng.random((3, 300)) < 0.7, labels, rng.integers(0, 3, size=(3, 300)))
    p = 0.5 * rng.dirichlet(np.ones(3), size=(3, 300)) + 0.5 * np.eye(3)[answers]
    result = budget(Predictions.from_arrays(answers, labels), epsilon=0.1, probabilities=p)
    plain = result.to_dict()["adjusted_similarity"]
    assert plain["right"] == pytest.approx(result.pool.similarity.mean_kappa)
    assert plain["probabilities"] == pytest.approx(np.mean(capa(p, labels)[np.triu_indices(3, 1)]))
    lines = dict(result.summary().lines)
    names = {
        "right": "Kappa of right and wrong",
        "answers": "CAPA of predictions",
        "probabilities": "CAPA of probabilities",
    }
    assert {key: lines[name] for key, name in names.items()} == {key: fixed(plain[key]) for key in names}
    np.savez(tmp_path / "p.npz", probabilities=p)
    np.testing.assert_array_equal(read_probabilities(tmp_path / "p.npz"), p)


@pytest.mark.parametrize(
    ("p", "labels", "sentence"),
    [
        (np.full((2, 3), 0.5), [0, 1, 0], "shape"),
        (np.full((2, 2, 2), 0.4), [0, 1], "sum to 1"),
        (np.full((2, 2, 2), 0.5), [0, 2], "number the options"),
        ([[[1.0, np.nan]], [[1.0, np.nan]]], [0], "two options"),
        ([[[0.5, 0.5, np.nan]], [[0.5, 0.25, 0.25]]], [0], "same options"),
    ],
)
def test_bad_probabilities(p, labels, sentence):
    with pytest.raises(InputError, match=sentence):
        capa(p, labels)


class TestProbabilitiesOfOtherRows:
    """Rows in another order than the table's passed unseen, and CAPA was a number of nothing."""

    def table(self, rng, classes):
        labels = rng.choice(len(classes), p=classes, size=200)
        answers = np.where(rng.random((3, 200)) < 0.9, labels, rng.integers(0, len(classes), size=(3, 200)))
        p = 0.6 * np.eye(len(classes))[answers] + 0.4 * rng.dirichlet(np.ones(len(classes)), size=(3, 200))
        return Predictions.from_arrays(answers, labels, names=["a", "b", "c"]), p

    @pytest.mark.parametrize("classes", [[0.25] * 4, [0.9, 0.1]])
    def test_are_refused(self, rng, classes):
        table, p = self.table(rng, classes)
        adjusted_similarity(table, similarity(table), p)
        other = p[:, rng.permutation(200)]
        with pytest.raises(InputError, match=r"of 'a' the most probable option is the prediction in .* % of 200 cells"):
            adjusted_similarity(table, similarity(table), other)
        one = np.stack([p[0], other[1], p[2]])
        with pytest.raises(InputError, match="of 'b' the most probable option"):
            adjusted_similarity(table, similarity(table), one)
        with pytest.raises(InputError, match="options in that of the classes"):
            adjusted_similarity(table, similarity(table), p[:, :, ::-1])

    def test_a_tie_and_an_answer_that_is_no_option_agree_with_anything(self, rng):
        table, p = self.table(rng, [0.25] * 4)
        adjusted_similarity(table, similarity(table), np.full_like(p, 0.25))
        unread = np.where(np.arange(200) < 150, -1, table.predictions)
        again = Predictions.from_arrays(unread, table.labels)
        adjusted_similarity(again, similarity(again), p)


def test_answers_that_could_not_be_read_never_agree():
    labels = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    answers = np.stack([labels, labels])
    answers[:, :4] = -1
    apart = np.where(answers < 0, np.array([[1], [2]]), answers)  # other answers, which never agree either
    apart[0, :4], apart[1, :4] = (labels[:4] + 1) % 3, (labels[:4] + 2) % 3
    found, same = (answer_kappa(Predictions.from_arrays(a, labels))[0, 1] for a in (answers, apart))
    assert found == pytest.approx(same)
    signs = Predictions.from_arrays(np.array([[1, -1, 1, -1], [1, -1, -1, -1]]), np.array([1, -1, 1, 1]))
    assert answer_kappa(signs)[0, 0] == 1.0  # -1 is a class where it is a label
