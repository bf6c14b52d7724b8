"""Results of HELM: `per_instance_stats.json` of a run, with `run_spec.json` beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from heldout.errors import InputError
from heldout.predictions.keys import Options
from heldout.predictions.raw import file_name, read_json_file
from heldout.predictions.runs import Run
from heldout.predictions.values import id_text, listing, number_of

FILE, SPEC = "per_instance_stats.json", "run_spec.json"
METRICS = ("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match")


def run(rows: list[dict[str, Any]], path: Path, options: Options) -> Run:
    """Statistics of each instance and trial, one of which is chosen; perturbed instances are left out."""
    options.use("metric")
    model, task = _model_and_task(path)
    values: dict[str, dict[str, list[Any]]] = {}
    instances: dict[str, None] = {}
    for i, row in enumerate(rows):
        if row.get("perturbation") is not None:
            continue
        instance = id_text(row["instance_id"], f"{file_name(path)}: row {i + 1}")
        instances[instance] = None
        if not isinstance(row["stats"], list):
            raise _strange(row["stats"], instance, path)
        for stat in row["stats"]:
            name = stat.get("name") if isinstance(stat, dict) else None
            if not isinstance(name, dict):
                raise _strange(stat, instance, path)
            if name.get("perturbation") is None and stat.get("count"):
                values.setdefault(str(name.get("name")), {}).setdefault(instance, []).append(
                    _mean(stat, instance, path)
                )
    everywhere = {
        name for name, cells in values.items() if all(len(v) == len(next(iter(cells.values()))) for v in cells.values())
    }
    chosen = options.metric or next((name for name in METRICS if name in everywhere), None)
    if chosen not in values:
        said = f"no statistic {options.metric!r}" if options.metric else "none of the usual statistics"
        raise InputError(
            f"{file_name(path)} has {said}; choose one with `metric` of {listing(sorted(values), len(values))}."
        )
    cells = {name: values[chosen].get(name, [None]) for name in instances}
    return Run(model=model, task=task, cells=cells, path=path, scored_by=f"{chosen} (HELM)")


def _mean(stat: dict[str, Any], instance: str, path: Path) -> float:
    """The mean of a statistic, which older files leave to be computed."""
    mean, total, count = (number_of(stat.get(key)) for key in ("mean", "sum", "count"))
    if mean is None and total is not None and count:
        mean = total / count
    if mean is None:
        raise _strange(stat, instance, path)
    return mean


def _strange(found: Any, instance: str, path: Path) -> InputError:
    return InputError(
        f"{file_name(path)}: the instance {instance!r} has a statistic that is not as HELM writes it, "
        f"{str(found)[:60]!r}: a 'name', a 'count', and a 'mean' or a 'sum' are needed."
    )


def _model_and_task(path: Path) -> tuple[str, str]:
    """Model and scenario by `run_spec.json`, else by the folder's name."""
    name, model = path.resolve().parent.name, None
    spec = path.parent / SPEC
    told = read_json_file(spec) if spec.is_file() else None
    if isinstance(told, dict):
        name = str(told.get("name", name))
        adapter = told.get("adapter_spec")
        model = adapter.get("model") if isinstance(adapter, dict) else None
    found = re.search(r"[:,]model=([^,]+)", name)
    task = re.sub(r"([:,])model(_deployment)?=[^,]+,?", r"\1", name).rstrip(":,")
    return str(model or (found[1] if found else name)), task
