"""Pages: self-contained, safe whatever names are, and readable on a phone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heldout.report import to_text
from heldout.report.html import to_html
from heldout.summary import (
    Axis,
    LineChart,
    Mark,
    Picture,
    Pictures,
    Prose,
    Row,
    Section,
    Series,
    SideBySide,
    Table,
    interval_cell,
    symbols,
)
from tests.report.browser import PHONE, look, needs_chromium
from tests.report.kitchen_sink import HOSTILE, kitchen_sink, shown
from tests.report.pages import check_drawings, check_self_contained

SINK = kitchen_sink()


def test_page() -> None:
    page = to_html(SINK, command=f"heldout {HOSTILE}")
    parsed = check_self_contained(page)
    check_drawings(page)
    assert page == to_html(SINK, command=f"heldout {HOSTILE}")
    assert "<code>--control</code>" in page
    assert "<strong>this</strong>" in page
    assert "k<sub>S</sub>" in page
    tags = [tag for tag, _ in parsed.tags]
    assert tags.count("caption") == tags.count("table")
    assert all("scope" in a for tag, a in parsed.tags if tag == "th")
    assert tags.count("h1") == 1


def test_every_class_has_a_style() -> None:
    page = to_html(SINK)
    style = page[page.index("<style>") : page.index("</style>")]
    used = {name for names in re.findall(r'class="([^"]+)"', page) for name in names.split()}
    assert {name for name in used if f".{name}" not in style} <= {"plain", "alone", "v1"}


def test_several_results_on_one_page() -> None:
    page = to_html(replace(SINK, sections=(), parts=(kitchen_sink("a"), kitchen_sink("b"))))
    check_self_contained(page)
    assert to_text(replace(SINK, parts=(kitchen_sink("a"),))).count("It rests on this.") == 2


def test_links_only_where_they_are_ours() -> None:
    summary = replace(SINK, sections=(Section(title="t", blocks=(Prose("<https://evil.example>"),)),))
    assert 'href="https://evil' not in to_html(summary)
    assert 'href="https://arxiv.org/abs/2001.00001"' in to_html(summary)


def test_what_belongs_together_stays_in_one_line() -> None:
    page = to_html(shown(Prose("p = 5e-23 by --control, not m1e-5 or 2.5e-7x")))
    assert '<span class="whole">5e-23</span> by <code>--control</code>, not m1e-5 or 2.5e-7x' in page
    typed = "heldout budget TABLE --needed --gap 0.01"
    assert f'<code class="long">{typed}</code>' in to_html(shown(Prose(f"`{typed}`")))  # which may break


def test_the_index_of_a_symbol_stands_beside_it_in_a_legend() -> None:
    name = symbols("test error R_S")
    lines = [Series(name=n, x=(0, 1), y=(1.0, 0.5)) for n in (name, "other")]
    chart = LineChart(title="Errors", x=Axis(label="x"), y=Axis(label="y"), series=tuple(lines))
    assert "</span><span>test error R<sub>S</sub></span></li>" in to_html(shown(chart))


def test_charts_side_by_side_have_one_legend() -> None:
    one = Series(name="one", x=(0, 1), y=(1.0, 0.5), low=(0.9, 0.4), high=(1.0, 0.6))
    chart = LineChart(title="Falls", x=Axis(label="x"), y=Axis(label="y"), series=(one, replace(one, name="two")))
    other = replace(chart, series=(one, replace(one, name="three")))
    page = to_html(shown(SideBySide(charts=(chart, other), legend=True)))
    assert page.count('class="swatch"') == 3  # a line that only the second chart has is named too
    assert "0.5</span><small>0.4 to 0.6" in page
    marked = replace(chart, marks=(Mark(x=0, y=1.0, text="all", hover=""),))
    assert re.findall(r"</svg></span><span>(.*?)</span></li>", to_html(shown(marked))) == ["one: all", "two: all"]
    assert 'class="swatch"' not in to_html(shown(replace(chart, series=(one,))))


def test_estimates_stand_on_one_axis() -> None:
    rows = [(symbols("Test error R_S"), 0.1, (0.05, 0.2)), ("other", 0.4, None)]
    names = ("Estimate", "Value", "Interval")
    page = to_html(shown(Table.estimates("l", names, rows, reference=0.0)))
    assert '<th scope="row">Test error R<sub>S</sub><small class="folded">Interval: +0.0500 to +0.2000</small>' in page
    assert 'class="whisker" d="M12.5 12H50M12.5 7V17M50 7V17"' in page
    assert (page.count('class="whisker"'), page.count('<path class="dot"')) == (1, 2)
    assert page.count('<path class="reference" d="M0 0V24"/>') == 2
    check_drawings(to_html(shown(Table.estimates("l", names, [("zero", 0.0, (0.0, 0.0))]))))


def test_a_leaderboard_finds_round_ends() -> None:
    rows = [
        Row(cells=("1", name, f"{v}", interval_cell(v, (v - 0.1, v + 0.1)), ""))
        for name, v in (("a", 0.22), ("b", 0.71))
    ]
    page = to_html(shown(Table.ranges("c", ("Rank", "Model", "v", "Interval", "Next"), rows)))
    assert "<span>0.0</span><span>1.0</span>" in page


def test_pictures_have_a_largest_side() -> None:
    picture = Picture(pixels=np.random.default_rng(0).integers(0, 256, (90, 90, 3), dtype=np.uint8), alt="noise")
    sizes = [len(to_html(shown(Pictures(groups=(("t", (picture,), ()),), side=side)))) for side in (90, 30)]
    assert sizes[0] - sizes[1] > 20_000


def test_minor_columns_stand_below_the_name_on_a_phone() -> None:
    rows = [("a", "0.05", "sign"), ("b", "1", "")]
    page = to_html(shown(Table.of("c", ("Model", "p", "Test"), rows, minor=("Test",))))
    assert page.count('<small class="folded">') == 1  # an empty cell is not told
    assert '<small class="folded">Test: sign</small>' in page
    assert page.count('class="n minor"') == 3


@needs_chromium
@pytest.mark.slow
@pytest.mark.parametrize("width", [PHONE, 500, 1200])
@pytest.mark.parametrize("dark", [False, True])
def test_in_a_browser(tmp_path: Path, width: int, dark: bool) -> None:
    found = look(to_html(kitchen_sink("a-model")), tmp_path, width=width, dark=dark)
    assert found["wide"] == []
    assert found["scroll"] == found["client"]
    assert found["broken"] == 0
    assert found["smallest"] >= 6.5
