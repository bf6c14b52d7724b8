"""`heldout budget`."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from heldout.checks import check_seed
from heldout.cli.common import EXIT_BAD_INPUT, add_n_jobs, check_folder, refuse_idle, say, tell
from heldout.cli.ending import Gate, add_ending, case_name, finish, judged, text_width
from heldout.cli.parser import Parser
from heldout.cli.reading import WHAT_CAN_BE_READ, add_reading, read_predictions, refuse_reading
from heldout.errors import InputError
from heldout.predictions import Predictions
from heldout.report import Case, to_junit, to_markdown, to_text
from heldout.reuse.adjusted import read_probabilities
from heldout.reuse.budget import budget
from heldout.reuse.budget_summary import notes_of
from heldout.reuse.needed import GAP
from heldout.reuse.number_budget import budget_from_numbers
from heldout.reuse.result import BudgetResult, ScoreBudgetResult
from heldout.reuse.thresholds import check_exact_share
from heldout.summary import Summary
from heldout.summary.numbers import exact_text

GATE = Gate(
    option="--fail-under",
    metavar="K",
    help="exit 1 when fewer than K further models fit at --epsilon",
    what="a number of models, 1 or more",
    whole=True,
    least=1,
)
EXAMPLES = """\
  heldout budget predictions.npz --out budget
  heldout budget predictions.npz --needed --epsilon 0.005 --gap 0.01
  heldout budget val.npz --predictions-key preds_val --labels-key labels_val --exclude 'fv_*' --json
  heldout budget lm-eval-output/ --metric acc --epsilon 0.05 --fail-under 10
  heldout budget swe-bench.csv --groups repo          (or --groups repos.csv, or --groups '^(.*)-')
  heldout budget evaluation/verified/*/results/results.json --all-ids verified-ids.txt
  heldout budget lm-eval-output/ --task 'mmlu_*' --per-task
  heldout budget performances_generation.json --threshold 0.5
  heldout budget --examples 50000 --error 0.244 --similarity 0.85
"""
EXIT_CODES = """\
exit codes: 0 fine, 1 fewer than --fail-under further models fit, 2 bad input, 3 a bug in heldout, 130 stopped
"""


def add_options(verb: Parser) -> None:
    """What can be asked."""
    verb.describe(
        "How many more models can this test set measure, which error bars hold for all of them at once, "
        "which differences on the leaderboard are significant, who may be first, and how many examples are needed?",
        usage="heldout budget FILE ... [options]",
        essential="--epsilon --groups --needed --gap --per-task --metric --task --fail-under --out --format",
        examples=EXAMPLES,
        details=f"{WHAT_CAN_BE_READ}\n{EXIT_CODES}",
    )
    verb.add_argument("paths", nargs="*", metavar="FILE", help="what the models predicted: files or folders")
    asked = verb.add_argument_group("what is asked for")
    asked.add_argument("--epsilon", metavar="E",
                       help="error bar for further models, as a share: 0.01 is ±1 point (default: what holds "
                       "for the models there are, rounded up; from numbers: 0.01, or what a hundred such models can "
                       "have)")  # fmt: skip
    asked.add_argument("--delta", default="0.05", metavar="D",
                       help="probability that a statement on all models at once fails (default 0.05)")  # fmt: skip
    asked.add_argument("--groups", metavar="SPEC",
                       help="examples depend on each other in these groups: a column of the data, a CSV file id,group, "
                       "or a regular expression on the example ids; whole groups are then the unit")  # fmt: skip
    asked.add_argument("--label-noise", metavar="R",
                       help="how leaderboard and budget move if this share of the labels is wrong (0.03)")  # fmt: skip
    asked.add_argument("--second-labels", metavar="SPEC",
                       help="score every model again by other labels: a column of the data, a .npy file, or a CSV file "
                       "id,label")  # fmt: skip
    asked.add_argument("--probabilities", metavar="FILE",
                       help="probabilities of the options (models x examples x options, .npy or .npz, NaN for options "
                       "an example lacks), for CAPA, a chance-adjusted similarity")  # fmt: skip
    asked.add_argument("--needed", action="store_true",
                       help="only say how many examples are needed: for --epsilon on models like these, for --gap "
                       "between two of them; and which gap can be told now")  # fmt: skip
    asked.add_argument("--gap", default=str(GAP), metavar="D",
                       help="difference between two models that shall be told, as a share: 0.01 is 1 point "
                       f"(default {GAP})")  # fmt: skip
    asked.add_argument("--per-task", action="store_true",
                       help="a budget for each task of the files, and one of all of them pooled")  # fmt: skip
    asked.add_argument("--seed", type=int, default=0, metavar="S",
                       help="of the winner's splits and of the draws behind --needed (default 0)")  # fmt: skip
    add_n_jobs(asked, "threads")

    add_reading(verb)

    numbers = verb.add_argument_group("without a file, from numbers")
    numbers.add_argument("--examples", type=int, metavar="N", help="size of the test set")
    numbers.add_argument("--error", metavar="P", help="error rate of the models")
    numbers.add_argument("--similarity", metavar="S",
                         help="share of examples on which two models are both right or both wrong")  # fmt: skip

    add_ending(verb.add_argument_group("reporting"), GATE)
    verb.set_defaults(command=run, parser=verb)


def run(args: argparse.Namespace) -> int:
    """`heldout budget`."""
    GATE.check(args)
    if args.fail_under is not None and args.epsilon is None:
        say("warning: --fail-under without --epsilon: the error bar then follows what else is given; name one.")
    check_seed(args.seed)
    for name in ("epsilon", "delta", "gap"):
        if getattr(args, name) is not None:
            check_exact_share(name, getattr(args, name))
    if args.out is not None:
        check_folder(args.out)
    if args.paths and args.per_task:
        return _per_task(args)
    result = from_file(args) if args.paths else from_numbers(args)
    code = finish(result, args, failed=_reasons(args, result), printed=result.needed_summary() if args.needed else None)
    if isinstance(result, BudgetResult) and result.pool is None and result.testable.reason is not None:
        tell(f"heldout: {result.testable.reason}.")
        return EXIT_BAD_INPUT
    return code


def _reasons(args: argparse.Namespace, result: BudgetResult | ScoreBudgetResult) -> list[str]:
    if args.fail_under is None or result.further_models >= args.fail_under:
        return []
    return [f"{exact_text(result.further_models)} further models fit, fewer than --fail-under {args.fail_under}."]


def _write(result: BudgetResult | ScoreBudgetResult, folder: Path, line: str) -> Path:
    result.save(folder / "result")
    return result.report(folder, command=line)


def _per_task(args: argparse.Namespace) -> int:
    """A budget for each task, then one of all tasks pooled, which says how; a task that has none says why."""
    table = read_predictions(args, args.paths, columns=_columns(args))
    parts = table.by("task")
    results: dict[str, BudgetResult | ScoreBudgetResult | InputError] = {}
    for name, part in parts.items():
        try:
            results[name] = _budget(part, args)
        except InputError as error:
            say(f"warning: {name}: {error}")
            results[name] = error
    pooled = _budget(table, args)
    if args.out is not None:
        folders = _folder_names(list(results))
        for name, result in results.items():
            if not isinstance(result, InputError):
                check_folder(args.out / folders[name])
                _write(result, args.out / folders[name], args.line)
        say(f"report: {_write(pooled, args.out, args.line)}, and one in a folder for each task")
    if args.format == "json":
        tasks = {
            name: {"error": str(result)} if isinstance(result, InputError) else result.to_dict()
            for name, result in results.items()
        }
        pooling = " ".join(notes_of(pooled.tasks))
        whole = {"tasks": tasks, "pooled": pooled.to_dict() | {"pooling": pooling}}
        print(json.dumps(whole, indent=2, allow_nan=False))
        return judged(_reasons(args, pooled))
    if args.format == "junit":
        cases = [
            Case(f"{case_name(args)}[{name}]", None, skipped=str(result))
            if isinstance(result, InputError)
            else Case(f"{case_name(args)}[{name}]", _summary(result, args))
            for name, result in results.items()
        ]
        print(to_junit(*cases, Case(case_name(args), _summary(pooled, args), _reasons(args, pooled))))
        return judged(_reasons(args, pooled))
    heading = "# {}" if args.format == "markdown" else "== {} =="
    for name, result in results.items():
        told = f"No budget: {result}" if isinstance(result, InputError) else _shown(result, args)
        print(f"{heading.format(name)}\n\n{told}\n")
    print(f"{heading.format('all tasks')}\n\n{_shown(pooled, args)}")
    return judged(_reasons(args, pooled))


def _summary(result: BudgetResult | ScoreBudgetResult, args: argparse.Namespace) -> Summary:
    return result.needed_summary() if args.needed else result.summary()


def _shown(result: BudgetResult | ScoreBudgetResult, args: argparse.Namespace) -> str:
    summary = _summary(result, args)
    return to_markdown(summary, level=2) if args.format == "markdown" else to_text(summary, text_width())


def _folder_names(tasks: list[str]) -> dict[str, str]:
    """A folder for each task, no two of them the same, also where upper and lower case are.

    Examples
    --------
    >>> _folder_names(["a/1", "a_1", "A_1", ".."])
    {'a/1': 'a_1', 'a_1': 'a_1-2', 'A_1': 'A_1-3', '..': 'task'}
    """
    found: dict[str, str] = {}
    used: set[str] = set()
    for task in tasks:
        plain = re.sub(r"[^\w.-]+", "_", task).lstrip(".") or "task"
        name, number = plain, 1
        while name.casefold() in used:
            number += 1
            name = f"{plain}-{number}"
        used.add(name.casefold())
        found[task] = name
    return found


def from_numbers(args: argparse.Namespace) -> BudgetResult:
    """What the set could take, from n, error and similarity."""
    if (args.examples, args.error, args.similarity) != (None, None, None):
        refuse_reading(args)
        of_files = ("groups", "label_noise", "second_labels", "probabilities", "per_task", "seed", "n_jobs")
        refuse_idle(args, of_files, "on numbers alone, only on a file of predictions")
    given = {"--examples": args.examples, "--error": args.error, "--similarity": args.similarity}
    lacking = [name for name, value in given.items() if value is None]
    if lacking:
        raise InputError(
            f"give a file of predictions, or --examples, --error and --similarity; {', '.join(lacking)} not given."
        )
    return budget_from_numbers(
        args.examples, args.error, args.similarity, epsilon=args.epsilon, delta=args.delta, gap=args.gap
    )


def from_file(args: argparse.Namespace) -> BudgetResult | ScoreBudgetResult:
    """What a pool of models says."""
    if (args.examples, args.error, args.similarity) != (None, None, None):
        raise InputError("--examples, --error and --similarity stand in for a file; with one they are measured.")
    table = read_predictions(args, args.paths, columns=_columns(args))
    return _budget(table, args)


def _columns(args: argparse.Namespace) -> tuple[str, ...]:
    return tuple(name for name in (args.groups, args.second_labels) if name is not None)


def _budget(table: Predictions, args: argparse.Namespace) -> BudgetResult | ScoreBudgetResult:
    say(str(table))
    return budget(
        table,
        epsilon=args.epsilon,
        delta=args.delta,
        gap=args.gap,
        groups=args.groups,
        label_noise=args.label_noise,
        second_labels=args.second_labels,
        probabilities=None if args.probabilities is None else read_probabilities(args.probabilities),
        seed=args.seed,
        n_jobs=args.n_jobs,
        progress=not args.quiet,
    )
