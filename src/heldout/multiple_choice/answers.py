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
    """A row is not a complete item; `reason` is a key of `left_out.reasons.BROKEN`, `hint` a way out of its own."""

    def __init__(self, sentence: str, part: str, hint: str = "") -> None:
        super().__init__(sentence)
        self.reason = f"broken_{part}"
        self.hint = hint


Way = Callable[[Row, int], int | None]  # the place that is meant, if any


def and_more(n_broken: int, n: int) -> str:
    """How many rows are broken besides the one that is told.

    Examples
    --------
    >>> and_more(1, 40), and_more(3, 40)
    ('', ' (and 2 more of 40 rows are broken)')
    """
    return "" if n_broken < 2 else f" (and {n_broken - 1:,} more of {n:,} rows are broken)"


def refusal(errors: Sequence[BrokenRowError], n: int) -> InputError:
    """Of a source with broken rows, of which the first is told.

    Examples
    --------
    >>> str(refusal([BrokenRowError("row 3 has no question", "question")] * 2, 9)).partition(";")[0]
    'row 3 has no question (and 1 more of 9 rows are broken)'
    """
    return InputError(f"{errors[0]}{and_more(len(errors), n)}; {errors[0].hint}{SKIP}.")


def read_answers(
    rows: Sequence[Row], *, column: str, answers_from: int | None, counted: bool | None = None
) -> list[int | BrokenRowError]:
    """Place of each row's right option, from 0; an error where a row has no answer, or not in the way of most rows.

    That way must be the only one that fits them: a column of numbers beside options that are numbers could mean
    either, unless it is known that they count options (`counted`; where None, only numbers that are written as text
    could).
    """
    _check_base(rows, answers_from)
    answers_from = answers_from or 0
    found = {name: [read(row, answers_from) for row in rows] for name, read in WAYS.items()}
    found[TEXT] = [_by_text(row, 0, counted) for row in rows]
    way = max(found, key=lambda name: len(rows) - found[name].count(None))
    best = found[way]
    fits = [i for i, place in enumerate(best) if place is not None]
    told = [row for row in rows if not _is_empty(row.answer)]
    if told and not fits:
        names = _names(told[0])
        raise InputError(
            f"{told[0].where}: the answer {shortened(told[0].answer)} names no option; give a letter ({names[0]} to "
            f"{names[-1]}), the text of an option, or a number from {answers_from} to {len(names) - 1 + answers_from}."
        )
    for name, places in found.items():
        at = next((i for i in fits if places[i] != best[i]), None)
        if at is not None and all(places[i] is not None for i in fits):
            raise InputError(
                f"{rows[at].where}: the answer {rows[at].answer!r} can be read as {way} and as {name}, and these are "
                "two options; write letters, or numbers in a column `answer_index`, or say that they count options, "
                "and from what, with `answers_from`."
            )
    return [
        _broken(row, column, way, answers_from, otherwise=any(places[i] is not None for places in found.values()))
        if place is None
        else place
        for i, (row, place) in enumerate(zip(rows, best, strict=True))
    ]


def _broken(row: Row, column: str, way: str, answers_from: int, *, otherwise: bool) -> BrokenRowError:
    """What to say of a row whose answer cannot be read in the way of the others, but maybe in another."""
    if _is_empty(row.answer):
        return BrokenRowError(f"{row.where} has no answer ({column!r})", "answer")
    shown = f"{row.where}: the answer {shortened(row.answer)}"
    if otherwise:
        return BrokenRowError(
            f"{shown} is not {way}, but other rows have {way}", "answer", "write all answers in one way, or "
        )
    names = _names(row)
    options = f"its options are {names[0]} to {names[-1]}, numbered from {answers_from}; "
    return BrokenRowError(f"{shown} names no option by {way}, as other rows do", "answer", options)


def _names(row: Row) -> tuple[str, ...]:
    return row.labels or tuple(LETTERS[: len(row.options)])


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
        letters, texts = tuple(LETTERS[: len(row.options)]), bare_options(row.options)
        if texts == row.options or row.labels not in (None, letters):
            return list(rows)
        answer = letters[row.options.index(row.answer)] if row.answer in row.options else row.answer
        bare.append(replace(row, options=texts, labels=letters, answer=answer))
    return bare


def bare_options(options: Sequence[str]) -> tuple[str, ...]:
    """Options without the letters that they bear, where all do and differ without.

    Examples
    --------
    >>> bare_options(("A. oak", "B. ash")), bare_options(("B. subtilis", "E. coli"))
    (('oak', 'ash'), ('B. subtilis', 'E. coli'))
    """
    found = [BORNE.fullmatch(option) for option in options]
    letters = "".join(match[1] for match in found if match)
    texts = tuple(match[2] for match in found if match)
    borne = letters == LETTERS[: len(options)] and len(set(texts)) == len(texts)
    return texts if borne else tuple(options)


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


def _is_empty(value: Any) -> bool:
    return is_gap(value) or str(value).strip() == ""


def _by_label(row: Row, _: int) -> int | None:
    """By what an option is called: its label, where options have them, else its letter."""
    if not isinstance(row.answer, str) and row.labels is None:
        return None
    names, text = _names(row), str(row.answer).strip()
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


def _by_text(row: Row, _: int, counted: bool | None = None) -> int | None:
    for text in _spellings(row.answer, counted):
        if text in row.options:
            return row.options.index(text)
    return None


def _spellings(answer: Any, counted: bool | None) -> tuple[str, ...]:
    """What an answer would be called as the text of an option.

    Examples
    --------
    >>> _spellings(True, None), _spellings(2.0, False), _spellings(2, None), _spellings("2", True)
    (('True', 'true'), ('2.0', '2'), (), ())
    """
    if isinstance(answer, (bool, np.bool_)):
        return str(bool(answer)), str(bool(answer)).lower()
    number = _number(answer)
    if counted and number is not None:
        return ()
    if isinstance(answer, str):
        return (answer.strip(),)
    if counted is None or not isinstance(answer, (int, float, np.integer, np.floating)):
        return ()
    return (str(answer),) if number is None else (str(answer), str(number))


def is_number(value: Any) -> bool:
    """Whether an answer is written as a number.

    Examples
    --------
    >>> is_number(2), is_number("2"), is_number("B")
    (True, True, False)
    """
    return _number(value) is not None


def _number(value: Any) -> int | None:
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return int(value) if float(value).is_integer() else None
    return int(float(value)) if isinstance(value, str) and NUMBER.fullmatch(value.strip()) else None


TEXT = "the text of an option"
WAYS: dict[str, Way] = {"a letter": _by_label, "a number": _by_number, TEXT: _by_text}
