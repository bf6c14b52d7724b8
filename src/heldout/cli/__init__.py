"""argv to one API call to one report: one module per verb.

Nothing heavy is imported before `main` runs, so that Ctrl-C in the first seconds finds somebody at home.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
import traceback
from collections.abc import Sequence

from heldout.cli import streams, unfinished
from heldout.cli.common import EXIT_BAD_INPUT, EXIT_BUG, EXIT_PIPE, EXIT_STOPPED, be_quiet, tell
from heldout.cli.verbs import parse
from heldout.cli.words import in_options, option_names
from heldout.errors import HeldoutError, InputError
from heldout.progress import heartbeat


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. Without `argv` this is the program itself, and Ctrl-C its own."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if argv is not None:
        return _run(arguments, None)
    try:
        streams.prepare()
        with heartbeat("heldout") as beat:
            if "--quiet" in arguments:
                beat.stop()
            try:
                code = _run(arguments, beat)
            except SystemExit as stop:  # of argparse: --help, --version, an option that is not there
                code = stop.code if isinstance(stop.code, int) else EXIT_BAD_INPUT
        return streams.leave(code)
    except KeyboardInterrupt:  # before or after the verb itself
        tell("heldout: stopped.")
        return streams.leave(EXIT_STOPPED)


def _run(arguments: list[str], beat: heartbeat | None) -> int:
    """`beat` is the program's; there is none where somebody else's program calls this."""
    try:
        # there is nothing to keep yet, and imports may swallow an exception
        with streams.interrupts_at_once() if beat is not None else contextlib.nullcontext():
            args = parse(arguments)
    except InputError as error:
        tell(f"heldout: {error}")
        return EXIT_BAD_INPUT
    args.line = shlex.join(["heldout", *arguments])
    be_quiet(getattr(args, "quiet", False))
    for stream in (sys.stdout, sys.stderr):  # a terminal, or a file on Windows, may not have every character
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    began = streams.now()
    try:
        streams.check_stdout()
        unfinished.say_finished(args)
        code = int(args.command(args))
        sys.stdout.flush()  # here, where a closed pipe or a full disk can still be told
        return code
    except HeldoutError as error:
        if getattr(args, "debug", False):
            tell(traceback.format_exc().rstrip())
        tell(f"heldout: {_sentence(in_options(str(error), option_names(args.parser)), unfinished.kept(args, began))}")
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        tell(f"heldout: stopped{unfinished.way_on(args)}")
        return EXIT_STOPPED
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains once more on its way out
        return EXIT_PIPE
    except MemoryError as error:
        more = f": {error}" if str(error) else ""
        tell(f"heldout: out of memory{more}; use fewer examples.{unfinished.kept(args, began)}")
        return EXIT_BAD_INPUT
    except OSError as error:
        tell(f"heldout: {streams.what_failed(error)}.{unfinished.kept(args, began)}")
        return EXIT_BAD_INPUT
    except SystemExit as error:  # a user's own code, in a place where nobody else takes notice
        tell(
            f"heldout: a model, training or module called sys.exit({error.code!r}), which would end heldout without a "
            f"result; it must return, or raise an error.{unfinished.kept(args, began)}"
        )
        return EXIT_BAD_INPUT
    except Exception:  # never 1: in CI that would read as a failed check
        tell(traceback.format_exc().rstrip())
        tell("heldout: this is a bug in heldout, not in your input; please report the lines above.")
        return EXIT_BUG


def _sentence(text: str, more: str) -> str:
    """A sentence and another one."""
    return f"{text}{'.' if more and not text.endswith('.') else ''}{more}"
