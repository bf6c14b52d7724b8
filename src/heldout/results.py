"""Results as data: one codec from fields to JSON and npz and back, one `==`, one short `repr`."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import time
import types
import typing
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from heldout.errors import InputError
from heldout.files import read_npz, write_npz, write_text
from heldout.frames import at

FORMAT = 4  # of saved results; 1 and 2 were written field by field, 3 did not know what a field may hold


class Record:
    """What frozen dataclasses of results have in common: plain data, saving, loading, equality, a short `repr`.

    A subclass is a dataclass with `frozen=True, kw_only=True, eq=False, repr=False`. Its fields may hold numbers,
    texts, arrays, fractions, tuples, dicts with plain keys, and other records or dataclasses; their annotations say
    what `load` brings back. Fields in `unlisted` are saved but not in the JSON; `derived` names properties that are in
    the JSON as well, also those of a field ("test.level" is the key "level"), or maps keys of the JSON to such names:
    {"length": "size", "level": "test.level"}, where it is None if the test is.

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
        """Plain data, ready for JSON, short values first; an undefined number is None.

        Returns
        -------
        dict
            One entry per field, and those of `derived`.
        """
        paths = {f.name: f.name for f in _fields(self) if f.name not in self.unlisted}
        derived = self.derived
        paths |= derived if isinstance(derived, Mapping) else {path.rpartition(".")[2]: path for path in derived}
        values = {key: plain(at(self, path)) for key, path in paths.items()}
        return dict(sorted(values.items(), key=lambda item: isinstance(item[1], (list, dict))))

    def save(self, path: str | Path) -> None:
        """Write `path`.npz, from which every number comes back to the last bit, and `path`.json for everybody else.

        What would not come back as it is, such as an array of objects, is refused before anything is written.

        Parameters
        ----------
        path : path
            Without a suffix, or with one of the two.
        """
        try:
            packed, arrays = pack(self)
            text = json.dumps(packed)
            if not same(unpack(type(self), text, arrays), self):
                raise ValueError("it would not come back as it is")
        except ValueError as error:
            raise InputError(f"This {type(self).__name__} cannot be saved: {error}.") from error
        plainly = json.dumps(self.to_dict(), indent=2, allow_nan=False)
        record = json.dumps({"format": FORMAT, "kind": type(self).__name__, "fields": text})
        write_npz(Path(f"{_stem(path)}.npz"), {"record": np.array(record), **arrays}, packed=True)
        write_text(Path(f"{_stem(path)}.json"), plainly + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote: `path`, one of its two files, or the folder of `result`.

        Parameters
        ----------
        path : path
            Of either file, without a suffix, or of a folder that holds `result.npz`.

        Returns
        -------
        the class it is called on
            Equal to what was saved.
        """
        file, kind, fields, arrays = _opened(path)
        if kind != cls.__name__:
            raise InputError(f"{file} holds {a_kind(kind)}, not {a_kind(cls.__name__)}.")
        try:
            made = unpack(cls, fields, arrays)
        except Exception as error:
            told = error if isinstance(error, ValueError) else repr(error)
            raise InputError(f"{file} is damaged: {told}.") from error
        if not isinstance(made, cls):
            raise InputError(f"{file} is damaged: it holds no {cls.__name__}.")
        return made

    def __eq__(self, other: object) -> bool:
        return same(self, other) if type(self) is type(other) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # fields may hold arrays

    def __repr__(self) -> str:
        values = {f.name: getattr(self, f.name) for f in _fields(self) if f.repr}
        told = [f"{name}={_short(v)}" for name, v in values.items() if v is None or isinstance(v, (str, int, float))]
        return f"{type(self).__name__}({', '.join([*told[:6], *(['...'] if len(values) > len(told[:6]) else [])])})"


def kind_of(path: str | Path) -> str:
    """The name of the class that a saved result is of; `path` as for `Record.load`."""
    return _opened(path)[1]


def a_kind(name: str) -> str:
    """The name of a class with its article.

    Examples
    --------
    >>> a_kind("AuditResult"), a_kind("BudgetResult")
    ('an AuditResult', 'a BudgetResult')
    """
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"


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
    return time.strftime("%Y-%m-%d", time.gmtime(float(seconds) if seconds else time.time()))


def plain(value: Any) -> Any:
    """Anything a record may hold as JSON has it.

    Examples
    --------
    >>> plain({"p": np.array([0.5, math.nan]), 3: (Fraction(1, 2), np.int64(4))})
    {'p': [0.5, None], '3': [0.5, 4]}
    >>> plain({0.1: 1, 0.1 + 0.2: 2, 0.3: 3})
    {'0.1': 1, '0.30000000000000004': 2, '0.3': 3}
    """
    if isinstance(value, Record):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in _fields(value)}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {_key(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _key(key: Any) -> str:
    """A key of the JSON: numbers as short as they are still told apart."""
    return f"{key:g}" if isinstance(key, float) and float(f"{key:g}") == key else str(key)


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same to the last bit; NaN is the same as NaN, and numpy's numbers are Python's."""
    (one, arrays), (other, others) = pack(a), pack(b)
    return json.dumps(one) == json.dumps(other) and all(
        x.shape == y.shape and x.dtype == y.dtype and np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")
        for x, y in zip(arrays.values(), others.values(), strict=True)
    )


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


def pack(value: Any) -> tuple[Any, dict[str, Any]]:
    """A value as JSON in which every dict has one key that says what it is, and its arrays by the place they stand at.

    Examples
    --------
    >>> pack((1, Fraction(1, 3), np.zeros(2)))
    ({'tuple': [1, {'fraction': '1/3'}, {'array': '[2]'}]}, {'[2]': array([0., 0.])})
    """
    arrays: dict[str, Any] = {}

    def packed(value: Any, place: str) -> Any:
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            arrays[place] = value
            return {"array": place}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [[f.name, packed(getattr(value, f.name), f"{place}.{f.name}")] for f in _fields(value)]
            return {"record": [type(value).__name__, fields]}
        if isinstance(value, Mapping):
            pairs = enumerate(value.items())
            return {"dict": [[packed(k, f"{place}[{i}]key"), packed(v, f"{place}[{i}]")] for i, (k, v) in pairs]}
        if isinstance(value, (list, tuple)):
            items = [packed(v, f"{place}[{i}]") for i, v in enumerate(value)]
            return items if isinstance(value, list) else {"tuple": items}
        if isinstance(value, Fraction):
            return {"fraction": str(value)}
        if isinstance(value, np.generic):
            return value.item()
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        raise ValueError(f"`{place.lstrip('.')}` is {_short(value)}, which cannot be written")

    return packed(value, ""), arrays


def unpack(kind: type, text: str, arrays: Mapping[str, Any]) -> Any:
    """What `pack` made of a record of this kind; every field must hold what its annotation says."""
    kinds = _kinds(kind, {})

    def unpacked(value: dict[str, Any]) -> Any:
        ((tag, inside),) = value.items()
        if tag != "record":
            return MADE[tag](inside) if tag in MADE else arrays.get(inside)
        name, fields = inside[0], dict(inside[1])
        if name not in kinds:
            raise ValueError(f"a {name} was not expected")
        hints, known = typing.get_type_hints(kinds[name]), _fields(kinds[name])
        if {f.name for f in known} != set(fields):
            raise ValueError(f"the fields of {name} are {', '.join(fields)}")
        for f in known:
            if not fits(fields[f.name], hints[f.name]):
                raise ValueError(f"`{f.name}` of {name} is {_short(fields[f.name])}, not a {f.type}")
        return kinds[name](**fields)

    return json.loads(text, object_hook=unpacked)


MADE: dict[str, Callable[[Any], Any]] = {"fraction": Fraction, "tuple": tuple, "dict": dict}


def _kinds(kind: Any, found: dict[str, Any]) -> dict[str, Any]:
    """All dataclasses that an annotation leads to, by name."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type) and kind.__name__ not in found:
        found[kind.__name__] = kind
        for hint in typing.get_type_hints(kind).values():
            _kinds(hint, found)
    for inner in typing.get_args(kind):
        _kinds(inner, found)
    return found


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of an annotated type; of arrays the dtype, of containers all elements.

    Examples
    --------
    >>> fits((1, 2.5), tuple[float, ...]), fits((1, "a"), tuple[float, ...]), fits(None, int | None), fits(True, int)
    (True, False, True, False)
    """
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, k) for k in inside)
    if origin is typing.Literal:
        return value in inside
    if kind in (int, float):
        return isinstance(value, (int, kind)) and not isinstance(value, bool)
    if kind is Any or not isinstance(origin or kind, type):
        return kind is not None or value is None
    if not isinstance(value, origin or kind):
        return False
    if isinstance(value, np.ndarray):
        scalar = typing.get_args(inside[1])[:1] if inside else ()
        return not scalar or not isinstance(scalar[0], type) or bool(np.issubdtype(value.dtype, scalar[0]))
    if isinstance(value, Mapping):
        return not inside or all(fits(k, inside[0]) and fits(v, inside[1]) for k, v in value.items())
    if isinstance(value, (tuple, list)) and inside:
        kinds = inside[:1] * len(value) if len(inside) == 1 or inside[1] is Ellipsis else inside
        return len(kinds) == len(value) and all(map(fits, value, kinds))
    return True
