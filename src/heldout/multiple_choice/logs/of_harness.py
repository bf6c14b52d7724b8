"""Answers in samples of lm-evaluation-harness.

Where the requests of a document end in the letters of its options, as MMLU's do, their log-likelihoods are those of
the letters. Where they end in the options themselves (ARC, HellaSwag, TruthfulQA), each option is scored by itself.
Where the model writes its answer, the text that the filter leaves is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heldout.errors import InputError
from heldout.multiple_choice.days import DATE
from heldout.multiple_choice.items import Item
from heldout.multiple_choice.logs.log import Answered, Log, check_prompt, plain
from heldout.multiple_choice.readers import read_items
from heldout.predictions import lm_eval
from heldout.predictions.values import id_text
from heldout.scorers.choices import UNPARSED
from heldout.scorers.letters import place_of
from heldout.scorers.prompts import read_choice

TARGET, NUMBER = "place of the right option", "number of the row"  # columns that no document has


class Harness:
    """Reads the files of one harness, by one metric and filter."""

    def __init__(self, metric: str | None) -> None:
        self._choice = lm_eval.Choice(metric)

    def read(self, path: Path) -> Log:
        """One file of samples."""
        rows, _ = self._choice.rows(path)
        kinds = {_kind(row) for row in rows}
        if len(kinds) > 1:
            raise InputError(
                f"{path.name} scores letters in some documents and options in others; use one task per file."
            )
        kind = kinds.pop()
        answered = _alone(rows, path) if kind == "alone" else _shown(rows, path)
        read = {each.id for each in answered}
        results = lm_eval.results_of(path)
        task = lm_eval.task_of(path)
        settings = {
            "answers": kind,
            "few-shot examples": (results.get("n-shot") or {}).get(task),
            "chat template": results.get("chat_template_sha"),
            "system instruction": results.get("system_instruction_sha"),
            "generation": (results.get("config") or {}).get("gen_kwargs"),
        }
        return Log(
            path=path,
            model=lm_eval.model_of(path),
            task=task,
            answered=tuple(answered),
            broken=tuple(_id(row, path) for row in rows if _id(row, path) not in read),
            one_by_one=kind == "alone",
            settings={name: value for name, value in settings.items() if value},
            made=_made(path, results),
        )


def _made(path: Path, results: dict[str, Any]) -> dict[str, str]:
    """When it was run, by which version and number format of the model, and by which harness."""
    config = results.get("config") or {}
    software = results.get("lm_eval_version")
    told = {
        DATE: lm_eval.time_of(path)[:10],
        "version of the model": " ".join(str(config.get(name) or "") for name in ("model_revision", "model_sha")),
        "number format": config.get("model_dtype"),
        "software": f"lm_eval {software}" if software else "",
    }
    return {name: str(value).strip() for name, value in told.items() if str(value or "").strip()}


def _kind(row: dict[str, Any]) -> str:
    """What the requests of a document ask for: a text, letters, or options by themselves."""
    endings = _endings(row)
    if not endings:
        return "written"
    places = [place_of(ending, len(endings), any_case=True) for ending in endings]
    return "letters" if places == list(range(len(endings))) else "alone"


def _endings(row: dict[str, Any]) -> list[str]:
    """What the model's prompts are continued with; empty where it writes itself."""
    requests = lm_eval.requests_of(row)
    return [ending for _, ending in requests] if all(isinstance(ending, str) for _, ending in requests) else []


def _alone(rows: list[dict[str, Any]], path: Path) -> list[Answered]:
    """Documents whose options were scored by themselves; of those of a kind of their own the prompt is the question."""
    try:
        asked = _documents(rows, path)
    except InputError:
        asked = [None] * len(rows)
    found = []
    for row, item in zip(rows, asked, strict=True):
        options = tuple(plain(ending) for ending in _endings(row))
        answered = Answered(
            id=_id(row, path),
            question=plain(lm_eval.requests_of(row)[0][0] if item is None else item.question),
            options=options,
            answer=_target(row, options, path),
            chosen=_highest(row, len(options), path)[0],
            right=row["mark"] == 1,
        )
        found.append(answered)
    return found


def _shown(rows: list[dict[str, Any]], path: Path) -> list[Answered]:
    """Documents whose options were shown together."""
    found = []
    for row, item in zip(rows, _items(rows, path), strict=True):
        where = f"{path.name}: the document {row['doc_id']}"
        if item is None:
            continue
        options = tuple(plain(option) for option in item.options)
        for prompt, _ in lm_eval.requests_of(row)[:1]:
            check_prompt(prompt, options, where)
        log_probs = None
        if _endings(row):
            chosen, log_probs = _highest(row, len(options), path)
        else:
            chosen = read_choice(_written(row), options)
            if row["mark"] == 1 or chosen == item.answer:  # the harness says what is right
                chosen = item.answer if row["mark"] == 1 else UNPARSED
        found.append(
            Answered(
                id=_id(row, path),
                question=plain(item.question),
                options=options,
                answer=item.answer,
                chosen=chosen,
                right=row["mark"] == 1,
                log_probs=log_probs,
            )
        )
    return found


def _items(rows: Sequence[dict[str, Any]], path: Path) -> list[Item | None]:
    """Questions and options of documents, with the harness's own target; None where one is not complete."""
    found: list[Item | None] = []
    for row, item in zip(rows, _documents(rows, path), strict=True):
        if item is None:
            found.append(None)
            continue
        options = tuple(plain(option) for option in item.options)
        endings = _endings(row)
        if endings and len(endings) != len(options):
            raise InputError(
                f"{path.name}: the document {row['doc_id']} has {len(options)} options and {len(endings)} requests; "
                "one for each is needed."
            )
        found.append(Item(item.id, item.question, item.options, _target(row, options, path)))
    return found


def _documents(rows: Sequence[dict[str, Any]], path: Path) -> list[Item | None]:
    """What documents ask, without their answers."""
    if not all(isinstance(row.get("doc"), dict) for row in rows):
        raise InputError(f"{path.name} does not hold its documents; run the harness with --log_samples.")
    docs = [{**row["doc"], TARGET: 0, NUMBER: str(i)} for i, row in enumerate(rows)]
    try:
        items = read_items(docs, answer_key=TARGET, ids_key=NUMBER, skip_broken=True)
    except InputError as error:
        raise InputError(f"{path.name}: the documents cannot be read as multiple-choice questions: {error}") from error
    by_number = {item.id: item for item in items}
    return [by_number.get(str(i)) for i in range(len(rows))]


def _target(row: dict[str, Any], options: tuple[str, ...], path: Path) -> int:
    """Place of the right option: a number from 0, a letter, or a text."""
    target = row.get("target")
    text = plain(target)
    if text.isdigit() and int(text) < len(options) and _endings(row):
        return int(text)
    place = place_of(text, len(options), any_case=True)
    if place == UNPARSED and text in options:
        return options.index(text)
    if place == UNPARSED:
        raise InputError(
            f"{path.name}: the document {row['doc_id']} has the target {target!r}, which is not one of its options."
        )
    return place


def _highest(row: dict[str, Any], n_options: int, path: Path) -> tuple[int, tuple[float, ...]]:
    """The option with the highest log-likelihood, the first of equals as in the harness, and all of them."""
    said = row.get("filtered_resps") or row.get("resps") or ()
    try:
        told = [float(_first(response)) for response in said]
    except (TypeError, ValueError, IndexError):
        told = []
    if len(told) != n_options or not np.isfinite(told).all():
        raise InputError(
            f"{path.name}: the document {row['doc_id']} has no log-likelihood for each of its {n_options} requests."
        )
    return int(np.argmax(told)), tuple(told)


def _first(response: Any) -> Any:
    while isinstance(response, (list, tuple)):
        response = response[0]
    return response


def _written(row: dict[str, Any]) -> str:
    """What the model wrote, as the filter leaves it."""
    said = row.get("filtered_resps") or row.get("resps") or ("",)
    return str(_first(said[0]) if isinstance(said, (list, tuple)) else said)


def _id(row: dict[str, Any], path: Path) -> str:
    return id_text(row["doc_id"], f"{path.name}: a document")
