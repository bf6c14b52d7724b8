"""How tables of predictions are read: options that all verbs on them share, and what they mean."""

from __future__ import annotations

import argparse
from typing import Any

from heldout.cli.common import refuse_idle, say
from heldout.errors import InputError
from heldout.predictions import Predictions, load_predictions

FAR_MORE = 3  # times as many models as examples: perhaps they were taken for each other
# Options that say how files are read, by their names in Python.
KEYS = ("predictions", "labels", "correct", "names", "ids", "trials")
READING = (*(f"{name}_key" for name in KEYS), "models_axis", "missing", "unread", "classes", "metric", "scale",
           "threshold", "task", "repeats", "all_ids", "input_format", "exclude")  # fmt: skip
WHAT_CAN_BE_READ = """\
what can be read:
  an .npz file                  predictions (models x examples, or the other way round), labels, names
  a CSV or Parquet file         one row per example: id,label,model A,model B,...  or long: model,id,prediction,label
                                or one row per model: model,example 1,example 2,...
  JSON or JSONL                 the same rows, {"names": ..., "predictions": ..., "labels": ...}, {model: {task: score}}
  lm-evaluation-harness         --log_samples files or their folder
  inspect_ai                    .eval and .json logs or their folder; epochs are trials
  SWE-bench                     the harness's report, or results.json of the leaderboard with --all-ids
                                or report.json of each task, with --all-ids
  Terminal-Bench, Harbor        results.json of a run, or the folder of a job; attempts are trials
  LiveCodeBench                 *_eval_all.json, or the leaderboard's performances_*.json
  HELM                          per_instance_stats.json, or the folder of its runs
  a folder, or several files    of any of these; .csv, .tsv, .json and .jsonl also packed as .gz
  where only right and wrong are known: a matrix of 1 and 0, or of scores between them (--correct-key)
"""


def add_reading(verb: argparse.ArgumentParser) -> None:
    """Options that say how files are read."""
    read = verb.add_argument_group("how the files are read")
    for name, what in (
        ("predictions", "what the models predicted"),
        ("labels", "the true labels"),
        ("correct", "1 where right, 0 where wrong, or scores"),
        ("names", "the models' names"),
        ("ids", "the examples' ids"),
        ("trials", "the number of each trial, or how many there were"),
    ):
        read.add_argument(f"--{name}-key", metavar="KEY", help=f"array or column that holds {what}")
    read.add_argument("--models-axis", type=int, choices=(0, 1), help="axis of the models, where it cannot be told")
    read.add_argument(
        "--missing",
        action="append",
        metavar="CODE",
        help="value of a cell not run (-2, nan; may be repeated); 'absent': models may lack examples",
    )
    read.add_argument(
        "--unread",
        action="append",
        metavar="TEXT",
        help="prediction that counts as wrong (NA, or '' for an empty cell; may be repeated)",
    )
    read.add_argument("--classes", metavar="M", help="labels are 0 to M-1; 'any' for free text")
    read.add_argument(
        "--metric",
        metavar="NAME",
        help="score to read from logs, where there are several; ',strict-match' chooses the filter alone",
    )
    read.add_argument("--scale", metavar="S", help="what scores run from and to: percent, 10 (0 to 10), 1:5")
    read.add_argument(
        "--threshold", type=float, metavar="T", help="count scores of T or more as right, others as wrong"
    )
    read.add_argument("--task", action="append", default=[], metavar="NAME",
                      help="only this task ('mmlu_*'; may be repeated); all are pooled without")  # fmt: skip
    read.add_argument("--repeats", metavar="trials",
                      help="'trials': several predictions of one model for one example are trials")  # fmt: skip
    read.add_argument("--all-ids", metavar="FILE",
                      help="ids of all examples, for files that list only what was solved")  # fmt: skip
    read.add_argument("--input-format", metavar="F",
                      help="npz, csv, tsv, parquet, json, jsonl, lm-eval, inspect, folder")  # fmt: skip
    read.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="NAME",
        help="model, or column that is not a model, to leave out ('fv_*'; may be repeated)",
    )


def read_predictions(args: argparse.Namespace, paths: Any, **rest: Any) -> Predictions:
    """The table that the options ask for."""
    classes = int(args.classes) if args.classes and args.classes.isdigit() else args.classes
    table = load_predictions(
        paths,
        format=args.input_format,
        models_axis=args.models_axis,
        missing=args.missing,
        unread=args.unread,
        classes=classes,
        metric=args.metric,
        exclude=args.exclude,
        scale=args.scale,
        task=args.task,
        repeats=args.repeats,
        all_ids=args.all_ids,
        **{f"{name}_key": getattr(args, f"{name}_key") for name in KEYS},
        **rest,
    )
    if args.models_axis is None and table.n_models > FAR_MORE * table.n_examples:
        say(
            f"warning: {table.source} has {table.n_models:,} models and {table.n_examples:,} examples; if it is the "
            "other way round, say so with --models-axis 1 (--models-axis 0 in a table)."
        )
    if args.threshold is None:
        return table
    if table.is_binary and table.trials is None:
        raise InputError(f"--threshold {args.threshold:g}: {table.source} holds right and wrong already; leave it out.")
    return table.thresholded(args.threshold)


def refuse_reading(args: argparse.Namespace) -> None:
    """Options that say how files are read mean nothing where numbers stand in place of one."""
    refuse_idle(args, READING, "on numbers, which are given in place of a file")
