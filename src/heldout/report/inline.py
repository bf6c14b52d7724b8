"""What is typed and what is strong inside a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from heldout.summary.names import ISOLATE, ISOLATE_END, SUBSCRIPT, TURNS

Kind = Literal["plain", "code", "strong"]
_NAME = f"{ISOLATE}[^{ISOLATE_END}]*{ISOLATE_END}"  # nothing in it is ours to mark
_STRONG = rf"\*\*((?:{_NAME}|[^{ISOLATE}])+?)\*\*"
_MARKED = re.compile(rf"{_NAME}|{_STRONG}|`([^`\n<>&|{ISOLATE}]+)`|(?<![\w-])(--[a-z][a-z-]*[a-z])")

_BREAKS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
_STEERING = (
    {ord(SUBSCRIPT): "_"} | TURNS | dict.fromkeys(set(range(0x20)) - {0x09, 0x0A}) | dict.fromkeys(range(0x7F, 0xA0))
)


def pieces(text: str) -> Iterator[tuple[Kind, str]]:
    """The pieces of a sentence.

    Examples
    --------
    >>> list(pieces("**one** of --control and `x.npz`"))
    [('strong', 'one'), ('plain', ' of '), ('code', '--control'), ('plain', ' and '), ('code', 'x.npz')]
    """
    end = 0
    for found in _MARKED.finditer(text):
        if found.lastindex is None:
            continue  # a name
        if found.start() > end:
            yield "plain", text[end : found.start()]
        strong, typed, option = found.groups()
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
    return re.sub(f"{_NAME}|{_STRONG}", lambda found: found[1] or found[0], text)


def writable(text: str) -> str:
    """The text as UTF-8 can have it, without what steers a terminal or turns the direction of writing.

    A file name that is not valid Unicode is a name like any other, but no UTF-8.

    Examples
    --------
    >>> writable("a\\udcffb"), writable("\\x1b[31mred\\u202e")
    ('a\\\\udcffb', '[31mred')
    """
    return text.translate(_STEERING).encode("utf-8", "backslashreplace").decode("utf-8")


def one_line(text: str) -> str:
    """A name or a sentence in one line, whatever it holds.

    Examples
    --------
    >>> one_line("a\\n\\n b")
    'a b'
    """
    return _BREAKS.sub(" ", text)
