"""Reading and writing arrays and text; a write is whole or not there."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of an npz file; the file is closed even where it is damaged."""
    with path.open("rb") as f, np.load(f, allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


def read_table(path: Path, *, what: str, example: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a CSV of two columns or more, Excel's byte order mark or not; blank lines do not count."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as f:
            header, *rows = [row for row in csv.reader(f) if row] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {what} {path}: {error}.") from error
    if not rows or any(len(row) < 2 for row in [header, *rows]):
        raise InputError(f"{path}: a header line and two columns are needed, for example `{example}`.")
    return header, rows


def write_npz(path: Path, arrays: dict[str, NDArray[Any]], *, packed: bool = False) -> None:
    """Save arrays, `packed` or as they are, so that a reader sees the old file or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as f:
            (np.savez_compressed if packed else np.savez)(f, **arrays)  # type: ignore[arg-type]
            f.flush()
            os.fsync(f.fileno())
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error  # a full disk names no file


def write_text(path: Path, text: str) -> None:
    """The same for text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
