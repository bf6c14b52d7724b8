"""A summary as one self-contained HTML page: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import base64
import io
import re
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any

from heldout.report import svg
from heldout.report.inline import pieces
from heldout.report.svg.shapes import shorten
from heldout.summary import Chart, Column, Picture, RangeRow, Ranges, Row, Section, Series, Summary, Table

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_MARKS = {"plain": "{}", "code": "<code>{}</code>", "strong": "<strong>{}</strong>"}
LONGEST = 48  # characters of a name; the whole one is told to a pointer
SIDE = 112  # pixels of a picture's longer side, at most, as it is shown: 24 pictures of noise take 1.2 MB
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
    # A file name that is not valid Unicode is an id like any other, but no UTF-8.
    return text.lstrip().encode("utf-8", "backslashreplace").decode("utf-8")


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
        "drawing": _drawing,
        "groups": _groups,
        "linked": _linked,
        "named": _named,
        "numbers": _numbers,
        "picture": _picture,
        "prose": _prose,
        "range": _range,
        "swatch": _swatch,
        "symbols": _symbols,
    }
    return environment


def _symbols(text: str) -> Markup:
    """Text with k_S, R_g and their like as they are printed."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"\b([kR])_(S|g|PTV|max)\b", r"\1<sub>\2</sub>", str(escape(text))))


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
    """The numbers behind a chart."""
    columns = tuple(Column(name=name) for name in chart.columns())
    return Table(caption=chart.title, columns=columns, rows=tuple(Row(cells=row) for row in chart.rows()))


def _drawing(chart: Chart, named: bool = True) -> Markup:
    from markupsafe import Markup

    return Markup(svg.draw(chart, named=named))  # texts are escaped there


def _swatch(series: Series) -> Markup:
    from markupsafe import Markup

    return Markup(svg.swatch(series.style, variant=series.variant, label=f"line of {series.name}"))


def _range(row: RangeRow, board: Ranges) -> Markup:
    from markupsafe import Markup

    low, high = board.axis
    label = f"{row.value_text} ({row.interval_text})"
    return Markup(svg.range_mark(row.value, (row.low, row.high), low=low, high=high, label=label, grid=board.grid))


def _picture(picture: Picture) -> Markup:
    from markupsafe import Markup
    from PIL import Image

    pixels: Any = picture.pixels
    image = Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels[:, :, :3])
    image.thumbnail((SIDE, SIDE))
    file = io.BytesIO()
    image.save(file, format="PNG", optimize=True)
    source = "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
    small = ' class="pixels"' if max(pixels.shape[:2]) <= PIXELATED else ""
    return Markup('<img{} src="{}" alt="{}">').format(Markup(small), source, picture.alt)
