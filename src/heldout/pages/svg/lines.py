"""Lines and steps, with markers, error bars, bands and marked points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from heldout.pages.svg.axes import Kind, Scale, room, x_axis, y_axis
from heldout.pages.svg.shapes import (
    BOTTOM,
    CHARACTER,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Style,
    Variant,
    legend,
    line,
    line_class,
    marker,
    svg_element,
    text,
    title,
)

Point = tuple[float, float]

HEIGHT = 290.0
CROSSBAR = 3.0  # half the width of an error bar's ends
SPACE = 14.0  # between the texts of two marked points


@dataclass(frozen=True, kw_only=True)
class Series:
    """A line of `line_chart`, with a band around it where `low` and `high` are given, or with `whiskers` an error bar
    at every point.

    A `y` that is NaN leaves a gap, and so does one of 0 or less on a log axis; a `low` or `high` that is NaN leaves
    out its bar. Without `markers` a point only answers to a pointer; points that are not `joined` have no line. With
    `step` the line keeps the height of its next point and drops or climbs at the points: y[i] holds on
    (x[i - 1], x[i]]. A `variant` of the style tells more lines apart than there are styles; `faint` bands suit many
    of them.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    hover: Sequence[str]  # one a point
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    style: Style = "a"
    markers: bool = True
    joined: bool = True
    whiskers: bool = False
    step: bool = False
    variant: Variant | None = None
    faint: bool = False


@dataclass(frozen=True, kw_only=True)
class Guide:
    """A thin straight line of `line_chart` to read the others against; say beside the picture what it is."""

    start: Point
    end: Point


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A point of `line_chart` that stands out, with its text beside it."""

    x: float
    y: float
    text: str
    hover: str
    style: Style = "a"


def line_chart(
    series: Sequence[Series],
    *,
    label: str,
    x_label: str,
    y_label: str,
    x_log: bool = False,
    y_log: bool = False,
    y_decades: bool = False,
    x_whole: bool = False,
    y_whole: bool = False,
    x_range: Point | None = None,
    y_range: Point | None = None,
    reference: tuple[float, str] | None = None,
    x_reference: float | None = None,
    marks: Sequence[Mark] = (),
    guides: Sequence[Guide] = (),
    named: bool = True,
    width: float = WIDTH,
    height: float = HEIGHT,
) -> str:
    """Lines on common axes.

    Parameters
    ----------
    label : str
        What the picture shows, for those who do not see it.
    x_log, y_log : bool
        Logarithmic axes.
    y_decades : bool
        The y values are logarithms to base 10 already (p-values underflow, their logarithms do not).
    x_whole, y_whole : bool
        Ticks at whole numbers only.
    x_range, y_range : (low, high), optional
        What the axes show, in the units of the values; a line that leaves it is cut there. Otherwise all there is.
    reference : (y, text), optional
        A dashed horizontal line.
    x_reference : float, optional
        A dashed vertical line; say in `x_label` what it is.
    marks : sequence of Mark
        Points with their text, drawn over the lines.
    guides : sequence of Guide
        Straight lines below the others, inside the ranges.
    named : bool
        Whether the lines are named above; otherwise the page has a legend of its own.
    width, height : float
        Of the sheet; a small one for small multiples.
    """
    marked = {m.style for m in marks}
    names, names_height = legend(
        [(s.name, s.style) for s in series if named],
        drawn=[(s.joined, s.markers or s.style in marked) for s in series if named],
    )
    top, bottom, right = TOP + names_height, height - BOTTOM, width - RIGHT
    xs = [v for s in series for v in s.x]
    ys = [v for s in series for values in (s.y, s.low or (), s.high or ()) for v in values if math.isfinite(v)]
    ys += [reference[0]] if reference is not None else []
    x_low, x_high = x_range or _around(xs, log=x_log)
    if y_range is not None:
        y_low, y_high = y_range
    elif y_decades:  # room beyond p = 1 too, so that markers there stand inside
        y_low, y_high = room(min(math.floor(min(ys)), -1.0), max(0.0, max(ys)))
    else:
        y_low, y_high = _around(ys, log=y_log)
    start, end = LEFT + 8, right - 8
    across = Scale(low=x_low, high=x_high, start=start, end=end, kind="log" if x_log else "linear", whole=x_whole)
    kind: Kind = "log" if y_log else "decades" if y_decades else "linear"
    up = Scale(low=y_low, high=y_high, start=bottom, end=top, kind=kind, whole=y_whole)
    ticks = across.ticks()
    parts = [names, *y_axis(up, y_label, right=right)]
    parts += x_axis([across.place(t) for t, _ in ticks], [name for _, name in ticks], bottom, x_label, right=right)
    for g in guides:
        (x1, y1), (x2, y2) = ((across.place(x), up.place(y)) for x, y in (g.start, g.end))
        parts.append(line("reference", x1, y1, x2, y2))
    if reference is not None:
        y = up.place(reference[0])
        parts.append(line("reference", LEFT, y, right, y))
        parts.append(text(right - 2, y + 14, reference[1], "end"))
    if x_reference is not None:
        parts.append(line("reference", across.place(x_reference), top, across.place(x_reference), bottom))
    parts += [_band(s, across, up) for s in series if s.low is not None and not s.whiskers]
    for s in series:
        parts += [*(_bars(s, across, up) if s.whiskers else ()), *_drawn(s, across, up)]
    return svg_element(height, label, parts + _marked(marks, across, up), width=width)


def _around(values: Sequence[float], *, log: bool) -> Point:
    if not log:
        return room(min(values), max(values))
    logs = [math.log10(v) for v in values if v > 0]
    low, high = room(min(logs), max(logs))
    return 10.0**low, 10.0**high


def _drawn(s: Series, across: Scale, up: Scale) -> list[str]:
    points = list(zip(s.x, s.y, strict=True))
    # Cut where they are drawn and not where they are computed: on a log axis a straight line is another one.
    places = [(across.place(x), _height(y, up)) for x, y in (_stairs(points) if s.step else points)]
    window = (across.start, across.end), (up.end, up.start)
    parts = [
        f'<polyline class="{line_class(s.style, s.variant)}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in run)}"/>'
        for run in (runs(places, *window) if s.joined else ())
    ]
    for (x, y), hover in zip(points, s.hover, strict=True):
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
