"""What every rendering keeps to: names are shown as they are and steer nothing; nothing heavy is loaded."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from heldout.report import to_markdown, to_text
from heldout.report.html import to_html
from heldout.report.markdown import escaped
from heldout.summary import Axis, Facts, LineChart, Prose, Series, Table, quoted, symbols
from tests.report.kitchen_sink import kitchen_sink, shown
from tests.report.pages import Page


def test_names_steer_no_terminal_and_turn_no_text() -> None:
    for rendered in (render(kitchen_sink()) for render in (to_text, to_markdown, to_html)):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", rendered)


@pytest.mark.parametrize("name", ["k_max", "R_S", "a**b**c", "`x` --control", "_u_"])
def test_a_name_is_shown_as_it_is(name: str) -> None:
    """In a sentence where it is quoted; in a cell and at a line or a bar always. A symbol of ours has its subscript."""
    line = Series(name=name, x=(1, 2), y=(1.0, 2.0))
    chart = LineChart(title="t", x=Axis(label="T_S of it"), y=Axis(label="y"), series=(line, replace(line, style="b")))
    sentence = f"**Of {quoted(name)}**, k_S, {quoted(name)} and --json"
    table = Table.of("c", ("k_PTV", "Metric"), [(name, symbols("R_g"))])
    blocks = (Prose(sentence), Facts((("fact", sentence),)), table, chart)
    summary = shown(*blocks, headline=quoted(name))
    source = to_html(summary)
    page = Page(source)
    assert page.headings == [name, "All"]
    assert page.text.count(name) == 1 + 4 + 1 + 2 + 1 + 1  # headline, sentences, cell, legend, columns of numbers
    assert source.count("<strong>Of ") == 2
    assert all(f"{a}<sub>{b}</sub>" in source for a, b in ("kS", "Rg", ("k", "PTV")))
    assert '>T<tspan class="sub" dy="3">S</tspan>' in source
    assert to_text(summary).count(name) == 1 + 4 + 1
    assert to_markdown(summary).count(escaped(name)) == 1 + 4 + 1 + 2


def test_nothing_heavy_is_loaded() -> None:
    code = (
        "import sys, heldout.report; from tests.report.kitchen_sink import kitchen_sink;"
        "heldout.report.to_text(kitchen_sink()); heldout.report.to_markdown(kitchen_sink());"
        "print([m for m in ('jinja2', 'torch', 'onnxruntime', 'sklearn', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
