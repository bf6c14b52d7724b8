"""Lines that leave the window, gaps, steps and marked points."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import get_args

import pytest

from heldout.report import svg
from heldout.report.svg.axes import Scale
from heldout.report.svg.lines import EDGE, NARROW, SMALL
from heldout.report.svg.shapes import BOTTOM, LEFT, RIGHT, TOP, WIDTH, marker
from heldout.summary import TURNS, Axis, LineChart, Mark, Series, Vertical
from heldout.summary.charts import Style, Variant
from tests.report.svg import STYLE, drawn, series


def points(root: ET.Element) -> list[list[tuple[float, float]]]:
    lines = [e.attrib["points"].split() for e in root.iter("polyline")]
    return [[tuple(float(v) for v in p.split(",")) for p in line] for line in lines]  # type: ignore[misc]


def test_a_line_is_cut_where_it_leaves() -> None:
    """The sheet inside the axes hides what stands outside of it; nothing outside can be pointed at."""
    steep = series(x=[0, 1, 2], y=[0, 10, 1000], markers=False)
    root = drawn(steep, y={"range": (0.0, 20.0)})
    window = root.find("svg")
    assert window is not None
    assert window.find("polyline") is not None
    box = [float(window.attrib[name]) for name in ("x", "y", "width", "height")]
    assert window.attrib["viewBox"] == " ".join(window.attrib[name] for name in ("x", "y", "width", "height"))
    top, bottom = TOP + 20, 290 - BOTTOM
    assert box == pytest.approx(
        [LEFT + 8 - EDGE, top - EDGE, WIDTH - RIGHT - LEFT - 16 + 2 * EDGE, bottom - top + 2 * EDGE]
    )
    ((start, _, end),) = points(root)
    assert start[1] == pytest.approx(bottom, abs=0.1)
    assert end[1] < top
    assert [c.findtext("title") for c in root.iter("circle")] == ["s at 0: 0", "s at 1: 10"]


def test_gaps() -> None:
    nan = math.nan
    gappy = series(x=[0, 1, 2, 3, 4], y=[1, 2, nan, 3, 4], markers=False)
    assert [len(p) for p in points(drawn(gappy))] == [2, 2]


def test_steps_hold_until_their_point() -> None:
    """At similarity up to 0.5 two models, from there to 0.9 seven: the rise stands at 0.5."""
    cover = series(x=[0.1, 0.5, 0.9], y=[2, 2, 7], step=True, markers=False)
    (line,) = points(drawn(cover))
    rises = [a[0] for a, b in pairwise(line) if a[0] == b[0] and a[1] != b[1]]
    across = Scale(low=0.1 - 0.032, high=0.9 + 0.032, start=LEFT + 8, end=WIDTH - RIGHT - 8)
    assert rises == [pytest.approx(across.place(0.5), abs=0.1)]


def test_marks_stand_on_their_point() -> None:
    flat = series(x=[0, 10], y=[2.0, 2.0], style="b", markers=False)
    marks = (
        Mark(x=5, y=2.0, text="a hundred", hover="100 models"),
        Mark(x=5, y=2.05, text="some more", hover="112"),
    )
    root = drawn(flat, y={"kind": "decades", "range": (0.0, 4.0)}, verticals=(Vertical(x=5.0),), marks=marks)
    (middle,) = [e for e in root.findall("path") if e.attrib["class"] == "reference"]
    x = float(middle.attrib["d"].split("M")[1].split()[0])
    circles = [c for c in root.findall("circle") if c.attrib["class"] == "a fill"]
    assert [float(c.attrib["cx"]) for c in circles] == [x, x]
    assert {c.findtext("title") for c in circles} == {"100 models", "112"}
    assert "100" in [t.text for t in root.findall("text")]  # 10 to the 2


def test_marks_outside_are_not_drawn() -> None:
    flat = series(x=[0, 10], y=[2.0, 2.0], markers=False)
    root = drawn(flat, y={"range": (0.0, 4.0)}, marks=(Mark(x=5, y=9.0, text="far", hover="told"),))
    assert "told" not in [t.text for t in root.iter("title")]


@pytest.mark.parametrize("kind", ["linear", "log", "decades"])
def test_ticks_stand_inside(kind: str) -> None:
    scale = Scale(low=1.0, high=50.0, start=300, end=20, kind=kind)  # type: ignore[arg-type]
    ticks = scale.ticks()
    assert len(ticks) >= 2
    assert all(20 <= scale.place(t) <= 300 for t, _ in ticks)
    assert len({name for _, name in ticks}) == len(ticks)


def error_bars(root: ET.Element) -> list[str]:
    return [e.attrib["d"] for e in root.iter("path") if e.attrib["class"] == "a bar"]


def test_error_bars_at_points() -> None:
    """One a point, as high as told; none where the end is not known, and no band."""
    barred = series(
        x=[0, 5, 10], y=[4.0, 5.0, 6.0], low=[3.0, math.nan, 4.0], high=[5.0, math.nan, 8.0], whiskers=True,
    )  # fmt: skip
    root = drawn(barred, y={"range": (0.0, 10.0)})
    assert not list(root.iter("polygon"))
    up = Scale(low=0, high=10, start=290 - BOTTOM, end=TOP + 20)
    first, last = error_bars(root)
    for path, low, high in ((first, 3.0, 5.0), (last, 4.0, 8.0)):
        assert f" {up.place(low):.1f}V{up.place(high):.1f}" in path
        assert path.count("h6.0") == 2
    assert len(root.findall("circle")) == 3


def test_points_without_a_line() -> None:
    loose = series(name="points", x=[0, 10], y=[1.0, 2.0], joined=False)
    bare = series(name="line", x=[0, 10], y=[1.0, 2.0], style="b", markers=False)
    root = drawn(loose, bare)
    assert [e.attrib["class"] for e in root.iter("polyline")] == ["b line"]
    assert len([c for c in root.findall("circle") if c.attrib["class"] == "a fill"]) == 2
    assert "line" not in re.findall(r'class="\w ?(\w+)"', svg.swatch(loose))  # nor does a legend promise a line
    assert "<polygon" not in svg.swatch(bare)  # or markers that are not there


def test_log_axes_leave_out_what_is_not_positive() -> None:
    falling = series(x=[1, 10, 100, 1000, 2000], y=[100.0, 0.01, -1.0, 1.0, 2.0], markers=False)
    root = drawn(falling, x={"kind": "log", "range": (1.0, 1000.0)}, y={"kind": "log", "range": (1.0, 100.0)})
    assert [len(line) for line in points(root)] == [2, 2]


def test_every_style_has_a_shape_and_a_colour_of_its_own() -> None:
    styles = get_args(Style)
    assert len({marker(0, 0, style, None).replace(f'"{style} ', '"') for style in styles}) == len(styles)
    assert all(f".{style} {{ --hue" in STYLE for style in styles)


def test_variants_look_different() -> None:
    """Six styles, three variants of each: eighteen lines that differ by more than colour."""
    drawn = [
        svg.swatch(series(x=[], y=[], style=style, variant=v)) for style in get_args(Style) for v in get_args(Variant)
    ]
    assert len(set(drawn)) == 18
    bare = [re.sub(r'class="[a-f] ', 'class="', d) for d in drawn]
    assert len(set(bare)) == 18
    for variant in get_args(Variant):
        assert f".v{variant}.line" in STYLE


def test_guides_lie_below_the_lines() -> None:
    plain = series(x=[0, 1], y=[1, 0])
    root = drawn(plain, x={"range": (0.0, 1.0)}, y={"range": (0.0, 1.0)}, guides=(((0.0, 1.0), (1.0, 0.0)),))
    order = [e.tag for e in root.iter() if e.attrib.get("class") in ("reference", "a line")]
    assert order == ["path", "polyline"]
    (guide,) = [e.attrib["d"] for e in root if e.attrib.get("class") == "reference"]
    ((start, end),) = points(root)
    assert guide == f"M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}"


def test_small_sheets() -> None:
    two = [series(name=name, x=[0, 5], y=[1, 0]) for name in ("first", "second")]
    root = drawn(*two, small=True)
    assert root.attrib["viewBox"] == f"0 0 {NARROW:.0f} {SMALL:.0f}"
    assert all(0 <= x <= NARROW and 0 <= y <= SMALL for line in points(root) for x, y in line)
    assert all(0 <= float(e.attrib["x"]) <= NARROW for e in root.iter("text"))


def test_a_series_that_is_not_drawn_is_among_the_numbers() -> None:
    lines = tuple(
        Series(name=name, x=(1, 2), y=(1.0, nan), drawn=drawn, missing="vacuous")
        for name, drawn, nan in (("seen", True, 2.0), ("told", False, float("nan")))
    )
    chart = LineChart(title="t", x=Axis(label="x"), y=Axis(label="y", spec="+.1f"), series=lines)
    assert [c.name.translate(TURNS) for c in chart.table().columns] == ["x", "seen", "told"]
    assert chart.rows() == (("1", "+1.0", "+1.0"), ("2", "+2.0", "vacuous"))
    assert "told" not in chart.description + svg.draw(chart)
    assert Axis(label="y", spec="+.1f").text(-0.01) == "0.0"


def test_a_log_axis_says_so() -> None:
    line = Series(name="a", x=(1, 10), y=(1.0, 2.0))
    chart = LineChart(title="t", x=Axis(label="answers", kind="log"), y=Axis(label="y"), series=(line,))
    assert "answers (log scale)" in svg.draw(chart)
    assert [c.name.translate(TURNS) for c in chart.table().columns] == ["answers", "a"]
