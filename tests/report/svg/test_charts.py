"""Axes and shapes of the charts."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from heldout.report import svg
from heldout.report.svg.axes import decade_ticks, linear_ticks, log_ticks
from heldout.report.svg.shapes import BOTTOM, CHARACTER, LEFT, RIGHT, TOP, WIDTH
from heldout.summary import Axis, histogram
from tests.report.svg import drawn, series


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-0.3, 0.14), (1e-9, 3e-9), (0, 12345), (-5, -4.99)])
def test_linear_ticks(low: float, high: float) -> None:
    ticks = linear_ticks(low, high)
    assert 2 <= len(ticks) <= 11
    assert all(low - 1e-12 <= t <= high + 1e-12 for t in ticks)
    steps = {round(b - a, 11) for a, b in pairwise(ticks)}
    assert len(steps) == 1


@pytest.mark.parametrize(("low", "high"), [(20, 40), (10, 500), (250, 10_000), (20, 1e7)])
def test_log_ticks(low: float, high: float) -> None:
    ticks = log_ticks(low, high)
    assert 2 <= len(ticks) <= 12
    assert all(low * 0.999 <= t <= high * 1.001 for t in ticks)


@pytest.mark.parametrize("low", [-1, -2, -7, -25.3, -2000, -40_000])
def test_decade_ticks(low: float) -> None:
    ticks = decade_ticks(low, 0)
    assert 2 <= len(ticks) <= 8
    assert ticks[-1] == 0
    assert all(t == int(t) and t >= low for t in ticks)


LOGS = {"x": {"label": "n", "kind": "log"}, "y": {"label": "p", "kind": "decades"}}


def _line(**fields: object) -> ET.Element:
    one = series(name="<b>&", x=[10, 100], y=[-3.0, -1.0], low=[-4, -2], high=[-2, 0])
    return drawn(one, **LOGS, **fields)


def test_line_chart_places_points() -> None:
    root = _line(reference=(math.log10(0.05), "0.05"))
    first, second = root.findall("circle")
    assert float(first.attrib["cx"]) < float(second.attrib["cx"])
    assert float(first.attrib["cy"]) > float(second.attrib["cy"])  # smaller p is lower
    assert [c.findtext("title") for c in (first, second)] == [
        "<b>& at 10: 0.001 (0.0001 to 0.01)",
        "<b>& at 100: 0.1 (0.01 to 1)",
    ]
    assert root.attrib["aria-label"] == "l; in the end: <b>& 0.1"
    assert "0.05" in [t.text for t in root.findall("text")]
    assert "10⁻³" in [t.text for t in root.findall("text")]


def test_markers_stand_inside() -> None:
    root = drawn(series(x=[10, 100], y=[0.0, -4.0]), **LOGS)
    top, bottom = TOP + 20, 290 - BOTTOM
    for circle in root.findall("circle"):
        assert top + 3.5 <= float(circle.attrib["cy"]) <= bottom - 3.5
        assert LEFT + 3.5 <= float(circle.attrib["cx"]) <= WIDTH - RIGHT - 3.5


def test_single_point() -> None:
    for axes in (LOGS, {}):
        root = drawn(series(x=[7], y=[0.0], low=[0.0], high=[0.0]), **axes)
        assert len(root.findall("circle")) == 1


def test_a_histogram_tells_every_range() -> None:
    chart = histogram("l", Axis(label="x"), "y", (-1, 0, 1, 2), ("examples", (2, 0, 4), "a"))
    root = ET.fromstring(svg.draw(chart))
    assert [r.findtext("title") for r in root.findall("rect")] == [
        "−1 to 0: examples 2", "0 to 1: examples 0", "1 to 2: examples 4",
    ]  # fmt: skip
    assert chart.rows()[0] == ("−1 to 0", "2")
    assert chart.description == "l"


def test_neighbouring_names_of_ticks_do_not_overlap() -> None:
    root = _line()
    row = max(float(t.attrib["y"]) for t in root.findall("text")) - 19
    names = [t for t in root.findall("text") if float(t.attrib["y"]) == row]
    spans = sorted((float(t.attrib["x"]), len(t.text or "") * CHARACTER) for t in names)
    assert len(spans) >= 2
    assert all(a + wa / 2 <= b - wb / 2 for (a, wa), (b, wb) in pairwise(spans))
