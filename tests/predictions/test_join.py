"""Models side by side: joined on ids, or from a folder of one file per model."""

from __future__ import annotations

import json

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.predictions import Predictions, align, load_predictions


def table(name, answers, labels, ids):
    return Predictions.from_arrays([answers], labels, names=[name], ids=ids, classes=9)


@pytest.fixture
def tables():
    return [
        table("a", [0, 1, 2, 3], [0, 1, 2, 3], ["w", "x", "y", "z"]),
        table("b", [3, 2, 1], [3, 2, 0], ["z", "y", "w"]),
        table("c", [5, 3, 0], [5, 3, 0], ["v", "z", "w"]),
    ]


def test_inner(tables):
    pool = align(tables)
    assert (pool.names, pool.ids) == (("a", "b", "c"), ("w", "z"))
    assert pool.correct.tolist() == [[True, True], [False, True], [True, True]]
    assert pool.labels.tolist() == [0, 3]
    assert pool.predictions.tolist() == [[0, 3], [1, 3], [0, 3]]
    assert pool.observed is None


def test_outer(tables):
    pool = align(tables, how="outer")
    assert pool.ids == ("w", "x", "y", "z", "v")
    assert pool.labels.tolist() == [0, 1, 2, 3, 5]
    assert pool.observed.astype(int).tolist() == [[1, 1, 1, 1, 0], [1, 0, 1, 1, 0], [1, 0, 0, 1, 1]]
    assert pool.wrong.astype(int).tolist() == [[0] * 5, [1, 0, 0, 0, 0], [0] * 5]


def test_against_a_dictionary(rng):
    """The join, cell by cell, the slow way; with gaps and several models a table."""
    truth = {f"q{i}": int(c) for i, c in enumerate(rng.integers(0, 4, 40))}
    tables, cells = [], {}
    for t in range(3):
        ids = rng.permutation(list(truth))[: 20 + 5 * t].tolist()
        answers = rng.integers(0, 4, (2, len(ids)))
        gaps = rng.random(answers.shape) < 0.2
        names = [f"m{t}{i}" for i in range(2)]
        labels = [truth[name] for name in ids]
        tables.append(Predictions.from_arrays(np.ma.array(answers, mask=gaps), labels, names=names, ids=ids, classes=4))
        for i, name in enumerate(names):
            cells |= {(name, ids[j]): answers[i, j] == labels[j] for j in range(len(ids)) if not gaps[i, j]}
    common = set.intersection(*(set(t.ids) for t in tables))
    for how in ("inner", "outer"):
        pool = align(tables, how=how)
        assert set(pool.ids) == (common if how == "inner" else set.union(*(set(t.ids) for t in tables)))
        observed = np.ones(pool.correct.shape, bool) if pool.observed is None else pool.observed
        for i, name in enumerate(pool.names):
            for j, example in enumerate(pool.ids):
                assert observed[i, j] == ((name, example) in cells)
                assert pool.correct[i, j] == cells.get((name, example), False)


def test_marks_and_answers_together_are_marks(tables):
    marks = Predictions.from_correct([[1, 0]], names=["d"], ids=["z", "w"])
    pool = align([*tables, marks])
    assert pool.predictions is None
    assert pool.correct.tolist()[-1] == [False, True]


def test_a_file_with_an_unreadable_prediction_is_joined(tmp_path):
    """Its labels are text then; those of the other files become text, too, and nobody's score moves."""
    write_model(tmp_path, "alpha", CELLS["alpha"], "csv")
    write_model(tmp_path, "beta", [0, 1, "ERR", 2], "csv")
    pool = load_predictions(tmp_path)
    assert pool.correct.astype(int).tolist() == [[1, 1, 1, 0], [1, 1, 0, 1]]
    assert (pool.labels.tolist(), pool.predictions[1].tolist()) == (["0", "1", "2", "2"], ["0", "1", "ERR", "2"])


def test_align_refuses(tables):
    with pytest.raises(InputError, match="'a' is in more than one table"):
        align([tables[0], tables[0]])
    with pytest.raises(InputError, match="label of example 'z' is 4 for 'd' but 3"):
        align([*tables, table("d", [4], [4], ["z"])])
    with pytest.raises(InputError, match="no example id is in all 2 tables"):
        align([tables[0], table("d", [4], [4], ["q"])])
    with pytest.raises(InputError, match="has no example ids to join on"):
        align([tables[0], Predictions.from_correct([[1, 0]], names=["d"])])
    with pytest.raises(InputError, match="class numbers as labels and some class names"):
        align([tables[0], Predictions.from_arrays([["x"]], ["x"], names=["d"], ids=["z"])])
    with pytest.raises(InputError, match="`how` is 'left'"):
        align(tables, how="left")
    with pytest.raises(InputError, match="no tables"):
        align([])


LABELS = [0, 1, 2, 2]
CELLS = {"alpha": [0, 1, 2, 0], "beta": [0, 1, 1, 2]}


def write_model(folder, name, answers, kind, ids="wxyz"):
    """One model's file."""
    rows = [
        {"id": i, "label": label, "prediction": answer} for i, label, answer in zip(ids, LABELS, answers, strict=False)
    ]
    if kind == "csv":
        text = "id,label,prediction\n" + "".join(f"{r['id']},{r['label']},{r['prediction']}\n" for r in rows)
        (folder / f"{name}.csv").write_text(text)
    elif kind == "json":
        (folder / f"{name}.json").write_text(json.dumps(rows))
    elif kind == "jsonl":
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == "npz":
        np.savez(
            folder / f"{name}.npz", labels=LABELS[: len(rows)], preds=[r["prediction"] for r in rows], ids=list(ids)
        )
    elif kind == "npy":
        np.save(folder / f"{name}.npy", answers)
        np.save(folder / "labels.npy", LABELS)
    else:
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), folder / f"{name}.parquet")


@pytest.mark.parametrize("kind", ["csv", "json", "jsonl", "npz", "npy", "parquet"])
def test_folder(kind, tmp_path):
    for name, answers in CELLS.items():
        write_model(tmp_path, name, answers, kind)
    pool = load_predictions(tmp_path)
    assert pool.names == ("alpha", "beta")
    assert pool.correct.astype(int).tolist() == [[1, 1, 1, 0], [1, 1, 0, 1]]
    assert pool.ids == (None if kind == "npy" else ("w", "x", "y", "z"))
    assert pool.source == tmp_path.name


def test_folder_of_mixed_files_in_any_order(tmp_path):
    write_model(tmp_path, "alpha", CELLS["alpha"], "csv")
    (tmp_path / "beta.jsonl").write_text(
        '{"id": "z", "correct": 1}\n{"id": "w", "correct": 0}\n'
        '{"id": "x", "correct": null}\n{"id": "y", "correct": 1}\n'
    )
    (tmp_path / "notes.txt").write_text("not a model")
    pool = load_predictions(tmp_path)
    assert pool.correct.astype(int).tolist() == [[1, 1, 1, 0], [0, 0, 1, 1]]
    assert pool.n_missing == 1


def test_labels_are_compared_over_all_models(tmp_path):
    """beta alone never predicts 0, and would be right more often one lower, which looks like a slip in numbering."""
    write_model(tmp_path, "alpha", [0, 1, 2, 2], "csv")
    write_model(tmp_path, "beta", [1, 2, 2, 1], "csv")
    assert load_predictions(tmp_path).correct.sum() == 5
    with pytest.raises(InputError, match="label 0 of example 'w' lies outside 1 to 2"):
        load_predictions(tmp_path / "beta.csv")


def test_folder_of_marks(tmp_path):
    np.save(tmp_path / "a.npy", np.array([1, 0, 1]))
    np.save(tmp_path / "b.npy", np.array([True, True, True]))
    assert load_predictions(tmp_path).correct.sum() == 5


def test_folder_refuses(tmp_path):
    with pytest.raises(InputError, match="holds no files that can be read"):
        load_predictions(tmp_path)
    write_model(tmp_path, "alpha", CELLS["alpha"], "csv")
    write_model(tmp_path, "beta", CELLS["beta"][:3], "csv", ids="wxy")
    with pytest.raises(
        InputError, match=r"different examples, 'alpha' 4 and 'beta' 3 \(3 in common\).*predictions.align"
    ):
        load_predictions(tmp_path)
    assert load_predictions(tmp_path, missing="absent").n_missing == 1
    write_model(tmp_path, "beta", CELLS["beta"], "csv", ids="wxyq")
    with pytest.raises(InputError, match=r"'alpha' 4 and 'beta' 4 \(3 in common\)"):
        load_predictions(tmp_path)
    write_model(tmp_path, "beta", CELLS["beta"], "csv")
    write_model(tmp_path, "beta", CELLS["beta"], "json")
    assert load_predictions(tmp_path).names == ("alpha", "beta")  # the same answers twice
    write_model(tmp_path, "beta", [1 - cell for cell in CELLS["beta"]], "json")
    with pytest.raises(
        InputError, match=r"'beta' is in more than one file with different predictions.*repeats=.trials"
    ):
        load_predictions(tmp_path)


def test_folder_without_ids(tmp_path):
    np.save(tmp_path / "a.npy", np.array([1, 0, 1]))
    np.save(tmp_path / "b.npy", np.array([1, 0]))
    with pytest.raises(InputError, match="'a' 3 and 'b' 2; give every file the ids"):
        load_predictions(tmp_path)
    (tmp_path / "b.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-9])
    with pytest.raises(InputError, match=r"b.npy is damaged or cut short"):
        load_predictions(tmp_path)
    (tmp_path / "b.npy").unlink()
    (tmp_path / "a.npy").unlink()
    for name, labels in (("a", [0, 1, 2]), ("b", [0, 2, 2])):
        np.savez(tmp_path / f"{name}.npz", preds=[0, 1, 2], labels=labels)
    with pytest.raises(InputError, match="label of example 1 is 2 for 'b' but 1"):
        load_predictions(tmp_path)


class TestAnswersInSeveralFiles:
    """A model in two files: its answers were dropped, and with them all labels."""

    @pytest.fixture
    def files(self, tmp_path):
        (tmp_path / "one.csv").write_text("id,label,a,b\nx,p,p,q\ny,q,q,q\n")
        (tmp_path / "two.csv").write_text("id,label,a\ny,q,q\nz,p,q\n")
        (tmp_path / "three.csv").write_text("id,label,b\nz,p,p\n")
        return [tmp_path / f"{name}.csv" for name in ("one", "two", "three")]

    def test_kept(self, files):
        table = load_predictions(files)
        assert (table.names, table.ids) == (("a", "b"), ("x", "y", "z"))
        assert table.predictions.tolist() == [["p", "q", "q"], ["q", "q", "p"]]
        assert table.labels.tolist() == ["p", "q", "p"]
        assert table.correct.tolist() == [[True, True, False], [False, True, True]]

    def test_different_wrong_answers(self, files):
        files[1].write_text("id,label,a\nx,p,q\nz,p,q\n")
        files[0].write_text("id,label,a,b\nx,p,r,q\ny,q,q,q\n")
        with pytest.raises(
            InputError, match=r"'a' is in more than one file with different predictions.*'x' is the first"
        ):
            load_predictions(files)

    def test_labels_must_agree(self, files):
        files[0].write_text("id,label,a,b\nx,p,p,q\ny,q,r,q\n")
        files[1].write_text("id,label,a\ny,p,r\nz,p,q\n")  # wrong by either label
        with pytest.raises(InputError, match="the label of example 'y' is p for 'a' but q in a table before it"):
            load_predictions(files)


class TestWhatIsAsked:
    """One id, or one row, is one example: where it asks something else of another model it is refused."""

    ASKED = ("1 + 1?", "2 + 2?", "3 + 3?", "4 + 4?")

    def write(self, path, asked, *, ids="wxyz", model=None):
        head = ",".join((["model"] if model else []) + (["id"] if ids else []) + ["question", "correct"])
        rows = [
            ",".join(([model] if model else []) + ([ids[i]] if ids else []) + [text, str(i % 2)])
            for i, text in enumerate(asked)
        ]
        path.write_text("\n".join([head, *rows]) + "\n")
        return path

    def test_by_id(self, tmp_path):
        a = self.write(tmp_path / "a.csv", self.ASKED)
        b = self.write(tmp_path / "b.csv", [f" {text.replace(' ', '  ')}" for text in self.ASKED])  # white space aside
        assert load_predictions([a, b]).columns["question"].tolist() == list(self.ASKED)
        b = self.write(tmp_path / "b.csv", [*self.ASKED[:2], "5 + 5?", ""])  # nothing is not another text
        told = r"under the id 'y' 'a' has another example than 'b': its 'question' is '3 \+ 3\?', not '5 \+ 5\?', "
        for absent in (None, "absent"):
            with pytest.raises(InputError, match=told + "and so with 1 of 3.*`exclude='question'`"):
                load_predictions([a, b], missing=absent)
        assert load_predictions([a, b], exclude="question").n_examples == 4
        prompts = {"a": ["who?", None], "b": ["who?", "when?"], "c": ["why?", None]}
        tables = [
            Predictions.from_correct([[1, 0]], names=[name], ids=["p", "q"], columns={"prompt": texts})
            for name, texts in prompts.items()
        ]
        assert align(tables[:2]).columns["prompt"].tolist() == ["who?", "when?"]
        with pytest.raises(InputError, match="under the id 'p' 'a' has another example than 'c'"):
            align(tables)

    @pytest.mark.parametrize("silent", [None, ""])
    def test_the_first_that_says_what_it_asks_is_believed(self, silent):
        prompts = {"a": ["who?", silent], "b": ["who?", "when?"], "c": [silent, "how?"]}
        tables = [
            Predictions.from_correct([[1, 0]], names=[name], ids=["p", "q"], columns={"prompt": texts})
            for name, texts in prompts.items()
        ]
        with pytest.raises(InputError, match=r"under the id 'q' 'b' has another example than 'c': .* with 1 of 1;"):
            align(tables)

    def test_long_texts_are_shown_where_they_part(self, tmp_path):
        texts = [f"{'Read this. ' * 30}{end}" for end in ("Then say A.", "Then say B.")]
        a, b = (self.write(tmp_path / f"{i}.csv", [text, "x"], ids="pq") for i, text in enumerate(texts))
        with pytest.raises(InputError, match=r"is '\.\.\.Then say A\.', not '\.\.\.Then say B\.'"):
            load_predictions([a, b])

    def test_by_row(self, tmp_path):
        a = self.write(tmp_path / "a.csv", self.ASKED, ids="")
        b = self.write(tmp_path / "b.csv", self.ASKED[::-1], ids="")
        with pytest.raises(InputError, match=r"in row 1 'a' has another example than 'b'.*`ids_key='question'`"):
            load_predictions([a, b])
        joined = load_predictions([a, b], ids_key="question")
        assert (joined.ids, joined.correct.astype(int).tolist()) == (self.ASKED, [[0, 1, 0, 1], [1, 0, 1, 0]])
        b = self.write(tmp_path / "b.csv", self.ASKED, ids="")
        assert load_predictions([a, b]).n_examples == 4

    def test_rows_of_a_long_table(self, tmp_path):
        a = self.write(tmp_path / "a.csv", self.ASKED, model="a").read_text()
        b = self.write(tmp_path / "b.csv", [*self.ASKED[:3], "5 + 5?"], model="b").read_text().split("\n", 1)[1]
        path = tmp_path / "x.csv"
        path.write_text(a + b)
        with pytest.raises(InputError, match=r"x.csv: under the id 'z' 'a' has another example than 'b'.*1 of 4"):
            load_predictions(path)
        assert load_predictions(path, exclude="question").names == ("a", "b")
        path.write_text(a + b.replace("5", "4"))
        assert load_predictions(path).columns["question"].tolist() == list(self.ASKED)

    def test_one_model_in_several_files(self, tmp_path):
        a = self.write(tmp_path / "a.csv", self.ASKED, model="a")
        b = self.write(tmp_path / "b.csv", self.ASKED[::-1], model="a")
        with pytest.raises(InputError, match="under the id 'w' 'a' has another example than 'a'"):
            load_predictions([a, b], repeats="trials")

    def test_ids_in_some_files_only(self, tmp_path):
        """Rows may stand in any order beside ids that do not say which row is which."""
        a = self.write(tmp_path / "a.csv", self.ASKED)
        b = self.write(tmp_path / "b.csv", self.ASKED, ids="")
        for pair in ([a, b], [b, a]):
            with pytest.raises(InputError, match=r"2 files: 'b' has no ids of its examples but 'a' has, such as 'w'"):
                load_predictions(pair)

    def test_ids_that_are_written_in_two_ways(self, tmp_path):
        """An id that each of them lacks shows it; where nothing is shared, nothing is left to count as not run."""
        a = self.write(tmp_path / "a.csv", self.ASKED[:2], ids=["0", "10"])
        for ids, told in (
            (
                ["0.0", "10.0"],
                r"\(0 in common\): only 'a' has '0', only 'b' has '0.0'; write the ids of equal examples alike",
            ),
            (["00", "10"], r"\(1 in common\): only 'a' has '0', only 'b' has '00'; run .*`missing=\"absent\"`"),
        ):
            b = self.write(tmp_path / "b.csv", self.ASKED[:2], ids=ids)
            with pytest.raises(InputError, match=told) as caught:
                load_predictions([a, b])
            assert ("absent" in str(caught.value)) == ("10" in ids)
