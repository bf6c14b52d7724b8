"""The leaderboard with intervals that hold for all models at once, rank ranges and bands."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from heldout.pages import svg
from heldout.pages.budget.words import LONGEST, confidence_text, contradicted_text, first_text, steps_text
from heldout.pages.numbers import PERCENT, scientific
from heldout.pages.svg.axes import linear_ticks
from heldout.pages.svg.shapes import shorten
from heldout.reuse.result import BudgetResult, PoolResult
from heldout.summary.numbers import pvalue_text

OPEN = 30  # rows unfolded
ALL = 200  # pools up to this size are shown whole
TOP = 50  # rows of larger pools
MANY = 5_000  # examples from which on a tenth of a percent is too coarse


def leaderboard_view(result: BudgetResult) -> dict[str, Any] | None:
    """The rows, lowest error first; None without a pool."""
    pool = result.pool
    if pool is None:
        return None
    k = pool.similarity.n_models
    shown = k if k <= ALL else TOP
    opened = shown if shown <= OPEN + 5 else OPEN  # nobody unfolds five rows
    digits = 2 if result.n_examples >= MANY else 1
    return {
        "board": _board(pool, range(opened), digits),
        "folded": _board(pool, range(opened, shown), digits) if shown > opened else None,
        "more": f"{k - shown:,}" if k > shown else None,
        "n": "both" if k == 2 else f"all {k:,}",
        "confidence": confidence_text(result),
        "steps": steps_text(result, pool),
        "pairs": f"{pool.similarity.n_pairs:,}" if pool.similarity.n_pairs > 1 else None,
        "told": None if pool.n_significant is None else f"{pool.n_significant:,}",
        "first_group": first_text(pool),
        "ranked": pool.ranks is not None,
        "level": scientific(pool.level["similarity"]),
        "union_level": scientific(pool.level["union"]),
        "delta": f"{result.delta:g}",
        "missing": pool.n_missing > 0,
        "groups": None if pool.example_groups is None else f"{pool.example_groups.n_groups:,}",
        "turned": contradicted_text(pool),
    }


def _board(pool: PoolResult, places: range, digits: int) -> dict[str, Any]:
    """Some places of the leaderboard on an axis of their own: far down, errors may be of another order."""
    models = pool.order[places.start : places.stop].tolist()
    low, high, step = axis(float(np.min(pool.low[models])), float(np.max(pool.high[models])))
    grid = [low + i * step for i in range(round((high - low) / step) + 1)]
    group_of = {model: g for g, group in enumerate(pool.groups) for model in group}
    rows = []
    for place, i in zip(places, models, strict=True):
        group = pool.groups[group_of[i]]
        rows.append(
            {
                **_numbers(pool, i, (low, high), grid, digits),
                "rank": _rank(pool, i, place),
                "next": _against_next(pool, place),
                "shade": group_of[i] % 2 == 1,
                "first": group[0] == i and place > places.start,
                "tied": len(group) > 1,
            }
        )
    tick_digits = max(0, -math.floor(math.log10(100 * step) + 1e-9))
    return {"rows": rows, "axis": [f"{100 * v:.{tick_digits}f}{PERCENT}" for v in (low, high)], "n": len(rows)}


def axis(low: float, high: float) -> tuple[float, float, float]:
    """Round ends around [low, high], and the step between grid lines.

    Examples
    --------
    >>> [round(v, 3) for v in axis(0.166, 0.235)]
    [0.16, 0.24, 0.02]
    """
    ticks = linear_ticks(low, high, count=4)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else high - low
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, step


def _numbers(pool: PoolResult, i: int, ends: tuple[float, float], grid: list[float], digits: int) -> dict[str, Any]:
    """A model's error and interval, in words and drawn."""
    name, error = pool.similarity.names[i], float(pool.similarity.errors[i])
    low, high = float(pool.low[i]), float(pool.high[i])
    interval = f"{100 * low:.{digits}f} to {100 * high:.{digits}f}"
    told = f"{shorten(name, LONGEST)}: error {100 * error:.{digits}f}{PERCENT} ({interval})"
    return {
        "name": shorten(name, LONGEST),
        "full": name if len(name) > LONGEST else None,
        "error": f"{100 * error:.{digits}f}",
        "interval": interval,
        "mark": svg.range_mark(error, (low, high), low=ends[0], high=ends[1], grid=grid, label=told),
    }


def _rank(pool: PoolResult, model: int, place: int) -> str:
    if pool.ranks is None:
        return f"{place + 1}"
    best, worst = (int(v) for v in pool.ranks[model])
    return f"{best}" if best == worst else f"{best}–{worst}"


def _against_next(pool: PoolResult, place: int) -> dict[str, Any] | None:
    """This model against the one below it; None for the last."""
    if place >= len(pool.neighbours):
        return None
    c = pool.neighbours[place]
    return {
        "sign": ">" if c.survives else "<" if c.contradicted else "≈",
        "p": pvalue_text(c.log_adjusted),
        "hover": f"only this one right: {c.better_only:,} examples; only the next: {c.worse_only:,}",
    }
