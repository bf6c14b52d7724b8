"""Results as data: one codec from fields to JSON and npz and back, one `==`, one short `repr`."""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import os
import types
import typing
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from heldout.errors import InputError
from heldout.files import read_npz, write_npz, write_text

FORMAT = 3  # of saved results; 1 and 2 were written field by field


class Record:
    """What frozen dataclasses of results have in common: plain data, saving, loading, equality, a short `repr`.

    A subclass is a dataclass with `frozen=True, kw_only=True, eq=False, repr=False`. Its fields may hold numbers,
    texts, arrays, fractions, tuples, dicts with plain keys, and other records or dataclasses; their annotations say
    what `load` brings back. Fields in `unlisted` are saved but not in the JSON; `derived` names properties that are in
    the JSON as well, or maps keys of the JSON to attributes: {"length": "size", "level": "test.level"}, where the
    level is None if the test is.

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
    ... class Point(Record):
    ...     derived = ("length",)
    ...     x: float
    ...     y: float
    ...
    ...     @property
    ...     def length(self) -> float:
    ...         return math.hypot(self.x, self.y)
    >>> Point(x=3.0, y=4.0).to_dict()
    {'x': 3.0, 'y': 4.0, 'length': 5.0}
    >>> Point(x=3.0, y=math.nan) == Point(x=3.0, y=math.nan), Point(x=3.0, y=4.0)
    (True, Point(x=3.0, y=4.0))
    """

    unlisted: ClassVar[tuple[str, ...]] = ()
    derived: ClassVar[tuple[str, ...] | Mapping[str, str]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON, short values first; an undefined number is None."""
        paths = {f.name: f.name for f in _fields(self) if f.name not in self.unlisted}
        paths |= self.derived if isinstance(self.derived, Mapping) else {name: name for name in self.derived}
        values = {key: plain(_at(self, path)) for key, path in paths.items()}
        return dict(sorted(values.items(), key=lambda item: isinstance(item[1], (list, dict))))

    def save(self, path: str | Path) -> None:
        """Write `path`.npz, from which every number comes back to the last bit, and `path`.json for everybody else."""
        arrays: dict[str, Any] = {}
        path, plainly = _stem(path), json.dumps(self.to_dict(), indent=2, allow_nan=False)  # before anything is written
        record = {"format": FORMAT, "kind": type(self).__name__, "fields": _packed(self, "", arrays)}
        write_npz(Path(f"{path}.npz"), {**arrays, "record": np.array(json.dumps(record))}, packed=True)
        write_text(Path(f"{path}.json"), plainly + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote: `path`, one of its two files, or the folder of `result`."""
        file, kind, fields, arrays = _opened(path)
        if kind != cls.__name__:
            raise InputError(f"{file} holds a {kind}, not a {cls.__name__}.")
        try:
            made = _unpacked(cls, fields, arrays)
        except Exception as error:
            raise InputError(f"{file} is damaged: {error!r}.") from error
        if not isinstance(made, cls):
            raise InputError(f"{file} is damaged: it holds no {cls.__name__}.")
        return made

    def __eq__(self, other: object) -> bool:
        return same(self, other) if type(self) is type(other) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # fields may hold arrays

    def __repr__(self) -> str:
        told = ", ".join(f"{f.name}={_short(getattr(self, f.name))}" for f in _fields(self) if f.repr)
        return f"{type(self).__name__}({told})"


def today() -> str:
    """The date of a result as it is made; SOURCE_DATE_EPOCH sets it, as in reproducible builds.

    Examples
    --------
    >>> os.environ["SOURCE_DATE_EPOCH"] = "0"
    >>> today()
    '1970-01-01'
    >>> del os.environ["SOURCE_DATE_EPOCH"]
    """
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    now = (
        datetime.datetime.now(datetime.UTC)
        if not seconds
        else datetime.datetime.fromtimestamp(int(seconds), datetime.UTC)
    )
    return now.date().isoformat()


def plain(value: Any) -> Any:
    """Anything a record may hold as JSON has it.

    Examples
    --------
    >>> plain({"p": np.array([0.5, math.nan]), 3: (Fraction(1, 2), np.int64(4))})
    {'p': [0.5, None], '3': [0.5, 4]}
    """
    if isinstance(value, Record):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in _fields(value)}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {f"{k:g}" if isinstance(k, float) else str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same to the last bit; NaN is the same as NaN, and numpy's numbers are Python's."""
    a, b = (value.item() if isinstance(value, np.generic) else value for value in (a, b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.shape == b.shape and a.dtype == b.dtype):
            return False
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
    if type(a) is not type(b):
        return False
    if dataclasses.is_dataclass(a) and not isinstance(a, type):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in _fields(a))
    if isinstance(a, Mapping):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b) or (isinstance(a, float) and math.isnan(a) and math.isnan(b))


def _at(record: Any, path: str) -> Any:
    """What a path of names leads to; None where a part of it is not there."""
    for name in path.split("."):
        record = None if record is None else getattr(record, name)
    return record


def _fields(record: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(record)


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<{value.dtype} {value.shape}>"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _opened(path: str | Path) -> tuple[Path, str, Any, dict[str, Any]]:
    """The file, the kind of its result, its fields and its arrays."""
    file = Path(f"{path}.npz")
    try:
        file = Path(f"{Path(path) / 'result' if Path(path).is_dir() else _stem(path)}.npz")
        arrays = read_npz(file)
        record = json.loads(str(arrays.pop("record")))
        number, kind, fields = (record.get(name) for name in ("format", "kind", "fields"))
    except FileNotFoundError as error:
        raise InputError(f"{file} does not exist, so it is not a saved result.") from error
    except Exception as error:
        raise InputError(f"{file} is not a saved result, or is damaged: {error!r}.") from error
    if number != FORMAT or not isinstance(kind, str):
        raise InputError(
            f"{file} was saved by another version of heldout, in format {number}; make the result again with this one."
        )
    return file, kind, fields, arrays


def _stem(path: str | Path) -> Path:
    """The name without the suffix of either of the two files."""
    path = Path(path)
    return path.with_suffix("") if path.suffix in (".npz", ".json") else path


def _packed(value: Any, place: str, arrays: dict[str, Any]) -> Any:
    """A value as JSON that keeps NaN and says what each part is; arrays are put aside under the name of their place."""
    if isinstance(value, np.ndarray):
        arrays[place] = value
        return {"array": place}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        inside = {
            f.name: _packed(getattr(value, f.name), f"{place}.{f.name}".lstrip("."), arrays) for f in _fields(value)
        }
        return {"record": type(value).__name__, "fields": inside}
    if isinstance(value, Mapping):
        pairs = enumerate(value.items())
        return {"dict": [[_packed(k, "", {}), _packed(v, f"{place}[{i}]", arrays)] for i, (k, v) in pairs]}
    if isinstance(value, (list, tuple)):
        items = [_packed(v, f"{place}[{i}]", arrays) for i, v in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{place}: a {type(value).__name__} cannot be saved.")


def _unpacked(kind: Any, value: Any, arrays: Mapping[str, Any]) -> Any:
    """The value that `_packed` wrote; `kind`, its annotation, knows the class of a record."""
    if isinstance(value, list):
        return [_unpacked(_inside(kind), v, arrays) for v in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "fraction" in value:
        return Fraction(value["fraction"])
    if "tuple" in value:
        return tuple(_unpacked(_inside(kind, i), v, arrays) for i, v in enumerate(value["tuple"]))
    if "dict" in value:
        return {_unpacked(Any, k, arrays): _unpacked(_inside(kind, -1), v, arrays) for k, v in value["dict"]}
    made: Any = next((k for k in _choices(kind) if getattr(k, "__name__", "") == value["record"]), None)
    if made is None:
        raise ValueError(f"a {value['record']} was not expected")
    hints, names = typing.get_type_hints(made), {f.name for f in dataclasses.fields(made)}
    if set(value["fields"]) != names:
        raise ValueError(f"the fields {sorted(set(value['fields']) ^ names)} do not fit")
    return made(**{name: _unpacked(hints[name], v, arrays) for name, v in value["fields"].items()})


def _choices(kind: Any) -> tuple[Any, ...]:
    """The kinds that an annotation allows."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return tuple(inner for k in typing.get_args(kind) for inner in _choices(k))
    return (kind,)


def _inside(kind: Any, place: int = 0) -> Any:
    """What an annotation says of a container's element; of a dict, -1 stands for its values."""
    for choice in _choices(kind):
        arguments = typing.get_args(choice)
        if arguments and typing.get_origin(choice) is not typing.Literal:
            repeated = len(arguments) == 2 and arguments[1] is Ellipsis
            return arguments[0] if repeated or place >= len(arguments) else arguments[place]
    return Any
