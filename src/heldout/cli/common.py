"""What the verbs share: exit codes, words to the user, a folder that can be written to."""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heldout.errors import InputError
from heldout.progress import write_line

if TYPE_CHECKING:
    from heldout.report import Result
    from heldout.summary import Summary

EXIT_FINE, EXIT_CHECK_FAILED, EXIT_BAD_INPUT, EXIT_BUG, EXIT_STOPPED = 0, 1, 2, 3, 130
EXIT_PIPE = 141  # 128 + SIGPIPE, as of any program whose reader has gone


def say(sentence: str) -> None:
    """Tell the user something that is not a result."""
    write_line(sentence)


def make_folder(path: Path) -> None:
    """Make sure at once that results can be written where they will have to be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise InputError(f"--out {path} cannot be written to: {error.strerror or error}.") from error


def add_output(group: Any) -> None:
    """The options of how a result is shown and kept, the same for every verb."""
    group.add_argument("--out", type=Path, metavar="DIR", help="write report.html, result.npz, result.json")
    group.add_argument("--format", choices=("text", "markdown", "json"), default="text", help="what is printed")
    group.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")


def show(
    result: Result, args: argparse.Namespace, *, printed: Summary | None = None, unfinished: Path | None = None
) -> None:
    """The shared ending: keep the result where that was asked for, and print it, or `printed` in its place.

    `unfinished` are the checkpoints of the run, which go as soon as the result is safe.
    """
    from heldout.report import to_markdown, to_text

    if args.out is not None:
        result.save(args.out / "result")
        report = result.report(args.out / "report.html", command=args.line)
        if unfinished is not None:
            shutil.rmtree(unfinished, ignore_errors=True)
    if args.format == "json":
        print(json.dumps(result.to_dict(), indent=2, allow_nan=False))
    else:
        print((to_markdown if args.format == "markdown" else to_text)(printed or result.summary()))
    say(f"report: {report}" if args.out is not None else "add --out DIR for a report with pictures")
