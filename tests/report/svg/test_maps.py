"""Histograms over each other, densities, heat maps and whiskers: what is drawn is what was given."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from heldout.report import svg
from heldout.report.svg.heat_maps import N_COLOURS, colour_edges, colours
from heldout.report.svg.shapes import LEFT, RIGHT, WIDTH
from heldout.summary import Axis, GridMap, HeatMap, PointDensity, Vertical, histogram
from heldout.summary.charts import Counts
from tests.report.svg import STYLE


def heat_map(values: np.ndarray, **fields: object) -> str:
    return svg.draw(HeatMap(title="l", values=values, **{"legend": "s", **fields}))  # type: ignore[arg-type]


def outlines(edges: tuple[float, ...], *counts: Counts, means: tuple[Vertical, ...] = ()) -> str:
    return svg.draw(histogram("l", Axis(label="x", spec=".3f"), "y", edges, *counts, verticals=means))


def whisker(**fields: Any) -> str:
    return svg.range_mark("0.25 (a <b>)", (0.2, 0.25, 0.35), (0.1, 0.5, 0.2), **fields)


def test_whisker_spans_its_interval() -> None:
    root = ET.fromstring(whisker())
    paths = {p.attrib["class"]: p.attrib["d"] for p in root.findall("path")}
    assert paths["whisker"].startswith("M25 12H62.5")
    assert paths["dot"] == "M37.5 12h0"
    assert paths["grid"] == "M0 0V24M50 0V24M100 0V24"
    assert root.findtext("title") == root.attrib["aria-label"] == "0.25 (a <b>)"


def test_overlaid_histograms() -> None:
    means = (Vertical(x=0.5, text="mean 0.5", style="a"), Vertical(x=0.2, text="mean 0.2", style="b"))
    counts: tuple[Counts, ...] = (("observed", (0, 4, 2), "a"), ("if independent", (3, 0, 0), "b"))
    root = ET.fromstring(outlines((0.0, 0.3, 0.6, 0.9), *counts, means=means))
    areas = {p.attrib["class"]: p.attrib["points"].split() for p in root.iter("polygon")}
    heights = {name: [float(p.split(",")[1]) for p in points] for name, points in areas.items()}
    bottom = heights["a wash"][-1]
    first, second, third = (bottom - heights["a wash"][i] for i in (3, 5, 7))
    assert first == 0
    assert second == pytest.approx(2 * third, abs=0.2)
    assert bottom - heights["b wash"][3] == pytest.approx(0.75 * second, abs=0.2)
    (mean,) = [p for p in root.findall("path") if p.attrib["class"] == "b line"]
    x = float(mean.attrib["d"][1:].split()[0])
    assert x == pytest.approx(LEFT + 8 + 0.2 / 0.9 * (WIDTH - LEFT - RIGHT - 16), abs=0.1)
    told = [r.findtext("title") for r in root.findall("rect") if r.attrib["class"] == "hit"]
    assert told[1] == "0.300 to 0.600: observed 4, if independent 0"


def test_density_places_its_cells() -> None:
    counts = np.zeros((4, 4), np.int64)
    counts[0, 3], counts[2, 1] = 100, 1
    edges, axis = (0.0, 0.25, 0.5, 0.75, 1.0), Axis(label="x")
    chart = PointDensity(title="l", x=axis, y=axis, x_edges=edges, y_edges=edges, counts=counts, diagonal="below")
    root = ET.fromstring(svg.draw(chart))
    strong, weak = root.findall("rect")
    assert strong.attrib["class"] == "cells heat-8"
    assert weak.attrib["class"] == "cells heat-2"
    assert float(strong.attrib["x"]) < float(weak.attrib["x"])
    assert float(strong.attrib["y"]) < float(weak.attrib["y"])  # a larger y is higher up
    assert weak.findtext("title") == "0.500 to 0.750, 0.250 to 0.500: 1"
    assert "below" in [t.text for t in root.findall("text")]


def test_heat_map_draws_every_cell_once() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((7, 7))
    values = (values + values.T) / 2
    values[1, 4] = values[4, 1] = np.nan
    names = tuple(f"m{i}" for i in range(7))
    root = ET.fromstring(heat_map(values, legend="similarity", names=names, cell_hover=True))
    seen = np.full((7, 7), "", dtype=object)
    (group,) = root.findall("g")
    for path in group.findall("path"):
        if "hit" in path.attrib["class"]:
            continue
        for x, y, length in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", path.attrib["d"]):
            for j in range(int(x), int(x) + int(length)):
                assert seen[int(y), j] == ""
                seen[int(y), j] = path.attrib["class"]
    np.fill_diagonal(values, np.nan)
    expected = colours(values, colour_edges(values[np.isfinite(values)]))
    assert (seen == np.where(expected >= 0, "heat-" + expected.astype(str).astype(object), "blank")).all()
    told = [p.findtext("title") for p in group.findall("path") if "hit" in p.attrib["class"]]
    assert len(told) == 7 * 6 - 2
    assert told[0] == f"m0, m1: {values[0, 1]:.3f}"
    assert [t.text for t in root.findall("text")][:7] == list(names)


def test_large_heat_map_tells_of_rows() -> None:
    values = np.random.default_rng(1).random((60, 60))
    names = tuple(f"model {i}" for i in range(60))
    drawing = heat_map(values, names=names, row_hover=names, cell_hover=True)
    (group,) = ET.fromstring(drawing).findall("g")
    assert [p.findtext("title") for p in group.findall("path") if "hit" in p.attrib["class"]] == list(names)
    assert len(drawing) < 120_000


def test_colours_hold_equal_shares() -> None:
    values = np.concatenate([np.linspace(0.8, 0.9, 900), [0.1, 0.2]])
    edges = colour_edges(values)
    counts = np.bincount(colours(values, edges), minlength=N_COLOURS)
    assert len(edges) == N_COLOURS + 1
    assert counts.min() > 90  # two outliers do not eat up the scale
    assert edges[0] <= 0.1
    assert edges[-1] >= 0.9
    assert colour_edges(np.array([1.0, 1.0]))[0] == 1.0


def test_blank_heat_map() -> None:
    ET.fromstring(heat_map(np.full((3, 3), np.nan)))


def test_every_class_has_a_style() -> None:
    drawings = [
        heat_map(np.random.default_rng(0).random((9, 9)), names=tuple("abcdefghi")),
        whisker(reference=0.3),
        outlines((0.0, 1.0), ("n", (1,), "a"), means=(Vertical(x=0.5, text="m", style="a"), Vertical(x=0.6))),
    ]
    for drawing in drawings:
        for names in re.findall(r'class="([^"]+)"', drawing):
            for name in names.split():
                assert f".{name}" in STYLE, name


def test_numbered_heat_map_with_given_edges() -> None:
    """One number a cell, the diagonal apart; equal values have equal colours whatever else is there."""
    values = np.array([[1.0, -0.5, 1.0], [-0.5, 1.0, 0.25], [1.0, 0.25, 1.0]])
    edges = np.linspace(-1, 1, N_COLOURS + 1).tolist()
    drawing = heat_map(values, legend="tau", names=("a", "b", "c"), numbered=True, edges=tuple(edges))
    shown = re.findall(r'class="small untouchable (on-\w+)">(.*?)<', drawing)
    assert sorted(n for _, n in shown) == sorted(["−0.50", "−0.50", "0.25", "0.25", "1.00", "1.00"])
    assert {css for css, n in shown if n == "1.00"} == {"on-strong"}
    assert {css for css, n in shown if n == "−0.50"} == {"on-light"}
    assert all(f".{css} " in STYLE for css, _ in shown)
    assert "−1.00" in drawing
    assert colours(np.array([-1.0, 1.0]), edges).tolist() == [0, N_COLOURS - 1]


def test_a_grid_has_a_step_where_each_row_says() -> None:
    chart = GridMap(
        title="t", values=np.array([[0.2, -0.2, 0.0], [0.2, 0.2, np.nan]]), names=("a", "b"), legend="s",
        columns=("2023-01", "2023-02", "2023-03"), edges=(-0.3, -0.1, 0.1, 0.3), steps=(1, 2), row_of="model",
    )  # fmt: skip
    drawn = svg.draw(chart)
    assert drawn.count('class="f line"') == 3  # two steps, and the way from one to the other
    assert 'class="blank"' in drawn
    table = chart.table()
    assert [row.cells[0] for row in table.rows] == ["a", "b"]
    assert table.columns[0].name == "model"
    assert svg.draw(replace(chart, steps=(-1, -1))).count('class="f line"') == 0
