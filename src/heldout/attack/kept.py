"""What the trials of a simulation have found so far, in one checkpoint.

A trial depends on its seed alone, so a finished one is its numbers. One that was stopped is played again from its
start: what is quick is done again, and the long passes over all queries (`heldout.attack.queries`) take the pieces that
are kept. So it ends in the same bits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout import checkpoints
from heldout.checkpoints import SHORT, Arrays, Checkpoint


class Replay:
    """The long passes of one trial, in the order in which it makes them.

    Parameters
    ----------
    kept : mapping
        What was saved of it.
    keep : function
        Told after every piece.
    due : function
        Whether it is time to write.
    """

    def __init__(
        self, kept: Mapping[str, NDArray[Any]], keep: Callable[[], None], due: Callable[[], bool] = lambda: False
    ) -> None:
        self._kept, self._keep, self.due = kept, keep, due
        self._passes: list[tuple[NDArray[np.bool_], tuple[NDArray[Any], ...]]] = []
        self.notes: dict[str, NDArray[Any]] = {
            key.removeprefix("note "): value for key, value in kept.items() if key.startswith("note ")
        }

    def begin(self, made: Sequence[NDArray[Any]], places: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
        """(pieces,) which pieces of the next pass are there already; their rows a … b - 1 are written to `made`."""
        number = len(self._passes)
        done = np.array(self._kept.get(f"{number} done", np.zeros(len(places), dtype=bool)))
        for i, array in enumerate(made):
            for a, b in [place for place, there in zip(places, done, strict=True) if there]:
                array[a:b] = self._kept[f"{number} {i}"][a:b]
        self._passes.append((done, tuple(made)))
        return done.copy()

    def finish(self, piece: int) -> None:
        """A piece of the last pass is written."""
        self._passes[-1][0][piece] = True
        self._keep()

    def note(self, name: str, value: NDArray[Any]) -> None:
        """Something else that need not be found again."""
        self.notes = {**self.notes, name: value}
        self._keep()

    def state(self) -> Arrays:
        """All of it; pieces that are being written are not marked as done."""
        found = {f"note {name}": value for name, value in self.notes.items()}
        for number, (done, made) in enumerate(list(self._passes)):
            found[f"{number} done"] = done.copy()  # before the rows: a piece marked here is whole
            found |= {f"{number} {i}": array.copy() for i, array in enumerate(made)}
        return found


class KeptTrials:
    """All trials of a run, finished or not.

    Parameters
    ----------
    checkpoint : Checkpoint
        Of the whole run.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._stored = checkpoint.load() or {}
        self._finished: dict[str, Arrays] = {}
        self._running: dict[str, Replay] = {}
        for key in self._stored:
            name, _, what = key.partition(": ")
            if what.startswith("found "):
                self._finished.setdefault(name, {})[what.removeprefix("found ")] = self._stored[key]
        self._lock, self._began = threading.Lock(), time.monotonic()
        self.queries = round(float(self._stored.get("queries", 0)))  # that are done, which a bar counts

    def finished(self, name: str) -> Arrays | None:
        """What a trial found, where it is finished."""
        return self._finished.get(name)

    def replay(self, name: str) -> Replay:
        """A trial begins, or goes on."""
        start = f"{name}: "
        kept = {key.removeprefix(start): value for key, value in self._stored.items() if key.startswith(start)}
        with self._lock:
            self._running[name] = Replay(kept, self.keep, lambda: self._checkpoint.due)
            return self._running[name]

    def finish(self, name: str, **found: NDArray[Any]) -> None:
        """A trial is over."""
        with self._lock:
            self._finished[name] = found
            del self._running[name]
        self.keep()

    def keep(self) -> None:
        """Where it is time to, write."""
        self._checkpoint.keep(self._state)

    def save_if_long(self) -> None:
        """Write now, where the work is worth a file."""
        if time.monotonic() - self._began >= min(SHORT, checkpoints.SECONDS):
            self._checkpoint.save(self._state())

    def _state(self) -> Arrays:
        with self._lock:
            finished, running = dict(self._finished), dict(self._running)
        found = {f"{name}: found {key}": value for name, one in finished.items() for key, value in one.items()}
        found["queries"] = np.array(self.queries)
        for name, replay in running.items():
            found |= {f"{name}: {key}": value for key, value in replay.state().items()}
        return found
