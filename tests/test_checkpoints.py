"""What a checkpoint refuses, and what it lets through."""

from __future__ import annotations

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
