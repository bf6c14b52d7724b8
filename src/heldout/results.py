"""Results as data: fields to JSON and npz and back (by `codec.py`), one `==`, one short `repr`."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import time
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from heldout.codec import fields_of, pack, same, short_text, unpack
from heldout.errors import InputError
from heldout.files import read_npz, write_npz, write_text
from heldout.frames import Names, at, paths_of

FORMAT = 4  # of saved results; 1 and 2 were written field by field, 3 did not know what a field may hold


class Record:
    """What frozen dataclasses of results have in common: plain data, saving, loading, equality, a short `repr`.

    A subclass is a dataclass with `frozen=True, kw_only=True, eq=False, repr=False`. Its fields may hold numbers,
    texts, arrays, fractions, tuples, dicts with plain keys, and other records or dataclasses; their annotations say
    what `load` brings back. Fields in `unlisted` are saved but not in the JSON; `derived` names properties that are in
    the JSON as well, also those of a field: "test.level" is the key "level", None where the test is, and
    ("least", "test.level") has another key.

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
    derived: ClassVar[Names] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON, short values first; an undefined number is None.

        Returns
        -------
        dict
            One entry per field, and those of `derived`.
        """
        own = (f.name for f in fields_of(self) if f.name not in self.unlisted)
        values = {key: plain(at(self, path)) for key, path in paths_of((*own, *self.derived)).items()}
        return dict(sorted(values.items(), key=lambda item: isinstance(item[1], (list, dict))))

    def save(self, path: str | Path) -> None:
        """Write `path`.npz, from which every number comes back to the last bit, and `path`.json for everybody else.

        What would not come back as it is, such as an array of objects, is refused before anything is written.

        Parameters
        ----------
        path : path
            Without a suffix, or with one of the two.
        """
        if Path(path).suffix in (".html", ".htm", ".md", ".txt", ".csv"):
            raise InputError(
                f"{Path(path).name!r} is no name of a saved result, which is a .npz and a .json; a report is written "
                "by `report`, and a table by `to_frame`."
            )
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
        values = {f.name: getattr(self, f.name) for f in fields_of(self) if f.repr}
        shown = {name: v for name, v in values.items() if v is None or isinstance(v, (str, int, float))}
        told = [f"{name}={short_text(v)}" for name, v in shown.items()]
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
        return {f.name: plain(getattr(value, f.name)) for f in fields_of(value)}
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {_key(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if isinstance(value, Fraction):
        return float(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _key(key: Any) -> str:
    """A key of the JSON: numbers as short as they are still told apart."""
    return f"{key:g}" if isinstance(key, float) and float(f"{key:g}") == key else str(key)


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
