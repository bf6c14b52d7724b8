"""A headline, key figures, sections: all that a renderer needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from heldout.groups import FEW
from heldout.summary.blocks import Block, Facts, Points, Prose, Rows, kept_facts

EMPTY = (None, "", Points(()), Facts(()))
Tone = Literal["quiet", "found", "neutral"]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A key number beside the headline, with what it is and what it rests on."""

    name: str
    value: str
    note: str = ""
    strong: bool = True  # the answer itself; others are set smaller


def figures(*rows: tuple[str, str, str], strong: int = 0) -> tuple[Figure, ...]:
    """Key numbers from name, value and note; those without a value are left out, and one is the answer itself.

    Examples
    --------
    >>> [(figure.name, figure.strong) for figure in figures(("gap", "0.1", ""), ("error", "", ""), ("n", "9", ""))]
    [('gap', True), ('n', False)]
    """
    found = enumerate(rows)
    return tuple(Figure(name=name, value=v, note=note, strong=i == strong) for i, (name, v, note) in found if v)


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

    @classmethod
    def of(cls, title: str, *blocks: Block | str | None, **options: Any) -> Section:
        """A section of what there is: texts become prose; None, empty texts and empty lists are left out.

        Examples
        --------
        >>> Section.of("Seen", "A sentence.", None, Points(()), printed=True).blocks
        (Prose(text='A sentence.'),)
        """
        told = tuple(Prose(block) if isinstance(block, str) else block for block in blocks if block not in EMPTY)
        return cls(title=title, blocks=told, **options)


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
    lines: Rows = ()
    sections: tuple[Section, ...] = ()
    closing: tuple[str, ...] = ()
    origin: Rows = ()
    method: str = ""
    parts: tuple[Summary, ...] = ()
    parts_printed: bool = True


def origin(result: Any, *more: tuple[str, str | None]) -> Rows:
    """What made a result, from those of its fields that all verbs call the same, then what else there is to tell."""
    seed = getattr(result, "seed", None)
    return kept_facts(
        ("heldout", result.version),
        ("Date", result.created),
        ("Source", getattr(result, "source", None)),
        ("Seed", None if seed is None else str(seed)),
        ("Data digest", getattr(result, "data_digest", None)),
        *more,
    )


def groups_of_one(n: int) -> str:
    """Groups that change nothing, as a fact.

    Examples
    --------
    >>> groups_of_one(1200)
    '1,200 of one example each'
    """
    return f"{n:,} of one example each"


def few_groups(n_groups: int | None, of: str = "", then: str = "intervals are rough") -> tuple[str, ...]:
    """The warning where there are few groups, and nothing where there are not.

    Examples
    --------
    >>> few_groups(11, "the control"), few_groups(30), few_groups(None)
    (('The control has only 11 groups: below 30, intervals are rough.',), (), ())
    >>> few_groups(8)
    ('There are only 8 groups: below 30, intervals are rough.',)
    """
    if n_groups is None or n_groups >= FEW:
        return ()
    has = f"{of[:1].upper()}{of[1:]} has" if of else "There are"
    return (f"{has} only {n_groups} groups: below {FEW}, {then}.",)
