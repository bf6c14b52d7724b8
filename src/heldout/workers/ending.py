"""Worker processes that find what the process that started them does, end with it, and leave Ctrl-C to it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

SECONDS = 1.0  # between two looks for the parent
PR_SET_PDEATHSIG = 1  # of prctl(2)
SYNCHRONIZE = 0x100000  # of OpenProcess

_watched: set[int] = set()


def begin(parent: int, by_kernel: bool, path: tuple[str, ...], folder: str) -> None:
    """In a worker, before its first task: look for modules and files where its parent does, and end with it."""
    sys.path[:] = path
    os.chdir(folder)
    end_with(parent, by_kernel)


def end_with(parent: int, by_kernel: bool) -> None:
    """In a worker: end as soon as the process that started it has ended, however it ended.

    A thread looks for the parent once a second; on Windows, where a process keeps the number of a parent that is gone,
    it waits for the parent's handle. It waits for code that holds the
    interpreter's lock; so on Linux the kernel is asked too. That signal comes when the *thread* that started the worker
    ends, so it is asked for (`by_kernel`) only where this is the main thread.
    """
    if parent in _watched:
        return
    _watched.add(parent)
    if by_kernel and sys.platform == "linux":
        with suppress(AttributeError, OSError):  # of another C library: then the thread is left
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if not hasattr(os, "getppid"):  # nobody to look for
        return
    if os.getppid() != parent:  # it ended before we could ask
        os._exit(1)
    threading.Thread(target=_watch, args=(parent,), name="heldout-parent", daemon=True).start()


def _watch(parent: int) -> None:
    if os.name == "nt":
        _wait_on_windows(parent)
    while os.getppid() == parent:
        time.sleep(SECONDS)
    os._exit(1)


def _wait_on_windows(parent: int) -> None:
    """Until that process has ended, and this one with it; nothing where there is no handle to be had."""
    import importlib

    winapi: Any = importlib.import_module("_winapi")
    try:
        handle = winapi.OpenProcess(SYNCHRONIZE, False, parent)
    except OSError:
        return
    winapi.WaitForSingleObject(handle, winapi.INFINITE)
    os._exit(1)


def guard() -> dict[str, Any]:
    """Options of `joblib.Parallel` for workers that begin with `begin`; none where they are no processes of ours.

    joblib keeps its workers for the next call, with the path and the modules that they began with, and starts others
    where the options differ: so the path and the folder of now are among them.
    """
    from joblib._parallel_backends import LokyBackend
    from joblib.parallel import get_active_backend

    if not isinstance(get_active_backend()[0], LokyBackend):
        return {}
    by_kernel = threading.current_thread() is threading.main_thread()
    folder = os.getcwd()
    path = tuple(entry or folder for entry in sys.path)  # for "" joblib takes the folder this process began in
    return {"initializer": begin, "initargs": (os.getpid(), by_kernel, path, folder)}


def end_workers() -> None:
    """End joblib's worker processes now; the next ones that need some start their own."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor(reuse=True).shutdown(wait=True)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Processes started meanwhile never hear of Ctrl-C; this one hears of it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # before: where it begins, it lets SIGINT through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
