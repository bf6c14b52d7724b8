"""An estimate with its interval, as small as a cell of a table and as wide."""

from __future__ import annotations

from html import escape

from heldout.report.svg.shapes import title
from heldout.summary import RangeRow


def range_mark(row: RangeRow, low: float, high: float, step: float) -> str:
    """A dot on a whisker; the drawing stretches with its cell, so that the rows of a table share one axis.

    Examples
    --------
    >>> row = RangeRow(name="a", value=0.2, low=0.1, high=0.3, value_text="0.2", interval_text="0.1 to 0.3", rank="1")
    >>> 'class="whisker" d="M25 12H75M25 7V17M75 7V17"' in range_mark(row, 0.0, 0.4, 0.1)
    True
    """
    lines = range(round((high - low) / step) + 1)
    value, a, b, *grid = (
        f"{100 * (v - low) / (high - low):.3f}".rstrip("0").rstrip(".")
        for v in (row.value, row.low, row.high, *(low + i * step for i in lines))
    )
    label = f"{row.value_text} ({row.interval_text})"
    return (
        f'<svg class="range" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label="{escape(label)}">'
        f'{title(label)}<path class="grid" d="{"".join(f"M{x} 0V24" for x in grid)}"/>'
        f'<path class="whisker" d="M{a} 12H{b}M{a} 7V17M{b} 7V17"/><path class="dot" d="M{value} 12h0"/></svg>'
    )
