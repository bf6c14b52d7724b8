"""Results of LiveCodeBench: `*_eval_all.json`, with the trials of each problem, and the leaderboard's
`performances_*.json`, in percent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heldout.errors import InputError
from heldout.predictions.keys import Options
from heldout.predictions.runs import Run
from heldout.predictions.trials import PERCENT
from heldout.predictions.values import id_text, listing, number_of

TOLD = ("difficulty", "platform", "contest_date", "date")


def eval_all(rows: list[dict[str, Any]], path: Path, options: Options) -> Run:
    """`*_eval_all.json`: the folder is the model's, `graded_list` its trials."""
    cells: dict[str, list[Any]] = {}
    facts = {}
    for i, row in enumerate(rows):
        name = id_text(row["question_id"], f"{path.name}: row {i + 1}")
        if name in cells:
            raise InputError(f"{path.name} has the problem {name!r} more than once; keep one.")
        if not isinstance(row["graded_list"], list):
            raise InputError(
                f"{path.name}: `graded_list` of the problem {name!r} is {row['graded_list']!r}; a list of true and "
                "false, one for each trial, is needed."
            )
        cells[name] = list(row["graded_list"])
        facts[name] = _told(row, options)
    return Run(model=path.resolve().parent.name, task=None, cells=cells, facts=facts, path=path)


def board(rows: list[dict[str, Any]], path: Path, options: Options) -> list[Run]:
    """The leaderboard's own file: pass@1 in percent, one entry per model and problem."""
    options.use("metric")
    metric = options.metric or "pass@1"
    lacking = next((row for row in rows if metric not in row), None)
    if lacking is not None:
        raise InputError(f"{path.name} has no {metric!r} (`metric`); it has {listing(list(lacking), len(lacking))}.")
    numbers = [number for number in (number_of(row[metric]) for row in rows) if number is not None]
    if options.scale is None and max(numbers, default=2.0) <= 1:
        raise InputError(
            f"{path.name}: {metric} is in percent in files of this kind, but none is above 1; say what it runs from "
            'and to with `scale=1` or `scale="0:100"`.'
        )
    runs: dict[str, Run] = {}
    scored_by = f"{metric} (LiveCodeBench)"
    for i, row in enumerate(rows):
        where = f"{path.name}: entry {i + 1}"
        model, name = id_text(row["model"], where, noun="model"), id_text(row["question_id"], where)
        run = runs.setdefault(
            model, Run(model=model, task=None, cells={}, path=path, scale=PERCENT, scored_by=scored_by)
        )
        if name in run.cells:
            raise InputError(f"{path.name} has the problem {name!r} of {model!r} more than once; keep one.")
        run.cells[name] = [row[metric]]
        run.facts[name] = _told(row, options)
    return list(runs.values())


def _told(row: dict[str, Any], options: Options) -> dict[str, Any]:
    """What a row says of its problem: what was asked for, and what usually tells of one."""
    return {key: row[key] for key in TOLD if key in row} | options.told(row)
