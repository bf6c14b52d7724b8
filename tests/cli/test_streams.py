"""What happens around a verb: streams that are closed or full, and code of the user's that prints or leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

STRESS = [sys.executable, "-m", "heldout", "stress", "--examples", "100", "--classes", "2", "--queries", "3"]
MODEL = """
import atexit, os, sys
import numpy as np

print("on import")
atexit.register(print, "at exit")
calls = []

def make():
    def first_pixels(batch):
        print("in python")
        os.write(1, b"on descriptor 1\\n")
        calls.append(len(batch))
        if len(calls) > LAST:
            sys.exit(9)
        return batch.reshape(len(batch), -1)[:, :2]
    return first_pixels
"""
AUDIT = "audit --model printing_model:make --images pictures.npz --wrap --radius 1 --json --out audit"


@pytest.fixture
def audit(tmp_path: Path, rng: np.random.Generator):
    x = rng.random((60, 6, 6)).astype(np.float32)
    np.savez(tmp_path / "pictures.npz", images=x, labels=x.reshape(60, -1)[:, :2].argmax(axis=1))

    def run(last: int) -> subprocess.CompletedProcess[str]:
        (tmp_path / "printing_model.py").write_text(MODEL.replace("LAST", str(last)))
        command = [sys.executable, "-m", "heldout", *AUDIT.split()]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    return run


def told(stderr: str) -> list[str]:
    """What heldout says, but for the heartbeat of a slow machine."""
    return [line for line in stderr.splitlines() if line.startswith("heldout:") and "at work for" not in line]


def test_what_user_code_prints_goes_to_stderr(audit):
    done = audit(10**9)
    assert done.returncode == 0
    assert json.loads(done.stdout)["version"]
    for text in ("on import", "in python", "on descriptor 1", "at exit"):
        assert text in done.stderr


def test_a_model_that_leaves_is_one_sentence(audit):
    done = audit(5)
    assert (done.returncode, done.stdout) == (2, "")
    sentences = told(done.stderr)
    assert len(sentences) == 1
    assert "the model make fails on a batch of shape (256, 1, 6, 6) (nchw): SystemExit: 9" in sentences[0]
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_stderr_does_not_change_the_exit_code():
    with open("/dev/full", "w") as full:
        fine = subprocess.run(STRESS, stdout=subprocess.PIPE, stderr=full, text=True)
        bad = subprocess.run([*STRESS, "--trials", "0"], stdout=subprocess.PIPE, stderr=full, text=True)
    assert fine.returncode == 0
    assert "After 3 answers" in fine.stdout
    assert (bad.returncode, bad.stdout) == (2, "")
    with open("/dev/full", "w") as full:
        lost = subprocess.run(STRESS, stdout=full, stderr=subprocess.PIPE, text=True)
    assert lost.returncode == 2
    assert told(lost.stderr) == ["heldout: No space left on device: standard output."]


@pytest.mark.skipif(os.name == "nt", reason="a shell of Unix")
def test_closed_streams():
    closed = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *STRESS], capture_output=True, text=True)
    assert closed.returncode == 2
    assert told(closed.stderr) == [
        "heldout: standard output is closed, so no result could be printed; send it to a file or /dev/null."
    ]
    silent = subprocess.run(["sh", "-c", '"$@" 2>&-', "sh", *STRESS, "--json"], capture_output=True, text=True)
    assert silent.returncode == 0
    assert json.loads(silent.stdout)
