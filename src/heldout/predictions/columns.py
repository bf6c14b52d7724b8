"""Tables with named columns (CSV, Parquet, rows of JSON) to `Predictions`.

Two layouts. *Wide*: one row an example, with an optional id, the label, and one column a model; without a label
the models' columns are 0/1. *Long*: one row a model and example, with a column that names the model; without
that column, the file is one model's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.predictions.join import different_examples
from heldout.predictions.keys import (
    BESIDE,
    CORRECT,
    EXAMPLE,
    INDEX,
    LABEL,
    LABEL_LIKE,
    METADATA,
    MODEL,
    PREDICTION,
    ROLE_NAMES,
    Options,
    Role,
    flag,
    pick,
    plain_name,
)
from heldout.predictions.table import Predictions, make_table
from heldout.predictions.values import ABSENT, Codes, as_text, is_gap, listing

Column = Any  # a list, tuple or array


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
    options.refuse_metric(source)
    saved = {name: columns[key] for key, name in options.saved(columns).items()}
    columns = {key: column for key, column in columns.items() if not key.startswith(BESIDE)}
    beside = saved | {key: column for key, column in columns.items() if _is_beside(key, column, options)}
    read = {key: column for key, column in columns.items() if key not in beside or plain_name(key) in ROLE_NAMES}
    model, example, roles = _roles(read, options, source=source)
    found = {role: columns[key] for role, key in roles.items() if key is not None}
    if not found.keys() & {"correct", "predictions"}:
        if model is not None or options.predictions_key is not None:
            raise InputError(
                f"{source} has neither a column `correct` nor both `prediction` and `label`; it has "
                f"{listing(list(columns), 8)}, so say which they are with {flag('correct_key')}, or with "
                f"{flag('predictions_key')} and {flag('labels_key')}."
            )
        return _wide(read, example, roles.get("labels"), options, source=source, text=text, beside=beside)
    ids = None if example is None else columns[example]
    if text:
        found = _read_text(found, options.codes)
    if "correct" in found:
        found = {"scores": found["correct"]}
    if model is None:
        scale = options.scale if "scores" in found else None
        return make_table(
            **found, scale=scale, names=[name], ids=ids, missing=options.codes, source=source, columns=beside
        )
    if ids is None:
        raise InputError(
            f"{source} has no column for the example's id, such as `id`; say which with {flag('ids_key')}."
        )
    return _long(columns[model], ids, found, options, source=source, beside=beside)


def _is_beside(key: str, column: Column, options: Options) -> bool:
    """Whether a column tells of the examples; one of marks may be a model's, whatever its name."""
    if not options.beside(key) or key in options.own_keys():
        return False
    return key in options.columns or not all(_looks_numeric(value) for value in column[:100])


def _roles(
    columns: dict[str, Column], options: Options, *, source: str
) -> tuple[str | None, str | None, dict[str, str | None]]:
    """Columns of the model's name, of the example's id, and of what is read of each cell."""
    taken = {key for key in (options.predictions_key, options.correct_key, options.labels_key) if key is not None}

    def find(role: Role, wanted: str | None, *, weak: bool = False) -> str | None:
        key = pick(columns, wanted, role, source=source, noun="column", weak=weak, taken=taken)
        if key is not None:
            taken.add(key)
        return key

    model = find(MODEL, options.names_key)
    example = find(EXAMPLE, options.ids_key, weak=True)
    known = ROLE_NAMES | METADATA
    others = [key for key in columns if key not in taken and plain_name(key) not in known]
    # else other columns may be the models of a wide table
    alone = model is not None or all(options.exclude.fitting(key) for key in others)
    label = find(LABEL, options.labels_key)
    correct = answer = None
    if options.correct_key is not None or options.predictions_key is None:
        correct = find(CORRECT, options.correct_key, weak=alone)
    if options.correct_key is None:
        answer = find(PREDICTION, options.predictions_key, weak=alone)
    if correct is not None:  # the grader's word, who may accept more than the label's own spelling
        return model, example, {"correct": correct}
    if label is None and (alone or answer is not None):
        label = find(LABEL, None, weak=True)
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
    beside: dict[str, Column],
) -> Predictions:
    names = [key for key in columns if key not in (example, label) and not INDEX.fullmatch(plain_name(key))]
    if not names:
        raise InputError(f"{source} has no column of a model beside {listing(list(columns), 8)}.")
    names = options.exclude.kept(names)
    _check_names(names, label, source=source)
    cells = {key: columns[key] for key in names}
    labels = None if label is None else columns[label]
    if text and labels is None:
        cells = {key: text_marks(column, options.codes) for key, column in cells.items()}
    elif text and labels is not None:
        *read, labels = text_classes([*cells.values(), labels], options.codes)
        cells = dict(zip(names, read, strict=True))
    _check_strays(cells, labels, source=source)
    matrix = _stack(list(cells.values()))
    where = "scores" if labels is None else "predictions"
    try:
        return make_table(
            **{where: matrix},
            scale=options.scale if labels is None else None,
            labels=labels,
            names=names,
            ids=None if example is None else columns[example],
            missing=options.codes,
            source=source,
            columns=beside,
        )
    except InputError as error:
        if labels is None:
            raise InputError(
                f"{str(error).removesuffix('.')}; without a column `label`, {flag('labels_key')}, the columns "
                f"{listing(names)} must hold 0 and 1, or scores."
            ) from error
        raise


def _check_names(names: list[str], label: str | None, *, source: str) -> None:
    """A column that is no model's by its name would be read as one, and the numbers be nonsense."""
    for name in names:
        if label is None and plain_name(name) in LABEL_LIKE:
            raise InputError(
                f"{source}: `{name}` looks like the labels: say so with labels_key={name!r} (--labels-key {name}), or "
                "rename it."
            )
    for name in names:
        if plain_name(name) in ROLE_NAMES | METADATA:
            raise InputError(
                f"{source}: the column `{name}` looks like no model's: leave it out with exclude={name!r} "
                f"(--exclude {name}), or rename it if it is one."
            )


def _check_strays(cells: dict[str, Column], labels: Column | None, *, source: str) -> None:
    """A column of remarks beside class numbers would pass for a model that is always wrong."""
    if labels is None or not any(_looks_numeric(v) for v in labels[:1]):
        return
    for key, column in cells.items():
        there = [v for v in column[:1000] if v is not None]
        if there and not any(_looks_numeric(v) for v in there):
            raise InputError(
                f"{source}: the column {key!r} holds text such as {there[0]!r} but labels are numbers such as "
                f"{labels[0]}; if it is no model's, leave it out with exclude={key!r} (--exclude {key})."
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


def _read_text(found: dict[str, Column], codes: Codes) -> dict[str, Column]:
    """Cells of a CSV in their roles."""
    if "correct" in found:
        return {"correct": text_marks(found["correct"], codes)}
    return dict(zip(found, text_classes(list(found.values()), codes), strict=True))


def text_classes(columns: list[Column], codes: Codes) -> list[NDArray[Any]]:
    """Text as numbers if every cell of all columns is one, else as it stands; None where empty or a code.

    Each distinct text is looked at once: a large table has few.

    Examples
    --------
    >>> text_classes([["1", ""], ["2", "nan"]], Codes())
    [array([1, None], dtype=object), array([2, nan], dtype=object)]
    >>> text_classes([["1", ""], ["2", "x"]], Codes())
    [array(['1', None], dtype=object), array(['2', 'x'], dtype=object)]
    >>> text_classes([["1", ""], ["2", "x"]], Codes("x"))
    [array([1, None], dtype=object), array([2, None], dtype=object)]
    """
    gaps = _gaps(set().union(*columns), codes)
    distinct = set().union(*columns) - gaps.keys()
    values = {text: _number(text) for text in distinct}
    if None in values.values():
        values = {text: text for text in distinct}
    values |= gaps
    return [np.array([values[cell] for cell in column], dtype=object) for column in columns]


def text_marks(column: Column, codes: Codes) -> NDArray[Any]:
    """The same for right and wrong, which may also be spelled true and false."""
    truth = {"true": 1, "false": 0}
    values: dict[str, Any] = {text: truth.get(text.lower(), _number(text)) for text in set(column)}
    values = {text: text if value is None else value for text, value in values.items()} | _gaps(set(column), codes)
    return np.array([values[cell] for cell in column], dtype=object)


def _gaps(cells: set[str], codes: Codes) -> dict[str, None]:
    """What marks a missing cell."""
    found = {str(code): code for code in codes if str(code) in cells}
    for code in found.values():
        codes.meet(code)
    return dict.fromkeys(["", *found])


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def _long(
    models: Column,
    ids: Column,
    found: dict[str, Column],
    options: Options,
    *,
    source: str,
    beside: dict[str, Column],
) -> Predictions:
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
    present = counts.reshape(k, n).sum(axis=1)
    if ABSENT not in options.codes and (present < n).any():
        where = int(np.argmin(present))
        raise different_examples(source, f"{names[where]!r} {present[where]:,} of {n:,}")
    parts: dict[str, Any] = {}
    for role, column in found.items():
        if role == "labels":
            parts[role] = _of_examples(column, place, examples, source=source, what=("the label ", ""))
        else:
            parts[role] = np.full((k, n), None, dtype=object)
            parts[role][row, place] = column
    told = {}
    for key, column in beside.items():
        asked = key in options.columns
        what = ("", f" in the column {key!r}") if asked else None
        values = _of_examples(column, place, examples, source=source, what=what)
        if values is not None:
            told[key] = values
    return make_table(
        **parts,
        scale=options.scale if "scores" in parts else None,
        names=names,
        ids=examples,
        missing=options.codes,
        source=source,
        columns=told,
    )


def _of_examples(
    column: Column, place: NDArray[np.intp], examples: list[str], *, source: str, what: tuple[str, str] | None
) -> NDArray[Any] | None:
    """One value for each example; None if rows of an example differ, or an error with `what` around the value."""
    found = np.full(len(examples), None, dtype=object)
    cells = np.empty(len(column), dtype=object)
    cells[:] = column
    found[place] = cells
    pairs = zip(found[place], cells, strict=True)
    where = next((i for i, (a, b) in enumerate(pairs) if a is not b and _differ(a, b)), None)
    if where is None:
        return found
    if what is None:
        return None
    raise InputError(
        f"{source}: the example {examples[place[where]]!r} has {what[0]}{cells[where]!r}{what[1]} in one row and "
        f"{found[place[where]]!r} in another."
    )


def _differ(a: Any, b: Any) -> bool:
    """Whether two values are not the same; nothing is the same as nothing, also where it is NaN."""
    if is_gap(a) or is_gap(b):
        return not (is_gap(a) and is_gap(b))
    return not np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a != b)


def _positions(column: Column) -> tuple[list[str], NDArray[np.intp]]:
    """Distinct values in order of appearance, and the position of each cell's value among them."""
    first: dict[str, int] = {}
    cells = map(as_text, column.tolist() if isinstance(column, np.ndarray) else column)
    position = np.array([first.setdefault(cell, len(first)) for cell in cells], dtype=np.intp)
    return list(first), position
