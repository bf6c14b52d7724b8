"""Counts over ranges: bars, outlines over each other, and a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from heldout.report.svg.axes import Scale, axes
from heldout.report.svg.heat_maps import N_COLOURS
from heldout.report.svg.shapes import BOTTOM, CHARACTER, LEFT, RIGHT, TOP, WIDTH, line, rect, svg_element, text, title
from heldout.summary import Distribution, Histogram, Outlines, PointDensity

LOW, HEIGHT = 230.0, 320.0  # of one histogram, of several over each other
MEANS = 20.0  # room for the means in words


def _scales(xs: Sequence[float], ys: Sequence[float], top: float, height: float) -> tuple[Scale, Scale]:
    whole = ys[0] == 0  # counts
    across = Scale(low=xs[0], high=xs[-1], start=LEFT, end=WIDTH - RIGHT)
    return across, Scale(low=ys[0], high=ys[-1], start=height - BOTTOM, end=top, whole=whole)


def histogram(chart: Histogram) -> str:
    """Bars, each with its range and count on hover."""
    across, up = _scales(chart.edges, (0, max(1, *chart.counts)), TOP + 20, LOW)
    parts = axes(across, up, chart.x.label, chart.y_label)
    for i, ((a, b), count, row) in enumerate(zip(pairwise(chart.edges), chart.counts, chart.rows(), strict=True)):
        if count:
            x, y, width = across.place(a), up.place(count), across.place(b) - across.place(a)
            css = f"{chart.styles[i] if chart.styles else 'a'} fill"
            parts.append(rect(css, x + 0.75, y, max(1.0, width - 1.5), up.start - y, title(": ".join(map(str, row)))))
    return svg_element(LOW, chart.description, parts)


def outlines(chart: Outlines) -> str:
    """Outlines of several histograms over each other, each with its mean; all counts of a range on hover."""
    most = max(1, *(count for d in chart.distributions for count in d.counts))
    across, up = _scales(chart.edges, (0, most), TOP + 20 + MEANS, HEIGHT)
    parts, xs = axes(across, up, chart.x.label, chart.y_label), [across.place(e) for e in chart.edges]
    for d in chart.distributions:
        steps = "".join(f"V{up.place(c):.1f}H{x:.1f}" for x, c in zip(xs[1:], d.counts, strict=True))
        parts.append(f'<path class="{d.style} wash" d="M{xs[0]:.1f} {up.start:.1f}{steps}V{up.start:.1f}Z"/>')
    parts += _means(sorted(chart.distributions, key=lambda d: d.mean), across, up)
    for (a, b), row in zip(pairwise(xs), chart.rows(), strict=True):
        told = ", ".join(f"{d.name} {n}" for d, n in zip(chart.distributions, row[1:], strict=True))
        parts.append(rect("hit", a, up.end, b - a, up.start - up.end, title(f"{row[0]}: {told}")))
    return svg_element(HEIGHT, chart.description, parts)


def _means(distributions: Sequence[Distribution], across: Scale, up: Scale) -> list[str]:
    """Lines, and above them the means in words, turned away from each other where there are two."""
    inside, parts = [d for d in distributions if across.holds(d.mean)], []
    for i, d in enumerate(inside):
        x, width = across.place(d.mean), len(d.mean_text) * CHARACTER + 4
        left = ((i == 0 and len(inside) > 1) or x + width > WIDTH) and x - width >= 0
        parts.append(line(f"{d.style} line", x, up.end - 12, x, up.start))
        parts.append(text(x + (-4 if left else 4), up.end - 4, d.mean_text, "end" if left else "start", "strong halo"))
    return parts


def density(chart: PointDensity) -> str:
    """Counts over a grid, stronger where there are more (on a logarithmic scale), each on hover."""
    xs, ys, counts = chart.x_edges, chart.y_edges, chart.counts
    across, up = _scales(xs, ys, TOP + 20, HEIGHT)
    parts, most = axes(across, up, chart.x.label, chart.y.label), max(1, int(counts.max()))
    for i, j in np.argwhere(counts).tolist():
        told = f"{xs[i]:.3f} to {xs[i + 1]:.3f}, {ys[j]:.3f} to {ys[j + 1]:.3f}: {counts[i, j]:,}"
        x, y = across.place(xs[i]), up.place(ys[j + 1])
        css = f"cells heat-{strength(int(counts[i, j]), most)}"
        parts.append(rect(css, x, y, across.place(xs[i + 1]) - x, up.place(ys[j]) - y, title(told)))
    low, high = max(across.low, up.low), min(across.high, up.high)
    if chart.diagonal is not None and low < high:
        parts.append(line("reference", across.place(low), up.place(low), across.place(high), up.place(high)))
    parts.append(text(WIDTH - RIGHT - 2, up.start - 8, chart.diagonal or "", "end", "halo"))
    return svg_element(HEIGHT, chart.description, parts)


def strength(count: int, most: int) -> int:
    """A colour from 2 (one) to 8 (the most): even a single point is seen.

    Examples
    --------
    >>> [strength(count, 1000) for count in (1, 30, 1000)], strength(1, 1)
    ([2, 5, 8], 8)
    """
    return N_COLOURS - 1 if most == 1 else 2 + round((N_COLOURS - 3) * math.log(count) / math.log(most))
