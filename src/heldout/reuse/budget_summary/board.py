"""The leaderboard with intervals that hold for all models at once, and who may be first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from heldout.reuse.budget_summary.words import list_names
from heldout.reuse.leaderboard import Comparison
from heldout.reuse.score_result import ScoreComparison
from heldout.summary import Facts, Fold, Note, RangeRow, Ranges
from heldout.summary.numbers import pvalue_text, sure_text

OPEN = 30  # rows unfolded
ALL = 200  # pools up to this size are shown whole
TOP = 50  # rows of larger pools
TITLE = "The leaderboard, with error bars that hold for all at once"


def board(
    names: Sequence[str],
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    *,
    columns: tuple[str, str, str, str, str],
    order: NDArray[np.intp],
    ranks: NDArray[np.int64] | None,
    bands: Sequence[Sequence[int]],
    neighbours: Sequence[Comparison | ScoreComparison],
    digits: int,
) -> Ranges:
    """The rows, the best first."""
    shown = len(order) if len(order) <= ALL else TOP
    band_of = {model: (b, len(band) > 1) for b, band in enumerate(bands) for model in band}
    rows = []
    for place, i in enumerate(order[:shown].tolist()):
        c = neighbours[place] if place < len(neighbours) else None
        rows.append(
            RangeRow(
                name=names[i],
                value=float(value[i]),
                low=float(low[i]),
                high=float(high[i]),
                value_text=f"{value[i]:.{digits}f}",
                interval_text=f"{low[i]:.{digits}f} to {high[i]:.{digits}f}",
                rank=f"{place + 1}" if ranks is None else _rank(*ranks[i].tolist()),
                next="" if c is None else ">" if c.survives else "<" if c.contradicted else "≈",
                next_note="" if c is None else pvalue_text(c.log_adjusted),
                next_hover="" if c is None else _hover(c),
                band=band_of[i][0],
                tied=band_of[i][1],
            )
        )
    return Ranges(caption="Leaderboard", columns=columns, rows=tuple(rows), more=len(order) - shown, rows_open=OPEN)


def _rank(best: int, worst: int) -> str:
    return f"{best}" if best == worst else f"{best}–{worst}"


def _hover(c: Comparison | ScoreComparison) -> str:
    if isinstance(c, ScoreComparison):
        return f"difference {c.difference:.4f}"
    return f"only this one right: {c.better_only:,} examples; only the next: {c.worse_only:,}"


def key(delta: float, *, compared: str, adjusted: str, ranked: bool = True, turned: bool = False) -> Iterator[str]:
    """How the columns are to be read."""
    sure = sure_text(delta)
    if ranked:
        yield f"**Rank**: every rank the comparisons leave open; with probability {sure} all true ranks lie inside."
    yield (
        "**Bands**: a new band starts with the first model that can be told from the first of the band above it. "
        "Within a band no model can be told from its first; two others of it may well differ. A bar at the left marks "
        "bands of two or more."
    )
    worse = ", < where it is significantly worse" if turned else ""
    yield (
        f"**Next**: > where a model is significantly better than the one below it, ≈ where it is not{worse}. "
        f"{compared}; p {adjusted}has to be at most {delta:g}."
    )


def first_blocks(sets: Sequence[tuple[int, Sequence[str]]], delta: float, splits: str) -> tuple[Facts, Fold]:
    """The models that may be first, and among the top 3 and 10; `splits` is what the winner's drop rests on."""
    facts = tuple(
        ("May be first" if top == 1 else f"May be among the top {top}", f"{len(names):,}: {list_names(names)}")
        for top, names in sets
    )
    note = (
        "A model is excluded from the top T where T others are better, each by a one-sided test at a level that pays "
        f"for all models. A model that truly belongs there, named beforehand, is on each list with probability "
        f"{sure_text(delta)}; that asks less than to have every rank right at once, so it may exclude models whose "
        f"range of ranks still reaches so high. The drop is what winners lose from the examples they are chosen on to "
        f"those left out, over many random splits of these {splits}."
    )
    return Facts(facts), Fold(title="How models are excluded, and where the drop comes from", blocks=(Note(note),))
