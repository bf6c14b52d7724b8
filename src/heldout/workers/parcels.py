"""Things on their way to a worker: pickled once, large arrays beside them, and opened once by each worker."""

from __future__ import annotations

import importlib
import io
import pickle
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError, told

try:
    _cloudpickle: Any = importlib.import_module("cloudpickle")
except ImportError:  # joblib 1.5 brings its own
    _cloudpickle = importlib.import_module("joblib.externals.cloudpickle")

KEPT_OPEN = 4  # in a worker: the model and the pictures of its task, and of the one before


@dataclass(frozen=True)
class Parcel:
    """Something pickled, large arrays beside it: a worker opens it once, however many tasks need it."""

    key: str
    content: NDArray[np.uint8]
    arrays: tuple[NDArray[np.uint8], ...]
    within: tuple[Parcel, ...]  # that it holds

    def opened(self) -> Any:
        """What was packed."""
        return _Unpickler(self).load()

    def bare(self) -> Parcel:
        """What it is and what it holds, without the content, which is somewhere else by now."""
        return replace(self, content=np.empty(0, np.uint8), arrays=())


class _Pickler(_cloudpickle.Pickler):  # type: ignore[misc]
    """Leaves out what is sent by itself."""

    def __init__(self, file: io.BytesIO, known: Mapping[int, Parcel], arrays: list[pickle.PickleBuffer]) -> None:
        super().__init__(file, protocol=5, buffer_callback=arrays.append)
        self._known, self.used = known, dict[str, Parcel]()

    def persistent_id(self, thing: Any) -> str | None:
        parcel = self._known.get(id(thing))
        if parcel is None:
            return None
        self.used[parcel.key] = parcel
        return parcel.key


class _Unpickler(pickle.Unpickler):
    """Takes in what was sent by itself."""

    def __init__(self, parcel: Parcel) -> None:
        super().__init__(io.BytesIO(parcel.content.tobytes()), buffers=[a.data for a in parcel.arrays])
        self._within = {each.key: each for each in parcel.within}

    def persistent_load(self, key: str) -> Any:
        if key in _opened:
            _opened.move_to_end(key)
            return _opened[key]
        for other in [other for other in _opened if _run_of(other) != _run_of(key)]:  # nobody asks for it any more
            del _opened[other]
        while len(_opened) >= KEPT_OPEN:
            _opened.popitem(last=False)
        _opened[key] = self._within[key].opened()
        return _opened[key]


_opened: OrderedDict[str, Any] = OrderedDict()  # in a worker: parcels that were opened, the last used last


class Parcels(Mapping[int, Parcel]):
    """What tasks of one run hold, by `id`: packed when the first of them is sent, once.

    InputError where something cannot be sent: `by` which option it is, and what to do `instead`.
    """

    def __init__(self, things: Iterable[tuple[str, Any]], by: str, *, instead: str) -> None:
        self._things = {id(thing): (what, thing) for what, thing in things}
        self._by, self._instead, self._run = by, instead, uuid.uuid4().hex
        self._packed: dict[int, Parcel] = {}

    def __getitem__(self, which: int) -> Parcel:
        if which not in self._packed:
            what, thing = self._things[which]
            self._packed[which] = self._pack(thing, what)
        return self._packed[which]

    def __iter__(self) -> Iterator[int]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)

    def letter(self, content: Any) -> Parcel:
        """One task's own, without what is sent by itself."""
        return self._pack(content, "the work", self)

    def _pack(self, thing: Any, what: str, known: Mapping[int, Parcel] | None = None) -> Parcel:
        return packed(thing, what, self._by, known, instead=self._instead, run=self._run)


def _run_of(key: str) -> str:
    return key.partition("-")[0]


def packed(
    thing: Any, what: str, by: str, known: Mapping[int, Parcel] | None = None, *, instead: str, run: str = ""
) -> Parcel:
    """Something in a form that can be sent, as part of a run."""
    file, arrays = io.BytesIO(), list[pickle.PickleBuffer]()
    try:
        pickler = _Pickler(file, known or {}, arrays)
        pickler.dump(thing)
    except InputError:  # of something within
        raise
    except Exception as error:  # whatever the parts of a model raise
        raise InputError(
            f"`{by}`: {what} cannot be sent to another process ({told(error)}); {instead}, or use an "
            "instance of a class at the top level of a module, without open files, locks or sessions."
        ) from error
    return Parcel(
        f"{run}-{uuid.uuid4().hex}",
        np.frombuffer(file.getbuffer(), dtype=np.uint8),
        tuple(np.frombuffer(array.raw(), dtype=np.uint8) for array in arrays),
        tuple(pickler.used.values()),
    )
