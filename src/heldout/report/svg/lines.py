"""Lines with markers and bands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heldout.report.svg.axes import decade_text, decade_ticks, linear_ticks, log_ticks, number_text, room, x_axis
from heldout.report.svg.shapes import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Style, legend, line, marker, svg_element, text


@dataclass(frozen=True, kw_only=True)
class Series:
    """A line of `line_chart`, with a band around it where `low` and `high` are given."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    hover: Sequence[str]  # one a point
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    style: Style = "a"


def line_chart(
    series: Sequence[Series],
    *,
    label: str,
    x_label: str,
    y_label: str,
    x_log: bool = False,
    y_decades: bool = False,
    reference: tuple[float, str] | None = None,
) -> str:
    """Lines with markers and bands.

    Parameters
    ----------
    label : str
        What the picture shows, for those who do not see it.
    x_log : bool
        Logarithmic x axis.
    y_decades : bool
        The y values are logarithms to base 10 already (p-values underflow, their logarithms do not).
    reference : (y, text), optional
        A dashed horizontal line.
    """
    xs = [v for s in series for v in s.x]
    ys = [v for s in series for values in (s.y, s.low or (), s.high or ()) for v in values]
    if reference is not None:
        ys.append(reference[0])
    x_low, x_high = room(math.log10(min(xs)), math.log10(max(xs))) if x_log else room(min(xs), max(xs))
    y_low, y_high = room(min(ys), max(ys))
    if y_decades:
        # Room beyond p = 1 too, so that markers there stand inside.
        y_low, y_high = room(min(math.floor(min(ys)), -1.0), max(0.0, max(ys)))

    names, names_height = legend([(s.name, s.style) for s in series])
    top, height = TOP + names_height, 290.0
    bottom = height - BOTTOM

    def place_x(v: float) -> float:
        at = math.log10(v) if x_log else v
        return LEFT + 8 + (at - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT - 16)

    def place_y(v: float) -> float:
        return bottom - (v - y_low) / (y_high - y_low) * (bottom - top)

    parts = [names]
    y_ticks = decade_ticks(y_low, y_high) if y_decades else linear_ticks(y_low, y_high)
    step = y_ticks[1] - y_ticks[0] if len(y_ticks) > 1 else 1.0
    for tick in y_ticks:
        y = place_y(tick)
        parts.append(line("grid", LEFT, y, WIDTH - RIGHT, y))
        parts.append(text(LEFT - 7, y + 4, decade_text(tick) if y_decades else number_text(tick, step), "end"))
    x_ticks, x_names = _x_ticks(x_low, x_high, log=x_log)
    parts += x_axis([place_x(t) for t in x_ticks], x_names, bottom, x_label)
    parts.append(text(4, top - 13, y_label, "start"))
    if reference is not None:
        y = place_y(reference[0])
        parts.append(line("reference", LEFT, y, WIDTH - RIGHT, y))
        parts.append(text(WIDTH - RIGHT - 2, y + 14, reference[1], "end"))
    parts += [_band(s, place_x, place_y) for s in series if s.low is not None]
    for s in series:
        points = [(place_x(x), place_y(y)) for x, y in zip(s.x, s.y, strict=True)]
        parts.append(f'<polyline class="{s.style} line" points="{_points(points)}"/>')
        parts += [marker(x, y, s.style, hover) for (x, y), hover in zip(points, s.hover, strict=True)]
    return svg_element(height, label, parts)


def _x_ticks(low: float, high: float, *, log: bool) -> tuple[list[float], list[str]]:
    if log:
        ticks = log_ticks(10**low, 10**high)
        return ticks, [f"{t:,.0f}" for t in ticks]
    ticks = linear_ticks(low, high)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    return ticks, [number_text(t, step) for t in ticks]


def _band(s: Series, place_x: Callable[[float], float], place_y: Callable[[float], float]) -> str:
    assert s.low is not None
    assert s.high is not None
    edge = [*zip(s.x, s.high, strict=True), *reversed(list(zip(s.x, s.low, strict=True)))]
    points = [(place_x(x), place_y(y)) for x, y in edge]
    return f'<polygon class="{s.style} band fill" points="{_points(points)}"/>'


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
