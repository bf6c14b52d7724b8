"""Standard streams, Ctrl-C and exit codes of the program: what happens around a verb, whatever the verb does."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

from heldout.cli.common import EXIT_BAD_INPUT, EXIT_PIPE, EXIT_STOPPED, tell
from heldout.errors import InputError


def now() -> float:
    """As files count time, a second early: some count in whole seconds."""
    return time.time() - 1


def what_failed(error: OSError) -> str:
    """What the system says, and of which file; writers of files name theirs, so that a full one without is stdout."""
    full = error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
    where = error.filename or ("standard output" if full else "")
    return f"{error.strerror or error}{f': {where}' if where else ''}"


def prepare() -> None:
    """Make the standard streams of the program ones that can be relied on."""
    if sys.stdout is None:  # closed by whoever started us: the next file that is opened must not be taken for it
        _reserve(1)
    if sys.stderr is None:
        _reserve(2)
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (print(file=None) would go to stdout)
    elif sys.stderr is sys.__stderr__:
        encoding = getattr(sys.stderr, "encoding", "utf-8")
        sys.stderr = io.TextIOWrapper(_Lenient(2), encoding=encoding, errors="replace", write_through=True)


def _reserve(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if nowhere != descriptor:
            os.dup2(nowhere, descriptor)
            os.close(nowhere)


class _Lenient(io.RawIOBase):
    """A descriptor to which what cannot be written is not written, in silence."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, data: Any) -> int:
        left = bytes(data)
        while left:
            try:
                left = left[os.write(self._descriptor, left) :]
            except OSError:
                break
        return len(data)


def check_stdout() -> None:
    """Refuse to begin where the result could not be printed."""
    if sys.stdout is None:
        raise InputError("standard output is closed, so no result could be printed; send it to a file or /dev/null.")


@contextlib.contextmanager
def user_prints_to_stderr() -> Iterator[None]:
    """What is printed meanwhile goes to stderr, also by libraries in C and by worker processes: stdout is for results.

    Descriptor 1 itself is turned, where there is one.
    """
    kept = None
    with contextlib.suppress(OSError, AttributeError, ValueError):
        sys.stdout.flush()
        kept = os.dup(1)
        os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        if kept is not None:
            _flush_c()
            os.dup2(kept, 1)
            os.close(kept)


def _flush_c() -> None:
    """Write what C libraries have in their own buffers while descriptor 1 is still turned."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)


@contextlib.contextmanager
def interrupts_at_once() -> Iterator[None]:
    """Ctrl-C ends the program there and then; afterwards once more, where the first one was swallowed by somebody."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, _end_now)
    yield
    signal.signal(signal.SIGINT, _first)


def _end_now(number: int, frame: FrameType | None) -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"heldout: stopped.\n")
    os._exit(EXIT_STOPPED)


def _first(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, _end_now)
    raise KeyboardInterrupt


def leave(code: int) -> int:
    """The result is out: whatever is printed or pressed while Python ends changes nothing any more. The exit code."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        _reserve(1)  # or Python would try once more
        return EXIT_PIPE
    except OSError as error:
        _reserve(1)
        tell(f"heldout: {what_failed(error)}.")
        return EXIT_BAD_INPUT
    with contextlib.suppress(OSError):
        os.dup2(2, 1)  # for functions of users' modules that run at exit
    return code
