"""Workers end with the process that started them, on every system."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from heldout import InputError, workers
from heldout.scorers.torch import without_tf32
from heldout.workers import ending
from heldout.workers.switches import rounds_products, switch, switches

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE, text=True)
print(child.stdout.readline().strip(), flush=True)
child.wait()
"""
CHILD = """
import os, time
from heldout.workers.ending import end_with
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
        ending._wait_on_windows(1234)
    assert said == ["open 1234", "wait 7 -1", "exit 1"]


def test_nothing_is_asked_where_there_are_no_parents(monkeypatch):
    monkeypatch.setattr(ending, "_watched", set())
    monkeypatch.delattr(os, "getppid")
    ending.end_with(1234, by_kernel=False)


def test_options_are_for_processes_only():
    import joblib

    assert workers.guard().keys() == {"initializer", "initargs"}
    with joblib.parallel_config("threading"):
        assert workers.guard() == {}


def counted(task, tell):
    """Its numbers, their process, and whether the array that all share was written to before."""
    number, array = task
    for step in range(3):
        tell(step, number)
    was, array[0] = int(array[0]), number
    return number, os.getpid(), was


def waits(task, tell):
    """Tells until somebody stops it, then leaves a mark."""
    try:
        while True:
            tell(1)
            if task is None:
                raise InputError("not this one.")
            time.sleep(0.02)
    finally:
        if task is not None:
            task.write_text("kept")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_come_in_the_order_of_the_tasks(n_jobs):
    shared = np.full(300_000, -1)  # more than joblib sends by value
    heard, done = {}, []
    found = workers.run_tasks(
        counted,
        [(number, shared) for number in range(5)],
        n_jobs=n_jobs,
        tell=lambda number, *told: heard.update({number: told}),
        done=lambda number, result: done.append((number, result[0])),
        shared=workers.Shared(("the array", shared)),
    )
    assert [number for number, _, _ in found] == [0, 1, 2, 3, 4]
    assert sorted(done) == [(n, n) for n in range(5)]
    assert heard == {n: (2, n) for n in range(5)}
    assert {pid == os.getpid() for _, pid, _ in found} == {n_jobs == 1}
    assert (shared[0] == 4) == (n_jobs == 1), "what a worker does to its copy stays there"


class Opened:
    """Knows which copy it is."""

    def __getstate__(self):
        return {"a": "model"}

    def __setstate__(self, state):
        self.copy = os.urandom(8)


def which_copy(task, tell):
    """Waits for the other worker to have one too."""
    model, folder = task
    (folder / str(os.getpid())).touch()
    while len(list(folder.iterdir())) < 2:
        time.sleep(0.01)
    return os.getpid(), model.copy


def test_a_worker_opens_a_model_once_in_all_runs_of_a_block(tmp_path):
    model = Opened()
    with workers.Shared(("the model", model)) as shared:
        tasks = [(model, tmp_path)] * 2
        found = [workers.run_tasks(which_copy, tasks, n_jobs=2, shared=shared) for _ in range(2)]
    pids = {pid for pid, _ in found[0]}
    assert len(pids) == 2
    assert set(found[1]) <= set(found[0]), "the very copies of the first run"
    for pid in pids:  # ended with the block
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_an_error_has_the_other_tasks_stop_and_keep_their_state(tmp_path):
    marks = [tmp_path / "0", tmp_path / "1"]
    with pytest.raises(InputError, match=r"^not this one\.$"):
        workers.run_tasks(waits, [marks[0], None, marks[1]], n_jobs=2)
    assert marks[0].read_text() == "kept"
    assert not marks[1].exists(), "it was not begun"


def test_what_cannot_be_sent_is_named():
    import threading

    lock = threading.Lock()
    sentence = r"^`n_jobs=2`: the model m cannot be sent to another process \(TypeError: .*\); leave `n_jobs` out, or "
    with pytest.raises(InputError, match=sentence):
        workers.run_tasks(counted, [1] * 9 + [lock], n_jobs=2, shared=workers.Shared(("the model m", lock)))


def threads(task, tell):
    """Of torch here, and a switch of its."""
    return torch_module().get_num_threads(), torch_module().backends.cudnn.deterministic


def torch_module():
    return pytest.importorskip("torch")


def test_workers_compute_as_their_parent_does():
    """With joblib's share of the cores for each, the sums of a model could differ in their last bits."""
    torch = torch_module()
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    torch.backends.cudnn.deterministic = True
    try:
        assert workers.run_tasks(threads, [0, 1], n_jobs=2) == [(3, True)] * 2
    finally:
        torch.set_num_threads(before)
        torch.backends.cudnn.deterministic = False


def test_torchs_newer_switches_go_along_too():
    """Reading the older ones raises once the newer ones say what those cannot."""
    torch = torch_module()
    conv = getattr(torch.backends.cudnn, "conv", None)
    if conv is None:
        pytest.skip("a torch without them")
    before = switches(torch)
    try:
        conv.fp32_precision = "ieee"
        there = workers.Surroundings.here()
        switch(torch, before)
        assert conv.fp32_precision == "tf32", "torch's default"
        with there.restored():
            assert conv.fp32_precision == "ieee"
            with without_tf32(torch):
                assert not rounds_products(torch)
        assert switches(torch) == before
    finally:
        switch(torch, before)
