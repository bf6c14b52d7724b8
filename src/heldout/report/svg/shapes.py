"""What every chart is made of: the sheet, text, lines, markers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from heldout.summary import SUBSCRIPT, Series, Style, Variant

WIDTH = 420.0
LEFT, RIGHT, TOP, BOTTOM = 50.0, 14.0, 12.0, 44.0
Ends = tuple[float, float, float]  # of an axis, and the step of its grid; or low, value and high
CHARACTER = 6.4  # estimated width of a character at the charts' font size


def svg_element(height: float, label: str, parts: Sequence[str], *, width: float = WIDTH) -> str:
    """The sheet around the parts; `label` says what it shows to those who do not see it. Wide ones are not blown up."""
    most = f' style="max-width: {1.3 * width:.0f}px"' if width > WIDTH else ""
    return (
        f'<svg class="chart"{most} viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def title(words: str) -> str:
    """What a pointer resting on a shape is told."""
    return f"<title>{escape(words)}</title>"


def text(x: float, y: float, words: str, anchor: str, style: str = "") -> str:
    """Words that start at, end at or are centred on a point."""
    css = f' class="{style}"' if style else ""
    first, *indexed = words.split(SUBSCRIPT)  # SVG has no element for a subscript
    inside = escape(first)
    for part in indexed:
        index, rest = re.fullmatch(r"(\w*)(.*)", part, re.S).groups()  # type: ignore[union-attr]
        inside += f'<tspan class="sub" dy="3">{escape(index)}</tspan>'
        inside += f'<tspan dy="-3">{escape(rest)}</tspan>' if rest else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{css}>{inside}</text>'


def line(style: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """A straight line."""
    return f'<path class="{style}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


# Outlines of markers, in units of their size; a circle is drawn as such.
OUTLINES = {
    "b": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "c": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "d": ((0, -1.2), (1.2, 1), (-1.2, 1)),
    "e": ((0, 1.2), (1.2, -1), (-1.2, -1)),
    "f": ((-1.3, -1), (1.3, -1), (-1.3, 1), (1.3, 1)),
}


def marker(
    x: float, y: float, style: Style, hover: str | None, *, size: float = 3.5, variant: Variant | None = None
) -> str:
    """A shape of its own for every style, so that colour is never the only difference."""
    told = title(hover) if hover else ""
    s = size * 0.6 if variant == 2 else size
    css = f"{style} {'hollow' if variant == 1 else 'fill'}"
    if style == "a":
        return f'<circle class="{css}" cx="{x:.1f}" cy="{y:.1f}" r="{s:.1f}">{told}</circle>'
    points = " ".join(f"{x + s * a:.1f},{y + s * b:.1f}" for a, b in OUTLINES[style])
    return f'<polygon class="{css}" points="{points}">{told}</polygon>'


def rect(css: str, x: float, y: float, width: float, height: float, inside: str = "") -> str:
    """A rectangle."""
    return f'<rect class="{css}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}">{inside}</rect>'


def line_class(s: Series) -> str:
    """How a line looks."""
    return f"{s.style} line" if s.variant is None else f"{s.style} v{s.variant} line"


def swatch(drawn: Series) -> str:
    """A piece of what is drawn, for a legend."""
    parts = [f'<path class="{line_class(drawn)}" d="M2 7h28"/>'] if drawn.joined and not drawn.filled else []
    parts += [rect(f"{drawn.style} wash", 8, 2, 16, 10)] if drawn.filled else []
    parts += [marker(16, 7, drawn.style, None, variant=drawn.variant)] if drawn.markers else []
    return svg_element(14, f"line of {drawn.name}", parts, width=32)


def range_mark(label: str, span: Ends, axis: Ends, *, reference: float | None = None) -> str:
    """A dot on a whisker; the drawing stretches with its cell, so that all of a table share one axis.

    Examples
    --------
    >>> 'class="whisker" d="M25 12H75M25 7V17M75 7V17"' in range_mark("a", (0.1, 0.2, 0.3), (0.0, 0.4, 0.1))
    True
    """
    low, high, step = axis

    def at(v: float) -> str:
        return f"{100 * (v - low) / (high - low):.3f}".rstrip("0").rstrip(".")

    a, value, b = map(at, span)
    parts = {
        "grid": "".join(f"M{at(low + i * step)} 0V24" for i in range(round((high - low) / step) + 1)),
        "reference": "" if reference is None else f"M{at(reference)} 0V24",
        "whisker": "" if a == b else f"M{a} 12H{b}M{a} 7V17M{b} 7V17",
        "dot": f"M{value} 12h0",
    }
    drawn = "".join(f'<path class="{css}" d="{path}"/>' for css, path in parts.items() if path)
    return (
        '<svg class="range a" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}">{title(label)}{drawn}</svg>'
    )
