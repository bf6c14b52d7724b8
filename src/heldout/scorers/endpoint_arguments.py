"""What an `EndpointChooser` is given, checked at the door."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from heldout.checks import check_count
from heldout.errors import InputError, told
from heldout.scorers.completions import PATHS, TOKENS, TOPS, Api, Settings
from heldout.scorers.secrets import basic

_RATE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:/|per)\s*(s|sec|second|min|minute)\s*")
_KEY = re.compile(r"key|token|secret|password|sig|auth|code", re.IGNORECASE)
_OWN = {  # fields of a request that have an argument of their own, which plans and caches go by
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "temperature": "temperature",
    "logprobs": "logprobs",
    "top_logprobs": "logprobs",
}
_OURS = {"model", "messages", "prompt", "stream", "n", "best_of"}


def api(api: Api) -> Api:
    """A protocol that there is."""
    if api not in PATHS:
        raise InputError(f"`api` is {api!r}; it must be 'chat' or 'completions'.")
    return api


def model(name: str) -> str:
    """A name that is not empty."""
    if not name.strip():
        raise InputError("`model` is empty; give the model's name at the endpoint.")
    return name


def address(url: str, api: Api, httpx: Any) -> tuple[str, str]:
    """Where requests go, a query included but no name and password, and the same without what may be secret.

    Examples
    --------
    >>> import httpx
    >>> address("http://localhost:8000", "chat", httpx)[1]
    'http://localhost:8000/v1/chat/completions'
    >>> address("https://me:secret@host/openai/v1/?api-version=7", "completions", httpx)
    ('https://host/openai/v1/completions?api-version=7', 'https://host/openai/v1/completions')
    """
    try:
        found = httpx.URL(url)
    except (httpx.InvalidURL, TypeError, ValueError):
        found = None
    if found is None or found.scheme not in ("http", "https") or not found.host:
        shown = "the given one" if set("@?#") & set(str(url)) else repr(url)  # which may hold a password
        raise InputError(f"`url`: {shown} is not an address; give one such as http://localhost:8000/v1.")
    path = found.path.rstrip("/")
    if path.endswith("/completions"):  # the whole of it
        if path.endswith("/chat/completions") != (api == "chat"):
            raise InputError(f"`url` ends in {path}, but `api` is {api!r}; leave out the end of the one or the other.")
    else:
        path = f"{path or '/v1'}/{PATHS[api]}"
    full = found.copy_with(path=path, fragment=None, userinfo=b"")
    return str(full), str(full.copy_with(query=None))


def identity(target: str) -> str:
    """Which endpoint answers: its address with its query, less keys, which may change without changing the model.

    Examples
    --------
    >>> identity("https://host/v1/completions?deployment=a&api-key=Q")
    'https://host/v1/completions?deployment=a'
    >>> identity("https://host/v1/completions?api-key=Q")
    'https://host/v1/completions'
    """
    bare, _, query = target.partition("?")
    kept = [f"{name}={value}" for name, value in parse_qsl(query, keep_blank_values=True) if not _KEY.search(name)]
    return f"{bare}?{'&'.join(sorted(kept))}" if kept else bare


def key(given: str | None, variable: str) -> str:
    """The key, which may be missing: servers of one's own have none."""
    key = os.environ.get(variable) if given is None else given
    if key is None:
        if variable != "OPENAI_API_KEY":
            name = variable if re.fullmatch("[A-Z][A-Z0-9]*(_[A-Z0-9]+)*", variable) else "a name"  # or the key itself
            raise InputError(f"`key_variable` is {name}, but that environment variable is not set.")
        return ""
    key = key.strip()
    if not key.isascii() or not key.isprintable() or " " in key:  # never shown, and never as a header
        where = f"the environment variable {variable}" if given is None else "`api_key`"
        raise InputError(f"{where} does not hold a key: it has blanks, or letters that a key cannot have.")
    return key


def authorization(url: str, key: str) -> str:
    """The header of that name: the name and the password in an address, or else the key; empty for neither.

    Examples
    --------
    >>> authorization("https://me:pass@host/v1", "sk-1"), authorization("https://host/v1", "sk-1")
    ('Basic bWU6cGFzcw==', 'Bearer sk-1')
    """
    user = urlsplit(url).netloc.rpartition("@")[0]
    if user:
        return f"Basic {basic(user)}"
    return f"Bearer {key}" if key else ""


def spacing(rate: float | str | None) -> float:
    """Seconds from one request to the next.

    Examples
    --------
    >>> spacing(4), spacing("90/min"), spacing(None)
    (0.25, 0.6666666666666666, 0.0)
    """
    if rate is None:
        return 0.0
    if isinstance(rate, str) and (match := _RATE.fullmatch(rate)):
        number = float(match[1]) / (60.0 if match[2].startswith("min") else 1.0)
    else:
        try:
            number = float(rate)
        except (TypeError, ValueError):
            number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"`rate` is {rate!r}; give requests per second, or a text such as '90/min'.")
    return 1.0 / number


def seconds(value: float, name: str) -> float:
    """A time that is not nothing."""
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"`{name}` is {value}; it must be a number of seconds above 0.")
    return float(value)


def settings(api: Api, *, logprobs: bool | None, temperature: float | None, max_tokens: int | None) -> Settings:
    """What is asked for before it is known what the endpoint takes.

    Examples
    --------
    >>> settings("chat", logprobs=False, temperature=0.0, max_tokens=None)
    Settings(top=None, temperature=0.0, tokens=16, tokens_field='max_tokens')
    """
    if temperature is not None and not (math.isfinite(temperature) and temperature >= 0):
        raise InputError(f"`temperature` is {temperature}; it must be 0 or larger.")
    return Settings(
        top=None if logprobs is False else TOPS[0],
        temperature=temperature,
        tokens=TOKENS[api] if max_tokens is None else check_count(max_tokens, "max_tokens"),
    )


def extra(extra: Mapping[str, Any] | None) -> dict[str, Any]:
    """Fields of a request that nothing else sets."""
    found = dict(extra or {})
    for name in sorted(found.keys() & _OWN.keys()):
        raise InputError(f"`extra` holds {name!r}, which has an argument of its own; use `{_OWN[name]}`.")
    for name in sorted(found.keys() & _OURS):
        raise InputError(f"`extra` holds {name!r}, which is not yours to set here; leave it out.")
    try:
        json.dumps(found, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InputError(f"`extra` cannot be written as JSON ({told(error)}).") from error
    return found


def price(price: Sequence[float] | None) -> tuple[float, float] | None:
    """Two numbers, of tokens in and out."""
    if price is None:
        return None
    try:
        pair = [float(each) for each in price]
    except (TypeError, ValueError):
        pair = []
    if len(pair) != 2 or not all(math.isfinite(each) and each >= 0 for each in pair):
        raise InputError(f"`price` is {price!r}; give two prices per million tokens, of prompts and of completions.")
    return pair[0], pair[1]


def folder(cache: str | Path | None) -> Path:
    """Where answers are kept."""
    if cache is not None:
        return Path(cache)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "heldout" / "answers"
