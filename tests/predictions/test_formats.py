"""Every file format: read, refused, and there and back again."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from heldout.errors import InputError, MissingExtraError
from heldout.predictions import Predictions, formats, load_predictions

ROOT = Path(__file__).parents[2]
CIFAR = ROOT / "examples" / "cifar10_predictions.npz"
SHARED = ROOT.parent / "shared" / "data"
SUFFIXES = ["npz", "csv", "parquet", "json", "jsonl"]

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="needs the data of ../shared")


@pytest.fixture(scope="module")
def cifar():
    return load_predictions(CIFAR)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_published_accuracies(cifar):
    accuracy = dict(zip(cifar.names, cifar.correct.mean(axis=1), strict=True))
    assert (cifar.n_models, cifar.n_examples, cifar.n_missing) == (30, 10_000, 0)
    assert accuracy["alexnet_tf_ben"] == min(accuracy.values()) == 0.8198
    assert accuracy["shake_shake_26_2x64d_SSI_cutout16"] == max(accuracy.values()) == 0.9711
    fresh = load_predictions(CIFAR, predictions_key="preds_v6", labels_key="labels_v6")
    assert round(float(fresh.select(["wrn_28_10"]).correct.mean()), 4) == 0.9015


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_there_and_back(suffix, cifar, tmp_path):
    """Classes, class names, gaps, ids and bare marks, in each format."""
    classes = np.load(CIFAR)["classes"]
    small = cifar.select([0, 3, 5])
    cells, labels = small.predictions[:, :200], small.labels[:200]
    tables = [
        Predictions.from_arrays(cells, labels, names=small.names),
        Predictions.from_arrays(
            np.ma.array(cells, mask=cells == 4), labels, names=["a, b", 'c "d"', "é"], ids=range(200)
        ),
        Predictions.from_arrays(classes[cells], classes[labels], ids=[f"x{i}" for i in range(200)]),
        Predictions.from_correct(cells == labels, names=small.names),
        Predictions.from_correct(np.ma.array(cells == labels, mask=cells == 4), ids=range(200)),
        Predictions.from_correct([[1, 0], [1, 1]], names=["a", "b"]),  # square
    ]
    for table in tables:
        path = tmp_path / f"table.{suffix}"
        table.save(path)
        again = load_predictions(path)
        assert again.digest() == table.digest()
        assert again.ids == table.ids
        assert again.source == path.name
        assert (again.predictions is None) == (table.predictions is None)
        if table.predictions is not None:
            assert again.labels.tolist() == table.labels.tolist()
            shown = slice(None) if table.observed is None else table.observed
            assert (again.predictions[shown] == table.predictions[shown]).all()
        assert [p.name for p in tmp_path.iterdir()] == [path.name]  # no half-written file is left


def test_save_refuses(tmp_path):
    pool = Predictions.from_correct([[1, 0], [1, 1]], names=["label", "b"])
    with pytest.raises(InputError, match="'label' is also the name of a usual column"):
        pool.save(tmp_path / "x.csv")
    with pytest.raises(InputError, match=r"suffix '.xls'"):
        pool.save(tmp_path / "x.xls")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_cut_short(suffix, cifar, tmp_path):
    """What breaks off is never read as a smaller pool; lines that end cleanly are the one case nobody can tell."""
    whole = tmp_path / f"whole.{suffix}"
    Predictions.from_arrays(cifar.predictions[:, :300], cifar.labels[:300], names=cifar.names).save(whole)
    content = whole.read_bytes()
    for kept in (0.999, 0.9, 0.5, 0.1, 0.0):
        path = tmp_path / f"cut.{suffix}"
        end = int(kept * len(content))
        while end and b"\n" in content[end - 3 : end + 3]:
            end -= 1
        path.write_bytes(content[:end])
        with pytest.raises(InputError, match=r"damaged or cut short|is empty") as caught:
            load_predictions(path)
        assert path.name in str(caught.value)


def test_damaged_in_the_middle(tmp_path, cifar):
    cifar.save(tmp_path / "x.npz")
    content = bytearray((tmp_path / "x.npz").read_bytes())
    content[len(content) // 2] ^= 255
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"x.npz is damaged or cut short"):
        load_predictions(tmp_path / "x.npz")


class TestNpz:
    LABELS = np.array([0, 1, 2, 0])
    CELLS = np.array([[0, 1, 2, 1], [0, 1, 0, 0], [2, 1, 2, 0]])
    NAMES = np.array(["a", "b", "c"])

    def load(self, tmp_path, options=None, **arrays):
        np.savez(tmp_path / "x.npz", **arrays)
        return load_predictions(tmp_path / "x.npz", **(options or {}))

    @pytest.mark.parametrize("flipped", [False, True])
    def test_either_orientation(self, tmp_path, flipped):
        cells = self.CELLS.T if flipped else self.CELLS
        pools = [
            self.load(tmp_path, preds=cells, labels=self.LABELS, models=self.NAMES),
            self.load(tmp_path, y_pred=cells, y_true=self.LABELS, options={"names_key": "who"}, who=self.NAMES),
            self.load(
                tmp_path,
                correct=(self.CELLS == self.LABELS).T if flipped else self.CELLS == self.LABELS,
                names=self.NAMES,
            ),
        ]
        assert len({pool.digest() for pool in pools}) == 1
        assert pools[0].correct.tolist() == (self.CELLS == self.LABELS).tolist()
        unnamed = self.load(tmp_path, preds=cells, labels=self.LABELS)
        assert unnamed.names == ("model 0", "model 1", "model 2")
        by_ids = self.load(tmp_path, correct=cells > 0, ids=np.arange(4))
        assert by_ids.correct.tolist() == (self.CELLS > 0).tolist()

    def test_square_needs_the_axis(self, tmp_path):
        arrays = {"preds": self.CELLS[:, :3], "labels": self.LABELS[:3], "models": self.NAMES}
        with pytest.raises(InputError, match=r"shape \(3, 3\), and nothing tells.*models_axis=0"):
            self.load(tmp_path, **arrays)
        first = self.load(tmp_path, options={"models_axis": 0}, **arrays)
        second = self.load(tmp_path, options={"models_axis": 1}, **arrays)
        assert first.predictions.tolist() == second.predictions.T.tolist()
        with pytest.raises(InputError, match="`models_axis` is 2"):
            self.load(tmp_path, options={"models_axis": 2}, **arrays)

    def test_bare_matrix_needs_the_axis(self, tmp_path):
        with pytest.raises(InputError, match="nothing tells which axis"):
            self.load(tmp_path, correct=self.CELLS > 0)
        assert self.load(tmp_path, options={"models_axis": 1}, correct=self.CELLS > 0).n_models == 4

    @pytest.mark.parametrize(
        ("change", "options", "words"),
        [
            ({"labels": np.zeros(5, int)}, {}, r"shape \(3, 4\), which does not fit 3 model names and 5 labels"),
            ({}, {"models_axis": 1}, "does not fit .* with the models on axis 1"),
            (
                {},
                {"labels_key": "truth"},
                "no key 'truth' .`labels_key`.; it has 'preds', 'labels', 'models'",
            ),
            ({}, {"predictions_key": "p"}, "no key 'p'"),
            ({}, {"ids_key": "p"}, "no key 'p'"),
            ({}, {"names_key": "p"}, "no key 'p'"),
            ({}, {"names_key": "models[labels]"}, "there are 4 names for 3|does not fit 4 model names"),
            ({}, {"names_key": "models[preds_]"}, "no key 'preds_'"),
            ({}, {"names_key": "labels[models]"}, "'models' holds no positions among"),
            (
                {"models": np.array(["a", "b"])},
                {},
                r"'models' holds 2 names but 'preds' has the shape \(3, 4\).*names_key",
            ),
            ({"models": np.array(["a", "b", "a"])}, {}, "x.npz: 'a' stands for more than one model"),
            ({"preds": np.zeros((3, 4, 2))}, {}, r"shape \(3, 4, 2\)"),
            ({"preds": np.array([[None]])}, {}, "'preds' holds Python objects"),
            ({"preds": CELLS + 1}, {}, "label 0 of example 0 lies outside 1 to 3"),
        ],
    )
    def test_refused(self, tmp_path, change, options, words):
        arrays = {"preds": self.CELLS, "labels": self.LABELS, "models": self.NAMES, **change}
        with pytest.raises(InputError, match=words):
            self.load(tmp_path, options=options, **arrays)

    def test_nothing_under_the_usual_names(self, tmp_path):
        with pytest.raises(InputError, match=r"of its keys 'what', 'labels' say which.*`predictions_key"):
            self.load(tmp_path, what=self.CELLS, labels=self.LABELS)
        with pytest.raises(
            InputError, match=r"no labels among its keys 'preds', 'a0', .*'a9', 'a10'; say which .*`labels_key"
        ):
            self.load(tmp_path, preds=self.CELLS, **{f"a{i}": self.LABELS for i in range(11)})

    @pytest.mark.parametrize("name", ["label", "target", "gold", "reference", "ground_truth", "truth", "y", "Y_true"])
    def test_labels_go_by_the_names_of_columns_too(self, tmp_path, name):
        pool = self.load(tmp_path, prediction=self.CELLS, model=self.NAMES, **{name: self.LABELS})
        assert (pool.names, pool.labels.tolist()) == (("a", "b", "c"), self.LABELS.tolist())

    def test_names_by_position(self, tmp_path):
        everybody = np.array(["z", "c", "b", "a", "y"])
        arrays = {"part_correct": self.CELLS > 0, "part_rows": np.array([3, 2, 1]), "models": everybody}
        with pytest.raises(InputError, match=r'perhaps "models\[part_rows\]"'):
            self.load(tmp_path, options={"correct_key": "part_correct"}, **arrays)
        pool = self.load(tmp_path, options={"correct_key": "part_correct", "names_key": "models[part_rows]"}, **arrays)
        assert pool.names == ("a", "b", "c")
        options = {"correct_key": "part_correct", "names_key": "none", "models_axis": 0}
        assert self.load(tmp_path, options=options, **arrays).names[0] == "model 0"

    def test_a_grader_knows_better_than_the_spelling(self, tmp_path):
        right = np.ones((3, 4), dtype=int)
        pool = self.load(tmp_path, preds=self.CELLS, labels=self.LABELS, models=self.NAMES, correct=right)
        assert pool.correct.all()
        assert pool.predictions is None
        both = {"preds": self.CELLS, "labels": self.LABELS, "models": self.NAMES, "correct": right}
        assert not self.load(tmp_path, options={"predictions_key": "preds"}, **both).correct.all()
        assert self.load(tmp_path, options={"predictions_key": "preds", "correct_key": "correct"}, **both).correct.all()


class TestCsv:
    WIDE = "id,label,a,b\nx,0,0,1\ny,1,1,\nz,2,2,2\n"
    LONG = "model,example_id,prediction,label\na,x,0,0\na,y,1,1\na,z,2,2\nb,z,2,2\nb,y,,1\nb,x,1,0\n"

    def test_wide_and_long(self, tmp_path):
        wide = load_predictions(write(tmp_path / "wide.csv", self.WIDE))
        long = load_predictions(write(tmp_path / "long.csv", self.LONG))
        marks = load_predictions(write(tmp_path / "marks.csv", "a,b\n1,0\n1,\nTrue,true\n"))
        graded = "model_name,doc_id,acc\na,x,1\nb,x,0\na,y,1\nb,y,\na,z,1\nb,z,1\n"
        graded = load_predictions(write(tmp_path / "graded.csv", graded))
        assert wide.ids == long.ids == graded.ids == ("x", "y", "z")
        assert wide.n_missing == 1
        assert wide.digest() == long.digest() == marks.digest() == graded.digest()
        assert wide.labels.tolist() == long.labels.tolist() == [0, 1, 2]

    def test_what_spreadsheets_and_pandas_add(self, tmp_path):
        pool = load_predictions(write(tmp_path / "x.csv", "\ufeff,label,a\r\n0,1.0,1.0\r\n1,2.0,\r\n2,2,2\r\n\r\n"))
        assert (pool.ids, pool.n_missing, pool.correct.tolist()) == (("0", "1", "2"), 1, [[True, False, True]])

    def test_own_column_names(self, tmp_path):
        text = self.LONG.replace("model,example_id,prediction,label", "who,item,said,truth")
        path = write(tmp_path / "x.csv", text)
        keys = {"names_key": "who", "ids_key": "item", "predictions_key": "said", "labels_key": "truth"}
        assert load_predictions(path, **keys).names == ("a", "b")
        with pytest.raises(InputError, match=r"no column 'model' \(`names_key`\); it has 'who', 'item'"):
            load_predictions(path, names_key="model")

    def test_a_column_answer_may_be_the_label(self, tmp_path):
        """As in many data sets; beside other columns it is no model's answer unless a column names models."""
        path = write(tmp_path / "x.csv", "question_id,answer,a,b\n1,A,A,B\n2,C,C,C\n")
        pool = load_predictions(path, labels_key="answer")
        assert (pool.names, pool.correct.tolist()) == (("a", "b"), [[True, True], [False, True]])
        with pytest.raises(InputError, match="'answer' looks like the labels"):
            load_predictions(path)
        one = load_predictions(write(tmp_path / "m.csv", "id,answer,label\n1,A,A\n2,C,B\n"))
        assert (one.names, one.correct.tolist()) == (("m",), [[True, False]])
        with pytest.raises(InputError, match=r"neither a column 'correct' .* nor both"):
            load_predictions(path, predictions_key="a")

    def test_free_answers(self, tmp_path):
        """One cell of text makes all cells text, so that 18 and 18 still match."""
        text = "model,id,prediction,label\na,1,18,18\na,2,no idea,7\nb,1,17,18\nb,2,7,7\n"
        pool = load_predictions(write(tmp_path / "x.csv", text))
        assert pool.correct.tolist() == [[True, False], [False, True]]

    def test_the_grader_of_a_long_table_wins(self, tmp_path):
        text = "model,id,prediction,label,correct\na,1,18.00 apples,18,1\na,2,7,8,0\n"
        pool = load_predictions(write(tmp_path / "x.csv", text))
        assert pool.correct.tolist() == [[True, False]]
        both = load_predictions(tmp_path / "x.csv", correct_key="correct", predictions_key="prediction")
        assert both.digest() == pool.digest()

    def test_long_cells(self, tmp_path):
        path = write(tmp_path / "x.csv", f"model,id,prediction,label\na,1,{'x' * 200_000},y\na,2,y,y\n")
        assert load_predictions(path).correct.tolist() == [[False, True]]

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "x.csv is empty"),
            ("id,label,a\n", "x.csv is empty"),
            ("id,label,a,b\nx,0,0,1\ny,1,1\n", "data row 2 has 3 cells where the header has 4.*cut short"),
            ('id,label,a\nx,0,"0', "damaged or cut short"),
            ("0,1,1\n1,1,1\n", "first line holds numbers; put a header"),
            ("id,label,a,a\nx,0,0,0\n", "more than one column 'a'"),
            ("id,label\nx,0\n", "no column of a model"),
            ("id,a,b\nx,0,3\n", r"'b' holds 3 on the example 'x', but scores .*scale=.percent.*`labels_key`\) if"),
            (
                "id,label,a,how\nx,0,0,easy\ny,1,1,hard\n",
                "column 'how' holds text such as 'easy' but labels are numbers.*exclude='how'",
            ),
            ("id,label,a\nx,0,0\nx,1,1\n", "x.csv: the example 'x' is there more than once"),
            ("id,label,a\nx,,0\ny,1,1\n", "example 0 has no label"),
            ("id,label,a\nx,0,nan\ny,1,1\n", 'NaN stands in 1 of 2 cells.*missing="nan"'),
            ("id,label,a\nx,1,0\ny,2,1\n", "label 2 of example 'y' lies outside 0 to 1"),
            ("id,label,a\nx,cat,dog\ny,dog,cat\n", "no model is right on any example"),
            ("model,id,prediction,label\na,x,0,0\na,x,1,0\n", "'a' has more than one row for the example 'x'"),
            ("model,id,prediction,label\na,x,0,0\nb,x,1,1\n", "'x' has the label 0 in one row and 1 in another"),
            ("model,id,correct\na,x,0\nb,x,1\na,y,1\n", "different examples, 'b' 1 of 2; .*predictions.align.*absent"),
            ("model,id,prediction\na,x,0\n", r"neither a column 'correct' .* nor both 'prediction' and 'label'"),
            ("model,correct\na,0\n", "no column for the example's id"),
            ("model,id,correct\na,x,maybe\n", "'maybe' is text"),
        ],
    )
    def test_refused(self, tmp_path, text, words):
        with pytest.raises(InputError, match=words) as caught:
            load_predictions(write(tmp_path / "x.csv", text))
        assert "x.csv" in str(caught.value)

    LABEL_COLUMNS = ("label", "labels", "y_true", "target", "targets", "gold", "ground_truth", "Label", "Y True")

    @pytest.mark.parametrize("name", LABEL_COLUMNS)
    def test_labels_of_two_classes(self, tmp_path, name):
        """0/1 labels would pass for one more model's marks."""
        pool = load_predictions(write(tmp_path / "x.csv", f"id,{name},a,b\nx,0,0,1\ny,1,1,1\nz,0,1,0\n"))
        assert (pool.names, pool.correct.astype(int).tolist()) == (("a", "b"), [[1, 1, 0], [0, 1, 1]])

    @pytest.mark.parametrize("name", ["correct_answer", "actual", "Solution"])
    def test_what_looks_like_labels_among_models(self, tmp_path, name):
        path = write(tmp_path / "x.csv", f"id,{name},a,b\nx,0,0,1\ny,1,1,1\n")
        with pytest.raises(InputError, match=f"'{name}' looks like the labels: say so with .*labels_key='{name}'"):
            load_predictions(path)
        assert load_predictions(path, labels_key=name).names == ("a", "b")
        path = write(tmp_path / "x.csv", f"id,label,{name},a\nx,0,0,0\ny,1,1,1\n")
        with pytest.raises(InputError, match=f"'{name}' looks like the labels"):
            load_predictions(path)

    def test_what_cannot_be_read_moves_no_other_model(self, tmp_path):
        """One number has several spellings, as where tables with and without gaps were put together."""
        rows = ["id,label,a,b,c", "w,0,0,0.0,0", "x,1,1,1,ERR", "y,2,2,2.0,2", "z,2,1,02,1"]
        for text in ("\n".join(rows), "\n".join(rows).replace("ERR", "7")):
            pool = load_predictions(write(tmp_path / "x.csv", text + "\n"))
            assert pool.correct.astype(int).tolist() == [[1, 1, 1, 0], [1, 1, 1, 1], [1, 0, 1, 0]]
        frame = pd.read_csv(write(tmp_path / "x.csv", "\n".join(rows).replace("z,2,1,02,1", "z,2,1,,1") + "\n"))
        pool = load_predictions(frame)
        assert pool.correct.astype(int).tolist() == [[1, 1, 1, 0], [1, 1, 1, 0], [1, 0, 1, 0]]
        assert pool.observed.tolist()[1] == [True, True, True, False]
        named = load_predictions(write(tmp_path / "x.csv", "id,label,a\nx,1.0,1\ny,one,one\n"))
        assert named.correct.tolist() == [[True, True]]  # beside a name, too
        rows = "id,label,a\nw,01,01\nx,1,1\ny,1,01\nz,2,none of these\n"
        two = load_predictions(write(tmp_path / "x.csv", rows))
        assert two.correct.tolist() == [[True, True, False, False]]  # two classes that are one number
        both = load_predictions(write(tmp_path / "x.csv", "id,label,a\nw,1,1.0\nx,1.0,1\ny,2,ERR\n"))
        assert both.correct.tolist() == [[True, True, False]]  # and one class that is spelled twice
        other = load_predictions(write(tmp_path / "x.csv", "id,label,a\nx,100,1e2\ny,10,1_0\nz,2,2\nw,2,ERR\n"))
        assert other.correct.tolist() == [[True, True, True, False]]  # as without ERR
        with pytest.raises(InputError, match="'NA' stands in 1 cells"):
            load_predictions(write(tmp_path / "x.csv", "id,label,a\nx,1,1.0\ny,NA,2\n"))

    @pytest.mark.parametrize("cell", ["NA", "NaN", "null", "None", "N/A", " "])
    def test_what_says_that_it_is_not_there(self, tmp_path, cell):
        """Wrong, or not run? Nobody can tell but its owner."""
        wide = write(tmp_path / "x.csv", f"id,label,a,b\nw,0,0,ERR\nx,1,{cell},1\ny,1,1,1\n")
        rows = f"a,x,1,{cell}\na,y,1,1\nb,x,1,ERR\nb,y,1,1\n"
        for path in (wide, write(tmp_path / "long.csv", f"model,id,label,prediction\n{rows}")):
            with pytest.raises(InputError, match=r"csv: '.*' stands in 1 cells: .* not run, say so with `missing='"):
                load_predictions(path)
            pool = load_predictions(path, missing=cell)
            assert pool.observed.sum() == pool.observed.size - 1
        if cell != "None":  # which may be an answer in words
            with pytest.raises(InputError, match="stands in 1 cells"):
                load_predictions(write(tmp_path / "x.csv", f"id,label,a\nx,yes,{cell}\ny,no,no\n"))
        answer = load_predictions(write(tmp_path / "x.csv", "id,label,a\nx,NA,NA\ny,no,NA\n"))  # Namibia
        assert answer.correct.tolist() == [[True, False]]

    @pytest.mark.parametrize("name", ["truth", "y", "Truth", "true label", "gt", "expected", "answer"])
    def test_what_looks_like_labels(self, tmp_path, name):
        path = write(tmp_path / "x.csv", f"id,{name},a,b\nx,0,0,1\ny,1,1,1\n")
        with pytest.raises(InputError, match=f"'{name}' looks like the labels: say so with .*labels_key='{name}'"):
            load_predictions(path)
        assert load_predictions(path, labels_key=name).names == ("a", "b")
        if name != "answer":  # beside one model's predictions, nothing else can be meant
            one = load_predictions(write(tmp_path / "m.csv", f"id,{name},prediction\nx,0,0\ny,1,0\nz,0,1\n"))
            assert (one.names, one.correct.tolist()) == (("m",), [[True, False, False]])

    @pytest.mark.parametrize("name", ["split", "fold", "Index", "subset", "category", "target", "question"])
    @pytest.mark.parametrize("labels", ["label,", ""])
    def test_columns_beside_the_models(self, tmp_path, name, labels):
        rows = "".join(f"{i},{'1,' if labels else ''}1,{i % 2},{i % 2}\n" for i in range(4))
        path = write(tmp_path / "x.csv", f"id,{labels}a,b,{name}\n{rows}")
        if name == "target" and not labels:
            assert load_predictions(path).names == ("a", "b")
            return
        with pytest.raises(InputError, match=rf"'{name}' looks like no model's: .*exclude='{name}'"):
            load_predictions(path)
        kept = load_predictions(path, exclude=name)
        assert (kept.names, kept.source) == (("a", "b"), f"{path.name}, without {name}")

    def test_an_index_is_an_id_or_nothing(self, tmp_path):
        assert load_predictions(write(tmp_path / "x.csv", "index,label,a\n5,1,1\n6,1,1\n")).ids == ("5", "6")
        both = load_predictions(write(tmp_path / "x.csv", ",Unnamed: 0.1,id,label,a\n0,0,p,1,1\n1,1,q,1,1\n"))
        assert (both.ids, both.names) == (("p", "q"), ("a",))

    def test_a_column_in_other_words_is_no_model(self, tmp_path):
        """Never right, and no answer is any example's label: a column of something else."""
        path = write(tmp_path / "x.csv", "id,label,a,how\nx,cat,cat,easy\ny,dog,cat,hard\n")
        with pytest.raises(InputError, match=r"'how' is right on no example.*'easy'.*exclude='how'.*classes=.any"):
            load_predictions(path)
        assert load_predictions(path, exclude="how").names == ("a",)
        free = load_predictions(path, classes="any")
        assert str(free) == "2 models, 2 examples, right on no example: 'how' (x.csv)"
        weak = write(tmp_path / "x.csv", "id,label,a,b\nx,cat,cat,dog\ny,dog,cat,cat\n")
        assert str(load_predictions(weak)) == "2 models, 2 examples, right on no example: 'b' (x.csv)"

    @pytest.mark.parametrize("mark", [";", "\t"])
    @pytest.mark.parametrize("suffix", ["csv", "tsv"])
    def test_other_separators(self, tmp_path, mark, suffix):
        usual = load_predictions(write(tmp_path / "x.csv", self.WIDE))
        other = load_predictions(write(tmp_path / f"y.{suffix}", self.WIDE.replace(",", mark)))
        assert other.digest() == usual.digest()
        quoted = f'"a,1"{mark}b\n1{mark}0\n'
        assert load_predictions(write(tmp_path / f"z.{suffix}", quoted)).names == ("a,1", "b")

    @pytest.mark.parametrize("head", ["id,label,a,b", "id,a,b"])
    @pytest.mark.parametrize("label", ["1", "cat"])
    def test_nothing_was_run(self, tmp_path, head, label):
        row = f"{label},,\n" if "label" in head else ",\n"
        with pytest.raises(InputError, match=r"x.csv: every cell of 'a', 'b' is missing"):
            load_predictions(write(tmp_path / "x.csv", f"{head}\nx,{row}y,{row}"))

    def test_missing_codes(self, tmp_path):
        for text in ("id,label,a\nx,1,NA\ny,1,1.0\n", "id,a\nx,NA\ny,1\n", "model,id,correct\na,x,NA\na,y,1\n"):
            pool = load_predictions(write(tmp_path / "x.csv", text), missing="NA")
            assert (pool.n_missing, pool.correct.sum()) == (1, 1)
            with pytest.raises(InputError, match=r"no cell holds 'N/A' \(`missing`\)"):
                load_predictions(tmp_path / "x.csv", missing=["NA", "N/A"])
        text = "id,label,a\nx,1,nan\ny,1,1\nz,1,-2\n"
        pool = load_predictions(write(tmp_path / "x.csv", text), missing=["nan", "-2"])
        assert pool.n_missing == 2
        text = "model,id,correct\na,x,0\nb,x,1\na,y,1\n"
        pool = load_predictions(write(tmp_path / "x.csv", text), missing="absent")
        assert pool.observed.tolist() == [[True, True], [True, False]]


class TestJson:
    def load(self, tmp_path, content, **options):
        return load_predictions(write(tmp_path / "x.json", json.dumps(content)), **options)

    def test_rows_and_arrays(self, tmp_path):
        pools = [
            self.load(tmp_path, {"names": ["a", "b"], "predictions": [[0, 1, 2], [1, None, 2]], "labels": [0, 1, 2]}),
            self.load(tmp_path, {"models": ["a", "b"], "correct": [[1, 1, 1], [False, None, True]], "labels": None}),
            self.load(tmp_path, [{"label": i, "a": i, "b": b} for i, b in enumerate([1, None, 2])]),
            self.load(tmp_path, [{"id": 1, "a": 1, "b": 0}, {"id": 2, "a": True}, {"id": 3, "a": 1, "b": 1}]),
        ]
        assert len({pool.digest() for pool in pools}) == 1
        lines = "\n".join(
            json.dumps({"model": m, "id": i, "correct": m == "a" or i == 3}) for m in "ab" for i in (1, 2, 3)
        )
        pool = load_predictions(write(tmp_path / "x.jsonl", lines))
        assert pool.correct.tolist() == [[True] * 3, [False, False, True]]

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (3, "neither a list of rows nor an object of arrays"),
            ([], "x.json is empty"),
            ([1, 2], "one object per row"),
            ({"labels": [1], "predictions": [[1], [1, 2]]}, "different numbers of examples"),
            ({"predictions": [["x", "y"]], "labels": [1, 2], "names": ["a"]}, "of different kinds"),
            ({"predictions": [[float("nan"), 1]], "labels": [1, 1], "names": ["a"]}, "NaN stands in 1 of 2"),
            ({"labels": 5, "predictions": 5, "names": "a"}, None),
        ],
    )
    def test_refused(self, tmp_path, content, words):
        if words is None:  # one model, one example: a pool, if a small one
            assert self.load(tmp_path, content).n_examples == 1
            return
        with pytest.raises(InputError, match=words):
            self.load(tmp_path, content)

    def test_codes_of_rows(self, tmp_path):
        pool = self.load(tmp_path, [{"id": 1, "a": 1}, {"id": 2, "a": "NA"}], missing="NA")
        assert pool.observed.tolist() == [[True, False]]

    def test_a_broken_line_is_named(self, tmp_path):
        with pytest.raises(InputError, match=r"x.jsonl: line 2 is no JSON"):
            load_predictions(write(tmp_path / "x.jsonl", '{"id": 1, "a": 1}\n{"id": 2, "a"'))


def test_paths_and_formats(tmp_path):
    with pytest.raises(InputError, match=r"nowhere.csv does not exist"):
        load_predictions(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match=r"x.txt has the suffix '.txt'; npz, csv"):
        load_predictions(write(tmp_path / "x.txt", "a,b\n1,0\n"))
    assert load_predictions(tmp_path / "x.txt", format="csv").names == ("a", "b")
    with pytest.raises(InputError, match="`format` is 'xls'"):
        load_predictions(tmp_path / "x.txt", format="xls")
    with pytest.raises(InputError, match="is a folder"):
        load_predictions(tmp_path, format="csv")
    np.savez(tmp_path / "x.npz", correct=np.ones((2, 3)))
    with pytest.raises(InputError, match=r"x.npz is not UTF-8 text: byte 14"):
        load_predictions(tmp_path / "x.npz", format="csv")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_metric_is_that_of_a_log(tmp_path, suffix):
    Predictions.from_correct([[1, 0]]).save(tmp_path / f"x.{suffix}")
    with pytest.raises(InputError, match=rf"x.{suffix} is not a log .*`metric='acc'` chooses nothing"):
        load_predictions(tmp_path / f"x.{suffix}", metric="acc")


class TestExclude:
    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_names_and_patterns(self, tmp_path, suffix):
        path = tmp_path / f"x.{suffix}"
        names = ["fv_a", "fv_b", "c", "d[1]"]
        Predictions.from_correct(np.eye(4, dtype=bool), names=names, ids=range(4)).save(path)
        assert load_predictions(path, exclude=["fv_*", "d[1]"]).names == ("c",)
        with pytest.raises(InputError, match="fits none of the 4 models"):
            load_predictions(path, exclude=["c", "gpt*"])
        with pytest.raises(InputError, match="leaves no model"):
            load_predictions(path, exclude="*")

    def test_folder(self, tmp_path):
        """A model that is left out need not fit the others."""
        for name, marks in (("a", [1, 0, 1]), ("b", [1, 1, 1]), ("short", [1])):
            np.save(tmp_path / f"{name}.npy", np.array(marks))
        assert load_predictions(tmp_path, exclude="short").names == ("a", "b")
        with pytest.raises(InputError, match="leaves no model"):
            load_predictions(tmp_path, exclude="*")


@pytest.mark.parametrize(
    ("module", "path", "extra"),
    [
        ("pyarrow", "table.parquet", "parquet"),
        ("zstandard", Path(__file__).parent / "data" / "inspect" / "eval" / "alpha.eval", "inspect"),
    ],
)
def test_what_is_not_installed_is_named(module, path, extra, monkeypatch, tmp_path):
    Predictions.from_correct([[1, 0]]).save(tmp_path / "table.parquet")
    monkeypatch.setitem(sys.modules, module, None)  # how Python itself marks a module that cannot be imported
    with pytest.raises(MissingExtraError, match=rf"heldout\[{extra}\]"):
        load_predictions(tmp_path / path)


def test_imports_nothing_heavy():
    code = "import sys, heldout.predictions; print({'pyarrow', 'pandas', 'zstandard', 'torch'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"


@needs_shared
class TestShared:
    def test_imagenet(self):
        pool = load_predictions(
            SHARED / "imagenet_predictions.npz", predictions_key="preds_val", labels_key="labels_val"
        )
        assert pool.correct.shape == (67, 50_000)
        kept = pool.select([name for name in pool.names if not name.startswith("fv_")])
        assert kept.n_models == 64
        assert round(100 * float(kept.correct.mean()), 2) == 75.56
        assert round(100 * float(kept.correct.all(axis=0).mean()), 2) == 34.10
        assert round(100 * float(kept.wrong.all(axis=0).mean()), 2) == 4.91

    def test_mmlu_pro(self):
        pool = load_predictions(SHARED / "mmlu_pro_predictions.npz", missing=-2)
        assert pool.ids is not None
        accuracy = pool.correct.sum(axis=1) / pool.observed.sum(axis=1)
        shown = {name: round(100 * float(a), 2) for name, a in zip(pool.names, accuracy, strict=True)}
        assert shown["DeepSeek-Coder-V2"] == 63.63
        assert int(pool.observed[pool.names.index("DeepSeek-Coder-V2")].sum()) == 10_351
        assert shown["gemini-1.5-pro-002"] == 70.26

    def test_open_llm(self):
        path = SHARED / "open_llm_items.npz"
        with pytest.raises(InputError, match=r'6,349 names.*perhaps "models\[gsm8k_b_rows\]"'):
            load_predictions(path, correct_key="gsm8k_b_correct")
        pool = load_predictions(
            path, correct_key="arc_a_correct", names_key="models[arc_a_rows]", ids_key="arc_a_items"
        )
        assert pool.correct.shape == (4280, 100)


class TestRepeatedKeys:
    @pytest.mark.parametrize(
        ("name", "text", "key"),
        [
            ("x.json", '{"a": {"t": 1, "u": 0}, "a": {"t": 0, "u": 0}}', "a"),
            ("x.json", '{"a": {"t": 1, "t": 0}, "b": {"t": 0}}', "t"),
            ("x.json", '[{"id": 1, "a": 1, "b": 0, "a": 0}]', "a"),
            ("x.jsonl", '{"id": 1, "a": 1, "b": 0}\n{"id": 2, "a": 1, "b": 0, "b": 1}\n', "b"),
            ("x.jsonl.gz", '{"id": 1, "a": 1, "a": 0}\n', "a"),
        ],
    )
    def test_the_last_one_does_not_win(self, name, text, key, tmp_path):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
        with pytest.raises(InputError, match=rf"{name}.*the key '{key}' stands more than once.*keep one"):
            load_predictions(path)

    @pytest.mark.parametrize("member", ["header.json", "summaries.json"])
    def test_in_logs(self, member, tmp_path):
        contents = {"header.json": '{"eval": {}, "status": "success"}', "summaries.json": "[]"}
        contents[member] = '{"eval": {"task": "a", "task": "b"}, "status": "success"}'
        with zipfile.ZipFile(tmp_path / "x.eval", "w") as archive:
            for name, text in contents.items():
                archive.writestr(name, text)
        with pytest.raises(InputError, match=r"x\.eval: the key 'task' stands more than once"):
            load_predictions(tmp_path / "x.eval")


@pytest.mark.parametrize("orient", ["columns", "list", "records", "index"])
@pytest.mark.parametrize("ids", [True, False])
def test_json_as_pandas_writes_it(orient, ids, tmp_path):
    """Columns of lists were taken for lists of solved tasks or of trials, and the labels for a model."""
    frame = pd.DataFrame({"id": list("xyz"), "label": [0, 1, 1], "a": [0, 1, 0], "b": [1, 1, 1]})
    frame = frame if ids else frame.drop(columns="id")
    path = tmp_path / "t.json"
    path.write_text(json.dumps(frame.to_dict("list")) if orient == "list" else frame.to_json(orient=orient))
    pool = load_predictions(path)
    assert (pool.names, pool.correct.sum(axis=1).tolist()) == (("a", "b"), [2, 2])
    assert pool.ids == (("x", "y", "z") if ids else ("0", "1", "2") if orient in ("columns", "index") else None)


def test_cells_of_json_belong_to_their_rows(tmp_path):
    """An object has no order."""
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"label": {"x": 0, "y": 1, "z": 1}, "a": {"z": 1, "x": 0, "y": 1}}))
    assert load_predictions(path).correct.tolist() == [[True] * 3]


def test_rows_of_json_without_labels_are_models(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"a": {"x": 1, "y": 0}, "b": {"x": 1, "y": 1}}))
    assert load_predictions(path).names == ("a", "b")
    path.write_text(json.dumps({"x": {"label": "cat", "correct": 1}, "y": {"label": "dog", "correct": 0}}))
    assert load_predictions(path).correct.tolist() == [[True, False]]


@pytest.mark.parametrize(
    "content",
    [
        {"reference": {"x": 1, "y": 0}, "gpt": {"x": 1, "y": 1}},
        {"x": {"reference": 1, "gpt": 1}, "y": {"reference": 0, "gpt": 1}},
    ],
)
def test_a_model_may_be_called_as_labels_are(content, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"`labels_key='reference'`, or that all are models.*`models_axis=0`"):
        load_predictions(path)
    assert load_predictions(path, labels_key="reference").correct.tolist() == [[True, False]]
    assert load_predictions(path, models_axis=0).n_models == 2
    path.write_text(json.dumps({"target": {"0": 1, "1": 0}, "gpt": {"0": 1, "1": 1}}))  # of pandas
    assert load_predictions(path).correct.tolist() == [[True, False]]


def test_json_of_texts_in_columns(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"id": ["x", "y"], "label": ["cat", "dog"], "a": ["cat", "cat"]}))
    assert load_predictions(path).correct.tolist() == [[True, False]]


@pytest.mark.parametrize("written", ["capitalize", "lower", "upper"])
@pytest.mark.parametrize("labels", [[0, 1, 1, 0], [False, True, True, False]])
def test_true_and_false_beside_1_and_0(labels, written, tmp_path):
    """A threshold gives booleans where labels are 1 and 0, and some classifiers numbers where labels are booleans."""
    frame = pd.DataFrame({
        "label": labels, "numbers": [0, 1, 0, 0], "marks": [False, True, True, True], "odd": ["1", "True", "ERR", "0"],
    })  # fmt: skip
    cells = [
        [getattr(str(cell), written)() if isinstance(cell, bool) else str(cell) for cell in row]
        for row in frame.to_numpy().tolist()
    ]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(",".join(row) for row in [list(frame.columns), *cells]) + "\n")
    for given in (path, frame):
        assert load_predictions(given).correct.sum(axis=1).tolist() == [3, 3, 2]


def test_an_index_that_pandas_reset_beside_ids(tmp_path):
    frame = pd.DataFrame({"id": list("xyz"), "label": [0, 1, 1], "a": [0, 1, 0]}).reset_index().reset_index()
    frame.to_csv(tmp_path / "t.csv", index=False)
    pool = load_predictions(tmp_path / "t.csv")
    assert (pool.names, pool.ids) == (("a",), ("x", "y", "z"))


@pytest.mark.parametrize("held", [1, 2, 3, 100])
def test_rows_of_a_csv_that_are_held_at_once(held, monkeypatch, tmp_path):
    monkeypatch.setattr(formats, "ROWS", held)
    path = tmp_path / "x.csv"
    path.write_text("id,label,a\nv,0,0\nw,1,1\n\nx,0,1\ny,1,1\nz,0,0\n")
    pool = load_predictions(path)
    assert (pool.ids, pool.correct.tolist()) == (tuple("vwxyz"), [[True, True, False, True, True]])
    path.write_text(path.read_text() + "last,0\n")
    with pytest.raises(InputError, match="data row 6 has 2 cells where the header has 3"):
        load_predictions(path)
