"""`heldout audit --scores` as a user meets it: real files, exit codes, one clear sentence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from heldout import ScoreAuditResult, audit_scores, load_scores
from heldout.cli import main

LOGS = Path(__file__).parents[1] / "predictions" / "data" / "lm_eval"
N = 200


@pytest.fixture
def files(tmp_path):
    """Losses of a model and two references on 200 test and 200 control examples, 30 of which were seen."""
    rng = np.random.default_rng(2)
    hard = rng.normal(size=2 * N)
    losses = {name: np.exp(hard + 0.3 * rng.normal(size=2 * N)) for name in ("model", "ref-a", "ref-b")}
    losses["model"][:30] *= 0.2
    parts = {"": slice(None), "-test": slice(0, N), "-control": slice(N, None)}
    for name, values in losses.items():
        for part, rows in parts.items():
            lines = [f"q{i},{float(values[i])!r},{'ab'[i % 2]}" for i in range(2 * N)[rows]]
            (tmp_path / f"{name}{part}.csv").write_text("id,loss,topic\n" + "\n".join(lines) + "\n")
    (tmp_path / "control.txt").write_text("\n".join(f"q{i}" for i in range(N, 2 * N)) + "\n")
    return tmp_path, losses


@pytest.fixture
def run(capsys, tmp_path):
    def call(*argv) -> tuple[int, str, str]:
        code = main(["audit", *map(str, argv), "--out", str(tmp_path / "out")])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_command_line_and_python_agree(run, files):
    folder, losses = files
    argv = ["--scores", folder / "model-test.csv", "--control-scores", folder / "model-control.csv",
            "--reference-scores", folder / "ref-a.csv", folder / "ref-b.csv", "--json", "--seed", 3]  # fmt: skip
    code, out, err = run(*argv)
    assert code == 0
    answer = json.loads(out)
    pairs = [(losses[name][:N], losses[name][N:]) for name in ("ref-a", "ref-b")]
    direct = audit_scores(losses["model"][:N], losses["model"][N:], references=pairs, kind="loss", seed=3)
    assert answer["p_value"] == direct.p_value
    assert answer["outcome"] == "easier"
    assert answer["references"] == answer["leak"]["references"] == ["ref-a", "ref-b"]
    assert set(answer["digests"]) == {"test", "control", "references"}
    assert set(answer["digests"]["references"]["ref-a"]) == {"test", "control"}
    assert answer["look_seen"][0]["id"] in {f"q{i}" for i in range(N)}
    assert "test set: 200 examples, loss, larger is worse (model-test.csv)" in err
    saved = ScoreAuditResult.load(folder / "out" / "result")
    assert saved.to_dict() == answer
    page = (folder / "out" / "report.html").read_text()
    assert "Easier than the control" in page
    assert answer["look_seen"][0]["id"] in page
    assert "smallest p with this control" in page
    assert "--reference-scores" in page  # the command


@pytest.mark.parametrize(("groups", "alone"), [("^(.*)$", True), ("^(q[0-9]*)[0-9]$", False)])
def test_groups_of_one_are_told(run, files, groups, alone):
    folder, _ = files
    argv = ["--scores", folder / "model.csv", "--control-ids", folder / "control.txt", "--groups", groups]
    code, _, err = run(*argv)
    assert (code, f"the groups {groups!r} are 400 of one example each, and change nothing" in err) == (0, alone)


def test_four_ways_to_the_same_numbers(run, files):
    """Control in a file or picked by ids; references in one file or in two."""
    folder, _ = files
    apart = ["--scores", folder / "model-test.csv", "--control-scores", folder / "model-control.csv"]
    picked = ["--scores", folder / "model.csv", "--control-ids", folder / "control.txt"]
    whole = ["--reference-scores", folder / "ref-a.csv"]
    halves = [
        "--reference-scores",
        folder / "ref-a-test.csv",
        "--reference-control-scores",
        folder / "ref-a-control.csv",
    ]
    p_values = {json.loads(run(*a, *b, "--json")[1])["p_value"] for a in (apart, picked) for b in (whole, halves)}
    assert len(p_values) == 1
    out = run(*picked, *whole)[1]
    assert "differ in nothing but exposure" in out
    assert "differ in nothing but exposure" not in run(*apart, *whole)[1]


def test_fail_under(run, files):
    folder, _ = files
    argv = ["--scores", folder / "model-test.csv", "--control-scores", folder / "model-control.csv",
            "--reference-scores", folder / "ref-a.csv", folder / "ref-b.csv", "--fail-under"]  # fmt: skip
    code, _, err = run(*argv, "0.01")
    assert code == 1
    assert "is below --fail-under 0.01: easier than the control." in err
    honest = [Path(str(part).replace("model-", "ref-a-").replace("ref-a.csv", "model.csv")) for part in argv[:6]]
    assert run(*honest, "--fail-under", "0.0005")[0] == 0
    code, out, err = run(*honest, "--fail-under", "0.999")
    assert out.startswith("No evidence")
    assert (code, "is below --fail-under 0.999." in err) == (1, True)  # and no word of a verdict
    code, _, err = run(*argv, "0.0001")
    assert code == 2
    assert "never be reached" in err
    assert run(*argv, "0.00015")[0] in (0, 1)  # one p-value, not twice the smaller of two


def test_fail_under_within_noise_of_p(run, tmp_path):
    """The verdict's level is far away, but that of the gate is not."""
    rng, argv = np.random.default_rng(0), ["--resamples", "999"]
    for option, shift in (("--scores", 0.1), ("--control-scores", 0.0)):
        path = tmp_path / f"{option.strip('-')}.csv"
        path.write_text("loss\n" + "\n".join(f"{x!r}" for x in np.exp(rng.normal(-shift, 1, 200)).tolist()) + "\n")
        argv += [option, path]
    p = json.loads(run(*argv, "--json")[1])["p_value"]
    assert 0.1 < p < 0.45
    error = (p * (1 - p) / 999) ** 0.5
    for off, code, told in ((-1, 0, True), (1, 1, True), (-3, 0, False), (3, 1, False)):
        got, _, err = run(*argv, "--fail-under", p + off * error)
        assert (got, "another seed could decide otherwise. More --resamples decide it." in err) == (code, told)
        assert ("heldout: passes, but p moves with the seed" in err) == (told and code == 0)
    twice = run(*argv, "--planned-audits", "2", "--fail-under", 2 * p - error)
    assert (twice[0], "passes, but p moves with the seed" in twice[2]) == (0, True)


def test_classes_and_groups(run, files):
    folder, _ = files
    argv = ["--scores", folder / "model-test.csv", "--control-scores", folder / "model-control.csv"]
    code, out, _ = run(*argv, "--classes", "topic", "--groups", "q(.)", "--resamples", "199")
    assert (code, out) == (2, "")  # q20 and q200 are of one group
    groups = folder / "groups.csv"
    groups.write_text("id,group\n" + "".join(f"q{i},g{i // 4}\n" for i in range(2 * N)))
    code, out, _ = run(*argv, "--classes", "topic", "--groups", groups, "--resamples", "199")
    assert code == 0
    assert "topic (2 in both sets)" in out
    assert "in 50 groups" in out


def test_logs_of_several_tasks_are_compared_within_each(run, tmp_path):
    """The harness's own files, longer; strata are the tasks unless told otherwise."""
    for model in ("test", "control"):
        shutil.copytree(LOGS / "example__alpha", tmp_path / model)
        for path in (tmp_path / model).glob("*.jsonl"):
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            first = 0 if model == "test" else 1000
            more = [
                {**row, "doc_id": first + 6 * k + row["doc_id"], "doc": {**row["doc"], "question": f"{first} {k} {i}"}}
                for k in range(4)
                for i, row in enumerate(rows)
            ]
            path.write_text("".join(json.dumps(row) + "\n" for row in more))
    argv = ["--scores", tmp_path / "test", "--control-scores", tmp_path / "control", "--score", ",strict-match"]
    code, out, err = run(*argv, "--resamples", "199", "--json")
    assert code == 0, err
    assert json.loads(out)["strata"] == "task (2 in both sets)"
    test, control = (load_scores(tmp_path / name, score=",strict-match") for name in ("test", "control"))
    assert audit_scores(test, control, n_resamples=199).to_dict() == json.loads(out)  # from Python as well


@pytest.mark.parametrize(("model", "outcome"), [("leaked", "easier"), ("honest", "no evidence")])
def test_example_of_the_readme(run, model, outcome):
    """The files of examples/letters, as tests/independence/test_tiny_language_model.py makes them."""
    folder = Path(__file__).parents[2] / "examples" / "letters"
    references = [folder / "reference-a.csv", folder / "reference-b.csv"]
    argv = [
        "--scores",
        folder / f"{model}.csv",
        "--control-ids",
        folder / "control.txt",
        "--reference-scores",
        *references,
    ]
    code, out, _ = run(*argv, "--json")
    answer = json.loads(out)
    assert (code, answer["outcome"]) == (0, outcome)
    if model == "leaked":
        assert len(answer["look_seen"]) == 51
        assert sum(int(example["id"].removeprefix("item-")) < 100 for example in answer["look_seen"]) == 47


def test_classes_are_those_of_the_model(run, files):
    """References are joined by id: neither classes nor groups are asked of their files, in audits and forecasts."""
    folder, losses = files
    for name in ("ref-a", "ref-b"):
        lines = [f" q{i} ,{value!r}" for i, value in enumerate(losses[name].tolist())]  # blanks are no part of an id
        (folder / f"{name}.csv").write_text("id,loss\n" + "\n".join(lines) + "\n")
    references = ["--reference-scores", folder / "ref-a.csv", folder / "ref-b.csv", "--classes", "topic"]
    argv = ["--scores", folder / "model-test.csv", "--control-scores", folder / "model-control.csv", *references]
    code, out, err = run(*argv, "--resamples", "199", "--json")
    assert code == 0, err
    assert json.loads(out)["strata"] == "topic (2 in both sets)"
    code = main(["audit", "--needed", *map(str, ["--control-scores", folder / "model-control.csv", *references])])
    assert code == 0


def test_ids_with_a_header(run, files):
    folder, _ = files
    argv = ["--scores", folder / "model.csv", "--control-ids", folder / "control.txt", "--resamples", "199", "--json"]
    before = json.loads(run(*argv)[1])
    (folder / "control.txt").write_text("id\n" + (folder / "control.txt").read_text())
    assert json.loads(run(*argv)[1])["p_value"] == before["p_value"]


def test_a_number_in_a_json_file(run, files):
    folder, _ = files
    (folder / "three.json").write_text("3")
    code, _, err = run("--scores", folder / "three.json", "--control-scores", folder / "model-control.csv")
    assert code == 2
    assert "three.json holds neither a list of rows nor an object of arrays" in err


def test_unknown_direction_names_the_column(run, files):
    folder, _ = files
    for path in folder.glob("*.csv"):
        path.write_text(path.read_text().replace("id,loss,", "id,bleu,"))
    argv = ["--scores", folder / "model-test.csv", "--control-scores", folder / "model-control.csv"]
    code, _, err = run(*argv)
    assert code == 2
    assert "larger 'bleu' is better or worse" in err
    assert run(*argv, "--larger-is", "worse", "--resamples", "199")[0] == 0


def test_help_says_what_halves_assume(capsys):
    with pytest.raises(SystemExit):
        main(["audit", "--help-all"])
    assert "halves differ in nothing but exposure" in " ".join(capsys.readouterr().out.split())
