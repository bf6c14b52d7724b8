"""Small inline SVG charts without dependencies, one a module.

Every function returns one `<svg>` element as text. Colours come from CSS classes only (`STYLE`,
fed by the page's variables), so that one drawing serves light and dark. Charts are drawn 420 units
wide and scale with their column: text stays readable from a phone to a desk.
"""

from __future__ import annotations

from heldout.report.svg.histograms import histogram
from heldout.report.svg.intervals import Row, interval_chart
from heldout.report.svg.lines import Series, line_chart
from heldout.report.svg.shapes import Style
from heldout.report.svg.style import STYLE

__all__ = ["STYLE", "Row", "Series", "Style", "histogram", "interval_chart", "line_chart"]
