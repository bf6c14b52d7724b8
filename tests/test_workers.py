"""Workers end with the process that started them, on every system."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from heldout import workers

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE, text=True)
print(child.stdout.readline().strip(), flush=True)
child.wait()
"""
CHILD = """
import os, time
from heldout.workers import end_with
end_with(os.getppid(), by_kernel={by_kernel})
print(os.getpid(), flush=True)
time.sleep(60)
"""


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("by_kernel", [True, False])  # the signal, or the thread that looks for the parent
def test_a_worker_ends_with_its_parent(by_kernel):
    command = [sys.executable, "-c", PARENT, CHILD.format(by_kernel=by_kernel)]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    worker = int(parent.stdout.readline())
    assert runs(worker)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 5
    while runs(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not runs(worker)


def test_on_windows_the_parents_handle_is_waited_for(monkeypatch):
    """There a process keeps the number of a parent that is gone."""
    said = []

    class Gone(BaseException):
        pass

    def end(code: int) -> None:
        said.append(f"exit {code}")
        raise Gone

    winapi = SimpleNamespace(
        INFINITE=-1,
        OpenProcess=lambda rights, inherited, pid: said.append(f"open {pid}") or 7,
        WaitForSingleObject=lambda handle, limit: said.append(f"wait {handle} {limit}"),
    )
    monkeypatch.setitem(sys.modules, "_winapi", winapi)
    monkeypatch.setattr(os, "_exit", end)
    with pytest.raises(Gone):
        workers._wait_on_windows(1234)
    assert said == ["open 1234", "wait 7 -1", "exit 1"]


def test_nothing_is_asked_where_there_are_no_parents(monkeypatch):
    monkeypatch.setattr(workers, "_watched", set())
    monkeypatch.delattr(os, "getppid")
    workers.end_with(1234, by_kernel=False)


def test_options_are_for_processes_only():
    import joblib

    assert workers.guard().keys() == {"initializer", "initargs"}
    with joblib.parallel_config("threading"):
        assert workers.guard() == {}
