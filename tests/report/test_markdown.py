"""Markdown for step summaries and pull requests."""

from __future__ import annotations

import re

from heldout.report import to_markdown
from heldout.summary import Axis, LineChart, Series, Table
from tests.report.kitchen_sink import kitchen_sink, shown


def test_markdown_is_escaped_and_whole() -> None:
    text = to_markdown(kitchen_sink())
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


def test_units_and_captions_are_told() -> None:
    """Where there is no drawing, what its axes say stands above the numbers."""
    line = Series(name="a", x=(1, 2), y=(0.5, 0.6))
    text = to_markdown(
        shown(
            LineChart(title="Falls", x=Axis(label="pixels"), y=Axis(label="accuracy, %"), series=(line,)),
            Table.estimates("Gap in points", ("Estimate", "Value", "Interval"), [("a", 1.0, (0.5, 1.5))], 1),
            Table.of("Errors in %", ("Model", "Error"), [("a", "5")]),
        )
    )
    assert "*Falls (accuracy, %)*" in text
    assert "| pixels | a |" in text
    assert "| a | 1.0 | 0.5 to 1.5 |" in text
    assert "*Errors in %*" in text
