"""A summary for a terminal: the headline, the numbers, and the sections that are to be printed."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from heldout.report.inline import bare, one_line, writable
from heldout.summary import Block, Facts, LineChart, Note, Points, Prose, SideBySide, Summary, Table

WIDTH = 118  # of a line, where nothing says how wide the terminal is
NAME = 28  # characters of a name before its value
LONGEST = 40  # characters of a cell


def to_text(summary: Summary, width: int = WIDTH) -> str:
    """What `print` shows of a result, in lines of at most `width` characters where words and numbers allow."""
    stop = "" if summary.headline.endswith((".", "!", "?", ":")) or not summary.sentences else "."
    lines = wrapped(" ".join([f"{summary.headline}{stop}", *summary.sentences[:1]]), width)
    for sentence in summary.sentences[1:]:
        lines += wrapped(sentence, width)
    for warning in summary.warnings:
        lines += ["", *wrapped(f"Warning: {warning}", width)]
    if summary.lines:
        lines += ["", *_facts(summary.lines, width)]
    for section in summary.sections:
        if section.printed:
            lines += ["", *([f"{section.title}:"] if section.title else [])]
            for block in section.blocks:
                lines += _block(block, width)
            while not lines[-1]:
                lines.pop()
    for part in summary.parts if summary.parts_printed else ():
        lines += ["", to_text(part, width)]
    for sentence in summary.closing:
        lines += ["", *wrapped(sentence, width)]
    # Only now, since lines do not break at a no-break space; a terminal may know ASCII only.
    return writable("\n".join(lines).replace("\N{MINUS SIGN}", "-").replace("\N{NO-BREAK SPACE}", " "))


def wrapped(sentence: str, width: int = WIDTH, indent: str = "", first: str | None = None) -> list[str]:
    """A sentence in lines of a terminal; an empty one is no line."""
    start = indent if first is None else first
    wrapper = textwrap.TextWrapper(width, start, indent, break_long_words=False, break_on_hyphens=False)
    return wrapper.wrap(bare(sentence))


def _block(block: Block, width: int) -> list[str]:
    match block:
        case Prose() | Note():
            return wrapped(block.text, width)
        case Points():
            return [line for item in block.items for line in wrapped(item, width, "  ", "- ")]
        case Facts():
            return _facts(block.rows, width)
        case Table():
            return _table(block, width)
        case SideBySide():
            return [line for chart in block.charts for line in _block(chart, width)]
        case LineChart(printed=True):
            table = block.table()
            return [*wrapped(table.caption, width), *_table(table, width, notes=False), ""]
    return []  # other charts, pictures and folds are for pages


def _facts(rows: Sequence[tuple[str, str]], width: int) -> list[str]:
    named = max([NAME, *(len(name) + 1 for name, _ in rows if len(name) < 34)])
    return [line for name, value in rows for line in wrapped(value, width, " " * (named + 1), f"{name:{named}s} ")]


def _table(table: Table, width: int, *, notes: bool = True) -> list[str]:
    """The first rows, without minor columns."""
    kept = [(i, c) for i, c in enumerate(table.columns) if not c.minor]
    shown = table.rows[: table.rows_printed]
    rows = [[_cell(column.name) for _, column in kept]]
    for row in shown:  # words are cut, numbers never
        cells = [(row.cells[i], column.align == "left" or not i) for i, column in kept]
        rows.append([_cell(str(c) if notes or isinstance(c, str) else c.text, cut=cut) for c, cut in cells])
    roles = ["", *(f"   {row.role}" if row.role else "" for row in shown)]
    lines = _columned(rows, [column.align == "left" for _, column in kept], roles, width)
    more = len(table.rows) - len(shown) + table.more
    return [*lines, f"... and {more:,} more; a saved result has all of them"] if more else lines


def _columned(rows: Sequence[Sequence[str]], left: Sequence[bool], ends: Sequence[str], width: int) -> list[str]:
    """Rows in columns; where they are too wide, in parts below each other that all begin with the first column."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    parts: list[list[int]] = [[0]]
    for i in range(1, len(left)):
        if len(parts[-1]) > 1 and sum(widths[j] + 2 for j in parts[-1]) + widths[i] > width:
            parts.append([0])
        parts[-1].append(i)
    lines: list[str] = []
    for part in parts:
        for row, end in zip(rows, ends, strict=True):
            cells = (row[i].ljust(widths[i]) if left[i] else row[i].rjust(widths[i]) for i in part)
            lines.append(f"{'  '.join(cells)}{end if part is parts[0] else ''}".rstrip())
        lines.append("")
    return lines[:-1]


def _cell(text: str, *, cut: bool = False) -> str:
    text = writable(one_line(text))
    return f"{text[: LONGEST - 1]}…" if cut and len(text) > LONGEST else text
