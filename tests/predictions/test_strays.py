"""Columns that are no model's: what numbers the examples, what measures them, what sums them up."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from heldout.errors import InputError
from heldout.predictions import Predictions, load_predictions
from heldout.predictions.strays import are_classes

N = 60


def table(**more):
    """Three models on 60 examples of five classes, right on 48, 36 and 24 of them, and further columns."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, N)
    models = {
        name: np.where(np.arange(N) < right, y, (y + 1) % 5) for name, right in zip("ABC", (48, 36, 24), strict=True)
    }
    return pd.DataFrame({"label": y, **models, **more})


def as_csv(frame, folder):
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def as_parquet(frame, folder):
    frame.to_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def as_jsonl(frame, folder):
    frame.to_json(folder / "t.jsonl", orient="records", lines=True)
    return folder / "t.jsonl"


def as_frame(frame, folder):
    return frame


made_as = pytest.mark.parametrize("made", [as_csv, as_parquet, as_jsonl, as_frame])


@made_as
@pytest.mark.parametrize(
    "name",
    [
        *("item_id", "example", "case", "uid", "qid", "row_number", "#", "No.", "key", "problem"),
        *("ImageId", "questionID", "Q#", "question", "row", "line"),
    ],
)
@pytest.mark.parametrize("first", [0, 1, 3001])
def test_what_numbers_the_examples_is_their_id(name, first, made, tmp_path):
    pool = load_predictions(made(table(**{name: np.arange(first, first + N)}), tmp_path))
    assert pool.names == ("A", "B", "C")
    assert pool.ids[:2] == (str(first), str(first + 1))
    assert pool.correct.sum(axis=1).tolist() == [48, 36, 24]


@made_as
def test_ids_that_are_text(made, tmp_path):
    pool = load_predictions(made(table(uid=[f"x{i}" for i in range(N)]), tmp_path))
    assert (pool.names, pool.ids[0]) == (("A", "B", "C"), "x0")


@made_as
@pytest.mark.parametrize("name", ["filename", "image", "file_path", "Image Name", "url"])
def test_names_of_files_are_ids(name, made, tmp_path):
    files = [f"img_{i:03}.png" for i in range(N)]
    pool = load_predictions(made(table(**{name: files}), tmp_path))
    assert (pool.names, pool.ids) == (("A", "B", "C"), tuple(files))


def test_files_of_models_are_joined_by_names_of_pictures(tmp_path):
    """Rows in another order were put beside each other by row."""
    rows = [("1.png", 1), ("2.png", 0), ("3.png", 0)]
    for model, order in (("a", rows), ("b", rows[::-1])):
        pd.DataFrame(order, columns=["filename", "correct"]).to_csv(tmp_path / f"{model}.csv", index=False)
    assert load_predictions(tmp_path).correct.astype(int).tolist() == [[1, 0, 0], [1, 0, 0]]


def test_decimals_are_no_ids():
    with pytest.raises(InputError, match=r"0\.5 is not a class number"):
        load_predictions(table(key=np.arange(N) + 0.5))


def test_numbers_without_labels(tmp_path):
    frame = table()
    marks = pd.DataFrame({"item_id": np.arange(N), **{m: (frame[m] == frame["label"]).astype(int) for m in "ABC"}})
    assert load_predictions(marks).ids[3] == "3"


@made_as
def test_running_numbers_under_any_other_name(made, tmp_path):
    with pytest.raises(InputError, match=r"'lfd' holds 60 different whole numbers.*ids_key='lfd'.*exclude='lfd'"):
        load_predictions(made(table(lfd=np.arange(N)), tmp_path))
    with pytest.raises(InputError, match=r"'row_number' holds 60 different"):  # there are ids already
        load_predictions(made(table(id=np.arange(N), row_number=np.arange(N)), tmp_path))
    path = made(table(lfd=np.arange(N)), tmp_path)
    assert load_predictions(path, ids_key="lfd").ids[5] == "5"
    assert load_predictions(path, exclude="lfd").names == ("A", "B", "C")


@made_as
def test_what_measures_the_examples(made, tmp_path):
    measured = np.random.default_rng(1).integers(1950, 2020, N)
    measured[0] = table()["label"][0]
    path = made(table(born=measured), tmp_path)
    with pytest.raises(InputError, match=r"'born' holds numbers such as \d+ in 59 of 60 cells.*exclude='born'"):
        load_predictions(path)
    for known in ("any", 2020, [*range(5), *range(1950, 2020)]):
        assert load_predictions(path, classes=known).names[-1] == "born"


@made_as
def test_a_code_in_most_cells(made, tmp_path):
    """A model that rarely answers is one where its owner says what its code is."""
    frame = table()
    frame["D"] = np.where(np.arange(N) < 10, frame["label"], -1)
    path = made(frame, tmp_path)
    with pytest.raises(InputError, match=r"'D' holds numbers such as -1 in 50 of 60.*unread='-1'"):
        load_predictions(path)
    assert load_predictions(path, unread="-1").correct.sum(axis=1).tolist() == [48, 36, 24, 10]
    assert load_predictions(path, missing=-1).observed.sum(axis=1).tolist() == [60, 60, 60, 10]


@made_as
def test_many_numbers_of_no_class(made, tmp_path):
    """Which are no code: classes of a larger model, or free answers."""
    frame = table(D=np.where(np.arange(N) < 20, table()["label"], np.arange(N) + 100))
    frame.loc[59, "D"] = 100  # twice
    with pytest.raises(
        InputError, match=r"'D' holds numbers such as \d+ in 40 of 60.*`classes=159`, or `classes=\"any\"`"
    ):
        load_predictions(made(frame, tmp_path))
    for classes in (159, "any"):
        pool = load_predictions(made(frame, tmp_path), classes=classes)
        assert pool.correct.sum(axis=1).tolist() == [48, 36, 24, 20]


@pytest.mark.parametrize(
    "name", ["year", "age", "patient", "patient_id", "annotator", "n_tokens", "second_label", "depth"]
)
def test_what_measures_them_in_numbers_of_classes(name):
    with pytest.raises(InputError, match=rf"'{name}' looks like no model's: leave it out with `exclude='{name}'`"):
        load_predictions(table(id=np.arange(N), **{name: np.random.default_rng(1).integers(0, 5, N)}))


@made_as
@pytest.mark.parametrize("n", [12, 200])
def test_free_numeric_answers_are_read_as_they_are(n, made, tmp_path):
    """Most labels are there once, and what is wrong is no label: also of a model that is nearly always wrong."""
    rng = np.random.default_rng(2)
    y = rng.permutation(np.arange(7, 7 + 13 * n, 13))
    weak = np.where(np.arange(n) < 2, y, rng.permutation(np.arange(100_000, 100_000 + n)))
    frame = pd.DataFrame({"id": [f"q{i}" for i in range(n)], "label": y, "strong": np.roll(y, 0), "weak": weak})
    pool = load_predictions(made(frame, tmp_path))
    assert pool.correct.sum(axis=1).tolist() == [n, 2]
    with pytest.raises(InputError, match="different whole numbers"):  # no model counts up from one
        load_predictions(made(frame.assign(lfd=np.arange(10**6, 10**6 + n)), tmp_path))


def test_a_few_free_answers_may_grow_by_chance():
    frame = pd.DataFrame({"id": list("vwxyz"), "label": [3, 700, 18, 64, 540], "a": [3, 700, 18, 64, 540]})
    assert load_predictions(frame.assign(b=[1, 2, 18, 300, 4000])).correct.sum(axis=1).tolist() == [5, 1]


def test_answers_like_those_of_word_problems_are_no_classes():
    rng = np.random.default_rng(3)
    assert not are_classes(np.round(np.exp(rng.normal(3.5, 2, 1_319))).astype(int).tolist())
    assert are_classes(rng.integers(0, 100, 2_000).tolist())


@pytest.mark.parametrize("written", ["t.parquet", "t.csv"])
def test_pandas_index(written, tmp_path):
    """A filtered frame keeps the numbers of its rows."""
    frame = table(old=np.arange(N)).query("old % 7 < 3").drop(columns="old")
    path = tmp_path / written
    if path.suffix == ".csv":  # as `datasets` writes what it read from Parquet
        frame.reset_index(names="__index_level_0__").to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    pool = load_predictions(path)
    assert (pool.names, pool.ids[2:4]) == (("A", "B", "C"), ("2", "7"))
    frame.assign(id=[f"x{i}" for i in range(27)]).to_parquet(tmp_path / "ids.parquet")
    assert load_predictions(tmp_path / "ids.parquet").ids[1] == "x1"


def test_pandas_index_in_other_layouts(tmp_path):
    rows = [("a", "x", 1), ("b", "x", 0), ("a", "y", 1), ("b", "y", 1)]
    long = pd.DataFrame(rows, columns=["model", "id", "correct"], index=[5, 3, 1, 7])
    long.to_parquet(tmp_path / "long.parquet")
    assert load_predictions(tmp_path / "long.parquet").names == ("a", "b")
    by_model = pd.DataFrame({"model": ["a", "b"], "t1": [1, 0], "t2": [1, 1]}, index=[4, 2])
    by_model.to_parquet(tmp_path / "models.parquet")
    assert load_predictions(tmp_path / "models.parquet").ids == ("t1", "t2")
    doubled = pd.concat([table(), table()])  # whose index tells no rows apart
    doubled.to_parquet(tmp_path / "doubled.parquet")
    assert load_predictions(tmp_path / "doubled.parquet").ids is None


def test_all_columns_that_are_no_models_are_named_at_once():
    frame = table(id=np.arange(N), difficulty=table()["label"], year=1999, age=31)
    with pytest.raises(
        InputError, match=r"'difficulty', 'year', 'age' look .*`exclude='difficulty'` `exclude='year'` `exclude='age'`,"
    ):
        load_predictions(frame)
    assert load_predictions(frame, exclude=["difficulty", "year", "age"]).names == ("A", "B", "C")


@pytest.mark.parametrize("name", ["mean", "Average", "AVG", "overall", "Total", "pass rate", "accuracy"])
def test_what_sums_up_others(name, tmp_path):
    marks = {"a": [1, 0, 1], "b": [1, 1, 0]}
    wide = pd.DataFrame({"id": ["x", "y", "z"], **marks})
    with pytest.raises(InputError, match=rf"'{name}' looks like no model's: .*exclude='{name}'"):
        load_predictions(wide.assign(**{name: [1, 0.5, 0.5]}))
    assert load_predictions(wide.assign(**{name: [1, 0.5, 0.5]}), exclude=name).names == ("a", "b")
    with pytest.raises(InputError, match=rf"'{name}' looks like a summary of the examples.*another id"):
        load_predictions(pd.concat([wide, pd.DataFrame({"id": [name], "a": [2 / 3], "b": [2 / 3]})]))
    rows = pd.DataFrame({"model": ["a", "b", name], "x": [1, 0, 0.5], "y": [1, 1, 1]})
    with pytest.raises(InputError, match=rf"'{name}' looks like a summary of the models.*exclude='{name}'"):
        load_predictions(rows)
    assert load_predictions(rows, exclude=name).names == ("a", "b")
    with pytest.raises(InputError, match=rf"'{name}' looks like no example's"):
        load_predictions(rows[:2].rename(columns={"y": name}))
    with pytest.raises(InputError, match=r"also the name of a usual column; save as \.npz"):
        Predictions.from_correct([[1, 0]], names=[name]).save(tmp_path / "x.csv")


@pytest.mark.parametrize("name", ["mean", "total", "sum", "average"])
def test_an_example_that_is_called_like_a_summary(name):
    """Words are ids, too; where every cell is right or wrong it is no mean of them."""
    ids = ["bank", "run", name, "plant"]
    marks = pd.DataFrame({"id": ids, "a": [1, 0, 1, 1], "b": [1, 1, 0, 0]})
    assert load_predictions(marks).ids == tuple(ids)
    rows = pd.DataFrame(
        {"model": ["a"] * 4 + ["b"] * 4, "id": ids * 2, "prediction": [0, 1] * 4, "label": [0, 1, 1, 0] * 2}
    )
    assert load_predictions(rows).ids == tuple(ids)
    for summary in ("overall", "median"):  # which may well be right or wrong
        with pytest.raises(InputError, match=f"'{summary}' looks like a summary of the examples"):
            load_predictions(marks.replace(name, summary))


@pytest.mark.parametrize(
    ("a", "b"),
    [([1, 0, 1, 1], [1, 1, 1, 1]), ([1, 0, 0, 0], [1, 1, 0, 0]), ([1, None, 1, 1], [0, 0, 0, 0])],
    ids=["rounded", "cut", "of_what_was_run"],
)
def test_a_mean_that_was_rounded_is_no_example(a, b):
    frame = pd.DataFrame({"id": ["x", "y", "z", "mean"], "a": a, "b": b})
    with pytest.raises(InputError, match="'mean' looks like a summary"):
        load_predictions(frame)


class TestOneModelBesideOthers:
    @pytest.mark.parametrize("name", ["prediction", "pred", "y_pred", "correct"])
    def test_others_do_not_vanish(self, name):
        frame = table(id=np.arange(N)).rename(columns={"C": name})
        option = "correct_key" if name == "correct" else "predictions_key"
        if name == "correct":
            frame = frame.assign(correct=(frame["correct"] == frame["label"]).astype(int))
        with pytest.raises(InputError, match=rf"'{name}' would be the only model, but 'A', 'B' beside it .*{option}"):
            load_predictions(frame)
        alone = load_predictions(frame, **{option: name})
        assert (alone.n_models, alone.correct.sum()) == (1, 24)
        assert load_predictions(frame, exclude=name).names == ("A", "B")
        assert load_predictions(frame, exclude=["A", "B"]).correct.sum() == 24

    def test_marks_without_labels(self):
        frame = pd.DataFrame({"id": [1, 2, 3], "gpt": [1, 0, 1], "correct": [1, 1, 0]})
        with pytest.raises(InputError, match="'gpt' beside it looks like"):
            load_predictions(frame)

    @pytest.mark.parametrize("name", ["is_long", "has_code", "prob_1"])
    def test_what_is_known_of_examples_is_no_model_by_its_name(self, name):
        frame = pd.DataFrame({"id": range(4), "correct": [1, 1, 0, 1], name: [0, 1, 1, 0]})
        assert load_predictions(frame).correct.tolist() == [[True, True, False, True]]

    @pytest.mark.parametrize("name", ["is_correct_b", "has_passed", "is_solved", "prob_right", "is_b_right"])
    def test_who_else_is_right_is_no_feature(self, name):
        frame = pd.DataFrame({"id": range(4), "correct": [1, 1, 0, 1], name: [0, 1, 1, 0]})
        with pytest.raises(InputError, match=f"'{name}' beside it looks like"):
            load_predictions(frame)

    @pytest.mark.parametrize("first", [True, False])
    def test_a_model_that_lacks_a_thousand_examples_does_not_vanish(self, first, tmp_path):
        late = [None] * 1000 + [0.25, 0.75] * 10
        frame = pd.DataFrame({"id": range(1020), "score": 1, "b": late if first else late[::-1]})
        for given in (frame, as_csv(frame, tmp_path), as_jsonl(frame, tmp_path), as_parquet(frame, tmp_path)):
            with pytest.raises(InputError, match="'score' looks like the scores of one model, but other columns"):
                load_predictions(given)

    @pytest.mark.parametrize("name", ["score", "passed", "pass@1", "exact_match"])
    def test_scores_beside_texts_are_the_only_model(self, name, tmp_path):
        """What harnesses write of one model: HumanEval has task_id, completion, result and passed."""
        frame = pd.DataFrame(
            {"task_id": ["t/0", "t/1"], "completion": ["x", "y"], "result": ["passed", "failed"], name: [1, 0]}
        )
        for given in (frame, as_csv(frame, tmp_path), as_jsonl(frame, tmp_path)):
            assert load_predictions(given).correct.tolist() == [[True, False]]
        beside = frame.assign(latency=[3.5, 0.25])  # another model's scores?
        with pytest.raises(InputError, match=rf"'{name}' looks like the scores of one model.*correct_key='{name}'"):
            load_predictions(beside)
        assert load_predictions(beside, correct_key=name).correct.tolist() == [[True, False]]

    def test_several_rows_of_an_example_may_be_trials_of_the_only_model(self):
        frame = pd.DataFrame(
            {"task_id": ["t/0", "t/0", "t/1"], "completion": list("xyz"), "passed": [True, False, True]}
        )
        with pytest.raises(InputError, match=r"more than one row for the example 't/0'.*`repeats=\"trials\"`"):
            load_predictions(frame)
        assert load_predictions(frame, repeats="trials").scores.tolist() == [[0.5, 1.0]]

    def test_predictions_without_labels(self):
        frame = pd.DataFrame({"text": ["x", "y", "z"], "true": [0, 1, 1], "pred": [0, 1, 0]})
        with pytest.raises(InputError, match=r"'pred' looks like what a model predicted.*`labels_key`"):
            load_predictions(frame)
        assert load_predictions(frame, labels_key="true").correct.tolist() == [[True, True, False]]

    def test_what_else_is_said_of_one_model(self):
        """A confidence, a length or a remark is no model."""
        frame = table()[["label", "A"]].rename(columns={"A": "prediction"})
        frame = frame.assign(latency=np.linspace(3, 9, N), remark="fine", confidence=0.5)
        assert load_predictions(frame).correct.sum() == 48


class TestContradictions:
    @staticmethod
    def rows(said, label, correct):
        n = len(label)
        return pd.DataFrame({
            "model": ["a"] * n + ["b"] * n, "id": [*range(n)] * 2, "prediction": [*said, *label], "label": [*label] * 2,
            "correct": [*correct, *[1] * n],
        })  # fmt: skip

    def test_an_equal_prediction_is_not_wrong(self, tmp_path):
        frame = self.rows([0, 1, 1, 0], [0, 1, 0, 0], [1, 0, 0, 1])
        for given in (frame, as_csv(frame, tmp_path), as_jsonl(frame, tmp_path)):
            with pytest.raises(
                InputError, match=r"in 1 of 8 rows: row 2 has the prediction '1', the label '1', and 0 as"
            ):
                load_predictions(given)
        assert load_predictions(frame, correct_key="correct").correct[0].tolist() == [True, False, False, True]
        assert load_predictions(frame, predictions_key="prediction").correct[0].tolist() == [True, True, False, True]

    def test_another_class_is_not_right(self):
        with pytest.raises(
            InputError, match="in 1 of 8 rows: row 3 has the prediction 'no', the label 'yes', and 1 as"
        ):
            load_predictions(self.rows(["no", "yes", "no", "yes"], ["no", "yes", "yes", "no"], [1, 1, 1, 0]))

    def test_a_grader_may_accept_another_text(self):
        label, said = ["Paris", "4", "blue", "Rome"], ["It is Paris.", "four", "blue", "Bonn"]
        assert load_predictions(self.rows(said, label, [1, 1, 1, 0])).correct[0].tolist() == [True, True, True, False]
        said = ["The answer is (no)", "yes", "yes", "no"]
        assert load_predictions(self.rows(said, ["no", "yes"] * 2, [1, 1, 0, 0])).n_models == 2

    def test_free_answers_are_no_classes_since_every_model_has_them(self):
        frame = self.rows(["Bonn", "Rome", "Oslo", "Kiev"], ["Rome", "Rom", "Oslo", "Kyiv"], [0, 1, 1, 1])
        assert load_predictions(frame).correct[0].tolist() == [False, True, True, True]

    def test_numbers_by_value(self):
        frame = self.rows([0.0, 1.0, 0.0, 1.0], ["0", "1", "1", "0"], [1, 1, 0, 0])
        assert load_predictions(frame).correct[0].tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    "names", [("a", "a "), ("a b", "a\u00a0b"), ("caf\u00e9", "cafe\u0301"), ("m1", "m\uff11"), (" a", "a")]
)
def test_names_that_look_alike(names):
    with pytest.raises(InputError, match="look alike"):
        Predictions.from_correct([[1, 0], [0, 1]], names=names)


def test_names_that_do_not():
    for names in (("a", "A", "a b"), ("R2", "R\u00b2", "R\u2082"), ("GPT\u2122", "GPTTM", "GPT")):
        assert Predictions.from_correct([[1, 0], [0, 1], [1, 1]], names=names).n_models == 3


@pytest.mark.parametrize("layout", ["long", "folder"])
def test_a_pattern_of_models_leaves_the_scores_where_they_are(layout, tmp_path):
    """`c*` took out the column `correct`, too, and `score` was read instead."""
    frame = pd.DataFrame({
        "model": ["cat"] * 2 + ["dog"] * 2, "id": [1, 2] * 2, "correct": [1, 1, 1, 0], "score": [0, 0, 0, 1],
    })  # fmt: skip
    if layout == "folder":
        for name, rows in frame.groupby("model"):
            rows.drop(columns="model").to_csv(tmp_path / f"{name}.csv", index=False)
    pool = load_predictions(frame if layout == "long" else tmp_path, exclude="c*")
    assert (pool.names, pool.correct.tolist()) == (("dog",), [[True, False]])


def test_files_of_one_name_stand_in_one_order(tmp_path):
    """One that is there twice left no ids, and rows were put beside each other whatever they were of."""
    names = [f"{i}.png" for i in range(6)] + ["0.png"]
    for model, rows in (("a", names), ("b", names[::-1])):
        frame = pd.DataFrame({"filename": rows, "correct": [1, 0, 1, 0, 1, 0, 1]})
        frame.to_csv(tmp_path / f"{model}.csv", index=False)
    with pytest.raises(InputError, match=r"in row 2 'a' has another example than 'b': its 'filename' is '1.png', not"):
        load_predictions(tmp_path)
    assert load_predictions(tmp_path, exclude="filename").n_models == 2
    pd.DataFrame({"filename": names, "correct": 1}).to_csv(tmp_path / "b.csv", index=False)
    assert load_predictions(tmp_path).correct.sum() == 11
