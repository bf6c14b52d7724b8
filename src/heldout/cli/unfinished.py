"""Unfinished work of a verb: the folder it is kept in, and what is said of it."""

from __future__ import annotations

import argparse
from pathlib import Path

from heldout.cli.common import check_folder, say


def folder(args: argparse.Namespace) -> Path | None:
    """Where this verb keeps unfinished work; None where it keeps none."""
    out = getattr(args, "out", None)
    return None if out is None or not hasattr(args, "resume") else Path(out) / "checkpoint"


def say_finished(args: argparse.Namespace) -> None:
    """A finished result in --out, which the run replaces: nobody should learn so afterwards."""
    out = getattr(args, "out", None)
    if out is not None and (Path(out) / "result.json").is_file():
        say(f"{out} holds a finished result, which this run replaces when it ends; another --out keeps both.")


def checkpoints(args: argparse.Namespace) -> tuple[Path, bool]:
    """The folder of a verb that always has one, and whether there is work in it to go on with."""
    from heldout.checkpoints import begin

    check_folder(args.out)
    path = folder(args)
    assert path is not None
    return path, begin(path, resume=args.resume, say=say)


def way_on(args: argparse.Namespace) -> str:
    """After Ctrl-C."""
    if hasattr(args, "kept_elsewhere"):
        return f"; {args.kept_elsewhere}."
    path = folder(args)
    if path is None:
        return "; with --out DIR unfinished work would be kept there." if hasattr(args, "resume") else "."
    if any(path.rglob("*.npz")):
        return f"; unfinished work is kept in {path}: --resume continues it."
    return "; nothing had been finished that could be kept."


def kept(args: argparse.Namespace, began: float) -> str:
    """After an error, where this run has kept something; a verb may know better what that is good for."""
    if hasattr(args, "told_of_kept"):
        return f" {args.told_of_kept}"
    path = folder(args)
    if path is None or not any(file.stat().st_mtime >= began for file in path.rglob("*.npz")):
        return ""
    return f" Unfinished work is kept in {path}: --resume continues it."
