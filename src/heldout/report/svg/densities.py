"""Where many points lie, as a grid of counts."""

from __future__ import annotations

import math

import numpy as np

from heldout.report.svg.axes import Scale, x_axis, y_axis
from heldout.report.svg.heat_maps import N_COLOURS
from heldout.report.svg.shapes import BOTTOM, LEFT, RIGHT, TOP, WIDTH, line, rect, svg_element, text, title
from heldout.summary.charts import PointDensity

HEIGHT = 320.0


def density_chart(chart: PointDensity) -> str:
    """Counts over a grid, stronger where there are more (on a logarithmic scale), each on hover."""
    top, bottom = TOP + 20, HEIGHT - BOTTOM
    xs, ys, counts = chart.x_edges, chart.y_edges, chart.counts
    across = Scale(low=xs[0], high=xs[-1], start=LEFT, end=WIDTH - RIGHT)
    up = Scale(low=ys[0], high=ys[-1], start=bottom, end=top)
    parts = y_axis(up, chart.y.label)
    most = max(1, int(counts.max()))
    for i, j in zip(*(index.tolist() for index in np.nonzero(counts)), strict=True):
        count = int(counts[i, j])
        x, y = across.place(xs[i]), up.place(ys[j + 1])
        told = f"{xs[i]:.3f} to {xs[i + 1]:.3f}, {ys[j]:.3f} to {ys[j + 1]:.3f}: {count:,}"
        css = f"cells heat-{strength(count, most)}"
        parts.append(rect(css, x, y, across.place(xs[i + 1]) - x, up.place(ys[j]) - y, title(told)))
    if chart.diagonal is not None:
        parts += _diagonal(across, up, chart.diagonal)
    return svg_element(HEIGHT, chart.description, parts + x_axis(across, bottom, chart.x.label))


def strength(count: int, most: int) -> int:
    """A colour from 2 (one) to 8 (the most): even a single point is seen.

    Examples
    --------
    >>> [strength(count, 1000) for count in (1, 30, 1000)], strength(1, 1)
    ([2, 5, 8], 8)
    """
    return N_COLOURS - 1 if most == 1 else 2 + round((N_COLOURS - 3) * math.log(count) / math.log(most))


def _diagonal(across: Scale, up: Scale, words: str) -> list[str]:
    """The line y = x inside the window, named in the corner below it."""
    low, high = max(across.low, up.low), min(across.high, up.high)
    name = text(WIDTH - RIGHT - 2, up.start - 8, words, "end", "halo")
    if low >= high:
        return [name]
    return [line("reference", across.place(low), up.place(low), across.place(high), up.place(high)), name]
