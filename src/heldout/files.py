"""Reading and writing arrays and text; a write is whole or not there."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError

FORMAT = 2  # of saved results; 1 had neither groups nor what they bring with them


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
    with part.open("wb") as f:
        (np.savez_compressed if packed else np.savez)(f, **arrays)  # type: ignore[arg-type]
        f.flush()
        os.fsync(f.fileno())
    os.replace(part, path)


def write_text(path: Path, text: str) -> None:
    """The same for text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def write_result(
    path: str | Path, *, plain: dict[str, Any], record: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> None:
    """Write `path`.npz, from which a result comes back to the last bit, and `path`.json for everybody else.

    NaN stays NaN in the record, whose JSON is ours alone; `plain` has none.
    """
    kept = {"format": FORMAT, **record}
    write_npz(Path(f"{path}.npz"), {**arrays, "record": np.array(json.dumps(kept))})
    write_text(Path(f"{path}.json"), json.dumps(plain, indent=2, allow_nan=False) + "\n")


def read_result(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The record and the arrays that `write_result` wrote: `path`, one of its two files, or the folder of `result`."""
    stem = Path(path)
    if stem.is_dir():
        stem = stem / "result"
    elif stem.suffix in (".npz", ".json"):
        stem = stem.with_suffix("")
    file = Path(f"{stem}.npz")
    if not file.exists():
        raise InputError(f"{file} does not exist, so it is not a saved result.")
    try:
        arrays = read_npz(file)
        record: dict[str, Any] = json.loads(str(arrays.pop("record")))
    except Exception as error:
        raise InputError(f"{file} is not a saved result, or is damaged: {error!r}.") from error
    if record.pop("format", 1) != FORMAT and "version" in record:  # else it is no result at all
        raise InputError(
            f"{file} was saved by another version of heldout ({record.get('version', 'unknown')}), and lacks numbers "
            "that this one shows; run it again."
        )
    return record, arrays
