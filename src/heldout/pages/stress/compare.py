"""The same attack with one thing changed: curves on common axes, and a small table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from heldout.attack.result import StressRun
from heldout.pages import svg
from heldout.pages.stress.curve import FLAT, gain_series
from heldout.pages.stress.words import points_text
from heldout.pages.svg.shapes import shorten

STYLES: tuple[svg.Style, ...] = get_args(svg.Style)
LONGEST_IN_LEGEND = 26  # characters
DECADES = 1e3  # a log axis shows no more than so many times less than the largest gain


def compare_view(
    runs: Sequence[StressRun], names: Sequence[str], own: StressRun, *, what: str, log: bool = False
) -> dict[str, Any]:
    """Curves and table of several runs; `own` is the one that was asked for.

    Parameters
    ----------
    what : str
        What the runs differ in, for those who do not see the picture.
    log : bool
        Whether log axes would suit; they are used only if every run gains something in the end.
    """
    shown = _drawn(runs, own)
    log = log and all(runs[i].advantage[-1] > 0 for i in shown)
    across = log or crowded([runs[i] for i in shown])
    series = [
        gain_series(runs[i], shorten(names[i], LONGEST_IN_LEGEND), style=STYLES[place], log=across)
        for place, i in enumerate(shown)
    ]
    ends = "; ".join(f"{names[i]} {points_text(float(runs[i].advantage[-1]), sign=True)}" for i in shown)
    return {
        "chart": _chart(
            series, f"Gain against the number of answers by {what}; in the end: {ends}", x_log=across, y_log=log
        ),
        "log": log,
        "hidden": len(runs) - len(shown),
        "bars": bool(np.isfinite([r.std[-1] for r in runs]).any()),
        "answers": not at_same_answers(runs),
        "forecast": any(math.isfinite(r.forecast[-1]) for r in runs),
        "rows": [_row(r, name, chosen=r is own) for r, name in zip(runs, names, strict=True)],
        "notes": [
            f"{name}: {note}"
            for r, name in zip(runs, names, strict=True)
            if r is not own
            for note in r.notes
            if note not in own.notes
        ],
    }


def _drawn(runs: Sequence[StressRun], own: StressRun) -> list[int]:
    """Which runs get a line: all while there are styles, otherwise evenly spread ones and the one asked for."""
    n, most = len(runs), len(STYLES)
    if n <= most:
        return list(range(n))
    mine = next((i for i, r in enumerate(runs) if r is own), 0)
    others = [i for i in range(n) if i != mine]
    picked = {others[round(v)] for v in np.linspace(0, n - 2, most - 1)}
    return sorted(picked | {mine})


def _chart(series: Sequence[svg.Series], label: str, *, x_log: bool, y_log: bool) -> str:
    ends = [v for s in series for values in (s.y, s.low or (), s.high or ()) for v in values if math.isfinite(v)]
    low, top = min(0.0, *ends), max(0.0, *ends)
    if y_log:
        gains = [v for s in series for v in s.y if v > 0]
        y_range = max(min(gains), top / DECADES) / 1.3, top * 1.15
    else:
        pad = 0.06 * (top - low) if top - low > FLAT else 1.0
        y_range = low - pad if low < 0 else 0.0, top + pad
    return svg.line_chart(
        series,
        label=label,
        x_label="answers (log scale)" if x_log else "answers",
        y_label="gain, percentage points (log scale)" if y_log else "gain, percentage points",
        x_log=x_log,
        y_log=y_log,
        x_whole=True,
        x_range=None if x_log else (0.0, 1.03 * max(float(s.x[-1]) for s in series)),
        y_range=y_range,
    )


def crowded(runs: Sequence[StressRun]) -> bool:
    """Whether most stops stand in the first quarter of the axis: a log axis then gives them room."""
    stops = np.concatenate([r.queries for r in runs])
    return bool(stops.min() > 0 and np.median(stops) < stops.max() / 4)


def _row(run: StressRun, name: str, *, chosen: bool) -> dict[str, Any]:
    std, forecast = float(run.std[-1]), float(run.forecast[-1])
    return {
        "name": name,
        "chosen": chosen,
        "answers": f"{int(run.queries[-1]):,}",
        "gain": points_text(float(run.advantage[-1]), sign=True),
        "std": "–" if math.isnan(std) else points_text(std),
        "forecast": "–" if math.isnan(forecast) else points_text(forecast - run.chance, sign=True),
    }


def at_same_answers(runs: Sequence[StressRun]) -> bool:
    """Whether the last gains may be compared as they stand."""
    return len({int(r.queries[-1]) for r in runs}) == 1
