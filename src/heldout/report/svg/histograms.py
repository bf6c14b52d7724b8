"""Bars over ranges."""

from __future__ import annotations

from collections.abc import Sequence

from heldout.report.svg.axes import linear_ticks, number_text, x_axis
from heldout.report.svg.shapes import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Style, line, svg_element, text, title


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
    parts = [text(4, top - 10, y_label, "start")]
    for tick in y_ticks:
        parts.append(line("grid", LEFT, place_y(tick), WIDTH - RIGHT, place_y(tick)))
        parts.append(text(LEFT - 7, place_y(tick) + 4, f"{tick:,.0f}", "end"))
    for i, count in enumerate(counts):
        if count:
            a, b = place_x(edges[i]), place_x(edges[i + 1])
            style = styles[i] if styles else "a"
            hover = f"{edges[i]:.3g} to {edges[i + 1]:.3g}: {count:,}".replace("-", "−")
            parts.append(
                f'<rect class="{style} fill" x="{a + 0.75:.1f}" y="{place_y(count):.1f}" '
                f'width="{max(1.0, b - a - 1.5):.1f}" height="{bottom - place_y(count):.1f}">{title(hover)}</rect>'
            )
    parts += x_axis([place_x(t) for t in x_ticks], [number_text(t, step) for t in x_ticks], bottom, x_label)
    return svg_element(height, label, parts)
