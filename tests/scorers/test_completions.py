"""The protocol of OpenAI-compatible endpoints is spoken as they speak it."""

import numpy as np

from heldout.scorers.choices import UNPARSED, Shown
from heldout.scorers.completions import Settings, read_response


def test_settings_of_both_protocols():
    settings = Settings(top=5, temperature=None, tokens=1)
    assert settings.fields("chat") == {"max_tokens": 1, "logprobs": True, "top_logprobs": 5}
    assert settings.fields("completions") == {"max_tokens": 1, "logprobs": 5}


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
