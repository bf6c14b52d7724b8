"""What a table says of its examples and classes: labels, class probabilities, answers, for those who need no scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.predictions import inspect_logs, lm_eval
from heldout.predictions.formats import csv_columns, parquet_columns
from heldout.predictions.keys import EXAMPLE, INDEX, LABEL, METADATA, ROLE_NAMES, pick, plain_name
from heldout.predictions.raw import read_json_file, read_lines, suffix_of
from heldout.predictions.table import Predictions
from heldout.predictions.text_cells import text_classes
from heldout.predictions.values import Codes, as_text, is_gap, listing

CLOSE = 1e-3  # of the sum of probabilities to 1


def table_columns(path: Path) -> dict[str, Any]:
    """Columns of any table, or the targets of a log."""
    suffix = suffix_of(path)
    if suffix in (".csv", ".tsv"):
        return csv_columns(path)
    if suffix == ".parquet":
        return parquet_columns(path)
    if suffix == ".eval":
        return _rows(inspect_logs.samples_of(path), path)
    if suffix == ".jsonl":
        rows = read_lines(path)
        return _rows(lm_eval.first_filter(rows) if rows and lm_eval.is_sample(rows[0]) else rows, path)
    if suffix == ".json":
        content = read_json_file(path)
        if inspect_logs.is_log(content):
            return _rows(inspect_logs.samples_of(path), path)
        if isinstance(content, dict):
            return {key: value for key, value in content.items() if isinstance(value, list)}
        if isinstance(content, list):
            return _rows(content, path)
    raise InputError(
        f"{path} cannot be read: .npy, .npz, .csv, .tsv, .parquet, .json, .jsonl or .eval is needed (numpy.save writes "
        ".npy)."
    )


def _rows(rows: list[Any], path: Path) -> dict[str, Any]:
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path.name} must hold one object per row.")
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: [row.get(key) for row in rows] for key in keys}


def label_column(path: Path, key: str | None = None) -> NDArray[Any]:
    """The label of each example; rows of one example in a long table must agree on it."""
    columns = table_columns(path)
    found = pick(list(columns), key, LABEL, source=path.name, noun="column", weak=True)
    if found is None:
        raise InputError(
            f"{path.name} has no column of labels under the usual names; say which it is with --labels-key: it has "
            f"{listing(list(columns), len(columns))}."
        )
    values = columns[found]
    gap = next((i for i, value in enumerate(values) if is_gap(value) or as_text(value) == ""), None)
    if gap is not None:
        raise InputError(f"{path.name}: row {gap + 1} has no label.")
    values = [as_text(value[0] if isinstance(value, list) and len(value) == 1 else value) for value in values]
    ids = pick(list(columns), None, EXAMPLE, source=path.name, noun="column", weak=False)
    if ids is not None:
        first: dict[str, str] = {}
        for name, value in zip(map(as_text, columns[ids]), values, strict=True):
            if first.setdefault(name, value) != value:
                raise InputError(
                    f"{path.name}: the example {name!r} has the label {value!r} in one row and {first[name]!r} in "
                    "another."
                )
        values = list(first.values())
    labels = text_classes([values], Codes())[0]
    if all(isinstance(value, int) for value in labels):
        return labels.astype(np.int64)
    return labels.astype(np.str_)


def score_columns(path: Path, classes: tuple[str, ...] | None, *, whole: bool) -> tuple[NDArray[Any], list[str]] | None:
    """A table of numbers, one column for each class, in the order of the known ones; None where it is none."""
    columns = {
        key: values
        for key, values in table_columns(path).items()
        if plain_name(key) not in ROLE_NAMES | METADATA and not INDEX.fullmatch(plain_name(key))
    }
    if classes is not None and set(classes) <= columns.keys():
        columns = {name: columns[name] for name in classes}
    try:
        numbers = np.array([[float(value) for value in values] for values in columns.values()]).T
    except (TypeError, ValueError):
        return None
    if numbers.ndim != 2 or not numbers.size:
        return None
    if not whole and np.abs(numbers.sum(axis=1) - 1).max() > CLOSE:
        return None
    return numbers, list(columns)


def prediction_rows(
    path: Path, classes: tuple[str, ...] | None, models_axis: int | None
) -> tuple[NDArray[np.int64], list[str]]:
    """Answers of several models, (models, examples), as class numbers; names are numbered as the labels are."""
    table = Predictions.load(path, classes="any", models_axis=models_axis)
    if table.predictions is None or table.observed is not None:
        raise InputError(
            f"{path.name} holds no answers of models that could make a prior, or some are missing; give predictions "
            "with their labels, or probabilities, one column for each class."
        )
    answers = table.predictions
    if answers.dtype.kind not in "UO":
        return answers.astype(np.int64), list(table.names)
    assert table.labels is not None
    known = list(classes) if classes is not None else sorted({str(label) for label in table.labels.tolist()})
    number = {name: i for i, name in enumerate(known)}
    strange = sorted({str(v) for v in np.unique(answers.astype(np.str_))} - number.keys())
    if strange:
        raise InputError(
            f"{path.name}: models answer {listing(strange)}, which is the label of no example; a prior is over the "
            f"{len(known):,} classes of the labels."
        )
    coded = np.array([[number[str(v)] for v in row] for row in answers.tolist()], dtype=np.int64)
    return coded, list(table.names)
