"""Lines and steps, with markers, error bars, bands and marked points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

from heldout.report.svg import shapes
from heldout.report.svg.axes import Scale, axes, room
from heldout.report.svg.shapes import BOTTOM, CHARACTER, LEFT, RIGHT, TOP, WIDTH, line, marker, rect, text, title
from heldout.summary import Axis, LineChart, Point, Series, Vertical

HEIGHT, SMALL = 290.0, 190.0  # of a chart, and of a small multiple
WORDS = 20.0  # room for those above vertical lines
NARROW = 300.0  # width of a small multiple
CROSSBAR = 3.0  # half the width of an error bar's ends
EDGE = 1.5  # around the window, so that a line along its edge is as thick as others


def line_chart(chart: LineChart) -> str:
    """Lines on common axes."""
    width, height = (NARROW, SMALL) if chart.small else (WIDTH, HEIGHT)
    bottom, right = height - BOTTOM, width - RIGHT
    across = _scale(chart.x, [v for s in chart.drawn for v in s.x], LEFT + 8, right - 8)
    ys = [v for s in chart.drawn for values in (s.y, s.low or (), s.high or ()) for v in values if math.isfinite(v)]
    top = TOP + 20 + (WORDS if any(v.text for v in chart.verticals) else 0)
    up = _scale(chart.y, ys + ([chart.reference[0]] if chart.reference else []), bottom, top)
    parts = axes(across, up, chart.x.heading, chart.y.heading, width=width)
    for (x1, y1), (x2, y2) in chart.guides:
        parts.append(line("reference", across.place(x1), up.place(y1), across.place(x2), up.place(y2)))
    if chart.reference is not None:
        y = up.place(chart.reference[0])
        below = y + 14 if y + 14 < bottom else y - 5
        parts += [line("reference", LEFT, y, right, y), text(right - 2, below, chart.reference[1], "end")]
    window = [part for kind in (_band, _lines) for s in chart.drawn for part in kind(s, across, up)]
    parts.append(_window(across, up, window))
    parts += _verticals(chart.verticals, across, up)
    if chart.stepped:
        parts += _ranges(chart, across, up)
    else:
        parts += [part for s in chart.drawn for part in _points(s, chart.hover(s), across, up)]
    inside = [m for m in chart.marks if across.holds(m.x) and up.holds(m.y)]
    parts += [marker(across.place(m.x), up.place(m.y), m.style, m.hover, size=5) for m in inside]
    return shapes.svg_element(height, chart.description, parts, width=width)


def _scale(axis: Axis, values: Sequence[float], start: float, end: float) -> Scale:
    """The scale of an axis: the range that was asked for, or all there is with some room around it."""
    if axis.range is not None:
        low, high = axis.range
    elif axis.kind == "decades":  # room beyond p = 1 too, so that markers there stand inside
        low, high = room(min(math.floor(min(values)), -1.0), max(0.0, *values))
    elif axis.kind == "log":
        logs = [math.log10(v) for v in values if v > 0]
        low, high = (10.0**end for end in room(min(logs), max(logs)))
    else:
        low, high = room(min(values), max(values))
    return Scale(low=low, high=high, start=start, end=end, kind=axis.kind, whole=axis.whole)


def _window(across: Scale, up: Scale, parts: Iterable[str]) -> str:
    """What leaves the window is cut at its edge: an inner sheet hides what stands outside."""
    x, y, width, height = across.start, up.end, across.end - across.start, up.start - up.end
    box = f"{x - EDGE:.1f}", f"{y - EDGE:.1f}", f"{width + 2 * EDGE:.1f}", f"{height + 2 * EDGE:.1f}"
    size = " ".join(f'{name}="{v}"' for name, v in zip(("x", "y", "width", "height"), box, strict=True))
    return f'<svg {size} viewBox="{" ".join(box)}">{"".join(parts)}</svg>'


def _band(s: Series, across: Scale, up: Scale) -> list[str]:
    if s.low is None or s.high is None or s.whiskers:
        return []
    edge = [*zip(s.x, s.high, strict=True), *reversed(list(zip(s.x, s.low, strict=True)))]
    css = f"{s.style}{' faint' if s.faint else ''} band fill"
    return [f'<polygon class="{css}" points="{_joined((across.place(x), up.place(y)) for x, y in edge)}"/>']


def _lines(s: Series, across: Scale, up: Scale) -> list[str]:
    """Error bars and the line; NaN is a gap."""
    parts = []
    for x, low, high in zip(s.x, s.low or (), s.high or (), strict=True) if s.whiskers else ():
        place, bottom, top = across.place(x), up.place(low), up.place(high)
        if math.isfinite(bottom) and math.isfinite(top):
            ends = "".join(f"M{place - CROSSBAR:.1f} {y:.1f}h{2 * CROSSBAR:.1f}" for y in (bottom, top))
            parts.append(f'<path class="{s.style} bar" d="M{place:.1f} {bottom:.1f}V{top:.1f}{ends}"/>')
    points = list(zip(s.x, s.y, strict=True))
    places = [(across.place(x), up.place(y)) for x, y in (_stairs(points) if s.step else points)]
    if s.filled:
        first, last = ((across.place(x), up.start) for x in (s.x[0], s.x[-1]))
        return [f'<polygon class="{s.style} wash" points="{_joined([first, *places, last])}"/>']
    for defined, run in groupby(places if s.joined else [], key=lambda place: math.isfinite(place[1])):
        joined = _joined(run)
        if defined and " " in joined:
            parts.append(f'<polyline class="{shapes.line_class(s)}" points="{joined}"/>')
    return parts


def _verticals(lines: Sequence[Vertical], across: Scale, up: Scale) -> list[str]:
    """Lines, and above them their words, turned away from each other where there are two."""
    inside, parts = sorted((v for v in lines if across.holds(v.x)), key=lambda v: v.x), []
    for i, v in enumerate(inside):
        x, width = across.place(v.x), len(v.text) * CHARACTER + 4
        left = ((i == 0 and len(inside) > 1) or x + width > WIDTH) and x - width >= 0
        css, top = f"{v.style} line" if v.style else "reference", up.end - (12 if v.text else 0)
        parts.append(line(css, x, top, x, up.start))
        parts.append(text(x + (-4 if left else 4), up.end - 4, v.text, "end" if left else "start", "strong halo"))
    return parts


def _ranges(chart: LineChart, across: Scale, up: Scale) -> list[str]:
    """What a pointer is told over each range of a chart of steps: the values of all its lines."""
    parts, places = [], sorted({x for s in chart.series for x in s.x})
    for (a, b), row in zip(pairwise(map(across.place, places)), chart.rows(), strict=True):
        told = ", ".join(f"{s.name} {value}" for s, value in zip(chart.series, row[1:], strict=True))
        parts.append(rect("hit", a, up.end, b - a, up.start - up.end, title(f"{row[0]}: {told}")))
    return parts


def _joined(places: Iterable[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _stairs(points: Sequence[Point]) -> list[Point]:
    """y[i] from x[i - 1] to x[i], then straight up or down.

    Examples
    --------
    >>> _stairs([(0, 1), (2, 3)])
    [(0, 1), (0, 3), (2, 3)]
    """
    out = [points[0]]
    for x, y in points[1:]:
        out += [(out[-1][0], y), (x, y)]
    return out


def _points(s: Series, hovers: Sequence[str], across: Scale, up: Scale) -> list[str]:
    """Markers, or what only answers to a pointer, inside the window."""
    parts = []
    for point_x, point_y, hover in zip(s.x, s.y, hovers, strict=True):
        if across.holds(point_x) and up.holds(point_y):
            x, y = across.place(point_x), up.place(point_y)
            if s.markers:
                parts.append(marker(x, y, s.style, hover, variant=s.variant))
            elif hover:
                parts.append(f'<circle class="hit" cx="{x:.1f}" cy="{y:.1f}" r="5">{title(hover)}</circle>')
    return parts
