"""Things on their way to a worker: pickled once, large arrays beside them, and opened once by each worker."""

from __future__ import annotations

import importlib
import io
import pickle
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
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
        else:
            _opened[key] = self._within[key].opened()
            while len(_opened) > KEPT_OPEN:
                _opened.popitem(last=False)
        return _opened[key]


_opened: OrderedDict[str, Any] = OrderedDict()  # in a worker: parcels that were opened, the last used last


def packed(thing: Any, what: str, by: str, known: Mapping[int, Parcel] | None = None, *, instead: str) -> Parcel:
    """Something in a form that can be sent; InputError where there is none: `by` which option it is sent, and what to
    do `instead`.
    """
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
        uuid.uuid4().hex,
        np.frombuffer(file.getbuffer(), dtype=np.uint8),
        tuple(np.frombuffer(array.raw(), dtype=np.uint8) for array in arrays),
        tuple(pickler.used.values()),
    )
