"""The command line as a user meets it: real files, real processes, exit codes, one clear sentence."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from heldout import AuditResult, demo
from heldout.cli import main
from tests import manual


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


def test_audit_prints_a_verdict_and_writes_everything(run, tmp_path):
    code, out, err = run()
    assert code == 0
    assert out.startswith("No evidence against independence")
    assert re.search(
        r"accuracy (\S+) % untouched, \1 % in the frame \(its centre is the untouched picture\), on 60", err
    )
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
        "images": data, "images_key": "test_images", "labels_key": "test_labels", "limit": 400,
        "control": data, "control_images_key": "control_images", "control_labels_key": "control_labels",
    }  # fmt: skip
    code, _, err = run(model=leaked_onnx, **options, fail_under=0.001)
    assert code == 1
    assert "is below --fail-under 0.001" in err
    assert run(model=honest_onnx, **options, fail_under=0.001)[0] == 0
    for value, sentence in [
        (2e-4, "can never be reached.*--resamples 100000"),
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
    assert main([*base, "--upsample", "44", "--allow-frame-drop"]) == 0  # the crop comes from the model's input size
    assert json.loads(capsys.readouterr().out)["preprocessing"]["size"] == 32
    assert main([*base, "--resize", "40", "--crop", "32"]) == 0
    names = [p.relative_to(tmp_path / "pictures") for p in (tmp_path / "pictures").rglob("*.png")][:8]
    rows = [f"{name},class {i % 4}" for i, name in enumerate(names)]
    (tmp_path / "four.csv").write_text("\n".join(["file,label", *rows]))
    for options, sentence in [
        ([], "leaves no pixels to move in: choose --resize R --crop C, --pad reflect (with --control), --wrap, or"),
        (["--wrap", "--labels", str(tmp_path / "four.csv")], "of 4 named classes, but the model knows 10"),
        (["--wrap", "--crop", "20"], "leave --crop, --resize and --upsample out"),
        (["--pad", "zero", "--wrap"], "leave --crop, --resize, --upsample and --wrap out"),
        (["--pad", "zero"], "padded pictures cannot be audited without a control: a shift brings in pixels that were"),
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


def test_references(run, files, leaked_onnx, honest_onnx, tmp_path, monkeypatch):
    usual = {"model": leaked_onnx, "control": files["control"], "limit": 150, "resamples": 999}
    code, out, err = run(**usual, reference=honest_onnx, json=True)
    plain = json.loads(out)
    assert code == 0
    assert plain["verdict_by"] == "references"
    assert plain["references"] == ["honest"]
    assert "honest (reference): accuracy" in err
    result = AuditResult.load(tmp_path / "out" / "result")
    assert result.p_value == plain["p_value"] == plain["control"]["leak"]["p_value"]
    assert "Against references" in (tmp_path / "out" / "report.html").read_text()

    module = (
        "import numpy as np\n"
        "def guess():\n"
        "    return lambda batch: np.stack([np.sin(batch.sum((1, 2, 3)) * (7 + i)) for i in range(10)], axis=1)\n"
        "def two():\n"
        "    return lambda batch: guess()(batch)[:, :2]\n"
    )
    (tmp_path / "some_references.py").write_text(module)
    monkeypatch.syspath_prepend(str(tmp_path))
    for options, sentence in [
        ({"reference": honest_onnx, "control": None}, "--reference goes with --control"),
        ({"reference": leaked_onnx}, "the reference leaked is the audited model itself"),
        ({"reference": [honest_onnx, honest_onnx]}, "are the same model; give it once"),
        ({"reference": "other.pt"}, "--reference other.pt: give an .onnx file or package.module:factory"),
        ({"reference": "nowhere.at_all:model"}, "--reference nowhere.at_all:model: ModuleNotFoundError"),
        ({"reference": "some_references:guess"}, "the untouched accuracy of the reference guess is"),
        ({"reference": "some_references:two"}, "the reference two: the model knows 2 classes, but picture"),
        ({"reference": honest_onnx, "fail_under": 0.001}, "Use --resamples 10000, ten times"),
        ({"fail_under": 0.002}, "Use --resamples 10000, ten times"),
    ]:
        code, out, err = run(**{**usual, **options})
        assert (code, out) == (2, ""), sentence
        assert sentence in one_sentence(err)


@pytest.mark.slow
def test_a_killed_audit_goes_on_to_the_same_bits(files, honest_onnx, tmp_path):
    """SIGKILL in the middle, then --resume; then the same checkpoint is refused to another audit."""

    def command(out: str, *more: str, pause: float = 0.0) -> list[str]:
        # A checkpoint after every batch, and a slow model, so that the kill surely hits the middle.
        code = (
            "import sys, time; import heldout.checkpoints as c; c.SECONDS = 0\n"
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
    assert "continue with --resume" in one_sentence(again.stderr)
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
            noise = rng.integers(0, 256, (8, 8), dtype=np.uint8)
            Image.fromarray(noise).save(tmp_path / "all" / name / f"a,{i}.png")
    numbered = ["--control", "0.25", "--classes-by", "name"]
    assert main(["split", str(tmp_path / "all"), *numbered, "--out", str(tmp_path / "s")]) == 0
    capsys.readouterr()
    whole = from_folder(tmp_path / "all", classes_by="name")
    truth = dict(zip(whole.ids, whole.labels, strict=True))
    seen = {}
    for part in ("rest", "control"):
        source = open_source(tmp_path / "all", labels=tmp_path / "s" / f"{part}.csv")
        seen |= dict(zip(source.ids, source.labels, strict=True))
        assert source.class_names == whole.class_names
    assert seen == truth


def test_a_control_in_folders_called_by_the_numbers_that_label_the_test_set(run, files, tmp_path):
    """Classes are the numbers that folders are called, also where some are lacking; in their order 9 would be 2."""
    with np.load(files["control"]) as data:
        kept = np.isin(data["labels"], (0, 4, 9))
        pictures, labels = data["images"][kept], data["labels"][kept]
    np.savez(tmp_path / "some.npz", images=pictures, labels=labels)
    for i, (picture, label) in enumerate(zip(pictures, labels, strict=True)):
        (tmp_path / "folders" / str(label)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(tmp_path / "folders" / str(label) / f"{i}.png")
    errors = []
    for control in ("some.npz", "folders"):
        code, out, err = run(control=tmp_path / control, json=True, limit=None, out=tmp_path / f"out of {control}")
        assert code == 0, err
        errors.append(json.loads(out)["control"]["untouched_error"])
    assert errors[0] == errors[1] < 0.5
    for label in (9, 4, 0):
        (tmp_path / "folders" / str(label)).rename(tmp_path / "folders" / f"0{label // 4 + 1}")
    code, _, err = run(control=tmp_path / "folders", limit=None)
    assert code == 2
    assert "called 1 to 3, but the labels of the other set begin with 0" in one_sentence(err)


def test_split_of_a_folder_can_be_audited(tmp_path, rng, capsys):
    for name in "ab":
        (tmp_path / "all" / name).mkdir(parents=True)
        for i in range(10):
            Image.fromarray(rng.integers(0, 256, (8, 8), dtype=np.uint8)).save(tmp_path / "all" / name / f"{i}.png")
    out = tmp_path / "split"
    assert main(["split", str(tmp_path / "all"), "--control", "6", "--out", str(out), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["control"]["n_examples"] == 6
    assert main(["split", str(tmp_path / "all"), "--control", "6", "--out", f"{out}2", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    from heldout.images import open_source

    control = open_source(tmp_path / "all", labels=out / "control.csv")
    assert np.bincount(control.labels).tolist() == [3, 3]
    assert control.class_names == ["a", "b"]


@pytest.mark.parametrize("limit", [250, pytest.param(None, marks=pytest.mark.slow)])
def test_demo(limit, monkeypatch, capsys, tmp_path):
    """What `make demo` promises; in full where that may take half a minute."""
    monkeypatch.setattr("heldout.demo.run_demo", partial(demo.run_demo, limit=limit))
    assert main(["demo", "--json", "--out", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    plain = json.loads(captured.out)
    assert list(plain) == ["honest", "leaked"]
    assert plain["leaked"]["p_value"] < 0.05 < plain["honest"]["p_value"]
    assert plain["leaked"]["p_values"]["betting"] < 0.05 < plain["honest"]["p_values"]["betting"]
    if limit is None:
        assert plain["leaked"]["p_value"] <= 1e-3
        assert plain["leaked"]["p_values"]["betting"] < 1e-4
    assert plain["leaked"]["references"] == ["honest"]
    assert plain["leaked"]["p_value"] == plain["leaked"]["control"]["leak"]["p_value"]
    assert plain["honest"]["references"] == []
    assert plain["honest"]["control"]["n_examples"] == (limit or 2000)
    assert plain["honest"]["evaluations_per_image"] <= 0.25 * 13**2
    report = tmp_path / "report.html"
    assert str(report) in captured.err
    assert report.stat().st_size < 3_000_000


def ci_commands() -> list[list[str]]:
    """What docs/ tells people to run in CI, and to try on the demo's files."""
    found = [words[1:] for words in manual.illustrations() if "--fail-under" in words and words[1] == "audit"]
    return sorted(found, key=len)


@pytest.mark.slow
def test_the_readmes_ci_command_fails_the_leaked_model_and_passes_the_honest_one(
    leaked_onnx, honest_onnx, demo_arrays, tmp_path, monkeypatch, capsys
):
    general, demo = ci_commands()
    for part in ("test", "control"):
        x, y = demo_arrays[f"{part}_images"][:1000], demo_arrays[f"{part}_labels"][:1000]
        np.savez(tmp_path / f"{part}.npz", images=x, labels=y)
    monkeypatch.chdir(tmp_path)
    for model, code in ((leaked_onnx, 1), (honest_onnx, 0)):
        (tmp_path / "model.onnx").write_bytes(model.read_bytes())
        assert main(general) == code
        captured = capsys.readouterr()
        assert ("is below --fail-under 0.01" in captured.err) == (code == 1)
    # On the demo's files the words are the same but for file names and keys.
    keys = ["--images-key", "--labels-key", "--control-images-key", "--control-labels-key"]
    taken = [i + d for i, word in enumerate(demo) if word in keys for d in (0, 1)]
    same = [word for i, word in enumerate(demo) if i not in taken]
    names = {"leaked.onnx": "model.onnx"}
    files = iter(["test.npz", "control.npz"])
    assert [next(files) if w == "demo.npz" else names.get(w, w) for w in same] == general
    monkeypatch.chdir(leaked_onnx.parent)
    assert main([*demo, "--limit", "300", "--out", str(tmp_path / "demo")]) == 1


def test_a_frame_that_costs_accuracy_stops_the_audit(run, files):
    options = {"wrap": None, "upsample": 44, "limit": None, "control": files["control"]}
    code, out, err = run(**options)
    assert (code, out) == (2, "")
    assert "use --pad reflect (with --control), which leaves the untouched picture in the middle" in one_sentence(err)
    assert err.count("% in the frame, on 150 pictures") == 2
    code, out, err = run(**options, allow_frame_drop=True, json=True)
    assert code == 0
    assert "each one's original picture" in err
    plain = json.loads(out)
    assert plain["untouched_pictures"] == ["original picture"]
    assert plain["untouched_error"] < 0.3 < 0.4 < plain["test_error"]


def test_groups(files, run, tmp_path, demo_arrays, capsys):
    """A column, a CSV, a pattern; refused where a group is in both sets; a split that keeps groups whole."""
    names = np.array([f"{i // 3}_{i % 3}" for i in range(150)])
    everything = {"images": demo_arrays["test_images"][:150], "labels": demo_arrays["test_labels"][:150], "ids": names}
    np.savez(tmp_path / "all.npz", **everything, video=np.arange(150) // 3)
    split = ["split", str(tmp_path / "all.npz"), "--control", "0.4", "--groups", "video", "--out", str(tmp_path / "s")]
    assert main(split) == 0
    captured = capsys.readouterr()
    assert "60 examples in 20 groups put aside" in captured.out
    assert captured.err.rstrip().endswith("--groups video")
    with np.load(tmp_path / "s" / "rest.npz") as rest, np.load(tmp_path / "s" / "control.npz") as control:
        assert not np.intersect1d(rest["video"], control["video"]).size
        assert len(rest["video"]) == 90
    table = ["id,group", *(f"{name},{name.split('_')[0]}" for name in names)]
    (tmp_path / "groups.csv").write_text("\n".join(table))
    for spec in ("video", str(tmp_path / "groups.csv"), "^(.*)_"):
        parts = {"images": tmp_path / "s" / "rest.npz", "control": tmp_path / "s" / "control.npz"}
        code, out, err = run(**parts, groups=spec, limit=None, json=True)
        assert code == 0
        assert "test set: 90 pictures in 30 groups, the largest of 3" in err
        assert "20 groups are few" in err
        assert json.loads(out)["n_groups"] == 30
    for options, sentence in [
        ({"groups": "patient"}, "neither a file, nor a column .*video"),
        ({"groups": "video", "control": tmp_path / "all.npz"}, "in both test set and control"),
        ({"groups": "video", "control_groups": "ids_", "control": tmp_path / "s" / "control.npz"}, "neither a file"),
        ({"control_groups": "video"}, "--control-groups goes with --control"),
        ({"control": tmp_path / "all.npz"}, "stand in the test set too, pixel by pixel"),
    ]:
        code, _, err = run(**{"images": tmp_path / "s" / "rest.npz", "limit": None, **options})
        assert code == 2
        assert re.search(sentence, one_sentence(err))


def test_split_keeps_equal_pictures_together(tmp_path, rng, capsys):
    x = rng.integers(0, 256, (60, 8, 8), dtype=np.uint8)
    x[30:] = x[:30]
    np.savez(tmp_path / "x.npz", images=x, labels=np.arange(60) % 2)
    command = ["split", str(tmp_path / "x.npz"), "--control", "0.2", "--out", str(tmp_path / "s"), "--json"]
    assert main(command) == 0
    captured = capsys.readouterr()
    assert "30 of 60 pictures repeat another one pixel by pixel; equal ones stay together." in captured.err
    plain = json.loads(captured.out)
    assert (plain["n_duplicates"], plain["control"]["n_examples"], plain["control"]["n_groups"]) == (30, 12, 6)
    with np.load(tmp_path / "s" / "control.npz") as control:
        ids = set(map(int, control["ids"]))
    assert ids == {(i + 30) % 60 for i in ids}


def test_split_of_a_table_keeps_its_columns(tmp_path, rng, capsys):
    for i in range(12):
        Image.fromarray(rng.integers(0, 256, (8, 8), dtype=np.uint8)).save(tmp_path / f"{i}.png")
    rows = [f"{i}.png,{i % 2},patient {i // 4}" for i in range(12)]
    (tmp_path / "all.csv").write_text("\n".join(["file,label,patient", *rows]))
    command = ["split", str(tmp_path), "--labels", str(tmp_path / "all.csv"), "--control", "4", "--groups", "patient"]
    assert main([*command, "--out", str(tmp_path / "s")]) == 0
    captured = capsys.readouterr()
    assert "4 examples in 1 groups put aside" in captured.out
    assert "change nothing" not in captured.err
    assert main([*command[:-1], "^(.*).png", "--out", str(tmp_path / "alone")]) == 0
    assert "warning: the groups '^(.*).png' are 12 of one example each, and change nothing." in capsys.readouterr().err
    from heldout.images import from_csv

    control, rest = (from_csv(tmp_path, tmp_path / "s" / f"{part}.csv") for part in ("control", "rest"))
    assert len(set(control.columns["patient"])) == 1
    assert not set(control.columns["patient"]) & set(rest.columns["patient"])
    assert control.class_names == rest.class_names == ["class 0", "class 1"]


def test_split_takes_the_label_by_its_name_and_writes_no_column_twice(tmp_path, rng, capsys):
    for i in range(12):
        Image.fromarray(rng.integers(0, 256, (8, 8), dtype=np.uint8)).save(tmp_path / f"{i}.png")
    rows = [f"{i}.png,p{i // 2},{i % 2},{i}" for i in range(12)]
    (tmp_path / "all.csv").write_text("\n".join(["image,patient,label,file", *rows]))
    command = ["split", str(tmp_path), "--labels", str(tmp_path / "all.csv"), "--control", "4"]
    assert main([*command, "--out", str(tmp_path / "s")]) == 0
    assert "labels: column 'label' of all.csv." in capsys.readouterr().err
    header, *rest = (tmp_path / "s" / "rest.csv").read_text().splitlines()
    assert header == "file,label,name,patient,other file"
    assert [row.split(",")[1] for row in rest] == [str(int(row.split(".")[0]) % 2) for row in rest]


@pytest.mark.parametrize("classes", [("0", "1"), ("cat", "dog")])
@pytest.mark.parametrize("further", ["", ",ward"])
def test_split_of_a_table_keeps_a_column_called_name(classes, further, tmp_path, rng, capsys):
    """Groups may be called so; the advice says --groups name, and it must work."""
    from heldout.images import from_csv

    for i in range(12):
        Image.fromarray(rng.integers(0, 256, (8, 8), dtype=np.uint8)).save(tmp_path / f"{i}.png")
    rows = [f"{i}.png,{classes[i % 2]},patient {i // 4}{further}" for i in range(12)]
    (tmp_path / "all.csv").write_text("\n".join([f"file,label,name{further}", *rows]))
    command = ["split", str(tmp_path), "--labels", str(tmp_path / "all.csv"), "--control", "4", "--groups", "name"]
    assert main([*command, "--out", str(tmp_path / "s")]) == 0
    assert "--groups name" in capsys.readouterr().err
    control, rest = (from_csv(tmp_path, tmp_path / "s" / f"{part}.csv") for part in ("control", "rest"))
    assert len(set(control.columns["name"])) == 1
    assert set(control.columns["name"]) | set(rest.columns["name"]) == {"patient 0", "patient 1", "patient 2"}
    wanted = ["class 0", "class 1"] if classes[0] == "0" else ["cat", "dog"]
    assert control.class_names == rest.class_names == wanted


def test_split_of_a_table_writes_class_names_once(tmp_path, rng, capsys):
    for i in range(8):
        Image.fromarray(rng.integers(0, 256, (8, 8), dtype=np.uint8)).save(tmp_path / f"{i}.png")
    rows = [f"{i}.png,{i % 2},{('cat', 'dog')[i % 2]}" for i in range(8)]
    (tmp_path / "all.csv").write_text("\n".join(["file,label,name", *rows]))
    command = ["split", str(tmp_path), "--labels", str(tmp_path / "all.csv"), "--control", "4"]
    assert main([*command, "--out", str(tmp_path / "s")]) == 0
    assert (tmp_path / "s" / "rest.csv").read_text().splitlines()[0] == "file,label,name"
