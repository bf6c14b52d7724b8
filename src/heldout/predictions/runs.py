"""Runs of a harness to one table: trials of one example in one cell, tasks pooled, models side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.predictions.fields import naming_cells
from heldout.predictions.item_columns import as_column, told_apart
from heldout.predictions.join import another_example, not_shared, scored_differently, side_by_side
from heldout.predictions.keys import SCORED, Options, as_columns
from heldout.predictions.raw import COMMON_NAMES, file_name, stem_of
from heldout.predictions.table import Predictions, make_table
from heldout.predictions.text_cells import TRUTH
from heldout.predictions.trials import Scale, Scaling
from heldout.predictions.values import ABSENT, is_gap, listing, number_of

GIVE_ALL = (
    "give the list of all tasks with `all_ids` (one id per line, a JSON list, or a table with ids), so that the "
    "unsolved ones count as such"
)
TASK = "task"  # the column that names the task of each example, where there are several


@dataclass(frozen=True, kw_only=True)
class Run:
    """One model on one task.

    Parameters
    ----------
    model : str
    task : str or None
        None where a file has no tasks.
    cells : dict
        Scores of the trials of each example, by its id; None is a trial that was not run.
    facts : dict
        What else is known of the examples, by id.
    path : Path
        Where it was read.
    scale
        What its scores run from and to, where the layout says so.
    trial : str or None
        The one trial that a file holds, where a run is a folder of one for each.
    partial : bool
        What it does not name is unsolved: the list of all examples must be given.
    scored_by : str or None
        The metric that was chosen, and by what it was computed; None where there is one only.
    """

    model: str
    task: str | None
    cells: dict[str, list[Any]]
    path: Path
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    scale: Scaling = None
    trial: str | None = None
    partial: bool = False
    scored_by: str | None = None


def table_of_runs(runs: Iterable[Run], options: Options, *, source: str) -> Predictions:
    """One table of all runs; an example's id is `task/id` where there are tasks."""
    kept = [run for run in _by_trial(runs) if options.exclude.keeps(run.model)]
    options.exclude.kept([run.model for run in kept])
    kept = _of_tasks(kept, options, source=source)
    _check_scale(kept, options, source=source)
    by_model: dict[str, dict[str | None, Run]] = {}
    for run in kept:
        tasks = by_model.setdefault(run.model, {})
        tasks[run.task] = _merged(tasks[run.task], run, options, source=source) if run.task in tasks else run
    for tasks in by_model.values():
        tasks.update({task: _completed(run, options, source=source) for task, run in tasks.items() if run.partial})
    _check_items(by_model, options, source=source)
    several = len({run.task for run in kept}) > 1
    tables = [
        _table(model, list(tasks.values()), options, source, several=several) for model, tasks in by_model.items()
    ]
    return side_by_side(tables, options.codes, source=source)


def _of_tasks(runs: list[Run], options: Options, *, source: str) -> list[Run]:
    """Runs of the tasks that were asked for."""
    if not options.tasks:
        return runs
    names = list(dict.fromkeys(run.task for run in runs if run.task is not None))
    if not names:
        raise InputError(f"{source} names no tasks, so that `task={options.tasks[0]!r}` chooses nothing.")
    wanted = options.chosen_tasks(names, source=source)
    return [run for run in runs if run.task in wanted]


def _by_trial(runs: Iterable[Run]) -> list[Run]:
    """Files of one trial each put together by model and run; a trial that comes twice counts once."""
    whole: list[Run] = []
    parts: dict[tuple[str, Path], Run] = {}
    seen: set[tuple[str, Path, str]] = set()
    for run in runs:
        if run.trial is None:
            whole.append(run)
            continue
        key = run.model, run.path.parent.parent
        if (*key, run.trial) in seen:
            continue
        seen.add((*key, run.trial))
        into = parts.setdefault(
            key, Run(model=run.model, task=run.task, cells={}, path=run.path, scored_by=run.scored_by)
        )
        for name, trials in run.cells.items():
            into.cells.setdefault(name, []).extend(trials)
            into.facts[name] = run.facts.get(name, {})
    return [*whole, *parts.values()]


def _check_scale(runs: Sequence[Run], options: Options, *, source: str) -> None:
    """A scale that was declared, for all runs of a model at once: on one task it may have next to nothing."""
    if options.scale is None:
        return
    scale, largest = Scale(options.scale), dict[str, float]()
    for run in runs:
        values = (v for trials in run.cells.values() for v in trials if not isinstance(v, bool))
        numbers = [number for number in map(number_of, values) if number is not None]
        if numbers:
            largest[run.model] = max(largest.get(run.model, 0.0), *numbers)
    if largest:
        options.use("scale")
    with naming_cells(source, tuple(largest), None):
        for row, score in enumerate(largest.values()):
            scale.check_model(row, score, what="scores")


def _merged(first: Run, second: Run, options: Options, *, source: str) -> Run:
    """Two runs of one model on one task: trials where that was said; else other examples, or the same predictions."""
    cells = {name: list(trials) for name, trials in first.cells.items()}
    common = [name for name in second.cells if name in cells]
    apart = told_apart(*(_facts_of(run, common) for run in (first, second)))
    if apart is not None:
        names = f"{first.model} ({_path_name(first.path)})", f"{second.model} ({_path_name(second.path)})"
        example = common[apart.place] if first.task is None else f"{first.task}/{common[apart.place]}"
        raise another_example(source, apart, names, example, n=len(common))
    if common:
        options.use("repeats")
    if options.repeats_are_trials:
        for name, trials in second.cells.items():
            cells.setdefault(name, []).extend(trials)
    else:
        differ = next((name for name in common if second.cells[name] != cells[name]), None)
        if differ is not None:
            on = "" if first.task is None else f" on the task {first.task!r}"
            raise InputError(
                f"{source}: {_path_name(first.path)} and {_path_name(second.path)} are two runs of {first.model!r}{on},"
                f" and not the same (they differ on {differ!r}); keep one of them, or count them as trials with "
                '`repeats="trials"`.'
            )
        cells |= {name: list(trials) for name, trials in second.cells.items()}
    if first.scored_by is not None and second.scored_by is not None and first.scored_by != second.scored_by:
        names = f"{first.model} ({_path_name(first.path)})", f"{second.model} ({_path_name(second.path)})"
        raise scored_differently(source, names, (first.scored_by, second.scored_by), first.task)
    return Run(
        model=first.model, task=first.task, cells=cells, path=first.path,
        facts={**second.facts, **first.facts}, scale=first.scale, partial=first.partial, scored_by=first.scored_by,
    )  # fmt: skip


def _facts_of(run: Run, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    facts = as_columns([run.facts.get(name, {}) for name in names])
    return {key: as_column(values, len(names), key) for key, values in facts.items()}


def _completed(run: Run, options: Options, *, source: str) -> Run:
    """The run with its unsolved examples, of which the list of all examples tells."""
    options.use("all_ids")
    if options.all_ids is None:
        raise InputError(
            f"{source}: there is a {run.path.name} for each task of {run.model!r} that could be graded, "
            f"{len(run.cells):,} of them, and none for a task without a patch or with an error; {GIVE_ALL}."
        )
    strange = sorted(run.cells.keys() - set(options.all_ids))
    if strange:
        raise InputError(
            f"{source}: {run.model!r} was run on {listing(strange)}, which {'is' if len(strange) == 1 else 'are'} not "
            f"among the {len(options.all_ids):,} tasks of `all_ids`; give the list of the same split."
        )
    return replace(run, cells={name: run.cells.get(name, [False]) for name in options.all_ids})


def model_name(path: Path) -> str:
    """A file is named by its model; one that every model has stands in a folder that is."""
    if f"{stem_of(path)}.json" not in COMMON_NAMES:
        return path.name.removesuffix(".gz").removesuffix(".json")
    home = path.resolve().parent
    return home.parent.name if home.name in ("results", "eval", "evaluation") else home.name


def _path_name(path: Path) -> str:
    name = file_name(path)
    return name if "/" in name else "/".join(path.parts[-2:])


def _check_items(by_model: dict[str, dict[str | None, Run]], options: Options, *, source: str) -> None:
    """A task of one name must have the same examples for every model."""
    if ABSENT in options.codes:
        return
    first: dict[str | None, Run] = {}
    for tasks in by_model.values():
        for name, run in tasks.items():
            other = first.setdefault(name, run)
            if name is None or other.cells.keys() == run.cells.keys():
                continue
            where = f"{source}: the models have different examples under the task {name!r}"
            raise not_shared(where, (other.model, run.model), (other.cells, run.cells))


def _table(model: str, runs: Sequence[Run], options: Options, source: str, *, several: bool) -> Predictions:
    """One model over its tasks."""
    cells: dict[str, list[float | None]] = {}
    facts: list[dict[str, Any]] = []
    for run in runs:
        scale = Scale(options.scale if options.scale is not None else run.scale)
        for name, trials in run.cells.items():
            example = name if run.task is None else f"{run.task}/{name}"
            cells[example] = [_score(value, scale, run, name) for value in trials]
            told = run.facts.get(name, {})
            named = {TASK: run.task} if several and run.task is not None else {}
            scored = {} if run.scored_by is None else {SCORED: run.scored_by}
            facts.append({**named, **told, **scored})
    if not cells:
        raise InputError(f"{source}: the run of {model!r} has no samples.")
    return trial_table(list(cells.values()), names=[model], ids=cells, source=source, columns=as_columns(facts))


def trial_table(cells: Sequence[Sequence[float | None]], **rest: Any) -> Predictions:
    """One model's row from the trials of each of its examples, of which some may not have been run."""
    most = max(map(len, cells), default=1)
    if most <= 1:
        single: Any = [[trials[0] if trials else None for trials in cells]]
        return make_table(scores=single, **rest)
    padded = np.full((1, len(cells), most), np.nan)
    for i, trials in enumerate(cells):
        padded[0, i, : len(trials)] = [np.nan if value is None else value for value in trials]
    return make_table(scores=padded, **rest)


def _score(value: Any, scale: Scale, run: Run, name: str) -> float | None:
    if is_gap(value):
        return None
    if isinstance(value, bool) or (isinstance(value, str) and value.lower() in TRUTH):
        return float(TRUTH[str(value).lower()])
    low, high = scale.ends
    number = number_of(value)
    if number is None:
        raise InputError(
            f"{file_name(run.path)}: {run.model!r} has {value!r} as its score of {name!r}; a number, true or false is "
            "needed."
        )
    if not low <= number <= high:
        raise InputError(
            f"{file_name(run.path)}: {name!r} has the score {number:g}, outside {low:g} to {high:g}; say what scores "
            'run from and to with `scale="percent"` or `scale="1:5"`, or choose another '
            "`metric`."
        )
    return (number - low) / (high - low)
