"""A summary as Markdown, for step summaries and pull requests."""

from __future__ import annotations

import re
from collections.abc import Sequence

from heldout.report.inline import one_line, pieces, writable
from heldout.summary import (
    Block,
    Facts,
    Fold,
    Note,
    Pictures,
    Points,
    Prose,
    Ranges,
    Section,
    SideBySide,
    Summary,
    Table,
)
from heldout.summary.charts import Chart

_MARKS = {"plain": "{}", "code": "`{}`", "strong": "**{}**"}
ALIGN = {"left": ":--", "right": "--:"}


def to_markdown(summary: Summary, *, level: int = 1) -> str:
    """The whole summary; charts are their numbers, folded."""
    parts = [f"{'#' * level} {escaped(summary.headline)}"]
    parts += [marked(sentence) for sentence in summary.sentences]
    parts += [f"*{escaped(summary.subject)}*"] if summary.subject else []
    parts += [f"> **Warning.** {marked(warning)}" for warning in summary.warnings]
    if summary.figures:
        rows = [(f.name, f"**{escaped(f.value)}**", escaped(f.note)) for f in summary.figures]
        parts.append(_rows(["", "", ""], ["left", "right", "left"], [[escaped(a), b, c] for a, b, c in rows]))
    for section in summary.sections:
        parts += _section(section, level)
    parts += [part for inner in summary.parts for part in [to_markdown(inner, level=level + 1)]]
    parts += [marked(sentence) for sentence in summary.closing]
    parts += [f"{'#' * (level + 1)} How this was made", _facts(summary.origin)] if summary.origin else []
    parts += [summary.method] if summary.method else []
    return writable("\n\n".join(parts) + ("\n" if level == 1 else ""))


def escaped(text: str) -> str:
    """Text whose characters mean nothing to Markdown.

    Examples
    --------
    >>> escaped("a*b|<c>_d")
    'a\\\\*b\\\\|&lt;c&gt;\\\\_d'
    """
    text = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~@])", r"\\\1", text)


def marked(text: str) -> str:
    """A sentence with its marks."""
    return "".join(
        _MARKS[kind].format(piece if kind == "code" else escaped(piece)) for kind, piece in pieces(one_line(text))
    )


def _section(section: Section, level: int) -> list[str]:
    title = [f"{'#' * (level + section.level - 1)} {escaped(section.title)}"] if section.title else []
    return [*title, *(part for block in section.blocks for part in _block(block))]


def _block(block: Block) -> list[str]:
    if isinstance(block, Prose):
        return [marked(block.text)]
    if isinstance(block, Note):
        return [f"<sub>{marked(block.text)}</sub>"]
    if isinstance(block, Points):
        return ["\n".join(f"- {marked(item)}" for item in block.items)]
    if isinstance(block, Facts):
        return [_facts(block.rows)]
    if isinstance(block, Table):
        columns = [f"{c.group} {c.name}".strip() for c in block.columns]
        rows = [
            [
                escaped(str(cell)) + (f" *({escaped(row.role)})*" if row.role and not i else "")
                for i, cell in enumerate(row.cells)
            ]
            for row in block.rows
        ]
        return [_rows([escaped(c) for c in columns], [c.align for c in block.columns], rows), *_left_out(block.more)]
    if isinstance(block, Ranges):
        rows = [
            [escaped(x) for x in (r.rank, r.name, r.value_text, r.interval_text, f"{r.next} {r.next_note}".strip())]
            for r in block.rows
        ]
        align = ["right", "left", "right", "left", "left"]
        return [_rows([escaped(c) for c in block.columns], align, rows), *_left_out(block.more)]
    if isinstance(block, Fold):
        inside = "\n\n".join(part for inner in block.blocks for part in _block(inner))
        return [f"<details><summary>{escaped(block.title)}</summary>\n\n{inside}\n\n</details>"] if inside else []
    if isinstance(block, SideBySide):
        return [part for chart in block.charts for part in _chart(chart)]
    if isinstance(block, Pictures):
        told = (f"**{escaped(title)}**, {escaped(', '.join(lines))}" for title, _, lines in block.groups)
        return ["\n".join(f"- {line}" for line in told)]
    return _chart(block)


def _chart(chart: Chart) -> list[str]:
    caption = [f"**{escaped(chart.title)}.** {marked(chart.caption)}".rstrip()]
    columns = chart.columns()
    if not columns:
        return [*caption, *([escaped(chart.description)] if chart.description != chart.title else [])]
    rows = [[escaped(cell) for cell in row] for row in chart.rows()]
    table = _rows([escaped(c) for c in columns], ["left"] + ["right"] * (len(columns) - 1), rows)
    return [*caption, f"<details><summary>The numbers</summary>\n\n{table}\n\n</details>"]


def _facts(rows: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"- **{escaped(name)}**: {marked(value)}" for name, value in rows)


def _rows(columns: Sequence[str], align: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, [ALIGN[a] for a in align], *rows]
    return "\n".join("| " + " | ".join(cell.replace("\n", " ") for cell in line) + " |" for line in lines)


def _left_out(count: int) -> list[str]:
    return [f"{count:,} more are in the saved result."] if count else []
