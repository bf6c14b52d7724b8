"""What an endpoint is told in confidence is shown nowhere."""

import logging

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.scorers import EndpointChooser
from heldout.scorers.choices import Shown
from tests.scorers.asking import KEY, model, questions
from tests.scorers.standin import StandIn


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
