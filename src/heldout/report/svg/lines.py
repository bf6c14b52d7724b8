"""Lines and steps, with markers, error bars, bands and marked points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from heldout.report.svg.axes import Scale, room, x_axis, y_axis
from heldout.report.svg.shapes import (
    BOTTOM,
    CHARACTER,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    legend,
    line,
    line_class,
    marker,
    svg_element,
    text,
    title,
)
from heldout.summary.charts import Axis, LineChart, Mark, Point, Series

HEIGHT, SMALL = 290.0, 190.0  # of a chart, and of a small multiple
NARROW = 300.0  # width of a small multiple
CROSSBAR = 3.0  # half the width of an error bar's ends
SPACE = 14.0  # between the texts of two marked points


def line_chart(chart: LineChart, *, named: bool = True) -> str:
    """Lines on common axes; `named` says whether they are named above, or the page has a legend of its own."""
    series = [s for s in chart.series if s.drawn]
    width, height = (NARROW, SMALL) if chart.small else (WIDTH, HEIGHT)
    marked = {m.style for m in chart.marks}
    names, names_height = legend(
        [(s.name, s.style) for s in series if named],
        drawn=[(s.joined, s.markers or s.style in marked) for s in series if named],
    )
    top, bottom, right = TOP + names_height, height - BOTTOM, width - RIGHT
    across = _scale(chart.x, [v for s in series for v in s.x], LEFT + 8, right - 8)
    ys = [v for s in series for values in (s.y, s.low or (), s.high or ()) for v in values if math.isfinite(v)]
    up = _scale(chart.y, ys + ([chart.reference[0]] if chart.reference else []), bottom, top)
    parts = [names, *y_axis(up, chart.y.label, right=right), *x_axis(across, bottom, chart.x.label, right=right)]
    for g in chart.guides:
        (x1, y1), (x2, y2) = ((across.place(x), up.place(y)) for x, y in (g.start, g.end))
        parts.append(line("reference", x1, y1, x2, y2))
    if chart.reference is not None:
        y = up.place(chart.reference[0])
        parts += [line("reference", LEFT, y, right, y), text(right - 2, y + 14, chart.reference[1], "end")]
    if chart.x_reference is not None:
        x = across.place(chart.x_reference)
        parts.append(line("reference", x, top, x, bottom))
    parts += [_band(s, across, up) for s in series if s.low is not None and not s.whiskers]
    for s in series:
        parts += [*(_bars(s, across, up) if s.whiskers else ()), *_drawn(s, chart.hover(s), across, up)]
    return svg_element(height, chart.description, parts + _marked(chart.marks, across, up), width=width)


def _scale(axis: Axis, values: Sequence[float], start: float, end: float) -> Scale:
    """The scale of an axis: the range that was asked for, or all there is with some room around it."""
    if axis.range is not None:
        low, high = axis.range
    elif axis.kind == "decades":  # room beyond p = 1 too, so that markers there stand inside
        low, high = room(min(math.floor(min(values)), -1.0), max(0.0, *values))
    else:
        low, high = _around(values, log=axis.kind == "log")
    return Scale(low=low, high=high, start=start, end=end, kind=axis.kind, whole=axis.whole)


def _around(values: Sequence[float], *, log: bool) -> Point:
    if not log:
        return room(min(values), max(values))
    logs = [math.log10(v) for v in values if v > 0]
    low, high = room(min(logs), max(logs))
    return 10.0**low, 10.0**high


def _drawn(s: Series, hovers: Sequence[str], across: Scale, up: Scale) -> list[str]:
    points = list(zip(s.x, s.y, strict=True))
    # Cut where they are drawn and not where they are computed: on a log axis a straight line is another one.
    places = [(across.place(x), _height(y, up)) for x, y in (_stairs(points) if s.step else points)]
    window = (across.start, across.end), (up.end, up.start)
    parts = [
        f'<polyline class="{line_class(s.style, s.variant)}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in run)}"/>'
        for run in (runs(places, *window) if s.joined else ())
    ]
    for (x, y), hover in zip(points, hovers, strict=True):
        if across.low <= x <= across.high and up.low <= y <= up.high:
            place = across.place(x), up.place(y)
            if s.markers:
                parts.append(marker(*place, s.style, hover, variant=s.variant))
            elif hover:
                parts.append(
                    f'<circle class="hit" cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="5">{title(hover)}</circle>'
                )
    return parts


def _height(value: float, up: Scale) -> float:
    """Where a value stands; NaN where its axis has no place for it."""
    return math.nan if up.kind == "log" and not value > 0 else up.place(value)


def _bars(s: Series, across: Scale, up: Scale) -> list[str]:
    """Error bars, cut at the edge of the picture; an end that lies outside has no crossbar."""
    assert s.low is not None
    assert s.high is not None
    parts = []
    for x, low, high in zip(s.x, s.low, s.high, strict=True):
        if not (math.isfinite(low) and math.isfinite(high) and across.low <= x <= across.high):
            continue
        if high < up.low or low > up.high:
            continue
        place = across.place(x)
        bottom, top = up.place(max(low, up.low)), up.place(min(high, up.high))
        path = f"M{place:.1f} {bottom:.1f}V{top:.1f}"
        for end, y in ((low, bottom), (high, top)):
            path += f"M{place - CROSSBAR:.1f} {y:.1f}h{2 * CROSSBAR:.1f}" if up.low <= end <= up.high else ""
        parts.append(f'<path class="{s.style} bar" d="{path}"/>')
    return parts


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


def runs(points: Sequence[Point], x_range: Point, y_range: Point) -> list[list[Point]]:
    """The connected pieces of a line inside a window; NaN is a gap, and what leaves the window is cut at its edge.

    Examples
    --------
    >>> nan = float("nan")
    >>> runs([(0, 0), (1, 4), (2, 5), (3, nan), (4, 1), (5, 1)], (0, 5), (0, 2))
    [[(0, 0), (0.5, 2.0)], [(4, 1), (5, 1)]]
    """
    out: list[list[Point]] = []
    for a, b in pairwise(points):
        cut = _cut(a, b, x_range, y_range)
        if cut is None:
            continue
        if out and out[-1][-1] == cut[0]:
            out[-1].append(cut[1])
        else:
            out.append(list(cut))
    return out


def _cut(a: Point, b: Point, x_range: Point, y_range: Point) -> tuple[Point, Point] | None:
    """The part of a segment inside the window (Liang and Barsky); None where nothing is."""
    if not all(math.isfinite(v) for v in (*a, *b)):
        return None
    start, end = 0.0, 1.0
    for at, step, (low, high) in ((a[0], b[0] - a[0], x_range), (a[1], b[1] - a[1], y_range)):
        if step == 0:
            if not low <= at <= high:
                return None
            continue
        first, last = sorted(((low - at) / step, (high - at) / step))
        start, end = max(start, first), min(end, last)
    if start > end:
        return None

    def between(t: float) -> Point:
        return a if t == 0 else b if t == 1 else (a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]))

    return between(start), between(end)


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
    places = apart(places, up.start - 2)
    parts = [marker(across.place(m.x), up.place(m.y), m.style, m.hover, size=5) for m in inside]
    step, anchor = (9, "start") if right else (-9, "end")
    for m, height in zip(inside, places, strict=True):  # in the colour of its line: texts may stand in a stack
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


def _band(s: Series, across: Scale, up: Scale) -> str:
    assert s.low is not None
    assert s.high is not None
    edge = [*zip(s.x, s.high, strict=True), *reversed(list(zip(s.x, s.low, strict=True)))]
    css = f"{s.style}{' faint' if s.faint else ''} band fill"
    return f'<polygon class="{css}" points="{_places(edge, across, up)}"/>'


def _places(points: Sequence[Point], across: Scale, up: Scale) -> str:
    return " ".join(f"{across.place(x):.1f},{up.place(y):.1f}" for x, y in points)
