"""Scores, trials, tasks and several files on the command line: what a user types, and what they are told."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from heldout.cli import main
from heldout.cli.reading import refuse_reading
from heldout.errors import InputError

DATA = Path(__file__).parents[1] / "predictions" / "data"


@pytest.fixture
def run(capsys):
    def call(*argv) -> tuple[int, str, str]:
        code = main(list(map(str, argv)))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def percent(tmp_path):
    """A table of pass@1 in percent, four models, 40 problems."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 0.8, 40) * np.array([1.0, 0.9, 0.8, 0.5])[:, None]
    cells = 10 * rng.binomial(10, p)
    rows = "".join(f"q{i},{'easy' if i % 2 else 'hard'},{','.join(map(str, cells[:, i]))}\n" for i in range(40))
    path = tmp_path / "pass.csv"
    path.write_text(f"question_id,task,a,b,c,d\n{rows}")
    return path


def test_models_that_may_be_examples_are_warned_of_until_it_is_said(run, tmp_path):
    rows = np.random.default_rng(0).integers(0, 2, size=(3, 12))
    (tmp_path / "many.csv").write_text(
        "\n".join(
            [
                ",".join(["id", *(f"m{j}" for j in range(12))]),
                *(f"x{i},{','.join(map(str, r))}" for i, r in enumerate(rows)),
            ]
        )
    )
    assert "if it is the other way round, say so with --models-axis 1" in run("budget", tmp_path / "many.csv")[2]
    code, _, err = run("budget", tmp_path / "many.csv", "--models-axis", 1)
    assert (code, "the other way round" in err) == (0, False)


def test_scores(run, percent, tmp_path):
    code, _, err = run("budget", percent)
    assert code == 2
    assert "--scale percent" in err
    code, out, _ = run("budget", percent, "--scale", "percent", "--out", tmp_path / "out")
    assert code == 0
    assert "Error bar for the 4 models" in out
    assert "All 2 tasks pooled: every example counts once" in out
    assert (tmp_path / "out" / "report.html").exists()
    code, out, _ = run("budget", percent, "--scale", "percent", "--json", "--epsilon", "0.1")
    answer = json.loads(out)
    assert (answer["kind"], answer["target"]["epsilon"], len(answer["models"])) == ("scores", 0.1, 4)
    code, out, _ = run("budget", percent, "--scale", "percent", "--needed")
    assert code == 0
    assert "Gap that can be told now" in out
    assert run("budget", percent, "--scale", "percent", "--epsilon", "0.01", "--fail-under", 1)[0] == 1


def test_threshold(run, percent):
    code, out, _ = run("budget", percent, "--scale", "percent", "--threshold", "0.5", "--json")
    assert code == 0
    assert "mean_similarity" in json.loads(out)
    code, _, err = run("budget", percent, "--scale", "percent", "--threshold", "1.5")
    assert code == 2
    assert "--threshold is 1.5" in err
    code, _, err = run("budget", DATA / "swe_bench", "--threshold", "0.5")
    assert code == 2
    assert "holds right and wrong already" in err


def test_per_task(run, percent, tmp_path):
    code, out, _ = run("budget", percent, "--scale", "percent", "--per-task", "--json", "--out", tmp_path / "out")
    answer = json.loads(out)
    assert code == 0
    assert set(answer["tasks"]) == {"easy", "hard"}
    assert [part["n_examples"] for part in answer["tasks"].values()] == [20, 20]
    assert answer["pooled"]["n_examples"] == 40
    assert "every example counts once" in answer["pooled"]["pooling"]
    assert (tmp_path / "out" / "easy" / "report.html").exists()
    code, out, _ = run("budget", percent, "--scale", "percent", "--per-task", "--task", "easy")
    assert code == 0
    assert "== easy ==" in out
    assert "== hard ==" not in out
    code, _, err = run("budget", percent, "--scale", "percent", "--task", "medium")
    assert code == 2
    assert "it has 'hard', 'easy'" in err
    assert run("budget", "--per-task", "--examples", 100, "--error", 0.2, "--similarity", 0.9)[0] == 2


def test_per_task_names_do_not_clash_and_one_task_may_have_one_model(run, tmp_path):
    """t/1 and t_1 are two folders; a task that only one model ran says so, and the others have their budgets."""
    rng = np.random.default_rng(3)
    rows = "".join(
        f"{task}-{i},{task},{rng.integers(2)},{'' if task == 'alone' else rng.integers(2)}\n"
        for task in ("t/1", "t_1", "alone")
        for i in range(12)
    )
    (tmp_path / "x.csv").write_text(f"id,task,a,b\n{rows}")
    code, out, err = run("budget", tmp_path / "x.csv", "--per-task", "--json", "--out", tmp_path / "out")
    assert code == 0
    tasks = json.loads(out)["tasks"]
    assert "only one model" in tasks["alone"]["error"]
    assert "warning: alone: there is only one model" in err
    folders = sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_dir())
    assert folders == ["t_1", "t_1-2"]
    saved = [json.loads((tmp_path / "out" / name / "result.json").read_text()) for name in folders]
    assert saved == [tasks["t/1"], tasks["t_1"]]
    assert "No budget: there is only one model" in run("budget", tmp_path / "x.csv", "--per-task")[1]
    code, out, _ = run("budget", tmp_path / "x.csv", "--per-task", "--format", "junit")
    suite = ElementTree.fromstring(out.split("\n", 1)[1]).find("testsuite")
    assert suite.get("tests") == str(len(suite.findall("testcase"))) != "1"
    assert [case.find("skipped") is not None for case in suite].count(True) == int(suite.get("skipped")) == 1
    assert "only one model" in suite.find("testcase/skipped").get("message")


def test_a_saved_result_is_not_taken_for_predictions(run, tmp_path):
    run("budget", "--examples", 1000, "--error", 0.2, "--similarity", 0.9, "--out", tmp_path / "b")
    for name in ("result.json", "result.npz"):
        assert f"{name} is a saved result of heldout" in run("budget", tmp_path / "b" / name)[2]


def test_several_files_and_trials(run, tmp_path):
    rng = np.random.default_rng(1)
    for name in ("one", "two"):
        rows = "".join(f"{i},{rng.integers(2)},{rng.integers(2)}\n" for i in range(50))
        (tmp_path / f"{name}.csv").write_text(f"id,a,b\n{rows}")
    files = tmp_path / "one.csv", tmp_path / "two.csv"
    code, _, err = run("budget", *files)
    assert code == 2
    assert "in more than one file with different predictions" in err
    code, out, err = run("budget", *files, "--repeats", "trials")
    assert code == 0
    assert "2 trials each" in err
    assert "Trials shorten error bars by" in out
    code, _, err = run("budget", files[0], files[0])
    assert code == 0
    assert "2 models, 50 examples" in err


def test_trials_that_agree_are_told(run, tmp_path):
    rng = np.random.default_rng(1)
    marks = rng.integers(0, 2, (50, 2))
    (tmp_path / "x.csv").write_text(
        "id,a,b\n" + "".join(f"{i},{3 * a}/3,{3 * b}/3\n" for i, (a, b) in enumerate(marks))
    )
    code, out, _ = run("budget", tmp_path / "x.csv")
    assert code == 0
    assert "more trials would bring nothing" in out


def test_models_and_examples_taken_for_each_other(run, tmp_path):
    rng = np.random.default_rng(0)
    board = {f"task {i}": {name: int(rng.integers(2)) for name in "abc"} for i in range(30)}
    (tmp_path / "x.json").write_text(json.dumps(board))
    code, _, err = run("budget", tmp_path / "x.json")
    assert "warning: x.json has 30 models and 3 examples; if it is the other way round" in err
    code, _, err = run("budget", tmp_path / "x.json", "--models-axis", 1)
    assert code == 0
    assert "warning" not in err


def test_texts_of_logs_in_lists(run):
    """They were digests."""
    code, out, _ = run("compare", DATA / "lm_eval", "example__alpha", "example__beta", "--metric", ",strict-match")
    assert code == 0
    assert "What is 2 + 3?" in out or "What is 4 + 4?" in out or "What is 9 - 2?" in out
    assert not re.search(r"[0-9a-f]{16}", out)


def test_list_of_all_tasks(run, tmp_path):
    solved = {"a": ["t1", "t2"], "b": ["t2"]}
    (tmp_path / "solved.json").write_text(json.dumps(solved))
    code, _, err = run("budget", tmp_path / "solved.json")
    assert code == 2
    assert "with --all-ids (one id per line" in err
    (tmp_path / "all.txt").write_text("".join(f"t{i}\n" for i in range(30)))
    code, out, _ = run("budget", tmp_path / "solved.json", "--all-ids", tmp_path / "all.txt", "--json")
    assert code == 0
    assert [row["error"] for row in json.loads(out)["models"]] == pytest.approx([28 / 30, 29 / 30])


class TestStress:
    """Labels and priors from tables."""

    @pytest.fixture
    def files(self, tmp_path):
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 3, 200)
        cells = np.where(rng.random((4, 200)) < 0.7, labels, rng.integers(0, 3, (4, 200)))
        names = np.array(["ant", "bee", "cat"])
        head = "id,label,m1,m2,m3,m4\n"
        rows = [f"{i},{names[labels[i]]},{','.join(names[cells[:, i]])}\n" for i in range(200)]
        (tmp_path / "names.csv").write_text(head + "".join(rows))
        votes = rng.multinomial(9, [0.5, 0.3, 0.2], 200)
        text = "".join(f"{i},{','.join(map(str, v))}\n" for i, v in enumerate(votes))
        (tmp_path / "votes.csv").write_text("id,bee,ant,cat\n" + text)
        np.save(tmp_path / "labels.npy", labels)
        np.save(tmp_path / "cells.npy", cells)
        np.save(tmp_path / "votes.npy", votes[:, [1, 0, 2]])
        np.save(tmp_path / "shares.npy", np.array([0.5, 0.3, 0.2]))
        np.save(tmp_path / "counts.npy", np.array([50, 30, 20]))
        return tmp_path

    def answer(self, run, *argv) -> dict:
        code, out, err = run("stress", *argv, "--queries", 30, "--trials", 2, "--json")
        assert code == 0, err
        found = json.loads(out)
        return {key: found[key] for key in ("accuracy", "n_examples", "n_classes", "data_digest") if key in found}

    def test_labels_and_prior_of_one_table(self, run, files):
        table = self.answer(run, "--labels", files / "names.csv", "--prior", files / "names.csv")
        arrays = self.answer(run, "--labels", files / "labels.npy", "--prior", files / "cells.npy")
        assert table == arrays
        np.save(files / "turned.npy", np.load(files / "cells.npy").T)
        turned = self.answer(run, "--labels", files / "labels.npy", "--prior", files / "turned.npy", "--models-axis", 1)
        assert turned == arrays

    def test_counts(self, run, files):
        table = ["--labels", files / "names.csv", "--prior", files / "votes.csv", "--prior-kind", "counts"]
        arrays = ["--labels", files / "labels.npy", "--prior", files / "votes.npy", "--prior-kind", "counts"]
        assert self.answer(run, *table) == self.answer(run, *arrays)  # columns in the order of the classes

    def test_rows_are_matched_by_ids(self, run, files):
        """The same prior in another order gave another answer."""
        head, *rows = (files / "votes.csv").read_text().splitlines()
        (files / "turned.csv").write_text("\n".join([head, *reversed(rows)]))
        known = ["--labels", files / "names.csv", "--prior-kind", "counts", "--prior"]
        assert self.answer(run, *known, files / "turned.csv") == self.answer(run, *known, files / "votes.csv")
        head, *rows = (files / "names.csv").read_text().splitlines()
        (files / "turned.csv").write_text("\n".join([head, *reversed(rows)]))
        mixed = ["--labels", files / "names.csv", "--prior", files / "turned.csv"]
        assert self.answer(run, *mixed) == self.answer(run, *mixed[:3], files / "names.csv")
        votes = np.load(files / "votes.npy")
        np.savez(files / "a.npz", counts=votes[::-1], ids=np.arange(200)[::-1])
        assert self.answer(run, *known, files / "a.npz") == self.answer(run, *known, files / "votes.csv")
        (files / "few.csv").write_text("\n".join([head, *rows[:150]]))
        code, _, err = run("stress", *mixed[:3], files / "few.csv", "--queries", 5)
        assert code == 2
        assert "other examples than the labels: 150 and 200, 150 in common" in err

    def test_counts_without_being_told(self, run, files):
        table = ["--labels", files / "names.csv", "--prior", files / "votes.csv"]
        assert self.answer(run, *table) == self.answer(run, *table, "--prior-kind", "counts")
        (files / "votes.csv").write_text((files / "votes.csv").read_text().replace("bee,ant,cat", "x,y,z"))
        code, _, err = run("stress", *table, "--queries", 5)
        assert code == 2
        assert "say --prior-kind counts if these are counts" in err
        assert "--scale" not in err

    def test_classes_of_a_prior_that_are_said(self, run, files):
        table = ["--labels", files / "names.csv", "--prior-kind", "counts", "--prior", files / "votes.csv"]
        known = self.answer(run, *table)
        (files / "votes.csv").write_text((files / "votes.csv").read_text().replace("bee,ant,cat", "p1,p2,p3"))
        assert self.answer(run, *table) != known
        assert self.answer(run, *table, "--prior-classes", 'bee, ant,"cat"') == known
        numbers = ["--labels", files / "labels.npy", *table[2:], "--prior-classes", "1,0,2"]
        assert self.answer(run, *numbers) == known

    def test_folders(self, run, files):
        assert self.answer(run, "--labels", DATA / "lm_eval", "--classes", 13)["n_examples"] == 12
        assert self.answer(run, "--labels", DATA / "inspect" / "json", "--classes", 9)["n_examples"] == 3
        parts = files / "parts"
        parts.mkdir()
        head, *rows = (files / "names.csv").read_text().splitlines()
        for name, some in (("a", rows[:120]), ("b", rows[100:])):
            (parts / f"{name}.csv").write_text("\n".join([head, *some]))
        assert self.answer(run, "--labels", parts) == self.answer(run, "--labels", files / "names.csv")
        (parts / "b.csv").write_text(f"{head}\n{rows[0].replace(rows[0].split(',')[1], 'dog', 1)}\n")
        code, _, err = run("stress", "--labels", parts, "--queries", 5)
        assert code == 2
        assert "the example '0' has the label 'dog'" in err

    def test_class_probabilities(self, run, files):
        shares = self.answer(run, "--labels", files / "labels.npy", "--prior", files / "shares.npy")
        counts = self.answer(
            run, "--labels", files / "labels.npy", "--prior", files / "counts.npy", "--prior-kind", "counts"
        )
        assert shares == counts
        code, _, err = run("stress", "--prior", files / "shares.npy", "--queries", 5)
        assert code == 2
        assert "give --examples" in err

    def test_targets_of_logs(self, run, files):
        path = DATA / "inspect" / "eval" / "alpha.eval"
        assert self.answer(run, "--labels", path, "--classes", 9)["n_examples"] == 3
        path = next((DATA / "lm_eval" / "example__alpha").glob("*choice*"))
        assert self.answer(run, "--labels", path)["n_examples"] == 6


def test_options_of_files_without_a_file():
    args = argparse.Namespace(typed=frozenset({"seed"}))
    refuse_reading(args)
    args.typed = frozenset({"metric", "exclude"})
    with pytest.raises(InputError, match=r"--metric, --exclude have no effect on numbers, .*; leave them out"):
        refuse_reading(args)
