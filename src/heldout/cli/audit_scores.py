"""`heldout audit --scores`: from scores of single examples, without a model."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heldout.cli.common import make_folder, say
from heldout.cli.fail_under import check_fail_under, exit_code
from heldout.errors import InputError
from heldout.independence.leak import ALTERNATIVE
from heldout.independence.scores import audit_scores
from heldout.predictions.scores import Scores, load_scores
from heldout.predictions.values import listing, repeated

TASK = "task"  # column that logs of several tasks have

SCORE_FORMATS = """\
scores of single examples (--scores, --control-scores, --reference-scores), no model needed, one file a model:
  a CSV, Parquet, JSONL or .npz file     id,margin  /  q17,2.31  (or loss, log_likelihood, probability, correct, ...)
  lm-evaluation-harness                  a --log_samples file, or the folder of one model's
  inspect_ai                             an .eval or .json log, or a folder of one model's
  chosen by --score NAME; unasked the one that says most: margin or log-likelihood where there is one, else right or
  wrong. Kinds known by name: margin, log_likelihood, probability, correct, acc, exact_match (larger is better); loss,
  nll, perplexity, error (larger is worse); any other needs --larger-is better or worse
control, one of:
  --control-scores FILE                  other examples of the same source
  --control-ids FILE                     one id a line: these examples of --scores are the control, the others the test
                                         set (after and before a date, private and public half). This assumes that the
                                         halves differ in nothing but exposure; items that get harder or easier over
                                         time are the usual way in which it fails; references that saw neither half
                                         take most of that up, not all
examples:
  heldout audit --scores model.csv --control-scores control.csv --reference-scores old.csv other.csv --out audit
  heldout audit --scores lm-eval/new-model/ --control-ids after-cutoff.txt --reference-scores lm-eval/old-model/
"""

_OF_PICTURES = """
model images labels control reference control_labels images_key labels_key control_images_key control_labels_key
control_groups limit radius rule tolerance expect_accuracy allow_frame_drop batch_size device bf16 resume resize crop
wrap pad upsample interpolation mean std scale bgr channels
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
        help="instead: ids of the examples in --scores that are the control, one a line",
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
                       "(known from logs of multiple choice)")  # fmt: skip


def typed(args: argparse.Namespace, names: Sequence[str]) -> list[str]:
    """Which of these options were given, as they are typed."""
    given = [name for name in names if getattr(args, name, None) != args.parser.get_default(name)]
    return [f"--{name.replace('_', '-')}" for name in given]


def read_scores(args: argparse.Namespace, path: str) -> Scores:
    """One file of scores, read as the options say."""
    columns = () if args.groups is None else (args.groups,)
    return load_scores(path, score=args.score, larger_is=args.larger_is, classes=args.classes, columns=columns)


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
    wrong = typed(args, SCORE_OPTIONS)
    if wrong:
        raise InputError(f"{', '.join(wrong)} {'goes' if len(wrong) == 1 else 'go'} with --scores, which is not given.")
    lacking = [f"--{name}" for name in ("model", "images") if getattr(args, name) is None]
    if lacking:
        raise InputError(
            f"{' and '.join(lacking)} not given: an audit needs --model and --images (pictures), or --scores and "
            "--control-scores (scores of any kind, no model needed)."
        )


def run_audit_scores(args: argparse.Namespace) -> int:
    """`heldout audit --scores`."""
    from heldout.report import write_score_audit_report

    check_fail_under(args, halves=1, has_control=True)
    if (args.control_scores is None) == (args.control_ids is None):
        many = "not both" if args.control_scores is not None else "neither is given"
        raise InputError(
            f"a control is needed: give --control-scores, or --control-ids to pick it out of --scores ({many})."
        )
    if args.reference_control_scores and len(args.reference_control_scores) != len(args.reference_scores):
        raise InputError(
            f"{len(args.reference_control_scores)} --reference-control-scores for {len(args.reference_scores)} "
            "--reference-scores; give one for each, in the same order."
        )
    make_folder(args.out)

    test = read_scores(args, args.scores)
    if args.control_ids is not None:
        test, control = split_by_ids(test, Path(args.control_ids))
    else:
        control = read_scores(args, args.control_scores)
    references: list[Any] = [read_scores(args, path) for path in args.reference_scores]
    if args.reference_control_scores:
        references = list(
            zip(references, [read_scores(args, path) for path in args.reference_control_scores], strict=True)
        )
    say(f"test set: {test}")
    say(f"control: {control}")
    classes, strata = None, args.classes
    if args.classes is None and _same_tasks(test, control):
        classes, strata = (test.columns[TASK], control.columns[TASK]), TASK
        say(f"examples are compared within each of {len(set(test.columns[TASK].tolist()))} tasks.")
    result = audit_scores(
        test,
        control,
        references=references,
        classes=None if classes is None else tuple(np.array([str(v) for v in of]) for of in classes),  # type: ignore[arg-type]
        strata=strata,
        groups=args.groups,
        chance=args.chance,
        allow_chance=args.allow_chance,
        halves=args.control_ids is not None,
        alternative=args.alternative or ALTERNATIVE,
        level=args.level,
        planned_audits=args.planned_audits,
        n_resamples=args.resamples,
        seed=args.seed,
    )
    result.save(args.out / "result")
    report = write_score_audit_report(result, args.out, command=args.line)
    print(json.dumps(result.to_dict(), indent=2, allow_nan=False) if args.json else result)
    say(f"report: {report}")
    return exit_code(args, result.adjusted_p_value, result.ruling)


def split_by_ids(scores: Scores, path: Path) -> tuple[Scores, Scores]:
    """Test set and control: the examples whose ids are not, and are, in a file of one id a line."""
    try:
        wanted = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read --control-ids {path}: {error}.") from error
    if scores.ids is None:
        raise InputError(f"{scores.source} has no ids that --control-ids could pick from; give a column `id`.")
    twice = repeated(wanted)
    if twice:
        raise InputError(f"--control-ids {path} names {listing(twice)} more than once.")
    unknown = sorted(set(wanted) - set(scores.ids))
    if not wanted:
        raise InputError(f"--control-ids {path} is empty; give the ids of the control, one a line.")
    if unknown:
        raise InputError(
            f"--control-ids {path} names {len(unknown):,} ids that {scores.source} does not have, such as "
            f"{listing(unknown)}; its own are such as {scores.ids[0]!r}."
        )
    chosen = set(wanted)
    there = np.array([name in chosen for name in scores.ids])
    if there.all():
        raise InputError(f"--control-ids {path} names every example of {scores.source}; no test set is left.")
    return scores.take(np.flatnonzero(~there)), scores.take(np.flatnonzero(there))


def _same_tasks(test: Scores, control: Scores) -> bool:
    tasks = [set(of.columns[TASK].tolist()) for of in (test, control) if TASK in of.columns]
    return len(tasks) == 2 and tasks[0] == tasks[1] and len(tasks[0]) > 1
