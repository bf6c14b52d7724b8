"""A summary as one self-contained HTML page: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from heldout import summary as kit
from heldout.report import svg
from heldout.report.inline import pieces, writable
from heldout.report.svg.axes import number_text, round_axis

_MARKS = {
    "plain": "{}",
    "code": "<code>{}</code>",
    "long": '<code class="long">{}</code>',
    "strong": "<strong>{}</strong>",
}
TYPED = 24  # characters of what is typed, up to which no line breaks inside it, at a hyphen say
LONGEST = 48  # characters of a name; the whole one is told to a pointer
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")  # which is not broken at its hyphens
PIXELATED = 96  # pixels; smaller pictures are shown with sharp edges


def to_html(summary: kit.Summary, *, command: str | None = None, page: bool = True) -> str:
    """A page, or without `page` the piece that a notebook shows; the same bytes for the same summary."""
    style = files("heldout.report").joinpath("templates/style.css").read_text(encoding="utf-8")
    if not page:  # there is no root, html or body of ours in a notebook
        style = re.sub(r"(?m)^(\s*)(?::root|html|body)(?= \{)", r"\1:scope", style)
    template = _environment().get_template("summary.html.j2")
    return writable(template.render(summary=summary, command=command, page=page, style=Markup(style)).lstrip())


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("heldout.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["tick"] = number_text
    filters = (_anchor, _axis, _css, _drawing, _folds, _legend, _linked, _named, _picture, _prose, _symbols)
    environment.filters |= {filter.__name__.lstrip("_"): filter for filter in (*filters, _taken, _whisker)}
    return environment


def _taken(text: str) -> Markup:
    """Text as it is; only what is marked as the index of a symbol stands lower, and 5e-23 in one line."""
    lowered = re.sub(rf"{kit.SUBSCRIPT}(\w+)", r"<sub>\1</sub>", str(escape(text)))
    return Markup(re.sub(r"(?<![\w.])\d+(?:\.\d+)?e-\d+(?!\w)", r'<span class="whole">\g<0></span>', lowered))


def _symbols(text: str) -> Markup:
    """Text of ours, with k_S, R_g and their like as they are printed."""
    return _taken(kit.symbols(text))


def _prose(text: str) -> Markup:
    told = ((kind, piece if kind == "code" else _symbols(piece)) for kind, piece in pieces(text))
    marks = ((_MARKS["long" if kind == "code" and len(piece) > TYPED else kind], piece) for kind, piece in told)
    return Markup("").join(Markup(mark).format(piece) for mark, piece in marks)


def _linked(text: str) -> Markup:
    """Text with <https://addresses> as links."""
    return Markup(re.sub(r"&lt;(https://([^&]+))&gt;", r'<a href="\1">\2</a>', str(escape(text))))


def _named(name: str) -> Markup:
    short = kit.shorten(name, LONGEST)
    return _taken(name) if short == name else Markup('<span title="{}">{}</span>').format(name, _taken(short))


def _anchor(section: kit.Section) -> str:
    return section.anchor or re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-")


def _folds(i: int, table: kit.Table) -> bool:
    """Whether a column stands below the name of the row on a phone."""
    return table.columns[i].minor or (table.drawn is not None and i >= table.drawn)


def _css(i: int, table: kit.Table) -> Markup:
    dates = any(DATE.fullmatch(str(row.cells[i])) for row in table.rows[:1])
    classes = ["n"] * (table.columns[i].align == "right") + ["minor"] * _folds(i, table) + ["date"] * dates
    return Markup(f' class="{" ".join(classes)}"' if classes else "")


def _legend(charts: Sequence[kit.Chart]) -> list[tuple[Markup, Markup]]:
    """What is drawn, each once: a piece of it and its name, with the text of its mark. A single one needs none."""
    found: dict[tuple[str, str], tuple[Markup, Markup]] = {}
    for chart in charts:
        marks = {m.style: m.text for m in chart.marks} if isinstance(chart, kit.LineChart) else {}
        for one in chart.drawn:
            text = marks.get(one.style)
            swatch = svg.swatch(replace(one, markers=True) if text else one)
            found[one.name, one.style] = Markup(swatch), _named(one.name) + (f": {text}" if text else "")
    return list(found.values()) if len(found) > 1 else []


def _drawing(chart: kit.Chart, *, narrow: bool = False) -> Markup:
    """The drawing, whose texts are escaped there; `narrow` is a wide map for a phone, where nobody points."""
    if narrow and isinstance(chart, kit.HeatMap):
        chart = replace(chart, wide=False, cell_hover=False, row_hover=())
    return Markup(svg.draw(chart))


def _axis(table: kit.Table) -> tuple[float, float, float]:
    """Round ends of the axis that all spans share, and the step of its grid."""
    ends = [end for span in table.spans for end in span] + ([] if table.reference is None else [table.reference])
    return round_axis(min(ends), max(ends))


def _whisker(cell: kit.Cell, table: kit.Table) -> Markup:
    assert cell.span is not None
    return Markup(svg.range_mark(cell.text, cell.span, _axis(table), reference=table.reference))


def _picture(picture: kit.Picture, side: int) -> Markup:
    from PIL import Image

    pixels: Any = picture.pixels
    image = Image.fromarray(pixels[:, :, 0] if pixels.shape[2] < 3 else pixels[:, :, :3])
    image.thumbnail((side, side))
    file = io.BytesIO()
    image.save(file, format="PNG", optimize=True)
    source = "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
    small = ' class="pixels"' if max(pixels.shape[:2]) <= PIXELATED else ""
    return Markup(f'<img{small} src="{source}" alt="{{}}">').format(picture.alt)
