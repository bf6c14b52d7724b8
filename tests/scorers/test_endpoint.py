"""An endpoint is asked: a real server, in good and in bad moods."""

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.scorers.choices import Chooser, Shown
from tests.scorers.asking import items, model, questions
from tests.scorers.standin import StandIn


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


def test_what_would_end_alike_is_not_said_to_go_on(tmp_path):
    for options, server in (({}, StandIn(mood="thinking")), ({"logprobs": True}, StandIn(logprobs="ignored"))):
        with server, pytest.raises(InputError) as caught:
            model(server, tmp_path, **options).choose(questions(2))
        assert "run this again" not in str(caught.value)
