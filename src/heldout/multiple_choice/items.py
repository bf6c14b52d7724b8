"""Multiple-choice questions as they are printed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from heldout.checks import check_count, check_seed
from heldout.errors import InputError, shortened
from heldout.orbit.option_orders import MOST_OPTIONS
from heldout.predictions.values import repeated


@dataclass(frozen=True)
class Item:
    """One question, with at least two different options.

    Parameters
    ----------
    id : str
        Its name.
    question : str
        What is asked.
    options : tuple of str
        In the printed order, 2 to 26, none of them empty.
    answer : int
        Place of the right one, from 0.
    stratum : str
        What it is compared within, such as its source: the answer's place must have one law for all items of a stratum
        with as many options.

    Examples
    --------
    >>> from heldout import Item
    >>> Item("1", "2 + 2?", ("3", "4"), 1).key == Item("a", "2 + 2?", ("4", "3"), 0).key
    True
    """

    id: str
    question: str
    options: tuple[str, ...]
    answer: int
    stratum: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        texts: Any = self.options
        if not isinstance(texts, (tuple, list)) or not all(isinstance(text, str) for text in texts):
            raise InputError(f"the item {self.id!r} has the options {shortened(texts)}; a tuple of texts is needed.")
        flaw = options_flaw(texts)
        if flaw:
            raise InputError(f"the item {self.id!r}{flaw}.")
        place: Any = self.answer
        if isinstance(place, bool) or not isinstance(place, (int, np.integer)) or not 0 <= place < len(texts):
            raise InputError(
                f"the item {self.id!r} has the answer {place!r}; it must be the place of the right one of "
                f"{len(texts)} options, from 0 to {len(texts) - 1}."
            )
        object.__setattr__(self, "options", tuple(texts))
        object.__setattr__(self, "answer", int(place))  # as JSON has it

    @cached_property
    def key(self) -> str:
        """Tells the question and its set of options from others, whatever their order; hexadecimal digits."""
        return _digest([self.question, sorted(self.options)])

    @property
    def told(self) -> list[object]:
        """All of it, as JSON has it; the stratum where there is one."""
        return [self.id, self.question, self.options, self.answer, *([self.stratum] if self.stratum else [])]


@dataclass(frozen=True)
class Items(Sequence[Item]):
    """The questions of a benchmark.

    Parameters
    ----------
    items : tuple of Item
        In their order.
    source : str
        Where they are from.
    broken : mapping from str to str
        Ids of rows that were not read, since they are not complete items, and what is broken: "broken_question",
        "broken_options" or "broken_answer".

    Examples
    --------
    >>> from heldout import Item, Items
    >>> items = Items(tuple(Item(str(i), f"{i} + 1?", (str(i), str(i + 1)), 1) for i in range(9)))
    >>> len(items), len(items.sample(4, seed=0)), set(items.sample(2, seed=0)) <= set(items.sample(4, seed=0))
    (9, 4, True)
    """

    items: tuple[Item, ...]
    source: str = "items"
    broken: Mapping[str, str] = field(default_factory=dict, hash=False)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Items: ...
    def __getitem__(self, index: int | slice) -> Item | Items:
        return replace(self, items=self.items[index]) if isinstance(index, slice) else self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    @property
    def n_options(self) -> NDArray[np.int64]:
        """(n,) Number of options of each."""
        return np.array([len(item.options) for item in self.items], dtype=np.int64)

    @property
    def strata(self) -> NDArray[np.int64]:
        """(n,) Items with the same number have as many options and are of one stratum; without strata, the number of
        options."""
        names = {name: i for i, name in enumerate(sorted({item.stratum for item in self.items}))}
        code = np.array([names[item.stratum] for item in self.items], dtype=np.int64)
        return self.n_options + code * (1 + int(self.n_options.max(initial=0)))

    def take(self, places: Sequence[int]) -> Items:
        """Some of them, by their places.

        Parameters
        ----------
        places : sequence of int
            From 0.

        Returns
        -------
        Items
            In the order of their places.
        """
        return replace(self, items=tuple(self.items[int(i)] for i in places))

    def sample(self, n: int, *, seed: int) -> Items:
        """At most n of them, in their order.

        Each item has a number drawn from the seed, its question and its set of options, and those with the least are
        taken: which they are does not depend on any order, and a larger sample holds the smaller one.

        Parameters
        ----------
        n : int
            How many.
        seed : int
            From which they are drawn.

        Returns
        -------
        Items
            The drawn ones.
        """
        check_count(n, "n_items")
        return self.take(sorted(lots(self, seed)[:n]))

    def digest(self) -> str:
        """Tells these items from others.

        Returns
        -------
        str
            16 hexadecimal digits.
        """
        return _digest([item.told for item in self.items])[:16]


def lots(items: Items, seed: int) -> list[int]:
    """Places of all items in the order in which they are drawn."""
    check_seed(seed)
    drawn = [_digest([seed, item.key]) for item in items]
    return sorted(range(len(items)), key=lambda i: drawn[i])


def options_flaw(options: Sequence[str]) -> str:
    """Why texts cannot be the options of an item, as it goes on after the item's name; empty where they can.

    Examples
    --------
    >>> options_flaw(("oak", "ash")), options_flaw(("oak", ""))
    ('', ': option 2 is empty')
    """
    bare = [option.strip() for option in options]
    twice = repeated(list(options))
    if not any(bare):
        return " has no options"
    if "" in bare:
        return f": option {bare.index('') + 1} is empty"
    if len(options) == 1:
        return f" has one option, {shortened(options[0], 40)}, where at least 2 are needed"
    if twice:
        return f" has two options with the same text, {shortened(twice[0], 40)}"
    if len(options) > MOST_OPTIONS:
        return f" has {len(options)} options, more than the {MOST_OPTIONS} letters"
    return ""


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()
