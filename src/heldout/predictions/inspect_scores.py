"""Scores of single samples in logs of inspect_ai: right or wrong, numbers, and where the log holds them likelihoods.

A log holds the likelihood of a target, or of a text, where it was scored by `target_perplexity` or `perplexity`, whose
value is the mean negative log-likelihood of a token. The log-probabilities of what a model wrote itself say nothing of
the target, and are not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heldout.checks import plain_name
from heldout.errors import InputError
from heldout.predictions.inspect_logs import choose, each_value, find_runs, scorers_of, told_facts
from heldout.predictions.keys import Options, as_columns
from heldout.predictions.score_kinds import BY_NAME, CORRECT, PREFERRED, TASK
from heldout.predictions.values import listing

NLL_SCORERS = ("target_perplexity", "perplexity")


def read(files: Sequence[Path], wanted: str | None, options: Options, *, source: str) -> dict[str, Any]:
    """What `Scores` holds, but the direction: one model's scores over its tasks."""
    runs = find_runs(files, options, source=source)
    if len(runs) > 1:
        raise InputError(f"{source} holds logs of {len(runs)} models, {listing(list(runs))}; give the log of one.")
    ((model, tasks),) = runs.items()
    values: dict[str, Any] = {}
    told: list[dict[str, Any]] = []
    names = set()
    for task, (path, samples) in tasks.items():
        facts = told_facts(samples, task, options)
        scorer, key, chosen = _choose(samples, wanted, path)
        for name, value in each_value(chosen, scorer, path):
            values[f"{task}/{name}"], used = _part(value, key, name, scorer, path)
            told.append({TASK: task, **facts[name]})
            names.add(used)
    if not values:
        raise InputError(f"{source}: the log of {model!r} has no samples.")
    if len(names) > 1:
        raise InputError(
            f"{source}: its tasks were scored differently, by {listing(sorted(names))}; choose with `score`."
        )
    missing = [name for name, value in values.items() if value is None]
    if missing:
        raise InputError(
            f"{source}: {len(missing):,} of {len(values):,} samples have no score, the first {missing[0]!r}; run them "
            "again (inspect eval-retry), or give a table of those that all models have."
        )
    (name,) = names
    marks = all(value in (0, 1) for value in values.values())
    return {
        "values": [float(value) for value in values.values()],
        "kind": "loss" if name in NLL_SCORERS else CORRECT if marks and plain_name(name) not in BY_NAME else name,
        "ids": tuple(values),
        "columns": as_columns(told),
        "source": source,
        "name": model,
    }


def _choose(samples: list[dict[str, Any]], wanted: str | None, path: Path) -> tuple[str, str, list[dict[str, Any]]]:
    """Scorer, key of its value (empty for one value) and samples; unasked a likelihood, where one is there."""
    scorers = scorers_of(samples, path)
    name, comma, epoch = (wanted or "").partition(",")
    key = ""
    if not name:
        name = next((scorer for scorer in NLL_SCORERS if scorer in scorers), "")
    elif name not in scorers and "." in name:
        name, _, key = name.partition(".")
    scorer, chosen = choose(samples, f"{name}{comma}{epoch}" or None, path, option="score")
    return scorer, key, chosen


def _part(value: Any, key: str, sample: str, scorer: str, path: Path) -> tuple[float | None, str]:
    """One number, and what it goes by; of several the one asked for, else the kind that says most."""
    name = scorer
    if isinstance(value, dict):
        known = {BY_NAME[plain_name(k)]: k for k in reversed(list(value)) if plain_name(k) in BY_NAME}
        name = key or next((known[kind] for kind in PREFERRED if kind in known), "")
        if name not in value:
            first = next(iter(value), "")
            raise InputError(
                f"{path.name}: {scorer!r} gives several scores, {listing(list(value))}; choose one with "
                f'`score="{scorer}.{first}"`.'
            )
        value = value[name]
    elif key:
        raise InputError(f"{path.name}: {scorer!r} gives one score, not one called {key!r} (`score`).")
    if value is None or isinstance(value, (bool, int, float)):
        return value, name
    raise InputError(
        f"{path.name}: the sample {sample!r} has the score {value!r} by {scorer!r}, which is not a number; choose "
        "another with `score`."
    )
