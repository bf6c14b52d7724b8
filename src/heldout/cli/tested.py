"""Verbs whose verdict is that of a test by resampling: what they ask of it, their gate, and their ending."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

from heldout.cli import unfinished
from heldout.cli.common import say
from heldout.cli.ending import Gate, finish
from heldout.errors import InputError

GATE = Gate(
    option="--fail-under",
    metavar="P",
    help="exit 1 where p is below P, or where P cannot be judged",
    what="a p-value between 0 and 1",
    below=1,
    open=True,
)
UNTOLD = ("cannot tell", "not applicable")  # verdicts by which nothing passes and nothing fails


def check_gate(args: argparse.Namespace, least: float) -> None:
    """Refuse a threshold that no p can be below: the smallest one is `least`."""
    if args.fail_under is not None and 0 < args.fail_under <= least:
        raise InputError(
            f"--fail-under {args.fail_under:g} can never be reached: with --resamples {args.resamples} no p is below "
            f"{least:.2g}. Use --resamples {math.ceil(10 / args.fail_under) - 1}, or more."
        )


def arguments(args: argparse.Namespace) -> dict[str, Any]:
    """How the test is run, and where unfinished work is kept."""
    return {
        "level": args.level,
        "n_resamples": args.resamples,
        "seed": args.seed,
        "n_jobs": args.n_jobs,
        "checkpoint": unfinished.folder(args),
        "resume": args.resume,
        "notify": say,
        "progress": not args.quiet,
    }


def end(result: Any, args: argparse.Namespace, *, failed: Sequence[str], close: str | None) -> int:
    """The shared ending; a result that tells nothing is skipped in `--format junit`, and is not close to any gate."""
    return finish(
        result,
        args,
        failed=failed,
        close=None if result.verdict in UNTOLD else close,
        skipped=result.summary().headline if result.verdict in UNTOLD else "",
        unfinished=unfinished.folder(args),
    )
