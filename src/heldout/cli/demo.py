"""`heldout demo`."""

from __future__ import annotations

import argparse

from heldout.cli.common import check_folder, say
from heldout.cli.ending import add_ending, finish
from heldout.cli.parser import Parser


def add_options(verb: Parser) -> None:
    """What can be asked."""
    verb.describe(
        "Audit two embedded models, one of which saw the test set.",
        usage="heldout demo [options]",
        essential="--out --format --quiet",
        examples="  heldout demo\n",
    )
    add_ending(verb, out="heldout-demo")
    verb.set_defaults(command=run, parser=verb)


def run(args: argparse.Namespace) -> int:
    """`heldout demo`."""
    from heldout.demo import run_demo

    check_folder(args.out)
    result = run_demo(notify=say, progress=not args.quiet)
    for name, audit in result.audits.items():
        audit.save(args.out / name)
    return finish(result, args)
