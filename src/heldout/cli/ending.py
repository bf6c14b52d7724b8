"""The shared ending of every verb: keep the result, print it, and tell a pipeline whether it passes."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heldout.cli.common import EXIT_CHECK_FAILED, EXIT_FINE, say, tell
from heldout.errors import InputError

if TYPE_CHECKING:
    from heldout.report import Result
    from heldout.summary import Summary

FORMATS = ("text", "markdown", "json", "junit")
NARROWEST = 60  # characters of a line; facts have their names at the left


@dataclass(frozen=True, kw_only=True)
class Gate:
    """The number a pipeline may watch, and in which direction it fails; one for each verb that has one.

    Parameters
    ----------
    option : str
        `--fail-under` or `--fail-over`.
    whole : bool
        Whether it is a count.
    least, below : float
        A threshold is at least the one, or above it where `open`, and below the other.
    what : str
        What the number is, for the sentence that refuses one.
    """

    option: str
    metavar: str
    help: str
    what: str
    whole: bool = False
    least: float = 0
    below: float = float("inf")
    open: bool = False

    @property
    def name(self) -> str:
        """Of the threshold among the parsed arguments."""
        return self.option.lstrip("-").replace("-", "_")

    def read(self, text: str) -> float:
        """The threshold that was typed, a count as 1e6 too.

        Examples
        --------
        >>> Gate(option="--fail-under", metavar="K", help="", what="a number of models", whole=True).read("1e6")
        1000000
        """
        try:
            number = float(text)
            if self.whole and not number.is_integer():
                raise ValueError
        except ValueError:
            raise InputError(f"{self.option} {text}: give {self.what}.") from None
        return int(number) if self.whole else number

    def check(self, args: argparse.Namespace) -> None:
        """Refuse a threshold that is out of range, before any work."""
        value = getattr(args, self.name)
        if value is None or ((self.least < value if self.open else self.least <= value) and value < self.below):
            return
        raise InputError(f"{self.option} {value:g}: give {self.what}.")


def add_ending(group: Any, gate: Gate | None = None, *, out: str | None = None) -> None:
    """The options of how a result is kept, shown and judged, the same for every verb; `out` is the folder unasked."""
    unasked = "" if out is None else f" (default {out})"
    group.add_argument("--out", type=Path, default=None if out is None else Path(out), metavar="DIR",
                       help=f"write report.html, result.npz, result.json{unasked}")  # fmt: skip
    add_format(group)
    if gate is not None:
        group.add_argument(gate.option, action=_Threshold, gate=gate, metavar=gate.metavar, help=gate.help)
    add_talk(group)


def add_format(group: Any, formats: Sequence[str] = FORMATS) -> None:
    """What is printed."""
    group.add_argument(
        "--format", action=_Format, choices=formats, default="text", help="what is printed (default text)"
    )
    group.add_argument("--json", dest="format", action=_Format, nargs=0, help="the same as --format json")


def add_talk(group: Any) -> None:
    """How much is said."""
    group.add_argument("--quiet", action="store_true", help="no progress and no remarks: the result, and errors")
    group.add_argument("--debug", action="store_true", help="show where an error came from")


class _Threshold(argparse.Action):
    """A gate's number, refused in the gate's own words."""

    def __init__(self, *args: Any, gate: Gate, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._gate = gate

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, self._gate.read(values))


class _Format(argparse.Action):
    """`--format`, and `--json`, which must not contradict it."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        chosen = values or "json"
        if {getattr(namespace, "asked", option_string), option_string} == {"--format", "--json"} and (
            chosen != namespace.format
        ):
            other = chosen if values else namespace.format
            raise InputError(f"--json and --format {other} contradict each other; give one of them.")
        namespace.asked, namespace.format = option_string, chosen


def finish(
    result: Result,
    args: argparse.Namespace,
    *,
    failed: Sequence[str] = (),
    printed: Summary | None = None,
    skipped: str = "",
    unfinished: Path | None = None,
    close: str | None = None,
) -> int:
    """Keep the result where that was asked for, print it (or `printed` in its place), and say what a gate found.

    `skipped` says why there is nothing to pass or fail, for `--format junit`; `unfinished` are the checkpoints of the
    run, which go as soon as the result is safe. `close` says that a gate could have decided otherwise, whichever way it
    did.

    Returns
    -------
    int
        The exit code: 1 where a gate `failed`, with a sentence for each reason.
    """
    report = None
    if close and failed:
        failed = (*failed[:-1], f"{failed[-1]} {close}")
    if args.out is not None:
        result.save(args.out / "result")
        report = result.report(args.out / "report.html", command=args.line)
        if unfinished is not None:
            shutil.rmtree(unfinished, ignore_errors=True)
    print(rendered(result, args, failed=failed, printed=printed, skipped="" if failed else skipped))
    say(f"report: {report}" if report is not None else "add --out DIR for a report with pictures")
    if close and not failed:
        tell(f"heldout: passes, but {close[:1].lower()}{close[1:]}")
        annotate("warning", close)
    return judged(failed)


def rendered(
    result: Result,
    args: argparse.Namespace,
    *,
    failed: Sequence[str] = (),
    printed: Summary | None = None,
    skipped: str = "",
) -> str:
    """What `--format` asks for."""
    from heldout.report import Case, to_junit, to_markdown, to_text

    if args.format == "json":
        return json.dumps(result.to_dict(), indent=2, allow_nan=False)
    summary = printed or result.summary()
    if args.format == "junit":
        return to_junit(Case(case_name(args), summary, failed, skipped))
    return to_markdown(summary) if args.format == "markdown" else to_text(summary, text_width())


def text_width() -> int:
    """Of a line: a narrow terminal's own; what goes into a file or a pipe is the same everywhere."""
    from heldout.report.text import WIDTH

    if not sys.stdout.isatty():
        return WIDTH
    return max(NARROWEST, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))


def case_name(args: argparse.Namespace) -> str:
    """A name that stays from run to run: the verb, and what it was given."""
    named = (vars(args).get(name) for name in ("model", "train", "scores", "labels", "paths", "given"))
    given: str | list[str] = next(filter(None, named), [])
    files = [Path(x).name for x in ([given] if isinstance(given, str) else given)]
    return f"{args.verb}[{','.join(files)}]" if files else str(args.verb)


def judged(failed: Sequence[str]) -> int:
    """The exit code of a gate, and its reasons; on GitHub, as annotations of the run."""
    for reason in failed:
        tell(f"heldout: {reason}")
        annotate("error", reason)
    return EXIT_CHECK_FAILED if failed else EXIT_FINE


def annotate(kind: str, text: str) -> None:
    """On GitHub, an annotation of the run."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        tell(f"::{kind} title=heldout::{_escaped(text)}")


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
