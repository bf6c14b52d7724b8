"""What the tests of every verb's summary share: all renderings of a result hold, and it loads and renders alone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from heldout.report import Result
from heldout.report.text import WIDTH
from heldout.summary import Block, Chart, Facts, Fold, Points, Section, SideBySide
from tests.report.browser import PHONE, look
from tests.report.pages import check_drawings, check_self_contained, words

Kind = TypeVar("Kind")

COMMAND = "heldout verb " + "very-long-path/" * 20
UNDEFINED = r"\bnan\b|\bNone\b(?! of| to)"
PLURALS = r"(?<![\d.,])1 (answers|digits|examples|groups|models|pairs|pictures|trials)\b"
UNBREAKABLE = 60  # characters of a word that a terminal may find too long
HEAVY = ("torch", "onnxruntime", "matplotlib", "sklearn", "scipy.cluster.hierarchy")


def check_renderings(result: Result, folder: Path, *, drawn: bool = True, never: str = "") -> str:
    """Every rendering is whole, safe and the same after a round trip; `never` is a pattern that no text may show.

    Returns the page. Pass `drawn=False` where a result has no chart.
    """
    page = result.html(command=COMMAND)
    check_self_contained(page)
    if drawn:
        check_drawings(page)
    for rendered in (page, result.markdown(), result._repr_html_()):
        assert "<script" not in rendered
        assert "<img src=x" not in rendered
    for text in (words(page), result.markdown(), str(result)):
        for pattern in filter(None, (UNDEFINED, PLURALS, never)):
            assert not re.search(pattern, text), re.search(f".*(?:{pattern}).*", text)
    assert not re.search(r"\d %", page)  # a number and its sign stay on one line
    for line in str(result).splitlines():
        assert len(line) <= WIDTH or max(map(len, line.split())) > UNBREAKABLE, line
    assert getattr(result, "created", "") in words(page)
    result.save(folder / "result")
    again = type(result).load(folder)
    assert again == result
    assert again.to_dict() == json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert (str(again), again.markdown()) == (str(result), result.markdown())
    assert again.html(command=COMMAND) == page
    return page


def check_renders_alone(results: Iterable[Result], folder: Path) -> None:
    """Saved results load and render in a process of their own, without anything heavy."""
    code = ["import importlib, sys"]
    for i, result in enumerate(results):
        result.save(folder / f"{i}")
        kind = type(result)
        code += [
            f"r = importlib.import_module({kind.__module__!r}).{kind.__name__}.load({str(folder / f'{i}')!r})",
            "str(r), r.markdown(), r.html(), r.to_dict()",
        ]
    code += [f"print([name for name in {HEAVY!r} if name in sys.modules])"]
    done = subprocess.run([sys.executable, "-c", "\n".join(code)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def check_fits_a_phone(result: Result, folder: Path, *, width: int = PHONE) -> None:
    """Nothing stands outside of a narrow window; needs a browser."""
    found = look(result.html(command=COMMAND), folder, width=width)
    assert (found["client"], found["scroll"], found["wide"]) == (width, width, [])


def titles(result: Result) -> list[str]:
    return [s.title for s in result.summary().sections]


def section(result: Result, name: str) -> Section:
    """A section by its title or its anchor."""
    return next(s for s in result.summary().sections if name in (s.title, s.anchor))


def blocks(result: Result, kind: type[Kind], *names: str) -> list[Kind]:
    """All blocks of a kind, those in folds and side by side too; of some sections where they are named."""
    todo: list[Block | Chart] = [
        b for s in result.summary().sections if not names or {s.title, s.anchor} & set(names) for b in s.blocks
    ]
    todo += [inner for b in todo if isinstance(b, Fold) for inner in b.blocks]
    todo += [chart for b in todo if isinstance(b, SideBySide) for chart in b.charts]
    return [b for b in todo if isinstance(b, kind)]


def items(result: Result, name: str) -> str:
    """The points of a section, one per line."""
    return "\n".join(item for found in blocks(result, Points, name) for item in found.items)


def facts(result: Result, name: str) -> dict[str, str]:
    """The facts of a section."""
    return {key: value for found in blocks(result, Facts, name) for key, value in found.rows}
