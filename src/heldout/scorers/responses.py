"""What an endpoint's HTTP responses, or their absence, mean: an answer, another try, or a sentence for the user."""

from __future__ import annotations

import email.utils
import json
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from heldout.errors import InputError, told
from heldout.scorers.choices import Shown
from heldout.scorers.completions import (
    Answer,
    Api,
    ProtocolError,
    complaint_of,
    error_within,
    first_line,
    read_response,
)
from heldout.scorers.secrets import Secrets, bare_address

if TYPE_CHECKING:
    import httpx

CONNECT_TIMEOUT = 10.0
MOST_PATIENCE = 600.0  # an endpoint that wants us to wait longer is given up on; the cache keeps what there is
RETRIED = {408, 409, 425, 429}  # and 500 and above
SETTINGS = ("max_tokens", "max_completion_tokens", "temperature")  # that a complaint may be about
BASE = "`url` is what other clients call the base address, such as http://localhost:8000/v1"


class AgainError(Exception):
    """Busy or broken for now; `wait` is how long the endpoint wants us to."""

    def __init__(self, reason: str, wait: float | None, *, busy: bool) -> None:
        super().__init__(reason)
        self.reason, self.wait, self.busy = reason, wait, busy
        self.way_out = "; lower `concurrency` or `rate`, or raise `max_retries`." if busy else "; try again later."


class StrangeError(AgainError):
    """A response that is not of the protocol: of an address that gave answers before, broken for now.

    `unfit` is what it means where there was no answer yet: that the address is another one's.
    """

    def __init__(self, what: str, unfit: InputError) -> None:
        super().__init__(f"answers with {what}", None, busy=False)
        self.unfit = unfit


class RefusedError(Exception):
    """The request itself is refused, with its settings perhaps; `complaint` is as it came, and not to be shown.

    `otherwise` is what it means where other requests are refused alike, if that is neither settings nor question.
    """

    def __init__(self, status: int, complaint: str, said: str, otherwise: InputError | None = None) -> None:
        super().__init__(f"({status}{said})")
        self.status, self.complaint, self.otherwise = status, complaint, otherwise


@dataclass(frozen=True)
class Responses:
    """Reads them, in the name of the one who asked.

    Parameters
    ----------
    address : str
        Of the endpoint, without secrets.
    model : str
        The name of the model.
    api : {"chat", "completions"}
        The protocol.
    secrets : Secrets
        Never shown, also where the endpoint repeats them.
    has_key : bool
        Whether there is a key.
    key_from : str
        Where the key is from, or would be.
    timeout : float
        Of a request.
    httpx : module
        Which is an extra.
    """

    address: str
    model: str
    api: Api
    secrets: Secrets
    has_key: bool
    key_from: str
    timeout: float
    httpx: Any

    def __repr__(self) -> str:
        return f"Responses({self.address!r})"

    def read(self, response: httpx.Response, one: Shown) -> Answer:
        """The answer in a response.

        Raises
        ------
        AgainError, RefusedError, InputError
            Later perhaps; not with these settings; not at all.
        """
        status, content = response.status_code, response.content
        if status == 200:
            payload = self._payload(response)
            error = error_within(payload)
            if error is None:
                try:
                    answer = read_response(payload, one, self.api)
                except ProtocolError as problem:
                    self._not_protocol(str(problem))
                hidden = self.secrets.hide_in_answer(answer.text)
                if hidden == answer.text:
                    return answer
                return replace(answer, text=hidden, named=answer.chosen(one.options, self.api))
            status, content = error
        complaint, code = complaint_of(content)
        return self._judge(status, complaint, code, response.headers)

    def _judge(self, status: int, complaint: str, code: str, headers: Mapping[str, str]) -> Answer:
        said = self._said(complaint)
        if code == "content_filter":  # which depends on the order shown, and is an answer: a wrong one
            return Answer("", None, "content_filter", 0, 0)
        if "logprob" in complaint.lower() and status != 429:
            raise RefusedError(status, complaint, said)
        if code == "insufficient_quota" or status == 402:
            raise InputError(
                f"{self.address} says that the account has no credit left ({status}{said}); run this again when it has."
            )
        if status == 200 and not any(name in complaint.lower() for name in SETTINGS):
            raise AgainError(f"answers with an error instead ({status}{said})", retry_after(headers), busy=False)
        if status in RETRIED or status >= 500:
            wait = retry_after(headers)
            if wait is not None and wait > MOST_PATIENCE:
                raise InputError(
                    f"{self.address} asks for a pause of {wait:,.0f} seconds ({status}{said}); try again later."
                )
            kind = "is too busy" if status == 429 else "fails"
            raise AgainError(f"{kind} ({status}{said})", wait, busy=status == 429)
        if status in (401, 403):
            way_out = f"put it into the environment variable {self.key_from}"
            error = InputError(
                f"{self.address} refuses the key in {self.key_from} ({status}{said}); is it for this endpoint?"
                if self.has_key
                else f"{self.address} requires a key ({status}{said}); {way_out}."
            )
            if status == 403:  # or moderation of one question
                raise RefusedError(status, complaint, said, error)
            raise error
        if status in (404, 405):
            if "model" in complaint.lower():
                raise InputError(
                    f"{self.address} has no model {self.model!r} ({status}{said}); `model` must be its name there."
                )
            raise InputError(f"{self.address} is not there ({status}{said}); {BASE}.")
        if 300 <= status < 400:
            to = self.secrets.hide(bare_address(headers.get("location", "elsewhere").partition("?")[0]))
            raise InputError(f"{self.address} sends us to {to} ({status}); if that is the endpoint, give it as `url`.")
        raise RefusedError(status, complaint, said)

    def _said(self, complaint: str) -> str:
        """What the endpoint complains about, without secrets; cut only then, or half of one would stay."""
        shown = first_line(self.secrets.hide(complaint))
        return f": {shown.rstrip('.')}" if shown else ""

    def _payload(self, response: httpx.Response) -> Any:
        """The JSON of a response, or an error about what it is instead."""
        try:
            return json.loads(response.content)
        except ValueError:
            self._not_protocol(self._instead(response))

    def _instead(self, response: httpx.Response) -> str:
        kind, head = response.headers.get("content-type", ""), response.content[:200].lstrip()
        if kind.startswith("text/event-stream") or head.startswith(b"data:"):
            return "a stream, although none was asked for"
        if kind.startswith("text/html") or head[:14].lower().startswith((b"<!doctype", b"<html")):
            return "a web page, perhaps one to log in"
        text = self.secrets.hide(response.content.decode("utf-8", "replace")).lstrip()
        return f"{text[:40]!r} instead of JSON" if text else "nothing"

    def _not_protocol(self, what: str) -> NoReturn:
        which = "chat completions" if self.api == "chat" else "completions"
        raise StrangeError(
            what,
            InputError(f"{self.address} answers with {what}, which is not the protocol of OpenAI's {which}; {BASE}."),
        )

    def absent(self, error: Exception) -> tuple[str, str]:
        """Why there was no response, in words that follow the address, and the way out, which ends the sentence."""
        causes = list(_causes(error))
        if isinstance(error, self.httpx.ConnectTimeout):
            return f"cannot be reached: no connection within {min(self.timeout, CONNECT_TIMEOUT):g} seconds", "."
        if isinstance(error, (self.httpx.TimeoutException, TimeoutError)):
            return f"gave no answer within {self.timeout:g} seconds", "; raise `timeout` or lower `concurrency`."
        if any(isinstance(cause, socket.gaierror) for cause in causes):
            return f"cannot be reached: the name {self.httpx.URL(self.address).host} is not known", "."
        if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
            return "has a certificate that is not valid here", "; set SSL_CERT_FILE to one that signs it."
        if any(isinstance(cause, ssl.SSLError) for cause in causes):
            return "does not speak TLS", "; try http:// instead of https://."
        if isinstance(error, self.httpx.ConnectError):
            return "cannot be reached: the connection is refused", "; is the server running?"
        return f"broke off the connection ({self.secrets.hide(told(error))})", "."


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, what caused it, and what that was made of."""
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        each = todo.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            yield each
            todo += [each.__cause__, each.__context__, *getattr(each, "exceptions", ())]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a response asks for.

    Examples
    --------
    >>> retry_after({"retry-after": "2"}), retry_after({"retry-after-ms": "250"}), retry_after({})
    (2.0, 0.25, None)
    >>> retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"})
    0.0
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name, "")
        try:
            return max(0.0, float(value) / unit)
        except ValueError:
            pass
        try:
            return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
        except (ValueError, TypeError):
            continue
    return None
