"""What a table says of its examples and classes: labels, probabilities, predictions, for those who need no scores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checks import EXAMPLE, LABEL, pick, plain_name
from heldout.errors import InputError
from heldout.predictions import inspect_logs, lm_eval
from heldout.predictions.formats import csv_columns, parquet_columns
from heldout.predictions.keys import INDEX, METADATA, ROLE_NAMES, Options
from heldout.predictions.load import load
from heldout.predictions.raw import read_json_file, read_lines, suffix_of
from heldout.predictions.text_cells import text_classes
from heldout.predictions.values import Codes, as_text, id_texts, is_gap, listing, read_ids

TABLES = (".csv", ".tsv", ".parquet", ".json", ".jsonl")
CLOSE = 1e-3  # of the sum of probabilities to 1
NUMBERED = re.compile(r"(.*?)(\d+)(\.0|\D*)")  # a heading such as p0, column_12 or 3.0: what surrounds the number


def table_columns(path: Path, *, numbered: bool = False) -> dict[str, Any]:
    """Columns of any table, or the targets of a log; those of `numbered` ones may be called 0, 1, 2 and so on."""
    suffix = suffix_of(path)
    if suffix in (".csv", ".tsv"):
        return csv_columns(path, numbered=numbered)
    if suffix == ".parquet":
        return parquet_columns(path, numbered=numbered)
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


def label_column(path: Path, key: str | None = None) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """The label of each example, and the examples' ids where there are any.

    Rows of one example in a long table, and files of one folder, must agree on its label.
    """
    if not path.is_dir():
        values, ids = _label_texts(path, table_columns(path), key)
        return _as_classes(values), ids
    merged: dict[str, str] = {}
    for name, columns in _folder_columns(path):
        values, ids = _label_texts(path / name, columns, key)
        if ids is None:
            raise InputError(f"{path.name}/{name} has no ids of its examples, so that its labels fit no other file's.")
        for example, value in zip(ids, values, strict=True):
            if merged.setdefault(example, value) != value:
                raise InputError(
                    f"{path.name}/{name}: the example {example!r} has the label {value!r}, and {merged[example]!r} in "
                    "a file before it."
                )
    return _as_classes(list(merged.values())), tuple(merged)


def _folder_columns(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Tables of a folder, or logs in it at any depth, whose examples then go by `task/id`."""
    samples = lm_eval.sample_files(folder)
    for path in samples:
        rows = [row for row in read_lines(path) if lm_eval.is_sample(row)]
        task = lm_eval.task_of(path)
        rows = [{**row, "doc_id": f"{task}/{row['doc_id']}"} for row in lm_eval.first_filter(rows)]
        yield str(path.relative_to(folder)), _rows(rows, path)
    logs = [] if samples else inspect_logs.log_files(folder)
    for path in logs:
        yield str(path.relative_to(folder)), _rows(inspect_logs.samples_of(path, with_task=True), path)
    if samples or logs:
        return
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and suffix_of(path) in TABLES]
    if not files:
        raise InputError(f"{folder} holds no tables ({', '.join(TABLES)}) and no logs that could name labels.")
    for path in files:
        yield path.name, table_columns(path)


def _label_texts(path: Path, columns: dict[str, Any], key: str | None) -> tuple[list[str], tuple[str, ...] | None]:
    """Labels as text, one for each example."""
    found = pick(list(columns), key, LABEL, source=path.name, noun="column", weak=True)
    if found is None:
        raise InputError(
            f"{path.name} has no column of labels under the usual names; say which it is with `labels_key`: it has "
            f"{listing(list(columns), len(columns))}."
        )
    values = columns[found]
    gap = next((i for i, value in enumerate(values) if is_gap(value) or as_text(value) == ""), None)
    if gap is not None:
        raise InputError(f"{path.name}: row {gap + 1} has no label.")
    texts = [as_text(value[0] if isinstance(value, list) and len(value) == 1 else value) for value in values]
    ids = pick(list(columns), None, EXAMPLE, source=path.name, noun="column", weak=False)
    if ids is None:
        return texts, None
    first: dict[str, str] = {}
    for name, value in zip(id_texts(columns[ids], source=path.name), texts, strict=True):
        if first.setdefault(name, value) != value:
            raise InputError(
                f"{path.name}: the example {name!r} has the label {value!r} in one row and {first[name]!r} in another."
            )
    return list(first.values()), tuple(first)


def _as_classes(values: list[str]) -> NDArray[Any]:
    """Class numbers where all are numbers, else names."""
    labels = text_classes([values], Codes())[0]
    return labels if labels.dtype.kind == "i" else labels.astype(np.str_)


@dataclass(frozen=True, eq=False)
class ItemTable:
    """Numbers of every example, by class or by model; `named` says whether classes go by their names."""

    values: NDArray[Any]
    names: list[str]
    ids: tuple[str, ...] | None
    named: bool = True


def score_columns(path: Path, classes: tuple[str, ...] | None, *, whole: bool) -> ItemTable | None:
    """A table of numbers, one column for each class, in the order of the file; None where it is not one."""
    table = table_columns(path, numbered=True)
    known = set(classes or ())
    columns = {
        key: values
        for key, values in table.items()
        if key in known or (plain_name(key) not in ROLE_NAMES | METADATA and not INDEX.fullmatch(plain_name(key)))
    }
    if classes is not None and set(classes) <= columns.keys():
        columns = {key: values for key, values in columns.items() if key in known}
    try:
        numbers = np.array([[float(value) for value in values] for values in columns.values()]).T
    except (TypeError, ValueError):
        return None
    if numbers.ndim != 2 or not numbers.size:
        return None
    if not whole and np.abs(numbers.sum(axis=1) - 1).max() > CLOSE:
        return None
    key = pick(list(table), None, EXAMPLE, source=path.name, noun="column", weak=False)
    ids = None if key is None else read_ids(table[key], len(numbers), source=path.name)
    return ItemTable(numbers, list(columns), ids)


def by_class(found: ItemTable, classes: tuple[str, ...] | None, *, source: str) -> ItemTable:
    """A table of numbers with its columns in the order of the classes, which their headings must name or number.

    Parameters
    ----------
    classes : tuple of str, optional
        Names, in the order of their numbers; numbers from 0 without.
    """
    headings = found.names
    order = None if classes is None else named_order(headings, classes)
    named = order is not None
    order = numbered_order(headings) if order is None else order
    if order is None:
        number, known = len(headings), classes or ("0", "1", "2")[: len(headings)]
        told = f"0 to {number - 1}" if classes is None else listing(classes)
        raise InputError(
            f"{source}: the columns {listing(headings)} are not called as the classes of the labels ({told}) are, so "
            "that which is which cannot be seen; say with `prior_classes` which class each column is, or give one "
            f"column for each class, and call it by its {'number' if classes is None else 'name'} "
            f"({', '.join(known[:3])}{', ...' * (number > 3)})."
        )
    if order == sorted(order):
        return replace(found, named=named)
    return replace(found, values=found.values[:, order], names=[headings[i] for i in order], named=named)


def named_order(headings: Sequence[str], classes: Sequence[str]) -> list[int] | None:
    """Where each class's column stands, by its name in any spelling and with what all have around it; None if unclear.

    Examples
    --------
    >>> named_order(["p_dog", "p_ape"], ["ape", "dog"]), named_order(["Dog", "Ape"], ["ape", "dog"])
    ([1, 0], [1, 0])
    >>> named_order(["dog", "fox"], ["ape", "dog"]) is None
    True
    """
    for spell in (str, plain_name):
        place, wanted = ({spell(name): i for i, name in enumerate(names)} for names in (headings, classes))
        if len(headings) != len(classes) or len(place) < len(headings) or len(wanted) < len(classes):
            continue
        longest = max(wanted, key=len)
        around = {tuple(heading.split(longest, 1)) for heading in place if longest and longest in heading}
        found = {
            tuple(place.get(f"{before}{name}{after}", -1) for name in wanted) for before, after in {("", "")} | around
        }
        fitting = [order for order in found if -1 not in order]
        if len(fitting) == 1:
            return list(fitting[0])
    return None


def numbered_order(headings: Sequence[str]) -> list[int] | None:
    """Where each class's column stands, by numbers from 0, or from 1 in order behind a word; None if unclear.

    Examples
    --------
    >>> numbered_order(["0", "10", *"123456789"]), numbered_order(["class 1", "class 2"])
    ([0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1], [0, 1])
    >>> numbered_order(["1", "2"]) is None
    True
    """
    found = [NUMBERED.fullmatch(heading) for heading in headings]
    if not all(found) or len({(match[1], match[3]) for match in found if match}) > 1:
        return None
    numbers = [int(match[2]) for match in found if match]
    if sorted(numbers) == list(range(len(numbers))):
        return [int(i) for i in np.argsort(numbers)]
    from_one = numbers == list(range(1, len(numbers) + 1)) and found[0] is not None and found[0][1] != ""
    return list(range(len(numbers))) if from_one else None


def prediction_rows(path: Path, classes: tuple[str, ...] | None, models_axis: int | None) -> ItemTable:
    """Predictions of several models, (models, examples), as class numbers; names are numbered as the labels are."""
    table = load([path], None, Options(models_axis=models_axis))
    if table.predictions is None or table.observed is not None:
        raise InputError(
            f"{path.name} holds no predictions that could make a prior, or some are missing; give predictions "
            "with their labels, or probabilities, one column for each class."
        )
    said = table.predictions
    if said.dtype.kind not in "UO":
        return ItemTable(said.astype(np.int64), list(table.names), table.ids, named=False)
    assert table.labels is not None
    known = list(classes) if classes is not None else sorted({str(label) for label in table.labels.tolist()})
    number = {name: i for i, name in enumerate(known)}
    strange = sorted({str(v) for v in np.unique(said.astype(np.str_))} - number.keys())
    if strange:
        raise InputError(
            f"{path.name}: models predict {listing(strange)}, which is the label of no example; a prior is over the "
            f"{len(known):,} classes of the labels."
        )
    coded = np.array([[number[str(v)] for v in row] for row in said.tolist()], dtype=np.int64)
    return ItemTable(coded, list(table.names), table.ids)
