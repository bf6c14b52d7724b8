"""Rows against columns as colours, with a step in each row."""

from __future__ import annotations

import math

from heldout.report.svg.heat_maps import NAMES, SMALL, cell_paths, colour_legend, colours
from heldout.report.svg.shapes import CHARACTER, RIGHT, WIDTH, line, svg_element, text, title
from heldout.summary.charts import GridMap
from heldout.summary.names import shorten

PITCH = 11.0  # height of a row
TICKS = 6  # columns that are named below


def grid_map(chart: GridMap) -> str:
    """One rectangle per cell, one step per row; a pointer is told the name of a row and where its mark stands."""
    rows, columns = chart.values.shape
    width = WIDTH - RIGHT - NAMES
    pitch = width / max(1, columns)
    signed = "signed " if chart.edges[0] < 0 < chart.edges[-1] else ""
    parts = [f'<g class="{signed}cells" transform="translate({NAMES:.1f} 4) scale({pitch:.5f} {PITCH:.5f})">']
    parts += [*cell_paths(colours(chart.values, chart.edges)), "</g>"]
    room = int((NAMES - 8) / (CHARACTER * SMALL))
    for i, name in enumerate(chart.names):
        told = text(NAMES - 5, 7 + (i + 0.5) * PITCH, shorten(name, room), "end", "small")
        parts.append(f"<g>{title(name)}{told}</g>" if len(name) > room else told)
    before: float | None = None
    for i, step in enumerate(chart.steps):
        x, y = NAMES + step * pitch, 4 + i * PITCH
        if step < 0:
            before = None
            continue
        if before is not None and before != x:
            parts.append(line("f line", before, y, x, y))
        parts.append(line("f line", x, y, x, y + PITCH))
        before = x
    bottom = 4 + rows * PITCH
    every = math.ceil(columns / TICKS)
    for j in range(0, columns, every):
        parts.append(text(NAMES + (j + 0.5) * pitch, bottom + 12, chart.columns[j], "middle", "small"))
    below = [f'<g class="{signed}cells">', *colour_legend(chart.edges, chart.legend, NAMES, bottom + 24), "</g>"]
    return svg_element(bottom + 74, chart.description, parts + below)
