"""The command line as a user meets it: real files, real processes, exit codes, one clear sentence."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from heldout import AuditResult, __version__
from heldout.cli import main


@pytest.fixture(scope="module")
def files(demo_arrays, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("cli")
    for part in ("test", "control"):
        np.savez(
            folder / f"{part}.npz",
            images=demo_arrays[f"{part}_images"][:150],
            labels=demo_arrays[f"{part}_labels"][:150],
        )
    return {"folder": folder, "test": folder / "test.npz", "control": folder / "control.npz"}


@pytest.fixture
def run(files, honest_onnx, tmp_path, capsys):
    """`heldout audit` with the usual options; others replace or add to them (None removes one)."""

    def audit(**options) -> tuple[int, str, str]:
        usual = {
            "model": honest_onnx, "images": files["test"], "wrap": True, "radius": 1, "out": tmp_path / "out",
            "limit": 60,
        }  # fmt: skip
        argv = ["audit"]
        for name, value in {**usual, **options}.items():
            if value is None or value is False:
                continue
            argv.append("--" + name.replace("_", "-"))
            if value is not True:
                argv += [str(v) for v in (value if isinstance(value, (list, tuple)) else [value])]
        code = main(argv)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return audit


def test_version_and_help(capsys):
    for argv in (["--version"], ["--help"], ["audit", "--help"], ["split", "--help"], ["demo", "--help"]):
        with pytest.raises(SystemExit) as stop:
            main(argv)
        assert stop.value.code == 0
    out = capsys.readouterr().out
    assert f"heldout {__version__}" in out
    assert "--upsample 44 --crop 32" in out
    assert "exit codes" in out


def test_audit_prints_a_verdict_and_writes_everything(run, tmp_path):
    code, out, err = run()
    assert code == 0
    assert "independence" in out
    assert "two assumptions" in out
    assert "plain accuracy" in err
    assert "evaluations, about" in err
    assert f"report: {tmp_path / 'out' / 'report.html'}" in err
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["report.html", "result.json", "result.npz"]
    assert AuditResult.load(tmp_path / "out" / "result").n_models == 1


def test_json_with_a_control(run, files, tmp_path):
    code, out, _ = run(control=files["control"], json=True)
    assert code == 0
    plain = json.loads(out)
    assert plain["control"]["n_examples"] == 60
    assert plain == json.loads((tmp_path / "out" / "result.json").read_text())


def test_several_models(run, honest_onnx, leaked_onnx):
    code, out, _ = run(model=[honest_onnx, leaked_onnx], json=True)
    assert code == 0
    assert json.loads(out)["n_models"] == 2


def test_fail_under(run, files, leaked_onnx, honest_onnx):
    data = Path(leaked_onnx).with_name("demo.npz")
    options = {
        "images": data, "images_key": "test_images", "labels_key": "test_labels", "limit": None,
        "control": data, "control_images_key": "control_images", "control_labels_key": "control_labels",
    }  # fmt: skip
    code, _, err = run(model=leaked_onnx, **options, fail_under=0.001)
    assert code == 1
    assert "is below --fail-under 0.001" in err
    assert run(model=honest_onnx, **options, fail_under=0.001)[0] == 0
    for value, sentence in [
        (2e-4, "can never be reached.*--resamples 10001"),
        (0, "between 0 and 1"),
        (1.5, "between"),
    ]:
        code, _, err = run(model=honest_onnx, **options, fail_under=value)
        assert code == 2
        assert re.search(sentence, one_sentence(err))


def test_a_python_factory(run, tmp_path, monkeypatch):
    (tmp_path / "my_models_for_cli.py").write_text(
        "import numpy as np\n"
        "from heldout.scorers import FunctionScorer\n"
        "def first_pixels(batch):\n    return batch.reshape(len(batch), -1)[:, :10]\n"
        "def make():\n    return FunctionScorer(first_pixels)\n"
    )
    monkeypatch.chdir(tmp_path)
    code, _, err = run(model="my_models_for_cli:make", allow_chance=True)
    assert (code, "make, test set" in err) == (0, True)
    code, _, err = run(model="my_models_for_cli:make")
    assert code == 2
    assert "not reliably better than always naming the commonest class" in err


def test_folders_and_frames(tmp_path, honest_onnx, demo_arrays, capsys):
    pictures, labels = demo_arrays["test_images"][:30], demo_arrays["test_labels"][:30]
    for i, (x, y) in enumerate(zip(pictures, labels, strict=True)):
        path = tmp_path / "pictures" / str(y) / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(x).save(path)
    base = ["audit", "--model", str(honest_onnx), "--radius", "1", "--allow-chance", "--json"]
    base += ["--images", str(tmp_path / "pictures"), "--out", str(tmp_path / "out")]
    assert len(list((tmp_path / "pictures").iterdir())) == 10
    assert main([*base, "--wrap"]) == 0
    assert json.loads(capsys.readouterr().out)["n_examples"] == 30
    assert main([*base, "--upsample", "44"]) == 0  # the crop comes from the model's input size
    assert json.loads(capsys.readouterr().out)["preprocessing"]["size"] == 32
    assert main([*base, "--resize", "40", "--crop", "32"]) == 0
    names = [p.relative_to(tmp_path / "pictures") for p in (tmp_path / "pictures").rglob("*.png")][:8]
    rows = [f"{name},class {i % 4}" for i, name in enumerate(names)]
    (tmp_path / "four.csv").write_text("\n".join(["file,label", *rows]))
    for options, sentence in [
        ([], "leaves no pixels to move in: choose --resize R --crop C, --upsample U or --wrap"),
        (["--wrap", "--labels", str(tmp_path / "four.csv")], "of 4 named classes, but the model knows 10"),
        (["--wrap", "--crop", "20"], "leave --crop, --resize and --upsample out"),
        (["--upsample", "34"], "no radius fits"),
        (["--upsample", "44", "--radius", "3"], "the largest radius that fits is 2"),
        (["--upsample", "44", "--resize", "50"], "give one of them"),
    ]:
        assert main([*base, *options]) == 2
        assert sentence in capsys.readouterr().err


def one_sentence(err: str) -> str:
    lines = [line for line in err.splitlines() if line.startswith("heldout: ")]
    assert len(lines) == 1, err
    assert "Traceback" not in err
    return lines[0]


def test_bad_input_is_one_sentence_and_exit_2(run, files, tmp_path, demo_arrays):
    labels = demo_arrays["test_labels"][:150]
    bad = labels.copy()
    bad[3] = 10
    np.save(tmp_path / "ten.npy", bad)
    np.save(tmp_path / "short.npy", labels[:100])
    (tmp_path / "empty").mkdir()
    (tmp_path / "no.onnx").write_bytes(b"x")
    for options, sentence in [
        ({"radius": 0}, "with radius 0 nothing moves"),
        ({"images": tmp_path / "missing"}, "does not exist"),
        ({"images": tmp_path / "empty"}, "no class folders"),
        ({"labels": tmp_path / "ten.npy", "limit": None}, "knows 10 classes, but picture 3 has label 10"),
        ({"labels": tmp_path / "short.npy"}, "100 labels for 150 pictures"),
        ({"model": tmp_path / "no.onnx"}, "not a model that ONNX Runtime can load"),
        ({"model": "resnet.pt"}, "give an .onnx file or package.module:factory"),
        ({"limit": 0}, "`limit` is 0"),
        ({"expect_accuracy": 0.123}, "was expected"),
        ({"images_key": "pictures"}, "holds the keys images, labels"),
        ({"mean": [0, 0]}, "`mean` has 2 values"),
        ({"batch_size": -1}, "`batch_size` is -1"),
        ({"batch_size": 0}, "`batch_size` is 0"),
        ({"seed": -1}, "`seed` is -1"),
        ({"device": "tpu"}, "there is no device 'tpu'"),
        ({"bf16": True}, "bfloat16 is for torch"),
        ({"control_labels": tmp_path / "ten.npy"}, "--control-labels goes with --control"),
        ({"control": files["test"]}, "the control is the test set itself"),
        ({"out": files["test"]}, "cannot be written to"),
        ({"out": "/proc/nowhere"}, "cannot be written to"),
    ]:
        code, out, err = run(**options)
        assert (code, out) == (2, ""), sentence
        assert sentence in one_sentence(err)


def test_a_killed_audit_goes_on_to_the_same_bits(files, honest_onnx, tmp_path):
    """SIGKILL in the middle, then --resume; then the same checkpoint is refused to another audit."""

    def command(out: str, *more: str, pause: float = 0.0) -> list[str]:
        # A checkpoint after every batch, and a slow model, so that the kill surely hits the middle.
        code = (
            "import sys, time; import heldout.independence.engine as e; e.SECONDS_BETWEEN_CHECKPOINTS = 0\n"
            "from heldout.scorers import OnnxScorer; run = OnnxScorer.logits\n"
            f"OnnxScorer.logits = lambda self, b: (time.sleep({pause}), run(self, b))[1]\n"
            "from heldout.cli import main; sys.exit(main(sys.argv[1:]))"
        )
        usual = ["--images", str(files["test"]), "--control", str(files["control"]), "--wrap", "--json"]
        model = ["--model", str(honest_onnx), "--batch-size", "64"]
        return [sys.executable, "-c", code, "audit", *model, *usual, "--out", str(tmp_path / out), *more]

    whole = subprocess.run(command("whole"), capture_output=True, text=True, check=True)
    process = subprocess.Popen(command("killed", pause=0.2), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    checkpoint = tmp_path / "killed" / "checkpoint" / "test-0.npz"
    deadline = time.monotonic() + 60
    while not checkpoint.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert checkpoint.exists()

    again = subprocess.run(command("killed"), capture_output=True, text=True)
    assert again.returncode == 2
    assert "go on with --resume" in one_sentence(again.stderr)
    other = subprocess.run(command("killed", "--resume", "--radius", "1"), capture_output=True, text=True)
    assert other.returncode == 2
    assert "belongs to another audit: radius was 2, is 1" in one_sentence(other.stderr)
    good = checkpoint.read_bytes()
    checkpoint.write_bytes(good[:100])
    broken = subprocess.run(command("killed", "--resume"), capture_output=True, text=True)
    assert broken.returncode == 2
    assert "is damaged" in one_sentence(broken.stderr)
    checkpoint.write_bytes(good)

    resumed = subprocess.run(command("killed", "--resume"), capture_output=True, text=True, check=True)
    assert json.loads(resumed.stdout) == json.loads(whole.stdout)
    with np.load(tmp_path / "whole" / "result.npz") as a, np.load(tmp_path / "killed" / "result.npz") as b:
        for key in a.files:
            assert np.array_equal(a[key], b[key], equal_nan=a[key].dtype.kind == "f"), key
    assert not checkpoint.parent.exists(), "checkpoints go once the result is safe"


def test_split(files, tmp_path, capsys):
    assert main(["split", str(files["test"]), "--control", "0.2", "--seed", "1", "--out", str(tmp_path)]) == 0
    assert "30 examples put aside" in capsys.readouterr().out
    with np.load(tmp_path / "control.npz") as control, np.load(tmp_path / "rest.npz") as rest:
        assert control["images"].shape == (30, 32, 32)
        assert control["images"].dtype == np.uint8
        assert sorted(map(int, [*control["ids"], *rest["ids"]])) == list(range(150))
    assert main(["split", str(files["test"]), "--control", "0.2", "--out", str(tmp_path)]) == 2
    assert "a control is drawn once" in one_sentence(capsys.readouterr().err)
    assert main(["split", str(files["test"]), "--control", "2.5", "--out", str(tmp_path / "x")]) == 2


def test_split_of_a_folder_keeps_its_labels(tmp_path, rng, capsys):
    """Class names that are numbers, and file names with commas, are where labels get lost."""
    from heldout.images import from_folder, open_source

    for name in map(str, range(1, 13)):
        (tmp_path / "all" / name).mkdir(parents=True)
        for i in range(4):
            Image.new("L", (8, 8)).save(tmp_path / "all" / name / f"a,{i}.png")
    assert main(["split", str(tmp_path / "all"), "--control", "0.25", "--out", str(tmp_path / "s")]) == 0
    capsys.readouterr()
    whole = from_folder(tmp_path / "all")
    truth = dict(zip(whole.ids, whole.labels, strict=True))
    seen = {}
    for part in ("rest", "control"):
        source = open_source(tmp_path / "all", labels=tmp_path / "s" / f"{part}.csv")
        seen |= dict(zip(source.ids, source.labels, strict=True))
        assert source.class_names == whole.class_names
    assert seen == truth


def test_split_of_a_folder_can_be_audited(tmp_path, rng, capsys):
    for name in "ab":
        (tmp_path / "all" / name).mkdir(parents=True)
        for i in range(10):
            Image.fromarray(rng.integers(0, 256, (8, 8), dtype=np.uint8)).save(tmp_path / "all" / name / f"{i}.png")
    out = tmp_path / "split"
    assert main(["split", str(tmp_path / "all"), "--control", "6", "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["control"]["n_examples"] == 6
    from heldout.images import open_source

    control = open_source(tmp_path / "all", labels=out / "control.csv")
    assert np.bincount(control.labels).tolist() == [3, 3]
    assert control.class_names == ["a", "b"]


def test_demo(capsys, tmp_path):
    """What `make demo` promises, in full."""
    assert main(["demo", "--json", "--out", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    plain = json.loads(captured.out)
    assert list(plain) == ["honest", "leaked"]
    assert plain["honest"]["p_value"] > 0.05
    assert plain["leaked"]["p_value"] <= 1e-3
    assert plain["leaked"]["p_values"]["betting"] < 1e-4
    assert plain["honest"]["control"]["n_examples"] == 2000
    assert plain["honest"]["evaluations_per_image"] <= 0.25 * 13**2
    report = tmp_path / "report.html"
    assert str(report) in captured.err
    assert report.stat().st_size < 3_000_000
