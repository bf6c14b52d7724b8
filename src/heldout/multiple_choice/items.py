"""Multiple-choice questions as they are printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload


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
    """

    id: str
    question: str
    options: tuple[str, ...]
    answer: int


@dataclass(frozen=True)
class Items(Sequence[Item]):
    """The questions of a benchmark.

    Parameters
    ----------
    items : tuple of Item
        In their order.
    source : str
        Where they are from.
    """

    items: tuple[Item, ...]
    source: str = "items"

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Items: ...
    def __getitem__(self, index: int | slice) -> Item | Items:
        return self.items[index] if isinstance(index, int) else Items(self.items[index], self.source)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)
