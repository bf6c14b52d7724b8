"""Text, Markdown and HTML of a summary that has every block, whatever the names are."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from heldout.report import to_html, to_markdown, to_text
from heldout.report.markdown import escaped
from heldout.report.text import WIDTH
from heldout.summary import Axis, Column, Facts, LineChart, Prose, Row, Section, Series, Summary, Table, quoted, symbols
from tests.report.browser import PHONE, look, needs_chromium
from tests.report.kitchen_sink import HOSTILE, kitchen_sink
from tests.report.pages import Page, check_drawings, check_self_contained

SINK = kitchen_sink()


def test_text_shows_what_is_to_be_printed() -> None:
    text = to_text(kitchen_sink("m"))
    lines = text.splitlines()
    assert lines[0].startswith("All of it, for m. Give --control")
    assert "Warning: only 3 groups in m." in lines
    assert re.search(r"^p +0\.05$", text, re.M)
    assert "this matters" in text  # no stars in a terminal
    assert "verdict" in text
    assert "... and 7 more" in text
    assert "Notes" not in text  # minor columns are for pages
    assert "inside" not in text
    assert lines[-1] == "It rests on this."
    assert max(len(line) for line in lines) <= WIDTH


def test_text_cuts_long_tables() -> None:
    rows = tuple(Row(cells=(f"m{i}", "1")) for i in range(50))
    table = Table(caption="", columns=(Column(name="Model", align="left"), Column(name="n")), rows=rows, rows_printed=5)
    text = to_text(Summary(kind="", headline="h", sections=(Section(title="", blocks=(table,), printed=True),)))
    assert "m4" in text
    assert "m5" not in text
    assert "... and 45 more" in text


def test_markdown_is_escaped_and_whole() -> None:
    text = to_markdown(SINK)
    assert text.startswith("# ")
    assert "<script" not in text
    assert not re.search("^<img", text, re.M)
    assert not re.search(r"(?<!\\)\]\(", text)  # no link but an escaped one
    assert "`--control`" in text
    tables = re.findall(r"(?:^\|.*\|$\n?)+", text, re.M)
    assert len(tables) >= 5
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1, table
    assert "inside" in text


def test_names_steer_no_terminal_and_turn_no_text() -> None:
    for rendered in (to_text(SINK), to_markdown(SINK), to_html(SINK)):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", rendered)


@pytest.mark.parametrize("name", ["k_max", "R_S", "a**b**c", "`x` --control", "_u_"])
def test_a_name_is_shown_as_it_is(name: str) -> None:
    """In a sentence where it is quoted; in a cell and at a line or a bar always. A symbol of ours has its subscript."""
    line = Series(name=name, x=(1, 2), y=(1.0, 2.0))
    chart = LineChart(title="t", x=Axis(label="T_S of it"), y=Axis(label="y"), series=(line, replace(line, style="b")))
    sentence = f"**Of {quoted(name)}**, k_S, {quoted(name)} and --json"
    table = Table.of("c", ("k_PTV", "Metric"), [(name, symbols("R_g"))])
    blocks = (Prose(sentence), Facts((("fact", sentence),)), table, chart)
    summary = Summary(kind="", headline=quoted(name), sections=(Section(title="", blocks=blocks, printed=True),))
    page = to_html(summary)
    shown = Page(page)
    assert shown.headings == [name]
    assert shown.text.count(name) == 1 + 4 + 1 + 2 + 1 + 1  # headline, sentences, cell, legend, columns of numbers
    assert page.count("<strong>Of ") == 2
    assert all(f"{a}<sub>{b}</sub>" in page for a, b in ("kS", "Rg", ("k", "PTV")))
    assert '>T<tspan class="sub" dy="3">S</tspan>' in page
    assert to_text(summary).count(name) == 1 + 4 + 1
    assert to_markdown(summary).count(escaped(name)) == 1 + 4 + 1 + 2


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
    assert {name for name in used if f".{name}" not in style} <= {"plain", "v1", "n", "part", "strips", "eyebrow"}


def test_several_results_on_one_page() -> None:
    page = to_html(replace(SINK, sections=(), parts=(kitchen_sink("a"), kitchen_sink("b"))))
    check_self_contained(page)
    assert to_text(replace(SINK, parts=(kitchen_sink("a"),))).count("It rests on this.") == 2


def test_links_only_where_they_are_ours() -> None:
    summary = replace(SINK, sections=(Section(title="t", blocks=(Prose("<https://evil.example>"),)),))
    assert 'href="https://evil' not in to_html(summary)
    assert 'href="https://arxiv.org/abs/2001.00001"' in to_html(summary)


def test_nothing_heavy_is_loaded() -> None:
    code = (
        "import sys, heldout.report; from tests.report.kitchen_sink import kitchen_sink;"
        "heldout.report.to_text(kitchen_sink()); heldout.report.to_markdown(kitchen_sink());"
        "print([m for m in ('jinja2', 'torch', 'onnxruntime', 'sklearn', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@needs_chromium
@pytest.mark.slow
@pytest.mark.parametrize("width", [PHONE, 1200])
@pytest.mark.parametrize("dark", [False, True])
def test_in_a_browser(tmp_path: Path, width: int, dark: bool) -> None:
    found = look(to_html(kitchen_sink("a-model")), tmp_path, width=width, dark=dark)
    assert found["wide"] == []
    assert found["scroll"] == found["client"]
    assert found["broken"] == 0
    assert found["smallest"] >= 6.5
