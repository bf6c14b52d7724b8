"""Bytes to plain Python: what every reader of text shares."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from pathlib import Path
from typing import Any, TextIO

from heldout.errors import InputError


def damaged(path: Path, error: Exception, kind: str) -> InputError:
    """What to say about a file that breaks off or is not of the kind it is read as."""
    return InputError(f"{path.name} is damaged or cut short, or no {kind} file ({type(error).__name__}).")


GZIP = ".gz"


def suffix_of(path: Path) -> str:
    """The suffix that tells a file's format, `.csv` of `table.csv.gz`.

    Examples
    --------
    >>> suffix_of(Path("a.CSV.gz")), suffix_of(Path("b.json"))
    ('.csv', '.json')
    """
    return (Path(path.stem) if path.suffix.lower() == GZIP else path).suffix.lower()


def stem_of(path: Path) -> str:
    """A file's name without its suffixes."""
    return Path(path.stem).stem if path.suffix.lower() == GZIP else path.stem


def open_text(path: Path) -> TextIO:
    """Text of a file, unpacked where its name ends in .gz; whole at once, so that damage shows here."""
    if path.suffix.lower() != GZIP:
        return path.open(newline="", encoding="utf-8-sig")
    with gzip.open(path, "rb") as f:
        return io.StringIO(f.read().decode("utf-8-sig"), newline="")


def read_json_file(path: Path) -> Any:
    """The content of a JSON file."""
    try:
        with open_text(path) as f:
            return json.loads(f.read())
    except (OSError, ValueError, RecursionError, EOFError, zlib.error) as error:
        raise damaged(path, error, "json") from error


def read_lines(path: Path) -> list[Any]:
    """One JSON value a line; a line that breaks off is an error that names it."""
    values: list[Any] = []
    try:
        with open_text(path) as f:
            values.extend(json.loads(line) for line in f if line.strip())
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path.name}: line {len(values) + 1} is no JSON; the file is damaged or cut short."
        ) from error
    except (OSError, UnicodeDecodeError, RecursionError, EOFError, zlib.error) as error:
        raise damaged(path, error, "jsonl") from error
    return values
