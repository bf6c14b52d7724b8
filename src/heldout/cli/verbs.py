"""The verbs: one module each, loaded when it is asked for."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence

from heldout._version import __version__
from heldout.cli.parser import Parser
from heldout.errors import did_you_mean

VERBS = {
    "audit": "is this model independent of this test set?",
    "budget": "how many more models can this test set rank?",
    "compare": "is model A better than model B?",
    "exposure": "did models score better on what they could have seen?",
    "options": "does this score depend on the printed order of answer options?",
    "stress": "how far could somebody game this leaderboard?",
    "memorization": "how far has a model memorised its training set?",
    "demo": "audit two embedded models, one of which saw the test set",
    "split": "put a control aside before training",
    "completion": "print a script that completes heldout's options in a shell",
}
EPILOG = """\
to begin:
  heldout demo              half a minute, no files needed: an honest and a leaked model, and a report of both
  heldout VERB --help       the options used most, and examples
"""


def build_parser(asked: str | None = None) -> Parser:
    """The command line; only the verb that is asked for has its options, or all of them for `None`."""
    parser = Parser(prog="heldout", description="How much is this test score still worth?")
    parser.epilog = EPILOG
    parser.add_argument("--version", action="version", version=f"heldout {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, what in VERBS.items():
        verb = verbs.add_parser(name, help=what)
        if asked in (None, name):
            importlib.import_module(f"heldout.cli.{name}").add_options(verb)
    return parser


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """What was typed; exits with a sentence where it cannot be understood."""
    first = arguments[0].partition("=")[0] if arguments else ""
    asked = next((a for a in arguments if not a.startswith("-")), "")
    if first.startswith("-"):  # options of a verb come after it
        asked = next((a for a in arguments if a in VERBS), asked)
    parser = build_parser(asked)
    if asked in VERBS and first.startswith("-") and first not in parser.options():
        verb = parser.verbs()[asked]
        if first in verb.options():
            parser.error(f"put {first} after the verb: heldout {asked} ... {first}")
        parser.error(f"{first} is not an option of heldout {asked}{did_you_mean(first, verb.options())}")
    if asked and asked not in VERBS:
        parser.error(f"there is no verb {asked!r}{did_you_mean(asked, VERBS)}")
    found: argparse.Namespace = parser.parse_args(arguments)
    return found
