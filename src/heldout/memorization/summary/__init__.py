"""What a measurement of memorization says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from heldout.groups import FEW
from heldout.memorization.summary.answer import disputed, figures, headline, sentences
from heldout.memorization.summary.meaning import METHOD
from heldout.memorization.summary.phrases import LEVEL_TEXT, examples_text
from heldout.memorization.summary.sections import sections
from heldout.summary import Summary
from heldout.summary.names import TURNS, name_text
from heldout.summary.numbers import counted, fixed

if TYPE_CHECKING:
    from heldout.memorization.ranking import Ranking
    from heldout.memorization.result import MemorizationResult

__all__ = ["remarks", "summarise"]


def summarise(result: MemorizationResult) -> Summary:
    """The summary of a result."""
    one = len(result.models) == 1
    subject = f"{name_text(result.models[0]) if one else counted(len(result.models), 'model')}, {examples_text(result)}"
    lines = [("measured", subject)]
    if result.rankings:
        lines.append(("most memorised first", f"> significant (family-wise {LEVEL_TEXT}), ~ not"))
    origin = [
        ("heldout", result.version),
        ("Date", result.created),
        ("Source", result.source),
        ("Seed", f"{result.seed}"),
        ("Data digest", result.digest),
    ]
    return Summary(
        kind="Memorization",
        headline=headline(result),
        sentences=sentences(result),
        tone="neutral" if not one and disputed(result) is not None else "quiet",
        subject=subject,
        figures=figures(result),
        warnings=_warnings(result),
        lines=(*lines, *((r.column.title, _order(r)) for r in result.rankings)),
        sections=tuple(sections(result, (*_unpaired(result), *_grouped(result, few=False), *result.notes))),
        origin=tuple((name, value) for name, value in origin if value),
        method=METHOD,
    )


def remarks(result: MemorizationResult) -> tuple[str, ...]:
    """What must be known beside the numbers."""
    return (
        *result.unfit,
        *_unranked(result),
        *_unpaired(result),
        *_grouped(result, few=True),
        *_grouped(result, few=False),
        *result.notes,
    )


def _warnings(result: MemorizationResult) -> tuple[str, ...]:
    unfit = (f"method {sentence.translate(TURNS)}" for sentence in result.unfit)
    return (*unfit, *_unranked(result), *_grouped(result, few=True))


def _order(r: Ranking) -> str:
    """All models in a line.

    Examples
    --------
    >>> from heldout.memorization.ranking import Ranked, Ranking
    >>> places = [Ranked(m, v, v - 0.1, v + 0.1, (1, 3)) for m, v in (("a", 0.5), ("b", 0.2), ("c", 0.1))]
    >>> _order(Ranking("spatial", "k_max", "high", 0.95, (("a", "b"), ("a", "c")), tuple(places)))
    'a 0.5000 > b 0.2000 ~ c 0.1000'
    """
    told = [f"{name_text(e.model)} {fixed(e.value)}" for e in r.most_memorised_first]
    signs = [">" if r.differs(a, b) else "~" for a, b in zip(r.models, r.models[1:], strict=False)]
    return " ".join([told[0], *(f"{sign} {next_one}" for sign, next_one in zip(signs, told[1:], strict=True))])


def _unranked(result: MemorizationResult) -> tuple[str, ...]:
    sentences = []
    for left in result.unranked:
        if len(left.ranked) > 1:
            was = "was" if len(left.models) == 1 else "were"
            sentences.append(
                f"under {left.perturbation}, {', '.join(left.models)} {was} measured at other strengths than "
                f"{', '.join(left.ranked)}, so the numbers cannot be compared and are not ranked."
            )
        else:
            sentences.append(
                f"under {left.perturbation}, each model was measured at other strengths, so the numbers are not ranked."
            )
    return tuple(sentence.translate(TURNS) for sentence in sentences)


def _unpaired(result: MemorizationResult) -> tuple[str, ...]:
    pairs = [f"{a} and {b}" for a, b in result.unpaired]
    if not pairs:
        return ()
    told = f"{', '.join(pairs[:3])}{f' and {len(pairs) - 3} more pairs' if len(pairs) > 3 else ''}".translate(TURNS)
    what = "different examples or wrong labels, as far as can be told"
    return (f"{told}: measured on {what}, so they are compared as if independent, not example by example.",)


def _grouped(result: MemorizationResult, *, few: bool) -> tuple[str, ...]:
    """Where examples come in groups: how many, and the design effect; a warning where they are few."""
    found: dict[tuple[int, int], list[float]] = {}
    for c in result.curves:
        if c.groups is not None:
            found.setdefault((c.n, c.units), []).append(c.design_effect)
    told = []
    for (n, units), effects in found.items():
        known = [d for d in effects if not math.isnan(d)]
        effect = f"design effect at most {max(known):.2f}" if known else "design effect unknown"
        rough = f" {units} groups are few: below {FEW}, intervals and comparisons are rough." if few else ""
        if few == (units < FEW):
            told.append(f"{n:,} examples in {units:,} groups, {effect}; whole groups are drawn anew.{rough}")
    return tuple(told)
