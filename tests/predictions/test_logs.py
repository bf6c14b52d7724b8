"""Logs that lm-evaluation-harness and inspect_ai wrote themselves (`data/make.md`)."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest

import heldout
from heldout.errors import InputError
from heldout.predictions import load_predictions

DATA = Path(__file__).parent / "data"


@pytest.fixture
def harness(tmp_path):
    shutil.copytree(DATA / "lm_eval", tmp_path / "lm_eval")
    return tmp_path / "lm_eval"


def only(folder: Path, pattern: str) -> Path:
    (path,) = folder.rglob(pattern)
    return path


def change(path: Path, **values):
    """Overwrite fields in every line."""
    rows = [{**json.loads(line), **values} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


class TestLmEval:
    def test_folder_pools_tasks(self, harness):
        """`acc` of the choices, `exact_match` of the written answers, by the filter asked for."""
        (harness / "example__alpha" / "results_2026.json").write_text(
            "{}"
        )  # the harness writes these beside the samples
        strict = load_predictions(harness, metric=",strict-match")
        flexible = load_predictions(harness, metric=",flexible-extract")
        assert strict.names == ("example__alpha", "example__beta")
        assert strict.ids == tuple(f"{task}/{i}" for task in ("sums_choice", "sums_written") for i in range(6))
        assert strict.correct.astype(int).tolist() == [
            [0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0],
            [1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0],
        ]
        assert flexible.correct[:, 6:].astype(int).tolist() == [[0, 1, 0, 1, 0, 1], [1, 0, 1, 0, 0, 0]]

    def test_agrees_with_the_logged_answers(self):
        """The verdicts against the answers and targets that stand beside them."""
        path = only(DATA / "lm_eval" / "example__alpha", "*written*")
        pool = load_predictions(path, metric="exact_match,strict-match")
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        expected = [r["filtered_resps"][0] == r["target"] for r in rows if r["filter"] == "strict-match"]
        assert pool.correct.tolist() == [expected]

    def test_one_file(self):
        pool = load_predictions(only(DATA / "lm_eval" / "example__beta", "*choice*"))
        assert (pool.names, pool.n_examples) == (("example__beta",), 6)
        assert (
            load_predictions(DATA / "lm_eval" / "example__beta", format="lm-eval", metric=",strict-match").n_models == 1
        )

    def test_older_versions_list_no_metrics(self, harness):
        path = only(harness / "example__alpha", "*choice*")
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            del row["metrics"], row["filter"], row["doc_hash"]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert load_predictions(path).correct.astype(int).tolist() == [[0, 1, 0, 1, 1, 0]]

    def test_refused(self, harness):
        alpha = harness / "example__alpha"
        choice, written = only(alpha, "*choice*"), only(alpha, "*written*")
        with pytest.raises(InputError, match=r"filters 'strict-match', 'flexible-extract'.*`metric=\",strict-match\"`"):
            load_predictions(harness)
        with pytest.raises(InputError, match=r'`metric="exact_match,strict-match"`'):
            load_predictions(written, metric="exact_match")
        with pytest.raises(InputError, match="no filter 'loose'"):
            load_predictions(written, metric="exact_match,loose")
        with pytest.raises(InputError, match=r"no metric 'f1'.*it has 'acc', 'acc_norm'"):
            load_predictions(choice, metric="f1")
        again = choice.with_name("samples_sums_choice_2027-01-01T00-00-00.000000.jsonl")
        shutil.copy(choice, again)
        once = load_predictions(harness, metric=",strict-match")  # the same run twice
        rows = [json.loads(line) for line in again.read_text().splitlines()]
        rows[0]["acc"] = 1.0 - rows[0]["acc"]
        again.write_text("".join(json.dumps(row) + "\n" for row in rows))
        with pytest.raises(InputError, match=r"two runs of 'example__alpha' on the task 'sums_choice'.*differ on '0'"):
            load_predictions(harness, metric=",strict-match")
        both = load_predictions(harness, metric=",strict-match", repeats="trials")
        changed = both.scores != once.scores
        assert changed.sum() == 1
        assert both.scores[changed].tolist() == [0.5]
        again.unlink()
        choice.unlink()
        with pytest.raises(InputError, match=r"different examples, 'example__alpha' 6 and 'example__beta' 12.*align"):
            load_predictions(harness, metric=",strict-match")
        assert load_predictions(harness, metric=",strict-match", missing="absent").n_missing == 6

    @pytest.mark.parametrize("metric", [None, "acc", "exact_match", "exact_match,strict-match", "f1", "acc_norm"])
    def test_advice_leads_on(self, harness, metric):
        """From any first try over tasks with and without filters, what the error suggests ends in a pool."""
        message = None
        for _ in range(3):
            try:
                pool = load_predictions(harness, metric=metric)
            except InputError as error:
                message = str(error)
            else:
                assert pool.digest() == load_predictions(harness, metric=",strict-match").digest()
                return
            suggested = re.search(r'metric="([^"]+)"', message)
            assert suggested or "give no metric" in message
            metric = suggested[1] if suggested else None
        pytest.fail(f"three errors in a row, the last: {message}")

    def test_a_filter_that_no_task_has(self, harness):
        with pytest.raises(InputError, match=r"no filter 'loose' \(`metric`\); it has 'none'"):
            load_predictions(only(harness / "example__alpha", "*choice*"), metric=",loose")

    def test_one_filter_is_no_choice(self, harness):
        """A task scored with a single filter of its own name beside one that has several."""
        for path in harness.rglob("*choice*"):
            change(path, filter="get-answer")
        other = load_predictions(DATA / "lm_eval", metric=",strict-match")
        assert load_predictions(harness, metric=",strict-match").digest() == other.digest()

    def test_exclude(self, harness):
        only(harness / "example__beta", "*choice*").unlink()
        pool = load_predictions(harness, metric=",strict-match", exclude="*beta")
        assert pool.names == ("example__alpha",)
        with pytest.raises(InputError, match="leaves no model"):
            load_predictions(harness, metric=",strict-match", exclude="example*")

    def test_other_documents_under_the_same_number(self, harness):
        change(only(harness / "example__beta", "*choice*"), doc_hash="another")
        with pytest.raises(InputError, match="'sums_choice/0' is another document for 'example__beta'"):
            load_predictions(harness, metric=",strict-match")

    def test_metrics_that_are_not_right_or_wrong(self, harness):
        path = only(harness / "example__alpha", "*choice*")
        change(path, acc_norm=0.5)
        assert set(load_predictions(path, metric="acc_norm").scores[0].tolist()) == {0.5}
        change(path, acc=0.25)
        with pytest.raises(InputError, match="of which none is 0 or 1"):
            load_predictions(path)
        change(path, acc_norm=1.0)
        assert load_predictions(path).correct.all()  # the only one left that is

    def test_the_same_document_twice_and_a_cut(self, harness):
        path = only(harness / "example__alpha", "*choice*")
        text = path.read_text()
        path.write_text(text + text)
        with pytest.raises(InputError, match="has the document 0 more than once"):
            load_predictions(path)
        path.write_text(text[:-40])
        with pytest.raises(InputError, match="line 6 is no JSON; the file is damaged or cut short"):
            load_predictions(path)


@pytest.mark.parametrize(
    ("folder", "metric"),
    [("lm_eval", ",strict-match"), ("lm_eval", ",flexible-extract"), ("inspect/json", None), ("inspect/eval", None)],
)
def test_a_budget_of_every_folder(folder, metric):
    result = heldout.budget(load_predictions(DATA / folder, metric=metric))
    assert result.n_models == 2


def repack(source: Path, target: Path, **changes) -> Path:
    """The log again, with fields of its header changed or members left out (None)."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name in changes and changes[name] is None:
                continue
            if name in changes:
                content = json.dumps({**json.loads(content), **changes[name]}).encode()
            new.writestr(name, content)
    return target


class TestInspect:
    @pytest.mark.parametrize("kind", ["json", "eval"])
    def test_folder(self, kind):
        pool = load_predictions(DATA / "inspect" / kind)
        assert pool.names == ("mockllm/alpha", "mockllm/beta")
        assert pool.ids == ("sums/sum-0", "sums/sum-1", "sums/sum-2")
        assert pool.correct.astype(int).tolist() == [[1, 1, 0], [1, 0, 1]]
        one = load_predictions(DATA / "inspect" / kind / f"beta.{kind}")
        assert one.correct.tolist() == pool.correct[1:].tolist()

    def test_failed_sample_is_missing(self, tmp_path):
        path = DATA / "inspect" / "failed.eval"
        pool = load_predictions(path)
        assert pool.observed.tolist() == [[True, False, True]]
        assert pool.wrong.tolist() == [[False, False, True]]
        by_samples = repack(path, tmp_path / "x.eval", **{"summaries.json": None})
        assert load_predictions(by_samples).digest() == pool.digest()

    def test_epochs_and_scorers(self):
        path = DATA / "inspect" / "epochs.eval"
        with pytest.raises(InputError, match="was scored by 'grade', 'match'; choose one"):
            load_predictions(path)
        epochs = load_predictions(path, metric="match")  # both, as trials
        assert (epochs.trials.tolist(), epochs.scores.tolist()) == ([[2, 2, 2]], [[1, 1, 0]])
        assert load_predictions(path, metric="match,2").correct.astype(int).tolist() == [[1, 1, 0]]
        assert load_predictions(path, metric="grade,1").scores.tolist() == [[1, 1, 0.5]]  # P, as inspect_ai counts it
        with pytest.raises(InputError, match="no epoch '3'"):
            load_predictions(path, metric="match,3")
        with pytest.raises(InputError, match="no scorer 'f1'; it has 'grade', 'match'"):
            load_predictions(path, metric="f1")

    @pytest.mark.parametrize(
        ("value", "mark"),
        [
            ("C", 1),
            ("I", 0),
            ("N", 0),
            (1, 1),
            (0, 0),
            (1.0, 1),
            (True, 1),
            (False, 0),
            ("yes", 1),
            ("false", 0),
            ("P", 0.5),
            (0.25, 0.25),
            (None, None),
            (float("nan"), None),
        ],
    )
    def test_values(self, value, mark, tmp_path):
        log = json.loads((DATA / "inspect" / "json" / "alpha.json").read_text())
        log["samples"][1]["scores"]["match"]["value"] = value
        (tmp_path / "x.json").write_text(json.dumps(log))
        pool = load_predictions(tmp_path / "x.json")
        assert (pool.n_missing, pool.scores[0, 1]) == (mark is None, mark or 0)

    @pytest.mark.parametrize("value", [2, [1], {"a": 1}, "perhaps"])
    def test_values_that_are_no_scores(self, value, tmp_path):
        log = json.loads((DATA / "inspect" / "json" / "alpha.json").read_text())
        log["samples"][1]["scores"]["match"]["value"] = value
        (tmp_path / "x.json").write_text(json.dumps(log))
        with pytest.raises(InputError, match=r"'sum-1' has the score .*(only numbers and C, P, I, N|scale=.percent)"):
            load_predictions(tmp_path / "x.json")

    def test_refused(self, tmp_path):
        failed = DATA / "inspect" / "failed.eval"
        path = repack(failed, tmp_path / "x.eval", **{"header.json": {"status": "cancelled"}})
        with pytest.raises(InputError, match="status 'cancelled', so that its samples are not complete"):
            load_predictions(path)
        with pytest.raises(InputError, match=r"has no header.json: the run has not ended"):
            load_predictions(repack(failed, tmp_path / "x.eval", **{"header.json": None}))
        with pytest.raises(InputError, match=r"not a log of inspect_ai"):
            load_predictions(repack(failed, tmp_path / "x.eval", **{"header.json": {"eval": None}}))
        folder = tmp_path / "unfinished"
        shutil.copytree(DATA / "inspect" / "eval", folder)
        repack(
            failed, folder / "x.eval", **{"header.json": {"status": "cancelled", "eval": {"model": "c", "task": "t"}}}
        )
        assert load_predictions(folder, exclude="c").names == ("mockllm/alpha", "mockllm/beta")
        folder = tmp_path / "twice"
        folder.mkdir()
        shutil.copy(failed, folder / "one.eval")
        shutil.copy(DATA / "inspect" / "eval" / "alpha.eval", folder / "two.eval")
        with pytest.raises(
            InputError, match=r"one.eval and twice/two.eval are two runs of 'mockllm/alpha' on the task 'sums'"
        ):
            load_predictions(folder, metric=None)

    def test_json_refused(self, tmp_path):
        log = json.loads((DATA / "inspect" / "json" / "alpha.json").read_text())
        path = tmp_path / "x.json"
        for broken, words in (
            ({**log, "samples": None}, "holds no samples"),
            ({**log, "samples": []}, "has no scores"),
            ({**log, "samples": log["samples"][:1] * 2}, "has the sample 'sum-0' more than once"),
            ({**log, "status": "error"}, "status 'error'"),
        ):
            path.write_text(json.dumps(broken))
            with pytest.raises(InputError, match=words):
                load_predictions(path)
        path.write_text('{"a": 1}')
        with pytest.raises(InputError, match=r"x.json is not a log of inspect_ai"):
            load_predictions(path, format="inspect")

    @pytest.mark.parametrize("name", ["eval/alpha.eval", "failed.eval", "json/alpha.json"])
    def test_cut_short(self, name, tmp_path):
        content = (DATA / "inspect" / name).read_bytes()
        path = tmp_path / Path(name).name
        for kept in (0.99, 0.5, 0.01):
            path.write_bytes(content[: int(kept * len(content))])
            with pytest.raises(InputError, match="is damaged or cut short"):
                load_predictions(path)

    @pytest.mark.parametrize("name", ["eval/alpha.eval", "failed.eval"])
    def test_damage_inside(self, name, tmp_path):
        content = bytearray((DATA / "inspect" / name).read_bytes())
        with zipfile.ZipFile(DATA / "inspect" / name) as archive:
            info = archive.getinfo("summaries.json")
        content[info.header_offset + 30 + len(info.filename) + info.compress_size // 2] ^= 255
        path = tmp_path / "x.eval"
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"x.eval is damaged or cut short"):
            load_predictions(path)


class TestRunningNumbers:
    """inspect_ai numbers samples without ids in the order of the run, which it may have shuffled."""

    INPUTS = tuple(f"What is {i} plus 1?" for i in range(6))

    def write(self, folder, model, order, *, right=(0, 1, 2), inputs=None, ids=None, **changes):
        log = json.loads((DATA / "inspect" / "json" / "alpha.json").read_text())
        log["eval"]["model"] = model
        inputs = inputs or self.INPUTS
        log["samples"] = [
            {"id": ids[i] if ids else number + 1, "epoch": 1, "input": inputs[i], "target": "1",
             "scores": {"match": {"value": "C" if i in right else "I"}}, **changes}
            for number, i in enumerate(order)
        ]  # fmt: skip
        folder.mkdir(exist_ok=True)
        (folder / f"{model}.json").write_text(json.dumps(log))
        return folder

    def test_shuffled_runs_are_joined_by_input(self, tmp_path):
        self.write(tmp_path, "a", [0, 1, 2, 3, 4, 5])
        self.write(tmp_path, "b", [3, 5, 0, 1, 2, 4], right=(0, 1, 2, 3))
        table = load_predictions(tmp_path)
        assert table.columns["input"].tolist() == list(self.INPUTS)
        assert table.correct.astype(int).tolist() == [[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0]]
        assert table.source.endswith(", samples joined by input")
        assert not set(table.ids) & {f"sums/{i}" for i in range(1, 7)}  # a file of dates by number must not fit
        apart = [self.write(tmp_path / m, m, o) for m, o in (("c", [0, 1, 2, 3]), ("d", [5, 2, 3, 0]))]
        with pytest.raises(InputError, match=r"'c' 4 and 'd' 4 \(3 in common\)"):
            load_predictions(apart)
        assert load_predictions(apart, missing="absent").n_examples == 5  # folders as their files
        assert load_predictions(apart, exclude="input").ids == tuple(f"sums/{i}" for i in range(1, 5))

    def test_trials_of_one_model(self, tmp_path):
        runs = [self.write(tmp_path / name, "a", order, right=(0,)) for name, order in
                (("x", range(6)), ("y", range(5, -1, -1)))]  # fmt: skip
        table = load_predictions(runs, repeats="trials")
        assert table.scores.tolist() == [[1, 0, 0, 0, 0, 0]]
        assert table.columns["input"].tolist() == list(self.INPUTS)
        runs[1] = self.write(runs[1], "a", range(6), inputs=["", *self.INPUTS[:5]], ids="uvwxyz")
        runs[0] = self.write(runs[0], "a", range(6), ids="uvwxyz")
        with pytest.raises(InputError, match=r"under the id 'sums/v' 'a .*' has another example than 'a .*5 of 6"):
            load_predictions(runs, repeats="trials")

    def test_the_same_order_keeps_its_numbers(self, tmp_path):
        for model in "ab":
            self.write(tmp_path, model, [3, 5, 0, 1, 2, 4])
        assert load_predictions(tmp_path).ids == tuple(f"sums/{i}" for i in range(1, 7))

    @pytest.mark.parametrize("why", ["ids", "repeated", "choices", "version"])
    def test_refused(self, tmp_path, why):
        """Named samples are not renamed; inputs that repeat cannot tell, nor can those of another version."""
        ids = "uvwxyz" if why == "ids" else None
        inputs = [*self.INPUTS[:5], self.INPUTS[0]] if why == "repeated" else self.INPUTS
        others = [f"{text} Say it." for text in inputs] if why == "version" else inputs
        self.write(tmp_path, "a", range(6), inputs=inputs, ids=ids)
        more = {"choices": ["1", "2"]} if why == "choices" else {}
        moved = "vuwxyz" if why == "ids" else None
        order = range(6) if why == "ids" else [1, 0, 2, 3, 4, 5]
        self.write(tmp_path, "b", order, inputs=others, ids=moved, **more)
        for missing in (None, "absent"):
            with pytest.raises(
                InputError, match=r"under the id 'sums/.' 'a' has another example than 'b': its 'input'"
            ):
                load_predictions(tmp_path, missing=missing)


class TestScoredBy:
    """Which metric and filter, scorer or column was read stands on every page; models are compared by one."""

    def write(self, home, model, *, metrics=("acc",), filters=("none",), task="t", n=6, shift=0):
        folder = home / model
        folder.mkdir(parents=True, exist_ok=True)
        rows = [
            {"doc_id": i, "doc": {"question": f"Why {i}?"}, "resps": [], "filter": f, "metrics": list(metrics),
             **{metric: float((i + shift) % (2 + j) == 0) for j, metric in enumerate(metrics)}}
            for i in range(n) for f in filters
        ]  # fmt: skip
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"samples_{task}_2026-01-01T00-00-00.jsonl").write_text(lines)
        return folder

    def test_the_default_is_told_too(self, tmp_path):
        for model in "ab":
            self.write(tmp_path, model, metrics=("acc_norm", "acc"))
            self.write(tmp_path, model, metrics=("exact_match",), filters=("strict", "loose"), task="g")
        table = load_predictions(tmp_path, metric=",strict")
        both = (
            "exact_match, strict (lm-evaluation-harness) on 'g'",
            "acc (lm-evaluation-harness) on 't'",
        )
        assert table.scored_by == "; ".join(both)
        parts = table.by("task")
        assert [parts[task].select(["a"]).scored_by for task in "gt"] == [text.rpartition(" on ")[0] for text in both]
        for suffix in ("npz", "csv", "json", "jsonl"):
            table.save(tmp_path / f"saved.{suffix}")
            assert load_predictions(tmp_path / f"saved.{suffix}").scored_by == table.scored_by
        assert load_predictions(tmp_path, metric="acc_norm", task="t").scored_by == "acc_norm (lm-evaluation-harness)"

    def test_on_every_page(self, tmp_path):
        for i in range(4):
            self.write(tmp_path, f"m{i}", n=40, shift=i % 2)
        table = load_predictions(tmp_path)
        seen = [[(i + j) % 2 for j in range(40)] for i in range(4)]
        told = "acc (lm-evaluation-harness)"
        for result in (
            heldout.budget(table), heldout.compare(table, "m0", "m1"), heldout.compare_all(table),
            heldout.exposure(table, seen=seen, n_resamples=9),
        ):  # fmt: skip
            assert result.to_dict()["scored_by"] == told
            text = str(result)
            assert "Scored by" in text
            assert told in text
        assert heldout.compare([[1, 0], [0, 1]]).to_dict()["scored_by"] is None
        assert "Scored by" not in str(heldout.compare([[1, 0], [0, 1]]))

    def test_different_metrics_are_not_compared(self, tmp_path):
        self.write(tmp_path / "metric", "a", metrics=("acc",))
        self.write(tmp_path / "metric", "b", metrics=("acc_norm",))
        self.write(tmp_path / "filter", "a", filters=("strict",))
        self.write(tmp_path / "filter", "b", filters=("loose",))
        for name, told in (("metric", "acc but 'b' by acc_norm"), ("filter", "acc, strict but 'b' by acc, loose")):
            told = re.escape(told.replace(" but", " (lm-evaluation-harness) but")) + ".* on 't/0'.*`metric`"
            for paths in (tmp_path / name, [tmp_path / name / model for model in "ab"]):
                for missing in (None, "absent"):
                    with pytest.raises(InputError, match=f"'a' is scored by {told}"):
                        load_predictions(paths, missing=missing)
        self.write(tmp_path / "filter", "c", filters=("strict", "loose"))
        assert load_predictions(tmp_path / "filter", metric=",strict", exclude="b").names == ("a", "c")
        with pytest.raises(InputError, match="'a' is scored by acc, strict"):  # b has no choice, and another filter
            load_predictions(tmp_path / "filter", metric=",strict")

    def test_scorers(self, tmp_path):
        log = json.loads((DATA / "inspect" / "json" / "alpha.json").read_text())
        for model, scorer in (("a", "match"), ("b", "includes")):
            for sample in log["samples"]:
                sample["scores"] = {scorer: next(iter(sample["scores"].values()))}
            log["eval"]["model"] = model
            (tmp_path / f"{model}.json").write_text(json.dumps(log))
        with pytest.raises(InputError, match=r"'a' is scored by match \(inspect_ai\) but 'b' by includes"):
            load_predictions(tmp_path)
        assert load_predictions(tmp_path / "a.json").scored_by == "match (inspect_ai)"
        log["eval"]["model"] = "a"
        (tmp_path / "b.json").write_text(json.dumps(log))
        with pytest.raises(InputError, match=r"'a \(.*a.json\)' is scored by match .* on 'sums'"):
            load_predictions(tmp_path, repeats="trials")

    def test_columns_of_tables(self, tmp_path):
        path = tmp_path / "x.csv"
        path.write_text("model,id,acc,exact_match\na,1,1,0\na,2,1,1\nb,1,1,0\nb,2,0,1\n")
        assert load_predictions(path).scored_by == "acc"
        assert load_predictions(path, correct_key="exact_match").scored_by == "exact_match"
        path.write_text("model,id,correct,prediction,label\na,1,1,x,x\nb,1,1,x,y\n")
        assert load_predictions(path).scored_by == "correct"
        path.write_text("model,id,acc\na,1,1\nb,1,0\n")  # no choice
        assert load_predictions(path).scored_by is None
        heads = ("acc,exact_match", "correct,acc")
        paths = [tmp_path / f"{i}.csv" for i in range(2)]
        for one, head in zip(paths, heads, strict=True):
            one.write_text(f"id,{head}\n1,{','.join('1' * len(head.split(',')))}\n")
        assert load_predictions(paths, correct_key="acc").scored_by == "acc"
        with pytest.raises(InputError, match="is scored by acc but '1' by correct"):
            load_predictions(paths)
