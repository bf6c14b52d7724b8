"""Scripts of a study, which import each other by short names that other studies use, too."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


@contextmanager
def short_names(folder: Path) -> Iterator[None]:
    """Scripts of this folder can be imported by their names, which are taken back afterwards."""
    names, path = [script.stem for script in folder.glob("*.py")], sys.path[:]
    before = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.path[:0] = [str(folder), str(ROOT)]
    try:
        yield
    finally:
        sys.path[:] = path
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(before)


def load(folder: Path, *names: str) -> list[ModuleType]:
    """These scripts of a folder, in this order."""
    with short_names(folder):
        return [importlib.import_module(name) for name in names]
