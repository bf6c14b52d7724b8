"""What the verbs share: exit codes, words to the user, a folder that can be written to."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heldout.errors import InputError
from heldout.progress import write_line

EXIT_FINE, EXIT_CHECK_FAILED, EXIT_BAD_INPUT, EXIT_BUG, EXIT_STOPPED = 0, 1, 2, 3, 130
EXIT_PIPE = 141  # 128 + SIGPIPE, as of any program whose reader has gone


_quiet = False


def be_quiet(quiet: bool) -> None:
    """Whether remarks are left out (`--quiet`)."""
    global _quiet
    _quiet = quiet


def say(sentence: str) -> None:
    """A remark, which `--quiet` leaves out."""
    if not _quiet:
        write_line(sentence)


def tell(sentence: str) -> None:
    """An error, or what a gate found: also under `--quiet`, and where nobody can listen the exit code stays."""
    write_line(sentence)


def add_n_jobs(group: Any, what: str, *, default: int = 1) -> None:
    """How many workers share the work, whatever they are."""
    usual = "all cores" if default == -1 else default
    group.add_argument(
        "--n-jobs", type=int, default=default, metavar="J", help=f"{what} (default {usual}; -1: one for each core)"
    )


def typed(args: argparse.Namespace, names: Sequence[str]) -> list[str]:
    """Which of these options were given, as they are typed; also where the value is the default."""
    given = [name for name in names if name in args.typed]
    return [f"--{name.replace('_', '-')}" for name in given]


def refuse_idle(args: argparse.Namespace, names: Sequence[str], reason: str) -> None:
    """Refuse options that would do nothing: whoever types one believes that it does something."""
    idle = typed(args, names)
    if idle:
        raise InputError(
            f"{', '.join(idle)} {'has' if len(idle) == 1 else 'have'} no effect {reason}; leave "
            f"{'it' if len(idle) == 1 else 'them'} out."
        )


def refuse_alone(args: argparse.Namespace, names: Sequence[str], owner: str) -> None:
    """Refuse options of something that is not given."""
    alone = typed(args, names)
    if alone:
        raise InputError(f"{', '.join(alone)} {'goes' if len(alone) == 1 else 'go'} with {owner}, which is not given.")


def different(specs: Sequence[str], names: Sequence[str]) -> list[str]:
    """Names that tell models apart: their own, or else what was typed."""
    found = [spec if list(names).count(name) > 1 else name for spec, name in zip(specs, names, strict=True)]
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise InputError(f"{twice} is given more than once; every model needs a name of its own.")
    return found


def check_folder(path: Path) -> None:
    """Make sure at once that results can be written where they will have to be; nothing is left there."""
    made: list[Path] = []
    try:
        made = [folder for folder in (path, *path.parents) if not folder.exists()]
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise InputError(f"--out {path} cannot be written to: {error.strerror or error}.") from error
    finally:
        with contextlib.suppress(OSError):  # not made, or somebody else's by now
            for folder in made:  # writers make it again; a run that is refused leaves none behind
                folder.rmdir()
