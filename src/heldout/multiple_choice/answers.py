"""Which option an answer names: a letter or label, the text of an option, or a number; one of these for all rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.errors import InputError
from heldout.predictions.values import is_gap
from heldout.scorers.choices import LETTERS

LETTER = re.compile(r"[\[(]?([A-Za-z])[\])]?[.:)]?")  # B, b, (B), B., B)
SKIP = "leave the row out, or leave out all that are broken with `skip_broken=True`"
NUMBER = re.compile(r"\d+(\.0+)?")


@dataclass(frozen=True)
class Row:
    """What a row says: where it stands, for messages, its question, options and answer as they are written."""

    where: str
    question: str
    options: tuple[str, ...]
    labels: tuple[str, ...] | None  # what the options are called, where the row says so
    answer: Any


Way = Callable[[Row, int], int | None]  # the place that is meant, if any


def read_answers(rows: Sequence[Row], *, column: str, answers_from: int, skip: bool = False) -> list[int | None]:
    """Place of each row's right option, from 0.

    All rows must be written in one way, and in only one that fits: a column of numbers beside options that are
    numbers could mean either. With `skip`, rows that do not fit the way of most are None.
    """
    gap = next((row for row in rows if _is_empty(row.answer)), None)
    if gap is not None and not skip:
        raise InputError(f"{gap.where} has no answer ({column!r}); {SKIP}.")
    found = {name: [read(row, answers_from) for row in rows] for name, read in WAYS.items()}
    _check_base(rows, answers_from)
    if skip:
        best = max(found.values(), key=lambda places: len(places) - places.count(None))
        if 2 * best.count(None) < len(rows):
            fits = [i for i, place in enumerate(best) if place is not None]
            some = read_answers([rows[i] for i in fits], column=column, answers_from=answers_from)
            known = dict(zip(fits, some, strict=True))
            return [known.get(i) for i in range(len(rows))]
    whole = {name: places for name, places in found.items() if None not in places}
    if whole:
        (way, first), *others = whole.items()
        for name, places in others:
            at = next((i for i, place in enumerate(places) if place != first[i]), None)
            if at is not None:
                raise InputError(
                    f"{rows[at].where}: the answer {rows[at].answer!r} can be read as {way} and as {name}, and "
                    "these are two options; write letters, or numbers in a column `answer_index`."
                )
        return first
    raise _unreadable(rows, found, answers_from)


def _check_base(rows: Sequence[Row], answers_from: int) -> None:
    """Refuse numbers that fit from 1 and not from 0."""
    told = [row for row in rows if not _is_empty(row.answer) and _by_label(row, 0) is None and _by_text(row, 0) is None]
    last = next((row for row in told if _number(row.answer) == len(row.options)), None)
    if answers_from == 0 and last is not None and all(_by_number(row, 1) is not None for row in told):
        raise InputError(
            f"{last.where}: the answer {last.answer} is not one of {len(last.options)} options counted from 0, but all "
            "answers fit if they count from 1; if they do, say so with `answers_from=1`."
        )


def _unreadable(rows: Sequence[Row], found: dict[str, list[int | None]], answers_from: int) -> InputError:
    """What to say of a column that no single way fits."""
    best = max(found, key=lambda name: sum(place is not None for place in found[name]))
    at = next(i for i, place in enumerate(found[best]) if place is None)
    row, fitting = rows[at], sum(place is not None for place in found[best])
    names = row.labels or tuple(LETTERS[: len(row.options)])
    shown = f"{row.where}: the answer {_short(row.answer)} names no option"
    if fitting == 0:
        return InputError(
            f"{shown}; give a letter ({names[0]} to {names[-1]}), the text of an option, or a number from "
            f"{answers_from} to {len(row.options) - 1 + answers_from}."
        )
    other = any(places[at] is not None for name, places in found.items() if name != best)
    if other:
        return InputError(
            f"{row.where}: the answer {_short(row.answer)} is not {best}, but other rows have {best}; write all "
            "answers in one way."
        )
    return InputError(
        f"{shown} by {best}, as other rows do; its options are {names[0]} to {names[-1]}, numbered from {answers_from}."
    )


def _is_empty(value: Any) -> bool:
    return is_gap(value) or str(value).strip() == ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _by_label(row: Row, _: int) -> int | None:
    """By what an option is called: its label, where options have them, else its letter."""
    if not isinstance(row.answer, str) and row.labels is None:
        return None
    text = str(row.answer).strip()
    if row.labels is not None and text in row.labels:
        return row.labels.index(text)
    letter = LETTER.fullmatch(text)
    if row.labels is not None:
        return row.labels.index(letter[1].upper()) if letter and letter[1].upper() in row.labels else None
    place = LETTERS.index(letter[1].upper()) if letter else len(row.options)
    return place if place < len(row.options) else None


def _by_number(row: Row, answers_from: int) -> int | None:
    number = _number(row.answer)
    # Labels that are numbers say what a number means.
    if number is None or (row.labels is not None and all(map(str.isdigit, row.labels))):
        return None
    return number - answers_from if 0 <= number - answers_from < len(row.options) else None


def _by_text(row: Row, _: int) -> int | None:
    if not isinstance(row.answer, str):
        return None
    text = row.answer.strip()
    return row.options.index(text) if text in row.options else None


def _number(value: Any) -> int | None:
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return int(value) if float(value).is_integer() else None
    return int(float(value)) if isinstance(value, str) and NUMBER.fullmatch(value.strip()) else None


WAYS: dict[str, Way] = {"a letter": _by_label, "a number": _by_number, "the text of an option": _by_text}
