"""What stands beside the models: columns of the examples, from every kind of file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import heldout
from heldout.errors import InputError
from heldout.predictions import Predictions, align, load_predictions
from heldout.predictions.writers import SUFFIXES

DATA = Path(__file__).parent / "data"
REPO = ["p", "p", "q", "r"]


def column(table: Predictions, name: str = "repo") -> list:
    return table.columns[name].tolist()


def test_wide_table(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("id,repo,label,a,b\n1,p,0,0,1\n2,p,1,1,1\n3,q,1,0,1\n4,r,0,0,0\n")
    table = load_predictions(path, columns="repo")
    assert table.names == ("a", "b")
    assert column(table) == REPO
    assert column(table.select(["b"])) == REPO
    assert column(load_predictions(path)) == REPO  # text under a usual name is no model
    assert "repo" not in load_predictions(path, exclude="repo").columns
    path.write_text(path.read_text().replace("repo", "origin"))
    with pytest.raises(InputError, match="origin"):  # without being asked for it is a model that is none
        load_predictions(path)


@pytest.mark.parametrize("suffix", ["jsonl", "json", "parquet"])
def test_rows(tmp_path, suffix):
    rows = [{"id": i, "repo": r, "label": 1, "a": 1, "b": i % 2} for i, r in enumerate(REPO)]
    path = tmp_path / f"x.{suffix}"
    if suffix == "parquet":
        arrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(arrow.Table.from_pylist(rows), path)
    else:
        path.write_text(json.dumps(rows) if suffix == "json" else "".join(json.dumps(r) + "\n" for r in rows))
    assert column(load_predictions(path, columns="repo")) == REPO


def test_long_table(tmp_path):
    path = tmp_path / "x.csv"
    rows = [f"{m},{i},1,{r}" for m in "ab" for i, r in enumerate(REPO)]
    path.write_text("\n".join(["model,id,correct,repo", *rows]))
    assert column(load_predictions(path, columns="repo")) == REPO
    path.write_text("\n".join(["model,id,correct,repo", *rows[:-1], "b,3,1,p"]))
    with pytest.raises(InputError, match="'3' has 'r' in the column 'repo' in one row and 'p' in another"):
        load_predictions(path, columns="repo")


@pytest.mark.parametrize("turned", [False, True])
def test_npz(tmp_path, turned):
    correct = np.array([[1, 0, 1, 1], [0, 0, 1, 1], [1, 1, 1, 0]])
    arrays = {"repo": np.array(REPO), "question": np.array(list("abca")), "other": np.zeros(7)}
    np.savez(tmp_path / "x.npz", correct=correct.T if turned else correct, models=["a", "b", "c"], **arrays)
    table = load_predictions(tmp_path / "x.npz", columns=["repo", "other"])
    assert column(table) == REPO
    assert set(table.columns) == {"repo", "question"}  # `other` is of something else
    assert table.repeated_inputs()[0].tolist() == [0, 1, 2, 0]
    assert "question" not in load_predictions(tmp_path / "x.npz", exclude="question").columns


def test_folder_and_align(tmp_path):
    for name, order in (("a", (0, 1, 2, 3)), ("b", (3, 1, 0, 2))):
        rows = "".join(f"{i},{REPO[i]},{ord(name)},{i % 2}\n" for i in order)
        (tmp_path / f"{name}.csv").write_text(f"id,repo,seconds,correct\n{rows}")
    table = load_predictions(tmp_path, columns=["repo", "seconds"])
    assert table.names == ("a", "b")
    assert column(table) == REPO
    assert "seconds" not in table.columns  # the two files do not agree on it
    a = Predictions.from_correct([[1, 0]], names=["x"], ids=["1", "2"], columns={"repo": ["p", "q"]})
    b = Predictions.from_correct([[1, 0]], names=["y"], ids=["2", "3"], columns={"repo": ["q", "r"]})
    assert column(align([a, b], how="outer")) == ["p", "q", "r"]


def test_texts_are_no_models(tmp_path):
    """They were refused by name; now they are kept, and repeated ones are told."""
    path = tmp_path / "x.csv"
    path.write_text("id,label,a,b,question\n1,0,0,1,who?\n2,1,1,1,what?\n3,1,0,1,who?\n4,0,0,0,why?\n")
    table = load_predictions(path)
    assert table.names == ("a", "b")
    assert table.repeated_inputs()[0].tolist() == [0, 1, 0, 2]
    assert load_predictions(path, exclude="question").repeated_inputs()[0] is None
    groups = heldout.budget(table).pool.example_groups
    assert (groups.n_repeated, groups.repeated_in) == (2, ("question",))


def test_a_column_of_another_length():
    with pytest.raises(InputError, match=r"column 'repo' has the shape \(2,\) but there are 3 examples"):
        Predictions.from_correct([[1, 0, 1]], columns={"repo": ["p", "q"]})


def test_lm_eval_documents(tmp_path):
    shutil.copytree(DATA / "lm_eval", tmp_path / "lm_eval")
    table = load_predictions(tmp_path / "lm_eval", metric=",strict-match", columns=["task", "answer"])
    assert column(table, "task") == ["sums_choice"] * 6 + ["sums_written"] * 6
    assert column(table, "answer")[:2] == ["5", "8"]
    asked_twice = [*range(6), *range(6)]  # both tasks are made of the same six documents
    assert table.repeated_inputs()[0].tolist() == asked_twice
    assert column(table, "doc")[:2] == ["What is 2 + 3?", "What is 4 + 4?"]  # as lists of examples show it
    for path in (tmp_path / "lm_eval").rglob("*choice*"):  # the last document of the task becomes its first, renumbered
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        rows[5]["doc"] = {**rows[0]["doc"], "doc_idx": 5}
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    again = load_predictions(tmp_path / "lm_eval", metric=",strict-match")
    codes, names = again.repeated_inputs()
    assert names == ("doc",)
    assert codes.tolist() == [0, 1, 2, 3, 4, 0, 0, 1, 2, 3, 4, 5]
    assert load_predictions(tmp_path / "lm_eval", metric=",strict-match", exclude="doc").repeated_inputs()[0] is None


@pytest.mark.parametrize("kind", ["json", "eval"])
def test_inspect_inputs(kind):
    if kind == "eval":
        pytest.importorskip("zstandard")
    table = load_predictions(DATA / "inspect" / kind, columns="task")
    assert len(set(column(table, "task"))) == 1
    assert len(set(column(table, "input"))) == table.n_examples  # all ask something else
    assert column(table, "input")[0] == "What is 2 + 3?"
    assert table.repeated_inputs()[0] is None


def test_inspect_repeated_inputs_and_metadata(tmp_path):
    shutil.copytree(DATA / "inspect" / "json", tmp_path / "logs")
    for path in (tmp_path / "logs").glob("*.json"):
        log = json.loads(path.read_text())
        first, second, third = log["samples"][:3]
        log["samples"].append({**third, "id": "another"})
        for message, sample in (("x", first), ("y", second)):  # the same words, in messages with ids of their own
            sample["input"] = [{"id": f"{message}{path.stem}", "role": "user", "content": "Why?"}]
            sample["target"] = "so"
        third["input"] = log["samples"][-1]["input"] = "w" * 2000  # perhaps cut short, so that it says nothing
        for i, sample in enumerate(log["samples"]):
            sample["metadata"] = {"repo": f"r{i // 2}"}
        path.write_text(json.dumps(log))
    table = load_predictions(tmp_path / "logs", columns="repo")
    codes = table.repeated_inputs()[0]
    assert codes[0] == codes[1]
    assert len(set(codes.tolist())) == table.n_examples - 1
    assert column(table)[:3] == ["r0", "r0", "r1"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_saved_and_loaded(suffix, tmp_path):
    """Texts, groups and gaps of every kind come back unasked, and `budget` says the same."""
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    n = 60
    rng = np.random.default_rng(0)
    columns = {
        "question": [None if i == 7 else f"{i % 50},\r \n?" for i in range(n)],
        "repo": np.arange(n) // 3,
        "label": ["a", "b"] * (n // 2),  # a column of the file goes by this name too
        "year": [None, *range(n - 1)],
        "hard": [None, *np.linspace(0, 1, n - 1)],
        "spans": [["x", i] for i in range(n)],
        "mixed": [2**70 + i // 2 if i % 4 < 2 else f"x{i // 2}" for i in range(n)],
        "empty": [None] * n,
    }
    answers = rng.integers(0, 3, (4, n))
    table = Predictions.from_arrays(answers, rng.integers(0, 3, n), names=list("abcd"), columns=columns)
    path = tmp_path / f"x{suffix}"
    table.save(path)
    again = load_predictions(path)
    assert again.names == table.names
    assert again.digest() == table.digest()
    assert list(again.columns) == list(columns)
    assert column(again, "repo")[:4] == ([0, 0, 0, 1] if suffix != ".csv" else ["0", "0", "0", "1"])
    codes, names = again.repeated_inputs()
    assert names == ("question",)
    assert codes.tolist() == table.repeated_inputs()[0].tolist()
    for groups in (None, "repo", "spans", "mixed"):
        found, known = (heldout.budget(t, groups=groups).to_dict() for t in (again, table))
        assert found["models"] == known["models"]
        assert found["example_groups"] == known["example_groups"]
    assert column(again, "spans")[1] == "['x', 1]"
    assert "repo" not in load_predictions(path, exclude="repo").columns


def test_a_model_that_is_called_like_a_column(tmp_path):
    table = Predictions.from_correct([[1, 0]], names=["column:x"])
    with pytest.raises(InputError, match="'column:x' is also the name of a usual column"):
        table.save(tmp_path / "x.csv")
    table.save(tmp_path / "x.npz")
    assert load_predictions(tmp_path / "x.npz").names == ("column:x",)


@pytest.mark.parametrize("gap", [None, float("nan"), np.float64("nan"), ""])
def test_missing_texts_are_nobodys_repetition(gap):
    """pandas puts NaN where a text is missing; all such examples were one group."""
    question = ["who?", gap, "what?", gap, "who?"]
    table = Predictions.from_correct([[1, 0, 1, 1, 0]], columns={"question": question})
    assert table.repeated_inputs()[0].tolist() == [0, 1, 2, 3, 0]


@pytest.mark.parametrize("asked", [(), ("question", "year")])
def test_rows_that_agree_on_nothing(tmp_path, asked):
    """NaN is not NaN's equal, and yet two rows that both lack a value do not disagree."""
    nan = float("nan")
    rows = [
        {"model": m, "id": i, "correct": 1, "question": q, "year": y}
        for m in "ab"
        for i, (q, y) in enumerate([("who?", nan), (nan, 1.0), ("who?", 2.0)])
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = load_predictions(path, columns=asked)
    assert table.repeated_inputs()[0].tolist() == [0, 1, 0]
    assert ("year" in table.columns) == bool(asked)
    rows[-1]["question"] = nan
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if asked:
        with pytest.raises(InputError, match=r"'2' has nan in the column 'question' in one row|'2' has 'who\?'"):
            load_predictions(path, columns=asked)
    else:
        assert column(load_predictions(path), "question") == ["who?", None, "who?"]


def test_long_texts_are_told_apart_by_their_digests(tmp_path):
    """Only the beginning of a document is kept, but two are one only where all of them is the same."""
    home = tmp_path / "model"
    home.mkdir()
    asked = ["w" * 600 + end for end in ("a", "b", "a")]
    rows = [{"doc_id": i, "doc": {"question": q}, "resps": [], "acc": 1.0} for i, q in enumerate(asked)]
    (home / "samples_x_2026-01-01T00-00-00.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = load_predictions(tmp_path)
    assert column(table, "doc") == ["w" * 500] * 3
    assert table.repeated_inputs()[0].tolist() == [0, 1, 0]
    table.save(tmp_path / "x.npz")
    assert load_predictions(tmp_path / "x.npz").repeated_inputs()[0].tolist() == [0, 1, 0]


def test_two_columns_of_texts():
    columns = {"context": ["p", "p", "q", None, None, "p"], "question": ["a", "b", "a", "", "", "a"]}
    table = Predictions.from_correct([[1, 0, 1, 1, 0, 0]], columns=columns)
    assert table.repeated_inputs()[0].tolist() == [0, 1, 2, 3, 4, 0]
