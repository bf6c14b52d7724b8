"""`Predictions`: what several models answered on one test set."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.predictions.cells import both_masks, matrix, read_answers
from heldout.predictions.keys import TEXTS, plain_name
from heldout.predictions.numbering import check_numbering
from heldout.predictions.values import Codes, is_gap, listing, read_ids, read_marks, read_names, refuse_path

ARRAYS = "arrays"  # the source of what no file brought


@dataclass(frozen=True, kw_only=True, eq=False)
class Predictions:
    """Which of k models is right on which of n examples, and, where known, what each answered.

    Made by `from_arrays`, `from_correct` or `load`; all of them check what comes in, and nothing later does.

    Attributes
    ----------
    names : tuple of str
        The k models, no two alike.
    correct : (k, n) bool
        False also where a cell is missing.
    observed : (k, n) bool or None
        Which cells are there; None where all are. Wrong and missing are different things.
    predictions : (k, n) of whole numbers or text, or None
        Answers, where they are known; the value of a missing cell means nothing.
    labels : (n,) or None
        True answers.
    ids : tuple of str, or None
        The n examples, no two alike.
    source : str
        What was read.
    columns : dict of str to (n,) array
        What else is known of each example: the repository it comes from, the text it asks.

    Examples
    --------
    >>> pool = Predictions.from_arrays([[0, 1, 2, -1], [0, 2, 2, 2]], [0, 1, 2, 2], names=["a", "b"], missing=-1)
    >>> print(pool)
    2 models, 4 examples, 1 cell missing (arrays)
    >>> pool.wrong.sum(axis=1)
    array([0, 1])
    """

    names: tuple[str, ...]
    correct: NDArray[np.bool_]
    observed: NDArray[np.bool_] | None = None
    predictions: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    ids: tuple[str, ...] | None = None
    source: str = ARRAYS
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        correct = np.asarray(self.correct)
        if np.ma.is_masked(self.correct):
            raise InputError("`correct` is masked; Predictions.from_correct takes masks.")
        if correct.ndim != 2 or correct.dtype != np.bool_:
            raise InputError(
                f"`correct` has the shape {correct.shape} and the type {correct.dtype}; truth values of shape "
                "(n_models, n_examples) are needed (Predictions.from_correct turns 0/1)."
            )
        k, n = correct.shape
        if k == 0 or n == 0:
            raise InputError(f"the pool is empty: {k:,} models, {n:,} examples.")
        object.__setattr__(self, "names", read_names(self.names, k))
        object.__setattr__(self, "ids", read_ids(self.ids, n))
        observed = self.observed
        if observed is not None:
            observed = np.asarray(observed)
            if observed.shape != (k, n) or observed.dtype != np.bool_:
                raise InputError(
                    f"`observed` has the shape {observed.shape} and the type {observed.dtype}; truth values of the "
                    f"shape of the cells, {(k, n)}, are needed."
                )
            without = np.flatnonzero(~observed.any(axis=1))
            if len(without):
                names = [self.names[i] for i in without]
                raise InputError(f"every cell of {listing(names)} is missing; leave such models out.")
            observed = None if observed.all() else observed
            correct = correct if observed is None else correct & observed
        if (self.predictions is None) != (self.labels is None):
            raise InputError("`predictions` and `labels` belong together; give both or neither.")
        if self.predictions is not None and self.labels is not None:
            shapes = self.predictions.shape, self.labels.shape
            if shapes != ((k, n), (n,)):
                raise InputError(f"`predictions`, `labels` have the shapes {shapes} but `correct` has {(k, n)}.")
        object.__setattr__(self, "observed", observed)
        object.__setattr__(self, "correct", correct)
        object.__setattr__(self, "columns", {name: as_column(v, n, name) for name, v in self.columns.items()})

    @classmethod
    def from_arrays(
        cls,
        predictions: ArrayLike,
        labels: ArrayLike,
        *,
        names: Iterable[str] | None = None,
        ids: Iterable[Any] | None = None,
        observed: ArrayLike | None = None,
        missing: Any = None,
        classes: int | Sequence[Any] | str | None = None,
        columns: Mapping[str, ArrayLike | Sequence[Any]] | None = None,
    ) -> Predictions:
        """What scikit-learn models predict, and the true labels.

        Parameters
        ----------
        predictions : (n_models, n_examples), or (n_examples,) of one model
            Class numbers or class names. Masked cells and None are missing.
        labels : (n_examples,)
            Of the same kind.
        names : k str, optional
            Models; numbered from 0 without.
        ids : n values, optional
            Examples.
        observed : (n_models, n_examples) bool, optional
            False for a cell that was not run.
        missing : value or several, optional
            Codes of a cell that was not run: -2, say, or "nan". Any other code that is no class, such as -1 for
            an answer nobody could read, is simply wrong. A code that no cell holds is refused.
        classes : int, sequence or "any", optional
            Labels must lie among the classes: a number m means 0 to m-1. Without it, whole-number labels must lie
            between the smallest and the largest prediction, since labels counted from 1 and predictions counted
            from 0 are a common slip; and so must be an answer of every model that is never right. "any" turns
            both checks off (free-form answers).
        columns : dict of n values each, optional
            What else is known of each example; `budget(..., groups="repo")` names one.
        """
        table = make_table(
            predictions=predictions,
            labels=labels,
            names=names,
            ids=ids,
            observed=observed,
            missing=missing,
            columns=columns,
        )
        check_numbering(table, classes)
        return table

    @classmethod
    def from_correct(
        cls,
        correct: ArrayLike,
        *,
        names: Iterable[str] | None = None,
        ids: Iterable[Any] | None = None,
        observed: ArrayLike | None = None,
        missing: Any = None,
        columns: Mapping[str, ArrayLike | Sequence[Any]] | None = None,
    ) -> Predictions:
        """A matrix of 1 (right) and 0 (wrong), (n_models, n_examples), when that is all there is.

        Examples
        --------
        >>> print(Predictions.from_correct([[1, 0, 1], [1, 1, None]]))
        2 models, 3 examples, 1 cell missing (arrays)
        """
        return make_table(correct=correct, names=names, ids=ids, observed=observed, missing=missing, columns=columns)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        format: str | None = None,
        predictions_key: str | None = None,
        labels_key: str | None = None,
        correct_key: str | None = None,
        names_key: str | None = None,
        ids_key: str | None = None,
        models_axis: int | None = None,
        missing: Any = None,
        classes: int | Sequence[Any] | str | None = None,
        metric: str | None = None,
        exclude: str | Iterable[str] | None = None,
        columns: str | Iterable[str] = (),
    ) -> Predictions:
        """Read a file or a folder.

        Parameters
        ----------
        path : path
            `.npz`, `.csv` (separated by commas, semicolons or tabs), `.tsv`, `.parquet`, `.json`, `.jsonl`, an
            inspect_ai log (`.json`, `.eval`), samples of lm-evaluation-harness (`.jsonl`), or a folder of one such
            file a model.
        format : str, optional
            "npz", "csv", "tsv", "parquet", "json", "jsonl", "lm-eval", "inspect" or "folder"; told from the suffix
            and the content without.
        predictions_key, labels_key, correct_key, names_key, ids_key : str, optional
            Keys of an `.npz` or JSON object, or columns of a table. Names may be picked by an array of
            positions: `models[arc_a_rows]`.
        models_axis : 0 or 1, optional
            Axis of the models in a matrix, where names and labels do not tell.
        missing, classes
            As in `from_arrays`. `missing="absent"` lets models have different examples: what a model lacks is
            missing.
        metric : str, optional
            Score to read from logs; `metric,filter` (lm-evaluation-harness) or `scorer,epoch` (inspect_ai)
            where an example has several. `,strict-match` chooses the filter alone: each task is read by its own
            metric, and a task that was scored with one filter only by that one.
        exclude : str or several, optional
            Models, or columns that are none, to leave out before anything is checked; `fv_*` is a pattern.
        columns : str or several, optional
            Columns (arrays of an `.npz`, fields of a document or of a sample's metadata) that tell of the examples, to
            be kept in `columns` where they are there. Texts that go by a usual name (question, input, prompt, ...)
            are kept unasked, since two examples with one text are one example.

        Notes
        -----
        Damage is refused wherever it shows. A file of lines that was cut exactly at the end of a line cannot be
        told from a shorter one.
        """
        from heldout.predictions.keys import Exclude, Options
        from heldout.predictions.load import load  # the readers make tables, so that they import this module

        options = Options(
            predictions_key=predictions_key,
            labels_key=labels_key,
            correct_key=correct_key,
            names_key=names_key,
            ids_key=ids_key,
            models_axis=models_axis,
            codes=Codes(missing),
            metric=metric,
            exclude=Exclude(exclude),
            columns=frozenset([columns] if isinstance(columns, str) else columns),
        )
        table = load(Path(path), format, options)
        check_numbering(table, classes)
        return table

    def save(self, path: str | Path) -> None:
        """Write `.npz`, `.csv`, `.parquet`, `.json` or `.jsonl`, whole or not at all.

        `load` reads it back; a table that needed `classes` needs it again. `columns` are written as `column:repo`, and
        read without being asked for; of values other than text and numbers, such as lists, the text is kept.
        """
        from heldout.predictions.writers import save

        save(self, Path(path))

    @property
    def n_models(self) -> int:
        """The number k of models."""
        return len(self.correct)

    @property
    def n_examples(self) -> int:
        """The number n of examples."""
        return int(self.correct.shape[1])

    @property
    def n_missing(self) -> int:
        """Number of missing cells."""
        return 0 if self.observed is None else int(self.observed.size - np.count_nonzero(self.observed))

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Wrong answers, (k, n); a missing cell is not wrong."""
        return ~self.correct if self.observed is None else self.observed & ~self.correct

    def digest(self) -> str:
        """Hash (sha256, hex) of names, right answers and missing cells."""
        h = hashlib.sha256(json.dumps([self.names, self.correct.shape]).encode())
        h.update(np.packbits(self.correct).data)
        if self.observed is not None:
            h.update(np.packbits(self.observed).data)
        return h.hexdigest()

    def select(self, models: str | Iterable[str] | Iterable[int]) -> Predictions:
        """Some of the models, by name or by position, in the order given; or by a mask of k truth values.

        Examples
        --------
        >>> pool = Predictions.from_correct([[1, 0], [0, 1], [1, 1]], names=["a", "b", "c"])
        >>> pool.select(["c", "a"]).names, pool.select([1]).names
        (('c', 'a'), ('b',))
        """
        position = {name: i for i, name in enumerate(self.names)}
        rows = []
        if isinstance(models, str):
            models = [models]
        elif isinstance(models, np.ndarray) and models.dtype == np.bool_:
            if models.shape != (self.n_models,):
                raise InputError(f"the mask has the shape {models.shape} but there are {self.n_models:,} models.")
            models = np.flatnonzero(models)
        for model in models:
            row = position.get(model) if isinstance(model, str) else int(model)
            if row is None or not -self.n_models <= row < self.n_models:
                raise InputError(f"there is no model {model!r} in {self.source}, which has {listing(self.names)}.")
            rows.append(row)
        return Predictions(
            names=tuple(self.names[i] for i in rows),
            correct=self.correct[rows],
            observed=None if self.observed is None else self.observed[rows],
            predictions=None if self.predictions is None else self.predictions[rows],
            labels=self.labels,
            ids=self.ids,
            source=self.source,
            columns=self.columns,
        )

    def repeated_inputs(self) -> tuple[NDArray[np.intp] | None, tuple[str, ...]]:
        """Number the distinct inputs of the examples, and name the columns that hold them; None where none repeats.

        An example whose texts are all empty is nobody's repetition; texts that are the same everywhere are no input.

        Examples
        --------
        >>> pool = Predictions.from_correct([[1, 0, 1]], columns={"question": ["1 + 1?", "2 + 2?", "1 + 1?"]})
        >>> pool.repeated_inputs()[0].tolist()
        [0, 1, 0]
        """
        return repeated_inputs(self.columns, self.n_examples)

    def __str__(self) -> str:
        text = f"{_count(self.n_models, 'model')}, {_count(self.n_examples, 'example')}"
        if self.n_missing:
            text += f", {_count(self.n_missing, 'cell')} missing"
        never = [name for name, right in zip(self.names, self.correct, strict=True) if not right.any()]
        if self.labels is not None and never:  # perhaps no model at all, but a column of something else
            text += f", right on no example: {listing(never)}"
        return f"{text} ({self.source})"


def repeated_inputs(columns: Mapping[str, NDArray[Any]], n: int) -> tuple[NDArray[np.intp] | None, tuple[str, ...]]:
    """Number the distinct inputs of n examples by their columns of texts; see `Predictions.repeated_inputs`."""
    names = tuple(name for name in columns if plain_name(name) in TEXTS)
    if not names:
        return None, ()
    rows = zip(*(columns[name].tolist() for name in names), strict=True)
    first: dict[Any, int] = {}
    codes = np.empty(n, dtype=np.intp)
    for i, row in enumerate(rows):
        key: Any = tuple("" if is_gap(value) else str(value) for value in row)
        codes[i] = first.setdefault(key if any(part.strip() for part in key) else i, len(first))
    if len(first) in (1, n):
        return None, ()
    return codes, names


def as_column(values: ArrayLike | Sequence[Any], n: int, name: str) -> NDArray[Any]:
    """What is known of each example, one value each; texts, lists and gaps stay as they are."""
    if isinstance(values, np.ndarray):
        column = values
    else:
        column = np.empty(len(cast("Sequence[Any]", values)), dtype=object)
        column[:] = values
    if column.shape != (n,):
        raise InputError(f"the column {name!r} has the shape {column.shape} but there are {n:,} examples.")
    return column


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def make_table(
    *,
    predictions: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    names: Iterable[Any] | None = None,
    ids: Iterable[Any] | None = None,
    observed: ArrayLike | None = None,
    missing: Any = None,
    source: str = ARRAYS,
    columns: Mapping[str, ArrayLike | Sequence[Any]] | None = None,
) -> Predictions:
    """A table of `correct`, or of `predictions` and `labels`, whose cells are checked one by one.

    What needs all models at once, whether labels and predictions number classes alike, is left to
    `check_numbering`: the models may come in several files.
    """
    codes = missing if isinstance(missing, Codes) else Codes(missing)
    refuse_path(predictions if correct is None else correct, what="predictions" if correct is None else "correct")
    try:
        answers, truth = None, None
        if correct is not None:
            marks, seen = read_marks(correct, codes, what="correct")
        else:
            assert predictions is not None, "`correct`, or `predictions` and `labels`"
            assert labels is not None
            answers, truth, seen = read_answers(predictions, labels, codes)
            marks = np.asarray(answers == truth)
        marks = matrix(marks, what="correct")
        table = Predictions(
            names=tuple(f"model {i}" for i in range(len(marks))) if names is None else tuple(names),
            correct=marks,
            observed=both_masks(observed, seen, marks.shape),
            predictions=answers,
            labels=truth,
            ids=None if ids is None else tuple(ids),
            source=source,
            columns={name: as_column(v, marks.shape[1], name) for name, v in (columns or {}).items()},
        )
        if codes is not missing:  # else whoever made the codes reads more with them
            codes.check()
        return table
    except InputError as error:
        if source == ARRAYS:
            raise
        raise InputError(f"{source}: {error}") from error
