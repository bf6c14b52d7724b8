"""Cells that are text, as in a CSV: classes, right and wrong, scores."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.predictions.trials import COUNTED
from heldout.predictions.values import Codes, is_gap, listing, number_of

Column = Any  # a list, tuple or array
TRUTH = {"true": True, "false": False}
# What software writes for a cell that is not there. Beside class names "None" may be an answer.
NOT_THERE = {"NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL"}
WHOLE = re.compile(r"[+-]?\d{1,15}(\.0*)?")
NO_NUMBER = NOT_THERE | {"None", "none", "na", "n/a"}


def text_classes(
    columns: list[Column], codes: Codes, *, labels: Column | None = None, source: str = ""
) -> list[NDArray[Any]]:
    """Text as numbers if every cell of all columns is one, else as it stands; None where empty or a code.

    Where `labels`, one of the columns, are all numbers and some prediction is none, that one could not be read, and is
    wrong: whole numbers are then text too, the same text for the same number. A cell that says that it is not there
    ("NA") is refused unless it is a code, or a name among names of classes: it could be either.

    Each distinct text is looked at once: a large table has few.

    Examples
    --------
    >>> text_classes([["1", ""], ["2", "nan"]], Codes())
    [array([1, None], dtype=object), array([2, nan], dtype=object)]
    >>> text_classes([["1", ""], ["2", "x"]], Codes())
    [array(['1', None], dtype=object), array(['2', 'x'], dtype=object)]
    >>> text_classes([["1", ""], ["2", "x"]], Codes("x"))
    [array([1, None], dtype=object), array([2, None], dtype=object)]
    >>> text_classes([["1.0", "x"], ["1", "2"]], Codes(), labels=["1", "2"])
    [array(['1', 'x'], dtype=object), array(['1', '2'], dtype=object)]
    """
    gaps = _gaps(set().union(*columns), codes)
    distinct = set().union(*columns) - gaps.keys()
    values: dict[str, Any] = {text: number_of(text) for text in distinct}
    if None in values.values():
        known = set() if labels is None else set(labels) - gaps.keys()
        classes = {text for text in known if not _is_unclear(text, NO_NUMBER)}
        numbered = bool(classes) and all(values[text] is not None for text in classes)
        if labels is not None:
            _refuse_not_there(columns, distinct if numbered else distinct - known, numbered=numbered, source=source)
        if numbered:  # 1.0 is 1; so is 01, unless labels have both, which are two classes then
            padded = len(set(map(_spelled, known))) < len(set(map(_less_zeros, known)))
            values = {text: (_less_zeros if padded else _spelled)(text) for text in distinct}
        else:
            values = {text: text for text in distinct}
    values |= gaps
    return [np.array([values[cell] for cell in column], dtype=object) for column in columns]


def _spelled(text: str) -> str:
    """One spelling for one whole number; other text as it stands."""
    return str(int(float(text))) if WHOLE.fullmatch(text) else text


def _less_zeros(text: str) -> str:
    """The same less zeros behind a point."""
    return text.partition(".")[0] if WHOLE.fullmatch(text) else text


def _is_unclear(text: str, words: set[str]) -> bool:
    return not text.strip() or text.strip() in words


def _refuse_not_there(columns: list[Column], texts: set[str], *, numbered: bool, source: str) -> None:
    """InputError where predictions say that they are not there, and nobody knows whether they were ever asked for."""
    unclear = {text for text in texts if _is_unclear(text, NO_NUMBER if numbered else NOT_THERE)}
    if unclear:
        count = sum(cell in unclear for column in columns for cell in column)
        first = min(unclear)
        raise InputError(
            f"{f'{source}: ' * bool(source)}{listing(sorted(unclear))} stand{'s' * (len(unclear) == 1)} in {count:,} "
            f"cells: predictions that could not be read are wrong, those that were not run are missing. If these were "
            f"not run, say so with `missing={first!r}`; if they are wrong, write another word, such as 'unread'."
        )


def text_marks(column: Column, codes: Codes) -> NDArray[Any]:
    """The same for right and wrong, which may also be spelled true and false."""
    values: dict[str, Any] = {text: TRUTH.get(text.lower(), number_of(text)) for text in set(column)}
    values = {text: text if value is None else value for text, value in values.items()} | _gaps(set(column), codes)
    return np.array([values[cell] for cell in column], dtype=object)


def _gaps(cells: set[str], codes: Codes) -> dict[str, None]:
    """What marks a missing cell."""
    found = {str(code): code for code in codes if str(code) in cells}
    for code in found.values():
        codes.meet(code)
    return dict.fromkeys(["", *found])


def looks_numeric(value: Any) -> bool:
    """Whether a cell is a number, or spells one."""
    return number_of(value) is not None if isinstance(value, str) else isinstance(value, (int, float, np.number))


def is_score(value: Any) -> bool:
    """Whether a cell may be a score: a number, true or false, successes of trials, or nothing.

    Examples
    --------
    >>> [is_score(value) for value in (0.5, True, None, "", "3/5", "False", "0.5", "good")]
    [True, True, True, True, True, True, True, False]
    """
    if isinstance(value, str):
        return value == "" or value.lower() in TRUTH or bool(COUNTED.fullmatch(value)) or number_of(value) is not None
    return is_gap(value) or isinstance(value, (bool, int, float, np.number, np.bool_))
