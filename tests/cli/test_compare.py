"""`heldout compare` as a user meets it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from heldout import compare, compare_all, load_predictions
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
    assert answer == json.loads(json.dumps(compare(load_predictions(EXAMPLE), *TWO).to_dict()))
    for key in ("difference", "p_value", "interval", "n_examples", "n_discordant", "detectable_difference", "verdict"):
        assert key in answer
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == answer
    assert answer["better"] in (tmp_path / "out" / "report.html").read_text()
    assert "report:" in err


def test_a_model_whose_name_begins_with_a_dash(run, tmp_path):
    (tmp_path / "t.csv").write_text("id,a>b,-x,c\n" + "".join(f"e{i},{i % 2},1,{i % 3 // 2}\n" for i in range(60)))
    code, out, _ = run("--json", "--", tmp_path / "t.csv", "a>b", "-x")
    assert (code, json.loads(out)["better"]) == (0, "-x")
    assert run("--", tmp_path / "t.csv", "a>b", "-x")[0] == 0


def test_text(run, judged):
    result = compare(load_predictions(judged), "new", "old")
    assert run(judged, "new", "old")[:2] == (0, f"{result}\n")
    assert run(judged, "new", "old", "--format", "markdown")[1] == f"{result.markdown()}\n"


@pytest.mark.parametrize(
    ("options", "key", "value"),
    [
        (("new", "old", "--groups", "repo"), "n_groups", 12),
        (("new", "old", "--groups", "repo", "--largest-group", "9"), "largest_group", 9),
        (("new", "old", "--threshold", "0.5"), "test", "McNemar's exact test"),
        (("--sequential",), "first", "new"),
    ],
)
def test_options(run, judged, options, key, value):
    answer = json.loads(run(judged, *options, "--json")[1])
    assert answer[key] == value
    assert (answer["sequence"] is not None) == ("--sequential" in options)


def test_several_pairs(run):
    code, out, _ = run(EXAMPLE, *TWO, "darc", "--json")
    assert code == 0
    assert json.loads(out)["n_pairs"] == 3
    assert run(EXAMPLE, *TWO, "darc")[1] == f"{compare_all(load_predictions(EXAMPLE), [*TWO, 'darc'])}\n"
    assert json.loads(run(EXAMPLE, "--all-pairs", "--exclude", "[a-r]*", "--json")[1])["adjusted"] == "holm"


def test_fail_under(run):
    assert run(EXAMPLE, *TWO, "--fail-under", "0.01")[0] == 0
    code, _, err = run(EXAMPLE, *TWO[::-1], "--fail-under", "0.01")
    assert code == 1
    assert "vgg_15_BN_64 is worse than shake_drop" in err


def table(path, header, rows):
    with path.open("w", newline="") as f:
        csv.writer(f).writerows([header, *rows])
    return path


def test_several_files(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        table(tmp_path / f"{name}.csv", ["id", name], [(i, rng.integers(0, 2)) for i in range(30)])
    whole = json.loads(run("one.csv", "two.csv", "--json")[1])
    assert (whole["first"], whole["second"], whole["n_examples"]) == ("one", "two", 30)
    assert json.loads(run("one.csv", "two.csv", "two", "one", "--json")[1])["first"] == "two"
    assert json.loads(run("one.csv", "two.csv", "--models", "two", "one", "--json")[1])["first"] == "two"
    code, _, err = run("one.csv", "two.csv", "one")
    assert code == 2
    assert "only 'one' is named" in err
    for folder in TWO:  # models that have the name of a folder here
        (tmp_path / folder).mkdir()
        assert json.loads(run(EXAMPLE, *TWO, "--json")[1])["first"] == TWO[0]


def test_exit_code_says_what_the_verdict_says(run, tmp_path):
    """Sorted rows, first all a, then all b: neither is worse, and it is said that the order matters."""
    rows = [(i, int(i < 100), int(i >= 100)) for i in range(500)]
    path = table(tmp_path / "sorted.csv", ["id", "a", "b"], rows)
    for two in (("a", "b"), ("b", "a")):
        code, out, err = run(path, *two, "--sequential", "--fail-under", "0.05", "--json")
        assert (code, json.loads(out)["outcome"]) == (0, "order matters")
        assert "warning: " in err
    rows = [(i, f"g{i}", int(i % 10 < 7), int(i % 10 >= 7)) for i in range(200)]
    rows += [(i, "big", 0, 1) for i in range(200, 500)]
    path = table(tmp_path / "groups.csv", ["id", "group", "a", "b"], rows)
    code, out, _ = run(path, "a", "b", "--groups", "group", "--sequential", "--fail-under", "0.05", "--json")
    answer = json.loads(out)
    assert (code, answer["verdict"], answer["difference"] > 0) == (0, "first better", True)
    assert run(path, "b", "a", "--groups", "group", "--sequential", "--fail-under", "0.05")[0] == 1
