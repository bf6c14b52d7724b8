"""argv to one API call to one report: one module per verb."""

from __future__ import annotations

import io
import os
import shlex
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from heldout.cli.common import EXIT_BAD_INPUT, EXIT_BUG, EXIT_FINE, EXIT_STOPPED, be_quiet
from heldout.cli.verbs import parse
from heldout.errors import HeldoutError, InputError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        args = parse(arguments)
    except InputError as error:
        print(f"heldout: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    args.line = shlex.join(["heldout", *arguments])
    be_quiet(getattr(args, "quiet", False))
    for stream in (sys.stdout, sys.stderr):  # a terminal, or a file on Windows, may not have every character
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = int(args.command(args))
        sys.stdout.flush()  # here, where a closed pipe or a full disk can still be told
        return code
    except HeldoutError as error:
        if getattr(args, "debug", False):
            traceback.print_exc()
        print(f"heldout: {error}", file=sys.stderr)
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
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        print(f"heldout: {error.strerror or error}{where}.", file=sys.stderr)
        return EXIT_BAD_INPUT
    except Exception:  # never 1: in CI that would read as a failed check
        traceback.print_exc()
        print("heldout: this is a bug in heldout, not in your input; please report the lines above.", file=sys.stderr)
        return EXIT_BUG
