"""Unfinished work on disk: one class, one policy.

State is written whole or not at all, at least once a minute of work, under a fingerprint of everything that changes its
bits. A file that is damaged, or that belongs to other work, is refused in a sentence that says so; nothing is
overwritten that was not read. A run that goes on from its checkpoint ends in the same bits as one that was never
stopped.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout._version import __version__
from heldout.errors import InputError, shortened
from heldout.files import read_npz, write_npz

SECONDS = 20.0  # of work between two writes; units of work are kept short enough for one write a minute
SHORT = 1.0  # seconds of work that are not worth a file of their own

Arrays = dict[str, NDArray[Any]]


class Checkpoint:
    """One file of unfinished work.

    Parameters
    ----------
    path : path, optional
        The file; without one nothing is kept.
    fingerprint : mapping
        Everything that changes the bits of the work, by the name of its option: plain data, as in JSON.
    of : str
        What the work is called in messages: "audit".

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "work.npz"
    >>> Checkpoint(path, {"radius": 2}, of="audit").save({"done": np.arange(3)})
    >>> Checkpoint(path, {"radius": 2}, of="audit").load()["done"].tolist()
    [0, 1, 2]
    """

    def __init__(self, path: str | Path | None, fingerprint: Mapping[str, Any], *, of: str) -> None:
        self.path, self._of = None if path is None else Path(path), of
        self._fingerprint = json.loads(json.dumps({"heldout": __version__, **fingerprint}))
        self._written = time.monotonic()
        self._lock = threading.Lock()

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return self.path is not None and time.monotonic() - self._written >= SECONDS

    def load(self) -> Arrays | None:
        """What was saved, or None where nothing was; InputError where that is damaged or belongs to other work."""
        if self.path is None or not self.path.exists():
            return None
        try:
            arrays = read_npz(self.path)
            stored = json.loads(str(arrays.pop("fingerprint")))
            checksum = str(arrays.pop("checksum"))
            if checksum != _checksum(stored, arrays):
                raise ValueError("checksum")
        except (MemoryError, PermissionError):  # which say nothing about the file
            raise
        except Exception as error:  # zipfile, zlib, numpy and json each have their own
            raise self.damaged(error) from error
        differ = [key for key in {**self._fingerprint, **stored} if stored.get(key) != self._fingerprint.get(key)]
        if differ:
            details = "; ".join(
                f"{key} was {_shown(stored.get(key))}, is {_shown(self._fingerprint.get(key))}" for key in differ
            )
            raise InputError(
                f"the checkpoint {self.path} belongs to another {self._of}: {details}. Give it the options it was made "
                "with, or choose another folder."
            )
        return arrays

    def damaged(self, error: BaseException) -> InputError:
        """The sentence about a file whose content cannot be used."""
        reason = f"{type(error).__name__}: {error}" if isinstance(error, OSError) else type(error).__name__
        return InputError(f"the checkpoint {self.path} is damaged ({reason}); delete it to start again.")

    def save(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write the whole state now; the file is replaced in one step or not at all."""
        with self._lock:
            self._write(arrays)

    def keep(self, state: Callable[[], Mapping[str, NDArray[Any]]]) -> None:
        """To be called after every unit of work, from any thread: writes the state where it is time to."""
        if self.due and self._lock.acquire(blocking=False):  # where another thread is writing, it will do
            try:
                self._write(state())
            finally:
                self._lock.release()

    def _write(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        if self.path is None:
            return
        stored = {key: np.asarray(value) for key, value in arrays.items()}
        marks = {
            "fingerprint": np.array(json.dumps(self._fingerprint, sort_keys=True)),
            "checksum": np.array(_checksum(self._fingerprint, stored)),
        }
        write_npz(self.path, {**stored, **marks})
        self._written = time.monotonic()

    def rows(
        self,
        n: int,
        size: int,
        work: Callable[[int, int], Mapping[str, NDArray[Any]]],
        *,
        bar: Any = None,
    ) -> Arrays:
        """Arrays of n rows, made `size` rows at a time by work(start, stop); rows that are kept are not made again.

        `bar` (`heldout.progress.plain_bar`) hears how many were kept, and how many more are there.
        """
        kept = self.load()
        parts: list[Mapping[str, NDArray[Any]]] = [] if not kept else [kept]
        done = len(next(iter(kept.values()))) if kept else 0
        if bar is not None and done:
            bar.resumed(done)
        began, first = time.monotonic(), done
        try:
            for start in range(done, n, size):
                parts.append(work(start, min(n, start + size)))
                done = min(n, start + size)
                if bar is not None:
                    bar.update(done - start)
                self.keep(lambda: joined(parts))
        finally:  # also where something stops it
            if done > first and time.monotonic() - began >= min(SHORT, SECONDS):
                self.save(joined(parts))
        return joined(parts)


@dataclass(frozen=True)
class CheckpointFolder:
    """The checkpoints of one run, each under its name; without a folder nothing is kept."""

    path: Path | None = None
    of: str = "run"
    prefix: str = ""
    fingerprint: Mapping[str, Any] = field(default_factory=dict)

    def within(self, prefix: str, **fingerprint: Any) -> CheckpointFolder:
        """Those of one part of the run: a prefix of their names, and what they all depend on."""
        known = {**self.fingerprint, **fingerprint}
        return replace(self, prefix=f"{self.prefix}{prefix}-", fingerprint=known)

    def file(self, name: str, **fingerprint: Any) -> Checkpoint:
        """One of them."""
        path = None if self.path is None else self.path / f"{self.prefix}{name}.npz"
        return Checkpoint(path, {**self.fingerprint, **fingerprint}, of=self.of)


def begin(folder: Path, *, resume: bool, say: Callable[[str], None]) -> bool:
    """Whether there is unfinished work to continue; InputError where there is some and nobody asked to continue it."""
    unfinished = holds_work(folder)
    if unfinished and not resume:
        raise InputError(f"{folder} holds unfinished work; continue with `resume=True`, or delete it to start again.")
    if resume and not unfinished:
        say(f"there is nothing to resume in {folder}: starting from the beginning.")
    elif unfinished:
        say(f"continuing the unfinished work in {folder}.")
    return unfinished


def holds_work(folder: Path) -> bool:
    """Whether a folder holds checkpoints."""
    return folder.is_dir() and any(folder.rglob("*.npz"))


def joined(parts: list[Mapping[str, NDArray[Any]]]) -> Arrays:
    """Arrays in pieces, one after the other."""
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]} if parts else {}


def hash_of(*values: Any) -> str:
    """Sixteen characters that tell values from others: of arrays their values, types and shapes.

    Anything else is hashed as it would be pickled, which raises where that is impossible.

    Examples
    --------
    >>> hash_of(np.arange(3)) == hash_of(np.arange(3)), hash_of(np.arange(3)) == hash_of(np.arange(3.0))
    (True, False)
    >>> hash_of({"depth": 2}) == hash_of({"depth": 3})
    False
    """
    digest = hashlib.sha256()
    for value in values:
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            digest.update(f"{value.dtype.str}{value.shape}".encode())
            digest.update(np.ascontiguousarray(value).tobytes())
        else:
            import joblib

            digest.update(joblib.hash(value).encode())
    return digest.hexdigest()[:16]


def _checksum(fingerprint: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    names = sorted(arrays)
    text = json.dumps([fingerprint, names], sort_keys=True) + hash_of(*(arrays[name] for name in names))
    return hashlib.sha256(text.encode()).hexdigest()


def _shown(value: Any) -> str:
    return "not given" if value is None else shortened(value)
