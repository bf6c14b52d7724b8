"""Bytes to plain Python: what every reader of text shares."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from heldout.errors import InputError


def damaged(path: Path, error: Exception, kind: str) -> InputError:
    """What to say about a file that breaks off or is not of the kind it is read as."""
    return InputError(f"{path.name} is damaged or cut short, or no {kind} file ({type(error).__name__}).")


def read_json_file(path: Path) -> Any:
    """The content of a JSON file."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(path, error, "json") from error


def read_lines(path: Path) -> list[Any]:
    """One JSON value a line; a line that breaks off is an error that names it."""
    values: list[Any] = []
    try:
        with path.open(encoding="utf-8-sig") as f:
            values.extend(json.loads(line) for line in f if line.strip())
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path.name}: line {len(values) + 1} is no JSON; the file is damaged or cut short."
        ) from error
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise damaged(path, error, "jsonl") from error
    return values
