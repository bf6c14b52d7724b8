"""`heldout audit --scores`: from scores of single examples, without a model."""

from __future__ import annotations

import argparse
from typing import Any

from heldout.cli.audit_gate import check_gate, close, reasons
from heldout.cli.common import check_folder, refuse_alone, say, typed
from heldout.cli.ending import finish
from heldout.cli.grouping import of_one
from heldout.errors import InputError
from heldout.independence.scores import audit_scores
from heldout.predictions.load_scores import load_scores, read_id_list
from heldout.predictions.scores import Scores
from heldout.statistics.leak import ALTERNATIVE

SCORE_FORMATS = """\
scores of single examples (--scores, --control-scores, --reference-scores), no model needed, one file for each model:
  a CSV, Parquet, JSONL or .npz file     id,margin  /  q17,2.31  (or loss, log_likelihood, probability, correct, ...)
  lm-evaluation-harness                  a --log_samples file, or the folder of one model's
  inspect_ai                             an .eval or .json log, or a folder of one model's
  chosen by --score NAME; unasked the one that says most: margin or log-likelihood where there is one, else right or
  wrong. Kinds known by name: margin, log_likelihood, probability, correct, acc, exact_match (larger is better); loss,
  nll, perplexity, error (larger is worse); any other needs --larger-is better or worse
control, one of:
  --control-scores FILE                  other examples of the same source
  --control-ids FILE                     one id on each line (of logs: task/doc_id, such as arc_easy/17): these
                                         examples of --scores are the control, the others the test set (after and
                                         before a date, private and public half). This assumes that the halves differ
                                         in nothing but exposure; items that get harder or easier over time are the
                                         usual way in which it fails; references that saw neither half account for
                                         most of that, not for all
"""

_OF_PICTURES = """
model images labels control reference control_labels images_key labels_key control_images_key control_labels_key
control_groups limit orbit radius rule tolerance expect_accuracy allow_frame_drop batch_size cluster device bf16
compile resume resize crop wrap pad upsample interpolation mean std scale bgr channels max_pixels classes_by
"""
_OF_SCORES = "control_scores reference_scores reference_control_scores control_ids score larger_is classes chance"
PICTURE_OPTIONS, SCORE_OPTIONS = _OF_PICTURES.split(), _OF_SCORES.split()  # by their names in Python


def add_score_options(verb: argparse.ArgumentParser) -> None:
    """Options of audits without a model."""
    group = verb.add_argument_group("scores in place of model and pictures")
    group.add_argument("--scores", metavar="FILE", help="the model's score of every test example")
    group.add_argument("--control-scores", metavar="FILE", help="the same of the control")
    group.add_argument(
        "--control-ids",
        metavar="FILE",
        help="instead: ids of the examples in --scores that are the control, one on each line; of logs task/doc_id "
        "(inspect_ai: task/sample id)",
    )
    group.add_argument(
        "--reference-scores",
        nargs="+",
        default=[],
        metavar="FILE",
        help="scores of other models, one file each, that cannot have seen more of the test set than of the control; "
        "with the ids of both sets",
    )
    group.add_argument(
        "--reference-control-scores",
        nargs="+",
        default=[],
        metavar="FILE",
        help="their scores of the control, in the same order, where --reference-scores holds the test set only",
    )
    group.add_argument("--score", metavar="NAME", help="column, metric or scorer to read")
    group.add_argument("--larger-is", choices=("better", "worse"), help="what a larger score means, where its name "
                       "does not say")  # fmt: skip
    group.add_argument("--classes", metavar="COLUMN", help="compare within classes or strata: a column of the files, "
                       "or of logs 'task' or a field of the documents")  # fmt: skip
    group.add_argument("--chance", type=float, metavar="P", help="accuracy of a guess, to refuse references near it "
                       "(known from logs of multiple choice); for right or wrong, margins, or beside a column "
                       "`correct`")  # fmt: skip


def read_scores(args: argparse.Namespace, path: str, *, reference: bool = False) -> Scores:
    """One file of scores, read as the options say; classes and groups are those of the audited model's files."""
    own: dict[str, Any] = {} if reference else {"classes": args.classes, "columns": (args.groups,) * bool(args.groups)}
    return load_scores(path, score=args.score, larger_is=args.larger_is, **own)


def check_either(args: argparse.Namespace) -> None:
    """Refuse options of pictures among those of scores, and the other way round."""
    if args.scores is not None:
        wrong = typed(args, PICTURE_OPTIONS)
        if wrong:
            raise InputError(
                f"{', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} for audits of pictures; with --scores "
                "nothing is run, and the control is --control-scores or --control-ids."
            )
        return
    refuse_alone(args, SCORE_OPTIONS, "--scores")
    lacking = [f"--{name}" for name in ("model", "images") if getattr(args, name) is None]
    if lacking:
        raise InputError(
            f"{' and '.join(lacking)} not given: an audit needs --model and --images (pictures), or --scores and "
            "--control-scores (scores of any kind, no model needed)."
        )


def run_audit_scores(args: argparse.Namespace) -> int:
    """`heldout audit --scores`."""
    check_gate(args, halves=1, has_control=True)
    if (args.control_scores is None) == (args.control_ids is None):
        if args.control_scores is not None:
            raise InputError("--control-scores and --control-ids both name the control; give one of them, not both.")
        raise InputError("a control is needed: give --control-scores, or --control-ids to pick it out of --scores.")
    if args.reference_control_scores and len(args.reference_control_scores) != len(args.reference_scores):
        raise InputError(
            f"{len(args.reference_control_scores)} --reference-control-scores for {len(args.reference_scores)} "
            "--reference-scores; give one for each, in the same order."
        )
    check_folder(args.out)

    test = read_scores(args, args.scores)
    if args.control_ids is not None:
        test, control = test.split(read_id_list(args.control_ids))
    else:
        control = read_scores(args, args.control_scores)
    references: list[Any] = [read_scores(args, path, reference=True) for path in args.reference_scores]
    if args.reference_control_scores:
        others = [read_scores(args, path, reference=True) for path in args.reference_control_scores]
        references = list(zip(references, others, strict=True))
    say(f"test set: {test}")
    say(f"control: {control}")
    result = audit_scores(
        test,
        control,
        references=references,
        strata=args.classes,
        groups=args.groups,
        chance=args.chance,
        allow_chance=args.allow_chance,
        halves=args.control_ids is not None,
        alternative=args.alternative or ALTERNATIVE,
        level=args.level,
        planned_audits=args.planned_audits,
        n_resamples=args.resamples,
        n_jobs=args.n_jobs,
        seed=args.seed,
    )
    found = result.leak.test.mean
    if args.groups is not None and found.n_groups_test is None and found.n_groups_control is None:
        say(of_one(args.groups, result.n_examples + result.n_control))
    return finish(result, args, failed=reasons(args, result.adjusted_p_value, result), close=close(args, result))
