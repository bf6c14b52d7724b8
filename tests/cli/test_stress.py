"""`heldout stress` as a user meets it: real files, exit codes, one clear sentence."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from heldout import StressResult, stress
from heldout.cli import main


@pytest.fixture
def run(capsys):
    def call(*argv) -> tuple[int, str, str]:
        code = main(["stress", *map(str, argv)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def files(tmp_path, rng):
    prior = rng.dirichlet(np.full(5, 0.5), 400)
    labels = (prior.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1)
    np.save(tmp_path / "labels.npy", labels)
    np.save(tmp_path / "probs.npy", prior.astype(np.float32))
    np.savez(tmp_path / "top.npz", labels=labels, ranks=np.argsort(rng.random((400, 5, 3)), axis=1)[:, :3])
    return tmp_path


def test_numbers(run):
    code, out, err = run("--examples", 2000, "--classes", 2, "--queries", 200, "--trials", 4, "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["forecast"] == pytest.approx(0.6241, abs=1e-4)
    assert answer["accuracy"] == pytest.approx(0.6241, abs=0.03)
    assert "--out DIR" in err
    code, out, _ = run("--examples", 2000, "--classes", 2, "--queries", 200, "--trials", 4)
    assert (code, out) == (0, f"{stress(2000, 2, queries=200, trials=4)}\n")


def test_command_line_and_python_agree(run, files):
    where = files / "out"
    options = ["--top", 2, "--points", 100, "--queries", 60, "--trials", 2, "--digits", 2, "--seed", 5]
    code, out, err = run(
        "--labels", files / "labels.npy", "--prior", files / "probs.npy", *options, "--json", "--out", where
    )
    result = stress(
        labels=np.load(files / "labels.npy"), prior=np.load(files / "probs.npy"), top=2, points=100, queries=60,
        trials=2, digits=2, seed=5, compare=True, source=str(files / "labels.npy"),
        prior_source="probabilities from probs.npy",
    )  # fmt: skip
    assert code == 0
    assert json.loads(out) == json.loads(json.dumps(result.to_dict()))
    assert json.loads((where / "result.json").read_text()) == json.loads(out)
    assert StressResult.load(where) == result
    assert "report.html" in err
    assert f"<title>{result.summary().headline}" in (where / "report.html").read_text()


def test_ranks(run, files):
    code, out, _ = run("--labels", files / "top.npz", "--prior", files / "top.npz", "--classes", 5, "--queries", 20)
    assert code == 0
    assert "the first 3 ranks of 3 models from top.npz" in out


def test_columns_of_a_prior_are_matched_with_the_labels(run, files):
    """By position the same probabilities in another order were another prior, and nobody was told."""
    labels, prior = np.load(files / "labels.npy"), np.load(files / "probs.npy").astype(np.float64)
    names = np.array(["ape", "bee", "cat", "dog", "emu"])
    (files / "labels.csv").write_text("label\n" + "".join(f"{name}\n" for name in names[labels]))

    def table(headings, order):
        rows = [",".join(map(repr, [i, *row])) for i, row in enumerate(prior[:, order].tolist())]
        (files / "prior.csv").write_text("\n".join([",".join(["id", *headings]), *rows]))
        return "--prior", files / "prior.csv", *few

    order = [4, 2, 0, 1, 3]
    np.save(files / "probs.npy", prior)
    few = "--queries", 20, "--trials", 2, "--json"
    plain = json.loads(run("--labels", files / "labels.npy", "--prior", files / "probs.npy", *few)[1])
    for given, headings in (("labels.npy", [str(i) for i in order]), ("labels.csv", names[order])):
        code, out, err = run("--labels", files / given, *table(headings, order))
        assert code == 0, err
        assert json.loads(out)["accuracy"] == plain["accuracy"]
    code, _, err = run("--labels", files / "labels.csv", *table(["fox", *names[1:]], order))
    assert code == 2
    assert "prior.csv: the columns 'fox', 'bee', 'cat' and 2 more are not called as the classes of the labels" in err
    assert run(*table(["fox", *names[1:]], order))[0] == 0  # without labels the order does not matter
    code, out, _ = run("--labels", files / "labels.csv", "--prior", files / "probs.npy", "--queries", 20, "--trials", 2)
    assert code == 0
    assert "which names no classes: they are taken in the order 'ape', 'bee', 'cat'," in " ".join(out.split())


def test_fail_over(run):
    numbers = ["--examples", 500, "--classes", 2, "--queries", 100, "--trials", 3]
    assert run(*numbers, "--fail-over", 0.9)[0] == 0
    code, out, err = run(*numbers, "--fail-over", 0.01)
    assert code == 1
    assert "more than --fail-over 0.01" in err
    assert "Accuracy after" in out


def test_comparisons_are_made_for_a_report_or_when_asked_for(run):
    numbers = ["--examples", 300, "--classes", 3, "--queries", 20, "--trials", 2]
    assert json.loads(run(*numbers, "--json")[1])["by_attack"] == []
    compared = json.loads(run(*numbers, "--json", "--compare")[1])
    assert [r["attack"] for r in compared["by_attack"]] == ["nb", "majority", "plurality", "linear-scan"]


def test_as_a_program(tmp_path):
    """The whole way through a shell, with a report, and stopped by nothing."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "heldout", "stress", "--examples", "1000", "--classes", "10", "--queries",
         "50", "--trials", "2", "--out", str(tmp_path / "out")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Accuracy after" in done.stdout
    assert (tmp_path / "out" / "report.html").is_file()


def test_a_gate_within_noise_of_the_gain(run):
    """Whichever way it decides, another seed could have decided otherwise, and it says so."""
    given = ("--examples", 300, "--classes", 2, "--queries", 30, "--trials", 4, "--no-compare")
    found = stress(300, 2, queries=30, trials=4)
    error = found.std / 2
    for off, code, told in ((-0.5, 1, True), (0.5, 0, True), (-4.0, 1, False), (4.0, 0, False)):
        got, out, err = run(*given, "--fail-over", found.advantage + off * error, "--quiet")
        assert (got, "another seed could decide otherwise. More --trials decide it." in err) == (code, told)
        assert ("heldout: passes, but the gain moves with the seed" in err) == (told and code == 0)
        assert "another seed" not in out
    once = run(*given[:6], "--trials", 1, "--no-compare", "--fail-over", 0.9)
    assert (once[0], "passes, but a single trial does not tell" in once[2]) == (0, True)
