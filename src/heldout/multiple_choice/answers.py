"""Which option an answer names: a letter or label, the text of an option, or a number; one of these for all rows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heldout.errors import InputError, shortened
from heldout.predictions.values import is_gap
from heldout.scorers.choices import LETTERS, UNPARSED
from heldout.scorers.letters import place_of

BORNE = re.compile(r"[\[(]?([A-Z])[\]).:]\s*(\S.*)", re.DOTALL)  # (A) oak, (A)oak, A. oak, A) oak
SKIP = "leave out what is broken, by hand or with `skip_broken=True`"
NUMBER = re.compile(r"\d+(\.0+)?")
CHANCE = 0.001  # of no answer at the first place, below which numbers without a 0 are not taken to count from 0


@dataclass(frozen=True)
class Row:
    """What a row says: where it stands, for messages, its question, options and answer as they are written."""

    where: str
    question: str
    options: tuple[str, ...]
    labels: tuple[str, ...] | None  # what the options are called, where the row says so
    answer: Any


class BrokenRowError(InputError):
    """A row is not a complete item; `reason` is a key of `left_out.reasons.BROKEN`."""

    def __init__(self, sentence: str, part: str) -> None:
        super().__init__(sentence)
        self.reason = f"broken_{part}"


Way = Callable[[Row, int], int | None]  # the place that is meant, if any


def and_more(n_broken: int, n: int) -> str:
    """How many rows are broken besides the one that is told.

    Examples
    --------
    >>> and_more(1, 40), and_more(3, 40)
    ('', ' (and 2 more of 40 rows are broken)')
    """
    return "" if n_broken < 2 else f" (and {n_broken - 1:,} more of {n:,} rows are broken)"


def read_answers(rows: Sequence[Row], *, column: str, answers_from: int | None, skip: bool = False) -> list[int | None]:
    """Place of each row's right option, from 0.

    All rows must be written in one way, and in only one that fits: a column of numbers beside options that are
    numbers could mean either. With `skip`, rows that do not fit the way of most are None.
    """
    gaps = [row for row in rows if _is_empty(row.answer)]
    if gaps and not skip:
        raise InputError(f"{gaps[0].where} has no answer ({column!r}){and_more(len(gaps), len(rows))}; {SKIP}.")
    _check_base(rows, answers_from)
    answers_from = answers_from or 0
    found = {name: [read(row, answers_from) for row in rows] for name, read in WAYS.items()}
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


def without_letters(rows: Sequence[Row]) -> list[Row]:
    """Rows whose options bear their own letters, "(A) oak", "(B) ash", without them, where all rows are so.

    Such letters show the printed order in every other one, and a model does better where they are those asked for.

    Examples
    --------
    >>> without_letters([Row("", "?", ("A. oak", "B. ash"), None, "B. ash")])[0]
    Row(where='', question='?', options=('oak', 'ash'), labels=('A', 'B'), answer='B')
    """
    bare: list[Row] = []
    for row in rows:
        found = [BORNE.fullmatch(option) for option in row.options]
        letters = tuple(match[1] for match in found if match)
        texts = tuple(match[2] for match in found if match)
        if (
            letters != tuple(LETTERS[: len(row.options)])
            or len(set(texts)) < len(texts)
            or row.labels not in (None, letters)
        ):
            return list(rows)
        answer = letters[row.options.index(row.answer)] if row.answer in row.options else row.answer
        bare.append(replace(row, options=texts, labels=letters, answer=answer))
    return bare


def _check_base(rows: Sequence[Row], answers_from: int | None) -> None:
    """Refuse numbers that seem to count from 1: none is 0, and one is the number of options or there are many; and
    those that are said to, where one is 0 and none is the number of options.

    Rows that are broken change nothing: read from 0, answers at the last place would be left out with them, and all
    others taken for their neighbours.
    """
    told = [row for row in rows if _by_label(row, 0) is None and _by_text(row, 0) is None]
    numbers = [(row, number) for row in told if (number := _number(row.answer)) is not None]
    none = next((row for row, number in numbers if number == 0), None)
    last = next((row for row, number in numbers if number == len(row.options)), None)
    if answers_from == 1 and none is not None and last is None:
        raise InputError(
            f"{none.where}: the answer 0 is not one of {len(none.options)} options counted from 1, and no answer is "
            "the number of its options: they seem to count from 0; leave out `answers_from=1`."
        )
    if answers_from is not None or none is not None:
        return
    if last is not None:
        raise InputError(
            f"{last.where}: the answer {last.answer} is not one of {len(last.options)} options counted from 0, and no "
            "answer is 0: they seem to count from 1; if they do, say so with `answers_from=1`."
        )
    fitting = [row for row, _ in numbers if _by_number(row, 0) is not None]
    if math.prod(1 - 1 / len(row.options) for row in fitting) < CHANCE:
        raise InputError(
            f"{fitting[0].where}: the answer is {fitting[0].answer}, and of {len(fitting):,} answers that are numbers "
            "none is 0; say whether they count from 1 or from 0, with `answers_from=1` or `answers_from=0`."
        )


def _unreadable(rows: Sequence[Row], found: dict[str, list[int | None]], answers_from: int) -> InputError:
    """What to say of a column that no single way fits."""
    best = max(found, key=lambda name: sum(place is not None for place in found[name]))
    at = next(i for i, place in enumerate(found[best]) if place is None)
    row, fitting = rows[at], sum(place is not None for place in found[best])
    names = row.labels or tuple(LETTERS[: len(row.options)])
    shown = f"{row.where}: the answer {shortened(row.answer)} names no option"
    more = and_more(len(rows) - fitting, len(rows))
    if fitting == 0:
        return InputError(
            f"{shown}; give a letter ({names[0]} to {names[-1]}), the text of an option, or a number from "
            f"{answers_from} to {len(row.options) - 1 + answers_from}."
        )
    other = any(places[at] is not None for name, places in found.items() if name != best)
    if other:
        return InputError(
            f"{row.where}: the answer {shortened(row.answer)} is not {best}, but other rows have {best}; write all "
            "answers in one way."
        )
    return InputError(
        f"{shown} by {best}, as other rows do{more}; its options are {names[0]} to {names[-1]}, numbered from "
        f"{answers_from}. {SKIP[0].upper()}{SKIP[1:]}."
    )


def _is_empty(value: Any) -> bool:
    return is_gap(value) or str(value).strip() == ""


def _by_label(row: Row, _: int) -> int | None:
    """By what an option is called: its label, where options have them, else its letter."""
    if not isinstance(row.answer, str) and row.labels is None:
        return None
    names, text = row.labels or tuple(LETTERS[: len(row.options)]), str(row.answer).strip()
    if text in names:
        return names.index(text)
    place = place_of(text, len(LETTERS), any_case=True)
    return names.index(LETTERS[place]) if place != UNPARSED and LETTERS[place] in names else None


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
