"""Numbers with their intervals, one row each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heldout.pages.svg.axes import linear_ticks, number_text, room, x_axis
from heldout.pages.svg.shapes import BOTTOM, CHARACTER, WIDTH, Style, line, marker, svg_element, text, title

ROW = 46.0  # height of a row


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of `interval_chart`: a dot, with whiskers where `interval` is given."""

    name: str
    value: float
    text: str  # the numbers in words, shown at the right
    interval: tuple[float, float] | None = None
    style: Style = "a"


def interval_chart(
    rows: Sequence[Row], *, label: str, x_label: str, reference: float | None = None, floor: float | None = None
) -> str:
    """One row a number: its name, a dot with whiskers, its text; all on one axis.

    `reference` draws a vertical dashed line; `floor` is a value the axis never goes below.
    """
    ends = [v for r in rows for v in (r.value, *(r.interval or ()))]
    ends += [reference] if reference is not None else []
    low, high = room(min(ends), max(ends))
    if floor is not None:
        low = max(floor, low)
    left, right = 8.0, WIDTH - 10.0

    def place(v: float) -> float:
        return left + (v - low) / (high - low) * (right - left)

    bottom = 4 + ROW * len(rows)
    ticks = linear_ticks(low, high)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    parts = [line("grid", place(t), 2, place(t), bottom) for t in ticks]
    if reference is not None:
        parts.append(line("reference", place(reference), 2, place(reference), bottom))
    for i, row in enumerate(rows):
        y = 4 + ROW * i
        inside = [title(f"{row.name}: {row.text}")]
        # Grid lines must not run through the words.
        for words, at in ((row.name, left), (row.text, right - len(row.text) * CHARACTER)):
            width = len(words) * CHARACTER
            inside.append(f'<rect class="ground" x="{at:.1f}" y="{y + 1:.1f}" width="{width:.1f}" height="16"/>')
        inside.append(text(left, y + 13, row.name, "start", "strong"))
        inside.append(text(right, y + 13, row.text, "end"))
        if row.interval is not None:
            a, b = place(row.interval[0]), place(row.interval[1])
            inside.append(f'<path class="{row.style} whisker" d="M{a:.1f} {y + 28:.1f}H{b:.1f}"/>')
            inside += [f'<path class="{row.style} whisker" d="M{x:.1f} {y + 24:.1f}v8"/>' for x in (a, b)]
        inside.append(marker(place(row.value), y + 28, row.style, None, size=5))
        parts.append("<g>" + "".join(inside) + "</g>")
    parts += x_axis([place(t) for t in ticks], [number_text(t, step) for t in ticks], bottom, x_label, left, right)
    return svg_element(bottom + BOTTOM, label, parts)
