"""What the studies share: tables and README pages in Markdown, figures as PNG."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join("| " + " | ".join(r) + " |" for r in [head, ["---"] * len(head), *rows])


def filled(text: str, made: Mapping[str, str]) -> str:
    """A page with each of these parts between `<!-- name -->` and `<!-- end of name -->`."""
    for name, part in made.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise SystemExit(f"the page has no place for {name!r}: it needs {begin} and {end}, once each.")
        text = re.sub(f"{begin}.*?{end}", lambda _, p=f"{begin}\n\n{part}\n\n{end}": p, text, flags=re.DOTALL)
    return text


def fill(page: Path, made: Mapping[str, str]) -> None:
    """Write these parts into a page, unless they are there: nobody shall read half of a page that does not change."""
    before = page.read_text()
    if (after := filled(before, made)) != before:
        page.write_text(after)


def save(figure: Any, path: Path) -> None:
    """As PNG, without the version that drew it: the same numbers make the same file."""
    figure.savefig(path, format="png", dpi=90, metadata={"Software": None})


def rounded(value: Any) -> Any:
    """Ten digits of every number: the last ones differ from machine to machine."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return [rounded(v) for v in value] if isinstance(value, list | tuple) else value
