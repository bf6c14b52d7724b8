"""What an endpoint takes is found with the first question that it answers."""

import pytest

from heldout.errors import InputError
from heldout.scorers.choices import UNPARSED
from tests.scorers.asking import KEY, items, model, questions
from tests.scorers.standin import StandIn


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
