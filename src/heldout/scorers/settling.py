"""Which settings an endpoint takes: known from an earlier run, or found by asking with milder and milder ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict

from heldout.errors import InputError
from heldout.scorers.answer_cache import AnswerCache
from heldout.scorers.choices import UNPARSED, Shown
from heldout.scorers.completions import Answer, Settings, milder
from heldout.scorers.refusals import UnfitError, refusal, too_short
from heldout.scorers.requests import Requests
from heldout.scorers.responses import RefusedError

TRIALS = 3  # questions that may be refused before it is the endpoint that refuses

Ask = Callable[[Shown, Settings], Awaitable[Answer]]  # or RefusedError


class Settling:
    """The settings of one model's requests, the same for all of them.

    Parameters
    ----------
    requests : Requests
        How the model is asked.
    cache : AnswerCache
        Where settings are kept beside answers.
    address : str
        Of the endpoint, without secrets.
    roomy : bool
        Whether somebody chose how many tokens an answer may have, so that answers without a word are theirs to judge.
    """

    def __init__(self, requests: Requests, cache: AnswerCache, *, address: str, roomy: bool) -> None:
        self._requests, self._cache, self._address, self._roomy = requests, cache, address, roomy
        self._settled: Settings | None = None

    def known(self) -> Settings | None:
        """Those that the endpoint takes, found now or in an earlier run."""
        if self._settled is None:
            record = dict(self._cache.records.get(self._requests.settings_key, {}))
            if record.pop("cut_off", False) and not self._roomy:
                raise too_short(self._requests)
            try:
                self._settled = Settings(**record) if record else None
            except TypeError:  # of another version
                self._settled = None
        return self._settled

    async def find(self, ask: Ask, trials: Sequence[Shown]) -> Settings:
        """Ask a question with milder and milder settings until the endpoint answers, or else another one."""
        errors = []
        for one in trials[:TRIALS]:
            try:
                return await self._settle(ask, one)
            except RefusedError as refused:
                errors.append(refused)
        first = errors[0]
        if first.otherwise is not None or len(errors) < TRIALS or "logprob" in first.complaint.lower():
            raise refusal(first, trials[0], address=self._address, logprobs=self._requests.logprobs)
        raise InputError(
            f"{self._address} refuses all of {len(errors)} questions that were tried {first}; where it wants other "
            "fields, give them with `extra`, or try the other `api`."
        )

    async def _settle(self, ask: Ask, one: Shown) -> Settings:
        settings, answer = await self._taken(ask, one)
        insists, key = self._requests.logprobs, self._requests.key(one, settings)
        if insists and answer.log_probs is None and answer.chosen(one.options, self._requests.api) != UNPARSED:
            self._cache.keep(key, answer)
            raise UnfitError(
                f"{self._address} answers without log-probabilities, which `logprobs=True` asks for; leave it out, and "
                "only the test of ranks is not applicable."
            )
        cut = not self._roomy and answer.finish == "length" and not _written(answer.text)
        self._cache.add(self._requests.settings_key, {**asdict(settings), "cut_off": cut})
        self._cache.keep(key, answer)
        if cut:
            raise too_short(self._requests)
        self._settled = settings
        return settings

    async def _taken(self, ask: Ask, one: Shown) -> tuple[Settings, Answer]:
        """The first settings with which a question is answered, and the answer."""
        settings = self._requests.wanted
        while True:
            try:
                return settings, await ask(one, settings)
            except RefusedError as refused:
                less = None
                if refused.otherwise is None:
                    less = milder(settings, refused.complaint, logprobs=self._requests.logprobs)
                if less is None:
                    raise
                settings = less


def _written(text: str) -> bool:
    """Whether there is more than an unfinished thought."""
    return bool(text.strip()) and not text.lstrip().startswith("<think")
