"""Values as JSON and arrays, and back to the last bit: what may stand in a saved record, checked by its annotations."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np


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
            fields = [[f.name, packed(getattr(value, f.name), f"{place}.{f.name}")] for f in fields_of(value)]
            return {"record": [saved_name(type(value)), fields]}
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
        raise ValueError(f"`{place.lstrip('.')}` is {short_text(value)}, which cannot be written")

    return packed(value, ""), arrays


def unpack(kind: type, text: str, arrays: Mapping[str, Any]) -> Any:
    """What `pack` made of a record of this kind; every field must hold what its annotation says.

    Fields with a default may be missing: results that an older version saved do not have them.
    """
    kinds = _kinds(kind, {})

    def unpacked(value: dict[str, Any]) -> Any:
        ((tag, inside),) = value.items()
        if tag != "record":
            return MADE[tag](inside) if tag in MADE else arrays.get(inside)
        name, fields = inside[0], dict(inside[1])
        if name not in kinds:
            raise ValueError(f"a {name} was not expected")
        hints, known = typing.get_type_hints(kinds[name]), fields_of(kinds[name])
        # What older versions did not know yet has its default.
        if set(fields) - {f.name for f in known} or {f.name for f in known if not has_default(f)} - set(fields):
            raise ValueError(f"the fields of {name} are {', '.join(fields)}")
        for f in known:
            if f.name in fields and not fits(fields[f.name], hints[f.name]):
                raise ValueError(f"`{f.name}` of {name} is {short_text(fields[f.name])}, not a {f.type}")
        return kinds[name](**fields)

    return json.loads(text, object_hook=unpacked)


MADE: dict[str, Callable[[Any], Any]] = {"fraction": Fraction, "tuple": tuple, "dict": dict}


def _kinds(kind: Any, found: dict[str, Any]) -> dict[str, Any]:
    """All dataclasses that an annotation leads to, by name."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type) and saved_name(kind) not in found:
        found[saved_name(kind)] = kind
        for hint in typing.get_type_hints(kind).values():
            _kinds(hint, found)
    for inner in typing.get_args(kind):
        _kinds(inner, found)
    return found


def saved_name(kind: type) -> str:
    """What a dataclass is called in files: its name, or that which it had before (`saved_as`)."""
    return str(getattr(kind, "saved_as", kind.__name__))


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


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same to the last bit; NaN is the same as NaN, and numpy's numbers are Python's."""
    (one, arrays), (other, others) = pack(a), pack(b)
    return json.dumps(one) == json.dumps(other) and all(
        x.shape == y.shape and x.dtype == y.dtype and np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")
        for x, y in zip(arrays.values(), others.values(), strict=True)
    )


def fields_of(record: Any) -> tuple[dataclasses.Field[Any], ...]:
    """Those of a dataclass or of one of its records."""
    return dataclasses.fields(record)


def has_default(field: dataclasses.Field[Any]) -> bool:
    """Whether a record can be made without naming a field."""
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def short_text(value: Any) -> str:
    """A value for a message: arrays by what they hold, others cut."""
    if isinstance(value, np.ndarray):
        return f"<{value.dtype} {value.shape}>"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
