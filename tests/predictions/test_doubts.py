"""Predictions that are a label but for their spelling, and models that are never right."""

from __future__ import annotations

import re

import numpy as np
import pytest

from heldout import Predictions, budget, compare, compare_all
from heldout.predictions.doubts import AROUND, Doubt, find_doubts
from heldout.summary.names import TURNS

LABELS = ["Cat", "dog", "New York", "B"] * 5


@pytest.mark.parametrize(
    ("said", "label"),
    [
        ("cat", "Cat"),
        ("dog ", "dog"),
        ("\u00a0dog", "dog"),
        ("(B)", "B"),
        ("B.", "B"),
        ("'DOG'", "dog"),
        ("NEW YORK", "New York"),
    ],
)
def test_a_label_but_for_its_spelling(said, label):
    cells = [said if i == LABELS.index(label) else y for i, y in enumerate(LABELS)]
    pool = Predictions.from_arrays([LABELS, cells], LABELS, names=["a", "b"])
    assert find_doubts(pool) == (
        Doubt(model="b", n_predictions=20, n_right=19, n_almost=1, prediction=said, label=label),
    )
    assert not pool.correct[1, LABELS.index(label)]  # and wrong it stays


@pytest.mark.parametrize("said", ["ant", "-1", "1.", "Catdog", "dog", "C at", "(", "New  York"])
def test_other_answers_are_other_answers(said):
    pool = Predictions.from_arrays([LABELS, [said, *LABELS[1:]]], LABELS, names=["a", "b"])
    assert find_doubts(pool) == ()


def test_another_number_is_no_spelling():
    assert find_doubts(Predictions.from_arrays([["5", "a"], [".5", "a"]], ["5", "a"])) == ()


def test_of_labels_that_differ_in_spelling_alone_the_first_is_named():
    (doubt,) = find_doubts(Predictions.from_arrays([["cat", "Cat"], ["CAT", "Cat"]], ["cat", "Cat"]))
    assert doubt.label == "Cat"


def test_numbers_and_right_and_wrong_have_no_spelling():
    assert find_doubts(Predictions.from_arrays([[1, 2], [2, 1]], [1, 2])) == (
        Doubt(model="model 1", n_predictions=2, n_right=0),
    )
    assert find_doubts(Predictions.from_correct([[0, 0], [1, 1]])) == ()


def test_the_most_frequent_and_what_is_there():
    said = [["cat", "DOG", "DOG", "dog"], ["Cat", "dog", "dog", "dog"]]
    pool = Predictions.from_arrays(said, ["Cat", "dog", "dog", "dog"], missing=["cat"])
    assert find_doubts(pool) == (
        Doubt(model="model 0", n_predictions=3, n_right=1, n_almost=2, prediction="DOG", label="dog"),
    )


def test_every_cell_by_itself():
    """Against one cell after the other, looked at alone."""
    rng = np.random.default_rng(0)
    texts = np.array(["a", "A", " a", "b", "(b)", "B.", "c", "C#", "d", "1"])
    said, truth = texts[rng.integers(0, 10, (20, 50))], np.array(["a", "b", "C#"])[rng.integers(0, 3, 50)]
    pool = Predictions.from_arrays(said, truth, observed=rng.random((20, 50)) < 0.9, classes="any")
    known = set(truth.tolist())
    bare = {y.strip(AROUND).casefold() for y in known}
    doubts = {doubt.model: doubt for doubt in find_doubts(pool)}
    assert len(doubts) > 10, "or few are compared"
    for i, name in enumerate(pool.names):
        cells = [v for v, there in zip(pool.predictions[i].tolist(), pool.observed[i], strict=True) if there]
        almost = sum(v not in known and v.strip(AROUND).casefold() in bare for v in cells)
        found = doubts.get(name)
        assert almost == (0 if found is None else found.n_almost)
        assert found is None or found.n_predictions == len(cells)


def pool_of(n=60):
    rng = np.random.default_rng(0)
    truth = np.array(["Cat", "dog"])[rng.integers(0, 2, n)]
    other = np.where(truth == "dog", "Cat", "dog")
    a = np.where(rng.random(n) < 0.9, truth, other)
    b = np.where(a == "Cat", "cat ", a)
    return Predictions.from_arrays([a, b, other], truth, names=["a", "b", "never"])


@pytest.mark.parametrize("made", [budget, compare_all, lambda pool: compare(pool, "b", "never")])
def test_told_on_the_page(made, tmp_path):
    result = made(pool_of())
    count = int((pool_of().predictions[1] == "cat ").sum())
    assert [(d.model, d.n_almost, d.n_right > 0) for d in result.doubts] == [("b", count, True), ("never", 0, False)]
    assert result.to_dict()["doubts"][0]["prediction"] == "cat "
    for page in (str(result), result.html()):
        plain = " ".join(re.sub(r"<[^>]+>", "", page).translate(TURNS).replace("&#39;", "'").split())
        assert re.search(rf"b {count} of 60 \(.*\), such as 'cat ' for the label 'Cat'", plain)
        assert "Right on no example: never." in plain
    result.save(tmp_path / "r")
    assert type(result).load(tmp_path / "r").doubts == result.doubts


def test_nothing_is_told_where_nothing_is_doubtful():
    pool = pool_of()
    fine = Predictions.from_arrays(np.stack([pool.predictions[0], pool.labels]), pool.labels)
    assert budget(fine).summary().warnings == ()
    assert compare(fine).doubts == ()
