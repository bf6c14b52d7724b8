"""Charts of a line or two, built with few words."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from importlib.resources import files
from typing import Any

from heldout.report import svg
from heldout.summary import Axis, LineChart, Series

STYLE = files("heldout.report").joinpath("templates/style.css").read_text(encoding="utf-8")


def series(**fields: Any) -> Series:
    given = {"name": "s", **fields}
    return Series(**{name: tuple(v) if isinstance(v, list) else v for name, v in given.items()})


def line_chart(*lines: Series, x: dict[str, Any] | None = None, y: dict[str, Any] | None = None, **fields: Any) -> str:
    chart = LineChart(
        title="l", x=Axis(**{"label": "x", **(x or {})}), y=Axis(**{"label": "y", **(y or {})}), series=lines, **fields
    )
    return svg.draw(chart)


def drawn(*lines: Series, **fields: Any) -> ET.Element:
    return ET.fromstring(line_chart(*lines, **fields))
