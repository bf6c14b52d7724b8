"""Result files of benchmark harnesses, and plain dictionaries of scores: JSON to runs.

- SWE-bench: the report of its harness (`MODEL.RUN.json`), which names every task; `results.json` of the leaderboard,
  which names the resolved ones only, so that the list of all tasks must be given; and `{task: resolved}`.
- Terminal-Bench: `results.json` of a run, one entry a trial; model and agent stand in `run_metadata.json` beside it.
- LiveCodeBench: `*_eval_all.json`, with the trials of each problem; and the leaderboard's
  `performances_*.json`, in percent.
- HELM: `per_instance_stats.json` of a run, with `run_spec.json` beside it.
- `{model: {task: score}}`, `{task: {model: score}}` (models_axis=1), `{task: score}`, `{model: [resolved tasks]}`.

A score may be a number, true or false, "3/5", a list of trials, or an object that has one of these under a usual name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heldout.errors import InputError
from heldout.predictions.keys import CORRECT, Options, plain_name
from heldout.predictions.raw import read_json_file
from heldout.predictions.runs import Run
from heldout.predictions.trials import COUNTED, PERCENT
from heldout.predictions.values import is_gap, listing

RESOLVED = ("resolved", "resolved_ids")
HELM_FILE, HELM_SPEC = "per_instance_stats.json", "run_spec.json"
HELM_METRICS = ("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match")
TERMINAL_METADATA = "run_metadata.json"
LEADERBOARD, RESULTS = "performances", "results.json"
GIVE_ALL = (
    "give the list of all tasks with all_ids= (--all-ids FILE: one id per line, a JSON list, or a table with ids), so "
    "that the unsolved ones count as such"
)


def harness_files(folder: Path) -> list[Path]:
    """Result files of a folder, at any depth; of files that sum up others below them only the topmost."""
    for pattern in (HELM_FILE, "*_eval_all.json", RESULTS):
        files = sorted(folder.rglob(pattern))
        if files:
            homes = {path.parent for path in files}
            return [path for path in files if not any(parent in homes for parent in path.parent.parents)]
    return []


def runs_of(content: Any, path: Path, options: Options) -> list[Run] | None:
    """What a JSON file says of its runs; None where it is of no layout that is known here."""
    if isinstance(content, list):
        return _runs_of_list(content, path, options)
    if not isinstance(content, dict) or not content:
        return None
    if _rows_with(content.get("results"), "task_id", "is_resolved"):
        return [_terminal_bench(content["results"], path, options)]
    if _rows_with(content.get(LEADERBOARD), "question_id", "model"):
        return _livecodebench_board(content[LEADERBOARD], path, options)
    key = next((key for key in RESOLVED if _are_ids(content.get(key))), None)
    if key is not None:
        return [_swe_bench(content, key, path, options)]
    if all(_are_ids(value) and value for value in content.values()) and not _known(content):
        return [_solved(str(model), ids, path, options) for model, ids in content.items()]
    if all(isinstance(value, dict) and value for value in content.values()):
        return _nested(content, path, options)
    if all(_is_score(value) for value in content.values()) and not _known(content):
        cells = {str(task): _trials(value, options, path, str(task)) for task, value in content.items()}
        return [Run(model=_model_name(path), task=None, cells=cells, path=path)]
    return None


def _runs_of_list(content: list[Any], path: Path, options: Options) -> list[Run] | None:
    if _rows_with(content, "instance_id", "stats"):
        return [_helm(content, path, options)]
    if _rows_with(content, "question_id", "graded_list"):
        return [_livecodebench(content, path, options)]
    return None


def _rows_with(rows: Any, *keys: str) -> bool:
    return bool(isinstance(rows, list) and rows and all(isinstance(r, dict) and r.keys() >= set(keys) for r in rows))


def _are_ids(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _known(content: dict[str, Any]) -> bool:
    """Whether an object names arrays by what they are, rather than models or tasks."""
    usual = {"predictions", "preds", "labels", "correct", "scores", "names", "models", "ids", "models_axis"}
    return any(plain_name(key) in usual for key in content)


def _model_name(path: Path) -> str:
    """A file is named by its model; one that every model has stands in a folder that is."""
    stem = path.name.removesuffix(".gz").removesuffix(".json")
    if stem not in ("results", "report", "eval_results", "per_instance_stats", "result"):
        return stem
    home = path.resolve().parent
    return home.parent.name if home.name in ("results", "eval", "evaluation") else home.name


# --- SWE-bench ------------------------------------------------------------------------------------------------------


def _swe_bench(content: dict[str, Any], key: str, path: Path, options: Options) -> Run:
    """Resolved tasks; the harness's report lists the others too, which its `total_instances` tells."""
    named = {name: value for name, value in content.items() if _are_ids(value) and name != "unremoved_images"}
    total = content.get("total_instances")
    listed = list(dict.fromkeys(task for value in named.values() for task in value))
    if options.all_ids is None and isinstance(total, int) and total == len(listed):
        return _solved(_model_name(path), content[key], path, options, every=sorted(listed))
    counted = f" (it names {len(listed):,} of {total:,})" if isinstance(total, int) else ""
    return _solved(_model_name(path), content[key], path, options, counted=counted)


def _solved(
    model: str,
    resolved: list[str],
    path: Path,
    options: Options,
    *,
    every: list[str] | None = None,
    counted: str = "",
) -> Run:
    """A list of solved tasks among all of them."""
    known = options.all_ids if every is None else tuple(every)
    if known is None:
        raise InputError(f"{path.name} lists only the tasks that {model!r} solved{counted}; {GIVE_ALL}.")
    solved = set(resolved)
    strange = sorted(solved - set(known))
    if strange:
        raise InputError(
            f"{path.name}: {model!r} solved {listing(strange)}, which {'is' if len(strange) == 1 else 'are'} not among "
            f"the {len(known):,} tasks of all_ids (--all-ids); give the list of the same split."
        )
    return Run(model=model, task=None, cells={name: [name in solved] for name in known}, path=path)


# --- Terminal-Bench -------------------------------------------------------------------------------------------------


def _terminal_bench(rows: list[dict[str, Any]], path: Path, options: Options) -> Run:
    """One entry a trial; a trial without a verdict is not resolved, as Terminal-Bench counts it."""
    cells: dict[str, list[Any]] = {}
    facts: dict[str, dict[str, Any]] = {}
    for row in rows:
        name = str(row["task_id"])
        cells.setdefault(name, []).append(bool(row["is_resolved"]))
        facts[name] = options.told({key: value for key, value in row.items() if key != "task_id"})
    beside = path.parent / TERMINAL_METADATA
    model = _model_name(path)
    if beside.is_file():
        told = read_json_file(beside)
        agent, of = (told.get("agent_name"), told.get("model_name")) if isinstance(told, dict) else (None, None)
        model = f"{agent} ({of})" if agent and of else str(agent or of or model)
    return Run(model=model, task=None, cells=cells, facts=facts, path=path)


# --- LiveCodeBench --------------------------------------------------------------------------------------------------


def _livecodebench(rows: list[dict[str, Any]], path: Path, options: Options) -> Run:
    """`*_eval_all.json`: the folder is the model's, `graded_list` its trials."""
    cells, facts = {}, {}
    for row in rows:
        name = str(row["question_id"])
        cells[name] = list(row["graded_list"])
        facts[name] = _told(row, options)
    return Run(model=path.resolve().parent.name, task=None, cells=cells, facts=facts, path=path)


def _livecodebench_board(rows: list[dict[str, Any]], path: Path, options: Options) -> list[Run]:
    """The leaderboard's own file: pass@1 in percent, one entry a model and problem."""
    metric = options.metric or "pass@1"
    lacking = next((row for row in rows if metric not in row), None)
    if lacking is not None:
        raise InputError(f"{path.name} has no {metric!r} (--metric); it has {listing(list(lacking), len(lacking))}.")
    if options.scale is None and max(float(row[metric]) for row in rows) <= 1:
        raise InputError(
            f"{path.name}: {metric} is in percent in files of this kind, but none is above 1; say which it is with "
            'scale="percent" or scale=1 (--scale percent, --scale 1).'
        )
    runs: dict[str, Run] = {}
    for row in rows:
        model, name = str(row["model"]), str(row["question_id"])
        run = runs.setdefault(model, Run(model=model, task=None, cells={}, facts={}, path=path, scale=PERCENT))
        if name in run.cells:
            raise InputError(f"{path.name} has the problem {name!r} of {model!r} more than once; keep one.")
        run.cells[name] = [float(row[metric])]
        run.facts[name] = _told(row, options)
    return list(runs.values())


def _told(row: dict[str, Any], options: Options) -> dict[str, Any]:
    """What a row says of its problem: what was asked for, and what usually tells of one."""
    usual = {key: row[key] for key in ("difficulty", "platform", "contest_date", "date") if key in row}
    return usual | options.told(row)


# --- HELM -----------------------------------------------------------------------------------------------------------


def _helm(rows: list[dict[str, Any]], path: Path, options: Options) -> Run:
    """Statistics of each instance and trial, one of which is chosen; perturbed instances are left out."""
    model, task = _helm_run(path)
    values: dict[str, dict[str, list[Any]]] = {}
    for row in rows:
        if row.get("perturbation") is not None:
            continue
        for stat in row["stats"]:
            name = stat.get("name") or {}
            if name.get("perturbation") is None and stat.get("count"):
                mean = stat["mean"] if stat.get("mean") is not None else stat["sum"] / stat["count"]
                values.setdefault(str(name.get("name")), {}).setdefault(str(row["instance_id"]), []).append(mean)
    everywhere = {
        name for name, cells in values.items() if all(len(v) == len(next(iter(cells.values()))) for v in cells.values())
    }
    chosen = options.metric or next((name for name in HELM_METRICS if name in everywhere), None)
    if chosen not in values:
        said = f"no statistic {options.metric!r}" if options.metric else "none of the usual statistics"
        raise InputError(
            f"{path.parent.name}/{path.name} has {said}; choose one with metric= (--metric) of "
            f"{listing(sorted(values), len(values))}."
        )
    instances = dict.fromkeys(str(row["instance_id"]) for row in rows if row.get("perturbation") is None)
    cells = {name: values[chosen].get(name, [None]) for name in instances}
    return Run(model=model, task=task, cells=cells, path=path)


def _helm_run(path: Path) -> tuple[str, str]:
    """Model and scenario by `run_spec.json`, else by the folder's name."""
    name, model = path.resolve().parent.name, None
    spec = path.parent / HELM_SPEC
    if spec.is_file():
        told = read_json_file(spec)
        name = str(told.get("name", name))
        model = (told.get("adapter_spec") or {}).get("model")
    found = re.search(r"[:,]model=([^,]+)", name)
    task = re.sub(r"([:,])model(_deployment)?=[^,]+,?", r"\1", name).rstrip(":,")
    return str(model or (found[1] if found else name)), task


# --- dictionaries ---------------------------------------------------------------------------------------------------


def _nested(content: dict[str, dict[str, Any]], path: Path, options: Options) -> list[Run] | None:
    """{model: {task: score}}; {task: {model: score}} with the models on axis 1."""
    if not all(_is_score(value) for inner in content.values() for value in inner.values()):
        return None
    if options.models_axis == 1:
        models = dict.fromkeys(name for inner in content.values() for name in inner)
        content = {model: {task: inner[model] for task, inner in content.items() if model in inner} for model in models}
    elif _is_score(next(iter(content.values()))) and _score_key(next(iter(content.values()))) is not None:
        # {task: {"resolved": true, ...}}: one model
        cells = {str(task): _trials(value, options, path, str(task)) for task, value in content.items()}
        return [Run(model=_model_name(path), task=None, cells=cells, path=path)]
    runs = []
    for model, inner in content.items():
        cells = {str(task): _trials(value, options, path, str(task)) for task, value in inner.items()}
        runs.append(Run(model=str(model), task=None, cells=cells, path=path))
    return runs


def _score_key(value: Any) -> str | None:
    """The key of an object that holds its score."""
    if not isinstance(value, dict):
        return None
    spelled = {plain_name(str(key)): str(key) for key in value}
    return next((spelled[name] for name in CORRECT.usual + CORRECT.weak if name in spelled), None)


def _is_score(value: Any) -> bool:
    if isinstance(value, dict):
        key = _score_key(value)
        return key is not None and _is_score(value[key])
    if isinstance(value, list):
        return bool(value) and all(v is None or isinstance(v, (bool, int, float)) for v in value)
    return value is None or isinstance(value, (bool, int, float)) or bool(COUNTED.fullmatch(str(value)))


def _trials(value: Any, options: Options, path: Path, name: str) -> list[Any]:
    """The trials that a score stands for."""
    if isinstance(value, dict):
        key = options.correct_key if options.correct_key in value else _score_key(value)
        return _trials(value[key], options, path, name)
    if isinstance(value, list):
        return [None if is_gap(v) else v for v in value]
    if isinstance(value, str):
        return list(_counted(value, path, name))
    return [None if is_gap(value) else value]


def _counted(text: str, path: Path, name: str) -> Iterator[bool]:
    """k successes of n."""
    match = COUNTED.fullmatch(text)
    assert match is not None
    successes, trials = int(match[1]), int(match[2])
    if successes > trials:
        raise InputError(f"{path.name}: {name!r} has {successes} successes of {trials} trials.")
    return (i < successes for i in range(trials))
