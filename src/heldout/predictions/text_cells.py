"""Cells that are text, as in a CSV: classes, right and wrong, scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.predictions.trials import COUNTED
from heldout.predictions.values import Codes, is_gap, number_of

Column = Any  # a list, tuple or array
TRUTH = {"true": True, "false": False}


def text_classes(columns: list[Column], codes: Codes) -> list[NDArray[Any]]:
    """Text as numbers if every cell of all columns is one, else as it stands; None where empty or a code.

    Each distinct text is looked at once: a large table has few.

    Examples
    --------
    >>> text_classes([["1", ""], ["2", "nan"]], Codes())
    [array([1, None], dtype=object), array([2, nan], dtype=object)]
    >>> text_classes([["1", ""], ["2", "x"]], Codes())
    [array(['1', None], dtype=object), array(['2', 'x'], dtype=object)]
    >>> text_classes([["1", ""], ["2", "x"]], Codes("x"))
    [array([1, None], dtype=object), array([2, None], dtype=object)]
    """
    gaps = _gaps(set().union(*columns), codes)
    distinct = set().union(*columns) - gaps.keys()
    values = {text: number_of(text) for text in distinct}
    if None in values.values():
        values = {text: text for text in distinct}
    values |= gaps
    return [np.array([values[cell] for cell in column], dtype=object) for column in columns]


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
