"""An endpoint is asked: a real server, in good and in bad moods."""

import asyncio
import logging
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest

from heldout.errors import InputError
from heldout.scorers import EndpointChooser, endpoint, waiting
from heldout.scorers.choices import UNPARSED, Chooser, Shown
from heldout.scorers.completions import Settings, read_response
from heldout.scorers.prompts import CHAT, prompt
from tests.scorers.standin import StandIn

KEY = "sk-very-secret-7f3a"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(waiting, "FIRST_WAIT", 0.01)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def questions(n=12, k=4):
    """Each in its printed order and turned by one."""
    options = [tuple(f"option {i} {j}" for j in range(k)) for i in range(n)]
    return [Shown(f"Question {i}?", o) for i in range(n) for o in (options[i], options[i][1:] + options[i][:1])]


def items(n=12, k=4):
    return [
        {"question": one.question, "options": one.options, "answer": i % k}
        for i, one in enumerate(questions(n, k)[::2])
    ]


def model(server, cache=False, **options):
    return EndpointChooser(server.url, "stand-in", cache=cache, **options)


def test_answers_and_scores():
    shown = questions()
    told = []
    with StandIn(items(), memorised=1.0, latency=0.03) as server:
        chooser = model(server)
        choices = chooser.choose(shown, told.append)
        wanted = [np.array(server.scores(one.question, list(one.options))) for one in shown]
    assert isinstance(chooser, Chooser)
    assert [c.chosen for c in choices] == [int(w.argmax()) for w in wanted]
    assert all(c.chosen == i % 4 for i, c in enumerate(choices[::2])), "memorised as printed"
    for choice, scores in zip(choices, wanted, strict=True):
        np.testing.assert_allclose(choice.log_probs, scores - np.log(np.exp(scores).sum()), atol=1e-12)
    assert sum(told) == len(shown)
    assert server.answered.total() == len(shown) == chooser.answered
    assert chooser.tokens[1] == len(shown)
    assert 1 < server.most_at_once <= 8
    asked = [body["messages"][0]["content"].partition("?")[0] for body in server.bodies]
    assert asked != sorted(asked, key=lambda q: int(q.split()[1])), "shuffled"
    settings = [{k: v for k, v in body.items() if k != "messages"} for body in server.bodies]
    assert all(each == settings[0] for each in settings)
    assert settings[0]["temperature"] == 0


@pytest.mark.parametrize(
    ("kind", "settings", "scored"),
    [
        ({}, {"max_tokens": 16, "temperature": 0.0, "logprobs": True, "top_logprobs": 20}, True),
        ({"logprobs": "few"}, {"max_tokens": 16, "temperature": 0.0, "logprobs": True, "top_logprobs": 5}, True),
        ({"logprobs": "refused"}, {"max_tokens": 16, "temperature": 0.0}, False),
        ({"logprobs": "ignored"}, {"max_tokens": 16, "temperature": 0.0, "logprobs": True, "top_logprobs": 20}, False),
        ({"newer": True}, {"max_completion_tokens": 16}, False),
    ],
)
def test_what_an_endpoint_takes_is_found_once(tmp_path, kind, settings, scored):
    shown = questions(4)
    with StandIn(items(4), says="The answer is ({letter})." if not scored else "{letter}", **kind) as server:
        chooser = model(server, tmp_path)
        choices = chooser.choose(shown)
        assert chooser.settings == settings
        assert all((c.log_probs is not None) == scored and c.chosen != UNPARSED for c in choices)
        refused = server.statuses.total() - server.answered.total()
        assert model(server, tmp_path).choose(shown) == choices
        assert model(server, tmp_path).choose(questions(5))[: len(shown)] == choices
        assert server.statuses.total() - server.answered.total() == refused, "not tried again"
        assert max(server.answered.values()) == 1
        if not scored:
            with pytest.raises(InputError, match=r"log-probabilities.*leave.*only the test of ranks is not applicable"):
                model(server, logprobs=True).choose(shown)


def test_completions_of_a_base_model():
    shown = questions(4)
    with StandIn(items(4)) as server:
        chooser = model(server, api="completions")
        choices = chooser.choose(shown)
        assert [c.chosen for c in choices] == [
            int(np.argmax(server.scores(one.question, list(one.options)))) for one in shown
        ]
    assert choices[0].log_probs is not None
    assert server.bodies[0]["prompt"].endswith("\nAnswer:")
    assert server.bodies[0]["logprobs"] == 20


def logprobs_response(tops, text="B"):
    listed = [{"token": token, "logprob": score} for token, score in tops.items()]
    step = {**listed[0], "top_logprobs": listed}
    return {"choices": [{"message": {"content": text}, "logprobs": {"content": [step]}}]}


def test_letters_that_are_not_listed_count_with_half_of_the_last_probability():
    shown = Shown("?", tuple("wxyz"))
    answer = read_response(logprobs_response({"B": -0.2, "A": -2.0, "The": -4.0, " A": -5.0}), shown, "chat")
    raw = np.exp([-2.0, -0.2, -5.0, -5.0]) * [1, 1, 0.5, 0.5] + [np.exp(-5.0), 0, 0, 0]
    np.testing.assert_allclose(answer.log_probs, np.log(raw / raw.sum()))
    for tops in ({"B": 0.0, "A": -9999.0}, {"B": 0.0, "A": -np.inf}):
        assert np.isfinite(read_response(logprobs_response(tops), shown, "chat").log_probs).all()
    refusal = read_response(logprobs_response({"I": -0.1, "B": -3.0}, "I cannot say."), shown, "chat")
    assert refusal.log_probs is None
    assert refusal.chosen(shown.options, "chat") == UNPARSED


def test_refusals_are_answers_and_are_wrong():
    with StandIn(says="I'm sorry, but I can't help with that.") as server:
        assert {c.chosen for c in model(server).choose(questions(3))} == {UNPARSED}
    with StandIn(mood="filter") as server:
        assert {c.chosen for c in model(server).choose(questions(3))} == {UNPARSED}


def test_questions_that_are_refused_by_themselves_are_wrong(tmp_path):
    shown = questions(30)
    refuses = {"Question 7?": 400, "Question 11?": 403, "Question 19?": 413, "Question 23?": 422}
    with StandIn(refuses=refuses) as server:
        chooser = model(server, tmp_path, api_key=KEY)
        choices = chooser.choose(shown)
        refused = [one.question in refuses for one in shown]
        assert [c.chosen == UNPARSED for c in choices] == refused
        assert chooser.refused == sum(refused) == 8
        assert all(c.log_probs is not None for c, not_told in zip(choices, refused, strict=True) if not not_told)
        asked = len(server.began)
        again = model(server, tmp_path, api_key=KEY)
        assert again.choose(shown) == choices
        assert (again.refused, len(server.began)) == (8, asked + 2), "kept as well, but for 403: it may be the key"


@pytest.mark.parametrize("status", [400, 403])
def test_the_first_question_may_be_refused_but_not_all(tmp_path, status):
    with StandIn(refuses={"Question 0?": status}) as server:
        for seed in range(4):  # whichever is the first
            chooser = model(server, seed=seed)
            assert [c.chosen == UNPARSED for c in chooser.choose(questions(3))] == [True] * 2 + [False] * 4
            assert chooser.settings["top_logprobs"] == 20
    says = (
        r"refuses the key in `api_key` \(403: Invalid prompt"
        if status == 403
        else r"refuses all of 3 questions that were tried \(400: Invalid prompt"
    )
    with StandIn(refuses={"Question": status}) as server, pytest.raises(InputError, match=says):
        model(server, tmp_path, api_key=KEY).choose(questions(9))
    with StandIn(mood=str(status), after=20) as server:
        says = "refuses the key" if status == 403 else r"refuses the question .*\(400.*\), and 10 more: too many"
        with pytest.raises(InputError, match=rf"{says}.* answers are kept"):
            model(server, tmp_path, api_key=KEY, concurrency=1).choose(questions(30))
        server.mood = ""
        chooser = model(server, tmp_path)
        assert all(c.chosen != UNPARSED for c in chooser.choose(questions(30))), "no refusal of a broken run is kept"


def test_draws_are_asked_for_by_themselves_and_the_same_only_once(tmp_path):
    one = questions(1)[0]
    again = Shown(one.question, one.options, draw=1)
    with StandIn(vary=1.0, seed=3) as server:
        first, same, second = model(server, tmp_path).choose([one, one, again])
        assert server.answered.total() == 2
        assert first == same
        kept = model(server, tmp_path)
        assert str(kept.plan([one, again])) == "0 calls: all 2 answers are kept from before"
        assert kept.choose([again, one]) == [second, first]
        assert server.answered.total() == 2


def test_the_day_of_each_answer_is_kept(tmp_path, monkeypatch):
    shown = questions(1)
    with StandIn() as server:
        for day, asked in (("2026-03-01", shown[:1]), ("2026-05-09", shown)):
            monkeypatch.setattr(endpoint, "today", lambda day=day: day)
            chooser = model(server, tmp_path)
            chooser.choose(asked)
    assert chooser.days(shown) == ["2026-03-01", "2026-05-09"]


def test_busy_and_failing_endpoints_are_asked_again():
    shown = questions(20)
    with StandIn(every={5: 500, 7: 429, 11: 0}) as server:
        assert len(model(server).choose(shown)) == 40
    assert server.answered.total() == 40
    assert all(server.statuses[status] for status in (500, 429, 0))


def test_patience_with_a_rate_limit():
    with StandIn(limit=(4, 0.1)) as server:
        model(server, max_retries=2).choose(questions(10))  # being told to wait is no failure while others get through
    assert server.answered.total() == 20
    assert server.statuses[429] > 0


def test_rate():
    with StandIn() as server:
        began = time.monotonic()
        model(server, rate="3000/min").choose(questions(5))
    assert server.statuses == {200: 10}
    assert server.began[-1] - began >= 0.02 * 9


def test_rate_after_a_pause():
    async def sent():
        line, times = waiting.Line(asyncio.Event(), spacing=0.02, seed=0), []

        async def send():
            await line.turn()
            times.append(time.monotonic())

        tasks = [asyncio.create_task(send()) for _ in range(8)]
        await asyncio.sleep(0)  # the first is sent, the others have their places
        line.hold(0.2)
        await asyncio.gather(*tasks)
        return times

    times = asyncio.run(sent())
    assert times[1] - times[0] >= 0.19
    assert times[-1] - times[1] >= 0.06, "not all at once; a slow machine may be late for the first of them"


@pytest.mark.parametrize(
    ("mood", "sentence"),
    [
        ("401", r"requires a key \(401: stand-in is in a mood\); put it into the environment variable OPENAI"),
        ("404", r"is not there \(404: stand-in is in a mood\); `url` is what other clients call the base address"),
        ("500", r"fails \(500: stand-in is in a mood\) \(tried 3 times\); try again later\.$"),
        ("overloaded", r"answers with an error instead \(200: Overloaded\) \(tried 3 times\); try again later\.$"),
        ("422", r"refuses the question 'Question \d\?' \(422: stand-in is in a mood\)\."),
        ("html", "answers with a web page, perhaps one to log in, which is not the protocol"),
        ("stream", "answers with a stream, although none was asked for"),
        ("text", "answers with 'It works!' instead of JSON"),
        ("nothing", "answers with nothing, which is not"),
        ("torn", "instead of JSON"),
        ("other", "answers with JSON without `choices`"),
        ("empty", "answers with an empty list of `choices`"),
        ("moved", r"sends us to https://login.example/start \(302\)"),
        ("silent", r"broke off the connection \(.*\) \(tried 2 times\)\."),
        ("quota", r"the account has no credit left \(429: You exceeded it\)"),
        ("patience", r"asks for a pause of 86,400 seconds \(429: Tomorrow\); try again later"),
        ("router", r"fails \(502: Provider gone\) \(tried 3 times\)"),
        ("thinking", "stand-in wrote nothing within 16 tokens.*allow more with `max_tokens=4096`"),
        ("drip", r"gave no answer within 0.2 seconds \(tried 2 times\); raise `timeout` or lower `concurrency`\.$"),
        ("hang", r"gave no answer within 0.05 seconds \(tried 2 times\); raise `timeout` or lower `concurrency`\.$"),
    ],
)
def test_bad_moods_are_told_in_a_sentence(mood, sentence):
    with StandIn(mood=mood) as server, pytest.raises(InputError, match=sentence) as caught:
        model(server, max_retries=2, timeout={"hang": 0.05, "drip": 0.2}.get(mood, 5.0)).choose(questions(2))
    assert str(caught.value).count("\n") == 0


def test_models_that_reason_need_room(tmp_path):
    with StandIn(mood="thinking") as server:
        for _ in range(2):
            with pytest.raises(InputError, match="allow more"):
                model(server, tmp_path).choose(questions(2))
        assert len(server.began) == 1, "known from the first time"
        for tokens in (64, 16):  # also as many as by default, where they are asked for
            chooser = model(server, tmp_path, max_tokens=tokens)
            assert {c.chosen for c in chooser.choose(questions(2))} == {UNPARSED}
            assert chooser.cut_off == 4


def test_a_model_that_names_no_option_is_asked_no_more_the_second_time(tmp_path):
    with StandIn(says="Who knows?") as server:
        for _ in range(2):
            with pytest.raises(InputError, match=r"named no option in any of 50 answers.*`template`\.$"):
                model(server, tmp_path, concurrency=1).choose(questions(60))
            assert server.answered.total() == 50


def test_what_would_end_alike_is_not_said_to_go_on(tmp_path):
    for options, server in (({}, StandIn(mood="thinking")), ({"logprobs": True}, StandIn(logprobs="ignored"))):
        with server, pytest.raises(InputError) as caught:
            model(server, tmp_path, **options).choose(questions(2))
        assert "run this again" not in str(caught.value)


def test_absent_endpoints():
    with StandIn() as server:
        pass
    with pytest.raises(InputError, match=r"the connection is refused \(tried 2 times\); is the server running\?$"):
        model(server).choose(questions(1))
    with StandIn() as server, pytest.raises(InputError, match=r"does not speak TLS \(tried 2 times\); try http://"):
        EndpointChooser(server.url.replace("http:", "https:"), "m", cache=False).choose(questions(1))
    with (
        StandIn() as server,
        pytest.raises(InputError, match=r"has no model 'm' \(404: The model `m` does not exist\)"),
    ):
        EndpointChooser(server.url, "m", cache=False).choose(questions(1))


def test_names_and_certificates_are_told_apart(monkeypatch):
    chooser = EndpointChooser("https://nowhere.invalid/v1", "m", cache=False, max_retries=0)
    for cause, sentence in (
        (socket.gaierror(-2, "Name or service not known"), "the name nowhere.invalid is not known"),
        (ssl.SSLCertVerificationError("self-signed"), "has a certificate that is not valid here; set SSL_CERT_FILE"),
    ):

        async def fail(*_, cause=cause, **__):
            raise httpx.ConnectError("all attempts failed") from cause

        monkeypatch.setattr(httpx.AsyncClient, "send", fail)
        with pytest.raises(InputError, match=sentence):
            chooser.choose(questions(1))


def test_the_key_is_sent_and_shown_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with StandIn(key=KEY, says=f"{{letter}}, said {KEY}") as server:
        chooser = model(server, tmp_path)
        chooser.choose(questions(2))
        monkeypatch.setenv("MY_KEY", KEY + "-wrong")
        with pytest.raises(InputError, match=r"refuses the key in MY_KEY \(401: .*provided: \[key\]") as caught:
            model(server, key_variable="MY_KEY").choose(questions(2))
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b'"log_probs"' in written
    for text in (written.decode(), str(caught.value), repr(chooser), str(vars(chooser.plan([]))), chooser.digest()):
        assert KEY not in text
    with pytest.raises(InputError, match="`key_variable` is NO_KEY, but that environment variable is not set"):
        model(server, key_variable="NO_KEY")
    with pytest.raises(InputError, match="`api_key` does not hold a key") as caught:
        model(server, api_key="sk-a\nb")
    assert "sk-a" not in str(caught.value)


@pytest.mark.parametrize("mood", ["echo", "plain echo"])
def test_no_part_of_a_long_key_is_left_where_a_text_is_cut(mood):
    key = "".join(f"{i:02d}k" for i in range(30))
    with StandIn(mood=mood) as server, pytest.raises(InputError) as caught:
        model(server, api_key=key).choose(questions(1))
    assert "[key]" in str(caught.value)
    assert key[:6] not in str(caught.value)


def test_secrets_of_an_address_and_of_further_fields_are_not_told():
    with StandIn(mood="echo") as server:
        url = server.url.replace("//", "//me:pass%21word@") + "?api-key=Q&api-version=7"
        chooser = EndpointChooser(url, "m", cache=False, extra={"code": "X-1", "top_p": 0.25})
        with pytest.raises(InputError) as caught:
            chooser.choose(questions(1))
    assert "api-key=[hidden]&api-version=7" in str(caught.value)
    assert '"code":"[hidden]"' in str(caught.value)
    assert not any(secret in str(caught.value) for secret in ("pass", "word", "X-1", "=Q", "bWU6"))
    hidden = {"code": "[hidden]", "top_p": 0.25}
    assert chooser.settings == {"max_tokens": 16, "temperature": 0.0, "logprobs": True, "top_logprobs": 20, **hidden}


def test_the_log_of_httpx_tells_no_secret(caplog):
    caplog.set_level(logging.DEBUG)
    with StandIn() as server:
        url = server.url.replace("//", "//me:pass@") + "?api-key=Q"
        EndpointChooser(url, "stand-in", cache=False, api_key=KEY).choose(questions(2))
        assert server.authorized == {"Basic bWU6cGFzcw=="}
        assert server.answered.total() == 4
    assert f"POST {server.url}/chat/completions" in caplog.text
    assert not any(secret in caplog.text for secret in ("pass", "=Q", KEY, "bWU6"))
    assert not logging.getLogger("httpx").filters


@pytest.mark.parametrize("key", ["k", "none", "elephants"])
def test_a_key_that_is_a_word_changes_no_answer(tmp_path, key):
    shown = [Shown(f"Which is number {i}?", ("trunk", "none", "elephants", "k")) for i in range(12)]
    with StandIn(key=key, says="{text}", logprobs="refused") as server:
        choices = model(server, tmp_path, api_key=key).choose(shown)
        assert model(server, tmp_path, api_key=key).choose(shown) == choices, "as kept"
        wanted = [int(np.argmax(server.scores(one.question, list(one.options)))) for one in shown]
    assert [c.chosen for c in choices] == wanted
    assert len(set(wanted)) == 4
    assert {c.text for c in choices} == {"trunk", "none", "k", "[key]" if key == "elephants" else "elephants"}


def test_plan(tmp_path):
    shown = questions(6)
    with StandIn() as server:
        chooser = model(server, tmp_path, price=(1.0, 10.0))
        before = chooser.plan(shown)
        chooser.choose(shown[:5])
        after = chooser.plan(shown)
    assert (before.calls, before.cached, after.calls, after.cached) == (12, 0, 7, 5)
    assert before.completion_tokens == 12 * 16
    assert before.price == pytest.approx((before.prompt_tokens + 10 * before.completion_tokens) / 1e6)
    assert str(after).startswith("7 calls (5 answers are kept from before): about ")
    assert server.answered.total() == 5


def test_after_an_error_the_rest_is_asked_for_once_more_and_nothing_else(tmp_path):
    shown = questions(20)
    with StandIn(latency=0.01, mood="400", after=17) as server:
        with pytest.raises(InputError, match=r"refuses the question .*\d+ answers are kept: run this again to go on"):
            model(server, tmp_path).choose(shown)
        server.mood = ""
        assert len(model(server, tmp_path).choose(shown)) == 40
        assert server.answered.total() == 40, "those on their way were waited for"


def test_within_a_loop_that_runs():
    async def notebook():
        return model(server).choose(questions(2))

    with StandIn() as server:
        assert len(asyncio.run(notebook())) == 4


SCRIPT = """
import sys
import threading
from heldout.scorers import EndpointChooser
from tests.scorers.test_endpoint import questions
try:
    EndpointChooser(sys.argv[1], "stand-in", cache=sys.argv[2]).choose(questions(60))
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_asks_for_no_answer_twice(tmp_path, how):
    shown = questions(60)
    with StandIn(latency=(0.01, 0.03)) as server:
        root = Path(__file__).parents[2]
        env = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, server.url, str(tmp_path)], cwd=root, env=env)
        deadline = time.monotonic() + 60
        while server.answered.total() < 30 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(how)
        assert process.wait(30) == {signal.SIGKILL: -9, signal.SIGINT: 130}[how]
        chooser = model(server, tmp_path)
        missing = [one for one in shown if chooser.plan([one]).calls]
        assert 0 < len(missing) <= len(shown) - 22
        choices = chooser.choose(shown)
        assert chooser.answered == len(missing)
        times = np.array([server.answered[prompt(one, CHAT)] for one in shown])
        assert all(times[i] == 1 for i, one in enumerate(shown) if one not in missing), "what was kept is not asked for"
        assert times.min() == 1
        assert times.sum() - len(shown) <= (8 if how == signal.SIGKILL else 0), "those on their way when it was killed"
        assert choices == model(server).choose(shown), "the same answers as without a stop"


STOPPED = """
import os, signal, sys
from heldout.scorers import EndpointChooser, refusals
from tests.scorers.test_endpoint import questions
seen = refusals.Refusals.too_many
def too_many(self, key, status):
    if len(self.statuses) == 2:
        os.kill(os.getpid(), signal.SIGINT)
    return seen(self, key, status)
refusals.Refusals.too_many = too_many
try:
    EndpointChooser(sys.argv[1], "stand-in", cache=sys.argv[2]).choose(questions(60))
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_no_refusal_of_a_stopped_run_is_kept(tmp_path):
    refuses = {f"Question {i}?": 400 for i in range(20, 26)}
    with StandIn(latency=0.01, refuses=refuses) as server:
        root = Path(__file__).parents[2]
        env = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
        command = [sys.executable, "-c", STOPPED, server.url, str(tmp_path)]
        assert subprocess.run(command, cwd=root, env=env, check=False, timeout=60).returncode == 130
        (file,) = tmp_path.iterdir()
        assert '"text"' in file.read_text()
        assert "refused" not in file.read_text()


def test_stopped_before_there_is_a_loop(monkeypatch):
    stopped = threading.Event()

    class Late(ThreadPoolExecutor):
        def submit(self, work):
            future = super().submit(lambda: stopped.wait(10) and work())
            future.result = interrupt
            return future

    def interrupt():
        threading.Timer(0.05, stopped.set).start()  # the loop begins after Ctrl-C
        raise KeyboardInterrupt

    async def until_told(stop):
        await asyncio.wait_for(stop.wait(), 10)
        ends.append(stop.is_set())

    ends = []
    monkeypatch.setattr(waiting, "ThreadPoolExecutor", Late)
    with pytest.raises(KeyboardInterrupt):
        waiting.in_own_loop(until_told)
    assert ends == [True]


def test_two_runs_at_once_do_not_pay_for_the_same_answers(tmp_path):
    shown = questions(20)
    with StandIn(latency=0.02) as server, ThreadPoolExecutor(1) as pool:
        first = pool.submit(model(server, tmp_path).choose, shown)
        deadline = time.monotonic() + 60
        while server.answered.total() < 3 and time.monotonic() < deadline:
            time.sleep(0.002)
        second = model(server, tmp_path)
        with pytest.raises(InputError, match=r"`cache`: another run asks this model now .* wait until it has ended"):
            second.choose(shown)
        known = [one for one in shown if not second.plan([one]).calls]
        assert len(second.choose(known)) == len(known) > 0, "what is kept can be read meanwhile"
        choices = first.result()
        assert second.choose(shown) == choices
        assert server.answered.total() == len(shown)


def test_a_torn_line_is_ignored(tmp_path):
    shown = questions(3)
    with StandIn() as server:
        model(server, tmp_path).choose(shown)
        (file,) = tmp_path.iterdir()
        file.write_bytes(file.read_bytes()[:-20])
        chooser = model(server, tmp_path)
        chooser.choose(shown)
        assert chooser.answered == 1
        assert model(server, tmp_path).plan(shown).calls == 0


def test_what_is_kept_belongs_to_one_address_model_and_way_of_asking(tmp_path):
    shown = questions(2)
    with StandIn() as server, StandIn() as other:
        model(server, tmp_path).choose(shown)
        assert model(server, tmp_path).plan(shown).calls == 0
        ways = [
            {"temperature": 1.0},
            {"max_tokens": 3},
            {"template": "{question} {options}"},
            {"extra": {"top_p": 0.5}},
        ]
        assert all(model(server, tmp_path, **way).plan(shown).calls == 4 for way in [*ways, {"api": "completions"}])
        assert model(other, tmp_path).plan(shown).calls == 4
        first, second = (
            EndpointChooser(f"{server.url}?deployment={name}&api-key={name}", "stand-in", cache=tmp_path)
            for name in "ab"
        )
        first.choose(shown)
        assert (first.plan(shown).calls, second.plan(shown).calls) == (0, 4), "what the query names is another model"
        rotated = EndpointChooser(f"{server.url}?deployment=a&api-key=c", "stand-in", cache=tmp_path)
        assert rotated.plan(shown).calls == 0, "a new key is not"
        digests = {model(server, **way).digest() for way in [{}, *ways, {"concurrency": 3}, {"rate": 5}]}
        assert len(digests) == 1 + len(ways), "how fast it is asked does not matter"


@pytest.mark.parametrize(
    ("url", "options", "sentence"),
    [
        ("localhost:8000", {}, r"`url`: 'localhost:8000' is not an address"),
        ("ftp://me:secret@host", {}, r"`url`: the given one is not an address"),
        ("localhost:8000?api-key=Q", {}, r"`url`: the given one is not an address"),
        ("http://host", {"key_variable": "sk-7f3a"}, "`key_variable` is a name, but that environment variable is not"),
        ("http://host/v1/completions", {}, "`url` ends in /v1/completions, but `api` is 'chat'"),
        ("http://host", {"rate": "fast"}, "`rate` is 'fast'; give requests per second"),
        ("http://host", {"rate": 0}, "`rate` is 0"),
        ("http://host", {"timeout": 0}, "`timeout` is 0; it must be a number of seconds above 0"),
        ("http://host", {"concurrency": 0}, "`concurrency` is 0"),
        ("http://host", {"temperature": -1}, "`temperature` is -1"),
        ("http://host", {"price": (1.0,)}, "`price` is .* two prices per million tokens"),
        ("http://host", {"extra": {"model": "x"}}, "`extra` holds 'model'"),
        ("http://host", {"extra": {"best_of": 5}}, "`extra` holds 'best_of'"),
        ("http://host", {"extra": {"max_completion_tokens": 9}}, "an argument of its own; use `max_tokens`"),
        ("http://host", {"extra": {"top_logprobs": 2}}, "an argument of its own; use `logprobs`"),
        ("http://host", {"template": "{options}"}, r"`template` holds \{question\} 0 times"),
    ],
)
def test_arguments(url, options, sentence):
    with pytest.raises(InputError, match=sentence):
        EndpointChooser(url, "m", cache=False, **options)


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        StandIn() as server,
        pytest.raises(InputError, match=r"`cache`: .* cannot be written: .*; name another folder"),
    ):
        model(server, tmp_path / "file").choose(questions(1))


def test_settings_of_both_protocols():
    settings = Settings(top=5, temperature=None, tokens=1)
    assert settings.fields("chat") == {"max_tokens": 1, "logprobs": True, "top_logprobs": 5}
    assert settings.fields("completions") == {"max_tokens": 1, "logprobs": 5}
