"""Result files of benchmark harnesses, and plain dictionaries of scores: JSON to runs.

Which file is whose; `swe_bench`, `terminal_bench` (with Harbor), `livecodebench` and `helm` read theirs. Dictionaries
are `{model: {task: score}}`, `{task: {model: score}}` (models_axis=1), `{task: score}` and `{model: [solved tasks]}`.
A score may be a number, true or false, "3/5", a list of trials, or an object that has one of these under a usual name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heldout.checks import EXAMPLE, LABEL, plain_name
from heldout.errors import InputError
from heldout.predictions import helm, livecodebench, swe_bench, terminal_bench
from heldout.predictions.keys import CORRECT, Options
from heldout.predictions.raw import file_name
from heldout.predictions.runs import Run, model_name
from heldout.predictions.text_cells import is_score
from heldout.predictions.trials import COUNTED
from heldout.predictions.values import is_gap, listing

# What to look for in a folder, in this order.
PATTERNS = (helm.FILE, "*_eval_all.json", "results.json", terminal_bench.RESULT, swe_bench.REPORT)
LEADERBOARD = "performances"
MAY_BE_MODELS = {"target", "targets", "gold", "reference", "references"}  # names of labels


def harness_files(folder: Path) -> list[Path]:
    """Result files of a folder, at any depth; of files that sum up others below them only the topmost."""
    for pattern in PATTERNS:
        files = sorted(folder.rglob(pattern))
        if files:
            homes = {path.parent for path in files}
            return [path for path in files if not any(parent in homes for parent in path.parent.parents)]
    return []


def runs_of(content: Any, path: Path, options: Options) -> list[Run] | None:
    """What a JSON file says of its runs; None where it is of no layout that is known here."""
    if isinstance(content, list):
        return _runs_of_list(content, path, options)
    if not isinstance(content, dict) or not content or columns_of(content, options, path) is not None:
        return None
    if _rows_with(content.get("results"), "task_id", "is_resolved"):
        return [terminal_bench.run(content["results"], path, options)]
    if terminal_bench.is_trial(content):
        return [terminal_bench.trial(content, path, options)]
    if terminal_bench.is_job(content):
        return terminal_bench.job(content, path, options)
    if _rows_with(content.get(LEADERBOARD), "question_id", "model"):
        return livecodebench.board(content[LEADERBOARD], path, options)
    if swe_bench.resolved_key(content) is not None:
        return [swe_bench.report(content, path, options)]
    if all(swe_bench.are_ids(value) and value for value in content.values()) and not _known(content):
        return [swe_bench.solved_tasks(str(model), ids, path, options) for model, ids in content.items()]
    if all(isinstance(value, dict) and value for value in content.values()):
        return _nested(content, path, options)
    if all(_holds_score(value, options) for value in content.values()) and not _known(content):
        return [_of_one_model(content, path, options)]
    return None


def columns_of(content: dict[str, Any], options: Options, path: Path) -> dict[str, list[Any]] | None:
    """The columns of an object that has one a key, as `DataFrame.to_json` and `to_dict` write them; None of others.

    One is called as labels or ids are: models and tasks are not.

    Examples
    --------
    >>> path = Path("t.json")
    >>> columns_of({"label": [0, 1], "a": [0, 0]}, Options(), path)
    {'label': [0, 1], 'a': [0, 0]}
    >>> columns_of({"label": {"7": 0, "9": 1}, "a": {"7": 0, "9": 0}}, Options(), path)
    {'index': ['7', '9'], 'label': [0, 1], 'a': [0, 0]}
    >>> columns_of({"7": {"label": 0, "a": 0}, "9": {"label": 1, "a": 0}}, Options(), path)
    {'index': ['7', '9'], 'label': [0, 1], 'a': [0, 0]}
    >>> columns_of({"a": {"x": 0, "y": 1}, "b": {"x": 0, "y": 0}}, Options(), path) is None
    True
    """
    if content and all(isinstance(row, dict) and row for row in content.values()):
        if _are_rows(content, options):
            content = {key: {row: cells[key] for row, cells in content.items()} for key in next(iter(content.values()))}
        _check_label(content, options, path)
    names = {plain_name(str(key)) for key in content}
    if not names & {*LABEL.usual, *EXAMPLE.usual} or options.models_axis is not None:
        return None
    columns = list(content.values())
    if all(isinstance(column, list) for column in columns):
        flat = not any(isinstance(cell, list) for column in columns for cell in column)
        return dict(content) if flat and columns[0] and len(set(map(len, columns))) == 1 else None
    if all(isinstance(column, dict) and column and column.keys() == columns[0].keys() for column in columns):
        index = {} if names & {*EXAMPLE.usual} else {"index": list(columns[0])}
        return index | {key: [column[row] for row in columns[0]] for key, column in content.items()}
    return None


def _check_label(columns: dict[str, dict[str, Any]], options: Options, path: Path) -> None:
    """A model, or an example, may be called `reference`; of pandas' own numbers of rows it is the label."""
    rows = list(next(iter(columns.values())))
    names = [key for key in columns if plain_name(str(key)) in MAY_BE_MODELS]
    known = {plain_name(str(key)) for key in columns} & ({*LABEL.usual, *EXAMPLE.usual} - MAY_BE_MODELS)
    settled = options.models_axis is not None or options.labels_key in columns
    if not names or known or settled or rows == [str(i) for i in range(len(rows))]:
        return
    if all(cell in (0, 1, None) for column in columns.values() for cell in column.values()):
        raise InputError(
            f"{file_name(path)} has {names[0]!r} among {listing(list(columns))}, each with 0 and 1 on {listing(rows)}: "
            f"say that it holds the labels with `labels_key={names[0]!r}`, or that all are models, or examples of "
            "models, with `models_axis=0`."
        )


def _are_rows(content: dict[str, dict[str, Any]], options: Options) -> bool:
    """Whether an object has one row a key, as `DataFrame.to_json(orient="index")` writes it, with a label in each."""
    first = next(iter(content.values()))
    names = {plain_name(str(key)) for key in first}
    labelled = bool(names & {*LABEL.usual}) or options.labels_key in first
    if not labelled or options.models_axis is not None or _score_key(first, options) is not None:
        return False
    return all(row.keys() == first.keys() for row in content.values())


def _runs_of_list(content: list[Any], path: Path, options: Options) -> list[Run] | None:
    if _rows_with(content, "instance_id", "stats"):
        return [helm.run(content, path, options)]
    if _rows_with(content, "question_id", "graded_list"):
        return [livecodebench.eval_all(content, path, options)]
    return None


def _rows_with(rows: Any, *keys: str) -> bool:
    return bool(isinstance(rows, list) and rows and all(isinstance(r, dict) and r.keys() >= set(keys) for r in rows))


def _known(content: dict[str, Any]) -> bool:
    """Whether an object names arrays by what they are, rather than models or tasks."""
    usual = {"predictions", "preds", "labels", "correct", "scores", "names", "models", "ids", "models_axis"}
    return any(plain_name(key) in usual for key in content)


def _nested(content: dict[str, dict[str, Any]], path: Path, options: Options) -> list[Run] | None:
    """{model: {task: score}}; {task: {model: score}} with the models on axis 1; {task: {"resolved": true, ...}}."""
    keys = {_score_key(inner, options) for inner in content.values()}
    if None not in keys and options.models_axis is None and all(_holds_score(v, options) for v in content.values()):
        return [_of_one_model(content, path, options)]
    if not all(_holds_score(value, options) for inner in content.values() for value in inner.values()):
        return None
    options.use("models_axis")
    if options.models_axis == 1:
        models = dict.fromkeys(name for inner in content.values() for name in inner)
        content = {model: {task: inner[model] for task, inner in content.items() if model in inner} for model in models}
    runs = []
    for model, inner in content.items():
        cells = {str(task): _trials(value, options, path, str(task)) for task, value in inner.items()}
        runs.append(Run(model=str(model), task=None, cells=cells, path=path))
    return runs


def _of_one_model(content: dict[str, Any], path: Path, options: Options) -> Run:
    """{task: score}: the file is the model's, or stands in a folder that is."""
    cells = {str(task): _trials(value, options, path, str(task)) for task, value in content.items()}
    one = swe_bench.is_report_of_one(content, path)
    model = path.resolve().parent.parent.name if one else model_name(path)
    return Run(model=model, task=None, cells=cells, path=path, partial=one)


def _score_key(value: Any, options: Options) -> str | None:
    """The key of an object that holds its score."""
    if not isinstance(value, dict):
        return None
    if options.correct_key in value:
        return options.correct_key
    spelled = {plain_name(str(key)): str(key) for key in value}
    return next((spelled[name] for name in CORRECT.usual + CORRECT.weak if name in spelled), None)


def _holds_score(value: Any, options: Options) -> bool:
    """Whether a value is a score, a list of trials, or an object that has one of these."""
    if isinstance(value, dict):
        key = _score_key(value, options)
        return key is not None and _holds_score(value[key], options)
    if isinstance(value, list):
        return bool(value) and all(is_score(v) for v in value)
    return is_score(value)


def _trials(value: Any, options: Options, path: Path, name: str) -> list[Any]:
    """The trials that a score stands for."""
    if isinstance(value, dict):
        key = _score_key(value, options)
        if key == options.correct_key:
            options.use("correct_key")
        return _trials(value[key or ""], options, path, name)
    if isinstance(value, list):
        return [trial for v in value for trial in _trials(v, options, path, name)]
    if isinstance(value, str) and COUNTED.fullmatch(value):
        return list(_counted(value, path, name))
    return [None if is_gap(value) or value == "" else value]


def _counted(text: str, path: Path, name: str) -> Iterator[bool]:
    """k successes of n."""
    match = COUNTED.fullmatch(text)
    assert match is not None
    successes, trials = int(match[1]), int(match[2])
    if successes > trials:
        raise InputError(f"{file_name(path)}: {name!r} has {successes} successes of {trials} trials.")
    return (i < successes for i in range(trials))
