"""Scores of single examples from tables and from logs that lm-evaluation-harness and inspect_ai wrote themselves."""

from __future__ import annotations

import gzip
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from heldout import InputError, Scores, load_predictions, load_scores
from heldout.predictions.load_scores import as_scores, read_id_list

DATA = Path(__file__).parent / "data"


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def only(folder: Path, pattern: str) -> Path:
    (path,) = folder.rglob(pattern)
    return path


@pytest.fixture
def choice(tmp_path):
    """A multiple-choice log that a test may change."""
    shutil.copytree(DATA / "lm_eval" / "example__alpha", tmp_path / "alpha")
    return only(tmp_path / "alpha", "*choice*")


def change(path: Path, function):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(function(dict(row))) + "\n" for row in rows))


class TestTables:
    def test_csv(self, tmp_path):
        path = write(tmp_path / "m.csv", "id,correct,margin,topic\na,1,2.5,x\nb,0,-1.25,y\n")
        scores = load_scores(path, classes="topic")
        assert (scores.kind, scores.larger_is_better, scores.ids, scores.name) == ("margin", True, ("a", "b"), "m")
        assert scores.values.tolist() == [2.5, -1.25]
        assert scores.classes.tolist() == ["x", "y"]
        assert scores.correct.tolist() == [True, False]

    @pytest.mark.parametrize(
        ("name", "kind", "better"),
        [
            ("margin", "margin", True),
            ("LogLik", "log_likelihood", True),
            ("logprob", "log_likelihood", True),
            ("exact_match", "correct", True),
            ("acc", "correct", True),
            ("probability", "probability", True),
            ("NLL", "loss", False),
            ("loss", "loss", False),
            ("wrong", "error", False),
        ],
    )
    def test_kinds_by_name(self, tmp_path, name, kind, better):
        sign = -1 if kind == "log_likelihood" else 1
        path = write(tmp_path / "m.csv", f"id,{name}\na,0\nb,{sign}\n")
        scores = load_scores(path)
        assert (scores.kind, scores.larger_is_better) == (kind, better)
        assert scores.turned.tolist() == (scores.values if better else -scores.values).tolist()

    def test_score_of_0_and_1_is_correctness(self, tmp_path):
        assert load_scores(write(tmp_path / "m.csv", "id,score\na,0\nb,1\n")).kind == "correct"
        with pytest.raises(InputError, match=r"larger 'score' is better or worse.*larger_is='better'"):
            load_scores(write(tmp_path / "n.csv", "id,score\na,0.3\nb,1\n"))

    def test_direction_must_be_known(self, tmp_path):
        path = write(tmp_path / "m.csv", "id,bleu\na,31.5\nb,12\n")
        with pytest.raises(InputError, match=r"m\.csv: whether a larger 'bleu'"):
            load_scores(path)
        assert load_scores(path, larger_is="better").turned.tolist() == [31.5, 12.0]
        assert load_scores(path, larger_is="worse").turned.tolist() == [-31.5, -12.0]
        with pytest.raises(InputError, match="'up'"):
            load_scores(path, larger_is="up")

    @pytest.mark.parametrize(
        ("text", "match"),
        [
            ("id,log_likelihood\na,1.5\nb,2\n", "all 0 or above, as negative log-likelihoods"),
            ("id,nll\na,-1.5\nb,-2\n", "all 0 or below, as log-likelihoods are"),
            ("id,correct\na,0,5\n", "cells where the header"),
            ("id;margin\na;0,5\nb;-1,25\n", "is text, such as '0,5'; .*, or write decimal points"),
            ("id,perplexity\na,-1.5\nb,2\n", "no perplexity is below 1"),
            ("id,probability\na,0.5\nb,2\n", "outside 0 to 1"),
            ("id,margin\na,\nb,2\n", r"1 of 2 scores is not a finite number, the first .* 'a' \(margin is empty\)"),
            ("id,margin\na,nan\nb,2\n", "margin is 'nan'"),
            ("id,margin\na,high\nb,inf\n", "2 of 2 scores are not a finite number"),
            ("id,margin\na,1\na,2\n", r"m\.csv: the example 'a' is there more than once"),
            ("id,u,v\na,1,2\nb,2,1\n", r"'u', 'v' it could be any, so say which with `score`"),
            ("id,text\na,hello\nb,bye\n", "no column of scores"),
            ("id,model,margin\na,m1,2\nb,m2,1\n", "several models in the column 'model'"),
            ("id,margin\n", "empty"),
        ],
    )
    def test_refused(self, tmp_path, text, match):
        with pytest.raises(InputError, match=match):
            load_scores(write(tmp_path / "m.csv", text))

    @pytest.mark.parametrize("larger_is", ["Better", "BETTER", "up", 1, True])
    def test_no_direction_is_guessed(self, tmp_path, larger_is):
        """A slip in the spelling must not turn the scores round, wherever they come from."""
        path = write(tmp_path / "m.csv", "id,bleu\na,31.5\nb,12\n")
        log = only(DATA / "lm_eval" / "example__alpha", "*choice*")
        for call in (
            lambda: load_scores(path, larger_is=larger_is),
            lambda: load_scores(log, larger_is=larger_is),
            lambda: as_scores([1.0, 2.0], kind="bleu", larger_is=larger_is, what="test"),
        ):
            with pytest.raises(InputError, match="`larger_is` is"):
                call()
        with pytest.raises(InputError, match="`larger_is_better` is 'worse'"):
            Scores(values=[1.0], kind="bleu", larger_is_better="worse")

    @pytest.mark.parametrize(
        ("name", "values", "larger_is", "refused"),
        [
            ("margin", (1, -2), "worse", True),
            ("correct", (1, 0), "worse", True),
            ("loss", (0.5, 2), "better", True),
            ("nll", (-0.5, -2), "better", False),  # log-likelihoods under another name
            ("log_likelihood", (-0.5, -2), "worse", True),
            ("log_likelihood", (0.5, 2), "worse", False),
            ("perplexity", (-0.5, -2), "better", False),
            ("margin", (1, -2), "better", False),
        ],
    )
    def test_direction_against_the_name(self, tmp_path, name, values, larger_is, refused):
        path = write(tmp_path / "m.csv", f"id,{name}\na,{values[0]}\nb,{values[1]}\n")
        if refused:
            with pytest.raises(InputError, match=f"{name}' is .* by its name, but `larger_is='{larger_is}'"):
                load_scores(path, larger_is=larger_is)
            with pytest.raises(InputError, match="by its name"):
                as_scores(values, kind=name, larger_is=larger_is, what="test")
        else:
            assert load_scores(path, larger_is=larger_is).larger_is_better == (larger_is == "better")

    def test_what_is_no_table(self, tmp_path):
        for text in ("3", "null", '"a"', "true"):
            with pytest.raises(InputError, match=r"m\.json holds neither"):
                load_scores(write(tmp_path / "m.json", text))
        with pytest.raises(InputError, match="no arrays with one value for each example"):
            load_scores(write(tmp_path / "m.json", "{}"))
        with pytest.raises(InputError, match=r"m\.json: there are 3 ids for 2 examples"):
            load_scores(write(tmp_path / "m.json", '{"id": [1, 2, 3], "margin": [1, 2]}'))
        np.savez(tmp_path / "m.npz", ids=["a", "b"], margin=np.zeros((2, 2)), loss=np.ones(2))
        with pytest.raises(InputError, match=r"'margin' has the shape \(2, 2\)"):
            load_scores(tmp_path / "m.npz")
        assert load_scores(tmp_path / "m.npz", score="loss").kind == "loss"
        with pytest.raises(InputError, match="is a model, not its scores"):
            load_scores(write(tmp_path / "m.onnx", ""))
        with pytest.raises(InputError, match="`kind` is 3"):
            Scores(values=[1.0], kind=3)
        with pytest.raises(InputError, match="another scale"):
            Scores(values=[1e300, 1.0], kind="loss")

    def test_yes_and_no(self, tmp_path):
        scores = load_scores(write(tmp_path / "m.csv", "id,correct\n a ,yes\nb,No\n"))
        assert (scores.ids, scores.values.tolist()) == (("a", "b"), [1.0, 0.0])

    def test_wrong_names(self, tmp_path):
        path = write(tmp_path / "m.csv", "id,margin,topic\na,1,\nb,2,x\n")
        with pytest.raises(InputError, match=r"no column 'loss' \(`score`\)"):
            load_scores(path, score="loss")
        with pytest.raises(InputError, match=r"no column 'repo' \(`classes`\); it has 'id', 'margin', 'topic'"):
            load_scores(path, classes="repo")
        with pytest.raises(InputError, match="1 of 2 examples have no 'topic'"):
            load_scores(path, classes="topic")
        with pytest.raises(InputError, match="does not exist"):
            load_scores(tmp_path / "none.csv")
        with pytest.raises(InputError, match="suffix"):
            load_scores(write(tmp_path / "m.txt", ""))

    def test_packed_text(self, tmp_path):
        text = "id,margin\na,1\nb,-2\n"
        plain = load_scores(write(tmp_path / "m.csv", text))
        (tmp_path / "m.csv.gz").write_bytes(gzip.compress(text.encode()))
        packed = load_scores(tmp_path / "m.csv.gz")
        assert (packed.ids, packed.values.tolist(), packed.kind) == (plain.ids, plain.values.tolist(), plain.kind)
        assert packed.name == plain.name == "m"
        (tmp_path / "m.jsonl.gz").write_bytes(gzip.compress(b'{"id": "a", "margin": 1}\n{"id": "b", "margin": -2}\n'))
        assert load_scores(tmp_path / "m.jsonl.gz").values.tolist() == [1.0, -2.0]
        (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(text.encode())[:-6])
        with pytest.raises(InputError, match=r"cut.csv.gz is damaged or cut short"):
            load_scores(tmp_path / "cut.csv.gz")

    def test_formats_agree(self, tmp_path):
        ids, values = ["a", "b", "c"], [0.5, 1.25, -2.0]
        expected = Scores(values=values, kind="margin", ids=ids)
        np.savez(tmp_path / "m.npz", ids=ids, margin=values, other=np.zeros((2, 2)))
        rows = [{"id": i, "margin": v} for i, v in zip(ids, values, strict=True)]
        write(tmp_path / "m.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        write(tmp_path / "rows.json", json.dumps(rows))
        write(tmp_path / "arrays.json", json.dumps({"id": ids, "margin": values}))
        write(tmp_path / "m.tsv", "id\tmargin\n" + "".join(f"{r['id']}\t{r['margin']}\n" for r in rows))
        for name in ("m.npz", "m.jsonl", "rows.json", "arrays.json", "m.tsv"):
            assert load_scores(tmp_path / name).digest() == expected.digest(), name

    def test_parquet(self, tmp_path):
        arrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(arrow.table({"id": ["a", "b"], "loss": [0.5, 2.0]}), tmp_path / "m.parquet")
        assert load_scores(tmp_path / "m.parquet").turned.tolist() == [-0.5, -2.0]

    def test_pick(self):
        scores = Scores(values=[1.0, 2.0, 3.0], kind="margin", ids=["a", "b", "c"], classes=["x", "y", "x"])
        part = scores.pick(["c", "a"])
        assert (part.values.tolist(), part.ids, part.classes.tolist()) == ([3.0, 1.0], ("c", "a"), ["x", "x"])
        with pytest.raises(InputError, match="no score for 1 of 2 examples, the first 'z'"):
            scores.pick(["a", "z"])
        with pytest.raises(InputError, match="no ids"):
            Scores(values=[1.0], kind="margin").pick(["a"])

    def test_split(self, tmp_path):
        scores = Scores(values=[1.0, 2.0, 3.0], kind="margin", ids=["a", "b", "c"], source="m.csv")
        ids = read_id_list(write(tmp_path / "ids.txt", "\ufeffID\n b\n\nc\n"))
        assert ids == ["b", "c"]
        test, control = scores.split(ids)
        assert (test.ids, control.ids, control.values.tolist()) == (("a",), ("b", "c"), [2.0, 3.0])
        for wrong, match in (
            (["z"], "1 of the control's 1 ids is not in m.csv, such as 'z'; its own are such as 'a'"),
            (["a", "b", "c"], "name every example of m.csv, so that no test set is left"),
            ([], "name no example of m.csv, so that no control is left"),
        ):
            with pytest.raises(InputError, match=match):
                scores.split(wrong)
        with pytest.raises(InputError, match="names 'a' more than once"):
            read_id_list(write(tmp_path / "ids.txt", "a\na\n"))
        with pytest.raises(InputError, match="is empty"):
            read_id_list(write(tmp_path / "ids.txt", "id\n"))


class TestLmEval:
    def test_margin_by_hand(self):
        """First document: options at -0.6229 and -0.7418, of which the second is the target."""
        path = only(DATA / "lm_eval" / "example__alpha", "*choice*")
        scores = load_scores(path)
        assert scores.kind == "margin"
        assert scores.ids[0] == "sums_choice/0"
        assert scores.values[0] == pytest.approx(-0.7418 + 0.6229)
        assert load_scores(path, score="log_likelihood").values[0] == -0.7418
        assert scores.n_options.tolist() == [2.0] * 6

    @pytest.mark.parametrize("model", ["example__alpha", "example__beta"])
    def test_agrees_with_the_harness(self, model):
        """Two options: the margin is positive exactly where `acc` is 1, and correctness is the pool's."""
        path = only(DATA / "lm_eval" / model, "*choice*")
        marks = load_predictions(path).correct[0]
        assert (load_scores(path).values > 0).tolist() == marks.tolist()
        assert load_scores(path, score="correct").values.tolist() == marks.astype(float).tolist()
        assert load_scores(path, score="acc").kind == "correct"
        assert load_scores(path).correct.tolist() == marks.tolist()

    def test_three_options(self, choice):
        """Log-odds of the target among the options: the likeliest need not be likelier than all others together."""
        lls = [math.log(p) for p in (0.4, 0.35, 0.25)]

        def three(row):
            row |= {"filtered_resps": [[str(x), "False"] for x in lls], "target": "0", "acc": 1.0}
            return row

        change(choice, three)
        scores = load_scores(choice)
        assert scores.values == pytest.approx([math.log(0.4 / 0.6)] * 6)
        assert scores.is_right.all()

    def test_target_by_text(self, choice):
        before = load_scores(choice)
        change(choice, lambda row: {**row, "target": row["doc"]["choices"][int(row["target"])]})
        assert load_scores(choice).values.tolist() == before.values.tolist()

    def test_target_by_verdict(self, choice):
        """As for Winogrande, whose options differ in the question: the continuation is the same."""
        before = load_scores(choice)

        def same(row):
            row["arguments"] = {key: {**arg, "arg_1": " x"} for key, arg in row["arguments"].items()}
            return {**row, "target": "x"}

        change(choice, same)
        assert load_scores(choice).values.tolist() == before.values.tolist()

    def test_target_that_is_not_told(self, choice):
        """A reading that contradicts the verdict is none; without any, right and wrong are what is left."""

        def unknown(row):
            row["filtered_resps"].append(["-9.0", "False"])
            return {**row, "target": "somewhere"}

        change(choice, unknown)
        assert load_scores(choice).kind == "correct"
        with pytest.raises(InputError, match=r"no margin can be read.*choose one of 'acc', 'acc_norm' \(`score`"):
            load_scores(choice, score="margin")

    def test_older_versions(self, choice):
        before = load_scores(choice)

        def older(row):
            row["filtered_resps"] = [[float(ll), greedy == "True"] for ll, greedy in row["filtered_resps"]]
            row["arguments"] = [list(arg.values()) for arg in row["arguments"].values()]
            del row["metrics"], row["filter"]
            return {**row, "target": int(row["target"])}

        change(choice, older)
        assert load_scores(choice).values.tolist() == before.values.tolist()

    def test_whole_texts(self, choice):
        def rolling(row):
            del row["acc"], row["acc_norm"]
            return {
                **row,
                "filtered_resps": ["-123.5"],
                "metrics": ["word_perplexity"],
                "word_perplexity": [-123.5, 20],
            }

        change(choice, rolling)
        scores = load_scores(choice)
        assert scores.kind == "log_likelihood"
        assert scores.values.tolist() == [-123.5] * 6

    def test_perplexity_of_the_harness_is_a_log_likelihood(self, choice):
        """For `loglikelihood` tasks the harness writes the log-likelihood under the name perplexity."""

        def lambada(row):
            return {
                **row,
                "filtered_resps": [["-3.25", "False"]],
                "metrics": ["perplexity", "acc"],
                "perplexity": -3.25,
            }

        change(choice, lambada)
        assert load_scores(choice).values.tolist() == [-3.25] * 6
        with pytest.raises(InputError, match="no perplexity is below 1"):
            load_scores(choice, score="perplexity")

    def test_pooled_tasks(self):
        scores = load_scores(DATA / "lm_eval" / "example__alpha", score=",strict-match", classes="task")
        assert scores.kind == "correct"  # not every task has likelihoods
        assert set(scores.classes.tolist()) == {"sums_choice", "sums_written"}
        pool = load_predictions(DATA / "lm_eval" / "example__alpha", metric=",strict-match")
        assert (scores.ids, scores.values.tolist()) == (pool.ids, pool.correct[0].astype(float).tolist())

    def test_refused(self, choice):
        with pytest.raises(InputError, match="samples of 2 models, 'example__alpha', 'example__beta'"):
            load_scores(DATA / "lm_eval", score=",strict-match")
        with pytest.raises(InputError, match=r"choose one with the score, such as `score=\",strict-match\"`"):
            load_scores(DATA / "lm_eval" / "example__alpha")
        with pytest.raises(InputError, match=r"no score 'f1' in every task.*'margin', 'log_likelihood', 'correct'"):
            load_scores(choice, score="f1")
        with pytest.raises(InputError, match="no filter 'loose'"):
            load_scores(choice, score=",loose")


class TestInspect:
    @pytest.mark.parametrize("kind", ["json", "eval"])
    def test_right_and_wrong(self, kind):
        path = DATA / "inspect" / kind / f"alpha.{kind}"
        scores, pool = load_scores(path), load_predictions(path)
        assert scores.kind == "correct"
        assert (scores.ids, scores.values.tolist()) == (pool.ids, pool.correct[0].astype(float).tolist())
        assert scores.name == "mockllm/alpha"

    def change(self, tmp_path, function):
        log = json.loads((DATA / "inspect" / "json" / "alpha.json").read_text())
        for i, sample in enumerate(log["samples"]):
            sample["scores"] = function(i)
        return write(tmp_path / "log.json", json.dumps(log))

    def test_likelihoods_where_the_log_holds_them(self, tmp_path):
        path = self.change(
            tmp_path, lambda i: {"match": {"value": "C"}, "target_perplexity": {"value": 0.5 + i, "metadata": {}}}
        )
        scores = load_scores(path)
        assert (scores.kind, scores.turned.tolist()) == ("loss", [-0.5, -1.5, -2.5])
        assert load_scores(path, score="match").kind == "correct"

    def test_several_values(self, tmp_path):
        path = self.change(tmp_path, lambda i: {"mine": {"value": {"logprob": -1.0 - i, "style": 3 + i}}})
        assert load_scores(path).values.tolist() == [-1.0, -2.0, -3.0]
        assert load_scores(path, score="mine.style", larger_is="better").values.tolist() == [3.0, 4.0, 5.0]
        with pytest.raises(InputError, match="larger 'style' is better or worse"):
            load_scores(path, score="mine.style")
        path = self.change(tmp_path, lambda i: {"mine": {"value": {"a": 1, "b": 2}}})
        with pytest.raises(InputError, match=r'`score="mine\.a"`'):
            load_scores(path)

    def test_partial_counts_half(self, tmp_path):
        path = self.change(tmp_path, lambda i: {"score": {"value": "CPI"[i]}})
        assert load_scores(path, larger_is="better").values.tolist() == [1.0, 0.5, 0.0]

    def test_refused(self, tmp_path):
        with pytest.raises(InputError, match="logs of 2 models"):
            load_scores(DATA / "inspect" / "json")
        with pytest.raises(InputError, match="1 of 3 samples have no score, the first 'sums/sum-1'"):
            load_scores(self.change(tmp_path, lambda i: {"match": {"value": None if i == 1 else "C"}}))
        with pytest.raises(InputError, match="which is not a number"):
            load_scores(self.change(tmp_path, lambda i: {"match": {"value": "green"}}))
        with pytest.raises(InputError, match=r"was scored by 'a', 'b'; choose one with `score`"):
            load_scores(self.change(tmp_path, lambda i: {"a": {"value": 1}, "b": {"value": 0}}))
        with pytest.raises(InputError, match=r"epochs.*`score=\"match,1\"`"):
            load_scores(DATA / "inspect" / "epochs.eval", score="match")
