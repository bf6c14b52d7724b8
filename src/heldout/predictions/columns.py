"""Tables with named columns (CSV, Parquet, rows of JSON) to `Predictions`.

Two layouts. *Wide*: one row an example, with an optional id, the label, and one column a model; without a label
the models' columns are 0/1. *Long*: one row a model and example, with a column that names the model; without
that column, the file is one model's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.predictions.table import Predictions, make_table
from heldout.predictions.values import ABSENT, as_text, listing

MODEL = ("model", "model_name")
EXAMPLE = ("id", "example_id", "doc_id", "question_id", "sample_id")
PREDICTION = ("prediction", "pred", "answer")
LABEL = ("label", "target", "gold", "reference")
CORRECT = ("correct", "is_correct", "acc", "exact_match")
WEAK = ("answer", "acc", "exact_match")  # could as well be columns of something else
INDEX = ("", "Unnamed: 0")  # what pandas calls the index that it writes

Column = Any  # a list, tuple or array


@dataclass(frozen=True, kw_only=True)
class Options:
    """Where things stand in a file; None: under one of their usual names."""

    predictions_key: str | None = None
    labels_key: str | None = None
    correct_key: str | None = None
    names_key: str | None = None
    ids_key: str | None = None
    models_axis: int | None = None
    codes: Sequence[Any] = ()
    metric: str | None = None


def from_columns(
    columns: dict[str, Column], options: Options, *, source: str, name: str, text: bool = False
) -> Predictions:
    """A table from its columns.

    Parameters
    ----------
    columns : dict
        Columns of equal length, in file order.
    source : str
        File name, for errors and the record.
    name : str
        The model's name where the table holds one model without saying which.
    text : bool
        Cells are text, as in CSV: numbers are read from it, and an empty cell is missing.
    """

    model, example, roles = _roles(columns, options, source=source)
    found = {role: columns[key] for role, key in roles.items() if key is not None}
    if not found.keys() & {"correct", "predictions"}:
        if model is not None or options.predictions_key is not None:
            raise InputError(
                f"{source} has neither a column `correct` nor both `prediction` and `label` (correct_key, "
                f"predictions_key, labels_key); it has {listing(list(columns), 8)}."
            )
        return _wide(columns, example, roles.get("labels"), options, source=source, text=text)
    ids = None if example is None else columns[example]
    if text:
        found = _read_text(found)
    if model is None:
        return make_table(**found, names=[name], ids=ids, missing=options.codes, source=source)
    if ids is None:
        raise InputError(f"{source} has no column for the example's id, such as `id` (ids_key).")
    return _long(columns[model], ids, found, options, source=source)


def _roles(
    columns: dict[str, Column], options: Options, *, source: str
) -> tuple[str | None, str | None, dict[str, str | None]]:
    """Columns of the model's name, of the example's id, and of what is read of each cell."""
    taken: set[str | None] = set()

    def pick(wanted: str | None, usual: tuple[str, ...], option: str) -> str | None:
        if wanted is not None and wanted not in columns:
            raise InputError(f"{source} has no column {wanted!r} ({option}); it has {listing(list(columns), 8)}.")
        if wanted is None:
            wanted = next((key for key in usual if key in columns and key not in taken), None)
        taken.add(wanted)
        return wanted

    taken |= {options.predictions_key, options.correct_key}
    model = pick(options.names_key, MODEL, "names_key")
    example = pick(options.ids_key, EXAMPLE + INDEX, "ids_key")
    label = pick(options.labels_key, LABEL, "labels_key")
    correct = pick(options.correct_key, CORRECT if options.predictions_key is None else (), "correct_key")
    answer = pick(options.predictions_key, PREDICTION if options.correct_key is None else (), "predictions_key")
    if model is None and columns.keys() - taken:  # other columns may be the models of a wide table
        correct = None if correct in WEAK and options.correct_key is None else correct
        answer = None if answer in WEAK and options.predictions_key is None else answer
    if correct is not None:  # the grader's word, who may accept more than the label's own spelling
        return model, example, {"correct": correct}
    if label is None:
        answer = None  # answers without labels say nothing about who is right
    return model, example, {"predictions": answer, "labels": label}


def _wide(
    columns: dict[str, Column],
    example: str | None,
    label: str | None,
    options: Options,
    *,
    source: str,
    text: bool,
) -> Predictions:
    names = [key for key in columns if key not in (example, label)]
    if not names:
        raise InputError(f"{source} has no column of a model beside {listing(list(columns), 8)}.")
    cells = {key: columns[key] for key in names}
    labels = None if label is None else columns[label]
    if text and labels is None:
        cells = {key: text_marks(column) for key, column in cells.items()}
    elif text and labels is not None:
        *read, labels = text_classes([*cells.values(), labels])
        cells = dict(zip(names, read, strict=True))
    _check_strays(cells, labels, source=source)
    matrix = _stack(list(cells.values()))
    where = "correct" if labels is None else "predictions"
    try:
        return make_table(
            **{where: matrix},
            labels=labels,
            names=names,
            ids=None if example is None else columns[example],
            missing=options.codes,
            source=source,
        )
    except InputError as error:
        if labels is None:
            raise InputError(
                f"{str(error).removesuffix('.')}; without a column `label` (labels_key), the columns {listing(names)} "
                "must be 0/1."
            ) from error
        raise


def _check_strays(cells: dict[str, Column], labels: Column | None, *, source: str) -> None:
    """A column of remarks beside class numbers would pass for a model that is always wrong."""
    if labels is None or not any(_looks_numeric(v) for v in labels[:1]):
        return
    for key, column in cells.items():
        there = [v for v in column[:1000] if v is not None]
        if there and not any(_looks_numeric(v) for v in there):
            raise InputError(
                f"{source}: the column {key!r} holds text such as {there[0]!r} but labels are numbers such as "
                f"{labels[0]}; leave columns out that are no model's predictions."
            )


def _looks_numeric(value: Any) -> bool:
    return _number(value) is not None if isinstance(value, str) else isinstance(value, (int, float, np.number))


def _stack(columns: list[Column]) -> NDArray[Any]:
    """One row a column; numbers stay numbers where every column is an array of them."""
    if all(isinstance(column, np.ndarray) and column.dtype.kind in "biuf" for column in columns):
        return np.array(columns)
    matrix = np.empty((len(columns), len(columns[0])), dtype=object)
    for row, column in zip(matrix, columns, strict=True):
        row[:] = column
    return matrix


def _read_text(found: dict[str, Column]) -> dict[str, Column]:
    """Cells of a CSV in their roles."""
    if "correct" in found:
        return {"correct": text_marks(found["correct"])}
    return dict(zip(found, text_classes(list(found.values())), strict=True))


def text_classes(columns: list[Column]) -> list[NDArray[Any]]:
    """Text as numbers if every cell of all columns is one, else as it stands; an empty cell is None.

    Each distinct text is looked at once: a large table has few.

    Examples
    --------
    >>> text_classes([["1", ""], ["2", "nan"]])
    [array([1, None], dtype=object), array([2, nan], dtype=object)]
    >>> text_classes([["1", ""], ["2", "x"]])
    [array(['1', None], dtype=object), array(['2', 'x'], dtype=object)]
    """
    distinct = set().union(*columns) - {""}
    values = {text: _number(text) for text in distinct}
    if None in values.values():
        values = {text: text for text in distinct}
    values[""] = None
    return [np.array([values[cell] for cell in column], dtype=object) for column in columns]


def text_marks(column: Column) -> NDArray[Any]:
    """The same for right and wrong, which may also be spelled true and false."""
    truth = {"true": 1, "false": 0}
    values: dict[str, Any] = {text: truth.get(text.lower(), _number(text)) for text in set(column)}
    values = {text: text if value is None else value for text, value in values.items()} | {"": None}
    return np.array([values[cell] for cell in column], dtype=object)


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def _long(models: Column, ids: Column, found: dict[str, Column], options: Options, *, source: str) -> Predictions:
    """One row a model and example to one row a model."""
    names, row = _positions(models)
    examples, place = _positions(ids)
    k, n = len(names), len(examples)
    counts = np.bincount(row * n + place, minlength=k * n)
    if (counts > 1).any():
        model, example = divmod(int(np.argmax(counts)), n)
        raise InputError(
            f"{source}: the model {names[model]!r} has more than one row for the example "
            f"{examples[example]!r}; keep one."
        )
    check_same_examples(names, counts.reshape(k, n).sum(axis=1), n, options.codes, source=source)
    parts: dict[str, Any] = {}
    for role, column in found.items():
        if role == "labels":
            parts[role] = _labels_of_examples(column, place, examples, source=source)
        else:
            parts[role] = np.full((k, n), None, dtype=object)
            parts[role][row, place] = column
    return make_table(**parts, names=names, ids=examples, missing=options.codes, source=source)


def _positions(column: Column) -> tuple[list[str], NDArray[np.intp]]:
    """Distinct values in order of appearance, and the position of each cell's value among them."""
    first: dict[str, int] = {}
    cells = map(as_text, column.tolist() if isinstance(column, np.ndarray) else column)
    position = np.array([first.setdefault(cell, len(first)) for cell in cells], dtype=np.intp)
    return list(first), position


def _labels_of_examples(column: Column, place: NDArray[np.intp], examples: list[str], *, source: str) -> NDArray[Any]:
    labels = np.empty(len(examples), dtype=object)
    cells = np.empty(len(column), dtype=object)
    cells[:] = column
    labels[place] = cells
    differ = np.asarray(labels[place] != cells, dtype=bool)
    if differ.any():
        where = int(np.argmax(differ))
        raise InputError(
            f"{source}: the example {examples[place[where]]!r} has the label {cells[where]!r} in one row and "
            f"{labels[place[where]]!r} in another."
        )
    return labels


def check_same_examples(
    names: Sequence[str], counts: NDArray[np.int64], n: int, codes: Iterable[Any], *, source: str
) -> None:
    """Every model must have all n examples, unless absent ones are declared missing."""
    if ABSENT in codes or (counts == n).all():
        return
    where = int(np.argmin(counts))
    raise InputError(
        f"{source}: the models have different examples, {names[where]!r} {counts[where]:,} of {n:,}; join them on the "
        'example\'s id (heldout.predictions.align), or give missing="absent" (--missing absent) to count what a model '
        "lacks as not run."
    )
