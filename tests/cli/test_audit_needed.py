"""`heldout audit --needed` as a user meets it."""

import json

import numpy as np
import pytest

from heldout.cli import main


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Scores of a model and of others on 300 examples of a control."""
    folder = tmp_path_factory.mktemp("needed")
    rng = np.random.default_rng(0)
    hard = 2.0 + 2.0 * rng.normal(size=300)
    scores = {name: hard + rng.normal(size=300) for name in ("control", "old", "other")}
    for name, values in scores.items():
        lines = ["id,margin"] + [f"q{i},{value:.6f}" for i, value in enumerate(values)]
        (folder / f"{name}.csv").write_text("\n".join(lines))
    return folder


@pytest.fixture
def needed(tables, capsys, monkeypatch):
    monkeypatch.chdir(tables)

    def run(*argv):
        code = main(["audit", "--needed", *map(str, argv)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_a_table_from_scores(needed, tables):
    code, out, err = needed("--control-scores", "control.csv", "--reference-scores", "old.csv", "other.csv")
    assert code == 0
    assert out.startswith("What leak an audit of 300 test examples would find.")
    assert "margin less 2 references" in out
    assert "control: 300 examples, margin" in err
    assert not (tables / "heldout-audit").exists()  # nothing is written unasked


def test_a_report_where_it_is_asked_for(needed, tmp_path):
    code, _, err = needed("--control-scores", "control.csv", "--out", tmp_path / "out")
    assert code == 0
    assert "report: " in err
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["report.html", "result.json", "result.npz"]


def test_one_cell_as_json(needed):
    code, out, _ = needed(
        "--control-scores", "control.csv", "--share", 0.05, "--pull", 0.4, "--examples", 5000, "--json"
    )  # fmt: skip
    assert code == 0
    plain = json.loads(out)
    assert (plain["n_examples"], plain["n_control"]) == (5000, 300)
    (cell,) = plain["cells"]
    assert (cell["share"], cell["pull"]) == (0.05, 0.4)
    assert 0 < cell["power"] < 1
    assert cell["examples_needed"] > 1000


def test_a_table_from_pictures(needed, demo_arrays, honest_onnx, leaked_onnx, tmp_path):
    path = tmp_path / "control.npz"
    np.savez(path, images=demo_arrays["control_images"][:150], labels=demo_arrays["control_labels"][:150])
    code, out, err = needed("--model", leaked_onnx, "--reference", honest_onnx, "--control", path)
    assert code == 0, err
    assert "margin less 1 reference" in out
    code, out, _ = needed("--model", leaked_onnx, "--control", path, "--limit", 100)
    assert code == 0
    assert "control of 100" in out
