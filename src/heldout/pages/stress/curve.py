"""Figure 1: what the answers give away, against their number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.attack.result import StressResult, StressRun
from heldout.pages import svg
from heldout.pages.numbers import percent
from heldout.pages.stress.words import (
    bound_value,
    confidence_text,
    count_text,
    forecast_words,
    last_telling,
    points_text,
)

ROOM = 2.5  # times the height that the data need; a bound that asks for more would press them flat, so it is cut
FLAT = 1e-9  # points: gains of zero up to rounding
MAX_ROWS, MAX_MARKERS = 13, 16
FLOOR = 50  # a log axis shows no gain that is so many times smaller than the largest simulated one


def curve_view(result: StressResult) -> dict[str, Any]:
    """The curve with error bars, forecast and bound; on log scales too where the bound does not fit otherwise."""
    run = result.run
    top = _data_top(run)
    bound = _bound_gains(run)
    telling = bound[np.isfinite(bound)]
    fits = len(telling) > 0 and float(telling.max()) <= ROOM * top
    high = max(top, float(telling.max())) if fits else top
    seen = len(telling) > 0 and float(telling.min()) <= high
    return {
        "chart": _chart(result, high, bound=seen),
        "log": _log_chart(result) if len(telling) > 1 and not fits else None,
        "caption": _caption(run),
        "bound": _bound_sentence(result, seen=seen, fits=fits),
        "columns": ["Answers", "Accuracy", "sd, points", "Gain, points", "Forecast", "Upper bound", "Theorem 3.1"],
        "rows": _rows(run),
    }


def _data_top(run: StressRun) -> float:
    """The highest gain that is drawn in any case, in points."""
    values = [*run.advantage, *(run.advantage + run.std), *run.forecast_gain]
    top = 100 * max([v for v in values if math.isfinite(v)] + [0.0])
    return top if top > FLAT else 1.0


def _bound_gains(run: StressRun) -> NDArray[np.float64]:
    """(c,) the upper bound in points above the baseline; NaN where it excludes nothing or is unknown."""
    return np.where(run.upper_bound < 1, 100 * (run.upper_bound - run.baseline), math.nan)


def _series(result: StressResult, *, bound: bool, log: bool = False) -> list[svg.Series]:
    """What was computed, and over it, last, what was simulated."""
    run = result.run
    forecast = 100 * run.forecast_gain
    known = bool(np.isfinite(forecast).any())
    series = [_plain("forecast", run, forecast, "b", log=log)] if known else []
    series += [_plain("upper bound", run, _bound_gains(run), "c", log=log)] if bound else []
    name = "simulated" if math.isnan(run.std[-1]) else "simulated, ±1 sd"
    return [*series, gain_series(run, name, joined=not known, log=log)]


def gain_series(
    run: StressRun, name: str, *, style: svg.Style = "a", joined: bool = True, log: bool = False
) -> svg.Series:
    """One run's gain in points with its error bars; of many stops some, evenly spread over the axis."""
    stops = drawn_stops(run, log=log)
    queries, gain, std = run.queries[stops], 100 * run.advantage[stops], 100 * run.std[stops]
    spread = ["" if math.isnan(s) else f", sd {points_text(float(s) / 100)}" for s in std]
    hover = [
        f"{name}, {count_text(int(k), 'answer')}: {points_text(float(g) / 100, sign=True)} points{s}"
        for k, g, s in zip(queries, gain, spread, strict=True)
    ]
    return svg.Series(
        name=name,
        x=queries.tolist(),
        y=gain.tolist(),
        low=(gain - std).tolist(),
        high=(gain + std).tolist(),
        hover=hover,
        style=style,
        joined=joined,
        whiskers=True,
    )


def drawn_stops(run: StressRun, *, log: bool = False) -> NDArray[np.intp]:
    """Which stops get a marker: no more than can be told apart, the first and the last among them.

    On a log axis there is no place for a stop before the first answer.
    """
    stops = np.flatnonzero(run.queries > 0) if log else np.arange(len(run.queries))
    if len(stops) <= MAX_MARKERS:
        return stops
    at = np.log(run.queries[stops]) if log else run.queries.astype(np.float64)
    targets = np.linspace(at[0], at[-1], MAX_MARKERS)
    return np.asarray(stops[np.unique(np.abs(at[:, None] - targets).argmin(axis=0))])


def _plain(name: str, run: StressRun, gain: NDArray[np.float64], style: svg.Style, *, log: bool) -> svg.Series:
    """A computed curve: a line, or a marker where a single point is all there is."""
    stops = np.flatnonzero(run.queries > 0) if log else np.arange(len(run.queries))
    queries, gain = run.queries[stops], gain[stops]
    hover = [
        f"{name}, {count_text(int(k), 'answer')}: {points_text(float(g) / 100, sign=True)} points"
        for k, g in zip(queries, gain, strict=True)
    ]
    lonely = bool(np.isfinite(gain).sum() == 1)
    return svg.Series(
        name=name, x=queries.tolist(), y=gain.tolist(), hover=hover, style=style, markers=lonely, joined=not lonely
    )


def _chart(result: StressResult, high: float, *, bound: bool) -> str:
    series = _series(result, bound=bound)
    values = [v for s in series[-1:] for part in (s.y, s.low or ()) for v in part if math.isfinite(v)]
    low = min(0.0, *values)
    pad = 0.06 * (high - low)
    return svg.line_chart(
        series,
        label=f"Gain in percentage points against the number of answers; after {count_text(result.queries, 'answer')} "
        f"{points_text(result.advantage, sign=True)}",
        x_label="answers",
        y_label="gain, percentage points",
        x_range=(0.0, 1.03 * result.queries),
        x_whole=True,
        y_range=(low - pad if low < 0 else 0.0, high + pad),
    )


def _log_chart(result: StressResult) -> str | None:
    """The bound whole: on log scales it takes nothing away from the data."""
    series = _series(result, bound=True, log=True)
    values = [v for s in series for v in s.y if math.isfinite(v) and v > 0]
    if not any(v > 0 for v in series[-1].y):
        return None
    top = max(values)
    low = max(min(values), max(series[-1].y) / FLOOR)
    return svg.line_chart(
        series,
        label="The same on log scales, with the bound that nobody passes",
        x_label="answers (log scale)",
        y_label="gain, percentage points (log scale)",
        x_log=True,
        y_log=True,
        y_range=(low / 1.3, top * 1.3),
    )


def _caption(run: StressRun) -> str:
    bars = (
        "" if math.isnan(run.std[-1]) else f"; bars are one standard deviation over {count_text(run.trials, 'trial')}"
    )
    known = math.isfinite(run.forecast[-1])
    forecast = f" The forecast is {forecast_words(run)}." if known else ""
    n, shown = len(run.queries), len(drawn_stops(run))
    some = f" {shown} of {n} stops are drawn." if shown < n else ""
    return f"Accuracy less the {percent(run.baseline, 2)} before any answer{bars}.{forecast}{some}"


def _bound_sentence(result: StressResult, *, seen: bool, fits: bool) -> str:
    """What the picture leaves out of the bound, and why."""
    run = result.run
    if np.isnan(run.upper_bound).all():
        return f"There is no upper bound in the picture: {result.no_bound}."
    last = last_telling(run)
    if last is None:
        first = count_text(int(run.queries[0]), "answer")
        return f"There is no upper bound in the picture: already at {first} it excludes nothing."
    at = run.queries.tolist().index(last)
    value = (
        f"{points_text(float(run.upper_bound[at]) - run.baseline, sign=True)} points at {count_text(last, 'answer')}"
    )
    sure = f"With probability {confidence_text(result)}, {result.condition}, no attack passes {value}"
    ends = "" if last == result.queries else "; at the next stop it excludes nothing any more"
    if fits:
        return f"{sure}{ends}."
    lies = "leaves this picture on the way there" if seen else "lies above this picture"
    return f"{sure}; the bound {lies}{ends}."


def _rows(run: StressRun) -> list[list[str]]:
    n = len(run.queries)
    places = range(n) if n <= MAX_ROWS else sorted({round(v) for v in np.linspace(0, n - 1, MAX_ROWS)})
    return [
        [
            f"{int(run.queries[i]):,}",
            percent(float(run.mean[i]), 2),
            points_text(float(run.std[i])),
            points_text(float(run.advantage[i]), sign=True),
            percent(float(run.forecast[i]), 2),
            bound_value(float(run.upper_bound[i])),
            "not defined" if math.isnan(run.theorem_bound[i]) else bound_value(float(run.theorem_bound[i])),
        ]
        for i in places
    ]
