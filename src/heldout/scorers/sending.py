"""One request at a time to an endpoint, sent again where it is busy or fails."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from heldout._version import __version__
from heldout.errors import InputError
from heldout.scorers.choices import Shown
from heldout.scorers.completions import Answer
from heldout.scorers.responses import CONNECT_TIMEOUT, AgainError, Responses, StrangeError
from heldout.scorers.waiting import Line

if TYPE_CHECKING:
    import httpx

LATE = 1.05  # of the whole of an answer; httpx minds the time between two bytes, and tells what it waited for


class Sender:
    """Sends to one address.

    Parameters
    ----------
    target : str
        The address, with its query.
    responses : Responses
        Reads what comes back.
    authorization : str
        The header of that name; empty for none.
    concurrency : int
        Requests at the same time.
    max_retries : int
        How often a request is sent again.
    """

    def __init__(
        self, target: str, responses: Responses, *, authorization: str, concurrency: int, max_retries: int
    ) -> None:
        self._httpx, self._responses = responses.httpx, responses
        self._target = self._httpx.URL(target)
        self._authorization = authorization
        self._concurrency, self._max_retries = concurrency, max_retries
        timeout = responses.timeout
        limits = self._httpx.Timeout(timeout, connect=min(timeout, CONNECT_TIMEOUT), pool=None)
        self._limits = {"timeout": limits.as_dict()}
        self._reached = False  # whether there was an answer
        self.is_known = False  # whether there was one, now or in an earlier run

    @property
    def address(self) -> str:
        """Without secrets."""
        return self._responses.address

    def secrets_out_of_logs(self) -> contextlib.AbstractContextManager[None]:
        """Inside, logs of what is sent tell no secret."""
        return self._responses.secrets.out_of_logs(str(self._target), self.address)

    def client(self) -> httpx.AsyncClient:
        """Connections, for one loop."""
        headers = {"content-type": "application/json", "user-agent": f"heldout/{__version__}"}
        if self._authorization:
            headers["authorization"] = self._authorization
        limits = self._httpx.Limits(
            max_connections=self._concurrency, max_keepalive_connections=self._concurrency, keepalive_expiry=60.0
        )
        local = self._target.host in ("localhost", "127.0.0.1", "::1")
        client: httpx.AsyncClient = self._httpx.AsyncClient(
            headers=headers,
            limits=limits,
            verify=self._target.scheme == "https",  # loading certificates takes as long as many requests
            trust_env=not local,  # a proxy cannot reach this machine's own server
        )
        return client

    async def answer(self, client: httpx.AsyncClient, line: Line, one: Shown, content: bytes) -> Answer:
        """To one question, however often it takes to ask.

        Raises
        ------
        RefusedError, StoppedError, InputError
            Where it is refused; where nothing is sent any more; where it was sent often enough.
        """
        request = self._httpx.Request(
            "POST", self._target, headers=client.headers, content=content, extensions=self._limits
        )  # what client.post does, less what nothing here needs: 3 % of its time
        tries, answered = 0, line.answered
        while True:
            await line.turn()
            try:
                async with asyncio.timeout(LATE * self._responses.timeout):
                    response = await client.send(request)
                answer = self._responses.read(response, one)
                self._reached = self.is_known = True
                return answer
            except AgainError as again:
                if isinstance(again, StrangeError) and not self.is_known:
                    raise again.unfit from None
                reason, way_out, wait = again.reason, again.way_out, again.wait
                if wait is not None:
                    line.hold(wait)
                if again.busy and line.answered > answered:  # others get through: patience
                    tries, answered = 0, line.answered
                most = self._max_retries
            except (self._httpx.RequestError, TimeoutError) as error:
                (reason, way_out), wait = self._responses.absent(error), None
                most = self._max_retries if self._reached else min(1, self._max_retries)  # most likely the address
                if isinstance(error, (self._httpx.UnsupportedProtocol, self._httpx.LocalProtocolError)):
                    most = 0
            if tries >= most:
                times = f" (tried {tries + 1} times)" if tries else ""
                raise InputError(f"{self._responses.address} {reason}{times}{way_out}")
            tries += 1
            await line.pause(wait, tries)
