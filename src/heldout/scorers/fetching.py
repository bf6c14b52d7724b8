"""Answers to many questions at once: those that are kept, and from the endpoint those that are missing."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from heldout.scorers.answer_cache import AnswerCache
from heldout.scorers.choices import Shown, Tell
from heldout.scorers.completions import Answer, Settings
from heldout.scorers.refusals import FOR_NOW, OF_ONE, REFUSED, Refusals, mute, refusal
from heldout.scorers.requests import Requests
from heldout.scorers.responses import RefusedError
from heldout.scorers.sending import Sender
from heldout.scorers.settling import Ask, Settling
from heldout.scorers.waiting import Line, StoppedError, in_own_loop


class Asked(NamedTuple):
    """What was to be asked: the keys of all of it, how many differ, those that are not kept, and the settings."""

    keys: list[str]
    n_distinct: int
    missing: list[tuple[str, Shown]]
    settings: Settings


class Fetching:
    """From one model.

    Parameters
    ----------
    requests : Requests
        How it is asked.
    cache : AnswerCache
        What is kept.
    settling : Settling
        Which settings the endpoint takes.
    sender : Sender
        Sends one request.
    concurrency : int
        Requests at the same time.
    spacing : float
        Seconds from one request to the next, at least.
    seed : int
        Of the order in which they are sent.
    """

    def __init__(
        self,
        requests: Requests,
        cache: AnswerCache,
        settling: Settling,
        sender: Sender,
        *,
        concurrency: int,
        spacing: float,
        seed: int,
    ) -> None:
        self._requests, self._cache, self._settling, self._sender = requests, cache, settling, sender
        self._concurrency, self._spacing, self._seed = concurrency, spacing, seed

    def look_up(self, shown: Sequence[Shown], settings: Settings) -> Asked:
        """Which of these are kept, if they are asked with these settings."""
        keys = [self._requests.key(one, settings) for one in shown]
        distinct = dict(zip(keys, shown, strict=True))
        missing = [(key, one) for key, one in distinct.items() if self._kept(key, one) is None]
        return Asked(keys, len(distinct), missing, settings)

    def answers(self, shown: Sequence[Shown], tell: Tell) -> list[Answer]:
        """One for each, in their order; `tell` is told how many more are there."""
        self._cache.read()
        asked = self._asked(shown)
        if asked is not None and not asked.missing:
            tell(len(shown))
        else:
            before = len(self._cache.records)
            with self._cache, self._sender.secrets_out_of_logs():  # nobody else asks now
                if len(self._cache.records) > before:  # but somebody did, a moment ago
                    asked = self._asked(shown)
                asked = in_own_loop(lambda stop: self._fetch(shown, asked, tell, stop))
        found = []
        for key, one in zip(asked.keys, shown, strict=True):
            answer = self._kept(key, one)
            assert answer is not None
            found.append(answer)
        return found

    def _asked(self, shown: Sequence[Shown]) -> Asked | None:
        settings = self._settling.known()
        return None if settings is None else self.look_up(shown, settings)

    def _kept(self, key: str, one: Shown) -> Answer | None:
        return self._cache.answer(key, len(one.options))

    async def _fetch(self, shown: Sequence[Shown], asked: Asked | None, tell: Tell, stop: asyncio.Event) -> Asked:
        """Everything that is missing, in shuffled order."""
        rng = np.random.default_rng(self._seed)
        async with self._sender.client() as client:
            line = Line(stop, spacing=self._spacing, seed=self._seed)

            async def ask(one: Shown, settings: Settings) -> Answer:
                return await self._sender.answer(client, line, one, self._requests.content(one, settings))

            if asked is None:
                by_question = {shown[i].question: shown[i] for i in rng.permutation(len(shown)).tolist()}
                settings = await self._settling.find(ask, list(by_question.values()))
                asked = self.look_up(shown, settings)
            self._sender.is_known = True  # by the settings that it takes
            missing = [asked.missing[i] for i in rng.permutation(len(asked.missing))]
            wanted = {key for key, _ in missing}
            times = Counter(key for key in asked.keys if key in wanted)
            tell(len(shown) - times.total())
            refusals = Refusals(asked.n_distinct)
            self._recall(asked, shown, refusals)
            await self._ask_all(ask, line, missing, asked.settings, lambda key: tell(times[key]), refusals)
            if not stop.is_set():  # not before it is clear that they are few
                for key, status in refusals.statuses.items():
                    self._cache.add(key, REFUSED.record(), lasting=status not in FOR_NOW)
        return asked

    def _recall(self, asked: Asked, shown: Sequence[Shown], refusals: Refusals) -> None:
        """Answers that are kept count, too, where none names an option."""
        for key, one in dict(zip(asked.keys, shown, strict=True)).items():
            answer = self._kept(key, one)
            if answer is not None and refusals.are_all_unread(answer.chosen(one.options, self._requests.api)):
                raise mute(self._requests, answer)
            if refusals.named:
                return

    async def _ask_all(
        self,
        ask: Ask,
        line: Line,
        todo: Sequence[tuple[str, Shown]],
        settings: Settings,
        tell: Callable[[str], None],
        refusals: Refusals,
    ) -> None:
        """Several at a time; after an error no new ones, but those on their way are waited for."""
        queue: Iterator[tuple[str, Shown]] = iter(todo)

        async def work() -> None:
            try:
                for key, one in queue:
                    try:
                        self._keep(key, one, await ask(one, settings), refusals)
                    except RefusedError as refused:
                        self._count_refused(key, one, refused, refusals)
                    line.answered += 1
                    tell(key)
            except StoppedError:
                return
            except BaseException:
                line.stop()
                raise

        workers = [asyncio.create_task(work()) for _ in range(min(self._concurrency, len(todo)))]
        try:
            if workers:
                await asyncio.wait(workers)
        finally:
            for worker in workers:
                worker.cancel()
            ends = await asyncio.gather(*workers, return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException) and not isinstance(end, asyncio.CancelledError):
                raise end

    def _keep(self, key: str, one: Shown, answer: Answer, refusals: Refusals) -> None:
        """Keep an answer; an error where none of so many names an option."""
        self._cache.keep(key, answer)
        refusals.answered()
        if not refusals.named and refusals.are_all_unread(answer.chosen(one.options, self._requests.api)):
            raise mute(self._requests, answer)

    def _count_refused(self, key: str, one: Shown, refused: RefusedError, refusals: Refusals) -> None:
        """Count a refusal; an error where it is not of this question alone, or there are too many."""
        address, logprobs = self._sender.address, self._requests.logprobs
        if refused.status not in OF_ONE:
            raise refusal(refused, one, address=address, logprobs=logprobs) from None
        if refusals.too_many(key, refused.status):
            n = len(refusals.statuses)
            raise refusal(refused, one, address=address, logprobs=logprobs, n_refused=n) from None
