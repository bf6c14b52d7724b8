"""Files to `Predictions`: one reader a format."""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from heldout.checks import EXAMPLE, LABEL, Role, check_key, pick
from heldout.errors import InputError, import_extra
from heldout.files import Npz
from heldout.predictions import harness, inspect_logs, lm_eval
from heldout.predictions.columns import from_columns
from heldout.predictions.keys import CORRECT, MODEL, PREDICTION, Options
from heldout.predictions.raw import damaged, file_name, open_text, read_json_file, read_lines, stem_of, without_cycles
from heldout.predictions.runs import table_of_runs
from heldout.predictions.table import Predictions, make_table
from heldout.predictions.values import as_array, listing

NO_NAMES = "none"
DELIMITERS = ",;\t"
SHOWN_KEYS = 20  # of a file, in a message
ROWS = 4_096  # of a CSV that are held at once


def read_npz(path: Path, options: Options) -> Predictions:
    """Arrays of an `.npz` file."""
    with Npz(path) as arrays:
        return from_arrays_by_key(arrays, list(arrays), options, source=path.name, name=path.stem)


def from_arrays_by_key(arrays: Any, keys: list[str], options: Options, *, source: str, name: str) -> Predictions:
    """Matrix, labels, names and ids by their keys, in either orientation."""

    def array(key: str) -> NDArray[Any]:
        return np.atleast_1d(as_array(arrays[key], what=key))

    def find(role: Role, wanted: str | None, *, weak: bool = False) -> str | None:
        return pick(keys, wanted, role, source=source, noun="key", weak=weak)

    options.refuse_metric(source)
    if options.tasks:
        raise InputError(f"{source} names no tasks, so that `task={options.tasks[0]!r}` chooses nothing; leave it out.")
    if not keys:
        raise InputError(f"{source} is empty: it holds no arrays, models or tasks.")
    options.use("predictions_key", "labels_key", "correct_key", "names_key", "ids_key")
    said = find(PREDICTION, options.predictions_key) if options.correct_key is None else None
    correct = find(CORRECT, options.correct_key) if options.correct_key or options.predictions_key is None else None
    if said is None and correct is None:
        correct = find(CORRECT, None, weak=True)
    label = find(LABEL, options.labels_key, weak=True)
    if said is None and correct is None:
        if "record" in keys or {"version", "created"} <= set(keys):
            raise InputError(f"{source} is a saved result of heldout; give the predictions it was made from.")
        raise InputError(
            f"{source} has neither predictions nor a 0/1 matrix under the usual names; of its keys "
            f"{listing(keys, SHOWN_KEYS)} say which they are with `predictions_key` or `correct_key`."
        )
    if label is None and correct is None:
        raise InputError(
            f"{source} has no labels among its keys {listing(keys, len(keys))}; say which with `labels_key`."
        )
    main = correct or said or ""  # a grader may accept more than the label's own spelling
    role = "predictions" if correct is None else "scores"
    matrices = {role: array(main)}
    for key in ("observed", "trials", "within"):
        if key in keys and array(key).shape == matrices[role].shape and (role == "scores" or key == "observed"):
            matrices[key] = array(key)
    shape = matrices[role].shape
    labels = None if label is None else array(label)
    ids_key = find(EXAMPLE, options.ids_key)
    ids = None if ids_key is None else array(ids_key)
    if ids is not None and options.ids_key is None and len(ids) not in shape:
        ids = None  # a usual name, but of something else
    if labels is not None and role == "scores" and len(labels) not in shape:
        labels = None
    names = _names(arrays, keys, options, main, shape, source=source)
    axis = options.models_axis
    if axis is None and "models_axis" in keys:  # our own files say so
        axis = {"0": 0, "1": 1}.get(str(arrays["models_axis"]))
    if role == "scores":
        options.use("scale")
    if len(shape) == 2:
        options.use("models_axis")
        n = next((len(known) for known in (labels, ids) if known is not None), None)
        axis = _models_axis(shape, axis, None if names is None else len(names), n, what=f"{source}: {main}")
        if axis == 1:
            matrices = {role: matrix.T for role, matrix in matrices.items()}
    elif names is None:
        names = [name]
    if ids is not None and options.ids_key is None and len(ids) != shape[0 if axis == 1 else -1]:
        ids = None
    if role == "scores":
        labels = None
    n = shape[0 if axis == 1 else -1]
    taken = {main, said, correct, label, ids_key}
    beside = {key: array(key) for key in keys if options.beside(key) and key not in taken}
    beside |= {name: array(key) for key, name in options.saved(keys).items()}
    return make_table(
        **matrices,
        scale=options.scale if role == "scores" else None,
        labels=labels,
        names=names,
        ids=ids,
        missing=options.codes,
        source=source,
        columns={key: values for key, values in beside.items() if values.shape == (n,)},
    )


def _names(
    arrays: Any, keys: list[str], options: Options, main: str, shape: tuple[int, ...], *, source: str
) -> Sequence[Any] | None:
    """Names of the models, where they are known; `a[b]` takes those of a at the positions b."""
    wanted = options.names_key
    if wanted == NO_NAMES:
        return None
    if wanted is not None:
        picked = re.fullmatch(r"(.+)\[(.+)\]", wanted)
        base, index = picked.groups() if picked and wanted not in keys else (wanted, None)
        for key in (base, index):
            if key is not None:
                check_key(keys, key, MODEL.option, source=source, noun="key")
        names = np.atleast_1d(as_array(arrays[base], what=base))
        if index is None:
            return list(names)
        rows = np.atleast_1d(as_array(arrays[index], what=index))
        if rows.dtype.kind not in "iu" or rows.min(initial=0) < 0 or rows.max(initial=0) >= len(names):
            raise InputError(
                f"{source}: {index!r} holds no positions among the {len(names):,} names of {base!r} ({wanted})."
            )
        return list(names[rows])
    key = pick(keys, None, MODEL, source=source, noun="key")
    if key is None:
        return None
    names = np.atleast_1d(as_array(arrays[key], what=key))
    if len(shape) == 2 and len(names) not in shape:
        advice = f'`names_key`, or number the models with `names_key="{NO_NAMES}"`'
        hint = _index_of_names(arrays, keys, main, shape, len(names))
        if hint is not None:
            advice = f'`names_key`, perhaps "{key}[{hint}]"'
        raise InputError(
            f"{source}: {key!r} holds {len(names):,} names but {main!r} has the shape {shape}; say where its models "
            f"are named with {advice}."
        )
    return list(names)


def _index_of_names(arrays: Any, keys: list[str], main: str, shape: tuple[int, ...], count: int) -> str | None:
    """Key that looks like positions of this matrix's models among all names; the best match by its own name."""

    def common(key: str) -> int:
        return next((i for i, (a, b) in enumerate(zip(key, main, strict=False)) if a != b), min(len(key), len(main)))

    found = []
    for key in keys:
        array = np.asarray(arrays[key])
        if array.ndim == 1 and array.dtype.kind in "iu" and len(array) in shape and array.max(initial=0) < count:
            found.append(key)
    return max(found, key=common, default=None)


def _models_axis(shape: tuple[int, ...], axis: int | None, k: int | None, n: int | None, *, what: str) -> int:
    """Which axis has the models: the one that fits the names, the other fitting the labels."""
    known = " and ".join(
        f"{count:,} {noun}" for count, noun in ((k, "model names"), (n, "labels or ids")) if count is not None
    )
    fits = [i for i in (0, 1) if k in (None, shape[i]) and n in (None, shape[1 - i])]
    if axis is not None and (axis in fits or not known):
        return axis
    if not fits or axis is not None:
        raise InputError(
            f"{what} has the shape {shape}, which does not fit {known}"
            f"{'' if axis is None else f' with the models on axis {axis}'}; (n_models, n_examples) or its transpose is "
            "needed."
        )
    if len(fits) == 2:
        raise InputError(
            f"{what} has the shape {shape}, and nothing tells which axis has the models; say so with "
            "`models_axis=0` (models first) or `models_axis=1`."
        )
    return fits[0]


def read_csv(path: Path, options: Options) -> Predictions:
    """A CSV with a header, in the wide or the long layout."""
    return from_columns(csv_columns(path), options, source=path.name, name=stem_of(path), text=True)


def csv_columns(path: Path, *, numbered: bool = False) -> dict[str, Any]:
    """Columns of a CSV with a header, all text; by commas, semicolons or tabs, as the header is.

    `numbered` is as in `check_header`.
    """
    limit = csv.field_size_limit(2**31 - 1)  # a long text is no damage
    try:
        with open_text(path) as f, without_cycles():
            delimiter = _delimiter(f)
            f.seek(0)
            rows = (row for row in csv.reader(f, delimiter=delimiter, strict=True) if row)
            header = next(rows, [])
            columns = _columns_of(rows, len(header), path)
    except (OSError, UnicodeDecodeError, csv.Error, EOFError, zlib.error) as error:
        raise damaged(path, error, "csv") from error
    finally:
        csv.field_size_limit(limit)
    if not columns or not columns[0]:
        raise InputError(f"{path.name} is empty: a header line and at least one row are needed.")
    check_header(header, path.name, numbered=numbered)
    return dict(zip(header, columns, strict=True))


def _columns_of(rows: Iterator[list[str]], width: int, path: Path) -> list[list[str]]:
    """Columns of rows, some at a time: to hold all rows takes twice the memory, and longer than to read them."""
    columns: list[list[str]] = [[] for _ in range(width)]
    n = 0
    while part := list(islice(rows, ROWS)):
        i = next((i for i, row in enumerate(part) if len(row) != width), None)
        if i is not None:
            raise InputError(
                f"{path.name}: data row {n + i + 1} has {len(part[i])} cells where the header has {width}; the file is "
                "damaged or cut short."
            )
        for column, cells in zip(columns, zip(*part, strict=True), strict=True):
            column.extend(cells)
        n += len(part)
    return columns


def _delimiter(f: IO[str]) -> str:
    """The mark that splits the header into most columns; the comma where none does."""
    widths = {}
    for mark in DELIMITERS:
        f.seek(0)
        widths[mark] = len(next((row for row in csv.reader(f, delimiter=mark) if row), []))
    return max(widths, key=lambda mark: widths[mark])


def check_header(header: list[str], source: str, *, numbered: bool = False) -> None:
    """Refuse names that are numbers, which a header is not, and names that occur twice.

    Where columns are classes (`numbered`), 0, 1, 2 and so on are names, which pandas gives to those of an array.
    """
    if numbered and [cell for cell in header if cell] == [
        str(i) for i in range(len([cell for cell in header if cell]))
    ]:
        return
    if all(re.fullmatch(r"-?\d*\.?\d*", cell) for cell in header):
        raise InputError(f"{source}: the first line holds numbers; put a header such as `id,label,model_a` above it.")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise InputError(f"{source} has more than one column {listing(twice)}; give each model a name of its own.")


def read_parquet(path: Path, options: Options) -> Predictions:
    """The same from Parquet."""
    return from_columns(parquet_columns(path), options, source=path.name, name=stem_of(path))


def parquet_columns(path: Path, *, numbered: bool = False) -> dict[str, Any]:
    """Columns of a Parquet file; lists where cells are missing, else arrays. `numbered` is as in `check_header`."""
    arrow = import_extra("pyarrow", extra="parquet")
    parquet = import_extra("pyarrow.parquet", extra="parquet")
    try:
        with parquet.ParquetFile(path) as f:
            table = f.read()
    except (OSError, arrow.ArrowException) as error:
        raise damaged(path, error, "parquet") from error
    return _table_columns(table, path, numbered=numbered)


def arrow_columns(path: Path) -> dict[str, Any]:
    """The same of an Arrow file, as Hugging Face's `datasets` keeps them: a stream, or a file of its own."""
    arrow = import_extra("pyarrow", extra="parquet")
    ipc = import_extra("pyarrow.ipc", extra="parquet")
    try:
        with arrow.memory_map(str(path)) as f:
            try:
                table = ipc.open_stream(f).read_all()
            except arrow.ArrowInvalid:
                f.seek(0)
                table = ipc.open_file(f).read_all()
    except (OSError, arrow.ArrowException) as error:
        raise damaged(path, error, "Arrow") from error
    return _table_columns(table, path)


def _table_columns(table: Any, path: Path, *, numbered: bool = False) -> dict[str, Any]:
    if not table.column_names:
        raise InputError(f"{path.name} has no columns; save the table again, with at least one column and one row.")
    check_header(list(table.column_names), path.name, numbered=numbered)
    columns = {
        name: _with_gaps(column) if column.null_count else column.to_numpy()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    if table.num_rows == 0:
        raise InputError(f"{path.name} is empty: at least one row is needed.")
    return columns


def _with_gaps(column: Any) -> list[Any]:
    """Values and None; floats of fewer bits as the decimal numbers that they were given as."""
    values: list[Any] = column.to_pylist()
    narrow = {"float": np.float32, "halffloat": np.float16}.get(str(column.type))
    return values if narrow is None else [None if v is None else float(str(narrow(v))) for v in values]


def read_json(path: Path, options: Options) -> Predictions:
    """A list of rows, an object of arrays, a log of inspect_ai, or what a benchmark's harness wrote."""
    content = read_json_file(path)
    if inspect_logs.is_log(content):
        return inspect_logs.read([path], options, source=path.name)
    runs = harness.runs_of(content, path, options)
    return from_json(content, path, options) if runs is None else table_of_runs(runs, options, source=file_name(path))


def from_json(content: Any, path: Path, options: Options) -> Predictions:
    """A table from a list of rows or an object of arrays."""
    if isinstance(content, list):
        return from_rows(content, path, options)
    if not isinstance(content, dict):
        raise InputError(f"{file_name(path)} holds neither a list of rows nor an object of arrays.")
    columns = harness.columns_of(content, options, path)
    if columns is not None:
        return from_columns(columns, options, source=file_name(path), name=stem_of(path))
    arrays = {key: value for key, value in content.items() if value is not None}
    return from_arrays_by_key(arrays, list(arrays), options, source=file_name(path), name=stem_of(path))


def read_jsonl(path: Path, options: Options) -> Predictions:
    """One JSON object per line: rows, or samples of lm-evaluation-harness."""
    rows = read_lines(path)
    if rows and lm_eval.is_sample(rows[0]):
        return lm_eval.read([path], options, source=path.name)
    return from_rows(rows, path, options)


def from_rows(rows: list[Any], path: Path, options: Options) -> Predictions:
    """A table from objects with the same keys."""
    return from_columns(row_columns(rows, path), options, source=path.name, name=stem_of(path))


def row_columns(rows: list[Any], path: Path) -> dict[str, Any]:
    """Columns of objects with the same keys; one that lacks a key has a missing cell there."""
    if not rows:
        raise InputError(f"{path.name} is empty: at least one row is needed.")
    if not all(isinstance(row, dict) for row in rows):
        raise InputError(f'{path.name} must hold one object per row, such as {{"id": 1, "label": 0, "model_a": 0}}.')
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: [row.get(key) for row in rows] for key in keys}
