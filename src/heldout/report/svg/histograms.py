"""Bars over ranges."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from heldout.report.svg.axes import Scale, x_axis, y_axis
from heldout.report.svg.shapes import BOTTOM, CHARACTER, LEFT, RIGHT, TOP, WIDTH, legend, rect, svg_element, text, title
from heldout.summary.charts import Distribution, Histogram, Outlines

LOW, HEIGHT = 230.0, 320.0  # of one histogram, of several over each other


def histogram(chart: Histogram) -> str:
    """Bars, each with its range and count on hover."""
    top, bottom = TOP + 14, LOW - BOTTOM
    across = Scale(low=chart.edges[0], high=chart.edges[-1], start=LEFT, end=WIDTH - RIGHT)
    up = Scale(low=0.0, high=float(max(1, *chart.counts)), start=bottom, end=top, whole=True)
    parts = y_axis(up, chart.y_label, count=4)
    for i, ((a, b), count, row) in enumerate(zip(pairwise(chart.edges), chart.counts, chart.rows(), strict=True)):
        if count:
            x, y, width = across.place(a), up.place(count), across.place(b) - across.place(a)
            css = f"{chart.styles[i] if chart.styles else 'a'} fill"
            parts.append(rect(css, x + 0.75, y, max(1.0, width - 1.5), bottom - y, title(": ".join(map(str, row)))))
    return svg_element(LOW, chart.description, parts + x_axis(across, bottom, chart.x.label, count=6))


def outlines(chart: Outlines) -> str:
    """Outlines of several histograms over each other, each with its mean; all counts of a range on hover."""
    distributions, edges = chart.distributions, chart.edges
    names, names_height = legend([(d.name, d.style) for d in distributions], swatch=True)
    top, bottom = TOP + names_height + 20, HEIGHT - BOTTOM
    most = max(1, *(count for d in distributions for count in d.counts))
    across = Scale(low=edges[0], high=edges[-1], start=LEFT, end=WIDTH - RIGHT)
    up = Scale(low=0.0, high=float(most), start=bottom, end=top, whole=True)
    parts = [names, text(4, top - 24, chart.y_label, "start"), *y_axis(up, "", count=4)]  # room for the means in words
    xs = [across.place(e) for e in edges]
    for d in distributions:
        parts.append(f'<path class="{d.style} wash" d="{_outline(xs, [up.place(c) for c in d.counts], bottom)}"/>')
    for d in distributions:
        if edges[0] <= d.mean <= edges[-1]:
            x = across.place(d.mean)
            parts.append(f'<path class="{d.style} line" d="M{x:.1f} {top - 12:.1f}V{bottom:.1f}"/>')
    parts += _mean_texts(distributions, across, top - 4)
    parts += x_axis(across, bottom, chart.x.label, count=6)
    for (a, b), row in zip(pairwise(xs), chart.rows(), strict=True):
        told = f"{row[0]}: " + ", ".join(f"{d.name} {n}" for d, n in zip(distributions, row[1:], strict=True))
        parts.append(rect("hit", a, top, b - a, bottom - top, title(told)))
    return svg_element(HEIGHT, chart.description, parts)


def _outline(xs: Sequence[float], ys: Sequence[float], bottom: float) -> str:
    """The skyline of the bars, closed along the axis.

    Examples
    --------
    >>> _outline([0, 10, 20], [5, 2], 9)
    'M0.0 9.0V5.0H10.0V2.0H20.0V9.0Z'
    """
    steps = "".join(f"V{y:.1f}H{x:.1f}" for x, y in zip(xs[1:], ys, strict=True))
    return f"M{xs[0]:.1f} {bottom:.1f}{steps}V{bottom:.1f}Z"


def _mean_texts(distributions: Sequence[Distribution], across: Scale, y: float) -> list[str]:
    """The means in words above the bars, turned away from each other where there are two."""
    inside = sorted((d for d in distributions if across.low <= d.mean <= across.high), key=lambda d: d.mean)
    parts = []
    for i, d in enumerate(inside):
        x, width = across.place(d.mean), len(d.mean_text) * CHARACTER + 4
        left = ((i == 0 and len(inside) > 1) or x + width > WIDTH) and x - width >= 0
        parts.append(text(x - 4 if left else x + 4, y, d.mean_text, "end" if left else "start", "strong halo"))
    return parts
