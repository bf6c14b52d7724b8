"""A summary for a terminal: the headline, the numbers, and the sections that are to be printed."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from heldout.report.inline import bare, one_line, writable
from heldout.summary import Block, Facts, LineChart, Note, Points, Prose, Ranges, SideBySide, Summary, Table

WIDTH = 118
NAME = 28  # characters of a name before its value
LONGEST = 40  # characters of a cell
ROWS = 20  # of the numbers behind a chart


def to_text(summary: Summary) -> str:
    """What `print` shows of a result."""
    stop = "" if summary.headline.endswith((".", "!", "?", ":")) or not summary.sentences else "."
    lines = wrapped(" ".join([f"{summary.headline}{stop}", *summary.sentences[:1]]))
    for sentence in summary.sentences[1:]:
        lines += wrapped(sentence)
    for warning in summary.warnings:
        lines += ["", *wrapped(f"Warning: {warning}")]
    if summary.lines:
        lines += ["", *_facts(summary.lines)]
    for section in summary.sections:
        if section.printed:
            lines += ["", *([f"{section.title}:"] if section.title else [])]
            for block in section.blocks:
                lines += _block(block)
            while not lines[-1]:
                lines.pop()
    for part in summary.parts if summary.parts_printed else ():
        lines += ["", to_text(part)]
    for sentence in summary.closing:
        lines += ["", *wrapped(sentence)]
    # Only now, since lines do not break at a no-break space; a terminal may know ASCII only.
    return writable("\n".join(lines).replace("\N{MINUS SIGN}", "-").replace("\N{NO-BREAK SPACE}", " "))


def wrapped(sentence: str, indent: str = "", first: str | None = None) -> list[str]:
    """A sentence in lines of a terminal; an empty one is no line."""
    start = indent if first is None else first
    return textwrap.wrap(
        bare(sentence),
        WIDTH,
        initial_indent=start,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _block(block: Block) -> list[str]:
    if isinstance(block, (Prose, Note)):
        return wrapped(block.text)
    if isinstance(block, Points):
        return [line for item in block.items for line in wrapped(item, "  ", "- ")]
    if isinstance(block, Facts):
        return _facts(block.rows)
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Ranges):
        return _ranges(block)
    if isinstance(block, SideBySide):
        return [line for chart in block.charts for line in _block(chart)]
    if isinstance(block, LineChart) and block.printed:
        return _chart(block)
    return []  # other charts, pictures and folds are for pages


def _facts(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max([NAME, *(len(name) + 1 for name, _ in rows if len(name) < 34)])
    return [line for name, value in rows for line in wrapped(value, " " * (width + 1), f"{name:{width}s} ")]


def _table(table: Table) -> list[str]:
    kept = [i for i, column in enumerate(table.columns) if not column.minor]
    shown = table.rows[: table.rows_printed]
    rows = [  # words are cut, numbers never
        [_cell(str(row.cells[i])) if table.columns[i].align == "left" or not i else str(row.cells[i]) for i in kept]
        for row in shown
    ]
    marks = [f"   {row.role}" if row.role else "" for row in shown]
    names = [_heading(table, i) for i in kept]
    left = [table.columns[i].align == "left" for i in kept]
    lines = columned([names, *rows], left)
    lines[: len(rows) + 1] = [f"{line}{mark}".rstrip() for line, mark in zip(lines, ["", *marks], strict=False)]
    return lines + _left_out(len(table.rows) - len(rows) + table.more)


def _chart(chart: LineChart) -> list[str]:
    """The numbers behind a chart, without intervals."""
    rows = [[_cell(cell) for cell in row] for row in chart.rows(bands=False)]
    left = [bool(chart.line_of), *(False for _ in chart.columns()[1:])]
    lines = columned([chart.columns(), *rows[:ROWS]], left)
    return [*wrapped(chart.table_caption), *lines, *_left_out(len(rows[ROWS:])), ""]


def _heading(table: Table, i: int) -> str:
    column = table.columns[i]
    return f"{column.group} {column.name}".strip()


def _ranges(board: Ranges) -> list[str]:
    shown = board.rows[: board.rows_printed]
    rows = [
        [r.rank, _cell(r.name), r.value_text, r.interval_text, " ".join([r.next, r.next_note]).strip()] for r in shown
    ]
    lines = aligned([board.columns, *rows], [False, True, False, True, True])
    return [line.rstrip() for line in lines] + _left_out(len(board.rows) - len(shown) + board.more)


def _cell(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _left_out(count: int) -> list[str]:
    return [f"... and {count:,} more (--json or the report)"] if count else []


def columned(rows: Sequence[Sequence[str]], left: Sequence[bool]) -> list[str]:
    """Rows in columns; where they are too wide, in parts below each other that all begin with the first column."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(left))]
    parts: list[list[int]] = [[0]]
    for i in range(1, len(left)):
        if len(parts[-1]) > 1 and sum(widths[j] + 2 for j in parts[-1]) + widths[i] > WIDTH:
            parts.append([0])
        parts[-1].append(i)
    lines: list[str] = []
    for part in parts:
        lines += [""] if lines else []
        lines += [line.rstrip() for line in aligned([[r[i] for i in part] for r in rows], [left[i] for i in part])]
    return lines


def aligned(rows: Sequence[Sequence[str]], left: Sequence[bool]) -> list[str]:
    """Rows in columns.

    Examples
    --------
    >>> aligned([["model", "p"], ["a", "0.05"]], [True, False])
    ['model     p', 'a      0.05']
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(left))]
    return [
        "  ".join(
            cell.ljust(w) if to_left else cell.rjust(w) for cell, w, to_left in zip(row, widths, left, strict=True)
        )
        for row in rows
    ]
