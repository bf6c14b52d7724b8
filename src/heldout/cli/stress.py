"""`heldout stress`."""

from __future__ import annotations

import argparse
import csv
from importlib.util import find_spec

from heldout.attack.inputs import KINDS, read_named_labels, read_prior
from heldout.attack.stress import stress
from heldout.attack.task import ATTACKS
from heldout.cli import unfinished
from heldout.cli.common import add_n_jobs, check_folder, refuse_alone, say
from heldout.cli.ending import Gate, add_ending, finish
from heldout.cli.parser import Parser
from heldout.errors import InputError
from heldout.summary import other_trials

GATE = Gate(
    option="--fail-over",
    metavar="A",
    help="exit 1 when the accuracy gained exceeds A (0.02)",
    what="a gain in accuracy, from 0 to below 1",
    below=1,
)
SLOW = 5e8  # labels drawn that take a quarter of a minute or so without numba
DETAILS = """\
attacks:
  nb               naive Bayes on random queries; uses a prior; where answers are rounded it keeps the accuracy on a
                   rounding edge (with a prior: by answering sure examples wrongly on purpose)
  majority         queries above chance vote for their labels, those below against them (Blum and Hardt)
  plurality        only queries above chance by one standard deviation vote
  linear-scan      one label changed at a time
  reconstruction   the labels of some examples at once, exactly, by integer programming (extra: attack)

what can be read:
  --labels         class numbers or names: .npy, .npz, or a column of a CSV, Parquet, JSON or JSONL table; targets of
                   logs of lm-evaluation-harness and inspect_ai, or of a folder of them
  --prior          probabilities or counts (examples x classes, or classes alone), or class numbers, from which a prior
                   is made by how far models agree: predictions (models x examples), or their first ranks (examples x
                   places x models), best first; from the same kinds of files. Where labels and prior both have ids,
                   rows are matched by them
  --prior-classes  classes of --labels by name or number, with commas between them; one that has a comma of its own in
                   double quotes: --prior-classes 'cat,dog,"fox, red"'

exit codes: 0 fine, 1 the analyst gains more than --fail-over, 2 bad input, 3 a bug in heldout, 130 stopped
"""
EXAMPLES = """\
  heldout stress --examples 10000 --classes 10 --queries 1000 --out stress
  heldout stress --examples 10000 --classes 10 --queries 1000 --digits 2
  heldout stress --examples 10000 --classes 2 --queries 1000 --public 0.3
  heldout stress --labels labels.npy --prior probs.npy --top 2 --points 10000 --queries 5200
  heldout stress --examples 5000 --classes 2 --queries 60 --attack reconstruction --trials 3
"""


def add_options(verb: Parser) -> None:
    """What can be asked."""
    verb.describe(
        "How much of a hidden test set do accuracy answers give away? Simulates analysts who only see "
        "accuracies, says beforehand how far they get, and what nobody can pass.",
        usage="heldout stress --examples N --classes M --queries K [options]\n"
        "       heldout stress --labels FILE [--prior FILE] --queries K [options]",
        essential="--examples --classes --labels --queries --public --digits --attack --prior --trials --fail-over "
        "--out --format",
        examples=EXAMPLES,
        details=DETAILS,
    )
    board = verb.add_argument_group("the leaderboard")
    board.add_argument("--examples", type=int, metavar="N", help="size of the test set")
    board.add_argument("--classes", type=int, metavar="M", help="number of classes")
    board.add_argument("--labels", metavar="FILE", help="the true labels, instead of random ones")
    board.add_argument("--labels-key", metavar="KEY", help="array or column that holds them")
    board.add_argument("--queries", type=int, required=True, metavar="K", help="answers that are handed out")
    board.add_argument("--public", type=float, metavar="P",
                       help="answers are about this share of the examples (0.3); the rest is private")  # fmt: skip
    board.add_argument("--digits", type=int, metavar="D", help="answers are rounded to D digits (default: exact)")

    analyst = verb.add_argument_group("the analyst")
    analyst.add_argument("--attack", choices=ATTACKS, default="nb",
                         help="how the analyst uses the answers (default nb, naive Bayes)")  # fmt: skip
    analyst.add_argument("--prior", metavar="FILE",
                         help="what is known before asking: probabilities of a model, or predictions")  # fmt: skip
    analyst.add_argument("--prior-key", metavar="KEY", help="array of a .npz that holds it")
    analyst.add_argument("--prior-kind", choices=KINDS, help="what the prior holds, where it cannot be told")
    analyst.add_argument("--prior-classes", metavar="A,B,...",
                         help="the class of each of its columns, in order (default: as headings say)")  # fmt: skip
    analyst.add_argument("--models-axis", type=int, choices=(0, 1, 2), metavar="A",
                         help="axis of the models in predictions or ranks")  # fmt: skip
    analyst.add_argument("--prior-models", nargs="+", default=[], metavar="NAME",
                         help="of several models, only these ('resnet*')")  # fmt: skip
    analyst.add_argument("--top", type=int, metavar="R", help="consider only the R likeliest labels of each example")
    analyst.add_argument("--points", type=int, metavar="Q",
                         help="attack only the Q examples that are least sure (with a prior and neither --top nor "
                         "--points: both are chosen by forecast, without labels)")  # fmt: skip

    how = verb.add_argument_group("the simulation")
    how.add_argument("--trials", type=int, default=10, metavar="T", help="simulations (default 10)")
    how.add_argument("--seed", type=int, default=0, metavar="S", help="default 0")
    how.add_argument("--delta", type=float, default=0.05, metavar="D",
                     help="probability that somebody passes the upper bound (default 0.05)")  # fmt: skip
    add_n_jobs(how, "threads", default=-1)
    how.add_argument("--compare", action=argparse.BooleanOptionalAction,
                     help="also other attacks, digits and numbers of classes (default: with --out)")  # fmt: skip

    out = verb.add_argument_group("reporting")
    add_ending(out, GATE)
    out.add_argument("--resume", action="store_true", help="continue the unfinished work in --out")
    verb.set_defaults(command=run, parser=verb)


def run(args: argparse.Namespace) -> int:
    """`heldout stress`."""
    GATE.check(args)
    if args.labels is None:
        refuse_alone(args, ("labels_key", "prior_classes"), "--labels")
    if args.prior is None:
        refuse_alone(args, ("prior_key", "prior_kind", "prior_classes", "models_axis", "prior_models"), "--prior")
    if args.labels is None and args.prior is None and (args.examples is None or args.classes is None):
        raise InputError("the test set is not known: give --examples and --classes, or --labels, or --prior.")
    if args.out is None:
        refuse_alone(args, ("resume",), "--out")
    checkpoints = unfinished.folder(args)
    if args.out is not None:
        check_folder(args.out)
    named = None if args.labels is None else read_named_labels(args.labels, key=args.labels_key)
    labels = None if named is None else named.values
    prior, prior_source = None, None
    if args.prior is not None:
        classes = args.classes
        if classes is None and labels is not None and labels.dtype.kind in "iu" and labels.size:
            classes = int(labels.max()) + 1
        prior, prior_source = read_prior(
            args.prior,
            key=args.prior_key,
            models=args.prior_models,
            m=classes,
            n=args.examples if labels is None else len(labels),
            kind=args.prior_kind,
            models_axis=args.models_axis,
            classes=None if named is None else named.classes,
            ids=None if named is None else named.ids,
            labelled=named is not None,
            prior_classes=None if args.prior_classes is None else _listed(args.prior_classes),
        )
    compare = args.out is not None if args.compare is None else args.compare
    size = args.examples or len(labels if labels is not None else prior if prior is not None else ())
    if find_spec("numba") is None and size * args.queries * args.trials * (10 if compare else 1) > SLOW:
        say("numba is not installed, so this takes a while: pip install 'heldout[fast]' makes it many times faster.")
    result = stress(
        args.examples,
        args.classes,
        queries=args.queries,
        labels=labels,
        prior=prior,
        top=args.top,
        points=args.points,
        attack=args.attack,
        digits=args.digits,
        public=args.public,
        trials=args.trials,
        seed=args.seed,
        delta=args.delta,
        compare=compare,
        n_jobs=args.n_jobs,
        checkpoint=checkpoints,
        resume=args.resume,
        notify=say,
        progress=not args.quiet,
        source=args.labels or args.prior,
        prior_source=prior_source,
    )
    failed = []
    if args.fail_over is not None and result.advantage > args.fail_over:
        failed.append(f"this analyst gains {result.advantage:.4f}, more than --fail-over {args.fail_over:g}.")
    close = None
    if args.fail_over is not None:
        close = other_trials(result.advantage, result.std, result.run.trials, args.fail_over)
    return finish(
        result, args, failed=failed, close=close and f"{close} More --trials decide it.", unfinished=checkpoints
    )


def _listed(text: str) -> list[str]:
    """What stands between commas, as in a line of a CSV."""
    return next(csv.reader([text], skipinitialspace=True), [])
