"""A summary as one self-contained HTML page: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any

from heldout.report import svg
from heldout.report.inline import pieces, writable
from heldout.report.svg.axes import number_text, round_axis
from heldout.summary import (
    Cell,
    Chart,
    Column,
    HeatMap,
    LineChart,
    Picture,
    RangeRow,
    Ranges,
    Row,
    Section,
    Series,
    SideBySide,
    Summary,
    Table,
)
from heldout.summary.names import ISOLATE, ISOLATE_END, SUBSCRIPT, shorten, symbols

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_MARKS = {"plain": "{}", "code": "<code>{}</code>", "strong": "<strong>{}</strong>"}
LONGEST = 48  # characters of a name; the whole one is told to a pointer
PIXELATED = 96  # pixels; smaller pictures are shown with sharp edges


def to_html(summary: Summary, *, command: str | None = None, page: bool = True) -> str:
    """A page, or without `page` the piece that a notebook shows; the same bytes for the same summary."""
    from markupsafe import Markup

    style = files("heldout.report").joinpath("templates/style.css").read_text(encoding="utf-8")
    text = (
        _environment()
        .get_template("summary.html.j2")
        .render(
            summary=summary,
            command=command,
            page=page,
            style=Markup(style),
            title=f"{summary.headline} · heldout",
        )
    )
    return writable(text.lstrip())


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("heldout.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "anchor": _anchor,
        "axis": _axis,
        "drawing": _drawing,
        "groups": _groups,
        "lines": _lines,
        "narrow": _narrow,
        "linked": _linked,
        "named": _named,
        "numbers": _numbers,
        "picture": _picture,
        "prose": _prose,
        "range": _range,
        "swatch": _swatch,
        "symbols": _symbols,
        "taken": _taken,
    }
    return environment


def _taken(text: str) -> Markup:
    """Text as it is; only what is marked as the index of a symbol stands lower."""
    from markupsafe import Markup, escape

    return Markup(re.sub(rf"{SUBSCRIPT}(\w+)", r"<sub>\1</sub>", str(escape(text))))


def _symbols(text: str) -> Markup:
    """Text of ours, with k_S, R_g and their like as they are printed."""
    return _taken(symbols(text))


def _prose(text: str) -> Markup:
    from markupsafe import Markup

    return Markup("").join(
        Markup(_MARKS[kind]).format(piece if kind == "code" else _symbols(piece)) for kind, piece in pieces(text)
    )


def _linked(text: str) -> Markup:
    """Text with <https://addresses> as links."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"&lt;(https://([^&]+))&gt;", r'<a href="\1">\2</a>', str(escape(text))))


def _named(name: str) -> Markup:
    from markupsafe import Markup, escape

    short = shorten(name, LONGEST)
    return escape(name) if short == name else Markup('<span title="{}">{}</span>').format(name, short)


def _anchor(section: Section) -> str:
    return section.anchor or re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-")


def _groups(table: Table) -> list[tuple[str, int]]:
    """Headings over neighbouring columns, and how many columns each spans."""
    return [(group, len(list(columns))) for group, columns in groupby(table.columns, key=lambda c: c.group)]


def _numbers(chart: Chart) -> Table:
    """The numbers behind a chart; where lines are rows there are many columns, so intervals stand below values."""
    per_line = isinstance(chart, LineChart) and bool(chart.line_of)
    columns = tuple(
        Column(name=f"{ISOLATE}{name}{ISOLATE_END}" if i else name, align="left" if per_line and not i else "right")
        for i, name in enumerate(chart.columns())
    )
    rows = tuple(Row(cells=(row[0], *map(_stacked, row[1:]))) if per_line else Row(cells=row) for row in chart.rows())
    return Table(caption=chart.table_caption, columns=columns, rows=rows, wide=per_line)


def _stacked(text: str) -> str | Cell:
    value, found, interval = text.removesuffix(")").partition(" (")
    return Cell(text=value, note=interval) if found else text


def _lines(block: SideBySide) -> list[Series]:
    """Every line that is drawn in any of the charts, once."""
    drawn = (s for chart in block.charts if isinstance(chart, LineChart) for s in chart.series if s.drawn)
    return list({s.name: s for s in drawn}.values())


def _drawing(chart: Chart, named: bool = True) -> Markup:
    from markupsafe import Markup

    return Markup(svg.draw(chart, named=named))  # texts are escaped there


def _narrow(chart: HeatMap) -> HeatMap:
    """A wide map for a phone, where cells are not square and nobody points."""
    return replace(chart, wide=False, cell_hover=False, row_hover=())


def _swatch(series: Series) -> Markup:
    from markupsafe import Markup

    return Markup(svg.swatch(series.style, variant=series.variant, label=f"line of {series.name}"))


def _axis(board: Ranges) -> tuple[tuple[float, float], tuple[str, str], tuple[float, ...]]:
    """The ends of a leaderboard's axis, their names, and its grid: those that are given, or round ones."""
    if board.axis is not None:
        return board.axis, board.axis_text, board.grid
    low, high, step = round_axis(min(r.low for r in board.rows), max(r.high for r in board.rows))
    grid = tuple(low + i * step for i in range(round((high - low) / step) + 1))
    return (low, high), (number_text(low, step), number_text(high, step)), grid


def _range(row: RangeRow, board: Ranges) -> Markup:
    from markupsafe import Markup

    (low, high), _, grid = _axis(board)
    label = f"{row.value_text} ({row.interval_text})"
    return Markup(svg.range_mark(row.value, (row.low, row.high), low=low, high=high, label=label, grid=grid))


def _picture(picture: Picture, side: int) -> Markup:
    from markupsafe import Markup
    from PIL import Image

    pixels: Any = picture.pixels
    image = Image.fromarray(pixels[:, :, 0] if pixels.shape[2] < 3 else pixels[:, :, :3])
    image.thumbnail((side, side))
    file = io.BytesIO()
    image.save(file, format="PNG", optimize=True)
    source = "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
    small = ' class="pixels"' if max(pixels.shape[:2]) <= PIXELATED else ""
    return Markup('<img{} src="{}" alt="{}">').format(Markup(small), source, picture.alt)
