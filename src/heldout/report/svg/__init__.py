"""Charts as inline SVG without dependencies.

`draw` turns a chart of `heldout.summary` into one `<svg>` element as text. Colours come from CSS classes only, so
that one drawing serves light and dark. Charts are drawn 420 units wide and scale with their column; the page names
what is drawn in a legend of its own, with a `swatch` of each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from heldout.report.svg.grids import grid_map
from heldout.report.svg.heat_maps import density, heat_map
from heldout.report.svg.lines import line_chart
from heldout.report.svg.shapes import range_mark, swatch
from heldout.summary import Chart, GridMap, HeatMap, LineChart, PointDensity

__all__ = ["draw", "range_mark", "swatch"]

DRAWN: dict[type, Callable[[Any], str]] = {LineChart: line_chart, HeatMap: heat_map, GridMap: grid_map,
                                                 PointDensity: density}  # fmt: skip


def draw(chart: Chart) -> str:
    """One `<svg>` element."""
    return DRAWN[type(chart)](chart)
