"""Multiple-choice questions as they are printed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from heldout.checks import check_count, check_seed


@dataclass(frozen=True)
class Item:
    """One question.

    Parameters
    ----------
    id : str
        Its name.
    question : str
        What is asked.
    options : tuple of str
        In the printed order.
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
        Ids of rows that were not read, since they are no proper items, and what is broken: "broken_question",
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
    broken: Mapping[str, str] = field(default_factory=dict)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Items: ...
    def __getitem__(self, index: int | slice) -> Item | Items:
        return self.items[index] if isinstance(index, int) else replace(self, items=self.items[index])

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
        return self.take(sorted(self.lots(seed)[:n]))

    def lots(self, seed: int) -> list[int]:
        """Places of all items in the order in which they are drawn.

        Parameters
        ----------
        seed : int
            From which they are drawn.

        Returns
        -------
        list of int
            From 0.
        """
        check_seed(seed)
        lots = [_digest([seed, item.key]) for item in self.items]
        return sorted(range(len(self)), key=lambda i: lots[i])

    def digest(self) -> str:
        """Tells these items from others.

        Returns
        -------
        str
            16 hexadecimal digits.
        """
        return _digest([item.told for item in self.items])[:16]


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()
