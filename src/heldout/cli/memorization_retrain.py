"""`heldout memorization retrain`: training methods."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from heldout.checkpoints import hash_of
from heldout.cli.common import add_n_jobs, different, say, tell
from heldout.cli.grouping import named_groups
from heldout.cli.memorization_gate import check_fresh
from heldout.cli.memorization_groups import validation_groups
from heldout.cli.parser import Parser
from heldout.cli.unfinished import checkpoints
from heldout.errors import InputError
from heldout.files import Npz
from heldout.memorization.inputs import as_training, for_training, parse_strengths, read_training_set
from heldout.memorization.perturbed import limited_text, subset
from heldout.memorization.result import MemorizationResult
from heldout.memorization.retrain import NotRepeatable, check_rates
from heldout.memorization.retrained import label_noise_curve
from heldout.scorers.base import load_object

EXAMPLES = """\
  heldout memorization retrain --train mytraining:train --data train.npz --label-noise 0:0.5:0.1 --n-jobs 2
  heldout memorization retrain --train mytraining:small mytraining:large --data train.npz --repetitions 3
"""
DETAILS = """\
what is measured:
  PMV              accuracy on the labels trained on; a model that memorises keeps it
  PTV              accuracy on the true labels; a model that memorises loses it
                   (a method that does not fit the labels it is trained on is named, and not ranked by them)

trainings (--train):     package.module:name, a scikit-learn estimator or a function (x, y, seed) -> predictor
rates (--label-noise):   0:0.5:0.1 (from, to, step), or 0,0.1,0.3
results (--out):         heldout-memorization unless another folder is given

exit codes: 0 fine, 1 a gap is larger than --fail-over, 2 bad input or a training that failed,
            3 a bug in heldout, 130 stopped (continue with --resume)
"""


def add_options(verb: Parser) -> None:
    """What can be asked of training methods."""
    verb.describe(
        "How far does this training method memorise? It is trained again and again on labels that are more and more "
        "wrong; one that memorises learns the wrong ones too.",
        usage="heldout memorization retrain --train T ... --data FILE [options]",
        essential="--train --data --label-noise --repetitions --n-jobs --validation --limit --fail-over --out "
        "--format --resume",
        examples=EXAMPLES,
        details=DETAILS,
    )
    group = verb.add_argument_group("training methods and data")
    group.add_argument("--train", nargs="+", required=True, metavar="T",
                       help="package.module:name of a scikit-learn estimator, or of a function "
                       "(x, y, seed) -> predictor")  # fmt: skip
    group.add_argument("--data", required=True, metavar="FILE", help=".npz with the training set, x and y")
    group.add_argument("--x-key", metavar="KEY", help="array that holds the examples")
    group.add_argument("--y-key", metavar="KEY", help="array that holds the labels")
    group.add_argument("--label-noise", default="0:0.5:0.1", metavar="R",
                       help="shares of wrong labels: from:to:step, or 0,0.1,0.3 (default 0:0.5:0.1)")  # fmt: skip
    group.add_argument("--repetitions", type=int, default=5, metavar="N", help="trainings per rate (default 5)")
    group.add_argument("--classes", type=int, metavar="M", help="labels are 0 to M - 1 (default: those that occur)")
    add_n_jobs(group, "worker processes")
    group.add_argument("--threads", type=int, default=1, metavar="N", help="threads of each training (default 1)")
    group.add_argument("--no-seed-check", action="store_true",
                           help="do not do one training twice to see whether it repeats itself")  # fmt: skip

    group.add_argument("--validation", metavar="FILE", help="fresh examples, read as --data: adds the gap")


def groups_of_rows(args: argparse.Namespace, n: int, fresh: int | None) -> tuple[NDArray[Any] | None, ...]:
    """The group of each training example and of each fresh one, where --groups says so.

    Examples of an .npz file are called by their numbers.
    """
    if args.groups is None:
        return None, None
    own = named_groups(args.groups, [str(i) for i in range(n)], columns_of(args.data, n))
    if fresh is None:
        return own, None
    ids = [str(i) for i in range(max(n, fresh))]
    return own, validation_groups(args, ids[:fresh], columns_of(args.validation, fresh), ids[:n])


def columns_of(path: str, n: int) -> dict[str, NDArray[Any]]:
    """What stands beside the examples of an .npz file."""
    with Npz(path) as arrays:
        return {key: arrays[key] for key in arrays if arrays.shape(key) == (n,)}


def shown_once() -> Callable[[str], None]:
    """Tells every traceback once: trainings mostly fail alike."""
    seen: set[str] = set()

    def show(trace: str) -> None:
        if trace not in seen:
            seen.add(trace)
            tell(trace)

    return show


def measure(args: argparse.Namespace) -> MemorizationResult:
    """Curves of methods that are trained on noisy labels."""
    rates = parse_strengths(args.label_noise, name="label_noise")
    check_rates(rates)
    if args.fail_over is not None and len(rates) == 1:
        raise InputError(
            f"--fail-over judges trainings on true labels, and --label-noise {args.label_noise} has none; write "
            f"--label-noise 0,{args.label_noise}."
        )
    sys.path.insert(0, os.getcwd())  # for workers too, which import the user's module anew
    trainings = [as_training(load_object(spec, "train")) for spec in args.train]
    names = different(args.train, [spec.partition(":")[2] for spec in args.train])
    x, y, source = read_training_set(args.data, x_key=args.x_key, y_key=args.y_key)
    fresh = None
    if args.validation:
        fresh = read_training_set(args.validation, x_key=args.x_key, y_key=args.y_key, of="validation")
        check_fresh(args, len(fresh.y))
    rows = subset(len(y), args.limit, args.seed)
    groups, held_groups = groups_of_rows(args, len(y), None if fresh is None else len(fresh.y))
    notes = limited_text(len(y), args.limit)
    x, y = x[rows], y[rows]
    folder, goes_on = checkpoints(args)
    if goes_on:
        say("of a training function only the name is compared with that of the unfinished work, not what it does.")
    try:
        curves = [
            label_noise_curve(
                train,
                (for_training(train, x), y),
                rates,
                name=name,
                classes=args.classes,
                repetitions=args.repetitions,
                seed=args.seed,
                validation=None if fresh is None else (for_training(train, fresh.x), fresh.y),
                groups=None if groups is None else groups[rows],
                validation_groups=held_groups,
                n_jobs=args.n_jobs,
                threads=args.threads,
                check_seed=not args.no_seed_check,
                checkpoint=folder / f"{number}-{re.sub(r'[^A-Za-z0-9_.]', '-', args.train[number])}",
                on_failure=shown_once() if args.debug else None,
                progress=not args.quiet,
            )
            for number, (name, train) in enumerate(zip(names, trainings, strict=True))
        ]
    except NotRepeatable:
        args.told_of_kept = "After either, continue with --resume."
        raise
    return MemorizationResult.of(curves, source=source, digest=hash_of(x, y), notes=notes, seed=args.seed)
