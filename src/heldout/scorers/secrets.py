"""What must not be shown: a key, and what an address and further fields of a request may hold."""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

HIDDEN = "[hidden]"
LONG = 8  # characters; shorter secrets may be words, and are hidden only where they stand alone
RUN = 12  # characters of a secret that are too many to be shown, where an endpoint repeats a part of it
PLAIN = frozenset({  # fields of a request, and of an address, that are never secret: how a model was asked
    "api-version", "budget_tokens", "effort", "enable_thinking", "frequency_penalty", "logprobs",
    "max_completion_tokens", "max_tokens", "min_p", "presence_penalty", "reasoning_effort", "repetition_penalty",
    "seed", "service_tier", "stop", "temperature", "thinking_budget", "top_k", "top_logprobs", "top_p", "type",
    "verbosity",
})  # fmt: skip
LOGGERS = ("httpx", *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")))


def bare_address(url: str) -> str:
    """An address without what may be secret.

    Examples
    --------
    >>> bare_address("https://me:pass@host/v1?api-version=7&api-key=Q")
    'https://[hidden]@host/v1?api-version=7&api-key=[hidden]'
    """
    try:
        scheme, place, path, query, fragment = urlsplit(url)
    except ValueError:
        return HIDDEN
    if "@" in path or (query and not scheme):  # no address, but perhaps a mistyped one
        return HIDDEN
    user, at, host = place.rpartition("@")
    pairs = (pair.partition("=") for pair in query.split("&"))
    shown = [f"{name}={value if name in PLAIN else HIDDEN}" if equals else HIDDEN for name, equals, value in pairs]
    return urlunsplit(
        (
            scheme,
            f"{HIDDEN if user else ''}{at}{host}",
            path,
            "&".join(shown) if query else "",
            HIDDEN if fragment else "",
        )
    )


def plain_fields(value: Any, name: str = "") -> Any:
    """Fields of a request without what may be secret: any text or number under a name that is not known.

    Examples
    --------
    >>> plain_fields({"reasoning_effort": "low", "api_key": "X", "thinking": {"on": True, "pin": 7}})
    {'reasoning_effort': 'low', 'api_key': '[hidden]', 'thinking': {'on': True, 'pin': '[hidden]'}}
    """
    if isinstance(value, Mapping):
        return {key: plain_fields(each, str(key)) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_fields(each, name) for each in value]
    return value if value is None or isinstance(value, bool) or name in PLAIN else HIDDEN


class Secrets:
    """All that one endpoint is told in confidence.

    Parameters
    ----------
    key : str
        Shown as [key].
    url : str
        With a name and a password perhaps, and secrets in its query.
    extra : mapping, optional
        Further fields of a request.

    Examples
    --------
    >>> secrets = Secrets("sk-7f3a9c21", "http://me:pass@host/v1", {"user": "none"})
    >>> secrets.hide("sk-7f3a9c21 and pass are wrong, compass and nonetheless are not")
    '[key] and [hidden] are wrong, compass and nonetheless are not'
    >>> Secrets("sk-7f3a9c21b50d66e1").hide("You sent sk-7f3a9c21b50..., and 7f3a9c21b50d66 before.")
    'You sent [hidden]..., and [hidden] before.'
    >>> secrets.hide_in_answer("none of sk-7f3a9c21")
    'none of [key]'
    """

    def __init__(self, key: str, url: str = "", extra: Mapping[str, Any] | None = None) -> None:
        parts = urlsplit(url)
        user = parts.netloc.rpartition("@")[0]
        told = [user, *user.partition(":")[::2], basic(user)] if user else []
        for name, value in parse_qsl(parts.query, keep_blank_values=True):
            told += [] if name in PLAIN else [value or name]  # ?SECRET has no value
        told += _texts(extra or {})
        spelled = {form: HIDDEN for text in told for form in _spellings(text)}
        self._shown = spelled | dict.fromkeys(_spellings(key), "[key]")
        self._all = _pattern(self._shown)
        self._runs = {text[i : i + RUN] for text in self._shown for i in range(len(text) - RUN + 1)}
        self._long = _pattern([text for text in self._shown if len(text) >= LONG])

    def __repr__(self) -> str:
        return f"Secrets({len(self._shown)})"

    def hide(self, text: str) -> str:
        """A text that is shown to somebody; it must not have been cut before."""
        return self._hide_parts(self._hide(self._all, text))

    def _hide_parts(self, text: str) -> str:
        begins = [i for i in range(len(text) - RUN + 1) if text[i : i + RUN] in self._runs]
        within = {i + j for i in begins for j in range(RUN)}
        shown = (HIDDEN if i - 1 not in within else "" for i in range(len(text)) if i in within)
        return "".join(next(shown) if i in within else letter for i, letter in enumerate(text)) if within else text

    def hide_in_answer(self, text: str) -> str:
        """What a model wrote, which may hold a short secret as a word; options must have been read from it before."""
        return self._hide(self._long, text)

    def _hide(self, pattern: re.Pattern[str] | None, text: str) -> str:
        return text if pattern is None else pattern.sub(lambda match: self._shown[match[0]], text)

    @contextlib.contextmanager
    def out_of_logs(self, url: str, address: str) -> Iterator[None]:
        """httpx tells its log the whole address of each request: meanwhile, without what is secret."""

        def hidden(record: logging.LogRecord) -> bool:
            message = record.getMessage()
            shown = self.hide(message.replace(url, address))
            if shown != message:
                record.msg, record.args = shown, ()
            return True

        loggers = [logging.getLogger(name) for name in LOGGERS]
        for logger in loggers:
            logger.addFilter(hidden)
        try:
            yield
        finally:
            for logger in loggers:
                logger.removeFilter(hidden)


def basic(user: str) -> str:
    """A name and a password as a header has them.

    Examples
    --------
    >>> basic("me:pass")
    'bWU6cGFzcw=='
    """
    name, _, password = user.partition(":")
    return base64.b64encode(f"{unquote(name)}:{unquote(password)}".encode()).decode()


def _texts(value: Any, name: str = "") -> list[str]:
    """What may be secret among the fields of a request; numbers of a few digits are none."""
    if isinstance(value, Mapping):
        return [text for key, each in value.items() for text in _texts(each, str(key))]
    if isinstance(value, (list, tuple)):
        return [text for each in value for text in _texts(each, name)]
    if value is None or isinstance(value, bool) or name in PLAIN:
        return []
    return [str(value)] if isinstance(value, str) or len(str(value)) >= 4 else []


def _spellings(text: str) -> set[str]:
    """As it is, and as addresses and JSON spell it."""
    return {form for form in (text, unquote(text), quote(text, safe=""), json.dumps(text)[1:-1]) if form.strip()}


def _pattern(texts: Any) -> re.Pattern[str] | None:
    """Any of them, the longest first; short ones where they stand alone."""
    forms = [
        re.escape(text) if len(text) >= LONG else rf"(?<!\w){re.escape(text)}(?!\w)"
        for text in sorted(texts, key=len, reverse=True)
    ]
    return re.compile("|".join(forms)) if forms else None
