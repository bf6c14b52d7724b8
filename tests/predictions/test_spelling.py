"""One table in every format it can come in: classes are the same, however they are spelled."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from heldout import Predictions
from heldout.errors import InputError
from heldout.predictions import load_predictions

heldout_reads = load_predictions

# Columns with the values as software has them: a column with a gap is of floats, one with a word of objects.
TABLES = {
    "an unreadable cell": {"label": [0, 1, 2, 2], "a": [0, 1, 2, 1], "b": [0.0, 1.0, 2.0, None], "c": [0, "ERR", 2, 1]},
    "text among numbers": {"label": [0, 1, 2, 2], "a": ["0", "1", "2.0", "02"], "b": [0, 1.0, "2", 1]},
    "labels that are text": {"label": ["0", "1.0", "2", "2"], "a": [0, 1, 2, 1], "b": [0.0, 1.0, 2.0, 1.0]},
    "labels of two spellings": {"label": [1, "1.0", 2, 3], "a": [1.0, 1, "2", "ERR"], "b": [2, 1, 2, 3.0]},
    "two classes of one number": {"label": ["01", "1", "2"], "a": ["01", "1", "ERR"], "b": ["1", "1.0", "2"]},
    "two classes of one number, all read": {"label": ["01", "1", "2"], "a": ["01", "1", "2"], "b": ["1", "1.0", "2"]},
    "names": {"label": ["cat", "1st", "2B", "ant"], "a": ["cat", "1st", "2", "ERR"], "b": ["cat", None, "2B", "Ant"]},
    "names and numbers": {"label": [0, 1, 2, "dog"], "a": [0.0, 1.0, 2.0, None], "b": ["0", "01", "2.0", "dog"]},
    "numbers as text": {"label": ["0", "1", "2", "dog"], "a": [0, 1, 2, 1], "b": [0.0, 2.0, 2.0, None],
                        "c": ["0", "1.0", "2B", "dog"]},
    "names and two of one number": {"label": ["01", "1", "dog"], "a": ["01", "1.0", "dog"], "b": ["1", "01", "Dog"]},
    "truth values": {"label": [True, False, True], "a": [True, "ERR", False], "b": [True, False, None]},
}  # fmt: skip
RIGHT = {
    "an unreadable cell": [[1, 1, 1, 0], [1, 1, 1, 0], [1, 0, 1, 0]],
    "text among numbers": [[1, 1, 1, 1], [1, 1, 1, 0]],
    "labels that are text": [[1, 1, 1, 0], [1, 1, 1, 0]],
    "labels of two spellings": [[1, 1, 1, 0], [0, 1, 1, 1]],
    "two classes of one number": [[1, 1, 0], [0, 1, 1]],
    "two classes of one number, all read": [[1, 1, 1], [0, 1, 1]],
    "names": [[1, 1, 0, 0], [1, 0, 1, 0]],
    "names and numbers": [[1, 1, 1, 0], [1, 1, 1, 1]],
    "numbers as text": [[1, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1]],
    "names and two of one number": [[1, 1, 1], [0, 0, 0]],
    "truth values": [[1, 0, 0], [1, 1, 0]],
}


def as_csv(columns, folder):
    path = folder / "t.csv"
    rows = zip(*columns.values(), strict=True)
    cells = [",".join("" if v is None else str(v) for v in row) for row in rows]
    path.write_text("\n".join([",".join(columns), *cells]) + "\n")
    return load_predictions(path)


def as_rows(columns, folder):
    path = folder / "t.jsonl"
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    path.write_text("\n".join(map(json.dumps, rows)))
    return load_predictions(path)


def as_long_rows(columns, folder):
    path = folder / "t.jsonl"
    models = [key for key in columns if key not in ("id", "label")]
    path.write_text(
        "\n".join(
            json.dumps({"model": m, "id": i, "label": y, "prediction": v})
            for m in models
            for i, y, v in zip(columns["id"], columns["label"], columns[m], strict=True)
        )
    )
    return load_predictions(path)


def as_json(columns, folder):
    path = folder / "t.json"
    names = [key for key in columns if key not in ("id", "label")]
    content = {"models": names, "models_axis": 0, "predictions": [columns[m] for m in names]}
    path.write_text(json.dumps(content | {"labels": columns["label"], "ids": columns["id"]}))
    return load_predictions(path)


def as_parquet(columns, folder):
    """A column of one kind as such, and of several as text, which is all that Parquet can have."""
    path = folder / "t.parquet"
    kinds = {key: {type(v) for v in column if v is not None} for key, column in columns.items()}
    typed = {
        key: column if len(kinds[key]) == 1 else [None if v is None else str(v) for v in column]
        for key, column in columns.items()
    }
    pl.DataFrame(typed).write_parquet(path)
    return load_predictions(path)


def as_pandas(columns, folder):
    return load_predictions(pd.DataFrame({key: pd.Series(column, dtype=object) for key, column in columns.items()}))


def as_polars(columns, folder):
    return load_predictions(pl.DataFrame({key: pl.Series(key, v, dtype=pl.Object) for key, v in columns.items()}))


def as_arrays(columns, folder):
    names = [key for key in columns if key not in ("id", "label")]
    said = np.array([columns[m] for m in names], dtype=object)
    return Predictions.from_arrays(said, np.array(columns["label"], dtype=object), names=names, ids=columns["id"])


def as_lists(columns, folder):
    names = [key for key in columns if key not in ("id", "label")]
    return Predictions.from_arrays([columns[m] for m in names], columns["label"], names=names, ids=columns["id"])


FORMATS = [as_csv, as_rows, as_long_rows, as_json, as_parquet, as_pandas, as_polars, as_arrays, as_lists]


def content(pool):
    there = np.ones(pool.cells.shape, bool) if pool.observed is None else pool.observed
    said = np.where(there, pool.predictions.astype(object), None)
    return pool.names, pool.ids, there.tolist(), pool.correct.tolist(), said.tolist(), pool.labels.tolist()


@pytest.mark.parametrize("made", FORMATS)
@pytest.mark.parametrize("name", TABLES)
def test_one_table(name, made, tmp_path):
    columns = {"id": list("wxyz")[: len(TABLES[name]["label"])], **TABLES[name]}
    pool = made(columns, tmp_path)
    assert pool.correct.astype(int).tolist() == RIGHT[name]
    found, known = content(pool), content(as_csv(columns, tmp_path))
    if pool.labels.dtype.kind in "UO":  # text stays text where every cell of a format with types is
        *known, said, labels = known
        known = (*known, [[v if v is None else str(v) for v in row] for row in said], list(map(str, labels)))
    assert found == known


@pytest.mark.parametrize("made", FORMATS)
@pytest.mark.parametrize("word", ["NA", "nan", " ", "<NA>"])
def test_what_says_that_it_is_not_there(word, made, tmp_path):
    for column in ([0, 1, word], ["0", "1", word]):
        with pytest.raises(InputError, match=r"in 1 (cells: predictions that could not|of 6 cells; mark)"):
            made({"id": list("xyz"), "label": [0, 1, 0], "a": [0, 1, 1], "b": column}, tmp_path)
    with pytest.raises(InputError, match=r"'.*' stands in 1 cells"):
        made({"id": list("xyz"), "label": ["yes", "no", "yes"], "a": ["yes", "no", word]}, tmp_path)


@pytest.mark.parametrize("missing", ["NA", -1, "-1"])
@pytest.mark.parametrize("other", ["ERR", 1])
def test_codes_among_cells_of_several_kinds(missing, other):
    said = [[0, missing, 1.0], [0, other, "1"]]
    pool = Predictions.from_arrays(said, [0, 1, 1], missing=missing)
    assert pool.observed.tolist() == [[True, False, True], [True, True, True]]
    assert pool.correct.tolist() == [[True, False, True], [True, other == 1, True]]


def test_text_in_arrays_stays_text():
    pool = Predictions.from_arrays([["1", "2.0", "3"]], ["1", "2", "2"], classes=["1", "2"])
    assert (pool.labels.tolist(), pool.predictions.tolist()) == (["1", "2", "2"], [["1", "2", "3"]])
    masked = np.ma.array([["1", "NA", "ERR"]], mask=[[False, True, False]])
    pool = Predictions.from_arrays(masked, [1, 2, 2])
    assert (pool.observed.tolist(), pool.correct.tolist()) == ([[True, False, True]], [[True, False, False]])
    pool = Predictions.from_arrays(np.array([[b"1.0", b"ERR"]]), np.array([b"1", b"2"]))
    assert pool.correct.tolist() == [[True, False]]


def test_an_empty_text_among_typed_cells_is_asked_about():
    with pytest.raises(InputError, match=r"'' stands in 1 cells"):
        Predictions.from_arrays([["a", ""]], ["a", "b"])
    assert Predictions.from_arrays([["a", ""]], ["a", "b"], missing="").n_missing == 1
    with pytest.raises(InputError, match="example 1 has no label"):
        Predictions.from_arrays([["a", "b"]], ["a", ""])


def test_kinds_that_name_no_class_together():
    with pytest.raises(InputError, match="different kinds"):
        Predictions.from_arrays([["cat", "dog"]], [0, 1])
    with pytest.raises(InputError, match="several kinds"):
        Predictions.from_arrays([[True, "ERR", 1]], [True, False, True])


LACKING = {"id": list("wxyz"), "label": [0, 1, 1, 0], "a": [0, 1, 1, 1], "b": [0, None, "NA", 0]}


@pytest.mark.parametrize("made", [as_csv, as_rows, as_long_rows, as_parquet, as_pandas, as_polars])
def test_what_is_unread_is_wrong(made, tmp_path, monkeypatch):
    for options, there, right in (
        ({"missing": ["NA"]}, [1, 0, 0, 1], [1, 0, 0, 1]),
        ({"unread": "NA"}, [1, 0, 1, 1], [1, 0, 0, 1]),
        ({"unread": ["NA", ""]}, [1, 1, 1, 1], [1, 0, 0, 1]),
        ({"unread": "", "missing": "NA"}, [1, 1, 0, 1], [1, 0, 0, 1]),
    ):
        monkeypatch.setitem(globals(), "load_predictions", lambda path, given=options: heldout_reads(path, **given))
        pool = made(LACKING, tmp_path)
        assert (np.ones_like(pool.cells) if pool.observed is None else pool.observed)[1].astype(int).tolist() == there
        assert pool.correct.astype(int).tolist() == [[1, 1, 1, 0], right]


def test_absent_rows_stay_missing_where_empty_cells_are_wrong(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("model,id,label,prediction\na,x,0,0\na,y,1,1\na,z,1,\nb,x,0,0\nb,y,1,\n")
    pool = heldout_reads(path, unread="", missing="absent")
    assert pool.observed.tolist() == [[True] * 3, [True, True, False]]
    assert pool.correct.tolist() == [[True, True, False], [True, False, False]]


def test_unread_cells_of_arrays():
    pool = Predictions.from_arrays([[0.0, np.nan, 1.0], [0, 1, 1]], [0, 1, 1], unread="nan")
    assert (pool.observed, pool.correct.astype(int).tolist()) == (None, [[1, 0, 1], [1, 1, 1]])
    pool = Predictions.from_arrays([["cat", "NA", None]], ["cat", "dog", "dog"], unread="NA")
    assert (pool.observed.tolist(), pool.correct.tolist()) == ([[True, True, False]], [[True, False, False]])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"unread": ["NA", "x"]}, r"no prediction beside labels is 'x' \(`unread`\); leave it out"),
        ({"unread": "NA", "missing": "NA"}, "'NA' is given as `missing` and as `unread`"),
        ({"unread": "dog"}, r"'dog' is the label of an example, .*\(`unread`\); leave it out"),
        ({}, r"'NA' stands in 1 cells: .* with `missing='NA'`; if they are wrong, say so with `unread='NA'`"),
    ],
)
def test_unread_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        Predictions.from_arrays([["cat", "NA"]], ["cat", "dog"], **options)


LONG = {  # classes that floats cannot tell apart
    "54 bits": [2**54, 2**54 + 1, 2**54 + 2],
    "63 bits": [2**62, 2**62 + 1, 2**62 + 2],
    "64 bits": [2**63 - 1, 2**63, 2**63 + 1],
    "more": [10**22 + 1, 10**22 + 2, -(10**22)],
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("written", [str, int])
def test_long_numbers(name, written, tmp_path):
    x, y, z = LONG[name]
    columns = {"id": list("stuv"), "label": [x, y, z, x], "a": [x, y, z, y], "b": [*map(written, (y, x, z, x))]}
    pool = as_csv(columns, tmp_path)
    assert pool.correct.astype(int).tolist() == [[1, 1, 1, 0], [0, 0, 1, 1]]
    assert as_rows(columns, tmp_path).correct.tolist() == pool.correct.tolist()
    pool.save(tmp_path / "again.csv")
    assert load_predictions(tmp_path / "again.csv").correct.tolist() == pool.correct.tolist()


def test_long_numbers_among_decimals(tmp_path):
    with pytest.raises(InputError, match=r"18014398509481984 is a decimal number, .*or class names"):
        Predictions.from_arrays([[2.0**54, 1.0]], [2**54 + 1, 1])
    with pytest.raises(InputError, match="is a decimal number"):
        Predictions.from_arrays([[1e300, 1.0]], [1, 1])
    with pytest.raises(InputError, match=r"18014398509481984\.0 is written as a decimal number"):  # as pandas does
        as_csv({"label": [2**54 + 1, 1], "a": ["18014398509481984.0", 1]}, tmp_path)


@pytest.mark.parametrize("classes", [["1e3", "1000", "7"], [" 1", "1", "2"], ["1_000", "1000", "5"]])
def test_what_a_csv_cannot_keep_apart(classes, tmp_path):
    pool = Predictions.from_arrays([classes, classes[:1] * 3], [classes[1], *classes[1:]], classes="any")
    with pytest.raises(InputError, match=r"x\.csv: these classes are texts that a CSV cannot keep apart.*\.npz"):
        pool.save(tmp_path / "x.csv")
    for suffix in (".npz", ".json", ".jsonl", ".parquet"):
        pool.save(tmp_path / f"x{suffix}")
        assert load_predictions(tmp_path / f"x{suffix}", classes="any").correct.tolist() == pool.correct.tolist()


@pytest.mark.parametrize("classes", [["01", "1", "2"], ["yes", "no", " yes"], ["0.5", ".5", "1/2"], ["1", "2", "x"]])
def test_what_a_csv_keeps(classes, tmp_path):
    pool = Predictions.from_arrays([classes, classes[::-1]], classes, observed=[[True] * 3, [True, True, False]])
    pool.save(tmp_path / "x.csv")
    assert load_predictions(tmp_path / "x.csv").correct.tolist() == pool.correct.tolist()


def test_long_numbers_beside_short_ones(tmp_path):
    """A prediction that fits no label, and one that a column with a gap has as a decimal number."""
    columns = {"id": list("xyz"), "label": [1, 2, 1], "a": [1, 2**64, 1], "b": [1, 2, 10**30]}
    assert as_csv(columns, tmp_path).correct.tolist() == [[True, False, True], [True, True, False]]
    columns = {"id": list("xyz"), "label": [2**54 + 1, 2, 2], "a": [2**54 + 2, "2.0", 2], "b": [2**54 + 1, 2, 3]}
    assert as_csv(columns, tmp_path).correct.tolist() == [[False, True, True], [True, True, False]]


@pytest.mark.parametrize("made", ["frame", "csv", "json", "long", "arrays"])
def test_answers_that_are_decimal_numbers(made, tmp_path):
    """They are no classes, and compared by value where answers are said to be free."""
    frame = pd.DataFrame(
        {"id": list("wxyz"), "label": [3.5, 2, 0.25, 7], "a": [3.5, 2, 0.5, 7], "b": [3, 2.0, 0.250, 8]}
    )

    def read(**options):
        if made == "arrays":
            return Predictions.from_arrays(frame[["a", "b"]].to_numpy().T, frame["label"], names=["a", "b"], **options)
        given = frame
        if made == "csv":
            given = tmp_path / "t.csv"
            given.write_text("id,label,a,b\nw,3.50,3.5,3\nx,2,2.0,2\ny,.25,0.5,0.250\nz,7,7,8\n")
        elif made == "json":
            given = tmp_path / "t.json"
            frame.to_json(given, orient="records")
        elif made == "long":
            given = frame.melt(["id", "label"], var_name="model", value_name="prediction")
        return load_predictions(given, **options)

    with pytest.raises(InputError, match=r"3.5 is not a class number.*`classes=\"any\"`"):
        read()
    assert read(classes="any").correct.sum(axis=1).tolist() == [3, 2]


def test_decimal_answers_that_were_not_given():
    pool = Predictions.from_arrays([[0.5, np.nan, 2]], [0.5, 1, 2], missing="nan", classes="any")
    assert (pool.correct.sum(), pool.n_missing) == (2, 1)


@pytest.mark.parametrize("other", ["x", "9"])
def test_a_decimal_number_has_one_spelling_whatever_others_say(other, tmp_path):
    """A model was wrong where it wrote 3.50, as soon as another one had said no number."""
    path = tmp_path / "t.csv"
    path.write_text(f"id,label,a,b\nw,3.5,3.50,3.5\nx,1000,1e3,{other}\ny,.25,0.250,0.25\n")
    pool = load_predictions(path, classes="any")
    assert pool.correct.astype(int).tolist() == [[1, 1, 1], [1, 0, 1]]


@pytest.mark.parametrize("kind", [np.float16, np.float32])
@pytest.mark.parametrize("made", ["arrays", "frame", "parquet", "csv"])
@pytest.mark.parametrize("gap", [True, False])
def test_answers_of_fewer_bits(kind, made, gap, tmp_path):
    """0.1 of 32 bits is the answer 0.1, in whatever it is given."""
    frame = pd.DataFrame({"label": [0.1, 2.5, 7.0], "a": np.array([0.1, 2.5, np.nan if gap else 7.0], dtype=kind)})
    if made == "arrays":
        pool = Predictions.from_arrays(
            frame["a"].to_numpy(), frame["label"], classes="any", missing="nan" if gap else None
        )
    else:
        path = tmp_path / f"t.{made}"
        if made == "csv":
            frame.to_csv(path, index=False)
        elif made == "parquet":
            frame.to_parquet(path)
        pool = load_predictions(frame if made == "frame" else path, classes="any")
    assert (pool.correct.sum(), pool.n_missing) == (2 + (not gap), int(gap))


def test_truth_values_in_parquet(tmp_path):
    frame = pd.DataFrame({"label": [0, 1, 1], "a": [False, True, False], "source": [True, False, True]})
    frame.to_parquet(tmp_path / "t.parquet")
    pool = load_predictions(tmp_path / "t.parquet", exclude="source")
    assert pool.correct.tolist() == [[True, True, False]]
