"""Numbers with their intervals, one row each."""

from __future__ import annotations

from heldout.report.svg.axes import Scale, room, x_axis
from heldout.report.svg.shapes import BOTTOM, CHARACTER, WIDTH, line, marker, rect, svg_element, text, title
from heldout.summary.charts import Interval, IntervalChart

ROW = 46.0  # height of a row
LEFT, RIGHT = 8.0, WIDTH - 10.0


def interval_chart(chart: IntervalChart) -> str:
    """One row per number: its name, a dot with whiskers, its text; all on one axis."""
    ends = [v for r in chart.intervals for v in (r.value, *(r.interval or ()))]
    ends += [chart.reference] if chart.reference is not None else []
    low, high = room(min(ends), max(ends))
    across = Scale(low=low if chart.floor is None else max(chart.floor, low), high=high, start=LEFT, end=RIGHT)
    bottom = 4 + ROW * len(chart.intervals)
    parts = [line("grid", x, 2, x, bottom) for x in (across.place(t) for t, _ in across.ticks())]
    if chart.reference is not None:
        x = across.place(chart.reference)
        parts.append(line("reference", x, 2, x, bottom))
    for i, row in enumerate(chart.intervals):
        parts.append(_row(row, 4 + ROW * i, across))
    parts += x_axis(across, bottom, chart.x_label, left=LEFT, right=RIGHT)
    return svg_element(bottom + BOTTOM, chart.description, parts)


def _row(row: Interval, y: float, across: Scale) -> str:
    inside = [title(f"{row.name}: {row.text}")]
    # Grid lines must not run through the words.
    for words, at in ((row.name, LEFT), (row.text, RIGHT - len(row.text) * CHARACTER)):
        inside.append(rect("ground", at, y + 1, len(words) * CHARACTER, 16))
    inside += [text(LEFT, y + 13, row.name, "start", "strong"), text(RIGHT, y + 13, row.text, "end")]
    if row.interval is not None:
        a, b = (across.place(v) for v in row.interval)
        path = f"M{a:.1f} {y + 28:.1f}H{b:.1f}" + "".join(f"M{x:.1f} {y + 24:.1f}v8" for x in (a, b))
        inside.append(f'<path class="{row.style} whisker" d="{path}"/>')
    inside.append(marker(across.place(row.value), y + 28, row.style, None, size=5))
    return "<g>" + "".join(inside) + "</g>"
