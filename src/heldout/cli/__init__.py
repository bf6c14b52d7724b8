"""argv to one API call to one report: one module per verb."""

from __future__ import annotations

import argparse
import io
import os
import shlex
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from heldout._version import __version__
from heldout.cli.audit import add_audit
from heldout.cli.budget import add_budget
from heldout.cli.common import EXIT_BAD_INPUT, EXIT_BUG, EXIT_FINE, EXIT_STOPPED
from heldout.cli.compare import add_compare
from heldout.cli.demo import add_demo
from heldout.cli.memorization import add_memorization
from heldout.cli.split import add_split
from heldout.cli.stress import add_stress
from heldout.cli.words import in_options, option_names
from heldout.errors import HeldoutError


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="heldout", description="How much is this test score still worth?", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"heldout {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for add in (add_audit, add_budget, add_compare, add_stress, add_memorization, add_demo, add_split):
        add(verbs)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    parser = build_parser()
    args = parser.parse_args(arguments)
    args.line = shlex.join(["heldout", *arguments])
    for stream in (sys.stdout, sys.stderr):  # a terminal, or a file on Windows, may not have every character
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = int(args.command(args))
        sys.stdout.flush()  # here, where a closed pipe or a full disk can still be told
        return code
    except HeldoutError as error:
        print(f"heldout: {in_options(str(error), option_names(parser, args.verb))}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        kept = Path(getattr(args, "out", None) or ".") / "checkpoint"
        if not hasattr(args, "resume"):
            way_on = "."
        elif any(kept.rglob("*.npz")):
            way_on = "; --resume goes on from the last checkpoint."
        else:
            way_on = "; nothing had been finished that could be kept."
        print(f"heldout: stopped{way_on}", file=sys.stderr)
        return EXIT_STOPPED
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains once more on its way out
        return EXIT_FINE
    except MemoryError as error:
        print(f"heldout: out of memory{f': {error}' if str(error) else ''}; use fewer examples.", file=sys.stderr)
        return EXIT_BAD_INPUT
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        print(f"heldout: {error.strerror or error}{where}.", file=sys.stderr)
        return EXIT_BAD_INPUT
    except Exception:  # never 1: in CI that would read as a failed check
        traceback.print_exc()
        print("heldout: this is a bug in heldout, not in your input; please report the lines above.", file=sys.stderr)
        return EXIT_BUG
