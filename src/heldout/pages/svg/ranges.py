"""An estimate with its interval, as small as a cell of a table and as wide."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from heldout.pages.svg.shapes import title


def range_mark(
    value: float, interval: tuple[float, float], *, low: float, high: float, label: str, grid: Sequence[float] = ()
) -> str:
    """A dot on a whisker; the drawing stretches with its cell, so that the rows of a table share one axis.

    Parameters
    ----------
    value, interval
        The estimate and both ends of its interval.
    low, high : float
        The ends of the axis, the same in every row.
    label : str
        The numbers in words.
    grid : sequence of float
        Values that get a faint line.

    Examples
    --------
    >>> drawing = range_mark(0.2, (0.1, 0.3), low=0.0, high=0.4, label="0.2 (0.1 to 0.3)")
    >>> 'class="whisker" d="M25 12H75"' in drawing
    True
    """

    def place(v: float) -> str:
        return f"{100 * (v - low) / (high - low):.3f}".rstrip("0").rstrip(".")

    lines = "".join(f'<path class="grid" d="M{place(v)} 0V24"/>' for v in grid)
    a, b = (place(v) for v in interval)
    return (
        f'<svg class="range" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label="{escape(label)}">'
        f"{title(label)}{lines}"
        f'<path class="whisker" d="M{a} 12H{b}"/>'
        f'<path class="whisker" d="M{a} 7V17"/><path class="whisker" d="M{b} 7V17"/>'
        f'<path class="dot" d="M{place(value)} 12h0"/></svg>'
    )
