"""Lines and steps, with markers, error bars, bands and marked points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

from heldout.report.svg import shapes
from heldout.report.svg.axes import Scale, room, x_axis, y_axis
from heldout.report.svg.shapes import BOTTOM, CHARACTER, LEFT, RIGHT, TOP, WIDTH, line, marker, text, title
from heldout.summary import Axis, LineChart, Mark, Point, Series

HEIGHT, SMALL = 290.0, 190.0  # of a chart, and of a small multiple
NARROW = 300.0  # width of a small multiple
CROSSBAR = 3.0  # half the width of an error bar's ends
SPACE = 14.0  # between the texts of two marked points
EDGE = 1.5  # around the window, so that a line along its edge is as thick as others


def line_chart(chart: LineChart, *, named: bool = True) -> str:
    """Lines on common axes; `named` says whether they are named above, or the page has a legend of its own."""
    series = [s for s in chart.series if s.drawn]
    width, height = (NARROW, SMALL) if chart.small else (WIDTH, HEIGHT)
    marked = {m.style for m in chart.marks}
    names, names_height = shapes.legend(
        [(s.name, s.style) for s in series if named],
        drawn=[(s.joined, s.markers or s.style in marked) for s in series if named],
    )
    top, bottom, right = TOP + names_height, height - BOTTOM, width - RIGHT
    across = _scale(chart.x, [v for s in series for v in s.x], LEFT + 8, right - 8)
    ys = [v for s in series for values in (s.y, s.low or (), s.high or ()) for v in values if math.isfinite(v)]
    up = _scale(chart.y, ys + ([chart.reference[0]] if chart.reference else []), bottom, top)
    parts = [names, *y_axis(up, chart.y.heading, right=right), *x_axis(across, bottom, chart.x.heading, right=right)]
    parts += [line("reference", *_place(g.start, across, up), *_place(g.end, across, up)) for g in chart.guides]
    if chart.reference is not None:
        y = up.place(chart.reference[0])
        parts += [line("reference", LEFT, y, right, y), text(right - 2, y + 14, chart.reference[1], "end")]
    if chart.x_reference is not None:
        x = across.place(chart.x_reference)
        parts.append(line("reference", x, top, x, bottom))
    bands = [_band(s, across, up) for s in series if s.low is not None and not s.whiskers]
    parts.append(_window(across, up, [*bands, *(part for s in series for part in _lines(s, across, up))]))
    parts += [part for s in series for part in _points(s, chart.hover(s), across, up)]
    return shapes.svg_element(height, chart.description, parts + _marked(chart.marks, across, up), width=width)


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


def _place(point: Point, across: Scale, up: Scale) -> Point:
    """Where a point stands; NaN where its axis has no place for it."""
    return across.place(point[0]), math.nan if up.kind == "log" and not point[1] > 0 else up.place(point[1])


def _window(across: Scale, up: Scale, parts: Iterable[str]) -> str:
    """What leaves the window is cut at its edge: an inner sheet hides what stands outside."""
    x, y, width, height = across.start, up.end, across.end - across.start, up.start - up.end
    box = f"{x - EDGE:.1f}", f"{y - EDGE:.1f}", f"{width + 2 * EDGE:.1f}", f"{height + 2 * EDGE:.1f}"
    size = " ".join(f'{name}="{v}"' for name, v in zip(("x", "y", "width", "height"), box, strict=True))
    return f'<svg {size} viewBox="{" ".join(box)}">{"".join(parts)}</svg>'


def _band(s: Series, across: Scale, up: Scale) -> str:
    edge = [*zip(s.x, s.high or (), strict=True), *reversed(list(zip(s.x, s.low or (), strict=True)))]
    css = f"{s.style}{' faint' if s.faint else ''} band fill"
    return f'<polygon class="{css}" points="{_joined(_place(point, across, up) for point in edge)}"/>'


def _lines(s: Series, across: Scale, up: Scale) -> list[str]:
    """Error bars and the line; NaN is a gap."""
    parts = []
    for x, low, high in zip(s.x, s.low or (), s.high or (), strict=True) if s.whiskers else ():
        (place, bottom), (_, top) = (_place((x, end), across, up) for end in (low, high))
        if math.isfinite(bottom) and math.isfinite(top):
            ends = "".join(f"M{place - CROSSBAR:.1f} {y:.1f}h{2 * CROSSBAR:.1f}" for y in (bottom, top))
            parts.append(f'<path class="{s.style} bar" d="M{place:.1f} {bottom:.1f}V{top:.1f}{ends}"/>')
    points = list(zip(s.x, s.y, strict=True))
    places = [_place(point, across, up) for point in (_stairs(points) if s.step else points)]
    for defined, run in groupby(places if s.joined else [], key=lambda place: math.isfinite(place[1])):
        joined = _joined(run)
        if defined and " " in joined:
            parts.append(f'<polyline class="{shapes.line_class(s.style, s.variant)}" points="{joined}"/>')
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
    for point, hover in zip(zip(s.x, s.y, strict=True), hovers, strict=True):
        if across.low <= point[0] <= across.high and up.low <= point[1] <= up.high:
            x, y = _place(point, across, up)
            if s.markers:
                parts.append(marker(x, y, s.style, hover, variant=s.variant))
            elif hover:
                parts.append(f'<circle class="hit" cx="{x:.1f}" cy="{y:.1f}" r="5">{title(hover)}</circle>')
    return parts


def _marked(marks: Sequence[Mark], across: Scale, up: Scale) -> list[str]:
    """Markers over the lines; their texts beside them, moved apart where they would overlap."""
    inside = [m for m in marks if across.low <= m.x <= across.high and up.low <= m.y <= up.high]
    inside.sort(key=lambda m: -m.y)
    widest = max((len(m.text) for m in inside), default=0) * CHARACTER
    right = all(across.place(m.x) + 10 + widest < WIDTH - RIGHT for m in inside)
    # Curves that rise leave room below them at the right and above them at the left; a flat one lies below the others.
    places = [up.place(m.y) + (9.0 if right else -1.0) for m in inside]
    if right and places:
        places = [place + 7 if places[-1] - place < SPACE else place for place in places]
    parts = [marker(across.place(m.x), up.place(m.y), m.style, m.hover, size=5) for m in inside]
    step, anchor = (9, "start") if right else (-9, "end")
    for m, height in zip(inside, apart(places, up.start - 2), strict=True):  # in colour: texts may stand in a stack
        parts.append(text(across.place(m.x) + step, height, m.text, anchor, f"{m.style} fill halo"))
    return parts


def apart(heights: Sequence[float], lowest: float) -> list[float]:
    """Heights from the top down, moved so that no two are closer than a line of text and none is below `lowest`.

    Examples
    --------
    >>> apart([100, 103, 150], 200), apart([100, 190, 195], 197)
    ([100, 114.0, 150], [100, 183.0, 197])
    """
    places: list[float] = []
    for height in heights:
        places.append(max(height, places[-1] + SPACE) if places else height)
    limit = lowest
    for i in reversed(range(len(places))):
        places[i] = min(places[i], limit)
        limit = places[i] - SPACE
    return places
