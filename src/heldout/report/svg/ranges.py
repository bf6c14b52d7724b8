"""An estimate with its interval, as small as a cell of a table and as wide."""

from __future__ import annotations

from html import escape

from heldout.report.svg.shapes import title
from heldout.summary import Point, Style


def range_mark(
    label: str,
    value: float,
    ends: Point | None,
    axis: tuple[float, float, float],
    *,
    style: Style = "a",
    reference: float | None = None,
) -> str:
    """A dot on a whisker; the drawing stretches with its cell, so that all of a table share one axis.

    Examples
    --------
    >>> 'class="whisker" d="M25 12H75M25 7V17M75 7V17"' in range_mark("a", 0.2, (0.1, 0.3), (0.0, 0.4, 0.1))
    True
    """
    low, high, step = axis

    def at(v: float) -> str:
        return f"{100 * (v - low) / (high - low):.3f}".rstrip("0").rstrip(".")

    grid = "".join(f"M{at(low + i * step)} 0V24" for i in range(round((high - low) / step) + 1))
    parts = [f'<path class="grid" d="{grid}"/>']
    if reference is not None:
        parts.append(f'<path class="reference" d="M{at(reference)} 0V24"/>')
    if ends is not None:
        a, b = map(at, ends)
        parts.append(f'<path class="whisker" d="M{a} 12H{b}M{a} 7V17M{b} 7V17"/>')
    return (
        f'<svg class="range {style}" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}">{title(label)}{"".join(parts)}<path class="dot" d="M{at(value)} 12h0"/></svg>'
    )
