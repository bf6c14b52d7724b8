"""`heldout budget` as a user meets it: real files, exit codes, one clear sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from heldout import BudgetResult, Predictions, budget, load_predictions
from heldout.cli import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "cifar10_predictions.npz"
FOUR = ["--examples", "50000", "--error", "0.244", "--similarity", "0.85", "--epsilon", "0.01", "--delta", "0.05"]


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    """Eight of these models on the first 1,500 pictures: the same answers in a third of the time."""
    path = tmp_path_factory.mktemp("small") / "predictions.npz"
    with np.load(EXAMPLE) as data:
        np.savez(path, models=data["models"][:8], labels=data["labels"][:1500], preds=data["preds"][:8, :1500])
    return path


@pytest.fixture
def run(capsys):
    def call(*argv) -> tuple[int, str, str]:
        code = main(["budget", *map(str, argv)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_four_numbers(run):
    code, out, _ = run(*FOUR, "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["testable_models"]["union"] == 251_165
    assert answer["testable_models"]["similarity"] == pytest.approx(1_062_137, abs=1)
    assert answer["testable_models"]["naive_bayes"] == pytest.approx(1.2896e8, rel=1e-3)
    assert answer["plug_in"] is True
    code, out, _ = run(*FOUR)
    assert code == 0
    assert "1,062,137" in out
    assert "plugged in" in out


def test_command_line_and_python_agree(run, small, tmp_path):
    code, out, err = run(small, "--exclude", "alexnet*", "--epsilon", "0.03", "--json", "--out", tmp_path / "out")
    result = budget(load_predictions(small, exclude=["alexnet*"]), epsilon=0.03)
    assert code == 0
    assert json.loads(out) == json.loads(json.dumps(result.to_dict()))
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == json.loads(out)
    assert BudgetResult.load(tmp_path / "out" / "result").to_dict() == result.to_dict()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "densenet_BC_100_12" in page
    assert f"report: {tmp_path / 'out' / 'report.html'}" in err
    assert "7 models, 1,500 examples" in err


@pytest.mark.parametrize("scores", [True, False])
def test_the_gate_fails_where_examples_are_too_few(run, tmp_path, scores):
    """An error bar of ±0.6 holds for 5 × 10^17 models, of which none could be told from another."""
    (tmp_path / "tiny.csv").write_text("id,A,B\nx,0.5,0.6\ny,0.5,0.6\n" if scores else "id,A,B\nx,1,0\ny,0,1\nz,1,1\n")
    code, out, err = run(tmp_path / "tiny.csv", "--fail-under", 1)
    assert (code, out.split(".")[0]) == (1, "Too few examples to say anything")
    assert "0 further models fit, fewer than --fail-under 1" in err
    assert run(tmp_path / "tiny.csv", "--fail-under", 1, "--epsilon", 0.4)[0] == 1
    for wide in ([EXAMPLE], ["--examples", 5000, "--error", "0.2", "--similarity", "0.9"]):
        code, out, err = run(*wide, "--fail-under", 1_000_000, "--epsilon", "0.6")
        assert (code, out) == (2, "")
        assert "--epsilon is 0.6; an error bar of ±0.5 or wider says nothing" in err


def test_fail_under(run, small):
    further = budget(load_predictions(small)).further_models
    assert run(small, "--fail-under", further)[0] == 0
    code, _, err = run(small, "--fail-under", further + 1)
    assert code == 1
    assert f"{further:,} further models fit, fewer than --fail-under {further + 1}" in err
    assert "name one" in err  # --epsilon
    assert "name one" not in run(small, "--fail-under", further, "--epsilon", "0.03")[2]
    assert run(small, "--fail-under", 0)[0] == 2
    alone = run("--examples", 5000, "--error", "0.2", "--similarity", "0.9", "--fail-under", 1, "--needed")
    assert alone[1].startswith("From numbers: 5,000 examples, error 20 % and similarity 0.9")
    assert "follows what else is given; name one" in alone[2]  # there are no models to follow


def test_needed(run, small):
    """Only the answer; with --json everything, and the gap that was asked for."""
    code, out, _ = run(small, "--needed", "--epsilon", "0.005", "--gap", "0.02")
    assert code == 0
    assert "Examples for ±0.5 points" in out
    assert "Examples for a gap of 2 points" in out
    assert "eaderboard" not in out
    code, full, _ = run(small, "--needed", "--epsilon", "0.005", "--gap", "0.02", "--json")
    needed = json.loads(full)["needed"]
    assert (code, needed["epsilon"], needed["gap"]) == (0, 0.005, 0.02)
    assert f"{needed['examples_for_epsilon']:,}" in out
    assert f"{needed['examples_for_gap']:,}" in out
    code, out, _ = run(*FOUR, "--needed")
    assert code == 0
    assert "one such model" in out
    assert run(small, "--gap", "0")[0] == 2
    assert run(small, "--seed", "-1")[0] == 2


def test_keys_and_orientation(run, small, tmp_path):
    with np.load(small) as data:
        np.savez(tmp_path / "turned.npz", who=data["models"], y_val=data["labels"], p_val=data["preds"].T)
    code, out, _ = run(
        tmp_path / "turned.npz", "--names-key", "who", "--labels-key", "y_val", "--predictions-key", "p_val", "--json"
    )
    assert code == 0
    answer, usual = json.loads(out), json.loads(run(small, "--json")[1])
    assert answer["models"] == usual["models"]
    assert answer["data_digest"] == usual["data_digest"]


def test_less_alike_than_chance_gives_the_union_bound_and_says_why(run):
    code, out, err = run("--examples", 50000, "--error", 0.244, "--similarity", 0.55, "--json")
    assert code == 2
    assert json.loads(out)["testable_models"] == {"union": 251_165, "similarity": None, "naive_bayes": None}
    assert "only the union bound applies" in err


def test_a_reader_who_has_seen_enough(tmp_path):
    """`heldout budget ... | head -1` is no bug of anybody's."""
    argv = [sys.executable, "-m", "heldout", "budget", *FOUR, "--json"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        err = process.stderr.read().decode()
    assert process.returncode == 141  # as of any program that ends by SIGPIPE
    assert "Traceback" not in err
    assert "Exception" not in err


def test_results_on_stdout_only(small):
    argv = [sys.executable, "-m", "heldout", "budget", str(small), "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["n_models"] == 8
    assert "8 models, 1,500 examples" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_sentence(tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "heldout", "budget", *FOUR], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def repositories(tmp_path):
    """240 issues of 40 repositories, 70 % alike, four models: a table with a column `repo`."""
    rng = np.random.default_rng(7)
    codes = np.repeat(np.arange(40), 6)
    alike = rng.random(240) < 0.7
    right = np.where(alike, (rng.random((4, 40)) < 0.6)[:, codes], rng.random((4, 240)) < 0.6).astype(int)
    rows = [f"repo{c}__{i},repo{c},{','.join(map(str, right[:, i]))}" for i, c in enumerate(codes.tolist())]
    path = tmp_path / "issues.csv"
    path.write_text("\n".join(["id,repo,a,b,c,d", *rows]) + "\n")
    (tmp_path / "groups.csv").write_text(
        "\n".join(["id,group", *(f"repo{c}__{i},{c}" for i, c in enumerate(codes.tolist()))])
    )
    return path, codes, right


def test_groups_three_ways(run, repositories, tmp_path):
    path, codes, right = repositories
    expected = budget(Predictions.from_correct(right, names=list("abcd")), epsilon=0.2, groups=codes)
    answers = []
    for spec in ("repo", tmp_path / "groups.csv", "^(.*)__"):
        source = path
        if spec != "repo":  # a table without the column
            lines = [line.split(",") for line in path.read_text().splitlines()]
            source = tmp_path / "without.csv"
            source.write_text("\n".join(",".join([first, *rest[1:]]) for first, *rest in lines))
        code, out, _ = run(source, "--groups", spec, "--epsilon", "0.2", "--json")
        assert code == 0
        answers.append(json.loads(out))
        assert answers[-1]["example_groups"].pop("from") == str(spec)
    for answer in answers:
        assert answer["example_groups"] == answers[0]["example_groups"]
        assert [m["low"] for m in answer["models"]] == pytest.approx([m["low"] for m in expected.pool.models])
        assert answer["epsilon"]["union"] == pytest.approx(expected.pool.epsilon["union"])
    plain = json.loads(run(tmp_path / "without.csv", "--epsilon", "0.2", "--json")[1])
    assert plain["epsilon"]["union"] < answers[0]["epsilon"]["union"]


def test_groups_in_words_and_in_the_report(run, repositories, tmp_path):
    path, _, _ = repositories
    code, out, _ = run(path, "--groups", "repo", "--epsilon", "0.2", "--out", tmp_path / "out")
    assert code == 0
    assert "40 of 6 examples (repo)" in out
    assert "for independent groups" in " ".join(out.split())
    assert "40 of 6 examples" in (tmp_path / "out" / "report.html").read_text()
    assert BudgetResult.load(tmp_path / "out" / "result").pool.example_groups.n_groups == 40


def test_the_error_bar_and_the_count_agree(run):
    """At ±0.0096, the union bound's own error bar, it said that 29 of the 30 fit."""
    code, out, _ = run(EXAMPLE, "--epsilon", "0.0096", "--fail-under", "1")
    assert code == 0
    assert "can measure 34 models of this kind" in out
    assert "Error bar for the 30 models" in out
    assert "±0.940 points with probability 95 %" in out


def test_wrong_labels(run, tmp_path):
    with np.load(EXAMPLE) as data:
        np.save(tmp_path / "second.npy", data["labels"][::-1])
    code, out, _ = run(EXAMPLE, "--label-noise", "0.01", "--second-labels", tmp_path / "second.npy", "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["label_noise"]["n_classes"] == 10
    assert answer["label_noise"]["factor"] == pytest.approx(1 - 0.01 * 10 / 9)
    assert answer["second_labels"]["n_examples"] == 10_000
    assert answer["adjusted_similarity"]["right"] == pytest.approx(0.4061, abs=1e-4)
    assert run(EXAMPLE, "--label-noise", "0.95")[0] == 2
    assert "only on a file of predictions" in run(*FOUR, "--label-noise", "0.01")[2]
