"""What the ways of `heldout memorization` share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from heldout.checkpoints import begin
from heldout.cli.common import make_folder, say
from heldout.errors import InputError


def checkpoints(args: argparse.Namespace) -> Path:
    """The folder of unfinished work, which must be there to go on with and not be there to begin."""
    make_folder(args.out)
    folder: Path = args.out / "checkpoint"
    begin(folder, resume=args.resume, say=say)
    return folder


def different(specs: Sequence[str], names: Sequence[str]) -> list[str]:
    """Names that tell models apart: their own, or else what was typed."""
    found = [spec if list(names).count(name) > 1 else name for spec, name in zip(specs, names, strict=True)]
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise InputError(f"{twice} is given more than once; every model needs a name of its own.")
    return found
