"""Small inline SVG charts without dependencies, one a module.

Every function returns one `<svg>` element as text. Colours come from CSS classes only (`STYLE`,
fed by the page's variables), so that one drawing serves light and dark. Charts are drawn 420 units
wide and scale with their column: text stays readable from a phone to a desk.
"""

from __future__ import annotations

from heldout.pages.svg.densities import density_chart
from heldout.pages.svg.heat_maps import heat_map
from heldout.pages.svg.histograms import Distribution, histogram, overlaid_histograms
from heldout.pages.svg.intervals import Row, interval_chart
from heldout.pages.svg.lines import Guide, Mark, Series, line_chart
from heldout.pages.svg.ranges import range_mark
from heldout.pages.svg.shapes import Style, Variant, swatch
from heldout.pages.svg.style import STYLE

__all__ = [
    "STYLE",
    "Distribution",
    "Guide",
    "Mark",
    "Row",
    "Series",
    "Style",
    "Variant",
    "density_chart",
    "heat_map",
    "histogram",
    "interval_chart",
    "line_chart",
    "overlaid_histograms",
    "range_mark",
    "swatch",
]
