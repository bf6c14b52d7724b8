"""`heldout compare`."""

from __future__ import annotations

import argparse
from pathlib import Path

from heldout.cli.common import check_folder, say
from heldout.cli.ending import Gate, add_ending, finish
from heldout.cli.parser import Parser
from heldout.cli.reading import WHAT_CAN_BE_READ, add_reading, read_predictions
from heldout.errors import InputError
from heldout.reuse.compare import compare, compare_all, some_names
from heldout.reuse.compare_result import CompareAllResult, CompareResult
from heldout.reuse.compare_summary import moved_text, worse_text

GATE = Gate(
    option="--fail-under",
    metavar="P",
    help="exit 1 where the first model of a pair is worse with p below P",
    what="a p-value between 0 and 1",
    below=1,
    open=True,
)
EXAMPLES = """\
  heldout compare predictions.npz resnet_basic_110 vgg_15_BN_64 --out compare
  heldout compare swe-bench.csv new old --groups repo --json
  heldout compare predictions.npz model_a model_b model_c     (every pair of the three, Holm)
  heldout compare predictions.npz --all-pairs
  heldout compare logs/new/ logs/old/                         (several files; the only two models in them)
  heldout compare logs/*.json --models new old
  heldout compare judged.csv new old --sequential             (look while examples come in)
  heldout compare nightly.csv new old --fail-under 0.01       (in CI: exit 1 where new is worse)

"""
DETAILS = f"""\
{WHAT_CAN_BE_READ}
Arguments are files as long as they exist, and models from then on; --models says it outright.

exit codes: 0 fine, 1 the first model of a pair is worse with p (Holm's, for several pairs) below --fail-under, 2 bad
input, 3 a bug in heldout, 130 stopped
"""


def add_options(verb: Parser) -> None:
    """What can be asked."""
    verb.describe(
        "Is model A better than model B on this test set: the difference with its interval, an exact test, "
        "the examples on which they part, and the smallest difference that would likely be found.",
        usage="heldout compare FILE ... [MODEL ...] [options]",
        essential="--models --all-pairs --level --groups --largest-group --sequential --fail-under --out --format",
        examples=EXAMPLES,
        details=DETAILS,
    )
    verb.add_argument("given", nargs="+", metavar="FILE", help="what the models predicted: files or folders")
    verb.add_argument("names", nargs="*", default=[], metavar="MODEL",
                      help="two models; every pair of more; may be left out where the files hold two")  # fmt: skip
    asked = verb.add_argument_group("what is asked for")
    asked.add_argument("--models", nargs="+", metavar="MODEL", help="the models; all other arguments are then files")
    asked.add_argument("--all-pairs", action="store_true", help="every pair of the table, with Holm's adjustment")
    asked.add_argument("--level", type=float, default=0.05, metavar="A",
                       help="of the verdict, family-wise for several pairs (default 0.05)")  # fmt: skip
    asked.add_argument("--groups", metavar="SPEC",
                       help="examples depend on each other in these groups: a column of the data, a CSV file id,group, "
                       "or a regular expression on the example ids; whole groups are then the unit")  # fmt: skip
    asked.add_argument("--largest-group", type=int, metavar="N",
                       help="with groups: examples that a group can have at most, where larger ones than any here "
                       "could have been drawn; without, the largest here counts as the largest there is")  # fmt: skip
    asked.add_argument("--sequential", action="store_true",
                       help="p and interval that are valid at every look, examples taken in the order of the file: one "
                       "may look while they come in, and stop at any time")  # fmt: skip
    add_reading(verb)
    add_ending(verb.add_argument_group("reporting"), GATE)
    verb.set_defaults(command=run, parser=verb)


def run(args: argparse.Namespace) -> int:
    """`heldout compare`."""
    GATE.check(args)
    columns = () if args.groups is None else (args.groups,)
    paths, models = _files_and_models(args, columns)
    if args.all_pairs and models:
        raise InputError("--all-pairs compares every pair of the table; leave out either it or the names of models.")
    if len(models) == 1:
        raise InputError(
            f"only {models[0]!r} is named; name two models, or --all-pairs. Read as files: {', '.join(paths)}."
        )
    if args.out is not None:
        check_folder(args.out)
    table = read_predictions(args, paths[0] if len(paths) == 1 else paths, columns=columns)
    say(str(table))
    if not models and not args.all_pairs and table.n_models != 2:
        raise InputError(
            f"{table.source} has {table.n_models:,} models; name two of them, or --all-pairs: "
            f"{some_names(table.names)}."
        )
    asked = {
        "level": args.level, "groups": args.groups, "largest_group": args.largest_group, "sequential": args.sequential,
    }  # fmt: skip
    result: CompareResult | CompareAllResult
    if args.all_pairs or len(models) > 2:
        result = compare_all(table, models or None, **asked, progress=not args.quiet)
        pairs = result.pairs
    else:
        result = compare(table, *(models or (0, 1)), **asked)
        pairs = (result,)
    return finish(result, args, failed=_reasons(args.fail_under, pairs))


def _files_and_models(args: argparse.Namespace, columns: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Which arguments are files, and which are models.

    The first is a file; so are those after it as long as they exist. A model may have the name of a file or a folder:
    where less than two models would be left, the models of the first file decide.
    """
    given: list[str] = [*args.given, *args.names]
    first, rest = given[0], given[1:]
    if args.models is not None:
        return [first, *rest], args.models
    n_files = next((i for i, name in enumerate(rest) if not Path(name).exists()), len(rest))
    if n_files and len(rest) - n_files < 2:
        try:
            known = read_predictions(args, first, columns=columns).names
        except InputError:  # it needs the others
            known = ()
        if set(rest) <= set(known):
            n_files = 0
    return [first, *rest[:n_files]], rest[n_files:]


def _reasons(fail_under: float | None, pairs: tuple[CompareResult, ...]) -> list[str]:
    """By the verdict at that level, so that it never says other than the text."""
    moved = [pair for pair in pairs if pair.ruling.outcome == "order matters"]
    for pair in moved[:5]:
        say(f"warning: {pair.first} and {pair.second}: {moved_text(pair)}")
    if fail_under is None:
        return []
    judged = ((pair, pair.judged(pair.ruling.log_p_value, fail_under)) for pair in pairs if pair.difference < 0)
    worse = [pair for pair, ruling in judged if ruling.direction == "second"]
    return [f"{worse_text(pair, fail_under)}, below --fail-under {fail_under:g}." for pair in worse[:5]]
