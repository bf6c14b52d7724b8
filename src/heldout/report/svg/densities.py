"""Counts over a grid."""

from __future__ import annotations

import math

import numpy as np

from heldout.report.svg.axes import Scale, axes
from heldout.report.svg.heat_maps import N_COLOURS
from heldout.report.svg.shapes import BOTTOM, LEFT, RIGHT, TOP, WIDTH, line, rect, svg_element, text, title
from heldout.summary import PointDensity

HEIGHT = 320.0


def density(chart: PointDensity) -> str:
    """Counts over a grid, stronger where there are more (on a logarithmic scale), each on hover."""
    xs, ys, counts = chart.x_edges, chart.y_edges, chart.counts
    across = Scale(low=xs[0], high=xs[-1], start=LEFT, end=WIDTH - RIGHT)
    up = Scale(low=ys[0], high=ys[-1], start=HEIGHT - BOTTOM, end=TOP + 20)
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
