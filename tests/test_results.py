"""Records to JSON and npz and back: what is written comes back to the last bit, or is refused in a sentence."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import pkgutil
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import heldout
from heldout.codec import pack, same, unpack
from heldout.errors import InputError
from heldout.orbit import Translations
from heldout.results import FORMAT, Record


@dataclass(frozen=True)
class Ends:
    low: float
    high: float | None


@dataclass(frozen=True)
class Other:
    low: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Kept(Record):
    """Names that clash with those of an npz and its writer, and a union that only its elements tell apart."""

    file: NDArray[np.float64]
    record: NDArray[np.float64]
    some: tuple[Ends, ...] | tuple[Other, ...]
    share: Fraction = Fraction(1, 3)
    at: Mapping[float, int] = dataclasses.field(default_factory=dict)
    side: Literal["low", "high"] = "low"
    anything: Any = None


@pytest.fixture
def kept() -> Kept:
    return Kept(file=np.array([1.0, math.nan]), record=np.zeros((0, 2)), some=(Other(0.1), Other(math.inf)))


def test_round_trip(kept: Kept, tmp_path: Path) -> None:
    for name, one in (("a", kept), ("b.npz", replace(kept, some=(Ends(0.1, None),), at={0.1 + 0.2: 1, 0.3: 2}))):
        one.save(tmp_path / name)
        assert Kept.load(tmp_path / name) == one != replace(one, share=Fraction(1, 4))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.json", "a.npz", "b.json", "b.npz"]
    assert json.loads((tmp_path / "b.json").read_text())["at"] == {"0.30000000000000004": 1, "0.3": 2}
    assert Kept.load(tmp_path / "b.json").at == {0.1 + 0.2: 1, 0.3: 2}
    assert kept == replace(kept, share=Fraction(1, 3), some=(Other(np.float64(0.1)), Other(math.inf)))
    assert repr(kept) == "Kept(side='low', anything=None, ...)"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"file": np.array([None, 1])}, "`file` is <object .* which cannot be written"),
        ({"anything": {1}}, r"`anything` is \{1\}, which cannot be written"),
        ({"anything": Other(0.1), "some": ()}, None),
        ({"share": "a third"}, "`share` of Kept is 'a third', not a Fraction"),
        ({"at": {"a": 1}}, "`at` of Kept is .*, not a Mapping"),
        ({"side": "middle"}, "`side` of Kept is 'middle', not a Literal"),
        ({"some": (Ends(0.1, None), Other(0.1))}, "`some` of Kept is .*, not a tuple"),
        ({"some": (Other("x"),)}, "`low` of Other is 'x', not a float"),  # type: ignore[arg-type]
        ({"record": np.zeros(2, dtype=np.int64)}, "`record` of Kept is <int64 .*, not a NDArray"),
    ],
)
def test_what_would_not_come_back_is_refused_when_it_is_saved(
    kept: Kept, fields: dict[str, Any], told: str | None, tmp_path: Path
) -> None:
    one = replace(kept, **fields)
    if told is None:
        one.save(tmp_path / "a")
        return
    with pytest.raises(InputError, match=f"^This Kept cannot be saved: {told}"):
        one.save(tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_a_report_is_not_saved_as_numbers(kept: Kept, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a report is written by `report`"):
        kept.save(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_result_is_refused_in_a_sentence(kept: Kept, tmp_path: Path) -> None:
    def refused(record: Any, told: str) -> None:
        np.savez(tmp_path / "a.npz", record=np.array(json.dumps(record)), **pack(kept)[1])
        with pytest.raises(InputError, match=told):
            Kept.load(tmp_path / "a")

    for name in ("some", "share", "at", "side"):
        fields = json.loads(json.dumps(pack(kept)[0]))
        next(pair for pair in fields["record"][1] if pair[0] == name)[1] = 5
        refused(
            {"format": FORMAT, "kind": "Kept", "fields": json.dumps(fields)}, f"damaged: `{name}` of Kept is 5, not"
        )
    for bad in ("5", "null", '{"tuple": [1]}', '{"record": ["Ends", []]}', '{"record": ["X", []]}', "{", 5, None):
        refused({"format": FORMAT, "kind": "Kept", "fields": bad}, "damaged")
    refused({"format": FORMAT, "kind": "Ends", "fields": "{}"}, "holds an Ends, not a Kept")
    refused({"format": 2, "version": "0.1.0"}, "another version of heldout, in format 2")
    (tmp_path / "a.npz").write_bytes(b"PK not")
    with pytest.raises(InputError, match="damaged"):
        Kept.load(tmp_path / "a.npz")
    with pytest.raises(InputError, match="does not exist"):
        Kept.load(tmp_path / "b")


def test_what_an_older_version_saved_loads(kept: Kept) -> None:
    """Fields that it did not know have their default; one without a default is missed, and one too many is refused."""
    packed, arrays = pack(kept)
    text = json.dumps(packed)

    def without(name: str) -> str:
        record = json.loads(text)["record"]
        return json.dumps({"record": [record[0], [pair for pair in record[1] if pair[0] != name]]})

    assert same(unpack(Kept, without("side"), arrays), kept)
    with pytest.raises(ValueError, match="the fields of Kept are"):
        unpack(Kept, without("some"), arrays)
    with pytest.raises(ValueError, match="the fields of Kept are"):
        unpack(Kept, text.replace('"side"', '"edge"'), arrays)


def test_json_keys_may_differ_from_fields() -> None:
    @dataclass(frozen=True, kw_only=True, eq=False, repr=False)
    class Named(Record):
        unlisted = ("curve",)
        derived = (("points", "curve.size"), ("answer", "best"))
        answer: float
        curve: NDArray[np.float64]
        best = 3.0

    assert Named(answer=0.1, curve=np.array([1.0])).to_dict() == {"answer": 3.0, "points": 1}


def records() -> list[type[Record]]:
    """Every record of every verb."""
    for module in pkgutil.walk_packages(heldout.__path__, "heldout."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

    def below(kind: type[Record]) -> Iterator[type[Record]]:
        for inner in kind.__subclasses__():
            yield from (inner, *below(inner))

    return [k for k in below(Record) if k.__module__.startswith("heldout.") and dataclasses.is_dataclass(k)]


def samples(kind: Any) -> list[Any]:
    """Values of an annotated type, one or more for each thing that it allows."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return [value for k in inside for value in samples(k)]
    if origin is Literal:
        return list(inside)
    if kind is Translations:  # which refuses a radius that no picture has
        return [Translations(3)]
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        made = {f.name: samples(hints[f.name]) for f in dataclasses.fields(kind)}
        some = range(max(map(len, made.values()), default=1))
        return [kind(**{name: values[i % len(values)] for name, values in made.items()}) for i in some]  # type: ignore[operator]
    if origin is np.ndarray:
        (scalar,) = typing.get_args(inside[1])
        return [np.ones((2, 1), dtype=scalar if isinstance(scalar, type) and scalar is not np.generic else float)]
    if origin is tuple and inside[1:] != (Ellipsis,):
        return [tuple(samples(k)[0] for k in inside)]
    if origin in (tuple, list, Sequence):
        made_of = list if origin is list else tuple
        return [made_of(samples(inside[0])), made_of(())]
    if origin is not None and issubclass(origin, Mapping):
        return [{key: samples(inside[1])[0] for key in samples(inside[0]) if key == key}]
    plain = {bool: [True], int: [3, 10**20], float: [0.1, math.nan, 2], str: ["a\n`**", ""], Any: [None, (1, "a")]}
    return plain.get(kind, [None] if kind is type(None) else [Fraction(2, 3)])


@pytest.mark.parametrize("kind", records(), ids=lambda kind: kind.__name__)
def test_every_record_comes_back(kind: type[Record]) -> None:
    """Whatever its annotations allow."""
    for one in samples(kind):
        packed, arrays = pack(one)
        assert same(unpack(kind, json.dumps(packed), arrays), one)
