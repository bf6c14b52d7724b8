"""Samples that lm-evaluation-harness writes with `--log_samples`.

One file a model and task, `MODEL/samples_TASK_TIME.jsonl`, one line a document and filter. The tasks of a folder
are pooled (MMLU alone is 57 files), so that an example's id is `task/doc_id`. What is read is the harness's own
verdict, a metric that is 0 or 1, or a score where one was asked for. Tasks may have metrics and filters of their own:
`,strict-match` reads each task by its usual metric, with that filter where the task was scored with several.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heldout.checks import plain_name
from heldout.errors import InputError
from heldout.predictions.keys import LONGEST_TEXT, TEXTS, Options, digest_column, digest_of
from heldout.predictions.raw import read_json_file, read_lines
from heldout.predictions.runs import Run, table_of_runs
from heldout.predictions.table import Predictions
from heldout.predictions.values import id_text, listing

FILE_NAME = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[\d.:-]+)\.jsonl")
UNFILTERED = "none"
DOCUMENT = "doc"
NUMBER = re.compile(
    r"(^|_)(id|ids|idx|index|hash|uuid|url|key|number)$"
)  # names of fields that only tell documents apart
PREFERRED = ("acc", "exact_match")  # tried in this order; else the only metric that is 0 or 1


def is_sample(row: Any) -> bool:
    """Whether a line is one of the harness's."""
    return isinstance(row, dict) and "doc_id" in row and bool(row.keys() & {"resps", "filtered_resps"})


def first_filter(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each document once, whatever filters it was scored with."""
    return list({row["doc_id"]: row for row in reversed(rows)}.values())[::-1]


def sample_files(folder: Path) -> list[Path]:
    """Sample files of a folder, at any depth."""
    return sorted(folder.rglob("samples_*.jsonl"))


def read(files: Sequence[Path], options: Options, *, source: str) -> Predictions:
    """One table from the sample files of one or several models."""
    choice = Choice(options.metric)
    options.use("metric")
    options.chosen_tasks([task_of(path) for path in files], source=source)
    hashes: dict[str, tuple[str, str]] = {}
    texts = options.beside(DOCUMENT)
    runs = []
    for path in files:
        model, task = _model_and_task(path)
        if not options.exclude.keeps(model) or not options.may_choose(task):
            continue
        cells: dict[str, list[Any]] = {}
        facts: dict[str, dict[str, Any]] = {}
        rows, scored_by = choice.rows(path)
        for row in rows:
            name = id_text(row["doc_id"], f"{path.name}: a document")
            if name in cells:
                raise InputError(f"{path.name} has the document {name} more than once; keep one run per file.")
            cells[name] = [row["mark"]]
            facts[name] = told_facts(row, task, options, texts=texts)
            seen = hashes.setdefault(f"{task}/{name}", (model, row.get("doc_hash") or ""))
            if seen[1] != (row.get("doc_hash") or ""):
                raise InputError(
                    f"{source}: the example {f'{task}/{name}'!r} is another document for {model!r} than for "
                    f"{seen[0]!r}; run all models on the same version of the data."
                )
        runs.append(Run(model=model, task=task, cells=cells, facts=facts, path=path, scored_by=scored_by))
    if not runs:
        options.exclude.kept(())
    choice.check(source)
    return table_of_runs(runs, options, source=source)


def find_runs(files: Sequence[Path], options: Options, *, source: str) -> dict[str, dict[str, Path]]:
    """Sample files by model and task, one for each."""
    runs: dict[str, dict[str, Path]] = {}
    for path in files:
        model, task = _model_and_task(path)
        if not options.exclude.keeps(model):
            continue
        other = runs.setdefault(model, {}).setdefault(task, path)
        if other != path:
            raise InputError(
                f"{source}: {other.name} and {path.name} are two runs of {model!r} on the task "
                f"{task!r}; keep one of them."
            )
    options.exclude.kept(runs)
    return runs


def told_facts(row: dict[str, Any], task: str, options: Options, *, texts: bool) -> dict[str, Any]:
    """Fields of a document that were asked for; what it asks, and a digest of all that it says, its number aside."""
    doc = row["doc"] if isinstance(row.get("doc"), dict) else {}
    facts = options.told({"task": task, **doc})
    said = {key: value for key, value in doc.items() if not NUMBER.search(plain_name(key))}
    if not texts or not said:
        return facts
    return {**facts, DOCUMENT: _asked(said)[:LONGEST_TEXT], digest_column(DOCUMENT): digest_of(said)}


def _asked(said: dict[str, Any]) -> str:
    """What a document asks: its texts under usual names, else all that is text, else everything."""
    texts = {key: value.strip() for key, value in said.items() if isinstance(value, str) and value.strip()}
    asked = [value for key, value in texts.items() if plain_name(key) in TEXTS]
    if texts:
        return " | ".join(asked or texts.values())
    return json.dumps(said, ensure_ascii=False, default=str)


def task_of(path: Path) -> str:
    """The task of a sample file."""
    return _model_and_task(path)[1]


def time_of(path: Path) -> str:
    """When a sample file was written, by its name; empty where that does not say."""
    match = FILE_NAME.fullmatch(path.name)
    return match["time"] if match else ""


def _model_and_task(path: Path) -> tuple[str, str]:
    """The harness names the folder by the model and the file by the task."""
    match = FILE_NAME.fullmatch(path.name)
    return path.resolve().parent.name, match["task"] if match else path.stem.removeprefix("samples_")


def model_of(path: Path) -> str:
    """The model of a sample file: by the results that the harness writes beside it, else by its folder."""
    told = results_of(path).get("model_name")
    return str(told) if told else _model_and_task(path)[0]


def results_of(path: Path) -> dict[str, Any]:
    """The results that were written with a sample file; empty where they are not there."""
    match = FILE_NAME.fullmatch(path.name)
    beside = path.with_name(f"results_{match['time']}.json") if match else path
    content = read_json_file(beside) if match and beside.is_file() else {}
    return content if isinstance(content, dict) else {}


def requests_of(row: dict[str, Any]) -> list[tuple[str, Any]]:
    """What the model was given, one for each request: a prompt, and its continuation or how to go on."""
    given = row.get("arguments")
    if isinstance(given, dict):
        each = [list(request.values()) if isinstance(request, dict) else request for request in given.values()]
    else:
        each = list(given or ())
    return [(str(request[0]), request[1] if len(request) > 1 else None) for request in each if request]


class Choice:
    """The metric and filter asked for (`metric,filter`, either may be empty), over files that may differ in both."""

    def __init__(self, wanted: str | None, *, option: str = "metric") -> None:
        self.option = option  # as it is called in Python and on the command line
        self.metric, _, self.filter = (wanted or "").partition(",")
        self.filters: dict[str, None] = {}  # all that were met

    def lines(self, path: Path) -> list[dict[str, Any]]:
        """Lines of the chosen filter, one per document."""
        rows = read_lines(path)
        if not rows or not all(is_sample(row) for row in rows):
            raise InputError(
                f"{path.name} holds no samples of lm-evaluation-harness (a `doc_id` and `resps` in each line)."
            )
        return self._of_one_filter(rows, path)

    def rows(self, path: Path) -> tuple[list[dict[str, Any]], str]:
        """The same, each with its `mark` by the chosen metric; and what that is, with its filter."""
        rows = self.lines(path)
        name = self.metric or default_metric(rows, path)
        if any(name not in row for row in rows):
            alone = f",{self.filter}" if self.filter else ""
            way_out = f'`metric="{alone}"`' if alone else "no metric"
            raise InputError(
                f"{path.name} has no metric {name!r} (`metric`); it has {listing(metrics_of(rows))}, so "
                f"choose one of these, or give {way_out} to read each task by its own."
            )
        broken = next((row for row in rows if not _is_number(row[name])), None)
        if broken is not None:
            raise InputError(
                f"{path.name}: the metric {name!r} of document {broken['doc_id']} is {broken[name]!r}; only metrics "
                f"that are numbers can be used, choose one of {listing(metrics_of(rows))} (`metric`)."
            )
        chosen = name if _filter(rows[0]) == UNFILTERED else f"{name}, {_filter(rows[0])}"
        for row in rows:
            row["mark"] = float(row[name])
        return rows, f"{chosen} (lm-evaluation-harness)"

    def _of_one_filter(self, rows: list[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
        filters = list(dict.fromkeys(_filter(row) for row in rows))
        self.filters |= dict.fromkeys(filters)
        if len(filters) == 1:
            return rows  # nothing to choose, as for a task pooled with others that have filters
        if self.filter in filters:
            return [row for row in rows if _filter(row) == self.filter]
        if self.filter:
            raise InputError(f"{path.name} has no filter {self.filter!r} (`{self.option}`); it has {listing(filters)}.")
        known = self.metric if self.option != "metric" or self.metric in metrics_of(rows) else ""
        raise InputError(
            f"{path.name} was scored with the filters {listing(filters)}; choose one with the {self.option}, such as "
            f'`{self.option}="{known},{filters[0]}"`.'
        )

    def check(self, source: str) -> None:
        """The filter must be that of some file."""
        if self.filter and self.filter not in self.filters:
            raise InputError(
                f"{source} has no filter {self.filter!r} (`{self.option}`); it has {listing(list(self.filters))}."
            )


def _filter(row: dict[str, Any]) -> str:
    return str(row.get("filter", UNFILTERED))


def is_mark(value: Any) -> bool:
    """Whether a metric says right or wrong."""
    return isinstance(value, (bool, int, float, np.number)) and value in (0, 1)


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.number)) and bool(np.isfinite(value))


def metrics_of(rows: list[dict[str, Any]]) -> list[str]:
    """Metrics of the rows; older versions do not list them."""
    first = rows[0]
    if isinstance(first.get("metrics"), list):
        return [str(name) for name in first["metrics"]]
    return [key for key, value in first.items() if key != "doc_id" and isinstance(value, (bool, int, float))]


def default_metric(rows: list[dict[str, Any]], path: Path) -> str:
    """The usual metric that says right or wrong."""
    usable = [name for name in metrics_of(rows) if all(is_mark(row.get(name)) for row in rows)]
    chosen = next((name for name in PREFERRED if name in usable), None)
    if chosen is None and len(usable) == 1:
        chosen = usable[0]
    if chosen is None:
        raise InputError(
            f"{path.name} has the metrics {listing(metrics_of(rows))}, of which {listing(usable) or 'none'} is 0 or 1 "
            "in every line; choose one with `metric`."
        )
    return chosen
