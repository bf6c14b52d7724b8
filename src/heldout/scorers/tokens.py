"""Prompts in the tokens of a causal language model, and the tokens of the letters that may follow them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.scorers.choices import LETTERS, Shown
from heldout.scorers.prompts import prompt

Tokens = NDArray[np.int64]


@dataclass(frozen=True)
class Encoded:
    """A prompt in tokens, and those of the letters that may follow it."""

    number: int  # among those asked
    tokens: Tokens
    letters: tuple[int, ...]

    @property
    def key(self) -> tuple[int, ...]:
        """By which prompts are sorted."""
        return tuple(self.tokens.tolist())


@dataclass(frozen=True)
class Letters:
    """How letters follow a prompt."""

    gap: str  # between the prompt and a letter
    tokens: tuple[int, ...]
    after: int  # the letter's token counted from the end, where some tokenizers close a text


class Encoder:
    """Writes prompts of one template in tokens of one model.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerBase
        The model's own.
    template : str
        Of the prompts.
    model : str
        What messages call the model.
    n_known : int
        Tokens that the model knows.
    """

    def __init__(self, tokenizer: Any, template: str, *, model: str, n_known: int) -> None:
        self.tokenizer, self.template = tokenizer, template
        self._model, self._n_known = model, n_known
        self._letters: dict[int, Letters] = {}

    def items(self, shown: Sequence[Shown], room: int | None = None) -> list[list[Encoded]]:
        """Prompts of an item together and sorted, the longest items first: where memory does not suffice, that shows at
        once, and so does a window that a cache is too long for. Those of more than `room` tokens are refused."""
        texts = [prompt(each, self.template) for each in shown]
        letters = [self._letters_after(text, len(each.options)) for text, each in zip(texts, shown, strict=True)]
        rows = self.rows([text + letter.gap + LETTERS[0] for text, letter in zip(texts, letters, strict=True)])
        items: dict[tuple[str, tuple[str, ...]], list[Encoded]] = {}
        for number, (row, letter, each) in enumerate(zip(rows, letters, shown, strict=True)):
            place = len(row) - letter.after
            if place < 1 or row[place] != letter.tokens[0]:  # here the letter hangs together with what is before it
                letter = self._find_letters(texts[number], len(each.options))
                row = self.rows([texts[number] + letter.gap + LETTERS[0]])[0]
                place = len(row) - letter.after
            item = items.setdefault((each.question, tuple(sorted(each.options))), [])
            item.append(Encoded(number, row[:place], letter.tokens))
        if room is not None:
            self._check_room([asked for item in items.values() for asked in item], shown, room)
        for item in items.values():
            item.sort(key=lambda asked: asked.key)
        return sorted(items.values(), key=lambda item: (-max(len(asked.tokens) for asked in item), item[0].key))

    def rows(self, texts: list[str]) -> list[Tokens]:
        """Of each text, as the tokenizer begins it."""
        rows = [np.asarray(row, dtype=np.int64) for row in self.tokenizer(texts, verbose=False)["input_ids"]]
        worst = max(int(row.max(initial=-1)) for row in rows)
        if worst >= self._n_known:
            raise InputError(
                f"the tokenizer writes token {worst:,}, but the model {self._model} knows {self._n_known:,}; they do "
                "not belong together. Give the model's own `tokenizer`."
            )
        return rows

    def _letters_after(self, text: str, k: int) -> Letters:
        """How k letters continue prompts of this template."""
        if k not in self._letters:
            self._letters[k] = self._find_letters(text, k)
        return self._letters[k]

    def _find_letters(self, text: str, k: int) -> Letters:
        """The tokens of k letters after a prompt: after a space where that makes each a token of its own."""
        gaps = ("",) if text[-1:].isspace() or text[-1:] in {"(", "[", "{"} else (" ", "")
        for gap in gaps:
            rows = self.rows([text + gap + letter for letter in LETTERS[:k]])
            if len({len(row) for row in rows}) > 1:
                continue
            stacked = np.stack(rows)
            places = np.flatnonzero((stacked != stacked[0]).any(axis=0))
            if len(places) == 1 and len(np.unique(stacked[:, places[0]])) == k:
                place = int(places[0])
                return Letters(gap, tuple(stacked[:, place].tolist()), stacked.shape[1] - place)
        raise InputError(
            f"the tokenizer of {self._model} has no token of its own for each of the letters {LETTERS[0]} to "
            f"{LETTERS[k - 1]} after {text[-20:]!r}; give a `template` that ends otherwise, such as in 'Answer: ('."
        )

    def _check_room(self, prompts: Sequence[Encoded], shown: Sequence[Shown], room: int) -> None:
        """Refuse prompts that are longer than the model's positions."""
        long = {shown[asked.number].question: len(asked.tokens) for asked in prompts if len(asked.tokens) > room}
        if long:
            question, length = next(iter(long.items()))
            raise InputError(
                f"{len(long):,} question{' is' if len(long) == 1 else 's are'} too long for the model {self._model}, "
                f"which takes {room:,} tokens: {question[:40]!r}... has {length:,} with its options; leave "
                f"{'it' if len(long) == 1 else 'them'} out."
            )
