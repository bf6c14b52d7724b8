"""The table itself: what goes in, what is refused, and in which words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.predictions import Predictions, load_predictions

LABELS = [0, 1, 2, 2]
CELLS = [[0, 1, 2, 0], [0, 2, 2, 2]]


def test_arrays():
    pool = Predictions.from_arrays(CELLS, LABELS, names=["a", "b"], ids=[7, 8, 9, 10])
    assert pool.correct.tolist() == [[True, True, True, False], [True, False, True, True]]
    assert (pool.names, pool.ids, pool.observed) == (("a", "b"), ("7", "8", "9", "10"), None)
    assert (pool.n_models, pool.n_examples, pool.n_missing) == (2, 4, 0)
    assert (pool.wrong == ~pool.correct).all()
    assert str(pool) == "2 models, 4 examples (arrays)"


def test_one_model_is_a_pool():
    pool = Predictions.from_arrays([0, 1, 2, 0], LABELS)
    assert (pool.n_models, pool.names) == (1, ("model 0",))


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float64, np.str_, np.bytes_, object])
def test_kinds_of_classes(kind):
    pool = Predictions.from_arrays(np.array(CELLS).astype(kind), np.array(LABELS).astype(kind))
    assert pool.correct.sum() == 6


def test_missing_is_not_wrong():
    """The same gap told in five ways; a code that nobody named is wrong instead."""
    gaps = [
        Predictions.from_arrays([[0, 1, 2, -2], CELLS[1]], LABELS, missing=-2),
        Predictions.from_arrays([[0, 1, 2, -2], CELLS[1]], LABELS, missing=["-2", "nan"]),
        Predictions.from_arrays([[0, 1, 2, np.nan], CELLS[1]], LABELS, missing="nan"),
        Predictions.from_arrays([[0, 1, 2, np.nan], CELLS[1]], LABELS, missing=np.nan),
        Predictions.from_arrays([[0, 1, 2, None], CELLS[1]], LABELS),
        Predictions.from_arrays(np.ma.array(CELLS, mask=[[0, 0, 0, 1], [0] * 4]), LABELS),
        Predictions.from_arrays(CELLS, LABELS, observed=[[1, 1, 1, 0], [1] * 4]),
        Predictions.from_correct([[1, 1, 1, None], [1, 0, 1, 1]]),
        Predictions.from_correct([[1, 1, 1, 9], [1, 0, 1, 1]], missing=9),
    ]
    for pool in gaps:
        assert pool.n_missing == 1
        assert pool.wrong.sum(axis=1).tolist() == [0, 1]
        assert not pool.correct[0, 3]
        assert pool.digest() == gaps[0].digest()
    wrong = Predictions.from_arrays([[0, 1, 2, -1], CELLS[1]], LABELS)
    assert (wrong.n_missing, wrong.wrong.sum(axis=1).tolist()) == (0, [1, 1])


def test_a_code_that_no_cell_holds():
    for make in (lambda code: Predictions.from_arrays(CELLS, LABELS, missing=code),
                 lambda code: Predictions.from_correct([[1, 0], [1, 1]], missing=code)):  # fmt: skip
        with pytest.raises(InputError, match=r"no cell holds -2 \(`missing`\); leave it out"):
            make([-2, "nan"])
        assert make("nan").n_missing == 0  # numbers hide no NaN
    with pytest.raises(InputError, match="no cell holds 'nan'"):
        Predictions.from_arrays([["a", "none"]], ["a", "b"], missing="nan")


def test_rows_that_are_masked_one_by_one():
    rows = [np.ma.array([1, 0, 1], mask=[0, 1, 0]), np.array([1, 1, 0])]
    pool = Predictions.from_correct(rows)
    assert pool.observed.tolist() == [[True, False, True], [True] * 3]
    with pytest.raises(InputError, match="from_correct and from_scores take masks"):
        Predictions(names=("a",), cells=np.ma.array([[True, True]], mask=[[True, False]]))


@pytest.mark.parametrize(
    "path", ["foo.csv", Path("foo.csv"), b"foo.csv", np.array("foo.csv"), np.array(Path("foo.csv"))]
)
def test_a_path_is_no_array(path):
    with pytest.raises(InputError, match=r"'foo.csv'; use heldout\.load_predictions"):
        Predictions.from_correct(path)
    with pytest.raises(InputError, match=r"'foo.csv'; use heldout\.load_predictions"):
        Predictions.from_arrays(path, [0, 1])


def test_text_as_missing_code():
    pool = Predictions.from_arrays([["a", "NA"], ["b", "b"]], ["a", "b"], missing="NA")
    assert pool.n_missing == 1


def test_correct_of_every_type():
    for kind in (bool, np.uint8, float):
        assert Predictions.from_correct(np.array([[1, 0], [1, 1]], dtype=kind)).correct.sum() == 3


def test_digest_sees_names_answers_and_gaps():
    base = Predictions.from_correct([[1, 0], [1, 1]], names=["a", "b"])
    others = [
        Predictions.from_correct([[1, 0], [1, 1]], names=["a", "c"]),
        Predictions.from_correct([[1, 0], [1, 0]], names=["a", "b"]),
        Predictions.from_correct([[1, None], [1, 1]], names=["a", "b"]),
        Predictions.from_correct([[1], [1]], names=["a", "b"]),
    ]
    assert len({base.digest(), *(other.digest() for other in others)}) == 5
    same = Predictions.from_arrays([[3, 4], [3, 5]], [3, 5], names=["a", "b"], ids=["x", "y"])
    assert base.digest() == same.digest()


def test_select():
    pool = Predictions.from_arrays([[0, 1], [None, 1], [1, 1]], [0, 1], names=["a", "b", "c"])
    part = pool.select(["c", "b"])
    assert (part.names, part.n_missing) == (("c", "b"), 1)
    assert part.correct.tolist() == pool.correct[[2, 1]].tolist()
    assert pool.select(np.array([2, 1])).digest() == part.digest()
    assert pool.select(np.array([False, True, True])).names == ("b", "c")
    assert pool.select("b").names == ("b",)
    with pytest.raises(InputError, match="the mask has the shape"):
        pool.select(np.array([True]))
    with pytest.raises(InputError, match="no model 'd'"):
        pool.select(["d"])
    with pytest.raises(InputError, match="no model 3"):
        pool.select([3])


def test_classes():
    """A class that nobody predicts is no slip once the classes are known."""
    cells, labels = [[0, 0, 1], [0, 0, 1]], [0, 1, 2]  # and would be right more often, were they counted from 1
    with pytest.raises(InputError, match=r"label 2 of example 2 lies outside 0 to 1.*`classes=3`"):
        Predictions.from_arrays(cells, labels)
    for classes in (3, [0, 1, 2], "any"):
        assert Predictions.from_arrays(cells, labels, classes=classes).correct.sum() == 2
    with pytest.raises(InputError, match="label 2 of example 'z' lies outside 0 to 1"):
        Predictions.from_arrays(cells, labels, classes=2, ids=["x", "y", "z"])
    with pytest.raises(InputError, match="the prediction 3 lies outside 0 to 2"):
        Predictions.from_arrays([[1, 2, 3], [1, 1, 3]], labels, classes=3)
    with pytest.raises(InputError, match="label 'c' of example 1 lies outside the 2 classes"):
        Predictions.from_arrays([["a", "b"]], ["a", "c"], classes=["a", "b"])
    with pytest.raises(InputError, match="labels are names such as 'a'"):
        Predictions.from_arrays([["a", "b"]], ["a", "c"], classes=2)
    for none in (0, -1, np.int64(0)):
        with pytest.raises(InputError, match=f"`classes` is {none}; there is at least 1"):
            Predictions.from_arrays(cells, labels, classes=none)
    with pytest.raises(InputError, match="`classes` is 'all'"):
        Predictions.from_arrays(cells, labels, classes="all")
    unread = Predictions.from_arrays([[0, -1, 2]], labels, classes=3)  # below 0: no answer, and wrong
    assert unread.correct.tolist() == [[True, False, True]]


def test_fractions_are_no_right_and_wrong():
    with pytest.raises(
        InputError, match=r"the cell \(0, 0\) holds 0.05, but only 1 .* to heldout.Predictions.from_scores"
    ):
        Predictions.from_correct([[0.05, 1]])
    with pytest.raises(InputError, match=r"'a' holds 1.5 on the example 0, but only 1 .*marked with `missing`"):
        Predictions.from_correct([[1.5, 1]], names=["a"])


class TestEachModelsNumbering:
    """A sound model beside it does not hide one that counts classes from another number."""

    LABELS = np.arange(40) % 4
    SOUND = np.where(np.arange(40) % 5 == 0, 0, LABELS)

    @pytest.mark.parametrize(("first", "step"), [(0, 1), (1, -1)])
    @pytest.mark.parametrize("dtype", [np.int64, np.uint8])
    def test_refused(self, first, step, dtype):
        labels, shifted = (self.LABELS + first).astype(dtype), (self.SOUND + first + step).astype(dtype)
        cells = [(self.SOUND + first).astype(dtype), shifted]
        beyond, other = (4, 0) if step > 0 else (0, 4)
        told = f"labels are {first} to {first + 3}, and 'b' predicts {beyond} but never {other}; it is right on "
        with pytest.raises(InputError, match=f"{told}.* and would be on 34 with 1 "):
            Predictions.from_arrays(cells, labels, names=["a", "b"])
        table = Predictions.from_arrays(cells, labels, names=["a", "b"], classes=5 if first == 0 else "any")
        assert table.correct[1].sum() < 10

    def test_files_and_gaps(self, tmp_path):
        """Cells that were not run say nothing; files are looked at together."""
        said = self.SOUND + 1
        paths = []
        for name, cells in (("a", self.SOUND), ("b", said)):
            paths.append(tmp_path / f"{name}.csv")
            rows = [f"{i},{label},{cell}" for i, (label, cell) in enumerate(zip(self.LABELS, cells, strict=True))]
            paths[-1].write_text("\n".join(["id,label,prediction", *rows]))
        with pytest.raises(InputError, match="'b' predicts 4 but never 0"):
            load_predictions(paths)
        gaps = np.where(np.arange(40) == 1, 0, said)  # its only 0
        observed = [np.ones(40, dtype=bool), np.arange(40) != 1]
        with pytest.raises(InputError, match="'b' predicts 4 but never 0"):
            Predictions.from_arrays([self.SOUND, gaps], self.LABELS, names=["a", "b"], observed=observed)

    @pytest.mark.parametrize("dtype", [np.int64, np.int8])
    def test_a_few_cells_at_the_other_end_hide_nothing(self, dtype):
        """-1 for no answer is 0 where 1 was added to all; the test set may lack the last class."""
        shifted = (np.where(np.arange(40) % 5 == 0, -1, self.LABELS) + 1).astype(dtype)
        told = r"'b' predicts 4; it is right on 2 of 40 examples, and would be on 32 with 1 taken"
        with pytest.raises(InputError, match=told):
            Predictions.from_arrays([self.SOUND, shifted], self.LABELS, names=["a", "b"])
        with pytest.raises(InputError, match="would be on 32"):
            Predictions.from_arrays([shifted], self.LABELS)
        assert Predictions.from_arrays([shifted], self.LABELS, classes=5).correct.sum() == 2

    def test_a_code_of_no_class_is_no_numbering(self):
        """-1 stands for no answer, and a class that is never named for a weak model."""
        said = np.where(self.LABELS == 3, -1, self.LABELS)
        assert Predictions.from_arrays([self.SOUND, said], self.LABELS).correct[1].sum() == 30
        said = np.where(self.LABELS == 0, 4, self.LABELS)
        assert Predictions.from_arrays([self.SOUND, said], self.LABELS).correct[1].sum() == 30


class TestClassesThatNobodyPredicts:
    """They are no slip where models are not right more often one off, and the data say what else they are."""

    @pytest.mark.parametrize(
        ("labels", "said"),
        [
            ([0] * 70 + [1] * 30, [0] * 100),  # of a majority, alone
            ([0] * 150 + [1] * 45 + [2] * 5, [0] * 140 + [1] * 60),  # a rare class
            ([3, 7, 1, 9, 2], [3, 7, 1, 8, 2]),  # five rows of ten classes
            ([1, 2, 3, 4, 5] * 8, [1, 2, 3, 4, 4] * 8),  # ratings
        ],
    )
    def test_read(self, labels, said):
        right = sum(a == b for a, b in zip(labels, said, strict=True))
        assert Predictions.from_arrays([said], labels).correct.sum() == right

    def test_one_example_of_each_of_many_classes(self):
        labels = np.arange(1000)
        said = np.where(labels % 4 == 3, (labels + 500) % 1000, labels)
        assert Predictions.from_arrays([said], labels).correct.sum() == 750

    @pytest.mark.parametrize(
        ("labels", "said", "classes"),
        [
            (np.tile(np.arange(1, 11), 9), np.tile([1, 2, 3, 4, 5, 6, 7, 8, 9, 0], 9), 11),  # 10 for 0, as in SVHN
            ([0, 1, 2] * 20 + [255] * 4, [0, 1, 2] * 20 + [1] * 4, 256),  # 255 for what is not labelled
            ([0, 1, 2] * 20 + [255], [0, 1, 1] * 20 + [1], 256),
            ([0, 1, 2] * 20 + [-1] * 4, [0, 1, 2] * 20 + [1] * 4, '"any"'),
            ([0] * 70 + [1] * 30, [1] * 100, 2),
            (np.arange(50) % 5 + 1, np.arange(50) % 5, 6),
        ],
    )
    def test_refused(self, labels, said, classes):
        with pytest.raises(InputError, match=rf"range of all predictions.*`classes={classes}`"):
            Predictions.from_arrays([said], labels)
        known = "any" if classes == '"any"' else classes
        if np.equal(labels, said).any():
            assert Predictions.from_arrays([said], labels, classes=known).n_models == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"names": ["a", "a"]}, "'a' stands for more than one model"),
        ({"names": ["a"]}, "1 names for 2 models"),
        ({"names": ["a", ""]}, "model 1 has an empty name"),
        ({"ids": [1, 2, 2, 3]}, "example '2' is there more than once"),
        ({"ids": [1, 2]}, "2 ids for 4 examples"),
        ({"labels": [0, 1, 2]}, r"shape \(2, 4\) but there are 3 labels"),
        (
            {"labels": [1, 2, 3, 3]},
            "label 3 of example 2 lies outside 0 to 2.*from 0 and the other from 1.*`classes=4`",
        ),
        ({"labels": [0, 1, 2, -1]}, "label -1 of example 3 lies outside"),
        ({"labels": [0, 1, 2, None]}, "example 3 has no label"),
        ({"labels": [0, 1, 2, np.nan]}, "labels: NaN stands in 1 of 4 cells"),
        ({"labels": ["a", "b", "c", "c"]}, "labels such as 'a' and predictions such as 0 are of different kinds"),
        ({"labels": [2, 2, 1, 1], "predictions": [[0, 1, 2, 2]]}, "no model is right on any example"),
        ({"labels": [["a", "b"], ["c", "d"]]}, "one label per example"),
        ({"predictions": [[0, 1, 2, np.nan]]}, 'predictions: NaN stands in 1 of 4 cells; mark .*missing="nan"'),
        ({"predictions": [[0, 1, 2, 0.5]]}, "0.5 is not a class number.*argmax"),
        ({"predictions": [[0, 1, 2, np.inf]]}, "inf is not a class number"),
        ({"predictions": [[0, 1, 2, "x"]], "labels": list("abxx")}, r"several kinds \(int, str\)"),
        ({"predictions": [[0, 1, "x", True]]}, r"several kinds \(bool, int, str\)"),
        ({"predictions": [[0, 1, 2, "NA"]]}, r"'NA' stands in 1 cells: .* not run, say so with `missing='NA'`"),
        ({"predictions": np.zeros((2, 4, 3))}, r"shape \(2, 4, 3\)"),
        ({"predictions": np.zeros((0, 4))}, "empty: 0 models"),
        ({"predictions": np.zeros((2, 0)), "labels": []}, "empty: 2 models, 0 examples"),
        ({"predictions": [[0, 1, 2, 2], [0, 1]]}, r"different numbers of examples \(2, 4\).*align"),
        ({"predictions": np.array([["2020-01-01"]], dtype="datetime64[D]")}, "neither class numbers nor class names"),
        ({"predictions": [[None] * 4] * 2, "labels": list("abcd")}, "every cell of 'model 0', 'model 1' is missing"),
        ({"predictions": [[None] * 4] * 2}, "every cell of 'model 0', 'model 1' is missing"),
        ({"missing": [0, 1, 2]}, "every cell of 'model 0', 'model 1' is missing"),
        ({"observed": [[1, 1]]}, r"`observed` has the shape \(1, 2\)"),
    ],
)
def test_refused(arguments, words):
    with pytest.raises(InputError, match=words) as caught:
        Predictions.from_arrays(**{"predictions": CELLS, "labels": LABELS, **arguments})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("correct", "words"),
    [
        ([[1, 0], [2, 1]], r"cell \(1, 0\) holds 2, but only 1 \(right\) and 0"),
        ([[1, 0], [np.nan, 1]], "NaN stands in 1 of 4 cells"),
        ([["yes", "no"]], "'yes' is text"),
        ([[None, None], [1, 0]], "every cell of 'model 0' is missing"),
        ([[None, None]], "every cell of 'model 0' is missing"),
        ([[None, "yes"]], "'yes' is text"),
        ([], "empty"),
    ],
)
def test_refused_marks(correct, words):
    with pytest.raises(InputError, match=words):
        Predictions.from_correct(correct)


def test_built_by_hand():
    """The constructor checks too, and keeps `correct` False where a cell is missing."""
    pool = Predictions(names=("a",), cells=np.array([[True, True]]), observed=np.array([[True, False]]))
    assert pool.correct.tolist() == [[True, False]]
    with pytest.raises(InputError, match="belong together"):
        Predictions(names=("a",), cells=np.array([[True]]), labels=np.array([1]))
    with pytest.raises(InputError, match="truth values"):
        Predictions(names=("a",), cells=np.array([[1, 0]]))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="have the shapes"):
        Predictions(names=("a",), cells=np.array([[True]]), labels=np.array([1]), predictions=np.array([[1, 2]]))


def test_a_pool_that_is_never_right_is_possible_as_marks():
    """Hard questions exist; only labels against answers can show that two spellings were mixed up."""
    assert Predictions.from_correct([[0, 0], [0, 0]]).correct.sum() == 0


def test_long_answers_do_not_set_the_width_of_every_cell():
    answers = np.array([["short"] * 3000 + ["x" * 100_000]], dtype=object)
    pool = Predictions.from_arrays(answers, ["short"] * 3001)
    assert pool.predictions is not None
    assert pool.predictions.nbytes < 1e6
    assert pool.correct.sum() == 3000


def test_numbers_past_64_bits_are_compared_as_text():
    pool = Predictions.from_arrays([[10**30, 1]], [str(10**30), "2"], classes="any")
    assert pool.correct.tolist() == [[True, False]]


class TestOwnArrays:
    """A table is what was checked: nobody writes into it, or into it by way of their own arrays."""

    @pytest.mark.parametrize("make", [Predictions.from_correct, Predictions.from_scores])
    @pytest.mark.parametrize("kind", [bool, float, int])
    def test_cells(self, make, kind):
        given = np.array([[1, 0, 1], [0, 1, 1]]).astype(kind)
        pool = make(given)
        known = pool.cells.copy()
        given[:] = 1 - given.astype(int)
        assert (pool.cells == known).all()
        with pytest.raises(ValueError, match="read-only"):
            pool.cells[0, 0] = 1

    def test_answers_and_columns(self):
        answers, labels, repo = np.array([[0, 1], [1, 1]]), np.array([0, 1]), np.array(["p", "q"])
        pool = Predictions.from_arrays(answers, labels, columns={"repo": repo})
        answers[:], labels[:], repo[:] = 7, 7, "x"
        assert (pool.predictions.tolist(), pool.labels.tolist()) == ([[0, 1], [1, 1]], [0, 1])
        assert pool.columns["repo"].tolist() == ["p", "q"]
        for array in (pool.predictions, pool.labels, pool.columns["repo"], pool.select([0]).cells):
            assert not array.flags.writeable


def test_cells_are_named():
    with pytest.raises(InputError, match="'b' holds 7 on the example 'y', but scores"):
        Predictions.from_scores([[0, 1], [1, 7]], names=["a", "b"], ids=["x", "y"])
    with pytest.raises(InputError, match="'b' holds 7 on the example 1, but only"):
        Predictions.from_correct([[0, 1], [1, 7]], names=["a", "b"])
    with pytest.raises(InputError, match=r"the cell \(1, 1\) holds 7"):
        Predictions.from_correct([[0, 1], [1, 7]])


def test_position_of_a_model():
    pool = Predictions.from_correct([[1, 0]] * 30, names=[f"model-{i}" for i in range(30)])
    assert (pool.position("model-7"), pool.position(-1)) == (7, 29)
    with pytest.raises(InputError, match=r"no model 'Model-7' in arrays; did you mean 'model-7'\? .* and 10 more"):
        pool.select(["Model-7"])
    with pytest.raises(InputError, match="no model 30 in arrays, which has 30 models, numbered from 0"):
        pool.position(30)
