"""Files, frames and rows to `Items`."""

from __future__ import annotations

from typing import Any

from heldout.errors import InputError
from heldout.multiple_choice.items import Item, Items


def read_items(
    source: Any,
    *,
    question_key: str | None = None,
    options_key: str | list[str] | None = None,
    answer_key: str | None = None,
    ids_key: str | None = None,
    answers_from: int = 0,
) -> Items:
    """Items of a file, several files or a folder (JSONL, JSON, CSV, TSV, Parquet), a frame, or rows (dicts).

    `answers_from` is 1 where answers that are numbers count options from 1.
    """
    if isinstance(source, Items):
        return source
    if isinstance(source, list):
        found = [
            Item(str(row.get("id", i)), row["question"], tuple(map(str, row["options"])), int(row["answer"]))
            for i, row in enumerate(source)
        ]
        return Items(tuple(found), "rows")
    raise InputError("`items` cannot be read yet.")
