"""Small inline SVG charts without dependencies: lines with bands, intervals, histograms.

Every function returns one `<svg>` element as text. Colours come from CSS classes only (`STYLE`,
fed by the page's variables), so that one drawing serves light and dark. Charts are drawn 420 units
wide and scale with their column: text stays readable from a phone to a desk.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

WIDTH = 420.0
LEFT, RIGHT, TOP, BOTTOM = 50.0, 14.0, 12.0, 44.0
CHARACTER = 6.4  # estimated width of a character at the charts' font size
ROW = 46.0  # height of a row of `interval_chart`

Style = Literal["a", "b", "c", "d"]

STYLE = """\
.chart { display: block; width: 100%; height: auto; overflow: visible; font-size: 12px; }
.chart text { fill: var(--muted); font-family: inherit; font-variant-numeric: tabular-nums; }
.chart .sub { font-size: 9px; }
.chart .ground { fill: var(--page); }
.chart .strong { fill: var(--ink); }
.chart .grid { stroke: var(--rule); stroke-width: 1; }
.chart .axis { stroke: var(--axis); stroke-width: 1; fill: none; }
.chart .reference { stroke: var(--muted); stroke-width: 1; stroke-dasharray: 3 3; fill: none; }
.chart .line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.chart .band { stroke: none; opacity: 0.16; }
.chart .whisker { stroke-width: 2.5; stroke-linecap: round; fill: none; }
.chart .a.line, .chart .a.whisker { stroke: var(--series-a); }
.chart .b.line, .chart .b.whisker { stroke: var(--series-b); }
.chart .c.line, .chart .c.whisker { stroke: var(--series-c); }
.chart .d.line, .chart .d.whisker { stroke: var(--series-d); }
.chart .b.line { stroke-dasharray: 6 4; }
.chart .a.fill { fill: var(--series-a); }
.chart .b.fill { fill: var(--series-b); }
.chart .c.fill { fill: var(--series-c); }
.chart .d.fill { fill: var(--series-d); }
"""


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


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of `interval_chart`: a dot, with whiskers where `interval` is given."""

    name: str
    value: float
    text: str  # the numbers in words, shown at the right
    interval: tuple[float, float] | None = None
    style: Style = "a"


def linear_ticks(low: float, high: float, *, count: int = 5) -> list[float]:
    """Round numbers in [low, high], about `count` of them.

    Examples
    --------
    >>> linear_ticks(0.0, 0.93)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    >>> linear_ticks(-3, 11, count=4)
    [0.0, 5.0, 10.0]
    """
    raw = (high - low) / max(1, count)
    power = 10.0 ** math.floor(math.log10(raw))
    step = min((m * power for m in (1, 2, 5, 10)), key=lambda s: abs(math.log(s / raw)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2, 5 times powers of ten in [low, high]; even steps where the range is short, powers only where it is long.

    Examples
    --------
    >>> log_ticks(10, 500)
    [10.0, 20.0, 50.0, 100.0, 200.0, 500.0]
    >>> log_ticks(20, 40)
    [20.0, 25.0, 30.0, 35.0, 40.0]
    >>> log_ticks(1, 1e6)
    [1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0, 1000000.0]
    """
    if high / low < 4:
        return linear_ticks(low, high, count=4)
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1.0, 2.0, 5.0) if high / low < 2e3 else (1.0,)
    ticks = [m * 10.0**e for e in exponents for m in steps]
    return [t for t in ticks if low * (1 - 1e-9) <= t <= high * (1 + 1e-9)]


def decade_ticks(low: float, high: float) -> list[float]:
    """Whole exponents in [low, high], at most seven.

    Examples
    --------
    >>> decade_ticks(-25.3, 0)
    [-25.0, -20.0, -15.0, -10.0, -5.0, 0.0]
    """
    for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000):
        ticks = [float(step * i) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
        if len(ticks) <= 7:
            return ticks
    return [math.ceil(low), math.floor(high)]


def decade_text(exponent: float) -> str:
    """A power of ten as people write it.

    Examples
    --------
    >>> [decade_text(e) for e in (0, -2, -25)]
    ['1', '0.01', '10⁻²⁵']
    """
    if -2 <= exponent <= 0:
        return f"{10.0**exponent:g}"
    return "10" + f"{exponent:.0f}".translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def number_text(value: float, step: float) -> str:
    """A tick's label with the digits its step needs.

    Examples
    --------
    >>> number_text(0.2, 0.05), number_text(-3.0, 1.0), number_text(20000.0, 10000.0)
    ('0.20', '−3', '20,000')
    """
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value:,.{digits}f}".replace("-", "−")


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
    x_low, x_high = _room(math.log10(min(xs)), math.log10(max(xs))) if x_log else _room(min(xs), max(xs))
    y_low, y_high = _room(min(ys), max(ys))
    if y_decades:
        # Room beyond p = 1 too, so that markers there stand inside.
        y_low, y_high = _room(min(math.floor(min(ys)), -1.0), max(0.0, max(ys)))

    legend, legend_height = _legend([(s.name, s.style) for s in series])
    top, height = TOP + legend_height, 290.0
    bottom = height - BOTTOM

    def place_x(v: float) -> float:
        at = math.log10(v) if x_log else v
        return LEFT + 8 + (at - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT - 16)

    def place_y(v: float) -> float:
        return bottom - (v - y_low) / (y_high - y_low) * (bottom - top)

    parts = [legend]
    y_ticks = decade_ticks(y_low, y_high) if y_decades else linear_ticks(y_low, y_high)
    step = y_ticks[1] - y_ticks[0] if len(y_ticks) > 1 else 1.0
    for tick in y_ticks:
        y = place_y(tick)
        parts.append(_line("grid", LEFT, y, WIDTH - RIGHT, y))
        parts.append(_text(LEFT - 7, y + 4, decade_text(tick) if y_decades else number_text(tick, step), "end"))
    if x_log:
        x_ticks = log_ticks(10**x_low, 10**x_high)
        names = [f"{t:,.0f}" for t in x_ticks]
    else:
        x_ticks = linear_ticks(x_low, x_high)
        step = x_ticks[1] - x_ticks[0] if len(x_ticks) > 1 else 1.0
        names = [number_text(t, step) for t in x_ticks]
    parts += _x_axis([place_x(t) for t in x_ticks], names, bottom, x_label)
    parts.append(_text(4, top - 13, y_label, "start"))
    if reference is not None:
        y = place_y(reference[0])
        parts.append(_line("reference", LEFT, y, WIDTH - RIGHT, y))
        parts.append(_text(WIDTH - RIGHT - 2, y + 14, reference[1], "end"))
    for s in series:
        if s.low is not None and s.high is not None:
            edge = [*zip(s.x, s.high, strict=True), *reversed(list(zip(s.x, s.low, strict=True)))]
            points = " ".join(f"{place_x(x):.1f},{place_y(y):.1f}" for x, y in edge)
            parts.append(f'<polygon class="{s.style} band fill" points="{points}"/>')
    for s in series:
        points = " ".join(f"{place_x(x):.1f},{place_y(y):.1f}" for x, y in zip(s.x, s.y, strict=True))
        parts.append(f'<polyline class="{s.style} line" points="{points}"/>')
        parts += [
            _marker(place_x(x), place_y(y), s.style, hover) for x, y, hover in zip(s.x, s.y, s.hover, strict=True)
        ]
    return _svg(height, label, parts)


def interval_chart(
    rows: Sequence[Row], *, label: str, x_label: str, reference: float | None = None, floor: float | None = None
) -> str:
    """One row a number: its name, a dot with whiskers, its text; all on one axis.

    `reference` draws a vertical dashed line; `floor` is a value the axis never goes below.
    """
    ends = [v for r in rows for v in (r.value, *(r.interval or ()))]
    ends += [reference] if reference is not None else []
    low, high = _room(min(ends), max(ends))
    if floor is not None:
        low = max(floor, low)
    left, right = 8.0, WIDTH - 10.0

    def place(v: float) -> float:
        return left + (v - low) / (high - low) * (right - left)

    bottom = 4 + ROW * len(rows)
    ticks = linear_ticks(low, high)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    parts = [_line("grid", place(t), 2, place(t), bottom) for t in ticks]
    if reference is not None:
        parts.append(_line("reference", place(reference), 2, place(reference), bottom))
    for i, row in enumerate(rows):
        y = 4 + ROW * i
        inside = [_title(f"{row.name}: {row.text}")]
        # Grid lines must not run through the words.
        for words, at in ((row.name, left), (row.text, right - len(row.text) * CHARACTER)):
            width = len(words) * CHARACTER
            inside.append(f'<rect class="ground" x="{at:.1f}" y="{y + 1:.1f}" width="{width:.1f}" height="16"/>')
        inside.append(_text(left, y + 13, row.name, "start", "strong"))
        inside.append(_text(right, y + 13, row.text, "end"))
        if row.interval is not None:
            a, b = place(row.interval[0]), place(row.interval[1])
            inside.append(f'<path class="{row.style} whisker" d="M{a:.1f} {y + 28:.1f}H{b:.1f}"/>')
            inside += [f'<path class="{row.style} whisker" d="M{x:.1f} {y + 24:.1f}v8"/>' for x in (a, b)]
        inside.append(_marker(place(row.value), y + 28, row.style, None, size=5))
        parts.append("<g>" + "".join(inside) + "</g>")
    parts += _x_axis([place(t) for t in ticks], [number_text(t, step) for t in ticks], bottom, x_label, left, right)
    return _svg(bottom + BOTTOM, label, parts)


def histogram(
    edges: Sequence[float],
    counts: Sequence[int],
    *,
    label: str,
    x_label: str,
    y_label: str,
    styles: Sequence[Style] | None = None,
    height: float = 230.0,
) -> str:
    """Bars over `edges` (one more than `counts`), each with its range and count on hover."""
    top, bottom = TOP + 14, height - BOTTOM
    y_high = max(1, *counts)

    def place_x(v: float) -> float:
        return LEFT + (v - edges[0]) / (edges[-1] - edges[0]) * (WIDTH - LEFT - RIGHT)

    def place_y(v: float) -> float:
        return bottom - v / y_high * (bottom - top)

    y_ticks = [t for t in linear_ticks(0, y_high, count=4) if t == int(t)]
    x_ticks = linear_ticks(edges[0], edges[-1], count=6)
    step = x_ticks[1] - x_ticks[0] if len(x_ticks) > 1 else 1.0
    parts = [_text(4, top - 10, y_label, "start")]
    for tick in y_ticks:
        parts.append(_line("grid", LEFT, place_y(tick), WIDTH - RIGHT, place_y(tick)))
        parts.append(_text(LEFT - 7, place_y(tick) + 4, f"{tick:,.0f}", "end"))
    for i, count in enumerate(counts):
        if count:
            a, b = place_x(edges[i]), place_x(edges[i + 1])
            style = styles[i] if styles else "a"
            hover = f"{edges[i]:.3g} to {edges[i + 1]:.3g}: {count:,}".replace("-", "−")
            parts.append(
                f'<rect class="{style} fill" x="{a + 0.75:.1f}" y="{place_y(count):.1f}" '
                f'width="{max(1.0, b - a - 1.5):.1f}" height="{bottom - place_y(count):.1f}">{_title(hover)}</rect>'
            )
    parts += _x_axis([place_x(t) for t in x_ticks], [number_text(t, step) for t in x_ticks], bottom, x_label)
    return _svg(height, label, parts)


def _room(low: float, high: float) -> tuple[float, float]:
    """A little space at both ends; some width even around a single value."""
    pad = 0.04 * (high - low) if high > low else 0.5 * abs(high) or 0.5
    return low - pad, high + pad


def _svg(height: float, label: str, parts: Sequence[str]) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>"


def _text(x: float, y: float, text: str, anchor: str, style: str = "") -> str:
    css = f' class="{style}"' if style else ""
    # R_S is set with S as a subscript; SVG has no element for that.
    parts = re.split(r"(?<=\bR)_(\w)\b", text)
    inside = escape(parts[0])
    for letter, rest in zip(parts[1::2], parts[2::2], strict=True):
        inside += f'<tspan class="sub" dy="3">{escape(letter)}</tspan>'
        inside += f'<tspan dy="-3">{escape(rest)}</tspan>' if rest else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{css}>{inside}</text>'


def _line(style: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path class="{style}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def _marker(x: float, y: float, style: Style, hover: str | None, *, size: float = 3.5) -> str:
    """A shape of its own for every style, so that colour is never the only difference."""
    title = _title(hover) if hover else ""
    s = size
    if style == "a":
        return f'<circle class="a fill" cx="{x:.1f}" cy="{y:.1f}" r="{s:.1f}">{title}</circle>'
    if style == "b":
        return (
            f'<rect class="b fill" x="{x - s:.1f}" y="{y - s:.1f}" width="{2 * s:.1f}" '
            f'height="{2 * s:.1f}">{title}</rect>'
        )
    outline = f"0 {-1.3 * s:.1f} {1.3 * s:.1f} 0 0 {1.3 * s:.1f} {-1.3 * s:.1f} 0"
    if style == "d":
        outline = f"0 {-1.2 * s:.1f} {1.2 * s:.1f} {s:.1f} {-1.2 * s:.1f} {s:.1f}"
    return f'<polygon class="{style} fill" transform="translate({x:.1f} {y:.1f})" points="{outline}">{title}</polygon>'


def _x_axis(
    places: Sequence[float],
    names: Sequence[str],
    bottom: float,
    label: str,
    left: float = LEFT,
    right: float = WIDTH - RIGHT,
) -> list[str]:
    """The axis, its ticks, those of their names that fit, and what it measures."""
    parts = [_line("axis", left, bottom, right, bottom)]
    free = 0.0
    for x, name in zip(places, names, strict=True):
        parts.append(_line("axis", x, bottom, x, bottom + 4))
        half = len(name) * CHARACTER / 2
        centre = min(max(x, half), WIDTH - half)
        if centre - half >= free:
            parts.append(_text(centre, bottom + 18, name, "middle"))
            free = centre + half + 8
    parts.append(_text((left + right) / 2, bottom + 37, label, "middle"))
    return parts


def _legend(entries: Sequence[tuple[str, Style]]) -> tuple[str, float]:
    """Names of the lines above the picture, wrapped where they do not fit, and the height they take."""
    if len(entries) < 2:
        return "", 20.0
    parts, x, y = [], LEFT, 10.0
    for name, style in entries:
        width = 30 + len(name) * CHARACTER
        if x > LEFT and x + width > WIDTH:
            x, y = LEFT, y + 18
        parts.append(f'<path class="{style} line" d="M{x:.1f} {y:.1f}h20"/>')
        parts.append(_marker(x + 10, y, style, None))
        parts.append(_text(x + 26, y + 4, name, "start"))
        x += width + 12
    return "".join(parts), y + 26.0
