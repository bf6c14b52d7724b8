"""Models behind an OpenAI-compatible endpoint: asked at once, patiently, and never twice for the same answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from heldout.checks import check_count, check_seed
from heldout.errors import InputError, import_extra
from heldout.scorers import endpoint_arguments as given
from heldout.scorers.answer_cache import AnswerCache
from heldout.scorers.choices import UNPARSED, Choice, Shown, Tell
from heldout.scorers.completions import TEMPLATES, Answer, Api
from heldout.scorers.cost import Cost, estimate
from heldout.scorers.fetching import Fetching
from heldout.scorers.prompts import check_template
from heldout.scorers.refusals import UnfitError
from heldout.scorers.requests import Requests
from heldout.scorers.responses import Responses
from heldout.scorers.secrets import Secrets, plain_fields
from heldout.scorers.sending import Sender
from heldout.scorers.settling import Settling


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
        httpx = import_extra("httpx", extra="endpoint")
        api, self.name = given.api(api), given.model(model)
        target, self.address = given.address(url, api, httpx)
        key = given.key(api_key, key_variable)
        concurrency = check_count(concurrency, "concurrency", most=1000)
        spacing, timeout = given.spacing(rate), given.seconds(timeout, "timeout")
        max_retries = check_count(max_retries, "max_retries", least=0)
        template = TEMPLATES[api] if template is None else check_template(template)
        extra = given.extra(extra)
        self._price = given.price(price)
        seed = check_seed(seed)
        wanted = given.settings(api, logprobs=logprobs, temperature=temperature, max_tokens=max_tokens)
        self._requests = Requests(given.identity(target), model, api, template, extra, wanted, logprobs)
        self._cache = AnswerCache(None if cache is False else given.folder(cache) / self._requests.file_name)
        responses = Responses(
            address=self.address,
            model=model,
            api=api,
            secrets=Secrets(key, url, extra),
            has_key=bool(key),
            key_from=key_variable if api_key is None else "`api_key`",
            timeout=timeout,
            httpx=httpx,
        )
        sender = Sender(
            target,
            responses,
            authorization=given.authorization(url, key),
            concurrency=concurrency,
            max_retries=max_retries,
        )
        self._settling = Settling(self._requests, self._cache, address=self.address, roomy=max_tokens is not None)
        self._fetching = Fetching(
            self._requests, self._cache, self._settling, sender, concurrency=concurrency, spacing=spacing, seed=seed
        )
        self._cut_off = self._refused = 0

    def __repr__(self) -> str:
        return f"EndpointChooser({self.address!r}, {self.name!r})"

    @property
    def settings(self) -> dict[str, Any]:
        """What goes with each question, secrets hidden; what the endpoint takes is known after the first answer."""
        settings = self._settling.known() or self._requests.wanted
        return {**settings.fields(self._requests.api), **plain_fields(self._requests.extra)}

    @property
    def answered(self) -> int:
        """Answers that came from the endpoint, none of them from the cache."""
        return self._cache.answered

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
        return self._cache.prompt_tokens, self._cache.completion_tokens

    def digest(self) -> str:
        """Of the address, the model, and how it is asked.

        Returns
        -------
        str
            16 hexadecimal digits.
        """
        return self._requests.digest

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
        settings = self._settling.known() or self._requests.wanted
        asked = self._fetching.look_up(shown, settings)
        return estimate(
            [self._requests.text(one) for _, one in asked.missing],
            cached=asked.n_distinct - len(asked.missing),
            api=self._requests.api,
            most_tokens=settings.tokens,
            price=self._price,
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
            answers = self._fetching.answers(shown, tell or (lambda more: None))
        except UnfitError:
            raise
        except InputError as error:
            more = self.answered - before
            if not more or self._cache.path is None:
                raise
            kept = f"{more:,} answer{' is' if more == 1 else 's are'} kept: run this again to go on from there."
            raise InputError(f"{error} {kept}") from error
        return self._choices(answers, shown)

    def _choices(self, answers: Sequence[Answer], shown: Sequence[Shown]) -> list[Choice]:
        found = []
        self._cut_off = self._refused = 0
        for answer, one in zip(answers, shown, strict=True):
            chosen = answer.chosen(one.options, self._requests.api)
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
        settings = self._settling.known()
        if settings is None:
            return [""] * len(shown)
        return [self._cache.day(self._requests.key(one, settings)) for one in shown]
