"""Every layout gives the table of the plain CSV with the same numbers; what cannot be told is asked for."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.predictions import Predictions, formats, load, load_predictions
from heldout.predictions.raw import read_json_file

DATA = Path(__file__).parent / "data"
TASKS = [
    "astropy__astropy-12907",
    "django__django-11099",
    "django__django-11119",
    "flask__flask-5014",
    "sympy__sympy-20590",
]
SOLVED = {"alpha": [TASKS[0], TASKS[1], TASKS[4]], "beta": [TASKS[1], TASKS[2]]}
PLAIN = {
    "swe_bench": f"""id,alpha.demo,beta.demo
{TASKS[0]},1,0
{TASKS[1]},1,1
{TASKS[2]},0,1
{TASKS[3]},0,0
{TASKS[4]},1,0
""",
    "terminal_bench": """id,terminus (example/alpha),terminus (example/beta)
hello-world,3/3,2/3
fix-git,2/3,1/3
broken-python,0/3,0/3
""",
    "livecodebench": """id,Alpha-7B,Beta-7B
1873_A,5/5,4/5
2727,3/5,5/5
abc301_a,1/5,0/5
2879,0/5,0/5
""",
    "helm": """id,example/alpha,example/beta
mmlu:subject=anatomy/id0,1,0
mmlu:subject=anatomy/id1,0,0
mmlu:subject=anatomy/id2,1,1
mmlu:subject=virology/id0,1,1
mmlu:subject=virology/id1,1,0
""",
    "inspect/trials": """id,mockllm/alpha,mockllm/beta
sums/sum-0,2/2,1/2
sums/sum-1,1/2,0/2
sums/sum-2,1/2,2/2
""",
}


def same(table: Predictions, plain: Predictions) -> None:
    assert (table.ids, table.names, table.digest()) == (plain.ids, plain.names, plain.digest())
    if plain.within is not None:
        np.testing.assert_allclose(table.within, plain.within)


def from_text(tmp_path: Path, text: str, name: str = "plain.csv", **options) -> Predictions:
    (tmp_path / name).write_text(text)
    return load_predictions(tmp_path / name, **options)


@pytest.mark.parametrize("name", PLAIN)
def test_files_of_harnesses(tmp_path, name):
    plain = from_text(tmp_path, PLAIN[name])
    same(load_predictions(DATA / name), plain)
    files = sorted(p for p in (DATA / name).rglob("*") if p.name.endswith((".eval", ".json")))
    files = [p for p in files if p.name not in ("run_spec.json", "run_metadata.json", "performances_generation.json")]
    same(load_predictions(files), plain)  # as several arguments
    one = load_predictions(files[0])
    whole = plain.select(one.names)
    place = [whole.ids.index(example) for example in one.ids]
    assert one.scores.tolist() == whole.scores[:, place].tolist()


def test_livecodebench_leaderboard_is_in_percent(tmp_path):
    path = DATA / "livecodebench" / "performances_generation.json"
    table = load_predictions(path)
    plain = from_text(tmp_path, PLAIN["livecodebench"])
    assert table.scores.tolist() == plain.scores.tolist()
    assert table.columns["difficulty"].tolist() == ["easy", "easy", "medium", "hard"]
    content = json.loads(path.read_text())
    for row in content["performances"]:
        row["pass@1"] /= 100
    (tmp_path / "board.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="in percent in files of this kind, but none is above 1"):
        load_predictions(tmp_path / "board.json")
    same(load_predictions(tmp_path / "board.json", scale=1), table)


class TestSolvedOnly:
    """results.json of the SWE-bench leaderboard names the solved tasks only."""

    @pytest.fixture
    def board(self, tmp_path):
        for model, solved in SOLVED.items():
            home = tmp_path / "verified" / f"{model}.demo" / "results"
            home.mkdir(parents=True)
            content = {"no_generation": [], "no_logs": [TASKS[3]], "resolved": solved}
            (home / "results.json").write_text(json.dumps(content))
        return tmp_path / "verified"

    def test_asked_for(self, board):
        with pytest.raises(InputError, match=r"lists only the tasks that 'alpha.demo' solved; give .*`all_ids"):
            load_predictions(board)
        report = json.loads((DATA / "swe_bench" / "alpha.demo.json").read_text())
        del report["unresolved_ids"], report["submitted_ids"], report["completed_ids"]
        (board / "cut.json").write_text(json.dumps(report))
        with pytest.raises(InputError, match=r"cut.json names 3 of its 5 tasks; give the list of all"):
            load_predictions(board / "cut.json")

    @pytest.mark.parametrize("suffix", [".txt", ".json", ".csv", ".jsonl", ".txt.gz"])
    def test_given(self, board, tmp_path, suffix):
        texts = {
            ".txt": "\n".join(TASKS) + "\n",
            ".json": json.dumps(TASKS),
            ".csv": "repo,instance_id\n" + "".join(f"x,{task}\n" for task in TASKS),
            ".jsonl": "".join(json.dumps({"instance_id": task}) + "\n" for task in TASKS),
        }
        path = tmp_path / f"all{suffix}"
        if suffix == ".txt.gz":
            path.write_bytes(gzip.compress(texts[".txt"].encode()))
        else:
            path.write_text(texts[suffix])
        plain = from_text(tmp_path, PLAIN["swe_bench"])
        same(load_predictions(board, all_ids=path), plain)
        same(load_predictions(board, all_ids=TASKS), plain)
        lists = {f"{model}.demo": solved for model, solved in SOLVED.items()}
        (tmp_path / "lists.json").write_text(json.dumps(lists))
        same(load_predictions(tmp_path / "lists.json", all_ids=path), plain)

    def test_of_another_split(self, board, tmp_path):
        with pytest.raises(
            InputError, match=r"'alpha.demo' solved 'sympy__sympy-20590', which is not among the 4 tasks"
        ):
            load_predictions(board, all_ids=TASKS[:4])
        (tmp_path / "all.txt").write_text("a\na\n")
        with pytest.raises(InputError, match="lists 'a' more than once"):
            load_predictions(board, all_ids=tmp_path / "all.txt")


SCORES = {"a": {"x": 1, "y": 0.25, "z": 0}, "b": {"x": 0, "y": 1, "z": 0.5}}
TABLE = "id,a,b\nx,1,0\ny,0.25,1\nz,0,0.5\n"
COUNTED = "id,a,b\nx,2/2,0/2\ny,1/2,2/2\nz,0/2,1/2\n"


class TestPlainLayouts:
    def test_dictionaries(self, tmp_path):
        plain = from_text(tmp_path, TABLE)
        same(from_text(tmp_path, json.dumps(SCORES), "x.json"), plain)
        turned = {task: {model: SCORES[model][task] for model in SCORES} for task in "xyz"}
        same(from_text(tmp_path, json.dumps(turned), "x.json", models_axis=1), plain)
        objects = {
            model: {task: {"score": v, "cost": 3} for task, v in inner.items()} for model, inner in SCORES.items()
        }
        same(from_text(tmp_path, json.dumps(objects), "x.json"), plain)
        for model in SCORES:
            (tmp_path / f"{model}.json").write_text(json.dumps(SCORES[model]))
        same(load_predictions([tmp_path / "a.json", tmp_path / "b.json"]), plain)
        lists = {"a": {"x": [1, 1], "y": [True, False], "z": "0/2"}, "b": {"x": [0, 0], "y": "2/2", "z": [0, 1]}}
        same(from_text(tmp_path, json.dumps(lists), "x.json"), from_text(tmp_path, COUNTED))

    def test_one_row_per_model(self, tmp_path):
        plain = from_text(tmp_path, TABLE)
        rows = "model,organization,x,y,z\na,lab,1,0.25,0\nb,lab,0,1,0.5\n"
        with pytest.raises(InputError, match="organization"):
            from_text(tmp_path, rows)
        same(from_text(tmp_path, rows, exclude="organization"), plain)
        same(from_text(tmp_path, "model,x,y,z\na,1,0.25,0\nb,0,1,0.5\n"), plain)
        same(from_text(tmp_path, "who,x,y,z\na,1,0.25,0\nb,0,1,0.5\n", models_axis=0), plain)
        same(from_text(tmp_path, "model;x;y;z\na;2/2;1/2;0/2\nb;0/2;2/2;1/2\n"), from_text(tmp_path, COUNTED))
        with pytest.raises(InputError, match=r"'accuracy' looks like no example's: .*exclude='accuracy'"):
            from_text(tmp_path, "model,accuracy,x\na,0.5,1\nb,0.5,0\n")

    @pytest.mark.parametrize("name", ["instance_id", "task_id", "question_id"])
    @pytest.mark.parametrize("mark", ["resolved", "passed", "score", "is_resolved"])
    def test_names_of_columns(self, tmp_path, name, mark):
        rows = "".join(f"{m},{t},{v}\n" for m, inner in SCORES.items() for t, v in inner.items())
        same(from_text(tmp_path, f"model,{name},{mark}\n{rows}"), from_text(tmp_path, TABLE))

    @pytest.mark.parametrize("name", ["plain.csv.gz", "plain.tsv.gz", "plain.json.gz", "plain.jsonl.gz"])
    def test_packed(self, tmp_path, name):
        text = TABLE if ".csv" in name else TABLE.replace(",", "\t")
        if "json" in name:
            rows = [{"id": t, "a": SCORES["a"][t], "b": SCORES["b"][t]} for t in "xyz"]
            text = json.dumps(rows) if ".json." in name else "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
        same(load_predictions(tmp_path / name), from_text(tmp_path, TABLE))
        packed = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(packed[:-12])
        with pytest.raises(InputError, match="damaged or cut short"):
            load_predictions(tmp_path / name)

    def test_trials_in_rows(self, tmp_path):
        counted = from_text(tmp_path, COUNTED)
        trials = {"a": {"x": [1, 1], "y": [1, 0], "z": [0, 0]}, "b": {"x": [0, 0], "y": [1, 1], "z": [0, 1]}}
        each = [(m, t, i, v) for m, inner in trials.items() for t, both in inner.items() for i, v in enumerate(both)]
        rows = "".join(f"{m},{t},{i},{v}\n" for m, t, i, v in each)
        for name in ("trial", "epoch", "attempt"):
            same(from_text(tmp_path, f"model,id,{name},passed\n{rows}"), counted)
        same(from_text(tmp_path, f"model,id,seed,passed\n{rows}", trials_key="seed"), counted)
        plain = "".join(f"{m},{t},{v}\n" for m, t, _, v in each)
        with pytest.raises(InputError, match=r"more than one row for the example 'x'.*`trials_key.*repeats=.trials"):
            from_text(tmp_path, f"model,id,passed\n{plain}")
        same(from_text(tmp_path, f"model,id,passed\n{plain}", repeats="trials"), counted)
        answers = "".join(f"{m},{t},{i},{'p' if v else 'q'},p\n" for m, t, i, v in each)
        same(from_text(tmp_path, f"model,id,trial,prediction,label\n{answers}"), counted)
        sums = "".join(f"{m},{t},{sum(both)},2\n" for m, inner in trials.items() for t, both in inner.items())
        same(from_text(tmp_path, f"model,id,n_correct,n_trials\n{sums}"), counted)
        means = "".join(f"{m},{t},{sum(both) / 2},2\n" for m, inner in trials.items() for t, both in inner.items())
        same(from_text(tmp_path, f"model,id,score,trials\n{means}"), counted)
        with pytest.raises(InputError, match="counts successes but not trials"):
            from_text(tmp_path, "model,id,n_correct\na,x,1\nb,x,0\n")
        with pytest.raises(InputError, match="more than one row for the trial 0 of the example 'x'"):
            from_text(tmp_path, "model,id,trial,passed\na,x,0,1\na,x,0,0\n")

    def test_trials_in_files(self, tmp_path):
        counted = from_text(tmp_path, COUNTED)
        (tmp_path / "first.csv").write_text("id,a,b\nx,1,0\ny,1,1\nz,0,0\n")
        (tmp_path / "second.csv").write_text("id,a,b\nx,1,0\ny,0,1\nz,0,1\n")
        files = [tmp_path / "first.csv", tmp_path / "second.csv"]
        with pytest.raises(
            InputError, match=r"'a' is in more than one file with different predictions.*'y' is the first"
        ):
            load_predictions(files)
        same(load_predictions(files, repeats="trials"), counted)
        with pytest.raises(InputError, match="`repeats` is 'epochs'"):
            load_predictions(files, repeats="epochs")

    def test_several_files(self, tmp_path):
        (tmp_path / "one.csv").write_text("id,a\nx,1\ny,0.25\nz,0\n")
        (tmp_path / "two.csv").write_text("id,b\nz,0.5\nx,0\ny,1\n")
        (tmp_path / "part.csv").write_text("id,a,b\nx,1,0\ny,0.25,1\n")
        (tmp_path / "rest.csv").write_text("id,a,b\nz,0,0.5\n")
        plain = from_text(tmp_path, TABLE)
        same(load_predictions([tmp_path / "one.csv", tmp_path / "two.csv"]), plain)
        same(
            load_predictions([tmp_path / "part.csv", tmp_path / "rest.csv"]), plain
        )  # other examples of the same models
        same(load_predictions([tmp_path / "part.csv", tmp_path / "plain.csv"]), plain)  # the same answers twice
        with pytest.raises(InputError, match="there is no file to read"):
            load_predictions([])


class TestTasks:
    def test_chosen(self, tmp_path):
        table = load_predictions(DATA / "helm")
        assert table.columns["task"].tolist() == ["mmlu:subject=anatomy"] * 3 + ["mmlu:subject=virology"] * 2
        assert [part.n_examples for part in table.by("task").values()] == [3, 2]
        one = load_predictions(DATA / "helm", task="*virology")
        assert one.scores.tolist() == [[1, 1], [1, 0]]
        with pytest.raises(InputError, match=r"no task 'law'.*'mmlu:subject=anatomy', 'mmlu:subject=virology'"):
            load_predictions(DATA / "helm", task="law")
        logs = load_predictions(DATA / "lm_eval", task="sums_choice")
        assert all(name.startswith("sums_choice/") for name in logs.ids)

    def test_of_a_column(self, tmp_path):
        rows = "".join(f"{m},{task},{i},{i % 2}\n" for m in "ab" for task in ("p", "q") for i in range(2))
        pooled = from_text(tmp_path, f"model,task,id,correct\n{rows}")
        assert pooled.ids == ("p/0", "p/1", "q/0", "q/1")  # ids that every task counts from 0
        assert from_text(tmp_path, f"model,task,id,correct\n{rows}", task="q").ids == ("0", "1")
        with pytest.raises(InputError, match=r"no column 'task'.*it has 'id', 'a', 'b'"):
            from_text(tmp_path, TABLE, task="q")

    def test_different_items_under_one_name(self, tmp_path):
        for path in (DATA / "helm").iterdir():
            home = tmp_path / "helm" / path.name
            home.mkdir(parents=True)
            for file in path.iterdir():
                (home / file.name).write_text(file.read_text())
        broken = tmp_path / "helm" / "mmlu_subject=anatomy,model=example_beta" / "per_instance_stats.json"
        rows = json.loads(broken.read_text())
        broken.write_text(json.dumps(rows[1:]))
        with pytest.raises(
            InputError, match=r"different examples under the task 'mmlu:subject=anatomy', .*2 in common"
        ):
            load_predictions(tmp_path / "helm")
        assert load_predictions(tmp_path / "helm", missing="absent").n_missing == 1


def test_helm_statistics(tmp_path):
    with pytest.raises(InputError, match=r"no statistic 'f1'.*'exact_match', 'num_prompt_tokens', 'quasi_exact_match'"):
        load_predictions(DATA / "helm", metric="f1")
    with pytest.raises(InputError, match=r"'id0' has the score 311, outside 0 to 1.*`scale"):
        load_predictions(DATA / "helm", metric="num_prompt_tokens")
    assert load_predictions(DATA / "helm", metric="num_prompt_tokens", scale=1000).scores.max() == pytest.approx(0.313)


def test_two_runs_of_a_model(tmp_path):
    for name in ("one", "two"):
        home = tmp_path / "tb" / name
        home.mkdir(parents=True)
        for file in (DATA / "terminal_bench" / "run-alpha").iterdir():
            (home / file.name).write_text(file.read_text())
    same(load_predictions(tmp_path / "tb"), load_predictions(DATA / "terminal_bench" / "run-alpha"))
    path = tmp_path / "tb" / "two" / "results.json"
    content = json.loads(path.read_text())
    content["results"][3]["is_resolved"] = False
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"two runs of 'terminus \(example/alpha\)', and not the same.*'fix-git'"):
        load_predictions(tmp_path / "tb")
    assert load_predictions(tmp_path / "tb", repeats="trials").trials.tolist() == [[6, 6, 6]]


def test_item_columns_are_kept(tmp_path):
    text = "id,category,date,question,a,b\nx,p,2024-01-01,1 + 1?,1,0\ny,q,2024-02-01,2 + 2?,0,1\n"
    table = from_text(tmp_path, text)
    assert table.names == ("a", "b")
    assert {name: column.tolist()[0] for name, column in table.columns.items()} == {
        "category": "p",
        "date": "2024-01-01",
        "question": "1 + 1?",
    }


class TestHarbor:
    """Jobs of Harbor: a folder of trials each."""

    PLAIN = (
        "id,terminus-2 (example/alpha),terminus-2 (example/beta)\n"
        "broken-python,0/2,0/2\nfix-git,1/2,0/2\nhello-world,2/2,1/2\n"
    )

    def test_jobs(self, tmp_path):
        plain = from_text(tmp_path, self.PLAIN)
        same(load_predictions(DATA / "harbor"), plain)
        same(load_predictions(sorted((DATA / "harbor").glob("*/result.json"))), plain)
        same(load_predictions(sorted((DATA / "harbor").glob("*/*/result.json"))), plain)
        same(load_predictions(sorted((DATA / "harbor").rglob("result.json"))), plain)  # each trial counts once
        same(load_predictions(DATA / "harbor" / "job-beta"), plain.select([1]))

    def test_what_is_not_there(self, tmp_path):
        shutil.copytree(DATA / "harbor", tmp_path / "jobs")
        trial = next((tmp_path / "jobs" / "job-alpha").glob("hello-world__*/result.json"))
        content = json.loads(trial.read_text())
        trial.write_text(json.dumps(content | {"verifier_result": {"rewards": {"tests": 1, "style": 0.5}}}))
        with pytest.raises(InputError, match=r"/result.json has no reward called 'reward'.*'style', 'tests'"):
            load_predictions(tmp_path / "jobs")
        trial.write_text(json.dumps(content | {"verifier_result": {"rewards": {"reward": "good"}}}))
        with pytest.raises(InputError, match=r"has 'good' as its score of 'hello-world'"):
            load_predictions(tmp_path / "jobs")
        trial.write_text(json.dumps(content | {"finished_at": None}))
        with pytest.raises(InputError, match="the trial has not ended"):
            load_predictions(tmp_path / "jobs")
        trial.unlink()
        with pytest.raises(InputError, match=r"job-alpha/result.json: 5 of the 6 trials of this job have a result"):
            load_predictions(tmp_path / "jobs")

    def test_two_jobs_of_a_model(self, tmp_path):
        shutil.copytree(DATA / "harbor" / "job-alpha", tmp_path / "jobs" / "one")
        shutil.copytree(DATA / "harbor" / "job-alpha", tmp_path / "jobs" / "two")
        trial = next((tmp_path / "jobs" / "two").glob("hello-world__*/result.json"))
        trial.write_text(trial.read_text().replace('"reward": 1.0', '"reward": 0.0'))
        with pytest.raises(InputError, match=r"two runs of 'terminus-2 \(example/alpha\)', and not the same"):
            load_predictions(tmp_path / "jobs")
        assert load_predictions(tmp_path / "jobs", repeats="trials").trials.tolist() == [[4, 4, 4]]


def test_reports_of_single_tasks(tmp_path):
    """The harness of SWE-bench leaves a report.json for each task that it could grade; the others are unsolved."""
    for model, solved in SOLVED.items():
        for task in TASKS[: 5 if model == "alpha" else 4]:
            home = tmp_path / "logs" / "run" / f"{model}.demo" / task
            home.mkdir(parents=True)
            told = {"patch_exists": True, "resolved": task in solved, "tests_status": {"FAIL_TO_PASS": {"success": []}}}
            (home / "report.json").write_text(json.dumps({task: told}))
    plain = from_text(tmp_path, PLAIN["swe_bench"])
    with pytest.raises(InputError, match=r"a report.json for each task of 'alpha.demo' that could be graded.*`all_ids"):
        load_predictions(tmp_path / "logs")
    same(load_predictions(tmp_path / "logs", all_ids=TASKS), plain)
    same(load_predictions(sorted((tmp_path / "logs").rglob("report.json")), all_ids=TASKS), plain)
    with pytest.raises(InputError, match=r"was run on 'sympy__sympy-20590', which is not among the 4 tasks"):
        load_predictions(tmp_path / "logs", all_ids=TASKS[:4])
    told = {task: {"log": "...", "ok": task in SOLVED["alpha"]} for task in TASKS}
    same(from_text(tmp_path, json.dumps(told), "alpha.demo.json", correct_key="ok"), plain.select([0]))


class TestReports:
    """What a report of SWE-bench's harness says of itself."""

    @pytest.fixture
    def report(self):
        return json.loads((DATA / "swe_bench" / "beta.demo.json").read_text())

    def test_containers_are_no_tasks(self, tmp_path, report):
        report["unstopped_containers"] = ["sweb.eval.x.demo"]
        table = from_text(tmp_path, json.dumps(report), "x.json")
        assert table.ids == tuple(TASKS)

    def test_resolved_and_unresolved(self, tmp_path, report):
        report["unresolved_ids"].append(report["resolved_ids"][0])
        with pytest.raises(InputError, match=r"lists 'django__django-11099' as resolved and as unresolved"):
            from_text(tmp_path, json.dumps(report), "x.json")

    def test_all_ids_of_another_split(self, tmp_path, report):
        with pytest.raises(
            InputError, match=r"names all of its 5 tasks, which are not the 6 of `all_ids`: 'more' is in"
        ):
            from_text(tmp_path, json.dumps(report), "x.json", all_ids=[*TASKS, "more"])
        assert from_text(tmp_path, json.dumps(report), "x.json", all_ids=TASKS).n_examples == 5
        del report["submitted_ids"], report["unresolved_ids"]
        del report["completed_ids"], report["error_ids"], report["empty_patch_ids"], report["incomplete_ids"]
        with pytest.raises(InputError, match=r"about 5 tasks, but `all_ids` lists 6"):
            from_text(tmp_path, json.dumps(report), "x.json", all_ids=[*TASKS, "more"])

    def test_without_a_total(self, tmp_path, report):
        del report["total_instances"]
        with pytest.raises(InputError, match=r"x.json names 5 tasks, but not whether these are all; give the list"):
            from_text(tmp_path, json.dumps(report), "x.json")


def test_header_and_comments_of_a_list_of_ids(tmp_path):
    (tmp_path / "all.txt").write_text("# the whole split\ninstance_id\n" + "\n".join(TASKS) + "\n\n")
    table = from_text(tmp_path, json.dumps(SOLVED), "x.json", all_ids=tmp_path / "all.txt")
    assert table.ids == tuple(TASKS)


@pytest.mark.parametrize(("verdict", "right"), [("False", 0.0), ("true", 1.0), (None, 0.0), (1, 1.0), ("maybe", None)])
def test_verdicts_of_terminal_bench(tmp_path, verdict, right):
    """bool("False") is True."""
    rows = [{"task_id": "a", "is_resolved": verdict}, {"task_id": "b", "is_resolved": True}]
    text = json.dumps({"results": rows})
    if right is None:
        with pytest.raises(InputError, match="'x' has 'maybe' as its score of 'a'"):
            from_text(tmp_path, text, "x.json")
    else:
        assert from_text(tmp_path, text, "x.json").scores.tolist() == [[right, 1.0]]


def graded(*lists) -> str:
    return json.dumps([{"question_id": f"q{i}", "graded_list": found} for i, found in enumerate(lists)])


def helm(**changes) -> str:
    stat = {"name": {"name": "exact_match"}, "count": 1, "sum": 1.0} | changes
    return json.dumps([{"instance_id": "id0", "stats": [stat]}])


BOARD = {"question_id": "q", "model": "m", "pass@1": 50.0}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a_eval_all.json", graded([True], None), "`graded_list` of the problem 'q1' is None"),
        ("a_eval_all.json", graded([True], ["yes"]), "has 'yes' as its score of 'q1'"),
        ("a_eval_all.json", json.dumps(json.loads(graded([1])) * 2), "the problem 'q0' more than once"),
        ("b.json", json.dumps({"performances": [BOARD, BOARD | {"model": "n", "pass@1": "n/a"}]}), "'n' has 'n/a' as"),
        ("b.json", json.dumps({"performances": [BOARD | {"question_id": None}]}), "entry 1 has no id"),
        ("b.json", json.dumps({"performances": [BOARD | {"model": ""}]}), "entry 1 has no model"),
        (
            "per_instance_stats.json",
            json.dumps([{"instance_id": "id0", "stats": None}]),
            "not as HELM writes it, 'None'",
        ),
        ("per_instance_stats.json", helm(name="exact_match"), "not as HELM writes it"),
        ("per_instance_stats.json", helm(sum=None), "not as HELM writes it"),
        ("x.json", json.dumps({"results": [{"task_id": "", "is_resolved": True}]}), "trial 1 has no id"),
    ],
)
def test_damaged_results(tmp_path, name, text, words):
    """Each was a traceback, or passed."""
    with pytest.raises(InputError, match=words):
        from_text(tmp_path, text, name)


def test_values_that_can_be_read(tmp_path):
    assert from_text(tmp_path, graded(["true", False]), "a_eval_all.json").scores.tolist() == [[0.5]]
    rows = [BOARD, BOARD | {"question_id": "r", "pass@1": None}]
    assert from_text(tmp_path, json.dumps({"performances": rows}), "b.json").n_missing == 1
    (tmp_path / "run_spec.json").write_text("[]")
    assert from_text(tmp_path, helm(), "per_instance_stats.json").scores.tolist() == [[1.0]]


class TestPercent:
    """Fractions under `--scale percent` came out a hundred times too small."""

    def test_tables(self, tmp_path):
        with pytest.raises(InputError, match=r"plain.csv: 'a' has scores said to be in percent, but the largest is 1;"):
            from_text(tmp_path, TABLE, scale="percent")
        with pytest.raises(InputError, match=r"model 0 has scores said to be in percent, but the largest is 0\.5"):
            Predictions.from_scores([[0.5, 0.25]], scale="percent")
        assert Predictions.from_scores([[0, 0]], scale="percent").scores.sum() == 0
        assert Predictions.from_scores([[0.5, 0.25]], scale="0:100").scores.max() == 0.005

    def test_runs(self, tmp_path):
        with pytest.raises(InputError, match=r"x.json: 'a' has scores said to be in percent, but the largest is 1;"):
            from_text(tmp_path, json.dumps(SCORES), "x.json", scale="percent")
        low = {"a": {"x": 0.5, "y": 0}, "b": {"x": 80, "y": 20}}  # next to nothing, or a fraction
        with pytest.raises(InputError, match=r"x.json: 'a' has scores .* 0\.5; .*name both ends \(`scale=.0:100.`\)"):
            from_text(tmp_path, json.dumps(low), "x.json", scale="percent")
        assert from_text(tmp_path, json.dumps(low), "x.json", scale="0:100").scores.max() == 0.8
        low["a"]["x"] = 1.5
        assert from_text(tmp_path, json.dumps(low), "x.json", scale="percent").scores.max() == 0.8

    @pytest.mark.parametrize("layout", ["wide", "long", "trials", "counted", "rows"])
    def test_each_model_by_itself(self, tmp_path, layout):
        """In one file with percent, fractions came out a hundred times too small, and the better model as the worse."""
        models = {"zero": [0, 0, 0], "low": [0, 0.5, 1.5], "B": [60.6, 70, 20], "A": [0.66, 0.2, 0.9]}

        def table(models):
            if layout == "wide":
                rows = [("id", *models), *zip("xyz", *models.values(), strict=True)]
                return "\n".join(",".join(map(str, row)) for row in rows)
            if layout == "rows":
                return "\n".join(",".join(map(str, (name, *row))) for name, row in [("model", "xyz"), *models.items()])
            rows = [(name, i, v) for name, row in models.items() for i, v in enumerate(row)]
            if layout == "counted":
                rows = [(name, i, "3/5" if i == 0 else v) for name, i, v in rows]
            trial = ",trial" if layout == "trials" else ""
            several = [f"{a},{b},{c},{t}" for a, b, c in rows for t in (1, 2)]
            told = several if trial else [f"{a},{b},{c}" for a, b, c in rows]
            return "\n".join([f"model,id,score{trial}", *told])

        with pytest.raises(InputError, match=r"^t.csv: 'A' has scores said to be in percent, but the largest is 0\.9;"):
            from_text(tmp_path, table(models), "t.csv", scale="percent")
        assert from_text(tmp_path, table(models), "t.csv", scale="0:100").n_models == 4
        del models["A"]
        assert from_text(tmp_path, table(models), "t.csv", scale="percent").n_models == 3

    @pytest.mark.parametrize("scale", [5, "5", 1.5, 100])
    def test_a_best_score_that_no_model_comes_near(self, scale):
        with pytest.raises(InputError, match=rf"model 1 has scores said to be between 0 and {float(scale):g}, but the"):
            Predictions.from_scores([[1.5, 0, 0], [1, 0, 1]], scale=scale)
        assert Predictions.from_scores([[1.5, 0, 0], [1, 0, 1]], scale=(0, float(scale))).n_models == 2
        assert Predictions.from_scores([[1, 0, 0.5]], scale=1).scores.max() == 1


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("model,id,resolved\na,x,True\na,y,False\n", "x.csv"),
        (json.dumps([{"id": 1, "a": True}, {"id": 2, "a": None}]), "x.json"),
        (json.dumps({"x": True, "y": False}), "x.json"),
    ],
)
def test_true_and_false_have_no_scale(tmp_path, text, name):
    """True was 0.1 of 10."""
    with pytest.raises(InputError, match=r"leave `scale` out|`scale=10` has no effect"):
        from_text(tmp_path, text, name, scale=10)


def test_halves_of_a_table(tmp_path):
    """Two JSON files with other examples of the same models, which a folder could always hold."""
    for name, tasks in (("one", "xy"), ("two", "yz")):
        part = {model: {task: inner[task] for task in tasks} for model, inner in SCORES.items()}
        (tmp_path / f"{name}.json").write_text(json.dumps(part))
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    same(load_predictions(files), from_text(tmp_path, TABLE))
    changed = json.loads(files[1].read_text())
    changed["b"]["y"] = 0
    files[1].write_text(json.dumps(changed))
    with pytest.raises(InputError, match=r"two runs of 'b', and not the same \(they differ on 'y'\)"):
        load_predictions(files)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("a,x,1,five", "row 1 counts 'five' trials"),
        ("a,x,1,", "row 1 has a score but no number of trials"),
        ("a,x,2.7,5", "row 1 counts 2.7 successes"),
        ("a,x,1,-5", "row 1 counts '-5' trials"),
    ],
)
def test_counts(tmp_path, row, words):
    with pytest.raises(InputError, match=words):
        from_text(tmp_path, f"model,id,successes,trials\n{row}\nb,x,1,5\n")
    assert from_text(tmp_path, "model,id,successes,trials\na,x,,\na,y,1,2\nb,x,1,5\nb,y,0,5\n").n_missing == 1


@pytest.mark.parametrize("blank", ["", " "])
def test_missing_ids(tmp_path, blank):
    with pytest.raises(InputError, match="row 2 has no id"):
        from_text(tmp_path, f"id,a,b\nx,1,0\n{blank},0,1\n")
    with pytest.raises(InputError, match="row 2 has no id"):
        from_text(tmp_path, f"model,id,correct\na,x,1\na,{blank},0\n")
    with pytest.raises(InputError, match=r"row 2 has no model.*`names_key"):
        from_text(tmp_path, f"model,id,correct\na,x,1\n{blank},x,0\n")
    for rows in ([{"id": 1, "a": 1}, {"id": None, "a": 0}], [{"id": 1, "a": 1}, {"a": 0}]):
        with pytest.raises(InputError, match="row 2 has no id"):
            from_text(tmp_path, json.dumps(rows), "x.json")
    with pytest.raises(InputError, match="the example 1 has no id"):
        Predictions.from_correct([[1, 0]], ids=["x", None])


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (TABLE, {"trials_key": "zz"}, r"`trials_key='zz'` has no effect"),
        (TABLE, {"all_ids": ["x"]}, r"`all_ids` has no effect"),
        (TABLE, {"repeats": "trials"}, "no model has several predictions"),
        (TABLE, {"classes": 3}, r"`classes=3` has no effect"),
        ("id,label,a\nx,1,1\ny,0,1\n", {"scale": 10}, r"`scale=10` has no effect"),
        ("model,id,correct\na,x,1\n", {"models_axis": 0}, "models_axis=0"),
    ],
)
def test_options_without_effect(tmp_path, text, options, words):
    with pytest.raises(InputError, match=words):
        from_text(tmp_path, text, **options)


@pytest.mark.parametrize("name", ["lm_eval", "inspect/json", "terminal_bench"])
def test_keys_of_logs(name):
    metric = ",strict-match" if name == "lm_eval" else None
    with pytest.raises(InputError, match=r"`correct_key='acc'` has no effect here"):
        load_predictions(DATA / name, correct_key="acc", metric=metric)


@pytest.mark.parametrize("name", ["lm_eval", "inspect/json"])
@pytest.mark.parametrize("tasks", [["law"], ["sums*", "law"]])
def test_a_task_that_is_not_there(name, tasks):
    metric = ",strict-match" if name == "lm_eval" else None
    with pytest.raises(InputError, match=r"has no task 'law' \(`task`\); it has 'sums"):
        load_predictions(DATA / name, task=tasks, metric=metric)


def test_text_columns_are_named(tmp_path):
    with pytest.raises(
        InputError, match=r"the column 'author' holds text such as 'joe'.*exclude='author'.*names_key='author'"
    ):
        from_text(tmp_path, "id,author,a,b\nx,joe,1,0\ny,jim,0,1\n")
    for text in ("word,a,b\nrain,1,0\nsnow,0,1\nhail,1,1\n", "word,label,a\nrain,1,1\nsnow,0,1\nhail,1,1\n"):
        with pytest.raises(InputError, match=r"exclude='word'`; if it tells the examples apart, .*`ids_key='word'`"):
            from_text(tmp_path, text)
        assert from_text(tmp_path, text, ids_key="word").ids == ("rain", "snow", "hail")
    with pytest.raises(InputError, match=r"'a' holds 'N/A' among its scores.*missing='N/A'"):
        from_text(tmp_path, "id,a,b\nx,N/A,0\ny,0,1\n")
    with pytest.raises(InputError, match=r"'a', 'b' hold text such as 'p'; without a column `label`"):
        from_text(tmp_path, "id,a,b\nx,p,q\ny,p,p\n")


def test_names_of_files(tmp_path):
    (tmp_path / "alpha").mkdir()
    (tmp_path / "alpha" / "results.json").write_text("{")
    with pytest.raises(InputError, match=r"^alpha/results.json is damaged"):
        load_predictions(tmp_path / "alpha" / "results.json")
    with pytest.raises(InputError, match=r"^x.json is empty"):
        from_text(tmp_path, "{}", "x.json")
    (tmp_path / "x.csv").write_bytes("id,modèle\n1,1\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"^x.csv is not UTF-8 text: byte 6"):
        load_predictions(tmp_path / "x.csv")


def test_json_is_parsed_once(tmp_path, monkeypatch):
    for model, inner in SCORES.items():
        (tmp_path / f"{model}.json").write_text(json.dumps(inner))
    read = []
    for module in (load, formats):
        monkeypatch.setattr(module, "read_json_file", lambda path: read.append(path) or read_json_file(path))
    load_predictions([tmp_path / "a.json", tmp_path / "b.json"])
    assert len(read) == 2
