"""What can go wrong through no fault of ours.

- HeldoutError
  - InputError: something handed in cannot be used; the message says which, why, and the way out.
  - MissingExtraError: an optional dependency is not installed; the message names the extra.

The command line turns both into one sentence on stderr and exit code 2.
"""

from __future__ import annotations

import importlib
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
