"""What a result says, as data: a headline, key figures, and sections of a few kinds of blocks.

A verb's `summary.py` turns its result into one `Summary`; `heldout.report` renders any of them as text, Markdown or
HTML. Nothing here knows a verb, and nothing in a `Summary` is computed when it is rendered.
"""

from __future__ import annotations

from heldout.summary.blocks import (
    Block,
    Cell,
    Column,
    Facts,
    Fold,
    Note,
    Picture,
    Pictures,
    Points,
    Prose,
    RangeRow,
    Ranges,
    Row,
    SideBySide,
    Table,
)
from heldout.summary.charts import (
    Axis,
    Chart,
    Distribution,
    Guide,
    HeatMap,
    Histogram,
    Interval,
    IntervalChart,
    LineChart,
    Mark,
    Outlines,
    PointDensity,
    Series,
)
from heldout.summary.summary import Figure, Section, Summary, Tone

__all__ = [
    "Axis",
    "Block",
    "Cell",
    "Chart",
    "Column",
    "Distribution",
    "Facts",
    "Figure",
    "Fold",
    "Guide",
    "HeatMap",
    "Histogram",
    "Interval",
    "IntervalChart",
    "LineChart",
    "Mark",
    "Note",
    "Outlines",
    "Picture",
    "Pictures",
    "PointDensity",
    "Points",
    "Prose",
    "RangeRow",
    "Ranges",
    "Row",
    "Section",
    "Series",
    "SideBySide",
    "Summary",
    "Table",
    "Tone",
]
