"""Finished parts of a run, in one checkpoint: a run that is continued takes them as they are, and makes the rest."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from heldout import checkpoints
from heldout.checkpoints import SHORT, Arrays, Checkpoint
from heldout.codec import pack, unpack

Kind = TypeVar("Kind")


class Kept:
    """The parts of one run by their names. Every part has chance of its own, so that none depends on which are kept.

    Parameters
    ----------
    checkpoint : Checkpoint, optional
        Where they are kept; without one, nowhere.
    tell : function, optional
        Told of every part that is done.

    Examples
    --------
    >>> kept = Kept()
    >>> kept.part("p", float, lambda: 0.5), kept.part("p", float, lambda: 0.1)
    (0.5, 0.5)
    """

    def __init__(self, checkpoint: Checkpoint | None = None, tell: Callable[[int], object] = lambda _: None) -> None:
        self._checkpoint, self.tell = checkpoint or Checkpoint(None, {}, of="run"), tell
        self._began = time.monotonic()
        stored = self._checkpoint.load() or {}
        own: dict[str, Arrays] = {}
        for key, value in stored.items():
            name, _, place = key.partition("/")
            own.setdefault(name, {})[place] = value
        self._parts: dict[str, Callable[[], Arrays]] = {name: partial(dict, part) for name, part in own.items()}
        self.n_found = len(self._parts)

    def part(self, name: str, kind: Any, work: Callable[[], Kind]) -> Kind:
        """What `work` makes, a number, a record or None; made once."""
        if name not in self._parts:
            made = work()
            text, arrays = pack(made)
            self.put(name, lambda: {"": np.array(json.dumps(text)), **arrays})
            self.tell(1)
            return made
        own = self._parts[name]()
        found: Kind = unpack(kind, str(own[""]), own)
        return found

    def array(self, name: str, work: Callable[[], np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
        """The same for an array."""
        if name not in self._parts:
            made = work()
            self.put(name, lambda: {"": made})
            self.tell(1)
            return made
        return self._parts[name]()[""]

    def found(self, name: str) -> Arrays | None:
        """What is there of a part that is made piece by piece."""
        return self._parts[name]() if name in self._parts else None

    def put(self, name: str, arrays: Callable[[], Arrays]) -> None:
        """What there is of it now, asked for when it is written."""
        self._parts[name] = arrays
        self._checkpoint.keep(self._state)

    def close(self) -> None:
        """Write what is there, unless it was made in no time."""
        if self._parts and time.monotonic() - self._began >= min(SHORT, checkpoints.SECONDS):
            self._checkpoint.save(self._state())

    def _state(self) -> Arrays:
        return {f"{name}/{key}": value for name, part in self._parts.items() for key, value in part().items()}
