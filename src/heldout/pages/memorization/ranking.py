"""Models in the order of each metric, and which of them differ significantly."""

from __future__ import annotations

import itertools
from typing import Any

from heldout.memorization.ranking import Ranking
from heldout.memorization.result import MemorizationResult
from heldout.pages import svg
from heldout.pages.budget.leaderboard import axis
from heldout.pages.memorization.words import LEVEL_TEXT, TURNS, name_text, significant_text
from heldout.pages.numbers import fixed, pair
from heldout.pages.svg.axes import number_text

OPEN = 40  # rows unfolded, over all metrics; the first metric is open in any case


def ranking_view(result: MemorizationResult) -> dict[str, Any] | None:
    """One board a metric, and who is on none; None where nothing is compared."""
    if not result.rankings and not result.unranked and not (result.unfit and len(result.models) > 1):
        return None
    boards: list[dict[str, Any]] = []
    rows = 0
    for r in result.rankings:
        rows += len(r.models)
        boards.append({**_board(r), "open": not boards or rows <= OPEN})
    return {
        "open": [b for b in boards if b["open"]],
        "folded": [b for b in boards if not b["open"]],
        "level": LEVEL_TEXT,
        "significant": significant_text(result),
        "paired": not result.unpaired,
        "unranked": [s.translate(TURNS) for s in (*result.unfit, *result.unranked, *result.unpaired)],
    }


def _board(r: Ranking) -> dict[str, Any]:
    low, high, step = axis(min(e.low for e in r.estimates), max(e.high for e in r.estimates))
    grid = [low + i * step for i in range(round((high - low) / step) + 1)]
    rows = []
    for i, (model, e, ranks) in enumerate(zip(r.models, r.estimates, r.ranks, strict=True)):
        told = f"{name_text(model)}: {r.column.title} {fixed(e.value)} ({pair((e.low, e.high))})"
        rows.append(
            {
                "rank": f"{ranks[0]}" if ranks[0] == ranks[1] else f"{ranks[0]}–{ranks[1]}",
                "name": name_text(model),
                "full": model,
                "value": fixed(e.value),
                "interval": pair((e.low, e.high)),
                "mark": svg.range_mark(e.value, (e.low, e.high), low=low, high=high, grid=grid, label=told),
                "next": "" if i + 1 == len(r.models) else ">" if r.differs(model, r.models[i + 1]) else "~",
            }
        )
    pairs = list(itertools.combinations(r.models, 2))
    apart = len(r.above)
    return {
        "title": r.column.title,
        "metric": r.column.metric,
        "reads": r.column.direction,
        "apart": f"{apart} of {len(pairs)} pairs of models {'differs' if apart == 1 else 'differ'} significantly"
        if len(pairs) > 1
        else f"the difference is {'' if apart else 'not '}significant",
        "axis": [number_text(v, step) for v in (low, high)],
        "rows": rows,
    }
