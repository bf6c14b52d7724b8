"""Whatever comes back from an endpoint, or does not, is an answer or a sentence."""

import socket
import ssl

import httpx
import pytest

from heldout.errors import InputError
from heldout.scorers import EndpointChooser, waiting
from tests.scorers.asking import model, questions
from tests.scorers.standin import MOODS, StandIn


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


@pytest.mark.parametrize("mood", ["torn", "empty", "other", "text", "nothing", "html"])
def test_what_is_no_answer_is_asked_for_again_once_there_was_one(mood, monkeypatch):
    """A proxy that breaks off for a moment does not end a run; on first contact it is most likely another address."""
    monkeypatch.setattr(waiting, "FIRST_WAIT", 0.01)
    shown = questions(6)
    with StandIn() as server:
        whole = model(server).choose(shown)

    class Hiccup(StandIn):
        n_odd = 0

        async def _respond(self, *given):
            if self.answered.total() >= 3 and self.n_odd < 2:
                self.n_odd += 1
                return MOODS[mood]
            return await super()._respond(*given)

    with Hiccup() as server:
        assert model(server, max_retries=2).choose(shown) == whole
        assert server.n_odd == 2
    with StandIn(mood=mood) as server, pytest.raises(InputError, match=r"is not the protocol .* base address"):
        model(server, max_retries=2).choose(shown)
    assert server.statuses.total() <= 1


def test_what_stays_no_answer_is_told_and_what_there_is_is_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(waiting, "FIRST_WAIT", 0.01)
    shown = questions(6)
    with StandIn(mood="torn", after=4) as server:
        told = r"answers with '.*' instead of JSON \(tried 3 times\); try again later\. \d answers are kept"
        with pytest.raises(InputError, match=told):
            model(server, tmp_path, max_retries=2, concurrency=1).choose(shown)
        with pytest.raises(InputError, match=r"instead of JSON \(tried 3 times\); try again later\."):
            model(server, tmp_path, max_retries=2, concurrency=1).choose(shown)  # known from the earlier run
