"""A matrix as colours, with a name per row; counts over a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from heldout.report.svg.axes import Scale, axes
from heldout.report.svg.shapes import BOTTOM, CHARACTER, LEFT, RIGHT, TOP, WIDTH, line, rect, svg_element, text, title
from heldout.summary.charts import HeatMap, PointDensity
from heldout.summary.names import shorten, symbols
from heldout.summary.numbers import fixed

N_COLOURS = 9  # .heat-0 to .heat-8 of the style
NAMES = 126.0  # room for the names at the left
SMALL = 0.82  # size of .small texts beside ordinary ones
LOWEST, HIGHEST = 10.0, 40.0  # height of a row with a name
NARROW = int((WIDTH - RIGHT - NAMES) / LOWEST)  # rows up to which cells are square on an ordinary sheet
HOVER = 60  # characters of a name in a cell's hover text
HEIGHT = 320.0  # of counts over a grid
MAX_CELLS = 1_600  # cells that get a hover text of their own


def colour_edges(values: NDArray[np.float64]) -> list[float]:
    """Edges of at most nine classes that hold about as many values each: a few outliers must not eat up the scale.

    Examples
    --------
    >>> colour_edges(np.array([0.1, *np.linspace(0.8, 0.89, 10)])).count(0.1), len(colour_edges(np.linspace(0, 1, 50)))
    (1, 10)
    >>> colour_edges(np.array([0.5, 0.5]))
    [0.5, 0.501]
    """
    cuts = np.quantile(values, np.linspace(0.0, 1.0, N_COLOURS + 1))
    inner = np.unique(cuts[1:-1].round(3))
    low, high = math.floor(1000 * cuts[0]) / 1000, math.ceil(1000 * cuts[-1]) / 1000
    edges = [low, *inner[(inner > low) & (inner < high)].tolist(), max(high, low + 0.001)]
    return [round(edge, 3) for edge in edges]


def heat_map(chart: HeatMap) -> str:
    """A square matrix, large values strong; NaN stays blank, and so does the diagonal unless it is asked for.

    Edges of colours that are not given are found here: that takes a fraction of a second for a thousand rows.
    """
    values, names, m = chart.values.copy(), chart.names, len(chart.values)
    if not chart.diagonal:
        np.fill_diagonal(values, np.nan)
    shown = values[np.isfinite(values)]
    edges = chart.edges or (colour_edges(shown) if len(shown) else [0.0, 1.0])
    left = NAMES if names is not None else 8.0
    sheet = max(WIDTH, left + m * LOWEST + RIGHT) if chart.wide else WIDTH
    width = sheet - RIGHT - left
    pitch = min(HIGHEST, max(LOWEST, width / m)) if names is not None else width / m
    width = min(width, m * pitch)
    classes = colours(values, edges)
    parts = [f'<g class="cells" transform="translate({left:.1f} 4) scale({width / m:.5f} {pitch:.5f})">']
    parts += [*cell_paths(classes), *_hovers(chart, values), "</g>"]
    room = int((left - 8) / (CHARACTER * SMALL))
    for i, name in enumerate(names or ()):
        told = text(left - 5, 7 + (i + 0.5) * pitch, shorten(name, room), "end", "small")
        parts.append(f"<g>{title(name)}{told}</g>" if len(name) > room else told)
    for i, j in np.argwhere(np.isfinite(values)).tolist() if chart.numbered else ():
        x, y, css = left + (j + 0.5) * width / m, 7 + (i + 0.5) * pitch, f"small untouchable {_on(int(classes[i, j]))}"
        parts.append(text(x, y, fixed(values[i, j], 2), "middle", css))
    below = colour_legend(edges, chart.legend, left, 4 + m * pitch + 12)
    return svg_element(4 + m * pitch + 62, chart.description, parts + below, width=sheet)


def _hovers(chart: HeatMap, values: NDArray[np.float64]) -> list[str]:
    """What a pointer is told of each cell of a small map with names, else of each row."""
    m, names = len(values), [shorten(name, HOVER) for name in chart.names or ()]
    if chart.cell_hover and names and m * m <= MAX_CELLS:
        return [
            f'<path class="cell hit" d="M{j} {i}h1v1h-1z">{title(f"{names[i]}, {names[j]}: {values[i, j]:.3f}")}</path>'
            for i, j in np.argwhere(np.isfinite(values)).tolist()
        ]
    return [f'<path class="row hit" d="M0 {i}h{m}v1h-{m}z">{title(t)}</path>' for i, t in enumerate(chart.row_hover)]


def colours(values: NDArray[np.float64], edges: Sequence[float]) -> NDArray[np.int64]:
    """The colour, 0 to 8, of each value; -1 where it is NaN.

    Examples
    --------
    >>> colours(np.array([0.5, 0.64, 0.7, np.nan]), [0.5, 0.6, 0.7]).tolist()
    [0, 8, 8, -1]
    """
    n = len(edges) - 1
    place = np.clip(np.searchsorted(np.asarray(edges), values, side="right") - 1, 0, n - 1)
    spread = np.array([colour_of(i, n) for i in range(n)])
    return np.where(np.isfinite(values), spread[place], -1)


def colour_of(i: int, n: int) -> int:
    """Class i of n among the nine colours, the strongest for the last."""
    return N_COLOURS - 1 if n == 1 else round(i * (N_COLOURS - 1) / (n - 1))


def _on(colour: int) -> str:
    """The class of a text that can be read on a colour, in light and in dark."""
    return "on-light" if colour < 4 else "on-middle" if colour < 6 else "on-strong"


def cell_paths(classes: NDArray[np.int64]) -> list[str]:
    """One path a colour; neighbours of one colour in a row are one stroke of it."""
    paths: dict[int, list[str]] = {}
    for i, row in enumerate(classes):
        j = 0
        for colour, cells in groupby(row.tolist()):
            length = len(list(cells))
            paths.setdefault(colour, []).append(f"M{j} {i}h{length}v1h-{length}z")
            j += length
    return [
        f'<path class="{f"heat-{colour}" if colour >= 0 else "blank"}" d="{"".join(strokes)}"/>'
        for colour, strokes in sorted(paths.items())
    ]


def colour_legend(edges: Sequence[float], words: str, left: float, y: float) -> list[str]:
    """A swatch a class, the edges below, and what they measure; a single class is a single value."""
    n = len(edges) - 1
    width = min(34.0, (WIDTH - RIGHT - left) / n)
    digits = 2 if len({f"{e:.2f}" for e in edges}) == len(edges) else 3
    parts = [rect(f"heat-{colour_of(i, n)}", left + i * width, y, width, 10) for i in range(n)]
    for i, edge in enumerate(edges if n > 1 else edges[:1]):
        parts.append(text(left + i * width, y + 21, fixed(edge, digits), "middle", "small"))
    return [*parts, text(left, y + 38, symbols(words), "start")]


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
