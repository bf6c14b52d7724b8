"""A summary as Markdown, for step summaries and pull requests."""

from __future__ import annotations

import re
from collections.abc import Sequence

from heldout.report.inline import one_line, pieces, writable
from heldout.summary import Block, Chart, Facts, Fold, Note, Pictures, Points, Prose, SideBySide, Summary, Table

_MARKS = {"plain": "{}", "code": "`{}`", "strong": "**{}**"}
ALIGN = {"left": ":--", "right": "--:"}


def to_markdown(summary: Summary, *, level: int = 1) -> str:
    """The whole summary; charts are their numbers, folded."""
    parts = [f"{'#' * level} {escaped(summary.headline)}", *map(marked, summary.sentences)]
    parts += [f"*{escaped(summary.subject)}*"] if summary.subject else []
    parts += [f"> **Warning.** {marked(warning)}" for warning in summary.warnings]
    if summary.figures:
        rows = [(escaped(f.name), f"**{escaped(f.value)}**", escaped(f.note)) for f in summary.figures]
        parts.append(_rows([("", "", ""), (":--", "--:", ":--"), *rows]))
    for section in summary.sections:
        parts += [f"{'#' * (level + section.level - 1)} {escaped(section.title)}"] if section.title else []
        parts += [part for block in section.blocks for part in _block(block)]
    parts += [to_markdown(part, level=level + 1) for part in summary.parts]
    parts += map(marked, summary.closing)
    parts += [f"{'#' * (level + 1)} How this was made", _facts(summary.origin)] if summary.origin else []
    parts += [f"Method: {summary.method}"] if summary.method else []
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


def _block(block: Block) -> list[str]:
    match block:
        case Prose():
            return [marked(block.text)]
        case Note():
            return [f"<sub>{marked(block.text)}</sub>"]
        case Points():
            return ["\n".join(f"- {marked(item)}" for item in block.items)]
        case Facts():
            return [_facts(block.rows)]
        case Table():
            first, *rest = block.split()
            return [*_table(first), *(p for part in rest for p in _folded(f"{len(part.rows)} more", _table(part)))]
        case Fold():
            return _folded(block.title, [part for inner in block.blocks for part in _block(inner)])
        case SideBySide():
            return [part for chart in block.charts for part in _chart(chart)]
        case Pictures():
            told = (f"- **{escaped(title)}**, {escaped(', '.join(lines))}" for title, _, lines in block.groups)
            return ["\n".join(told)]
    return _chart(block)


def _chart(chart: Chart) -> list[str]:
    table = chart.table()
    caption = f"**{escaped(chart.title)}.** {marked(chart.caption)}".rstrip()
    if table is None:
        return [caption, *([escaped(chart.description)] if chart.description != chart.title else [])]
    return [caption, *_folded("The numbers", _table(table))]


def _table(table: Table) -> list[str]:
    lines = [[escaped(c.name) for c in table.columns], [ALIGN[c.align] for c in table.columns]]
    for row in table.rows:
        role = f" *({escaped(row.role)})*" if row.role else ""
        first, *others = (escaped(str(cell)) for cell in row.cells)
        lines.append([first + role, *others])
    caption = [f"*{escaped(table.caption)}*"] if table.caption else []
    return [*caption, _rows(lines), *([f"{table.more:,} more are in the saved result."] if table.more else [])]


def _rows(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _facts(rows: Sequence[tuple[str, str]]) -> str:
    """A list; what is set in under another name is a list below it."""
    return "\n".join(
        f"{'  ' if name.startswith(' ') else ''}- **{escaped(name.strip())}**: {marked(value)}" for name, value in rows
    )


def _folded(title: str, parts: Sequence[str]) -> list[str]:
    inside = "\n\n".join(parts)
    return [f"<details><summary>{escaped(title)}</summary>\n\n{inside}\n\n</details>"] if inside else []
