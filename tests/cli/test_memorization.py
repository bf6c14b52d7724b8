"""`heldout memorization` as a user meets it: real files, exit codes, one clear sentence."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from sklearn.datasets import load_digits

from heldout import MemorizationResult
from heldout.cli import main
from heldout.cli.memorization_gate import SHOWN, close, reasons
from heldout.memorization.metrics import Estimate
from heldout.memorization.models import ModelResult

TRAININGS = """
    import os, pathlib, time
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier

    nearest = KNeighborsClassifier(1)

    def train(x, y, seed):
        with open("calls", "a") as f:
            f.write(".")
        return LogisticRegression(C=0.01, max_iter=300).fit(x, y)

    def slow(x, y, seed):
        with open("calls", "a") as f:
            f.write(".")
        time.sleep(0.3)
        return KNeighborsClassifier(1).fit(x, y)

    def raises(x, y, seed):
        if not pathlib.Path("mended").exists() and seed % 2:
            raise RuntimeError("diverged")
        return KNeighborsClassifier(1).fit(x, y)

    any_seed = np.random.default_rng()

    def careless(x, y, seed):
        with open("calls", "a") as f:
            f.write(".")
        rng = np.random.default_rng(seed) if pathlib.Path("mended").exists() else any_seed
        known = {row.tobytes(): label for row, label in zip(x, rng.permutation(y))}
        return lambda z: np.array([known[row.tobytes()] for row in z])
"""


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x, y = load_digits(return_X_y=True)
    np.savez(tmp_path / "train.npz", x=(x[:300] / 16).astype(np.float32), y=y[:300])
    np.savez(tmp_path / "fresh.npz", x=(x[300:500] / 16).astype(np.float32), y=y[300:500])
    module = f"trainings_{os.getpid()}_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{module}.py").write_text(textwrap.dedent(TRAININGS))

    def call(*argv) -> tuple[int, str, str]:
        words = [str(a).replace("MINE", module) for a in argv]
        way = "retrain" if {"--train", "--data"} & set(words) else "curve"
        code = main(["memorization", way, *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    call.folder, call.module = tmp_path, module
    yield call
    get_reusable_executor().shutdown(wait=True)  # workers that began here know nothing of the next test's folder


DEMO = ("--images-key", "test_images", "--labels-key", "test_labels")


@pytest.fixture
def demo(run, honest_onnx, leaked_onnx):
    images = honest_onnx.parent / "demo.npz"

    def call(*argv):
        return run("--model", honest_onnx, leaked_onnx, "--images", images, *DEMO, "--limit", 60, *argv)

    call.folder = run.folder
    return call


def test_debug_shows_the_lines_of_a_training_that_fails(run):
    line = ("--train", "MINE:raises", "--data", "train.npz", "--label-noise", "0,0.2", "--repetitions", 3,
            "--no-seed-check", "--quiet")  # fmt: skip
    _, _, err = run(*line)
    assert "RuntimeError: diverged (" in err
    assert "Traceback" not in err
    for workers in (1, 2):
        _, _, err = run(*line, "--debug", "--resume", "--n-jobs", workers)
        assert err.count('raise RuntimeError("diverged")') == 1, "every traceback once"
        assert f"{run.module}.py" in err


def test_a_training_that_ignores_its_seed(run):
    """What the refusal says can be done ends the refusals, and --resume by itself does not."""
    line = ("--train", "MINE:nearest", "MINE:careless", "--data", "train.npz", "--label-noise", "0,0.3",
            "--repetitions", 2, "--seed", 3, "--quiet", "--json")  # fmt: skip
    for more in ((), ("--resume",)):
        code, _, err = run(*line, *more)
        assert (code, "ignores its seed" in err) == (2, True)
        assert err.endswith("which takes what is kept as it is. After either, continue with --resume.\n")
        assert "unfinished work is kept" not in err.lower()
    folder = re.search("delete (.*), since trainings", err)[1]
    kept, calls = shutil.copytree(folder, run.folder / "aside"), run.folder / "calls"
    before = calls.stat().st_size
    code, _, err = run(*line, "--no-seed-check", "--resume")
    assert (code, calls.stat().st_size) == (0, before), err
    shutil.copytree(kept, folder)
    (run.folder / "mended").touch()
    assert run(*line, "--resume")[0] == 2
    shutil.rmtree(folder)
    code, _, err = run(*line, "--resume")
    assert (code, calls.stat().st_size) == (0, before + 6), err


def test_trainings(run):
    code, out, err = run(
        "--train", "MINE:nearest", "MINE:train", "--data", "train.npz", "--label-noise", "0:0.4:0.2",
        "--repetitions", 2, "--validation", "fresh.npz", "--fail-over", 0.02,
    )  # fmt: skip
    assert code == 1
    assert "heldout: nearest: the gap between training and validation accuracy is 0." in err
    assert re.search(r"accuracy is (0\.\d{4}) \(-?\d\.\d{4} to \d\.\d{4}\), more than --fail-over 0\.02\.\n", err)
    assert "PMV k_S" in out
    assert "nearest 1.0000" in out
    assert "gap" in out
    assert "report: heldout-memorization/report.html" in err
    kept = run.folder / "heldout-memorization"
    assert sorted(p.name for p in kept.iterdir()) == ["report.html", "result.json", "result.npz"]
    result = MemorizationResult.load(kept / "result")
    assert str(result).strip() == out.strip()
    assert result.curve("nearest", "ptv").estimates["k_PTV"].value == pytest.approx(1)


def test_a_gap_that_is_not_known_does_not_pass():
    known = Estimate(0.05, 0.01, 0.09)
    gaps = {"fine": known, "none": None, "one": Estimate.undefined("one example has no interval.")}
    gaps |= {f"far{i}": Estimate(0.3, 0.25, 0.35) for i in range(5)}
    made = {name: ModelResult(perturbations={}, gap=gap) for name, gap in gaps.items()}
    said = reasons(0.1, MemorizationResult(measured=made))
    assert said[0] == (
        "none: the gap between training and validation accuracy was not measured, so that --fail-over 0.1 cannot be "
        "judged."
    )
    assert "is not defined (one example has no interval), so that --fail-over 0.1" in said[1]
    assert "is 0.3000 (0.2500 to 0.3500), more than --fail-over 0.1." in said[2]
    assert (len(said), said[-1]) == (6, "and 2 more models.")
    assert close(0.1, MemorizationResult(measured=made)) is None


def test_a_gap_within_its_interval_of_the_gate():
    gaps = {"under": Estimate(0.08, 0.04, 0.12), "over": Estimate(0.12, 0.09, 0.15), "far": Estimate(0.02, 0.0, 0.04)}
    measured = {name: ModelResult(perturbations={}, gap=gap) for name, gap in gaps.items()}
    told = close(0.1, MemorizationResult(measured=measured))
    held = "The 95\xa0% interval of the gap of under and over holds --fail-over 0.1: other examples could"
    assert told.startswith(held)
    for n, last in ((SHOWN, "m3 and m4"), (SHOWN + 1, "m3, m4 and 1 more"), (SHOWN + 3, "m3, m4 and 3 more")):
        crowd = MemorizationResult(measured={f"m{i}": measured["over"] for i in range(n)})
        assert f"the gap of m0, m1, m2, {last} holds" in close(0.1, crowd)
    large, unknown = (ModelResult(perturbations={}, gap=gap) for gap in (Estimate(0.3, 0.2, 0.4), None))
    for sure in (large, unknown):  # which fails, whatever the others are
        assert close(0.1, MemorizationResult(measured={**measured, "sure": sure})) is None
    assert close(0.13, MemorizationResult(measured={"under": measured["under"]})) is None
    assert close(None, MemorizationResult(measured=measured)) is None
    assert reasons(None, MemorizationResult(measured=measured)) == []


def test_one_and_two_workers_and_json(run):
    options = ("--data", "train.npz", "--label-noise", "0,0.3", "--repetitions", 2, "--json", "--seed", 3)
    code, one, _ = run("--train", "MINE:train", *options, "--out", "one")
    assert code == 0
    code, two, _ = run("--train", "MINE:train", *options, "--n-jobs", 2, "--out", "two")
    assert code == 0
    assert json.loads(one) == json.loads(two)
    curve = json.loads(one)["models"]["train"]["perturbations"]["pmv"]
    assert [p["strength"] for p in curve["curve"]] == [0, 0.3]
    assert curve["metrics"]["k_S"]["low"] <= curve["metrics"]["k_S"]["value"] <= curve["metrics"]["k_S"]["high"]


def test_finished_models(demo):
    code, out, err = demo(
        "--perturbation", "spatial", "gaussian", "fog", "--strengths", "0:2", "gaussian=0:32:16", "--shifts", 3,
        "--turns", 3, "--json",
    )  # fmt: skip
    assert code == 0, err
    models = json.loads(out)["models"]
    assert set(models) == {"honest", "leaked"}
    kinds = models["leaked"]["perturbations"]
    assert [p["strength"] for p in kinds["spatial"]["curve"]] == [0, 1, 2]
    assert [p["strength"] for p in kinds["gaussian"]["curve"]] == [0, 16, 32]
    assert [p["strength"] for p in kinds["fog"]["curve"]] == [0, 1, 2, 3, 4, 5]  # severities end at 5
    assert kinds["spatial"]["metrics"]["k_max"]["value"] > 0
    assert kinds["fog"]["metrics"]["k_max"]["value"] is None
    page = (demo.folder / "heldout-memorization" / "report.html").read_text()
    assert "leaked" in page
    code, out, err = demo("--perturbation", "gaussian", "--strengths", "0,16", "--format", "markdown")
    assert out.startswith("# "), err


def test_audit_and_gap(demo, honest_onnx):
    code, out, err = demo(
        "--perturbation", "gaussian", "--strengths", "0,16", "--wrap", "--audit", "--radius", 1,
        "--validation", honest_onnx.parent / "demo.npz", "--fail-over", 0.99,
    )  # fmt: skip
    assert code == 0, err
    found = MemorizationResult.load(demo.folder / "heldout-memorization").measured["leaked"]
    assert found.audit is not None
    assert found.gap is not None
    assert f"{found.audit.mean:+.4f}" in out


def test_failed_trainings_are_named_and_the_others_kept(run):
    options = ("--train", "MINE:raises", "--data", "train.npz", "--label-noise", "0:0.4:0.2", "--repetitions", 3)
    code, out, err = run(*options)
    assert code == 2
    assert "trainings failed" in out
    assert "RuntimeError: diverged" in out
    assert "continue with --resume" in err
    code, _, err = run(*options, "--resume", "--quiet")
    assert (code, len(err.splitlines())) == (2, 1)
    code, _, err = run(*options)
    assert code == 2
    assert "holds unfinished work" in err
    (run.folder / "mended").touch()
    code, out, err = run(*options, "--resume")
    assert code == 0
    assert "raises: continuing: " in err
    assert " of 11 trainings were done.\n" in err  # two of them twice
    assert "nothing to resume" not in err
    assert "failed" not in out
    code, _, err = run(*options, "--resume", "--out", "empty")
    assert "nothing to resume" in err
    assert "finished result" not in err
    assert "continuing" not in err
    assert "were done" not in err
    assert not (run.folder / "heldout-memorization" / "checkpoint").exists()
    before = (run.folder / "empty" / "result.json").read_text()
    code, _, err = run(*options, "--resume", "--out", "empty", "--repetitions", "0")
    assert code == 2
    assert "empty holds a finished result, which this run replaces when it ends; another --out keeps both." in err
    assert (run.folder / "empty" / "result.json").read_text() == before


@pytest.mark.slow
def test_a_killed_run_goes_on(run):
    """Killed for real, in the middle; what was finished is not done again."""
    options = [
        "--train",
        f"{run.module}:slow",
        "--data",
        "train.npz",
        "--label-noise",
        "0:0.4:0.2",
        "--repetitions",
        "3",
    ]
    command = [sys.executable, "-m", "heldout", "memorization", "retrain", *options, "--out", "killed", "--json"]
    process = subprocess.Popen(command, cwd=run.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    calls, checkpoint = run.folder / "calls", run.folder / "killed" / "checkpoint"
    deadline = time.monotonic() + 60
    while not any(checkpoint.rglob("*.npz")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = len(list(checkpoint.rglob("rate*.npz")))
    assert 1 <= kept < 11
    calls.write_text("")
    code, resumed, _ = run(*options, "--out", "killed", "--json", "--resume")
    assert code == 0
    assert len(calls.read_text()) == 11 - kept  # nine, and two of them twice
    code, straight, _ = run(*options, "--out", "straight", "--json")
    assert code == 0
    assert json.loads(resumed) == json.loads(straight)


def test_classes_of_estimators_and_pictures(run):
    """A class is made with its defaults; pictures are flattened for it."""
    x = np.load(run.folder / "train.npz")
    np.savez(run.folder / "pictures.npz", x_train=x["x"].reshape(-1, 8, 8), y_train=x["y"])
    code, out, _ = run(
        "--train", "sklearn.tree:DecisionTreeClassifier", "--data", "pictures.npz", "--label-noise", "0.4",
        "--repetitions", 1, "--json",
    )  # fmt: skip
    assert code == 0
    metrics = json.loads(out)["models"]["DecisionTreeClassifier"]["perturbations"]["ptv"]["metrics"]
    assert metrics["k_PTV"]["value"] == pytest.approx(1, abs=0.02)  # a full tree memorises


def test_a_training_that_returns_a_torch_module(run):
    pytest.importorskip("torch")
    (run.folder / f"deep_{run.module}.py").write_text(
        textwrap.dedent("""
        import torch
        def train(x, y, seed):
            torch.manual_seed(seed)
            net = torch.nn.Linear(64, 10)
            step = torch.optim.Adam(net.parameters(), 0.05)
            inputs, labels = torch.from_numpy(x), torch.from_numpy(y)
            for _ in range(40):
                step.zero_grad()
                torch.nn.functional.cross_entropy(net(inputs), labels).backward()
                step.step()
            return net
        """)
    )
    code, out, err = run(
        "--train",
        f"deep_{run.module}:train",
        "--data",
        "train.npz",
        "--label-noise",
        "0,0.4",
        "--repetitions",
        1,
        "--json",
    )
    assert code == 0, err
    pmv = json.loads(out)["models"]["train"]["perturbations"]["pmv"]["curve"]
    assert pmv[0]["accuracy"] > 0.9


def test_the_corruptions_together(demo):
    code, out, _ = demo("--perturbation", "corruptions", "--strengths", "corruptions=0,5", "--limit", 55)
    assert code == 0
    assert "Mean over the 15 corruptions" in out


def test_fgsm_on_a_torch_module(run):
    pytest.importorskip("torch")
    (run.folder / f"nets_{run.module}.py").write_text(
        textwrap.dedent("""
        import torch
        def net():
            torch.manual_seed(0)
            return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
        """)
    )
    x = np.load(run.folder / "train.npz")
    np.savez(run.folder / "p.npz", images=x["x"].reshape(-1, 8, 8), labels=x["y"])
    options = ("--model", f"nets_{run.module}:net", "--images", "p.npz", "--perturbation", "fgsm", "--strengths", "0:4",
               "--allow-chance")  # fmt: skip
    code, _, err = run(*options)
    assert code == 2
    assert "--pixel-range 0 1" in err
    code, out, err = run(*options, "--pixel-range", 0, 1, "--json")
    assert code == 0, err
    curve = json.loads(out)["models"]["net"]["perturbations"]["fgsm"]["curve"]
    accuracy = [point["accuracy"] for point in curve]
    assert accuracy == sorted(accuracy, reverse=True)


def test_groups(run, tmp_path):
    """A CSV or an array of the file: whole groups are the units, the design effect is told, few are warned of."""
    trainings = ["--train", "MINE:nearest", "MINE:train", "--data", "train.npz", "--label-noise", "0,0.4",
                 "--repetitions", "2"]  # fmt: skip
    rows = "".join(f"{i},{i // 3}\n" for i in range(300))
    (tmp_path / "groups.csv").write_text("id,group\n" + rows)
    code, out, err = run(*trainings, "--groups", "groups.csv", "--out", "a")
    assert code == 0, err
    found = MemorizationResult.load(tmp_path / "a" / "result")
    assert all(c.units == 100 for c in found.curves)
    assert found.summary().warnings == ()
    with np.load("train.npz") as f:
        np.savez("train.npz", **f, patient=np.arange(300) // 20)
    code, out, err = run(*trainings, "--groups", "patient", "--limit", "200", "--json", "--out", "b")
    assert code == 0, err
    plain = json.loads(out)
    assert plain["models"]["nearest"]["perturbations"]["pmv"]["groups"] == 15
    assert len(MemorizationResult.load(tmp_path / "b" / "result").summary().warnings) == 1
    assert any("15 groups" in note for note in plain["notes"])
    code, _, err = run(*trainings, "--groups", "clinic", "--out", "c")
    assert code == 2
    assert "'clinic' are neither a file, nor a column (the data have the columns patient, y)" in err


def test_groups_of_pictures(run, tmp_path):
    x, y = load_digits(return_X_y=True)
    pictures = {"images": (x[:120] * 15).astype(np.uint8).reshape(-1, 8, 8), "labels": y[:120]}
    np.savez("pictures.npz", **pictures, video=np.arange(120) // 2)
    (tmp_path / "mynet.py").write_text(
        "import numpy as np\n"
        "def net():\n"
        "    w = np.random.default_rng(0).normal(size=(64, 10))\n"
        "    return lambda batch: batch.reshape(len(batch), -1)[:, :64] @ w\n"
    )
    code, _, err = run("--model", "mynet:net", "--images", "pictures.npz", "--strengths", "0:2",
                         "--groups", "video", "--allow-chance", "--limit", "100")  # fmt: skip
    assert code == 0, err
    (curve,) = MemorizationResult.load(tmp_path / "heldout-memorization").curves
    assert curve.n == 100
    assert 50 <= curve.n_groups <= 60  # pairs of frames, 120 before --limit


def test_groups_of_rows_are_those_of_one_file(run, tmp_path):
    """A CSV names rows by their numbers, which both files have: those of the training set went to the fresh ones."""
    trainings = ["--train", "MINE:nearest", "--data", "train.npz", "--label-noise", "0,0.4", "--repetitions", "1",
                 "--validation", "fresh.npz"]  # fmt: skip
    (tmp_path / "groups.csv").write_text("id,group\n" + "".join(f"{i},{i // 3}\n" for i in range(300)))
    code, _, err = run(*trainings, "--groups", "groups.csv")
    assert code == 2
    assert "--groups groups.csv: '0' is an example of the training data and one of --validation fresh.npz" in err
    with np.load("train.npz") as f:
        np.savez("train.npz", **f, patient=np.arange(300) // 3)
    code, _, err = run(*trainings, "--groups", "patient")
    assert code == 2
    assert "--validation fresh.npz: the groups 'patient' are neither a file, nor a column" in err
    with np.load("fresh.npz") as f:
        np.savez("fresh.npz", **f, patient=np.arange(200) // 5)
    for groups, n, v in (("patient", 100, 40), (r"(.)$", 10, 10)):
        code, _, err = run(*trainings, "--groups", groups, "--out", f"out{n}")
        assert code == 0, err
        found = MemorizationResult.load(tmp_path / f"out{n}" / "result").measured["nearest"]
        assert found.perturbations["pmv"].n_groups == n
        assert found.validation.groups.max() + 1 == v


def test_groups_of_fresh_pictures(run, tmp_path):
    """An array that the training file alone has: the message names the other; ids that both have name no group."""
    x, y = load_digits(return_X_y=True)
    pictures = (x * 15).astype(np.uint8).reshape(-1, 8, 8)
    train, fresh = ({"images": pictures[i : i + 60], "labels": y[i : i + 60]} for i in (0, 60))
    np.savez("pictures.npz", **train, video=np.arange(60) // 2)
    np.savez("va.npz", **fresh)
    (tmp_path / "mynet.py").write_text(
        "import numpy as np\n"
        "def net():\n"
        "    w = np.random.default_rng(0).normal(size=(64, 10))\n"
        "    return lambda batch: batch.reshape(len(batch), -1)[:, :64] @ w\n"
    )
    line = ("--model", "mynet:net", "--images", "pictures.npz", "--validation", "va.npz", "--strengths", "0:1",
            "--allow-chance")  # fmt: skip
    code, _, err = run(*line, "--groups", "video")
    assert code == 2
    assert "--validation va.npz: the groups 'video' are neither a file, nor a column" in err
    (tmp_path / "groups.csv").write_text("id,group\n" + "".join(f"{i},{i // 3}\n" for i in range(60)))
    code, _, err = run(*line, "--groups", "groups.csv")
    assert code == 2
    assert "'0' is an example of the training data and one of --validation va.npz" in err
    np.savez("va.npz", **fresh, video=np.arange(60) // 3)
    code, _, err = run(*line, "--groups", "video")
    assert code == 0, err
    found = MemorizationResult.load(tmp_path / "heldout-memorization").measured["net"]
    assert (found.perturbations["spatial"].n_groups, found.validation.groups.max() + 1) == (30, 20)


def test_curves_are_of_the_training_arrays_of_a_file_and_say_so(run, honest_onnx):
    with np.load(honest_onnx.parent / "demo.npz") as demo:
        arrays = {"x_train": demo["test_images"][:50], "y_train": demo["test_labels"][:50],
                  "x_test": demo["control_images"][:30], "y_test": demo["control_labels"][:30]}  # fmt: skip
    np.savez("mnist.npz", **arrays)
    code, out, _ = run("--model", honest_onnx, "--images", "mnist.npz", "--validation", "mnist.npz",
                       "--perturbation", "gaussian", "--strengths", "0,32")  # fmt: skip
    assert code == 0
    assert "50 training examples of mnist.npz (x_train, y_train)" in out
    result = MemorizationResult.load(run.folder / "heldout-memorization" / "result")
    assert result.measured["honest"].validation.right.shape[-1] == 30
