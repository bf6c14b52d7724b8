"""The requests to one model behind an endpoint: what each of them says, and the key that its answer is kept under."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from heldout.scorers.choices import Shown
from heldout.scorers.completions import Api, Settings, frame
from heldout.scorers.prompts import prompt


@dataclass(frozen=True)
class Requests:
    """All that makes a request, but for the question and the settings that the endpoint takes.

    Parameters
    ----------
    endpoint : str
        Which one it is: its address without keys.
    model : str
        The model's name there.
    api : {"chat", "completions"}
        The protocol.
    template : str
        Text of a question.
    extra : mapping
        Further fields, which may be secret.
    wanted : Settings
        With which the endpoint is asked first.
    logprobs : bool, optional
        Whether log-probabilities are insisted on or left out; None where either will do.

    Examples
    --------
    >>> settings = Settings(top=None, temperature=None, tokens=1)
    >>> template = "{question} {options}"
    >>> requests = Requests("http://host/v1/completions", "my/model", "completions", template, {}, settings)
    >>> requests.content(Shown("Who?", ("me",)), settings)
    b'{"max_tokens":1,"model":"my/model","prompt":"Who? A. me","stream":false}'
    >>> requests.file_name
    'my-model-91b2f0ac4eee.jsonl'
    """

    endpoint: str
    model: str
    api: Api
    template: str
    extra: Mapping[str, Any] = field(repr=False)
    wanted: Settings
    logprobs: bool | None = None
    _frames: dict[Settings, tuple[bytes, bytes]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def text(self, one: Shown) -> str:
        """A question as the model is asked it."""
        return prompt(one, self.template)

    def content(self, one: Shown, settings: Settings) -> bytes:
        """The JSON of a request."""
        if settings not in self._frames:
            self._frames[settings] = frame(model=self.model, api=self.api, settings=settings, extra=self.extra)
        before, after = self._frames[settings]
        return before + json.dumps(self.text(one)).encode() + after

    def key(self, one: Shown, settings: Settings) -> str:
        """What the answer to a request is kept under; another draw is another answer."""
        content = self.content(one, settings)
        return hashlib.sha256(f"{self.endpoint}\n{one.draw}\n".encode() + content).hexdigest()

    @property
    def settings_key(self) -> str:
        """What the settings that the endpoint takes are kept under."""
        return f"settings {self._hash('settings')}"

    @property
    def digest(self) -> str:
        """Tells the model and how it is asked from others."""
        return self._hash("digest")[:16]

    @property
    def file_name(self) -> str:
        """Of the file that keeps the answers of this model, however it is asked."""
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", self.model)[:60]
        return f"{name}-{_hash(self.endpoint, self.model, self.api, 'file')[:12]}.jsonl"

    def _hash(self, purpose: str) -> str:
        way = (self.template, self.extra, purpose, asdict(self.wanted), self.logprobs)
        return _hash(self.endpoint, self.model, self.api, *way)


def _hash(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
