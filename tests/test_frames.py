"""Frames in are read as their CSV would be; frames out hold what the result holds."""

import importlib.util
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import heldout
from heldout import frames
from heldout.codec import same
from heldout.errors import InputError, MissingExtraError
from heldout.images import LabelledImages, Wrap, from_arrays

MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
TABLES = {
    "classes": {"id": ["x", "y", "z"], "label": [0, 1, 2], "a": [0, 1, 1], "b": [0, 0, 2]},
    "names": {"label": ["cat", "dog", "dog"], "a": ["cat", "dog", None], "b": ["dog", "dog", "dog"]},
    "right and wrong": {"id": [1, 2, 3], "a": [True, False, True], "b": [True, True, False]},
    "gaps": {"id": ["x", "y", "z"], "a": [1, None, 0], "b": [1.0, 0.0, 1.0]},
    "scores": {"id": ["x", "y"], "a": [0.1, 0.123456789012345], "b": [1.0, 0.0]},
    "long": {"model": ["a", "a", "b", "b"], "id": ["x", "y", "x", "y"], "correct": [1, 0, 1, 1]},
    "trials": {"model": ["a"] * 4 + ["b"] * 4, "id": [1, 1, 2, 2] * 2, "trial": [1, 2] * 4, "score": [1, 0, 1, 1] * 2},
    "long classes": {
        "model": ["a", "a", "b", "b"], "id": [7, 8, 7, 8], "label": [0, 1, 0, 1], "prediction": [0, 1, 1, 1],
        "question": ["p?", "q?", "p?", "q?"],
    },
}  # fmt: skip


RESULTS = (Path(__file__).parents[1] / "docs" / "results.md").read_text()
TOLD = {  # tables of each result, as the page has them
    name: re.findall(r"`(\w+)`", cells)
    for names, cells in re.findall(r"^\| (`[^|]*`) \| (`[^|]*`) \| \w[^|]* \|$", RESULTS, re.MULTILINE)
    for name in re.findall(r"`([\w.]+)`", names)
}


def written(frame, path):
    if isinstance(frame, pd.DataFrame):
        named = any(name is not None for name in frame.index.names)
        frame.to_csv(path, index=named)
    else:
        frame.write_csv(path)
    return path


def same_table(a, b):
    fields = ("names", "cells", "observed", "trials", "within", "predictions", "labels", "ids")
    columns = [{name: values.tolist() for name, values in table.columns.items()} for table in (a, b)]
    return columns[0] == columns[1] and all(np.array_equal(getattr(a, f), getattr(b, f)) for f in fields)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("table", TABLES)
def test_a_frame_is_read_as_its_csv(maker, table, tmp_path):
    frame = MAKERS[maker](TABLES[table])
    read = heldout.load_predictions(frame)
    assert same_table(read, heldout.load_predictions(written(frame, tmp_path / "pool.csv")))
    assert read.source == "DataFrame"


def test_frames_and_csv_agree_on_nan_and_on_what_is_refused(tmp_path):
    frame = pl.DataFrame({"id": [1, 2], "a": [1.0, math.nan], "b": [0.0, 1.0]})  # in pandas NaN is an empty cell
    for given in (frame, written(frame, tmp_path / "t.csv")):
        with pytest.raises(InputError, match="nan"):
            heldout.load_predictions(given)
        assert heldout.load_predictions(given, missing="nan").n_missing == 1


def test_a_named_index_is_a_column_and_categories_and_pandas_own_types_are_read(tmp_path):
    frame = pd.DataFrame(
        {
            "id": ["x", "y", "z"],
            "label": pd.Categorical(["u", "v", "u"]),
            "a": pd.array(["u", None, "v"], dtype="string"),
            "b": ["u", "v", "v"],
        }
    ).set_index("id")
    read = heldout.load_predictions(frame)
    assert read.ids == ("x", "y", "z")
    assert read.n_missing == 1
    assert same_table(read, heldout.load_predictions(written(frame, tmp_path / "t.csv")))
    own = {"a": pd.array([1, None], dtype="Int64"), "b": pd.array([True, False], dtype="boolean")}
    whole = pd.DataFrame({"id": [1, 2], **own})
    assert heldout.load_predictions(whole).cells.tolist() == [[True, False], [True, False]]


def test_groups_and_second_labels_may_be_columns_of_a_frame():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 300)
    models = {name: np.where(rng.random(300) < 0.8, label, 1 - label) for name in "ab"}
    groups = np.arange(300) // 3
    again = np.where(rng.random(300) < 0.1, 1 - label, label)
    frame = pl.DataFrame({"id": range(300), "label": label, "repo": groups, "again": again, **models})
    plain = pl.DataFrame({"id": range(300), "label": label, **models})
    found = heldout.budget(frame, groups="repo", second_labels="again").pool
    wanted = heldout.budget(plain, groups=groups, second_labels=again).pool
    assert found.low.tolist() == wanted.low.tolist()
    assert found.second_labels.n_changed == wanted.second_labels.n_changed == (again != label).sum()
    only = pl.DataFrame({"id": range(300), "label": label, "repo": groups, **models})
    assert heldout.compare(only, groups="repo").p_value == heldout.compare(plain, groups=groups).p_value
    assert heldout.compare_all(only, groups="repo").pairs[0].n_groups == 100
    scores = [pl.DataFrame({"id": [f"{s}{i}" for i in range(100)], "margin": rng.normal(size=100),
                             "repo": [f"{s}{i // 4}" for i in range(100)]}) for s in "tc"]  # fmt: skip
    assert heldout.audit_scores(*scores, groups="repo", n_resamples=99).leak.test.mean.n_groups_test == 25
    assert heldout.audit_scores_needed(scores[1], groups="repo", shares=[0.3], pulls=[1]).n_groups == 25


def test_an_index_of_text_holds_the_ids_where_no_column_does(tmp_path):
    frame = pd.DataFrame({"label": [0, 1, 2], "a": [0, 1, 1], "b": [0, 0, 2]}, index=["x", "y", "z"])
    assert heldout.load_predictions(frame).ids == ("x", "y", "z")
    frame.to_csv(tmp_path / "pool.csv")
    assert same_table(heldout.load_predictions(frame), heldout.load_predictions(tmp_path / "pool.csv"))
    assert heldout.load_predictions(frame.assign(id=[7, 8, 9])).ids == ("7", "8", "9")
    for rows in ([4, 2, 7], ["x", "x", "y"]):  # numbers of rows, names of something else
        assert heldout.load_predictions(frame.set_axis(rows)).ids is None


@pytest.mark.parametrize("maker", MAKERS)
def test_verbs_take_frames(maker):
    rng = np.random.default_rng(0)
    right = (rng.random((3, 300)) < [[0.9], [0.7], [0.7]]).astype(int)
    frame = MAKERS[maker]({"id": range(300), **dict(zip("abc", right.tolist(), strict=True))})
    pool = heldout.Predictions.from_correct(right, names="abc", ids=range(300))
    assert heldout.budget(frame).pool.values.tolist() == heldout.budget(pool).pool.values.tolist()
    assert heldout.compare(frame, "a", "b").p_value == heldout.compare(pool, "a", "b").p_value
    assert heldout.compare_all(frame).n_told_apart == 2
    assert heldout.similarity(frame).mean_similarity == heldout.similarity(pool).mean_similarity


@pytest.mark.parametrize("maker", MAKERS)
def test_scores_from_frames(maker, tmp_path):
    rng = np.random.default_rng(0)
    hard = rng.normal(size=200)
    model, other = -hard + rng.normal(size=200), -hard + rng.normal(size=200)
    test = MAKERS[maker]({"id": [f"t{i}" for i in range(100)], "margin": model[:100]})
    control = MAKERS[maker]({"id": [f"c{i}" for i in range(100)], "margin": model[100:]})
    both = MAKERS[maker]({"id": [f"{s}{i}" for s in "tc" for i in range(100)], "margin": other})
    found = heldout.audit_scores(test, control, references=[both], n_resamples=999)
    files = [written(f, tmp_path / f"{i}.csv") for i, f in enumerate((test, control, both))]
    read = [heldout.load_scores(f) for f in files]
    wanted = heldout.audit_scores(read[0], read[1], references=[read[2]], n_resamples=999)
    assert found.p_value == wanted.p_value
    assert same(found.leak.scores, wanted.leak.scores)
    with pytest.raises(InputError, match="`kind` is for arrays"):
        heldout.audit_scores(test, control, kind="margin")


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (pl.DataFrame({"a": [1, 0], "b": [0, 1]}).lazy(), "collect"),
        (pd.DataFrame({"a": []}), "empty"),
        (pd.DataFrame([[1, 0], [0, 1]], columns=["a", "a"]), "two columns of one name"),
        (pd.DataFrame([[1, 0], [0, 1]], columns=[("a", 1), ("b", 1)]), "several levels"),
        (pd.DataFrame([[1, 0], [0, 1]]), "give them names"),
        (pd.DataFrame({"a": [1], "b": [0]}, index=pd.Index([1], name="a")), "column and an index"),
        (pd.DataFrame([[1]], pd.Index([1], name="id"), pd.MultiIndex.from_tuples([("x", "a")])), r"as \('x', 'a'\)"),
        (pd.Series([1, 0]), "of the type Series"),
        ([pl.DataFrame({"a": [1]})] * 2, "one by one"),
        (None, "of the type NoneType"),
    ],
)
def test_frames_that_are_refused(frame, says):
    with pytest.raises(InputError, match=says):
        heldout.load_predictions(frame)


@pytest.mark.parametrize("given", [None, [[1, 0], [1]], pd.DataFrame({"a": [1, 0]}).groupby("a")])
def test_what_is_no_table_is_refused(given):
    with pytest.raises(InputError, match=r"no table|different numbers"):
        heldout.budget(given)


@pytest.mark.parametrize("verb", [heldout.budget, heldout.compare, heldout.compare_all, heldout.similarity])
def test_messages_name_the_argument_that_was_given(verb):
    with pytest.raises(InputError, match=r"`predictions` is 'f.npz'; use heldout.load_predictions"):
        verb("f.npz")
    with pytest.raises(InputError, match=r"^predictions: "):
        verb([[1, 0], ["x", "y"]])


def test_a_format_is_that_of_a_file():
    frame = pd.DataFrame({"a": [1, 0], "b": [0, 1]})
    with pytest.raises(InputError, match="leave it out"):
        heldout.load_predictions(frame, format="csv")


@pytest.mark.parametrize("backend", MAKERS)
def test_budgets_and_comparisons_as_frames(backend):
    right = np.random.default_rng(0).random((3, 300)) < [[0.7], [0.9], [0.7]]
    pool = heldout.Predictions.from_correct(right, names=["a", "b", "c"])
    budget = heldout.budget(pool)
    assert list(budget.tables()) == TOLD["budget"]
    frame = budget.to_frame(backend=backend)
    assert isinstance(frame, MAKERS[backend])
    assert list(frame["name"]) == [row["name"] for row in budget.models]
    assert list(frame["error"]) == sorted(budget.pool.values.tolist())
    neighbours = budget.to_frame("neighbours", backend=backend)
    assert list(neighbours["p_value"]) == [math.exp(pair.log_p_value) for pair in budget.pool.neighbours]
    pairs = heldout.compare_all(pool).to_frame(backend=backend)
    assert list(pairs["first"]) == ["a", "a", "b"]
    assert list(pairs["better"])[:1] == ["b"]
    one = heldout.compare(pool, "a", "b")
    assert len(one.to_frame(backend=backend)) == 1
    parted = one.to_frame("examples", backend=backend)
    assert len(parted) == one.n_discordant
    equal = heldout.compare([[1, 0, 1, 1]] * 2).to_frame("examples", backend=backend)
    assert (len(equal), list(equal.columns)) == (0, list(parted.columns))
    assert (list(one.tables()), list(heldout.compare_all(pool).tables())) == (TOLD["compare"], TOLD["compare_all"])
    numbers = heldout.budget_from_numbers(1000, error=0.2, similarity=0.8)
    assert list(numbers.to_frame(backend=backend)["models_union"]) == [numbers.testable.union]
    assert list(numbers.tables()) == TOLD["budget_from_numbers"]
    alike = budget.to_frame("pairs", backend=backend)
    assert list(alike["second"]) == ["b", "c", "c"]
    assert list(alike["similarity"]) == heldout.similarity(pool).agreement().tolist()
    with pytest.raises(InputError, match="'models' or 'neighbours' or 'pairs'"):
        budget.to_frame("winner", backend=backend)


@pytest.mark.parametrize("backend", MAKERS)
def test_audits_as_frames(backend):
    rng = np.random.default_rng(0)

    def of(n):
        return LabelledImages(from_arrays(rng.random((n, 8, 8)), rng.integers(0, 2, n)), Wrap())

    def halves(batch):
        return np.stack([batch[..., :4].sum((1, 2, 3)), batch[..., 4:].sum((1, 2, 3))], 1)

    orbit = heldout.Translations(1)
    result = heldout.audit(halves, of(40), control=of(30), orbit=orbit, allow_chance=True, n_resamples=99)
    frame = result.to_frame(backend=backend)
    assert list(frame["set"]) == ["test"] * 40 + ["control"] * 30
    assert list(frame["T"])[:40] == result.T.tolist()
    margins = rng.normal(size=(2, 200)) + np.repeat([[0.0, 4.0]], [180, 20])  # the last twenty look seen
    pairs = [(margins[0, 100:], margins[0, :100]), (rng.normal(size=100), rng.normal(size=100))]
    seen = heldout.audit_scores(*pairs[0], references=[pairs[1]], kind="margin", n_resamples=99, allow_chance=True)
    assert list(seen.to_frame(backend=backend)["looks_seen"]).count(True) == seen.leak.seen.n_listed > 0

    def learned(n):
        pictures = rng.random((n, 8, 8))
        y = halves(pictures[:, None]).argmax(1)
        return LabelledImages(from_arrays(pictures, np.where(rng.random(n) < 0.1, 1 - y, y)), Wrap())

    references = [lambda batch: halves(batch + 0.2 * np.sin(50 * batch))]
    beside = heldout.audit(halves, learned(60), control=learned(50), references=references, orbit=orbit, n_resamples=99)
    listed = list(beside.to_frame(backend=backend)["looks_seen"])
    assert np.flatnonzero(listed[:60]).tolist() == sorted(beside.leak.seen.listed)
    assert all(value is None or value != value for value in listed[60:])
    models = result.to_frame("models", backend=backend)
    assert list(models["down"])[:40] == result.test.moves[0, :, 0].tolist()
    blurred = heldout.audit(halves, of(40), orbit=orbit, rule="random", allow_chance=True)
    assert all(down is None or down != down for down in blurred.to_frame("models", backend=backend)["down"])
    assert list(result.tables()) == TOLD["audit"] == TOLD["audit_many"]
    assert list(models["kind"]).count("wrong") == int(list(frame["error_in_frame"]).count(1.0))
    scores = heldout.audit_scores(rng.normal(size=50), rng.normal(size=60), kind="margin", n_resamples=99)
    assert list(scores.to_frame(backend=backend)["score"]) == scores.values.tolist()
    needs = heldout.audit_scores_needed(rng.normal(size=100), kind="margin", shares=[0.1, 0.3], pulls=[0.5, 1.0])
    assert list(needs.to_frame(backend=backend)["share"]) == [0.1, 0.1, 0.3, 0.3]
    assert (list(scores.tables()), list(needs.tables())) == (TOLD["audit_scores"], TOLD["audit_scores_needed"])
    with pytest.raises(InputError, match="`images` is of the type tuple; it must be"):
        heldout.audit(halves, (rng.random((9, 8, 8)), [0] * 9), orbit=orbit)


@pytest.mark.parametrize("backend", MAKERS)
def test_stress_and_memorization_as_frames(backend):
    stressed = heldout.stress(200, 2, queries=50, trials=2)
    frame = stressed.to_frame(backend=backend)
    assert list(frame["queries"]) == stressed.run.queries.tolist()
    assert list(frame["advantage"])[-1] == stressed.advantage
    compared = heldout.stress(100, 2, queries=5, trials=1, digits=2, compare=True)
    assert list(compared.tables()) == TOLD["stress"]
    right = np.array([[[1, 1, 1, 1]], [[1, 1, 0, 0]], [[1, 0, 0, 0]]], dtype=bool)
    curve = heldout.Curve.of(
        model="net", perturbation="spatial", unit="pixels", strengths=np.arange(3.0), correct=right,
        done=np.ones((3, 1), dtype=bool), even=True, seed=0,
    )  # fmt: skip
    result = heldout.MemorizationResult.of([curve])
    assert list(result.tables()) == TOLD["MemorizationResult.of"]
    assert list(result.to_frame(backend=backend)["accuracy"]) == [1.0, 0.5, 0.25]
    metrics = result.to_frame("metrics", backend=backend)
    assert dict(zip(metrics["metric"], metrics["value"], strict=True))["k_max"] == 0.5


@pytest.mark.parametrize("backend", MAKERS)
def test_a_table_without_rows_keeps_its_columns(backend):
    trees = [f"{tree} {{}}" for tree in ("oak", "ash", "elm")]
    items = [heldout.Item(str(i), f"{i}?", tuple(tree.format(i) for tree in trees), i % 3) for i in range(9)]
    number = heldout.Item("number", "How many?", ("1", "2", "3"), 0)
    found = {
        n: heldout.options(heldout.Items((*items, *[number] * n)), lambda *_: 0, n_resamples=99).to_frame(
            "left_out", backend=backend
        )
        for n in (0, 1)
    }
    assert [list(frame.columns) for frame in found.values()] == [["id", "reason"]] * 2
    assert [len(frame) for frame in found.values()] == [0, 1]


def test_without_pandas_polars_or_narwhals_a_sentence_says_what_to_install(monkeypatch):
    found = importlib.util.find_spec
    absent = {"pandas", "polars"}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in absent else found(name))
    with pytest.raises(MissingExtraError, match=r"pandas or polars.*pip install"):
        frames.to_frame({"a": [1]})
    with pytest.raises(MissingExtraError, match="pip install polars"):
        frames.to_frame({"a": [1]}, "polars")
    absent.remove("polars")
    assert isinstance(frames.to_frame({"a": [1]}), pl.DataFrame)
    with pytest.raises(InputError, match="`backend` is 'arrow'"):
        frames.to_frame({"a": [1]}, "arrow")
    monkeypatch.setitem(__import__("sys").modules, "narwhals", None)
    with pytest.raises(MissingExtraError, match=r"heldout\[frames\]"):
        heldout.load_predictions(pd.DataFrame({"a": [1, 0]}))
