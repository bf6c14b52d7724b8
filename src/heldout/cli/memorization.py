"""`heldout memorization`: `curve` for finished models, `retrain` for training methods."""

from __future__ import annotations

import argparse

from heldout.checks import check_seed
from heldout.cli import memorization_curve, memorization_retrain, unfinished
from heldout.cli.common import EXIT_BAD_INPUT, refuse_alone, tell
from heldout.cli.ending import add_ending, finish
from heldout.cli.memorization_gate import GATE, close, reasons
from heldout.cli.parser import Parser
from heldout.cli.streams import user_prints_to_stderr

WAYS = {
    "curve": (memorization_curve, "finished models, whose training pictures are perturbed more and more"),
    "retrain": (memorization_retrain, "training methods, trained on labels that are more and more wrong"),
}


def add_options(verb: Parser) -> None:
    """What can be asked."""
    verb.description = (
        "How far has a model memorised its training set? Perturbs it more and more and sees how accuracy falls; no "
        "holdout is needed."
    )
    verb.ways = {name: what.partition(",")[0] for name, (_, what) in WAYS.items()}
    ways = verb.add_subparsers(dest="way", required=True, metavar="WAY")
    for name, (module, what) in WAYS.items():
        way = ways.add_parser(name, help=what)
        module.add_options(way)
        run = way.add_argument_group("running and reporting")
        run.add_argument("--limit", type=int, metavar="N", help="use a random subset (seeded) of the training set")
        run.add_argument("--groups", metavar="G",
                         help="examples that depend on each other: a CSV file (id,group), an array of the .npz file, "
                         "or a regular expression on file names; intervals are then for groups drawn anew")  # fmt: skip
        run.add_argument("--seed", type=int, default=0, metavar="S", help="default 0")
        add_ending(run, GATE, out="heldout-memorization")  # unfinished work has to go somewhere
        run.add_argument("--resume", action="store_true", help="continue the unfinished work in --out")
        way.set_defaults(command=run_way, measure=module.measure, parser=way)


def run_way(args: argparse.Namespace) -> int:
    """Either way: the curves, what they say, and what is left to do."""
    GATE.check(args)
    if args.validation is None:
        refuse_alone(args, (GATE.name,), "--validation")
    check_seed(args.seed)
    with user_prints_to_stderr():
        result = args.measure(args)
    # where trainings failed, --resume does only these, once they are repaired
    code = finish(
        result,
        args,
        failed=reasons(args.fail_over, result),
        close=close(args.fail_over, result),
        unfinished=None if result.failures else unfinished.folder(args),
    )
    if not result.failures:
        return code
    tell(
        f"heldout: {len(result.failures)} trainings failed, first {result.failures[0]}. The others are kept: "
        "repair it and continue with --resume."
    )
    return EXIT_BAD_INPUT
