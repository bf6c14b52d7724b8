"""Answers that were paid for, kept on disk one by one."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from heldout.errors import InputError
from heldout.results import today
from heldout.scorers.completions import Answer

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class AnswerCache:
    """Records by their keys, in memory and as lines of a file that only grows.

    A line is written by a single call, so that a process that is killed leaves whole lines behind; a line that is
    torn all the same, by a full disk or a power cut, is ignored. Anybody may read the file, but one at a time asks and
    adds to it, or two would pay for the same answers; where a system has no locks (Windows), nobody is kept out.

    Parameters
    ----------
    path : Path, optional
        Of the file; without it records are kept in memory alone.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "answers.jsonl"
    >>> with AnswerCache(path) as cache:
    ...     cache.add("a3f0", {"text": "B"})
    >>> _ = path.write_text(path.read_text() + '{"key": "77')  # killed here
    >>> with AnswerCache(path) as cache:
    ...     cache.add("b1c2", {"text": "D"})
    >>> AnswerCache(path).read().records
    {'a3f0': {'text': 'B'}, 'b1c2': {'text': 'D'}}
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.records: dict[str, dict[str, Any]] = {}
        self.answered = 0  # answers that were kept here, by this object
        self.prompt_tokens = self.completion_tokens = 0  # of these, where the endpoint counts them
        self._seen = 0  # bytes that were read
        self._file: int | None = None

    def read(self) -> AnswerCache:
        """What the file holds by now, whoever wrote it."""
        if self.path is None:
            return self
        try:
            with self.path.open("rb") as f:
                if os.fstat(f.fileno()).st_size < self._seen:  # another file of that name
                    self._seen = 0
                f.seek(self._seen)
                for line in f:
                    if not line.endswith(b"\n"):
                        break
                    self._seen += len(line)
                    self._take(line)
        except (FileNotFoundError, NotADirectoryError):  # told where something is to be written
            pass
        except OSError as error:
            raise InputError(f"`cache`: {self.path} cannot be read: {error.strerror}.") from error
        return self

    def _take(self, line: bytes) -> None:
        try:
            record = json.loads(line)
            key = record.pop("key")
        except (ValueError, KeyError, AttributeError, TypeError):
            return  # torn
        if isinstance(key, str):
            self.records[key] = record

    def __enter__(self) -> AnswerCache:
        if self.path is None:
            return self
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            if not _locked(self._file):
                self.__exit__(None, None, None)
                raise InputError(
                    f"`cache`: another run asks this model now and keeps its answers in {self.path}; wait until it has "
                    "ended, and its answers need not be asked for again, or name another folder."
                )
            if os.fstat(self._file).st_size:
                os.lseek(self._file, -1, os.SEEK_END)
                if os.read(self._file, 1) != b"\n":
                    os.write(self._file, b"\n")  # ends a torn line, so that the next one is whole
        except OSError as error:
            self.__exit__(None, None, None)
            raise self._cannot_write(error) from error
        return self.read()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)

    def add(self, key: str, record: Mapping[str, Any], *, lasting: bool = True) -> None:
        """Keep one; it is in the file when this returns, unless it is not for later runs."""
        self.records[key] = dict(record)
        if self._file is None or not lasting:
            return
        line = json.dumps({"key": key, **record}).encode() + b"\n"
        try:
            written = os.write(self._file, line)
        except OSError as error:
            raise self._cannot_write(error) from error
        if written < len(line):
            raise InputError(f"`cache`: {self.path} cannot be written: the disk is full.")

    def keep(self, key: str, answer: Answer) -> None:
        """Keep an answer that has just come, and the day, and count it."""
        self.add(key, {**answer.record(), "day": today()})
        self.answered += 1
        self.prompt_tokens += answer.prompt_tokens
        self.completion_tokens += answer.completion_tokens

    def answer(self, key: str, n_options: int) -> Answer | None:
        """One that is kept; None where there is none, or it is damaged."""
        record = self.records.get(key)
        return None if record is None else Answer.of(record, n_options)

    def day(self, key: str) -> str:
        """On which an answer came; empty where it is not known."""
        return str(self.records.get(key, {}).get("day", ""))

    def _cannot_write(self, error: OSError) -> InputError:
        return InputError(f"`cache`: {self.path} cannot be written: {error.strerror}; name another folder.")


def _locked(file: int) -> bool:
    """Whether a file is ours alone, until it is closed or this process ends in whichever way."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
