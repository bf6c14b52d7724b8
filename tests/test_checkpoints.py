"""What a checkpoint refuses, and what it lets through."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from heldout import checkpoints
from heldout.checkpoints import Checkpoint, begin
from heldout.errors import InputError


@pytest.mark.parametrize("error", [MemoryError, PermissionError])
def test_faults_of_the_machine_are_not_taken_for_damage(error, tmp_path, monkeypatch):
    kept = Checkpoint(tmp_path / "x.npz", {}, of="run")
    kept.save({"done": np.arange(3)})

    def fails(path):
        raise error

    monkeypatch.setattr(checkpoints, "read_npz", fails)
    with pytest.raises(error):
        kept.load()
    (tmp_path / "x.npz").write_bytes(b"nonsense")
    monkeypatch.undo()
    with pytest.raises(InputError, match="is damaged"):
        kept.load()


def test_what_is_continued_is_said_once(tmp_path):
    said = []
    assert not begin(tmp_path, resume=True, say=said.append)
    Checkpoint(tmp_path / "x.npz", {}, of="run").save({})
    assert begin(tmp_path, resume=True, say=said.append)
    assert [sentence.partition(" in ")[0] for sentence in said] == [
        "there is nothing to resume",
        "continuing the unfinished work",
    ]
    with pytest.raises(InputError, match=r"continue with `resume=True`"):
        begin(tmp_path, resume=False, say=said.append)


def test_what_is_damaged_is_refused_or_harmless_wherever_it_is(tmp_path):
    """Bits turned all over the file: never other numbers than were saved."""
    path, saved = tmp_path / "x.npz", {"done": np.arange(20), "share": np.linspace(0, 1, 5)}
    Checkpoint(path, {"radius": 2}, of="run").save(saved)
    whole, refused = path.read_bytes(), 0
    for place in range(0, len(whole), 5):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            found = Checkpoint(path, {"radius": 2}, of="run").load()
        except InputError:
            refused += 1
        else:  # a date, say
            assert found.keys() == saved.keys()
            assert all(np.array_equal(found[key], saved[key]) for key in saved)
    assert refused > len(whole) / 10
    for end in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(InputError, match="is damaged"):
            Checkpoint(path, {"radius": 2}, of="run").load()


def test_what_belongs_to_other_work_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "x.npz"
    Checkpoint(path, {"radius": 2, "seed": 0}, of="audit").save({"done": np.arange(3)})
    before = path.read_bytes()
    other = Checkpoint(path, {"radius": 3, "seed": 0}, of="audit")
    with pytest.raises(InputError, match="belongs to another audit: radius was 2, is 3"):
        other.rows(3, 1, lambda a, b: {"done": np.arange(a, b)})
    assert path.read_bytes() == before


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    kept = Checkpoint(tmp_path / "x.npz", {}, of="run")
    kept.save({"done": np.arange(3)})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, full)
            with pytest.raises(OSError, match="No space left"):
                kept.save({"done": np.arange(9)})
        assert [file.name for file in tmp_path.iterdir()] == ["x.npz"]
        assert kept.load()["done"].tolist() == [0, 1, 2]


def test_killed_while_it_writes_the_file_is_whole(tmp_path):
    code = (
        "import sys, numpy as np\n"
        "from heldout.checkpoints import Checkpoint\n"
        "kept = Checkpoint(sys.argv[1], {}, of='run')\n"
        "for i in range(10**9):\n"
        "    kept.save({'done': np.full(200_000, i)})\n"
    )
    path = tmp_path / "x.npz"
    process = subprocess.Popen([sys.executable, "-c", code, str(path)])
    while not path.exists():
        assert process.poll() is None
        time.sleep(0.01)
    for _ in range(20):  # read while it is written: an old state or a new one
        assert np.ptp(Checkpoint(path, {}, of="run").load()["done"]) == 0
    process.kill()
    process.wait()
    assert np.ptp(Checkpoint(path, {}, of="run").load()["done"]) == 0


def test_work_is_kept_once_a_minute_at_least_and_not_done_again(tmp_path, monkeypatch):
    now, kept_at, made = [0.0], [], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    write = checkpoints.write_npz

    def noted(path, arrays):
        kept_at.append(now[0])
        write(path, arrays)

    monkeypatch.setattr(checkpoints, "write_npz", noted)

    def work(start: int, stop: int) -> dict[str, np.ndarray]:
        if now[0] >= 400:
            raise KeyboardInterrupt
        now[0] += 13
        made.append(start)
        return {"square": np.arange(start, stop) ** 2}

    with pytest.raises(KeyboardInterrupt):
        Checkpoint(tmp_path / "x.npz", {}, of="run").rows(100, 2, work)
    assert max(np.diff([0.0, *kept_at])) <= 60
    now[0], before = 0.0, len(made)
    bar = Bar()
    found = Checkpoint(tmp_path / "x.npz", {}, of="run").rows(100, 2, work, bar=bar)
    assert found["square"].tolist() == [i * i for i in range(100)]
    assert made == list(range(0, 100, 2))
    assert (bar.before, bar.more) == (2 * before, 100 - 2 * before)


class Bar:
    before = more = 0

    def resumed(self, count: int) -> None:
        self.before = count

    def update(self, count: int) -> None:
        self.more += count
