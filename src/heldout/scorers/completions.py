"""The protocol of OpenAI-compatible endpoints: what is sent, and what is read from what comes back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from heldout.scorers.choices import UNPARSED, Shown
from heldout.scorers.letters import read_steps, scores_where_named
from heldout.scorers.prompts import CHAT, PLAIN, read_choice

Api = Literal["chat", "completions"]
PATHS: dict[Api, str] = {"chat": "chat/completions", "completions": "completions"}
TEMPLATES: dict[Api, str] = {"chat": CHAT, "completions": PLAIN}
TOKENS: dict[Api, int] = {"chat": 16, "completions": 5}  # enough for "The answer is (C)."
TOPS = (20, 5)  # how many tokens' log-probabilities are asked for: the most that OpenAI gives, and others
CODES = {"rate_limit_exceeded": 429, "server_error": 500, "invalid_api_key": 401}  # of errors without a status


class ProtocolError(Exception):
    """What came back is not of the protocol; the message says what it is instead."""


@dataclass(frozen=True)
class Settings:
    """What goes with each question.

    `top` tokens' log-probabilities, none where None; `temperature`, the endpoint's own where None; at most `tokens`,
    which newer models call `tokens_field`.
    """

    top: int | None
    temperature: float | None
    tokens: int
    tokens_field: str = "max_tokens"

    def fields(self, api: Api) -> dict[str, Any]:
        """As the protocol spells them."""
        found: dict[str, Any] = {self.tokens_field: self.tokens}
        if self.temperature is not None:
            found["temperature"] = self.temperature
        if self.top is not None:
            found |= {"logprobs": True, "top_logprobs": self.top} if api == "chat" else {"logprobs": self.top}
        return found


def milder(settings: Settings, complaint: str, *, logprobs: bool | None) -> Settings | None:
    """What to ask with instead where an endpoint refuses settings; None where nothing is left to give up.

    Examples
    --------
    >>> asked = Settings(top=20, temperature=0.0, tokens=16)
    >>> milder(asked, "'max_tokens' is not supported; use 'max_completion_tokens'.", logprobs=None).tokens_field
    'max_completion_tokens'
    >>> milder(asked, "top_logprobs must be at most 5", logprobs=None).top
    5
    >>> milder(asked, "this model does not support logprobs", logprobs=True) is None
    True
    """
    words = complaint.lower()
    if settings.tokens_field == "max_tokens" and "max_completion_tokens" in words:
        return replace(settings, tokens_field="max_completion_tokens")
    if settings.top is not None and "logprob" in words:
        fewer = [top for top in TOPS if top < settings.top]
        if fewer and any(word in words for word in ("top_logprobs", "at most", "less than", "maximum", "between")):
            return replace(settings, top=fewer[0])
        return None if logprobs else replace(settings, top=None)
    if settings.temperature is not None and "temperature" in words:
        return replace(settings, temperature=None)
    if settings.top is not None and not logprobs:  # a complaint that names nothing
        return replace(settings, top=None)
    return None


def frame(*, model: str, api: Api, settings: Settings, extra: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """The JSON of a request, before and after the text that is asked.

    Examples
    --------
    >>> frame(model="m", api="completions", settings=Settings(top=None, temperature=None, tokens=1), extra={})
    (b'{"max_tokens":1,"model":"m","prompt":', b',"stream":false}')
    """
    mark = "\0"
    asked = {"messages": [{"role": "user", "content": mark}]} if api == "chat" else {"prompt": mark}
    request = {"model": model, **asked, "stream": False, **settings.fields(api), **extra}
    before, _, after = json.dumps(request, sort_keys=True, separators=(",", ":")).partition(json.dumps(mark))
    return before.encode(), after.encode()


@dataclass(frozen=True)
class Answer:
    """What is kept of a response: `finish` is the reason why it ends, as the endpoint puts it.

    `named` is the option that was read from the text before something was hidden in it, None where nothing was.
    """

    text: str
    log_probs: tuple[float, ...] | None
    finish: str
    prompt_tokens: int
    completion_tokens: int
    named: int | None = None

    def record(self) -> dict[str, Any]:
        """As it is kept on disk."""
        return {name: value for name, value in vars(self).items() if name != "named" or value is not None}

    @classmethod
    def of(cls, record: Mapping[str, Any], n_options: int) -> Answer | None:
        """From disk; None where it is damaged."""
        text, scores, named = record.get("text"), record.get("log_probs"), record.get("named")
        if not isinstance(text, str):
            return None
        if named is not None and (not isinstance(named, int) or not UNPARSED <= named < n_options):
            return None
        if scores is not None and (not isinstance(scores, (list, tuple)) or len(scores) != n_options):
            return None
        try:
            found = None if scores is None else tuple(float(score) for score in scores)
            return cls(
                text=text,
                log_probs=found,
                finish=str(record.get("finish", "")),
                prompt_tokens=int(record.get("prompt_tokens", 0)),
                completion_tokens=int(record.get("completion_tokens", 0)),
                named=named,
            )
        except (TypeError, ValueError):
            return None

    def chosen(self, options: Sequence[str], api: Api) -> int:
        """The option that is named; a model that only continues text has chosen the letter it finds likeliest."""
        if self.named is not None:
            return self.named
        if api == "completions" and self.log_probs is not None:
            return max(range(len(options)), key=self.log_probs.__getitem__)
        return read_choice(self.text, options)


def read_response(payload: Any, shown: Shown, api: Api) -> Answer:
    """What a response says.

    Parameters
    ----------
    payload
        The response's JSON.
    shown : Shown
        What was asked.
    api : {"chat", "completions"}
        How.

    Returns
    -------
    Answer
        With log-probabilities of the letters where the response has them at the token that says which option it is.

    Raises
    ------
    ProtocolError
        Where it is not a response of the protocol.

    Examples
    --------
    >>> shown = Shown("Which is in Norway?", ("Rome", "Oslo"))
    >>> tops = [{"token": "B", "logprob": -0.1}, {"token": " B", "logprob": -3.0}, {"token": "A", "logprob": -3.5}]
    >>> logprobs = {"content": [{"token": "B", "logprob": -0.1, "top_logprobs": tops}]}
    >>> answer = read_response({"choices": [{"message": {"content": "B"}, "logprobs": logprobs}]}, shown, "chat")
    >>> answer.text, [round(score, 2) for score in answer.log_probs]
    ('B', [-3.48, -0.03])
    """
    if not isinstance(payload, dict) or "choices" not in payload:
        raise ProtocolError("JSON without `choices`")
    choices = payload["choices"]
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ProtocolError("an empty list of `choices`" if choices in ([], None) else "`choices` that hold no answer")
    first = choices[0]
    text = _text(first, api)
    usage = payload.get("usage")
    prompt_tokens, completion_tokens = (
        _count(usage.get(name)) if isinstance(usage, dict) else 0 for name in ("prompt_tokens", "completion_tokens")
    )
    return Answer(
        text=text,
        log_probs=_letter_scores(first, text, shown.options, api),
        finish=str(first.get("finish_reason") or ""),
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
    )


def _text(choice: Mapping[str, Any], api: Api) -> str:
    if api == "completions":
        text = choice.get("text")
    else:
        message = choice.get("message")
        if not isinstance(message, dict):
            raise ProtocolError("a choice without `message`")
        text = message.get("content") or message.get("refusal") or ""  # reasoning models have null where cut off
        if isinstance(text, list):  # parts of a message
            text = "".join(str(part.get("text", "")) for part in text if isinstance(part, dict))
    if not isinstance(text, str):
        raise ProtocolError("a choice without text")
    return text


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _letter_scores(choice: Mapping[str, Any], text: str, options: Sequence[str], api: Api) -> tuple[float, ...] | None:
    """Log-probabilities of the letters, at the token that names the option; of a base model that is the first."""
    steps = read_steps(choice.get("logprobs"))
    if not steps:
        return None
    if api == "completions":
        return steps[0].letter_scores(len(options))
    return scores_where_named(steps, read_choice(text, options), len(options))


def error_within(payload: Any) -> tuple[int, bytes] | None:
    """The status and the body of an error that came as a success, as routers send what went wrong behind them; the
    status is 200 where the error has none.

    Examples
    --------
    >>> error_within({"error": {"message": "Provider returned error", "code": 502}})
    (502, b'{"error": {"message": "Provider returned error", "code": 502}}')
    """
    if not isinstance(payload, dict):
        return None
    choices = payload.get("choices")
    inner = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else payload
    error = inner.get("error")
    if not error:
        return None
    code = error.get("code") if isinstance(error, dict) else None
    status = CODES.get(str(code), code)
    return (status if isinstance(status, int) and status >= 400 else 200), json.dumps({"error": error}).encode()


def complaint_of(content: bytes) -> tuple[str, str]:
    """What the body of an error says, whole, and its code, in whichever way the server spells them.

    Examples
    --------
    >>> complaint_of(b'{"error": {"message": "No such model.", "code": "model_not_found"}}')
    ('No such model.', 'model_not_found')
    >>> complaint_of(b'{"detail": "Not Found"}')
    ('Not Found', '')
    >>> complaint_of(b"<html><title>Sign in</title></html>")
    ('', '')
    """
    try:
        found = json.loads(content)
    except ValueError:
        text = content.decode("utf-8", "replace").strip()
        return ("" if text.startswith("<") else text), ""
    if isinstance(found, list) and found:
        found = found[0]
    inner = found.get("error", found) if isinstance(found, dict) else found
    if not isinstance(inner, dict):
        return str(inner), ""
    message = next((inner[key] for key in ("message", "detail", "error") if inner.get(key)), "")
    code = inner.get("code") or inner.get("type") or ""
    return (message if isinstance(message, str) else json.dumps(message)), str(code)


def first_line(text: str) -> str:
    """As much as fits into a sentence."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 240 else line[:240] + "…"
