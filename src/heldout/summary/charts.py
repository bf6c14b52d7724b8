"""Charts as data. What a pointer is told, the description for those who do not see the chart, and the table of its
numbers all come from here; `heldout.report.svg` draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heldout.summary.names import as_it_is
from heldout.summary.numbers import NOT_DEFINED, minus
from heldout.summary.tables import Cell, Point, Table

Style = Literal["a", "b", "c", "d", "e", "f"]
Variant = Literal[0, 1, 2]  # of a style, where there are more lines than styles: solid, dashed, dotted
Counts = tuple[str, Sequence[int], Style]
AxisKind = Literal["linear", "log", "decades"]
LOG_SCALE = " (log scale)"


@dataclass(frozen=True, kw_only=True)
class Axis:
    """What an axis measures and how.

    `kind` "log" takes values and places their logarithms, and is named so in the chart; "decades" takes logarithms to
    base 10, for what would underflow. `whole` axes have ticks at whole numbers only. `spec` formats its values.
    Beside the axis stands what is `short` for a label that is too long; the caption then has the label.
    """

    label: str
    short: str = ""
    kind: AxisKind = "linear"
    whole: bool = False
    range: Point | None = None
    spec: str = ".4g"

    @property
    def heading(self) -> str:
        """What stands beside the axis."""
        label = self.short or self.label
        return f"{label}{LOG_SCALE}" if self.kind == "log" and "log" not in label else label

    def text(self, value: float) -> str:
        """A value in words.

        Examples
        --------
        >>> Axis(label="p", kind="decades").text(-3.0), Axis(label="n", spec=",.0f").text(1200)
        ('0.001', '1,200')
        """
        if not math.isfinite(value):
            return NOT_DEFINED
        if self.kind == "decades":
            return f"{10.0**value:.3g}" if value > -300 else f"10^{value:.0f}"
        return minus(f"{value:{self.spec}}")


@dataclass(frozen=True, kw_only=True)
class Series:
    """A line, with a band around it where `low` and `high` are given, or with `whiskers` an error bar at each point.

    A `y` that is NaN leaves a gap, and is called `missing` among the numbers. Without `markers` a point only answers to
    a pointer; points that are not `joined` have no line. With `step` y[i] holds on (x[i - 1], x[i]], as do all lines of
    its chart, and what is below a `filled` one is shaded. A series that is not `drawn` stands among the numbers only.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    style: Style = "a"
    variant: Variant | None = None
    markers: bool = True
    joined: bool = True
    whiskers: bool = False
    step: bool = False
    filled: bool = False
    faint: bool = False
    drawn: bool = True
    missing: str = "not defined"


@dataclass(frozen=True, kw_only=True)
class Vertical:
    """A vertical line, dashed unless it has the style of a series, with a few words above it."""

    x: float
    text: str = ""
    style: Style | None = None


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A point that stands out; its text stands in the legend, beside the name of the line that has its style."""

    x: float
    y: float
    text: str
    hover: str
    style: Style = "a"


@dataclass(frozen=True, kw_only=True)
class _Chart:
    """What every chart has: a title for its description, a caption, and how much room it takes."""

    title: str
    caption: str = ""
    small: bool = False

    @property
    def description(self) -> str:
        """For those who do not see the chart."""
        return self.title

    @property
    def drawn(self) -> tuple[Series, ...]:
        """What a legend names."""
        return ()

    def table(self) -> Table | None:
        """The numbers behind the chart; none where a table beside it has them."""
        return None


@dataclass(frozen=True, kw_only=True)
class LineChart(_Chart):
    """Lines on common axes, with reference lines, guides and marks.

    With `line_of` ("model") its numbers have one row per line and one column per x; else one row per x. `print` shows
    the numbers of charts that are `printed`, without intervals.
    """

    x: Axis
    y: Axis
    series: tuple[Series, ...]
    reference: tuple[float, str] | None = None  # a dashed horizontal line
    verticals: tuple[Vertical, ...] = ()
    marks: tuple[Mark, ...] = ()
    guides: tuple[tuple[Point, Point], ...] = ()  # thin straight lines to read the others against, by their ends
    line_of: str = ""
    printed: bool = False

    @property
    def description(self) -> str:
        """The title, and where each line ends."""
        known = [(s.name, [y for y in s.y if math.isfinite(y)]) for s in self.drawn if not s.filled]
        ends = ", ".join(f"{name} {self.y.text(ys[-1])}" for name, ys in known if ys)
        return f"{self.title}; in the end: {ends}" if ends else self.title

    @property
    def drawn(self) -> tuple[Series, ...]:
        """Without those that stand among the numbers only."""
        return tuple(s for s in self.series if s.drawn)

    @property
    def stepped(self) -> bool:
        """Whether lines hold over ranges."""
        return any(s.step for s in self.series)

    def hover(self, series: Series) -> tuple[str, ...]:
        """What a pointer is told at each point of a line."""
        return tuple(f"{series.name} at {self.x.text(x)}: {self._cell(series, i)}" for i, x in enumerate(series.x))

    def table(self) -> Table:
        """One row per x that any line has (per range between two, if they are steps), or one per line; what is measured
        is in the caption."""
        places = sorted({x for s in self.series for x in s.x})
        texts = [self.x.text(x) for x in places]
        if self.stepped:
            places, texts = places[1:], [f"{a} to {b}" for a, b in pairwise(texts)]
        cells = [{x: self._cell(s, i) for i, x in enumerate(s.x)} for s in self.series]
        what, names = self.y.label.removesuffix(LOG_SCALE), [s.name for s in self.series]
        caption = self.title if what.lower() in self.title.lower() else f"{self.title} ({what})"
        if self.line_of:
            rows = ((name, *(own.get(x, "") for x in places)) for name, own in zip(names, cells, strict=True))
            return Table.of(f"{caption}, by {self.x.label}", (self.line_of, *texts), rows, wide=True)
        rows = ((text, *(own.get(x, "") for own in cells)) for text, x in zip(texts, places, strict=True))
        return Table.of(caption, (self.x.label, *map(as_it_is, names)), rows)

    def rows(self) -> tuple[tuple[str | Cell, ...], ...]:
        """Cells of these numbers."""
        return tuple(row.cells for row in self.table().rows)

    def _cell(self, s: Series, i: int) -> str | Cell:
        value = self.y.text(s.y[i]) if math.isfinite(s.y[i]) else s.missing
        if s.low is None or s.high is None or not math.isfinite(s.low[i]):
            return value
        return Cell(text=value, note=f"{self.y.text(s.low[i])} to {self.y.text(s.high[i])}")


def histogram(title: str, x: Axis, y_label: str, edges: Sequence[float], *counts: Counts, **options: Any) -> LineChart:
    """Counts over the ranges between edges, each with a name and a style, over each other."""
    series = tuple(
        Series(name=name, x=tuple(edges), y=(some[0], *some), style=style, markers=False, step=True, filled=True)
        for name, some, style in counts
    )
    top = max(1, *(count for _, some, _ in counts for count in some))
    y = Axis(label=y_label, whole=True, range=(0, top), spec=",.0f")
    return LineChart(title=title, x=replace(x, range=(edges[0], edges[-1])), y=y, series=series, **options)


@dataclass(frozen=True, kw_only=True, eq=False)
class HeatMap(_Chart):
    """A square matrix as colours, with a name per row.

    `wide` maps take a sheet so wide that cells are square; `numbered` ones show their values; `edges` are those of
    the classes of colours, equal counts unless given.
    """

    values: NDArray[np.float64]
    legend: str
    names: tuple[str, ...] | None = None
    row_hover: tuple[str, ...] = ()
    cell_hover: bool = False
    diagonal: bool = False
    wide: bool = False
    numbered: bool = False
    edges: tuple[float, ...] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class GridMap(_Chart):
    """Rows and columns of different things as colours, large values strong; two hues where edges have both signs.

    NaN stays blank. `steps` are how many columns lie to the left of each row's mark, -1 where it has none; `edges`
    those of the classes of colours.
    """

    values: NDArray[np.float64]
    names: tuple[str, ...]
    columns: tuple[str, ...]
    legend: str
    edges: tuple[float, ...]
    steps: tuple[int, ...] = ()
    row_of: str = "row"

    def table(self) -> Table:
        """One row per row, one column per column."""
        cells = ([NOT_DEFINED if math.isnan(v) else minus(f"{v:+.2f}") for v in row] for row in self.values.tolist())
        rows = ((name, *row) for name, row in zip(self.names, cells, strict=True))
        return Table.of(f"{self.title} ({self.legend})", (self.row_of, *self.columns), rows, wide=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class PointDensity(_Chart):
    """Where many points lie, as a grid of counts."""

    x: Axis
    y: Axis
    x_edges: tuple[float, ...]
    y_edges: tuple[float, ...]
    counts: NDArray[np.int64]  # as numpy.histogram2d gives them
    diagonal: str | None = None  # draw y = x, and name it


Chart = LineChart | HeatMap | GridMap | PointDensity
