"""What can go wrong through no fault of ours.

- HeldoutError
  - InputError: something handed in cannot be used; the message says which, why, and the way out.
  - MissingExtraError: an optional dependency is not installed; the message names the extra.

The command line turns both into one sentence on stderr and exit code 2.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from typing import Any


class HeldoutError(Exception):
    """Base class of every error raised on purpose by this package.

    Examples
    --------
    >>> import heldout
    >>> try:
    ...     heldout.load("results/audit")
    ... except heldout.HeldoutError as error:
    ...     print(error)
    results/audit.npz does not exist, so it is not a saved result.
    """


class InputError(HeldoutError, ValueError):
    """Something handed in cannot be used.

    Examples
    --------
    >>> import heldout
    >>> try:
    ...     heldout.Translations(0)
    ... except heldout.InputError as error:
    ...     print(str(error).partition(":")[0])
    `radius` is 0; it must be a whole number of pixels, at least 1
    """


class MissingExtraError(HeldoutError, ImportError):
    """An optional dependency is not installed."""


def import_extra(module: str, *, extra: str) -> Any:
    """Import an optional module, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"this needs the package `{module.split('.')[0]}`, which is not installed. "
            f"Install it with: pip install 'heldout[{extra}]'"
        ) from error


def did_you_mean(typed: str, known: Iterable[str]) -> str:
    """A question where something known is close, and nothing otherwise.

    Examples
    --------
    >>> did_you_mean("--modle", ["--model", "--images"])
    '; did you mean --model?'
    >>> did_you_mean("--nonsense", ["--seed"])
    ''
    """
    bare = {name.lstrip("-"): name for name in known}  # dashes are alike in all of them
    given = typed.lstrip("-")
    close = difflib.get_close_matches(given, bare, n=1, cutoff=0.7)
    begun = [name for name in bare if len(given) > 3 and name.startswith(given[:-1])]  # --query for --queries
    if not close and len(begun) == 1:
        close = begun
    return f"; did you mean {bare[close[0]]}?" if close else ""


def told(error: BaseException) -> str:
    """Somebody else's error in a sentence of ours: its type and its first line, without a full stop.

    Examples
    --------
    >>> told(ValueError("shapes differ.\\n(see the manual)")), told(KeyError())
    ('ValueError: shapes differ', 'KeyError')
    """
    first = next(iter(str(error).strip().splitlines()), "").strip().removesuffix(".")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def shortened(value: object, most: int = 60) -> str:
    """A value as it is quoted in a message: with its end cut off where it is long.

    Examples
    --------
    >>> shortened("oak"), shortened("a" * 100, 10)
    ("'oak'", "'aaaaaa...")
    """
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."
