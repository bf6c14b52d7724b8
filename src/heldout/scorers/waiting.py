"""Requests that wait for their turn, in a loop of their own."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds before the first retry, doubled for each further one
GRACE = 5.0  # seconds that answers on their way have after Ctrl-C: they are paid for


class StoppedError(Exception):
    """Another request failed for good, or Ctrl-C was pressed."""


class Line:
    """Where requests wait for their turn: `spacing` seconds apart, and not while the endpoint wants a pause.

    `answered` counts those that came to an end, for those who wonder whether it is worth trying again.
    """

    def __init__(self, stop: asyncio.Event, *, spacing: float, seed: int) -> None:
        self.answered = 0
        self._stop, self._spacing = stop, spacing
        self._next = self._not_before = 0.0
        self._jitter = random.Random(seed)

    async def turn(self) -> None:
        """Wait for a place in the line."""
        start = -1.0
        while start < self._not_before:  # at first, and after a pause in which a place has passed
            start = max(time.monotonic(), self._next, self._not_before)
            self._next = start + self._spacing
            while (wait := start - time.monotonic()) > 0:
                await self._sleep(wait)
        if self._stop.is_set():
            raise StoppedError

    def stop(self) -> None:
        """Nobody sends anything any more."""
        self._stop.set()

    def hold(self, seconds: float) -> None:
        """Nobody sends anything for a while."""
        self._not_before = max(self._not_before, time.monotonic() + seconds)

    async def pause(self, wait: float | None, tries: int) -> None:
        """Before the same is sent again: what the endpoint asked for, or else longer and longer."""
        usual = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (tries - 1))
        more = self._jitter.random()
        await self._sleep(usual * (1 + more) / 2 if wait is None else wait * (1 + more / 4))

    async def _sleep(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stop.wait(), seconds)
        except TimeoutError:
            return
        raise StoppedError


def in_own_loop(work: Callable[[asyncio.Event], Coroutine[Any, Any, T]]) -> T:
    """Run in a loop of its own, in a thread of its own: the caller may have a loop that runs, as notebooks do.

    Ctrl-C reaches the caller, who tells the loop through the event to send nothing more, and gives what is on its way a
    moment.

    Examples
    --------
    >>> async def work(stop):
    ...     return stop.is_set()
    >>> async def caller():
    ...     return in_own_loop(work)
    >>> asyncio.run(caller())
    False
    """
    there: dict[str, Any] = {}
    stopped = threading.Event()  # also before there is a loop to tell

    async def run() -> T:
        there["loop"], there["stop"] = asyncio.get_running_loop(), asyncio.Event()
        there["task"] = asyncio.current_task()
        if stopped.is_set():
            there["stop"].set()
        return await work(there["stop"])

    with ThreadPoolExecutor(1, thread_name_prefix="heldout-endpoint") as pool:
        future = pool.submit(lambda: asyncio.run(run()))
        try:
            return future.result()
        except BaseException:
            stopped.set()
            if not future.done() and "task" in there:
                there["loop"].call_soon_threadsafe(there["stop"].set)
                try:
                    future.exception(GRACE)
                except BaseException:  # too slow, or Ctrl-C once more
                    there["loop"].call_soon_threadsafe(there["task"].cancel)
            raise
