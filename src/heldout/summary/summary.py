"""A headline, key figures, sections: all that a renderer needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from heldout.summary.blocks import Block

Tone = Literal["quiet", "found", "neutral"]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A key number beside the headline, with what it is and what it rests on."""

    name: str
    value: str
    note: str = ""
    strong: bool = True  # the answer itself; others are set smaller


@dataclass(frozen=True, kw_only=True)
class Section:
    """Blocks under a title.

    Parameters
    ----------
    title : str
        The heading.
    blocks : tuple of blocks
        In reading order.
    level : {2, 3}
        Of the heading.
    printed : bool
        Whether `print` shows it; Markdown and HTML show every section.
    anchor : str
        For links to it; made from the title unless given.
    """

    title: str
    blocks: tuple[Block, ...]
    level: Literal[2, 3] = 2
    printed: bool = False
    anchor: str = ""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a result says.

    Parameters
    ----------
    kind : str
        What was done, in a word or two: "Budget", "Audit: verdict".
    headline : str
        The answer, as short as it can be.
    sentences : tuple of str
        What the headline means; the first is printed after it.
    tone : {"quiet", "found", "neutral"}
        "found" where something is wrong, "neutral" where nothing is judged.
    subject : str
        What was measured, on which data, in a line.
    figures : tuple of Figure
        Key numbers.
    warnings : tuple of str
        What a reader must know before trusting a number; always shown.
    lines : tuple of (name, value)
        The numbers that `print` shows below the headline.
    sections : tuple of Section
        Everything else.
    closing : tuple of str
        What all of it rests on; printed last.
    origin : tuple of (name, value)
        What made the result: version, seed, digests, date.
    method : str
        The papers, with their addresses in angle brackets.
    parts : tuple of Summary
        Several results on one page, below what they have in common.
    parts_printed : bool
        Whether `print` shows them as well.
    """

    kind: str
    headline: str
    sentences: tuple[str, ...] = ()
    tone: Tone = "quiet"
    subject: str = ""
    figures: tuple[Figure, ...] = ()
    warnings: tuple[str, ...] = ()
    lines: tuple[tuple[str, str], ...] = ()
    sections: tuple[Section, ...] = ()
    closing: tuple[str, ...] = ()
    origin: tuple[tuple[str, str], ...] = ()
    method: str = ""
    parts: tuple[Summary, ...] = ()
    parts_printed: bool = True
