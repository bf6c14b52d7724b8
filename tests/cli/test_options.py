"""`heldout options` as a user meets it."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from heldout import load, options, read_items
from heldout.cli import main
from heldout.scorers import EndpointChooser
from tests.manual import OPTION_SCORES
from tests.multiple_choice.tiny_models import benchmark, save_model, write_items
from tests.scorers.standin import StandIn

FEW = ("--resamples", "199", "--n-jobs", "1")


@pytest.fixture
def run(capsys):
    def call(*argv) -> tuple[int, str, str]:
        code = main(["options", *map(str, argv)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    """Sixty questions, as a file and as rows."""
    path, rng = tmp_path_factory.mktemp("options") / "items.jsonl", np.random.default_rng(0)
    trees = ["oak", "ash", "elm", "fir"]
    rows = [
        {"id": f"q{i}", "question": f"Which tree is number {i}?", "answer": int(rng.integers(4)),
         "options": [f"{trees[j]} {i}" for j in rng.permutation(4)]}
        for i in range(60)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path, rows


def endpoint(server, cache, *more):
    return ("--endpoint", server.url, "--model", "stand-in", "--cache", cache, "--yes", *FEW, *more)


def test_an_endpoint_that_has_memorised_is_found(run, items, tmp_path):
    path, rows = items
    with StandIn(rows, memorised=0.8) as server:
        code, out, err = run(path, *endpoint(server, tmp_path / "answers", "--json", "--out", tmp_path / "out"))
        found = json.loads(out)
        assert (code, found["verdict"], found["n_orders"]) == (0, "depends on the printed order", 9)
        assert found["p_values"]["ranks"] <= 0.01
        assert (found["n_repeated"], found["repeat_rate"], found["unparsed"]) == (50, 1.0, 0)
        assert server.answered.total() == 60 * 9 + 50
        told = found["asked"]
        assert told["address"] == f"{server.url.rstrip('/')}/chat/completions"
        assert (told["temperature"], told["max_tokens"], len(told["model_digest"])) == ("0.0", "16", 16)
        assert told["address"] in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
        assert "590 calls: about" in err
        assert "report:" in err
        model = EndpointChooser(server.url, "stand-in", cache=tmp_path / "answers")
        assert options(read_items(path), model, n_resamples=199) == load(tmp_path / "out")
        assert server.answered.total() == 60 * 9 + 50, "nothing is paid for twice"


def test_no_secret_of_the_command_line_is_kept_or_told(run, items, tmp_path, monkeypatch, caplog):
    path, rows = items
    caplog.set_level("DEBUG")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-7f3a9c21")
    secret = ("hunter", "aHVu", "QUERY-1", "FIELD-2", "sk-7f3a9c21")
    with StandIn(rows) as server:
        url = server.url.replace("//", "//me:hunter@") + "?api-key=QUERY-1"
        extra = json.dumps({"api_key": "FIELD-2", "reasoning_effort": "low"})
        given = (
            "--model",
            "stand-in",
            "--cache",
            tmp_path / "answers",
            "--yes",
            "--items",
            "20",
            "--orders",
            "2",
            *FEW,
        )
        code, out, err = run(path, "--endpoint", url, f"--extra={extra}", *given, "--out", tmp_path / "out")
        assert (code, server.bodies[0]["api_key"]) == (0, "FIELD-2")
        server.mood = "echo"
        told = run(path, "--endpoint", url, "--extra", extra, *given, "--seed", "1", "--debug")
    assert told[0] == 2
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"//[hidden]@127.0.0.1:{server.port}/v1?api-key=[hidden]" in page
    assert "[hidden]" in told[2]
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) >= 3
    for text in (out, err, told[2], caplog.text, *(file.read_bytes().decode("latin-1") for file in files)):
        assert not [each for each in secret if each in text]


def test_an_honest_endpoint_without_log_probabilities(run, items, tmp_path):
    path, rows = items
    with StandIn(rows, logprobs="refused", vary=0.3, says="The answer is ({letter}).") as server:
        code, out, _ = run(path, *endpoint(server, tmp_path, "--json", "--orders", "5", "--items", "50"))
    found = json.loads(out)
    assert (code, found["verdict"], found["n_items"], found["n_orders"]) == (0, "no dependence found", 50, 6)
    assert found["p_values"]["ranks"] is None
    assert 0.3 < found["repeat_rate"] < 1


def test_a_question_that_is_refused_does_not_end_the_run(run, items, tmp_path):
    path, rows = items
    with StandIn(rows, refuses={"number 7?": 400}) as server:
        code, out, _ = run(path, *endpoint(server, tmp_path, "--json", "--repeats", "0"))
        assert (code, json.loads(out)["unparsed"], json.loads(out)["refused"]) == (0, 9, 9)
        _, out, err = run(path, *endpoint(server, tmp_path, "--repeats", "0"))
    assert "9 of 540 (1.7 %) of the answers, 1 as printed, 9 refused by the endpoint; count as wrong" in " ".join(
        out.split()
    ).replace("\N{NO-BREAK SPACE}", " ")
    assert "0 calls: all 540 answers are kept from before" in err


def test_one_answer_that_is_cut_off(run, items, tmp_path, monkeypatch):
    path, rows = items
    monkeypatch.setattr(EndpointChooser, "cut_off", property(lambda self: 1))
    with StandIn(rows) as server:
        _, _, err = run(path, *endpoint(server, tmp_path, "--items", "20", "--orders", "2", "--repeats", "0"))
    assert "1 answer was cut off before it named an option; raise --max-tokens." in err


def test_nothing_is_asked_before_somebody_says_yes(run, items, tmp_path, monkeypatch):
    path, rows = items
    with StandIn(rows) as server:
        given = [a for a in endpoint(server, tmp_path, "--price", "0.15", "0.6", "--items", "8") if a != "--yes"]
        code, out, err = run(path, *given)
        assert (code, out) == (2, "")
        assert "122 calls: about" in err
        assert "for about 0.00 at most" in err
        assert err.splitlines()[-1] == "heldout: no terminal to confirm on; add --yes to send the requests."

        class Terminal(io.StringIO):
            def isatty(self):
                return True

        monkeypatch.setattr("sys.stdin", Terminal("n\n"))
        assert run(path, *given)[0] == 2
        assert server.answered.total() == 0
        monkeypatch.setattr("sys.stdin", Terminal("y\n"))
        assert run(path, *given)[0] == 0
        assert server.answered.total() == 8 * 9 + 50
        assert run(path, *given)[0] == 0, "where nothing costs, nobody is asked"
        assert server.answered.total() == 8 * 9 + 50


def test_a_stopped_run_asks_for_no_answer_twice(items, tmp_path):
    path, rows = items
    with StandIn(rows, latency=0.02) as server:
        given = endpoint(server, tmp_path / "answers", "--repeats", "0", "--json")
        command = [sys.executable, "-m", "heldout", "options", str(path), *map(str, given)]
        process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while server.answered.total() < 100 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (130, "")
        assert "every answer is kept: the same command asks only for the others." in err
        before = server.answered.total()
        assert 100 <= before < 540
        done = subprocess.run(command, text=True, capture_output=True, check=True, timeout=120)
        assert json.loads(done.stdout)["n_answers"] == 540
        assert set(server.answered.values()) == {1}
        assert server.answered.total() == 540


@pytest.mark.parametrize(
    ("how", "says"),
    [
        (
            {"says": "I cannot say.", "logprobs": "ignored"},
            "in any of 50 answers, the last of which is 'I cannot say",
        ),
        ({"mood": "html", "after": 40}, "answers are kept: run this again to go on from there."),
    ],
)
def test_endpoints_that_misbehave(run, items, tmp_path, how, says):
    path, rows = items
    with StandIn(rows, **how) as server:
        code, out, err = run(path, *endpoint(server, tmp_path, "--retries", "1"))
    assert (code, out) == (2, "")
    assert says in err.splitlines()[-1]
    assert "Traceback" not in err


def test_a_gate(run, items, tmp_path):
    path, rows = items
    with StandIn(rows, memorised=0.8) as server:
        given = (path, *endpoint(server, tmp_path, "--orders", "4"))
        code, _, err = run(*given, "--fail-under", "0.01")
        assert code == 1
        assert "is below --fail-under 0.01: the score depends on the printed order." in err
        code, _, err = run(*given, "--fail-under", "0.001")
        assert code == 2
        assert "--fail-under 0.001 can never be reached: with --resamples 199 no p is below 0.005" in err
        assert run(*given, "--fail-under", "0.01", "--mid-p")[0] == 2
    with StandIn(rows, memorised=0.05) as server:
        given = (path, *endpoint(server, tmp_path / "little", "--orders", "4"))
        p = json.loads(run(*given, "--json")[1])["p_value"]
        error = (p * (1 - p) / 199) ** 0.5
        for off, code, told in ((-1, 0, True), (1, 1, True), (-3, 0, False), (3, 1, False)):
            got, _, err = run(*given, "--fail-under", p + off * error)
            assert (got, "another seed could decide otherwise. More --resamples decide it." in err) == (code, told)
    rows = [{**row, "options": sorted(row["options"])} for row in rows]
    (tmp_path / "sorted.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with StandIn(rows, memorised=0.8) as server:
        given = endpoint(server, tmp_path / "sorted", "--orders", "4", "--fail-under", "0.01")
        code, _, err = run(tmp_path / "sorted.jsonl", *given)
    assert code == 1
    assert "The printed orders are not arbitrary" in err, "which a pipeline must hear, too"
    scores = np.log(np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.5, 0.3, 0.2]] * 20)) - np.arange(60)[:, None] / 7
    np.savez(tmp_path / "alone.npz", original_loglik=scores, original_target=[0, 1, 2] * 20,
             permuted_loglik=scores[:, ::-1], permuted_target=[2, 1, 0] * 20)  # fmt: skip
    code, out, err = run("--runs", tmp_path / "alone.npz", *FEW, "--fail-under", "0.01", "--format", "junit")
    assert code == 1
    assert "--fail-under 0.01 cannot be judged: the verdict is 'not applicable'." in err
    assert 'failures="1"' in out
    assert 'skipped="1"' in run("--runs", tmp_path / "alone.npz", *FEW, "--format", "junit")[1]


@pytest.mark.skipif(not OPTION_SCORES.exists(), reason="needs ../shared/data/llm_option_scores.npz")
def test_scores_of_a_language_model(run):
    code, out, _ = run("--runs", OPTION_SCORES, "--task", "mmlu", *FEW, "--json")
    found = json.loads(out)
    assert (code, found["positions"]["counts"]) == (0, {"4": [19, 16, 25, 42]})
    assert found["positions"]["p_value"] == pytest.approx(0.001, abs=3e-4)
    assert found["verdict"] == "no dependence found"
    for task in ("arc", "hellaswag", "truthfulqa"):
        code, out, _ = run("--runs", OPTION_SCORES, "--task", task, *FEW, "--json")
        assert (code, json.loads(out)["verdict"]) == (0, "not applicable")
        assert "by itself" in json.loads(out)["reason"]


def verdicts(run, folder, seed, n=300):
    """p of a model that has memorised a benchmark as printed, and of its honest twin."""
    printed = benchmark(n, seed=seed)
    write_items(printed, folder / "items.jsonl")
    found = []
    for name, known in (("memoriser", printed), ("twin", None)):
        save_model(folder / name, seed=seed, printed=known)
        code, out, _ = run(folder / "items.jsonl", "--hf", folder / name, "--json", "--quiet", "--n-jobs", "1")
        assert code == 0
        found.append(json.loads(out))
    return found


def test_a_trained_memoriser_is_found_and_its_twin_is_not(run, tmp_path):
    memoriser, twin = verdicts(run, tmp_path, 0, n=150)
    assert memoriser["n_resamples"] == 9999
    assert memoriser["p_value"] <= 1e-3
    assert memoriser["verdict"] == "depends on the printed order"
    assert twin["p_value"] > 0.05
    assert twin["verdict"] == "no dependence found"


@pytest.mark.slow
def test_twenty_memorisers_and_their_twins(run, tmp_path):
    found = []
    for seed in range(20):
        (tmp_path / str(seed)).mkdir()
        found.append([one["p_value"] for one in verdicts(run, tmp_path / str(seed), seed)])
    known, honest = np.array(found).T
    assert (known <= 1e-3).all()
    assert (honest > 0.05).sum() >= 18
