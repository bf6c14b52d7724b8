"""`heldout demo`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from heldout.cli.common import EXIT_FINE, make_folder, say


def add_demo(verbs: Any) -> None:
    """Its options."""
    verb = verbs.add_parser("demo", help="audit two embedded models, one of which saw the test set", allow_abbrev=False)
    verb.add_argument("--out", type=Path, default=Path("heldout-demo"), metavar="DIR", help="default heldout-demo")
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(command=run_demo_verb)


def run_demo_verb(args: argparse.Namespace) -> int:
    """`heldout demo`."""
    from heldout.demo import run_demo
    from heldout.pages import comparison_table, write_demo_report

    make_folder(args.out)
    results = run_demo(notify=say, progress=True)
    for name, result in results.items():
        result.save(args.out / name)
    report = write_demo_report(results, args.out, command=args.line)
    if args.json:
        print(json.dumps({name: r.to_dict() for name, r in results.items()}, indent=2, allow_nan=False))
    else:
        print(comparison_table(results))
    say(f"report: {report}")
    return EXIT_FINE
