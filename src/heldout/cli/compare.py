"""`heldout compare`."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

from heldout.cli.common import EXIT_CHECK_FAILED, EXIT_FINE, make_folder, say
from heldout.cli.reading import WHAT_CAN_BE_READ, add_reading, read_predictions
from heldout.errors import InputError
from heldout.reuse.compare import compare, compare_all
from heldout.reuse.compare_result import CompareAllResult, CompareResult, p_text

EPILOG = f"""\
{WHAT_CAN_BE_READ}
examples:
  heldout compare predictions.npz resnet_basic_110 vgg_15_BN_64 --out compare
  heldout compare swe-bench.csv new old --groups repo --json
  heldout compare predictions.npz model_a model_b model_c     (every pair of the three, Holm)
  heldout compare predictions.npz --all-pairs
  heldout compare judged.csv new old --sequential             (look while examples come in)
  heldout compare nightly.csv new old --fail-under 0.01       (in CI: exit 1 where new is worse)

exit codes: 0 fine, 1 the first model of a pair is worse with p (Holm's, for several pairs) below --fail-under, 2 bad
input, 3 a bug in heldout, 130 stopped
"""


def add_compare(verbs: Any) -> None:
    """Its options."""
    verb = verbs.add_parser(
        "compare",
        help="is model A better than model B?",
        description="Is model A better than model B on this test set: the difference with its interval, an exact test, "
        "the examples on which they part, and what could have been seen.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verb.add_argument("path", metavar="TABLE", help="what the models predicted: a file or a folder")
    verb.add_argument("models", nargs="*", metavar="MODEL",
                      help="two models; every pair of more; may be left out where the table has two")  # fmt: skip
    asked = verb.add_argument_group("what is asked for")
    asked.add_argument("--all-pairs", action="store_true", help="every pair of the table, with Holm's adjustment")
    asked.add_argument("--level", type=float, default=0.05, metavar="A",
                       help="of the verdict, family-wise for several pairs (default 0.05)")  # fmt: skip
    asked.add_argument("--groups", metavar="SPEC",
                       help="examples depend on each other in these groups: a column of the data, a CSV file id,group, "
                       "or a regular expression on the example ids; whole groups are then the unit")  # fmt: skip
    asked.add_argument("--sequential", action="store_true",
                       help="p and interval that are valid at every look, examples taken in the order of the file: one "
                       "may look while they come in, and stop at any time")  # fmt: skip
    asked.add_argument("--fail-under", type=float, metavar="P",
                       help="exit 1 where the first model of a pair is worse with p below P")  # fmt: skip
    add_reading(verb)
    out = verb.add_argument_group("reporting")
    out.add_argument("--out", type=Path, metavar="DIR", help="write report.html, result.npz, result.json")
    out.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(command=run_compare)


def run_compare(args: argparse.Namespace) -> int:
    """`heldout compare`."""
    if args.fail_under is not None and not 0 < args.fail_under < 1:
        raise InputError(f"--fail-under {args.fail_under:g}: give a p-value between 0 and 1.")
    if args.all_pairs and args.models:
        raise InputError("--all-pairs compares every pair of the table; leave out either it or the names of models.")
    if len(args.models) == 1:
        raise InputError(f"only {args.models[0]!r} is named; name two models, or --all-pairs.")
    if args.out is not None:
        make_folder(args.out)
    table = read_predictions(args, args.path, columns=() if args.groups is None else (args.groups,))
    say(str(table))
    if not args.models and not args.all_pairs and table.n_models != 2:
        raise InputError(
            f"{table.source} has {table.n_models:,} models; name two of them, or --all-pairs: "
            f"{', '.join(table.names[:20])}{', ...' if table.n_models > 20 else ''}."
        )
    asked = {"level": args.level, "groups": args.groups, "sequential": args.sequential}
    result: CompareResult | CompareAllResult
    if args.all_pairs or len(args.models) > 2:
        result = compare_all(table, args.models or None, **asked, progress=True)
        pairs = result.pairs
    else:
        result = compare(table, *(args.models or (0, 1)), **asked)
        pairs = (result,)
    if args.out is not None:
        from heldout.pages import write_compare_report

        result.save(args.out / "result")
        report = write_compare_report(result, args.out, command=args.line)
    print(json.dumps(result.to_dict(), indent=2, allow_nan=False) if args.json else result)
    say(f"report: {report}" if args.out is not None else "add --out DIR for a report with pictures")
    return _exit_code(args.fail_under, pairs)


def _exit_code(fail_under: float | None, pairs: tuple[CompareResult, ...]) -> int:
    if fail_under is None:
        return EXIT_FINE
    worse = [pair for pair in pairs if pair.difference < 0 and pair.adjusted_log_p < math.log(fail_under)]
    for pair in worse[:5]:
        say(
            f"heldout: {pair.first} is worse than {pair.second} (p = {p_text(pair.adjusted_log_p)}, below --fail-under "
            f"{fail_under:g})."
        )
    return EXIT_CHECK_FAILED if worse else EXIT_FINE
