"""Requests wait for their turn, and a loop that is stopped ends."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from heldout.scorers import waiting
from tests.scorers.asking import model, questions
from tests.scorers.standin import StandIn


def test_rate():
    with StandIn() as server:
        began = time.monotonic()
        model(server, rate="3000/min").choose(questions(5))
    assert server.statuses == {200: 10}
    assert server.began[-1] - began >= 0.02 * 9


def test_rate_after_a_pause():
    async def sent():
        line, times = waiting.Line(asyncio.Event(), spacing=0.02, seed=0), []

        async def send():
            await line.turn()
            times.append(time.monotonic())

        tasks = [asyncio.create_task(send()) for _ in range(8)]
        await asyncio.sleep(0)  # the first is sent, the others have their places
        line.hold(0.2)
        await asyncio.gather(*tasks)
        return times

    times = asyncio.run(sent())
    assert times[1] - times[0] >= 0.19
    assert times[-1] - times[1] >= 0.06, "not all at once; a slow machine may be late for the first of them"


def test_within_a_loop_that_runs():
    async def notebook():
        return model(server).choose(questions(2))

    with StandIn() as server:
        assert len(asyncio.run(notebook())) == 4


def test_stopped_before_there_is_a_loop(monkeypatch):
    stopped = threading.Event()

    class Late(ThreadPoolExecutor):
        def submit(self, work):
            future = super().submit(lambda: stopped.wait(10) and work())
            future.result = interrupt
            return future

    def interrupt():
        threading.Timer(0.05, stopped.set).start()  # the loop begins after Ctrl-C
        raise KeyboardInterrupt

    async def until_told(stop):
        await asyncio.wait_for(stop.wait(), 10)
        ends.append(stop.is_set())

    ends = []
    monkeypatch.setattr(waiting, "ThreadPoolExecutor", Late)
    with pytest.raises(KeyboardInterrupt):
        waiting.in_own_loop(until_told)
    assert ends == [True]
