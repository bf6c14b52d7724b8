"""Frames of pandas or polars, in and out, through narwhals: columns of plain values on our side.

What frames can be made of a result is declared by its class: `tabled` maps the name of a table to a `Source`.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from heldout.checks import EXAMPLE, plain_name
from heldout.errors import InputError, MissingExtraError, import_extra

Backend = Literal["pandas", "polars"]
BACKENDS: tuple[Backend, ...] = ("pandas", "polars")
MAKERS = ("pandas", "polars", "pyarrow", "modin", "cudf", "narwhals")  # packages that frames come from
KINDS = ("DataFrame", "LazyFrame", "Table")  # what they call them
SOURCE = "DataFrame"
NARROW: dict[str, Callable[[Any], str]] = {  # 0.1 of 32 bits is no other number than 0.1
    "Float16": lambda value: str(np.float16(value)),
    "Float32": lambda value: str(np.float32(value)),
}
INDEX = "index"  # what pandas calls an index without a name, once it is a column

Columns = Mapping[str, Sequence[Any] | np.ndarray[Any, Any]]
Names = tuple[str | tuple[str, str], ...]  # paths to values, each with a name where that is not its last part
Source = str | tuple[str, Names]  # a path to columns or rows; or to records, and which columns each of them has


def is_frame(value: Any) -> bool:
    """Whether a value is somebody's table with named columns; nothing is imported to find out.

    Examples
    --------
    >>> is_frame(np.zeros((2, 3))), is_frame("pool.csv")
    (False, False)
    """
    return any(c.__name__ in KINDS and c.__module__.partition(".")[0] in MAKERS for c in type(value).__mro__)


def text_columns(frame: Any) -> dict[str, list[str]]:
    """Columns as a CSV of the frame would hold them: text, empty where a cell is missing.

    Levels of an index that have a name come first. An index without a name is one of ids where it is text and no
    column holds them; else it only numbers the rows.
    """
    table = _checked(frame)
    return {str(column.name): _texts(column) for column in table.iter_columns()}


def rows(frame: Any) -> list[dict[str, Any]]:
    """Rows with the values as they are, lists and objects too; None where a cell is missing."""
    table = _checked(frame)
    names = [str(name) for name in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.iter_rows()]


def _checked(frame: Any) -> Any:
    """A frame that has rows and names of columns, what its index tells first, as narwhals sees it."""
    nw = import_extra("narwhals", extra="frames")
    if any(c.__name__ == "LazyFrame" for c in type(frame).__mro__):
        raise InputError("this is a LazyFrame, whose rows are not there yet; give frame.collect().")
    try:
        given = nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise InputError("the frame has two columns of one name; give each model a name of its own.") from error
    several = next((name for name in given.columns if isinstance(name, tuple)), None)
    if several is not None:
        raise InputError(
            f"the frame has columns of several levels, such as {several!r}; give it one name for each column."
        )
    table = nw.from_native(_with_index(nw, given), eager_only=True)
    names = list(table.columns)
    if not names or len(table) == 0:
        raise InputError("the frame is empty: at least one column and one row are needed.")
    if not any(isinstance(name, str) for name in names):
        raise InputError(
            f"the columns of the frame are called {names[0]!r} and so on; give them names, such as id, label, model_a."
        )
    return table


def _with_index(nw: Any, table: Any) -> Any:
    """The frame with what its index tells as its first columns; only pandas and its like have one."""
    frame, index = table.to_native(), nw.maybe_get_index(table)
    named = [] if index is None else [name for name in index.names if name is not None]
    twice = next((name for name in named if name in table.columns), None)
    if twice is not None:
        raise InputError(f"the frame has a column and an index of the name {twice!r}; drop one of them.")
    if named:
        return frame.reset_index(level=named)
    without = index is not None and not any(plain_name(str(name)) in (INDEX, *EXAMPLE.usual) for name in table.columns)
    ids = without and len(index) > 0 and index.is_unique and all(isinstance(name, str) for name in index)
    return frame.rename_axis(INDEX).reset_index() if ids else frame


def _texts(column: Any) -> list[str]:
    values, gaps = column.to_list(), column.is_null().to_list()
    text = NARROW.get(str(column.dtype), str)
    if not any(gaps):
        return list(map(text, values))
    return ["" if gap else text(value) for value, gap in zip(values, gaps, strict=True)]


def to_frame(columns: Columns, backend: str | None = None) -> Any:
    """Columns of one length as a frame of pandas, or of polars where only that is installed or it is asked for.

    Parameters
    ----------
    columns : dict of str to values
        Lists or arrays; None is a missing value.
    backend : {"pandas", "polars"}, optional
        Whose frame it shall be.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame
        One row per value.

    Examples
    --------
    >>> to_frame({"model": ["a", "b"], "error": [0.1, 0.2]}, "polars").columns
    ['model', 'error']
    """
    if backend is not None and backend not in BACKENDS:
        raise InputError(f"`backend` is {backend!r}; it can be {' or '.join(map(repr, BACKENDS))}.")
    if backend is None:
        there = [name for name in BACKENDS if importlib.util.find_spec(name) is not None]
        if not there:
            raise MissingExtraError(
                "a frame needs pandas or polars, and neither is installed. Install one of them with: "
                "pip install pandas 'heldout[frames]'"
            )
        backend = there[0]
    elif importlib.util.find_spec(backend) is None:
        raise MissingExtraError(
            f"`backend={backend!r}` needs the package `{backend}`, which is not installed. "
            f"Install it with: pip install {backend} 'heldout[frames]'"
        )
    nw = import_extra("narwhals", extra="frames")
    plain = {
        name: values.tolist() if isinstance(values, np.ndarray) else list(values) for name, values in columns.items()
    }
    return nw.from_dict(plain, backend=backend).to_native()


def from_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Columns of rows; one that lacks a key has a missing value there, and `columns` are there even without rows.

    Examples
    --------
    >>> from_rows([{"a": 1}, {"a": 2, "b": 3}])
    {'a': [1, 2], 'b': [None, 3]}
    """
    names = dict.fromkeys([*columns, *(name for row in rows for name in row)])
    return {name: [row.get(name) for row in rows] for name in names}


def stacked(parts: Sequence[Columns]) -> dict[str, list[Any]]:
    """Columns of several sets below each other; one that a set lacks has missing values there.

    Examples
    --------
    >>> stacked([{"set": ["a"], "p": np.array([0.5])}, {"set": ["b", "b"]}])
    {'set': ['a', 'b', 'b'], 'p': [0.5, None, None]}
    """
    found: dict[str, list[Any]] = {name: [] for part in parts for name in part}
    for part in parts:
        n = len(next(iter(part.values())))
        for name, values in found.items():
            own = part.get(name, [None] * n)
            values += own.tolist() if isinstance(own, np.ndarray) else own
    return found


def at(record: Any, path: str) -> Any:
    """What a path of names or positions leads to, the record itself if it is empty; None where a part is not there.

    Examples
    --------
    >>> from fractions import Fraction
    >>> at(Fraction(1, 2), "denominator.real"), at(Fraction(1, 2), ""), at((3, 4), "1"), at(None, "real")
    (2, Fraction(1, 2), 4, None)
    """
    for name in path.split(".") if path else ():
        record = None if record is None else record[int(name)] if name.isdigit() else getattr(record, name)
    return record


def paths_of(names: Names) -> dict[str, str]:
    """Paths by the names of what they lead to.

    Examples
    --------
    >>> paths_of(("attack", "run.trials", ("low", "interval.0")))
    {'attack': 'attack', 'trials': 'run.trials', 'low': 'interval.0'}
    """
    return dict((name.rpartition(".")[2], name) if isinstance(name, str) else name for name in names)


def tables_of(result: Any) -> dict[str, Source]:
    """The tables there are: those of records that are there, and those whose owner is; else the one row `alone`.

    "pool.models" is there where the pool is not None, ("runs", ...) where there are runs.
    """
    owners = {name: s.rpartition(".")[0] if isinstance(s, str) else s[0] for name, s in result.tabled.items()}
    there = {name: s for name, s in result.tabled.items() if at(result, owners[name]) not in (None, ())}
    return there or {"result": result.alone}


def columns_of(result: Any, table: str | None = None) -> Columns:
    """The columns of one of a result's tables, by its name; the first without."""
    tables = tables_of(result)
    name = next(iter(tables)) if table is None else table
    if name not in tables:
        raise InputError(f"`table` is {name!r}; it can be {' or '.join(map(repr, tables))}.")
    return columns_at(result, tables[name])


def _declared(record: Any, path: str) -> list[str]:
    """Columns of rows that could be there, where the record's class says that they are dataclasses."""
    kinds = typing.get_args(typing.get_type_hints(type(record)).get(path))
    return [f.name for kind in kinds if dataclasses.is_dataclass(kind) for f in dataclasses.fields(kind)]


def columns_at(record: Any, source: Source) -> Columns:
    """The columns of a table: what a path leads to, as columns or rows; or values of records, each repeated where the
    record has several of another.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> run = SimpleNamespace(attack="nb", queries=np.array([1, 2]))
    >>> columns_at(SimpleNamespace(runs=(run, run)), ("runs", ("attack", ("answers", "queries"))))
    {'attack': ['nb', 'nb', 'nb', 'nb'], 'answers': [1, 2, 1, 2]}
    >>> columns_at(SimpleNamespace(rows=[{"a": 1}, {"a": 2}]), "rows")
    {'a': [1, 2]}
    """
    path, names = (source, None) if isinstance(source, str) else source
    found = at(record, path)
    if names is None and found is record:  # its numbers and texts, in one row
        return {key: [value] for key, value in record.to_dict().items() if not isinstance(value, (list, dict))}
    if names is None:
        if isinstance(found, Mapping):
            return found
        rows = [row if isinstance(row, Mapping) else vars(row) for row in found]
        return from_rows(rows, () if rows else _declared(record, path))
    paths = paths_of(names)
    columns: dict[str, list[Any]] = {name: [] for name in paths}
    for one in found if isinstance(found, (tuple, list)) else (found,):
        values = {name: at(one, place) for name, place in paths.items()}
        arrays = {name: value.tolist() for name, value in values.items() if isinstance(value, np.ndarray)}
        length = max(map(len, arrays.values()), default=1)
        for name, value in values.items():
            columns[name] += arrays.get(name, [value] * length)
    return columns
