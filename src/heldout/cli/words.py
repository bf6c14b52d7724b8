"""What the library says of arguments, in the words of the command line."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Mapping

from heldout.cli.parser import Parser

# Arguments that the command line calls otherwise; a whole `name=value` where the value makes the option.
OTHER_NAMES = {
    "check_seed=False": "--no-seed-check",
    "count": "--random-moves",
    "format": "--input-format",
    "kind": "--prior-kind",
    "models": "--prior-models",
    "n_classes": "--classes",
    "n_examples": "--examples",
    "n_items": "--items",
    "n_resamples": "--resamples",
    "rate": "--label-noise",
    "references": "--reference",
    "url": "--endpoint",
}
ARGUMENT = re.compile(r"`([a-z_][a-z0-9_]*)(?:=([^`]*))?`")


def option_names(verb: Parser) -> dict[str, str]:
    """The options of a verb, by the names that arguments have in Python."""
    own = verb.by_argument()
    own.pop("format", None)  # of what is printed; the library's `format` is that of a file
    return own | {name: option for name, option in OTHER_NAMES.items() if option in own.values()}


def in_options(sentence: str, options: Mapping[str, str]) -> str:
    """A sentence of the library with `arguments` written as the options of a verb; others stay as they are.

    Examples
    --------
    >>> options = {"level": "--level", "missing": "--missing", "allow_chance": "--allow-chance"}
    >>> in_options("`level` is 2; mark it with `missing='not run'`, or go on with `allow_chance=True`.", options)
    "--level is 2; mark it with --missing 'not run', or go on with --allow-chance."
    """

    def option(match: re.Match[str]) -> str:
        name, value = match.groups()
        if f"{name}={value}" in options:
            return options[f"{name}={value}"]
        if name not in options:
            return match.group(0)
        return f"{options[name]} {_typed(value)}".rstrip() if value else options[name]

    return ARGUMENT.sub(option, sentence)


def _typed(value: str) -> str:
    """A value of Python as it is typed in a shell."""
    try:
        read = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value
    if read is True:
        return ""
    parts = read if isinstance(read, (tuple, list)) else [read]
    return " ".join(shlex.quote(str(part)) for part in parts)
