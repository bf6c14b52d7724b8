"""`kill -9` at any moment, then `--resume`: the same bits, and no process left behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.multiple_choice.tiny_models import benchmark, save_model, write_items

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")

MODULE = """
import time
import numpy as np

def make():
    def halves(batch):
        time.sleep(PAUSE)
        x = batch.reshape(len(batch), -1)
        middle = x.shape[1] // 2
        return np.stack([x[:, :middle].sum(1), x[:, middle:].sum(1)], 1)
    return halves

def train(x, y, seed):
    end = time.monotonic() + 20 * PAUSE
    while time.monotonic() < end:  # busy, as trainings are
        sum(range(1000))
    noise = np.random.default_rng(seed).random(len(x)) < 0.1
    return lambda z: np.where(noise[: len(z)], 0, (z[:, 0] > 0.5).astype(int))
"""
PICTURES = ["--model", "killed_model:make", "--images", "pictures.npz", "--batch-size", "16"]
COMMANDS = {
    "audit": ["audit", *PICTURES, "--wrap", "--radius", "1", "--limit", "100"],
    "audit with workers": [
        "audit", *PICTURES, "--control", "others.npz", "--wrap", "--radius", "1", "--limit", "100", "--n-jobs", "2",
    ],
    "memorization": [
        "memorization", "curve", *PICTURES, "--pixel-range", "0", "1", "--perturbation", "spatial", "gaussian",
        "--strengths", "spatial=0:2", "gaussian=0:64:32", "--validation", "pictures.npz",
    ],
    "training": [
        "memorization", "retrain", "--train", "killed_model:train", "--data", "table.npz", "--label-noise", "0:0.4:0.2",
        "--repetitions", "2", "--n-jobs", "2",
    ],
    "stress": [
        "stress", "--examples", "20000", "--classes", "10", "--queries", "500", "--digits", "2", "--trials", "3",
        "--public", "0.4", "--no-compare",
    ],
    "exposure": [
        "exposure", "results.csv", "--items", "items.csv", "--models", "models.csv", "--scan", "--resamples", "2000",
        "--n-jobs", "1",
    ],
    "options": ["options", "questions.jsonl", "--hf", "causal", "--n-jobs", "1", "--resamples", "99"],
}  # fmt: skip
# A checkpoint several times a second; the program itself otherwise.
PROGRAM = "import sys, heldout.checkpoints as c; c.SECONDS = 0.1; from heldout.__main__ import main; sys.exit(main())"


@pytest.fixture
def launch(tmp_path: Path, rng: np.random.Generator) -> Callable[..., subprocess.Popen[str]]:
    x = rng.random((120, 8, 8)).astype(np.float32)
    y = (x.reshape(120, -1)[:, 32:].sum(1) > x.reshape(120, -1)[:, :32].sum(1)).astype(int)
    np.savez(tmp_path / "pictures.npz", images=x, labels=y)
    table = rng.random((60, 3))
    np.savez(tmp_path / "others.npz", images=x[:, :, ::-1], labels=y)
    np.savez(tmp_path / "table.npz", x=table, y=(table[:, 0] > 0.5).astype(int))

    right = (rng.random((30, 400)) < 0.5).astype(int)
    rows = [f"q{j}," + ",".join(map(str, right[:, j])) for j in range(400)]
    (tmp_path / "results.csv").write_text("\n".join(["id," + ",".join(f"m{i}" for i in range(30)), *rows]))
    days = [f"q{j},2023-{1 + j // 40:02d}-{1 + j % 28:02d}" for j in range(400)]
    (tmp_path / "items.csv").write_text("\n".join(["id,date", *days]))
    models = [f"m{i},{'2023-05' if i % 2 else '2022-12'},f{i // 3}" for i in range(30)]
    (tmp_path / "models.csv").write_text("\n".join(["model,cutoff,family", *models]))

    def start(name: str, out: str, *more: str, pause: float = 0.0) -> subprocess.Popen[str]:
        if name == "options" and not (tmp_path / "causal").exists():
            save_model(tmp_path / "causal")
            write_items(benchmark(300), tmp_path / "questions.jsonl")
        (tmp_path / "killed_model.py").write_text(MODULE.replace("PAUSE", repr(pause)))
        command = [sys.executable, "-c", PROGRAM, *COMMANDS[name], "--json", "--out", out, *more]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=tmp_path, text=True, start_new_session=True, **pipes)

    return start


def left_behind(session: int) -> list[str]:
    """Processes of a session that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
            fields = rest.split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            found.append(name)
    return found


def kill(process: subprocess.Popen[str], after: float) -> bool:
    """Kill it at that moment, where it has not ended by itself; nothing of it may be there five seconds later."""
    try:
        process.wait(after)
        return False
    except subprocess.TimeoutExpired:
        end(process)
        return True


def end(process: subprocess.Popen[str]) -> None:
    """`kill -9`, after which nothing of it may be there five seconds later."""
    process.send_signal(signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()
    deadline = time.monotonic() + 5
    while left_behind(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left_behind(process.pid) == []


def check_same(folder: Path, out: str, process: subprocess.Popen[str], whole: str) -> None:
    """It ends in the same bits as the run that was never stopped."""
    said, err = process.communicate()
    assert process.returncode == 0, err
    assert json.loads(said) == json.loads(whole)
    with np.load(folder / "whole" / "result.npz") as a, np.load(folder / out / "result.npz") as b:
        assert sorted(a.files) == sorted(b.files)
        for key in a.files:
            assert a[key].dtype == b[key].dtype
            assert a[key].tobytes() == b[key].tobytes(), key
    assert not (folder / out / "checkpoint").exists()


def check_killed(launch, folder: Path, name: str, moments: list[list[float]], pause: float, enough: int) -> int:
    """Runs that are killed at these shares of an undisturbed one's time, again and again; the number of kills."""
    began = time.monotonic()
    whole, _ = (process := launch(name, "whole", pause=pause)).communicate()
    duration = time.monotonic() - began
    assert process.returncode == 0
    kills = 0
    for number, shares in enumerate(moments):
        if kills >= enough:
            break
        out = f"killed-{number}"
        resume: list[str] = []
        for share in shares:
            process = launch(name, out, *resume, pause=pause)
            if not kill(process, share * duration):
                assert process.returncode == 0, process.stderr.read()
                break
            kills += 1
            resume = ["--resume"]
        else:
            process = launch(name, out, "--resume", pause=pause)
        check_same(folder, out, process, whole)
    return kills


def test_workers_end_with_a_killed_parent(launch, tmp_path):
    """The quick one: a training with two workers, killed as soon as the first has finished something."""
    whole, _ = launch("training", "whole").communicate()
    process = launch("training", "killed", pause=0.02)
    while not any((tmp_path / "killed" / "checkpoint").rglob("*.npz")):
        assert process.poll() is None
        time.sleep(0.01)
    end(process)
    check_same(tmp_path, "killed", launch("training", "killed", "--resume"), whole)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_twenty_times(name, launch, tmp_path, rng):
    moments = [rng.uniform(0.05, 0.95, 5).tolist() for _ in range(100)]  # some end before they are killed
    assert check_killed(launch, tmp_path, name, moments, pause=0.02, enough=20) >= 20


def test_an_interrupt_while_modules_are_imported_is_one_sentence(tmp_path):
    command = [sys.executable, "-m", "heldout", "stress", "--examples", "10", "--classes", "2", "--queries", "2"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=tmp_path, text=True, **pipes)
    maps = Path(f"/proc/{process.pid}/maps")
    while "numpy" not in maps.read_text():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, "", "heldout: stopped.\n")
