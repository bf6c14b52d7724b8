"""Tables of predictions to files that `load_predictions` reads back."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checks import plain_name
from heldout.errors import InputError, import_extra
from heldout.files import write_npz, write_text
from heldout.predictions.fields import Fields
from heldout.predictions.keys import BESIDE, INDEX, METADATA, ROLE_NAMES, SUMMARIES
from heldout.predictions.text_cells import text_classes
from heldout.predictions.values import Codes, is_gap, listing

SUFFIXES = (".npz", ".csv", ".parquet", ".json", ".jsonl")


def save(table: Fields, path: Path) -> None:
    """Write a table in the format of the path's suffix."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path.name} has the suffix {path.suffix!r}; {', '.join(SUFFIXES)} can be written.")
    if suffix == ".npz":
        write_npz(path, {key: _typed(value) for key, value in _arrays(table).items()})
    elif suffix == ".json":
        arrays = {key: _plain(value) for key, value in _arrays(table).items()}
        write_text(path, json.dumps(arrays, ensure_ascii=False))
    elif suffix == ".parquet":
        _write_parquet(path, _columns(table, path))
    else:
        columns = _columns(table, path)
        rows = zip(*columns.values(), strict=True)
        if suffix == ".jsonl":
            lines = (json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) for row in rows)
            write_text(path, "\n".join(lines) + "\n")
        else:
            _check_readable(table, path)
            text = io.StringIO()
            broken = any(isinstance(cell, str) and "\r" in cell for column in columns.values() for cell in column)
            # The usual quoting leaves a lone carriage return bare.
            writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL if broken else csv.QUOTE_MINIMAL)
            writer.writerow(columns)
            writer.writerows(rows)
            write_text(path, text.getvalue())


def _arrays(table: Fields) -> dict[str, Any]:
    """Everything, with the models first."""
    arrays: dict[str, Any] = {"models": list(table.names), "models_axis": 0}
    if table.predictions is None:
        arrays["correct" if table.cells.dtype == np.bool_ else "scores"] = table.cells
    for key in ("predictions", "labels", "observed", "trials", "within"):
        value = getattr(table, key)
        if value is not None:
            arrays[key] = value.astype(np.str_) if value.dtype.kind == "O" else value
    if table.ids is not None:
        arrays["ids"] = list(table.ids)
    for name, column in table.columns.items():
        arrays[BESIDE + name] = _simple(column)
    return arrays


def _simple(column: NDArray[Any]) -> list[Any]:
    """Texts or numbers of one kind, None where there is nothing; anything else as text."""
    values = [None if is_gap(value) else value for value in column.tolist()]
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {type(value) for value in values if value is not None}
    small = kinds == {int} and all(value is None or -(2**63) <= value < 2**63 for value in values)
    if small or kinds in ({float}, {bool}):
        return values
    return [None if value is None else str(value) for value in values]


def _typed(value: Any) -> NDArray[Any]:
    """An array without Python objects."""
    if isinstance(value, list) and None in value:
        if all(v is None or isinstance(v, float) for v in value):
            return np.array([np.nan if v is None else v for v in value])
        return np.array(["" if v is None else str(v) for v in value])
    return np.asarray(value)


def _plain(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return (value.astype(np.uint8) if value.dtype == np.bool_ else value).tolist()


def _columns(table: Fields, path: Path) -> dict[str, list[Any]]:
    """The wide layout: one row per example, one column per model; a missing cell is None."""
    clash = [name for name in table.names if _is_usual(name)]
    if clash:
        raise InputError(
            f"{path.name}: the model name {listing(clash)} is also the name of a usual column; save as .npz."
        )
    columns: dict[str, list[Any]] = {}
    if table.ids is not None:
        columns["id"] = list(table.ids)
    cells = _counted(table, path)
    if table.predictions is not None and table.labels is not None:
        cells = table.predictions
        columns["label"] = table.labels.tolist()
    for i, name in enumerate(table.names):
        column = cells[i].tolist()
        if table.observed is not None:
            column = [v if there else None for v, there in zip(column, table.observed[i].tolist(), strict=True)]
        columns[name] = column
    return columns | {BESIDE + name: _simple(column) for name, column in table.columns.items()}


def _check_readable(table: Fields, path: Path) -> None:
    """A CSV has no types: of texts that are numbers, such as 1e3 and 1000, it would make one class."""
    said, truth, there = table.predictions, table.labels, table.observed
    if said is None or truth is None or said.dtype.kind not in "UO":
        return
    cells = said if there is None else np.where(there, said, np.array(None, dtype=object))
    labels = truth.tolist()
    try:
        *read, known = text_classes([*map(np.ndarray.tolist, cells), labels], Codes(), labels=labels)
    except InputError:  # of a text that says that it is not there
        same = False
    else:
        found = np.array(read, dtype=object) == known
        same = bool((found == table.cells)[... if there is None else there].all())
    if not same:
        raise InputError(
            f"{path.name}: these classes are texts that a CSV cannot keep apart, or that say that they are not there, "
            "so that others would be right once it is read; save as .npz, .json or .parquet."
        )


def _counted(table: Fields, path: Path) -> NDArray[Any]:
    """Marks, scores, or successes of trials as `3/5`."""
    if table.trials is None:
        return table.cells.astype(np.uint8) if table.cells.dtype == np.bool_ else table.cells
    successes = np.round(table.cells * table.trials).astype(np.int64)
    if table.within is None or (successes / np.maximum(table.trials, 1) != table.cells).any():
        raise InputError(f"{path.name}: trials that are not right or wrong fit into no cell; save as .npz or .json.")
    pairs = zip(successes.ravel().tolist(), table.trials.ravel().tolist(), strict=True)
    return np.array([f"{s}/{t}" for s, t in pairs], dtype=object).reshape(table.cells.shape)


def _is_usual(name: str) -> bool:
    plain = plain_name(name)
    return plain in ROLE_NAMES | METADATA | SUMMARIES or INDEX.fullmatch(plain) is not None or name.startswith(BESIDE)


def _write_parquet(path: Path, columns: dict[str, list[Any]]) -> None:
    arrow = import_extra("pyarrow", extra="parquet")
    parquet = import_extra("pyarrow.parquet", extra="parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    parquet.write_table(arrow.table(columns), part)
    os.replace(part, path)
