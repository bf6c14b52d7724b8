"""What `--groups` means in `heldout memorization`, for the training examples and for fresh ones."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike, NDArray

from heldout.cli.grouping import named_groups
from heldout.errors import InputError


def validation_groups(
    args: argparse.Namespace, ids: Sequence[str], columns: Mapping[str, ArrayLike], training_ids: Sequence[str]
) -> NDArray[Any] | None:
    """The groups of the validation examples; None without --groups.

    A file names examples by their ids: one that both data have, such as the number of a row, means two examples, and
    the groups of the training data would become those of others.
    """
    if args.groups is None:
        return None
    if Path(args.groups).is_file():
        known = set(training_ids)
        shared = next((name for name in ids if name in known), None)
        if shared is not None:
            raise InputError(
                f"--groups {args.groups}: {shared!r} is an example of the training data and one of --validation "
                f"{args.validation}, so that the file does not say whose group it names; where both are .npz files, "
                "whose examples go by their row numbers, put the groups into an array of the same name in both and "
                "name it, else give a regular expression on file names."
            )
    try:
        return named_groups(args.groups, ids, columns)
    except InputError as error:
        raise InputError(f"--validation {args.validation}: {error}") from error
