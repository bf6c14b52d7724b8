"""Bytes to plain Python: what every reader of text shares."""

from __future__ import annotations

import gc
import gzip
import io
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from heldout import files
from heldout.errors import InputError
from heldout.files import not_text, text_encoding
from heldout.frames import is_frame
from heldout.predictions.values import repeated


def damaged(path: Path, error: Exception, kind: str) -> InputError:
    """What to say about a file that breaks off or is not of the kind it is read as."""
    if isinstance(error, UnicodeDecodeError):
        return not_text(file_name(path), error)
    if isinstance(error, OSError) and error.strerror:  # of the system, not of the content
        return InputError(f"{file_name(path)} cannot be read: {error.strerror[0].lower()}{error.strerror[1:]}.")
    kind = f"{'an' if kind[0] in 'AEIOUaeiou' else 'a'} {kind}"
    return InputError(f"{file_name(path)} is damaged or cut short, or not {kind} file.")


GZIP = ".gz"
# Files that every model, run or task has one of: the folder tells them apart.
COMMON_NAMES = ("results.json", "result.json", "report.json", "eval_results.json", "per_instance_stats.json")


def as_path(value: Any) -> Path:
    """A path; anything else is no file that could be read.

    Examples
    --------
    >>> as_path("pool.csv").name
    'pool.csv'
    """
    if isinstance(value, (str, os.PathLike)):
        return Path(value)
    if is_frame(value):
        raise InputError(
            "`path` has several frames; read them one by one, and join them with heldout.predictions.align."
        )
    raise InputError(
        f"`path` is of the type {type(value).__name__}; give a path or a DataFrame (arrays go to "
        "heldout.Predictions or heldout.Scores)."
    )


def file_name(path: Path) -> str:
    """What to call a file in a message: by its name, with its folder where many have this name.

    Examples
    --------
    >>> file_name(Path("runs/a.csv")), file_name(Path("runs/alpha/results/results.json"))
    ('a.csv', 'alpha/results/results.json')
    """
    if path.name not in (*COMMON_NAMES, "run_spec.json", "run_metadata.json"):
        return path.name
    parts = path.resolve().parts if len(path.parts) < 2 else path.parts
    return "/".join(parts[-3 if parts[-2:-1] == ("results",) else -2 :])


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


def open_text(path: Path) -> IO[str]:
    """Text of a file, unpacked where its name ends in .gz; whole at once, so that damage shows here."""
    if path.suffix.lower() != GZIP:
        return files.open_text(path)
    with gzip.open(path, "rb") as f:
        content = f.read()
    return io.StringIO(content.decode(text_encoding(content[:4])), newline="")


class RepeatedKeyError(InputError):
    """An object has two values of one name, of which Python's parser would keep the last without a word."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        key, *_ = repeated([key for key, _ in pairs])
        raise RepeatedKeyError(f"the key {key!r} stands more than once in one object")
    return found


_decode = json.JSONDecoder(object_pairs_hook=_once).decode


def parse_json(content: str | bytes) -> Any:
    """JSON that somebody wrote; an object with the same key twice is refused.

    Examples
    --------
    >>> parse_json('[{"a": 1}, {"a": 2}]')
    [{'a': 1}, {'a': 2}]
    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
        ...
    heldout.predictions.raw.RepeatedKeyError: the key 'a' stands more than once in one object
    """
    if isinstance(content, bytes):
        content = content.decode(json.detect_encoding(content))
    return _decode(content)


@contextmanager
def without_cycles() -> Iterator[None]:
    """Python's search for cycles is off: what is parsed has none, and it looks at all rows again and again."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def repeated_key(where: str, error: RepeatedKeyError) -> InputError:
    """The same, with what is to be done about it."""
    return InputError(f"{where}: {error}, with values of which only one can be meant; keep one of them.")


def read_json_file(path: Path) -> Any:
    """The content of a JSON file."""
    try:
        with open_text(path) as f, without_cycles():
            return parse_json(f.read())
    except RepeatedKeyError as error:
        raise repeated_key(file_name(path), error) from error
    except (OSError, ValueError, RecursionError, EOFError, zlib.error) as error:
        raise damaged(path, error, "json") from error


def read_lines(path: Path) -> list[Any]:
    """One JSON value per line; a line that breaks off is an error that names it."""
    values: list[Any] = []
    try:
        with open_text(path) as f, without_cycles():
            values.extend(_decode(line) for line in f if line.strip())
    except RepeatedKeyError as error:
        raise repeated_key(f"{file_name(path)}: line {len(values) + 1}", error) from error
    except json.JSONDecodeError as error:
        raise InputError(
            f"{file_name(path)}: line {len(values) + 1} is no JSON; the file is damaged or cut short."
        ) from error
    except (OSError, UnicodeDecodeError, RecursionError, EOFError, zlib.error) as error:
        raise damaged(path, error, "jsonl") from error
    return values
