"""What `print` shows."""

from __future__ import annotations

import re

from heldout.report import to_text
from heldout.report.text import WIDTH
from heldout.summary import Axis, Column, LineChart, Row, Series, SideBySide, Table
from tests.report.kitchen_sink import kitchen_sink, shown


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


def test_text_is_as_narrow_as_asked() -> None:
    narrow = to_text(kitchen_sink("m"), 60)
    assert max(len(line) for line in narrow.splitlines()) <= 60
    assert narrow.split()[:40] == to_text(kitchen_sink("m")).split()[:40]  # the same words, in other lines


def test_text_cuts_long_tables() -> None:
    rows = tuple(Row(cells=(f"m{i}", "1")) for i in range(50))
    table = Table(caption="", columns=(Column(name="Model", align="left"), Column(name="n")), rows=rows, rows_printed=5)
    text = to_text(shown(table))
    assert "m4" in text
    assert "m5" not in text
    assert "... and 45 more" in text


def test_numbers_with_one_row_per_line_are_printed_without_intervals() -> None:
    lines = (
        Series(name="one", x=(0, 1), y=(1.0, 0.5), low=(0.9, 0.4), high=(1.0, 0.6)),
        Series(name="two", x=(0, 2), y=(0.9, 0.1), style="b"),
    )
    chart = LineChart(
        title="Falls", x=Axis(label="pixels"), y=Axis(label="accuracy", spec=".2f"), series=lines, line_of="model",
        printed=True,
    )  # fmt: skip
    first, second = ([str(cell) for cell in row] for row in chart.rows())
    assert first == ["one", "1.00 (0.90 to 1.00)", "0.50 (0.40 to 0.60)", ""]
    assert second == ["two", "0.90", "", "0.10"]
    told = to_text(shown(SideBySide(charts=(chart,), legend=True))).splitlines()
    assert told[3:] == [
        "Falls (accuracy), by pixels",
        "model     0     1     2",
        "one    1.00  0.50",
        "two    0.90        0.10",
    ]


def test_a_table_that_is_too_wide_is_printed_in_parts() -> None:
    columns = tuple(Column(name=f"column {i}") for i in range(20))
    table = Table(caption="Wide", columns=columns, rows=(Row(cells=("model", *("0.1234",) * 19), role="chosen"),))
    told = to_text(shown(table)).splitlines()
    assert max(map(len, told)) <= 118
    assert [line.split()[0] for line in told[3:] if line] == ["column", "model"] * 2
    assert told[4].endswith("chosen")
