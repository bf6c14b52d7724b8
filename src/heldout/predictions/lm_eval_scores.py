"""Scores of single documents in samples of lm-evaluation-harness: margins, log-likelihoods, metrics.

A multiple-choice document holds the log-likelihood of every option. Its margin is that of the target less the log of
the sum of the others' likelihoods: the log-odds of the target, among the options. Which option is the target stands
there by number or by text; where the log also says whether the model was right, the reading must agree with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from heldout.checks import plain_name
from heldout.errors import InputError
from heldout.predictions.keys import Options, as_columns
from heldout.predictions.lm_eval import DOCUMENT, Choice, default_metric, find_runs, is_mark, metrics_of, told_facts
from heldout.predictions.score_kinds import BY_NAME, CORRECT, LIKELIHOOD, MARGIN, TASK
from heldout.predictions.values import listing, number_of

ROLLING = {"word_perplexity", "byte_perplexity", "bits_per_byte"}  # metrics of the likelihood of a whole text
UNCONDITIONAL = "acc_mutual_info"  # a metric for which the options are scored once more, without their question

Rows = list[dict[str, Any]]


def read(files: Sequence[Path], wanted: str | None, options: Options, *, source: str) -> dict[str, Any]:
    """What `Scores` holds, but the direction: one model's scores over its tasks."""
    runs = find_runs(files, options, source=source)
    if len(runs) > 1:
        raise InputError(
            f"{source} holds samples of {len(runs)} models, {listing(list(runs))}; give the folder or the file of one."
        )
    ((model, paths),) = runs.items()
    choice = Choice(wanted, option="score")
    tasks = {task: choice.lines(path) for task, path in paths.items()}
    choice.check(source)
    options_of = {task: [_likelihoods(row) for row in rows] for task, rows in tasks.items()}
    golds = {task: _golds(rows, options_of[task]) for task, rows in tasks.items()}
    kind = _kind(choice.metric, tasks, options_of, golds, source=source)
    values, correct, counts, told = [], [], [], {}
    texts = options.beside(DOCUMENT)
    for task, rows in tasks.items():
        values += _values(kind, rows, options_of[task], golds[task], paths[task])
        for row, lls, gold in zip(rows, options_of[task], golds[task], strict=True):
            example = f"{task}/{row['doc_id']}"
            if example in told:
                raise InputError(
                    f"{paths[task].name} has the document {row['doc_id']} more than once; keep one run in each file."
                )
            told[example] = {TASK: task, **told_facts(row, task, options, texts=texts)}
            correct.append(None if gold is None or len(lls) < 2 else int(np.argmax(lls)) == gold)
            counts.append(float(len(lls)) if len(lls) > 1 else np.nan)
    whole = not np.isnan(counts).any()
    return {
        "values": values,
        "kind": kind,
        "ids": tuple(told),
        "correct": np.array(correct, dtype=bool) if whole and None not in correct else None,
        "n_options": np.array(counts) if whole else None,
        "columns": as_columns(list(told.values())),
        "source": source,
        "name": model,
    }


def _likelihoods(row: dict[str, Any]) -> list[float]:
    """Log-likelihood of every option; of the only continuation, or the whole text; none for a written one."""
    responses = row.get("filtered_resps")
    if not isinstance(responses, list):
        return []
    pairs = [_pair(response) for response in responses]
    found = [ll for ll in pairs if ll is not None]
    if found and len(found) == len(pairs):
        return found[: len(found) // 2] if UNCONDITIONAL in row else found
    if len(responses) == 1 and ROLLING & row.keys():
        number = number_of(responses[0])
        return [] if number is None else [number]
    return []


def _pair(response: Any) -> float | None:
    """The first of `[log-likelihood, is greedy]`, which newer versions write as text."""
    if not isinstance(response, (list, tuple)) or len(response) != 2 or str(response[1]) not in ("True", "False"):
        return None
    return number_of(response[0])


def _golds(rows: Rows, lls: list[list[float]]) -> list[int | None]:
    """Number of the target among the options, by the first reading that fits every document of a task."""
    for reading in READINGS:
        found = [
            0 if len(options) == 1 else reading(row, options) if options else None
            for row, options in zip(rows, lls, strict=True)
        ]
        if None not in found and all(_agrees(r, o, g) for r, o, g in zip(rows, lls, found, strict=True)):
            return found
    return [None] * len(rows)


def _agrees(row: dict[str, Any], lls: list[float], gold: int | None) -> bool:
    """Whether the reading makes the model right exactly where the harness says it is."""
    return len(lls) < 2 or not is_mark(row.get("acc")) or (int(np.argmax(lls)) == gold) == bool(row["acc"])


def _by_number(row: dict[str, Any], lls: list[float]) -> int | None:
    text = str(row.get("target", "")).strip()
    return int(text) if re.fullmatch(r"\d+", text) and int(text) < len(lls) else None


def _by_text(row: dict[str, Any], lls: list[float]) -> int | None:
    said = _continuations(row.get("arguments"))[: len(lls)]
    places = [i for i, text in enumerate(said) if text.strip() == str(row.get("target", "")).strip()]
    return places[0] if len(places) == 1 else None


def _by_verdict(row: dict[str, Any], lls: list[float]) -> int | None:
    """Of two options the verdict tells; so with tasks whose options differ in the question, such as Winogrande."""
    if len(lls) != 2 or not is_mark(row.get("acc")):
        return None
    best = int(np.argmax(lls))
    return best if row["acc"] else 1 - best


READINGS: tuple[Callable[[dict[str, Any], list[float]], int | None], ...] = (_by_number, _by_text, _by_verdict)


def _continuations(arguments: Any) -> list[str]:
    """What each option says: `{"gen_args_0": {"arg_0": ..., "arg_1": ...}}`, in older versions a list of pairs."""
    if isinstance(arguments, dict):
        arguments = [list(part.values()) if isinstance(part, dict) else part for part in arguments.values()]
    if not isinstance(arguments, list):
        return []
    return [str(part[1]) if isinstance(part, (list, tuple)) and len(part) > 1 else "" for part in arguments]


def _kind(
    wanted: str,
    tasks: dict[str, Rows],
    lls: dict[str, list[list[float]]],
    golds: dict[str, list[int | None]],
    *,
    source: str,
) -> str:
    """The score that was asked for, else the one that says most of those that every document has."""
    known = all(gold is not None for found in golds.values() for gold in found)
    several = known and all(len(options) > 1 for found in lls.values() for options in found)
    computed = [name for name, there in ((MARGIN, several), (LIKELIHOOD, known)) if there]
    if not wanted:
        return computed[0] if computed else CORRECT
    metrics = [name for rows in tasks.values() for name in metrics_of(rows)]
    if all(wanted in row for rows in tasks.values() for row in rows):
        return wanted
    kind = BY_NAME.get(plain_name(wanted))
    if kind in computed or kind == CORRECT:
        return str(kind)
    if kind in (MARGIN, LIKELIHOOD):
        raise InputError(
            f"{source}: no {kind} can be read, since not every document holds the log-likelihood of "
            f"{'several options and says which is the target' if kind == MARGIN else 'its target'}; choose one of "
            f"{listing([*computed, *dict.fromkeys(metrics)], 8)} (`score`)."
        )
    raise InputError(
        f"{source} has no score {wanted!r} in every task (`score`); it has "
        f"{listing([*computed, CORRECT, *dict.fromkeys(metrics)], 8)}."
    )


def _values(kind: str, rows: Rows, lls: list[list[float]], golds: list[int | None], path: Path) -> list[float]:
    if kind in (MARGIN, LIKELIHOOD) and kind not in rows[0]:
        pairs = [(np.array(options), gold) for options, gold in zip(lls, golds, strict=True)]
        return [_margin(x, g or 0) if kind == MARGIN else float(x[g or 0]) for x, g in pairs]
    name = default_metric(rows, path) if kind == CORRECT and kind not in rows[0] else kind
    numbers = [number_of(row.get(name)) for row in rows]
    for row, number in zip(rows, numbers, strict=True):
        if number is None:
            raise InputError(
                f"{path.name}: the score {name!r} of document {row['doc_id']} is {row.get(name)!r}, not a number; "
                "choose another with `score`."
            )
    return [number for number in numbers if number is not None]


def _margin(lls: NDArray[np.float64], gold: int) -> float:
    r"""Log-odds of the target among the options, :math:`\ell_g - \log \sum_{j \ne g} e^{\ell_j}`.

    Examples
    --------
    >>> round(_margin(np.log([0.5, 0.2, 0.3]), 0), 12)  # as likely as the two others together
    0.0
    """
    return float(lls[gold] - logsumexp(np.delete(lls, gold)))
