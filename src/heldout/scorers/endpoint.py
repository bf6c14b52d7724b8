"""Models behind an OpenAI-compatible endpoint: asked at once, patiently, and never twice for the same answer."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from heldout._version import __version__
from heldout.checks import check_count, check_seed
from heldout.errors import InputError, import_extra
from heldout.results import today
from heldout.scorers import endpoint_arguments as given
from heldout.scorers.answer_cache import AnswerCache
from heldout.scorers.choices import UNPARSED, Choice, Shown, Tell
from heldout.scorers.completions import PATHS, TEMPLATES, TOKENS, TOPS, Answer, Api, Settings, frame, milder
from heldout.scorers.cost import Cost
from heldout.scorers.prompts import check_template, prompt
from heldout.scorers.refusals import FOR_NOW, OF_ONE, REFUSED, UNREAD, Refusals
from heldout.scorers.responses import CONNECT_TIMEOUT, AgainError, RefusedError, Responses
from heldout.scorers.secrets import Secrets, plain_fields
from heldout.scorers.waiting import Line, StoppedError, in_own_loop

if TYPE_CHECKING:
    import httpx

BYTES_PER_TOKEN = 4  # of English text, about; other languages take more bytes and more tokens
LATE = 1.05  # of the whole of an answer; httpx minds the time between two bytes, and tells what it waited for
TRIALS = 3  # questions that may be refused before it is the endpoint that refuses
MESSAGE_TOKENS = 8  # that a chat adds to a message, about


class EndpointChooser:
    """A model behind an OpenAI-compatible endpoint.

    Requests are sent at once, in shuffled order, no faster than `rate`. Where the endpoint is busy or fails, they are
    sent again, later and later. Every answer is kept in a file as soon as it is there, under a hash of the endpoint's
    address, the model, the text, the settings and the draw: a run that was stopped asks only for what is missing. One
    run at a time asks a model with one `cache`.

    A question that is refused by itself, by moderation or for its length, is a wrong answer and counted (`refused`);
    where more than a tenth are, or many in a row, the run ends with an error.

    The first request finds out what the endpoint takes: log-probabilities of fewer tokens or none, `max_tokens` by its
    newer name, its own temperature where it has only one. All further requests have the same settings (`settings`).

    With log-probabilities, the letters are scored at the token that names the option, normalised over the letters
    shown. A letter that is not among the listed tokens has at most the probability of the last one listed, and counts
    with half of that. What is chosen is what is written; with `api="completions"` it is the likeliest letter.

    Parameters
    ----------
    url : str
        Its address, as for other clients: http://localhost:8000/v1. Answers are kept for each address by itself. A name
        and a password in it go into the header, instead of a key; they and its query are shown nowhere.
    model : str
        The model's name there.
    api : {"chat", "completions"}
        One message, or text to be continued by a base model.
    api_key : str, optional
        Better in an environment variable. It is sent to the endpoint and written nowhere.
    key_variable : str
        The environment variable that holds the key, where `api_key` is not given.
    concurrency : int
        Requests at the same time.
    rate : float or str, optional
        Requests per second at most, or a text such as "90/min".
    timeout : float
        Seconds to wait for an answer, for the whole of it.
    max_retries : int
        How often a request is sent again before the run ends with an error. Being told to slow down does not count as
        long as other answers arrive.
    logprobs : bool, optional
        Whether log-probabilities are asked for; without it they are, and are done without where they are refused.
    temperature : float, optional
        Of sampling; None for the endpoint's own.
    max_tokens : int, optional
        Of an answer: 16, or 5 with `api="completions"`. A model that reasons first needs thousands.
    template : str, optional
        Text of a question, with {question}, {options} and perhaps {letters}.
    extra : mapping, optional
        Further fields of each request, such as `{"reasoning_effort": "low"}`, but none that has an argument here; shown
        are only those that are known not to be secret.
    cache : path or False, optional
        The folder that keeps answers: heldout/answers in the user's cache folder; False for none.
    price : pair of float, optional
        Per million tokens, of prompts and of completions.
    seed : int
        Of the order in which requests are sent.

    Examples
    --------
    >>> from heldout.scorers import EndpointChooser, Shown
    >>> model = EndpointChooser("http://localhost:8000/v1", "my-model", cache=False, price=(0.15, 0.6))
    >>> print(model.plan([Shown("Which city is in Norway?", ("Rome", "Oslo"))]))
    1 call: about 36 prompt tokens (estimated) and at most 16 completion tokens, for about 0.00 at most
    """

    costly = True  # every answer, which is why they are kept

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api: Api = "chat",
        api_key: str | None = None,
        key_variable: str = "OPENAI_API_KEY",
        concurrency: int = 8,
        rate: float | str | None = None,
        timeout: float = 60.0,
        max_retries: int = 6,
        logprobs: bool | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
        template: str | None = None,
        extra: Mapping[str, Any] | None = None,
        cache: str | Path | Literal[False] | None = None,
        price: Sequence[float] | None = None,
        seed: int = 0,
    ) -> None:
        self._httpx = import_extra("httpx", extra="endpoint")
        if api not in PATHS:
            raise InputError(f"`api` is {api!r}; it must be 'chat' or 'completions'.")
        if not model.strip():
            raise InputError("`model` is empty; give the model's name at the endpoint.")
        self.name, self._api = model, api
        full, self.address = given.address(url, api, self._httpx)
        self._target = self._httpx.URL(full)
        self._identity = given.identity(full)
        self._key = given.key(api_key, key_variable)
        self._concurrency = check_count(concurrency, "concurrency", most=1000)
        self._spacing = given.spacing(rate)
        self._timeout = given.seconds(timeout, "timeout")
        limits = self._httpx.Timeout(self._timeout, connect=min(self._timeout, CONNECT_TIMEOUT), pool=None)
        self._limits = {"timeout": limits.as_dict()}
        self._max_retries = check_count(max_retries, "max_retries", least=0)
        self._logprobs = logprobs
        self._template = TEMPLATES[api] if template is None else check_template(template)
        self._extra = given.extra(extra)
        self._user = given.user(url)
        self._secrets = Secrets(self._key, url, self._extra)
        self._price = given.price(price)
        self._seed = check_seed(seed)
        if temperature is not None and not (math.isfinite(temperature) and temperature >= 0):
            raise InputError(f"`temperature` is {temperature}; it must be 0 or larger.")
        self._roomy = max_tokens is not None
        self._wanted = Settings(
            top=None if logprobs is False else TOPS[0],
            temperature=temperature,
            tokens=TOKENS[api] if max_tokens is None else check_count(max_tokens, "max_tokens"),
        )
        self._cache = AnswerCache(None if cache is False else given.folder(cache) / self._file_name())
        self._settings: Settings | None = None
        self._frames: dict[Settings, tuple[bytes, bytes]] = {}
        self._responses = Responses(
            address=self.address,
            model=model,
            api=api,
            secrets=self._secrets,
            has_key=bool(self._key),
            key_from=key_variable if api_key is None else "`api_key`",
            timeout=self._timeout,
            httpx=self._httpx,
        )
        self._answered = self._cut_off = self._refused = 0
        self._spent = [0, 0]  # tokens of prompts and of completions, where the endpoint counts them

    def __repr__(self) -> str:
        return f"EndpointChooser({self.address!r}, {self.name!r})"

    @property
    def settings(self) -> dict[str, Any]:
        """What goes with each question, secrets hidden; what the endpoint takes is known after the first answer."""
        return {**(self._known() or self._wanted).fields(self._api), **plain_fields(self._extra)}

    @property
    def answered(self) -> int:
        """Answers that came from the endpoint, none of them from the cache."""
        return self._answered

    @property
    def cut_off(self) -> int:
        """Answers of the last call to `choose` that ended at `max_tokens` before they named an option."""
        return self._cut_off

    @property
    def refused(self) -> int:
        """Questions of the last call to `choose` that the endpoint refused, by moderation or length; they are wrong."""
        return self._refused

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens of prompts and of completions so far, as the endpoint counts them; 0 where it does not."""
        return self._spent[0], self._spent[1]

    def digest(self) -> str:
        """Of the address, the model, and how it is asked.

        Returns
        -------
        str
            16 hexadecimal digits.
        """
        return self._hash("digest", asdict(self._wanted), self._logprobs)[:16]

    def plan(self, shown: Sequence[Shown]) -> Cost:
        """What asking these will take; nothing is sent.

        Parameters
        ----------
        shown : sequence of Shown
            What to ask.

        Returns
        -------
        Cost
            Calls, tokens and, where prices were given, the price.
        """
        self._cache.read()
        settings = self._known() or self._wanted
        asked = self._look_up(shown, settings)
        missing = [one for _, one in asked.missing]
        more = MESSAGE_TOKENS if self._api == "chat" else 0
        size = (len(prompt(one, self._template).encode("utf-8", "surrogatepass")) for one in missing)
        tokens = sum(math.ceil(count / BYTES_PER_TOKEN) + more for count in size)
        most = settings.tokens * len(missing)
        price = None if self._price is None else (tokens * self._price[0] + most * self._price[1]) / 1e6
        return Cost(
            calls=len(missing),
            cached=asked.n_distinct - len(missing),
            prompt_tokens=tokens,
            completion_tokens=most,
            price=price,
        )

    def choose(self, shown: Sequence[Shown], tell: Tell | None = None) -> list[Choice]:
        """One choice for each, in their order: from the cache, or else from the endpoint.

        Parameters
        ----------
        shown : sequence of Shown
            What to ask; the same twice is asked once, unless the draws differ.
        tell : function, optional
            Told how many more are answered.

        Returns
        -------
        list of Choice
            As many.
        """
        if not shown:
            return []
        before = self.answered
        try:
            answers = self._answers(shown, tell or (lambda more: None))
        except _UnfitError:
            raise
        except InputError as error:
            more = self.answered - before
            if not more or self._cache.path is None:
                raise
            kept = f"{more:,} answer{' is' if more == 1 else 's are'} kept: run this again to go on from there."
            raise InputError(f"{error} {kept}") from error
        return self._choices(answers, shown)

    def _answers(self, shown: Sequence[Shown], tell: Tell) -> list[Answer | None]:
        self._cache.read()
        asked = self._asked(shown)
        if asked is not None and not asked.missing:
            tell(len(shown))
        else:
            before = len(self._cache.records)
            with self._cache, self._secrets.out_of_logs(str(self._target), self.address):  # nobody else asks now
                if len(self._cache.records) > before:  # but somebody did, a moment ago
                    asked = self._asked(shown)
                asked = in_own_loop(lambda stop: self._fetch(shown, asked, tell, stop))
        return [self._kept(key, one) for key, one in zip(asked.keys, shown, strict=True)]

    def _asked(self, shown: Sequence[Shown]) -> _Asked | None:
        settings = self._known()
        return None if settings is None else self._look_up(shown, settings)

    def _look_up(self, shown: Sequence[Shown], settings: Settings) -> _Asked:
        keys = [self._request_key(one, settings) for one in shown]
        distinct = dict(zip(keys, shown, strict=True))
        missing = [(key, one) for key, one in distinct.items() if self._kept(key, one) is None]
        return _Asked(keys, len(distinct), missing, settings)

    def _choices(self, answers: Sequence[Answer | None], shown: Sequence[Shown]) -> list[Choice]:
        found = []
        self._cut_off = self._refused = 0
        for answer, one in zip(answers, shown, strict=True):
            assert answer is not None
            chosen = answer.chosen(one.options, self._api)
            self._cut_off += chosen == UNPARSED and answer.finish == "length"
            refused = chosen == UNPARSED and answer.finish in ("refused", "content_filter")
            self._refused += refused
            found.append(Choice(chosen, answer.log_probs, answer.text, refused))
        return found

    def days(self, shown: Sequence[Shown]) -> list[str]:
        """When these were answered, by the cache.

        Parameters
        ----------
        shown : sequence of Shown
            What was asked.

        Returns
        -------
        list of str
            Dates such as 2026-03-01; empty where it is not known.
        """
        settings = self._known()
        keys = [] if settings is None else [self._request_key(one, settings) for one in shown]
        return [str(self._cache.records.get(key, {}).get("day", "")) for key in keys] or [""] * len(shown)

    # What is kept

    def _file_name(self) -> str:
        return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', self.name)[:60]}-{self._hash('file')[:12]}.jsonl"

    def _hash(self, *parts: Any) -> str:
        known: list[Any] = [self._identity, self.name, self._api]
        if parts != ("file",):
            known += [self._template, self._extra]
        return hashlib.sha256(json.dumps([*known, *parts], sort_keys=True, default=str).encode()).hexdigest()

    def _content(self, one: Shown, settings: Settings) -> bytes:
        if settings not in self._frames:
            self._frames[settings] = frame(model=self.name, api=self._api, settings=settings, extra=self._extra)
        before, after = self._frames[settings]
        return before + json.dumps(prompt(one, self._template)).encode() + after

    def _request_key(self, one: Shown, settings: Settings) -> str:
        content = self._content(one, settings)
        return hashlib.sha256(f"{self._identity}\n{one.draw}\n".encode() + content).hexdigest()

    def _kept(self, key: str, one: Shown) -> Answer | None:
        record = self._cache.records.get(key)
        return None if record is None else Answer.of(record, len(one.options))

    def _settings_key(self) -> str:
        return "settings " + self._hash("settings", asdict(self._wanted), self._logprobs)

    def _known(self) -> Settings | None:
        """The settings that the endpoint takes, found now or in an earlier run."""
        if self._settings is None:
            record = dict(self._cache.records.get(self._settings_key(), {}))
            if record.pop("cut_off", False) and not self._roomy:
                raise self._too_short()
            try:
                self._settings = Settings(**record) if record else None
            except TypeError:  # of another version
                self._settings = None
        return self._settings

    def _keep(self, key: str, answer: Answer) -> None:
        self._cache.add(key, {**answer.record(), "day": today()})
        self._answered += 1
        self._spent[0] += answer.prompt_tokens
        self._spent[1] += answer.completion_tokens

    # What is sent

    def _client(self) -> httpx.AsyncClient:
        headers = {"content-type": "application/json", "user-agent": f"heldout/{__version__}"}
        if self._user:
            headers["authorization"] = f"Basic {self._user}"
        elif self._key:
            headers["authorization"] = f"Bearer {self._key}"
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

    async def _fetch(self, shown: Sequence[Shown], asked: _Asked | None, tell: Tell, stop: asyncio.Event) -> _Asked:
        """Everything that is missing, in shuffled order."""
        rng = np.random.default_rng(self._seed)
        async with self._client() as client:
            line = Line(stop, spacing=self._spacing, seed=self._seed)
            if asked is None:
                by_question = {shown[i].question: shown[i] for i in rng.permutation(len(shown)).tolist()}
                settings = await self._find_settings(client, line, list(by_question.values())[:TRIALS])
                asked = self._look_up(shown, settings)
            missing = [asked.missing[i] for i in rng.permutation(len(asked.missing))]
            wanted = {key for key, _ in missing}
            times = Counter(key for key in asked.keys if key in wanted)
            tell(len(shown) - times.total())
            refusals = Refusals(asked.n_distinct)
            self._recall(asked, shown, refusals)
            await self._ask(client, line, missing, asked.settings, lambda key: tell(times[key]), refusals)
            if not stop.is_set():  # not before it is clear that they are few
                for key, status in refusals.statuses.items():
                    self._cache.add(key, REFUSED.record(), lasting=status not in FOR_NOW)
        return asked

    def _recall(self, asked: _Asked, shown: Sequence[Shown], refusals: Refusals) -> None:
        """Answers that are kept count, too, where none names an option."""
        for key, one in dict(zip(asked.keys, shown, strict=True)).items():
            answer = self._kept(key, one)
            if answer is not None and refusals.are_all_unread(answer.chosen(one.options, self._api)):
                raise self._mute(answer)
            if refusals.named:
                return

    async def _find_settings(self, client: httpx.AsyncClient, line: Line, trials: Sequence[Shown]) -> Settings:
        """Ask a question with milder and milder settings until the endpoint answers, or else another one."""
        errors = []
        for one in trials:
            try:
                return await self._settle(client, line, one)
            except RefusedError as refused:
                errors.append(refused)
        if errors[0].otherwise is not None or len(trials) < TRIALS or "logprob" in errors[0].complaint.lower():
            raise self._refusal(errors[0], trials[0])
        raise InputError(
            f"{self.address} refuses all of {len(trials)} questions that were tried {errors[0]}; where it wants other "
            "fields, give them with `extra`, or try the other `api`."
        )

    async def _settle(self, client: httpx.AsyncClient, line: Line, one: Shown) -> Settings:
        settings = self._wanted
        while True:
            try:
                answer = await self._answer(client, line, one, settings)
                break
            except RefusedError as refused:
                less = None
                if refused.otherwise is None:
                    less = milder(settings, refused.complaint, logprobs=self._logprobs)
                if less is None:
                    raise
                settings = less
        key = self._request_key(one, settings)
        if self._logprobs and answer.log_probs is None and answer.chosen(one.options, self._api) != UNPARSED:
            self._keep(key, answer)
            raise _UnfitError(
                f"{self.address} answers without log-probabilities, which `logprobs=True` asks for; leave it out, and "
                "only the test of ranks is not applicable."
            )
        cut = not self._roomy and answer.finish == "length" and not _written(answer.text)
        self._cache.add(self._settings_key(), {**asdict(settings), "cut_off": cut})
        self._keep(key, answer)
        if cut:
            raise self._too_short()
        self._settings = settings
        return settings

    async def _ask(
        self,
        client: httpx.AsyncClient,
        line: Line,
        todo: Sequence[tuple[str, Shown]],
        settings: Settings,
        tell: Callable[[str], None],
        refusals: Refusals,
    ) -> None:
        """All of them, several at a time; after an error no new ones, but those on their way are waited for."""
        queue: Iterator[tuple[str, Shown]] = iter(todo)

        async def work() -> None:
            try:
                for key, one in queue:
                    try:
                        answer = await self._answer(client, line, one, settings)
                        self._keep(key, answer)
                        refusals.answered()
                        if not refusals.named and refusals.are_all_unread(answer.chosen(one.options, self._api)):
                            raise self._mute(answer)
                    except RefusedError as refused:
                        if refused.status not in OF_ONE:
                            raise self._refusal(refused, one) from None
                        if refusals.too_many(key, refused.status):
                            raise self._refusal(refused, one, len(refusals.statuses)) from None
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

    async def _answer(self, client: httpx.AsyncClient, line: Line, one: Shown, settings: Settings) -> Answer:
        """One answer, however often it takes to ask."""
        request = self._httpx.Request(
            "POST", self._target, headers=client.headers, content=self._content(one, settings), extensions=self._limits
        )  # what client.post does, less what nothing here needs: 3 % of its time
        tries, answered = 0, line.answered
        while True:
            await line.turn()
            try:
                async with asyncio.timeout(LATE * self._timeout):
                    response = await client.send(request)
                return self._responses.read(response, one)
            except AgainError as again:
                reason, way_out, wait = again.reason, again.way_out, again.wait
                if wait is not None:
                    line.hold(wait)
                if again.busy and line.answered > answered:  # others get through: patience
                    tries, answered = 0, line.answered
                most = self._max_retries
            except (self._httpx.RequestError, TimeoutError) as error:
                (reason, way_out), wait = self._responses.absent(error), None
                most = self._max_retries if self.answered else min(1, self._max_retries)  # most likely the address
                if isinstance(error, (self._httpx.UnsupportedProtocol, self._httpx.LocalProtocolError)):
                    most = 0
            if tries >= most:
                times = f" (tried {tries + 1} times)" if tries else ""
                raise InputError(f"{self.address} {reason}{times}{way_out}")
            tries += 1
            await line.pause(wait, tries)

    def _refusal(self, refused: RefusedError, one: Shown, n_refused: int = 0) -> InputError:
        if refused.otherwise is not None:
            return refused.otherwise
        if self._logprobs and "logprob" in refused.complaint.lower():
            return InputError(
                f"{self.address} gives no log-probabilities {refused}; leave out `logprobs=True`, and only the test of "
                "ranks is not applicable."
            )
        start = one.question if len(one.question) <= 60 else one.question[:60] + "…"
        many = f", and {n_refused - 1:,} more: too many to count them as wrong answers" if n_refused else ""
        return InputError(f"{self.address} refuses the question {start!r} {refused}{many}.")

    def _mute(self, answer: Answer) -> _UnfitError:
        start = " ".join(answer.text.split())
        start = start if len(start) <= 80 else start[:80] + "…"
        return _UnfitError(
            f"{self.name} named no option in any of {UNREAD} answers, the last of which is "
            f"{start!r}; allow more tokens with `max_tokens=4096`, for example, or ask for the letter alone with "
            "`template`."
        )

    def _too_short(self) -> _UnfitError:
        return _UnfitError(
            f"{self.name} wrote nothing within {self._wanted.tokens} tokens, as models do that reason first; allow "
            "more with `max_tokens=4096`, for example."
        )


class _UnfitError(InputError):
    """Asking once more in the same way would end in the same way."""


class _Asked(NamedTuple):
    """What was to be asked: the keys of all of it, how many differ, those that are not kept, and the settings."""

    keys: list[str]
    n_distinct: int
    missing: list[tuple[str, Shown]]
    settings: Settings


def _written(text: str) -> bool:
    """Whether there is more than an unfinished thought."""
    return bool(text.strip()) and not text.lstrip().startswith("<think")
