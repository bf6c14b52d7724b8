"""`heldout demo`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from heldout.cli.common import EXIT_FINE, add_output, make_folder, say, show


def add_demo(verbs: Any) -> None:
    """Its options."""
    verb = verbs.add_parser("demo", help="audit two embedded models, one of which saw the test set", allow_abbrev=False)
    add_output(verb)
    verb.set_defaults(command=run_demo_verb, out=Path("heldout-demo"))


def run_demo_verb(args: argparse.Namespace) -> int:
    """`heldout demo`."""
    from heldout.demo import run_demo

    make_folder(args.out)
    result = run_demo(notify=say, progress=True)
    for name, audit in result.audits.items():
        audit.save(args.out / name)
    show(result, args)
    return EXIT_FINE
