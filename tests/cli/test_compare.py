"""`heldout compare` as a user meets it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from heldout import Predictions, compare
from heldout.cli import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "cifar10_predictions.npz"
TWO = ("shake_drop", "vgg_15_BN_64")


@pytest.fixture
def run(capsys):
    def call(*argv) -> tuple[int, str, str]:
        code = main(["compare", *map(str, argv)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def judged(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "judged.csv"
    with path.open("w", newline="") as f:
        rows = csv.writer(f)
        rows.writerow(["id", "repo", "question", "new", "old"])
        for i in range(60):
            rows.writerow([f"q{i}", f"r{i % 12}", f"what is {i}?", rng.integers(2, 5) / 4, rng.integers(0, 4) / 4])
    return path


def test_command_line_and_python_agree(run, tmp_path):
    code, out, err = run(EXAMPLE, *TWO, "--json", "--out", tmp_path / "out")
    assert code == 0
    answer = json.loads(out)
    assert answer == json.loads(json.dumps(compare(Predictions.load(EXAMPLE), *TWO).to_dict()))
    for key in ("difference", "p_value", "interval", "n_examples", "n_discordant", "detectable_difference", "verdict"):
        assert key in answer
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == answer
    assert "shake_drop is better" in (tmp_path / "out" / "report.html").read_text()
    assert "report:" in err


def test_text(run, judged):
    code, out, _ = run(judged, "new", "old")
    assert code == 0
    assert "new is better at level 0.05" in out
    assert "what is" in out
    assert "swapped" in out
    assert "12 groups" in run(judged, "new", "old", "--groups", "repo")[1]
    assert "McNemar" in run(judged, "new", "old", "--threshold", "0.5")[1]
    assert "every look" in run(judged, "--sequential")[1]


def test_several_pairs(run):
    code, out, _ = run(EXAMPLE, *TWO, "darc", "--json")
    assert code == 0
    assert json.loads(out)["n_pairs"] == 3
    assert "family-wise (Holm)" in run(EXAMPLE, *TWO, "darc")[1]
    assert json.loads(run(EXAMPLE, "--all-pairs", "--exclude", "[a-r]*", "--json")[1])["adjusted"] == "holm"


def test_fail_under(run):
    assert run(EXAMPLE, *TWO, "--fail-under", "0.01")[0] == 0
    code, _, err = run(EXAMPLE, *TWO[::-1], "--fail-under", "0.01")
    assert code == 1
    assert "vgg_15_BN_64 is worse than shake_drop" in err


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        ((EXAMPLE, "shake_drop"), "only 'shake_drop' is named"),
        ((EXAMPLE, "shake_drop", "nobody"), "no model 'nobody'"),
        ((EXAMPLE,), "has 30 models; name two of them"),
        ((EXAMPLE, *TWO, "--all-pairs"), "leave out either"),
        ((EXAMPLE, *TWO, "--fail-under", "2"), "between 0 and 1"),
        ((EXAMPLE, *TWO, "--level", "0"), "`level` is 0"),
        ((EXAMPLE, *TWO, "--groups", "repo"), "no column 'repo'"),
        (("nowhere.csv", "a", "b"), "does not exist"),
    ],
)
def test_bad_input(run, argv, sentence):
    code, _, err = run(*argv)
    assert code == 2
    assert sentence in err
