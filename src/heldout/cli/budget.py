"""`heldout budget`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from heldout.cli.common import EXIT_BAD_INPUT, EXIT_CHECK_FAILED, EXIT_FINE, make_folder, say
from heldout.errors import InputError
from heldout.predictions import Predictions
from heldout.reuse.budget import budget, budget_from_numbers
from heldout.reuse.needed import GAP
from heldout.reuse.result import BudgetResult, count_text
from heldout.reuse.thresholds import check_share

EPILOG = """\
what can be read:
  an .npz file                  predictions (models x examples, or the other way round), labels, names
  a CSV or Parquet file         one row an example: id,label,model A,model B,...  or long: model,id,prediction,label
  JSON or JSONL                 the same rows, or {"names": ..., "predictions": ..., "labels": ...}
  a folder                      one such file a model
  lm-evaluation-harness         --log_samples files or their folder
  inspect_ai                    .eval and .json logs or their folder
  where only right and wrong are known: a matrix of 1 and 0 (--correct-key)

examples:
  heldout budget predictions.npz --out budget
  heldout budget predictions.npz --needed --epsilon 0.005 --gap 0.01
  heldout budget val.npz --predictions-key preds_val --labels-key labels_val --exclude 'fv_*' --json
  heldout budget lm-eval-output/ --metric acc --epsilon 0.05 --fail-under 10
  heldout budget swe-bench.csv --groups repo          (or --groups repos.csv, or --groups '^(.*)-')
  heldout budget --examples 50000 --error 0.244 --similarity 0.85

exit codes: 0 fine, 1 fewer than --fail-under further models fit, 2 bad input, 3 a bug in heldout, 130 stopped
"""


def add_budget(verbs: Any) -> None:
    """Its options."""
    verb = verbs.add_parser(
        "budget",
        help="how many more models can this test set rank?",
        description="How many more models can this test set measure, which error bars hold for all of them at once, "
        "which differences on the leaderboard are significant, who may be first, and how many examples are needed?",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verb.add_argument("path", nargs="?", metavar="FILE", help="what the models predicted: a file or a folder")
    asked = verb.add_argument_group("what is asked for")
    asked.add_argument("--epsilon", metavar="E",
                       help="error bar for further models (default: what holds for the models there are, rounded up; "
                       "from numbers: 0.01, or what a hundred such models can have)")  # fmt: skip
    asked.add_argument("--delta", default="0.05", metavar="D",
                       help="probability that a statement on all models at once fails (default 0.05)")  # fmt: skip
    asked.add_argument("--groups", metavar="SPEC",
                       help="examples depend on each other in these groups: a column of the data, a CSV file id,group, "
                       "or a regular expression on the example ids; whole groups are then the unit")  # fmt: skip
    asked.add_argument("--needed", action="store_true",
                       help="only say how many examples are needed: for --epsilon on models like these, for --gap "
                       "between two of them; and which gap can be told now")  # fmt: skip
    asked.add_argument("--gap", default=str(GAP), metavar="D",
                       help=f"difference between two models that shall be told (default {GAP})")  # fmt: skip
    asked.add_argument("--seed", type=int, default=0, metavar="S",
                       help="of the winner's splits and of the draws behind --needed (default 0)")  # fmt: skip
    asked.add_argument("--fail-under", type=int, metavar="K",
                       help="exit 1 when fewer than K further models fit at --epsilon")  # fmt: skip

    read = verb.add_argument_group("how the file is read")
    for name, what in (
        ("predictions", "what the models predicted"),
        ("labels", "the true labels"),
        ("correct", "1 where right, 0 where wrong"),
        ("names", "the models' names"),
        ("ids", "the examples' ids"),
    ):
        read.add_argument(f"--{name}-key", metavar="KEY", help=f"array or column that holds {what}")
    read.add_argument("--models-axis", type=int, choices=(0, 1), help="axis of the models, where it cannot be told")
    read.add_argument(
        "--missing",
        action="append",
        metavar="CODE",
        help="value of a cell not run (-2, nan; may be repeated); 'absent': models may lack examples",
    )
    read.add_argument("--classes", metavar="M", help="labels are 0 to M-1; 'any' for free text")
    read.add_argument(
        "--metric",
        metavar="NAME",
        help="score to read from logs, where there are several; ',strict-match' chooses the filter alone",
    )
    read.add_argument("--format", metavar="F", help="npz, csv, tsv, parquet, json, jsonl, lm-eval, inspect, folder")
    read.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="NAME",
        help="model, or column that is none, to leave out ('fv_*'; may be repeated)",
    )

    numbers = verb.add_argument_group("without a file, from numbers")
    numbers.add_argument("--examples", type=int, metavar="N", help="size of the test set")
    numbers.add_argument("--error", metavar="P", help="error rate of the models")
    numbers.add_argument("--similarity", metavar="S",
                         help="share of examples on which two models are both right or both wrong")  # fmt: skip

    out = verb.add_argument_group("reporting")
    out.add_argument("--out", type=Path, metavar="DIR", help="write report.html, result.npz, result.json")
    out.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(command=run_budget)


def run_budget(args: argparse.Namespace) -> int:
    """`heldout budget`."""
    if args.fail_under is not None and args.fail_under < 1:
        raise InputError(f"--fail-under {args.fail_under}: give a number of models, 1 or more.")
    if args.fail_under is not None and args.epsilon is None:
        say("warning: --fail-under without --epsilon: the error bar then follows the models that are there; name one.")
    if args.seed < 0:
        raise InputError(f"--seed {args.seed}: give a whole number, 0 or more.")
    for name in ("epsilon", "delta", "gap"):
        if getattr(args, name) is not None:
            check_share(name, getattr(args, name))
    if args.out is not None:
        make_folder(args.out)
    result = from_numbers(args) if args.path is None else from_file(args)
    if args.out is not None:
        from heldout.report import write_budget_report

        result.save(args.out / "result")
        report = write_budget_report(result, args.out, command=args.line)
    shown = result.needed_text() if args.needed else str(result)
    print(json.dumps(result.to_dict(), indent=2, allow_nan=False) if args.json else shown)
    say(f"report: {report}" if args.out is not None else "add --out DIR for a report with pictures")
    if result.pool is None and result.testable.reason is not None:
        say(f"heldout: {result.testable.reason}.")
        return EXIT_BAD_INPUT
    if args.fail_under is not None and result.further_models < args.fail_under:
        say(
            f"heldout: {count_text(result.further_models)} further models fit, fewer than "
            f"--fail-under {args.fail_under}."
        )
        return EXIT_CHECK_FAILED
    return EXIT_FINE


def from_numbers(args: argparse.Namespace) -> BudgetResult:
    """What the set could take, from n, error and similarity."""
    if args.groups is not None:
        raise InputError("--groups needs a file of predictions; four numbers say nothing about groups of examples.")
    given = {"--examples": args.examples, "--error": args.error, "--similarity": args.similarity}
    lacking = [name for name, value in given.items() if value is None]
    if lacking:
        raise InputError(
            f"give a file of predictions, or --examples, --error and --similarity; {', '.join(lacking)} not given."
        )
    return budget_from_numbers(
        args.examples, args.error, args.similarity, epsilon=args.epsilon, delta=args.delta, gap=args.gap
    )


def from_file(args: argparse.Namespace) -> BudgetResult:
    """What a pool of models says."""
    if (args.examples, args.error, args.similarity) != (None, None, None):
        raise InputError("--examples, --error and --similarity stand in for a file; with one they are measured.")
    classes = int(args.classes) if args.classes and args.classes.isdigit() else args.classes
    keys = {
        f"{name}_key": getattr(args, f"{name}_key") for name in ("predictions", "labels", "correct", "names", "ids")
    }
    table = Predictions.load(
        args.path,
        format=args.format,
        models_axis=args.models_axis,
        missing=args.missing,
        classes=classes,
        metric=args.metric,
        exclude=args.exclude,
        columns=() if args.groups is None else args.groups,
        **keys,
    )
    say(str(table))
    return budget(
        table,
        epsilon=args.epsilon,
        delta=args.delta,
        gap=args.gap,
        groups=args.groups,
        seed=args.seed,
        progress=True,
    )
