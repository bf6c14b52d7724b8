"""What is typed and what is strong inside a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

Kind = Literal["plain", "code", "strong"]
# `backticks`, an --option anywhere, **stars**
_MARKED = re.compile(r"`([^`]+)`|(?<![\w-])(--[a-z][a-z-]*[a-z])|\*\*(.+?)\*\*")


def pieces(text: str) -> Iterator[tuple[Kind, str]]:
    """The pieces of a sentence.

    Examples
    --------
    >>> list(pieces("**one** of --control and `x.npz`"))
    [('strong', 'one'), ('plain', ' of '), ('code', '--control'), ('plain', ' and '), ('code', 'x.npz')]
    """
    end = 0
    for found in _MARKED.finditer(text):
        if found.start() > end:
            yield "plain", text[end : found.start()]
        typed, option, strong = found.groups()
        yield ("strong", strong) if strong is not None else ("code", typed or option)
        end = found.end()
    if end < len(text):
        yield "plain", text[end:]


def bare(text: str) -> str:
    """The sentence without its marks, for a terminal: backticks stay, stars go.

    Examples
    --------
    >>> bare("give **one** of `a` and `b`")
    'give one of `a` and `b`'
    """
    return re.sub(r"\*\*(.+?)\*\*", r"\1", text)


def writable(text: str) -> str:
    """The text as UTF-8 can have it: a file name that is not valid Unicode is a name like any other, but no UTF-8.

    Examples
    --------
    >>> writable("a\\udcffb")
    'a\\\\udcffb'
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
