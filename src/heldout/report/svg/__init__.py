"""Charts as inline SVG without dependencies, one kind per module.

`draw` turns a chart of `heldout.summary` into one `<svg>` element as text. Colours come from CSS classes only, so
that one drawing serves light and dark. Charts are drawn 420 units wide and scale with their column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from heldout.report.svg.densities import density_chart
from heldout.report.svg.heat_maps import heat_map
from heldout.report.svg.histograms import histogram, outlines
from heldout.report.svg.intervals import interval_chart
from heldout.report.svg.lines import line_chart
from heldout.report.svg.ranges import range_mark
from heldout.report.svg.shapes import swatch
from heldout.summary import Chart, LineChart

__all__ = ["draw", "range_mark", "swatch"]

DRAWN: dict[str, Callable[[Any], str]] = {
    "histogram": histogram,
    "outlines": outlines,
    "intervals": interval_chart,
    "heat_map": heat_map,
    "density": density_chart,
}


def draw(chart: Chart, *, named: bool = True) -> str:
    """One `<svg>` element; `named` says whether lines are named above them or by a legend elsewhere."""
    return line_chart(chart, named=named) if isinstance(chart, LineChart) else DRAWN[chart.kind](chart)
