"""Cells that are text, as in a CSV: classes, right and wrong, scores."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.predictions.trials import COUNTED
from heldout.predictions.values import WHOLE_FLOATS, Codes, is_gap, listing, number_of, plain

Column = Any  # a list, tuple or array
PLAIN = {str, int, float, bool, type(None)}
KINDS = {"U": str, "i": int, "u": int, "f": float, "b": bool}  # of arrays
TRUTH = {"true": True, "false": False}
# What software writes for a cell that is not there. Beside class names "None" may be an answer.
NOT_THERE = {"NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL"}
WHOLE = re.compile(r"[+-]?\d{1,4000}(\.0*)?")  # which Python turns into a number
NO_NUMBER = NOT_THERE | {"None", "none", "na", "n/a"}


def one_spelling(
    columns: Sequence[Column], labels: Column, codes: Codes, *, source: str = ""
) -> tuple[Sequence[Column], Column]:
    """Predictions and labels from where cells have types, read as `text_classes` reads them where some are text.

    Numbers by themselves have one spelling, and stay as they are unless some count as `unread`; so do cells of several
    kinds that cannot be classes of one numbering, which `read_cells` refuses.

    Examples
    --------
    >>> one_spelling([[1.0, "ERR"]], [1, 2], Codes())
    ([array(['1', 'ERR'], dtype=object)], array(['1', '2'], dtype=object))
    >>> one_spelling([[1.0, 2]], [1, 2], Codes())
    ([[1.0, 2]], [1, 2])
    """
    kinds = set().union(*map(_kinds, (*columns, labels)))
    if not kinds <= PLAIN or (str not in kinds and not codes.unread):
        return columns, labels
    if kinds <= {str, type(None)}:
        truth = [None if text == "" else text for text in _listed(labels)]
        named = truth if None in truth else labels
        every = [column if _is_text(column) else _listed(column) for column in (*columns, named)]
        *read, found = text_classes(every, codes, labels=truth, source=source, typed=True)
        return read, found
    given = [_listed(column) for column in (*columns, labels)]
    *said, truth = [[v if v is None else str(v) for v in column] for column in given]
    if str not in kinds and codes.unread.isdisjoint(set().union(*said)):
        return columns, labels
    truth = [None if text == "" else text for text in truth]
    if kinds & {int, float}:
        numerals = any(spelled(text) is not None for text in truth)
        if bool in kinds or not numerals or not any(map(looks_numeric, set().union(*said))):
            return columns, labels
    elif bool in kinds and bool not in set(map(type, given[-1])):
        return columns, labels
    typed = not kinds & {int, float}
    *read, found = text_classes([*said, truth], codes, labels=truth, source=source, typed=typed)
    return read, found


def free_answers(columns: Sequence[Column]) -> list[Column]:
    """Columns of numbers as text, one for each number, where some are no whole ones; others as they are.

    Examples
    --------
    >>> free_answers([[0.5, 2.0, None], [0.25, 2, 7]])
    [['0.5', '2', None], ['0.25', '2', '7']]
    >>> free_answers([[1.0, 2], ["1", "x"]])
    [[1.0, 2], ['1', 'x']]
    """
    listed = [_listed(_of_64_bits(column)) for column in columns]
    fractions = any(isinstance(v, float) and math.isfinite(v) and not v.is_integer() for cells in listed for v in cells)
    if not fractions:
        return list(columns)
    return [[_answer(value) for value in cells] for cells in listed]


def _of_64_bits(column: Column) -> Column:
    """Floats of fewer bits as the decimal numbers that they were given as: 0.1 of 32 bits is 0.1."""
    narrow = are_numbers(column, "f") and column.dtype.itemsize < 8
    return column.astype(np.str_).astype(np.float64) if narrow else column


def _answer(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return value
    return spelled(value) or repr(value)


def _kinds(column: Column) -> set[type]:
    """The types of a column's plain values; an array tells them without a look at each."""
    kind = KINDS.get(column.dtype.kind) if type(column) is np.ndarray else None
    return set(map(type, _listed(column))) if kind is None else {kind}


def _is_text(column: Column) -> bool:
    """Whether a column is an array of text and None."""
    if type(column) is not np.ndarray:
        return False
    return column.dtype.kind == "U" or set(map(type, column.tolist())) <= {str, type(None)}


def _listed(column: Column) -> list[Any]:
    """Plain values; None where a cell is masked or nothing."""
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)  # masked ones become None
    if set(map(type, values)) <= PLAIN:
        return values
    return [None if is_gap(v) and not isinstance(v, (float, np.floating)) else plain(v) for v in values]


def text_classes(
    columns: list[Column], codes: Codes, *, labels: Column | None = None, source: str = "", typed: bool = False
) -> list[NDArray[Any]]:
    """Text as numbers if every cell of all columns is one, else as it stands; None where missing or a code.

    This alone decides how classes are spelled, whatever they come from. Where `labels`, one of the columns, are all
    numbers and some prediction is none, that one could not be read, and is wrong: whole numbers are then text too, the
    same text for the same number; and so they are where some labels are numbers and others names. A cell that says
    that it is not there ("NA") is refused unless it is a code, or a name among names of classes: it could be either.

    Each distinct text is looked at once: a large table has few. An array of text that stays as it is is not copied.

    Parameters
    ----------
    columns : list of columns
        Text, or None.
    codes : Codes
        Cells that mark what is missing.
    labels : column, optional
        Which of them holds the labels.
    source : str
        For messages.
    typed : bool
        Whether cells are text where they could be numbers: they stay text, and an empty one is there.

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
    >>> text_classes([["1.0", "x"], ["1", "x"]], Codes(), labels=["1", "x"])
    [array(['1', 'x'], dtype=object), array(['1', 'x'], dtype=object)]
    >>> text_classes([["True", "False"], ["1", "0"]], Codes(), labels=["1", "0"])
    [array([1, 0]), array([1, 0])]
    """
    cells = _distinct(columns)
    gaps = _gaps(cells, codes, empty=not typed and "" not in codes.unread)
    if labels is not None and (truths := _truths(cells - gaps.keys() - codes.unread, set(labels) - gaps.keys())):
        columns = [[truths.get(cell, cell) for cell in column] for column in columns]
        labels, cells = [truths.get(cell, cell) for cell in labels], {truths.get(cell, cell) for cell in cells}
    unread = _unread(cells, labels, codes, source=source)
    distinct = {text for text in cells - gaps.keys() if text is not None}
    known = {text for text in set(labels if labels is not None else ()) - gaps.keys() if text is not None}
    values: dict[str | None, Any] = {text: None if text in unread else _class_number(text) for text in distinct}
    too_long = any(value is not None and 2**63 <= abs(value) < math.inf for value in values.values())
    classes = {text for text in known if not _is_unclear(text, NO_NUMBER)}
    numbered = bool(classes) and all(values[text] is not None for text in classes)
    numerals = any(spelled(text) is not None for text in classes)
    if numerals:
        _refuse_rounded(distinct, source=source)
    # 1.0 is 1; so is 01, unless labels have both, which are two classes then
    padded = numerals and len(set(map(_spelled, known))) < len(set(map(_less_zeros, known)))
    if typed or padded or too_long or None in values.values():
        if labels is not None:
            strange = distinct - unread - (set() if numbered else known)
            _refuse_not_there(columns, strange, numbered=numbered, source=source)
        if padded:
            values = {text: _less_zeros(text) for text in distinct}
        elif numbered and not typed:  # what one model says decides nothing for others
            values = {text: _by_value(text) for text in distinct}
        elif numerals:
            values = {text: _spelled(text) for text in distinct}
        else:
            values = {text: text for text in distinct}
    values |= gaps
    if all(text == value for text, value in values.items()):
        return [column if isinstance(column, np.ndarray) else np.array(column, dtype=object) for column in columns]
    return [_translated(column, values) for column in columns]


def _distinct(columns: Sequence[Column]) -> set[str | None]:
    found: set[str | None] = set()
    for column in columns:
        found.update(column.tolist() if isinstance(column, np.ndarray) else column)
    return found


def _translated(column: Column, values: dict[str | None, Any]) -> NDArray[Any]:
    """The value of each cell: an array of numbers where all are, which are then not looked at one by one again."""
    read = [values[cell] for cell in column]
    kinds = set(map(type, read))
    return np.array(read, dtype=None if len(kinds) == 1 and kinds < {bool, int, float} else object)


def _truths(cells: Set[str | None], labels: Set[str | None]) -> dict[str | None, str]:
    """The numbers that true and false stand for, where labels are the ones and some predictions the others.

    Examples
    --------
    >>> _truths({"True", "False", "1", "0"}, {"1", "0"})["True"], _truths({"True", "False"}, {"True", "False"})
    ('1', {})
    """
    words: dict[str | None, str] = {
        text: str(int(TRUTH[text.lower()])) for text in cells if text is not None and text.lower() in TRUTH
    }
    marks = {text for text in cells if spelled(text) in ("0", "1")}
    return words if words and marks and labels and (labels <= words.keys() or labels <= marks) else {}


def _class_number(text: str) -> int | float | None:
    """The number that a text spells, to its last digit where it is a whole one: a float has no more than 53 bits."""
    return int(text.partition(".")[0]) if WHOLE.fullmatch(text) else number_of(text)


def _refuse_rounded(texts: Set[str], *, source: str) -> None:
    """A long number with a point was a float, which holds no more than 53 bits of it."""
    whole = {text: abs(int(text.partition(".")[0])) for text in texts if "." in text and WHOLE.fullmatch(text)}
    found = next((text for text, size in sorted(whole.items()) if size > WHOLE_FLOATS), None)
    if found is not None:
        raise InputError(
            f"{f'{source}: ' * bool(source)}{found} is written as a decimal number, which cannot tell it from its "
            "neighbours; give whole numbers of more than 53 bits as such, or class names."
        )


def _unread(cells: Set[str | None], labels: Column | None, codes: Codes, *, source: str) -> Set[str]:
    """Texts that are said to be of predictions that could not be read; beside labels alone, of which none is one."""
    if labels is None or not codes.unread:
        return set()
    also = sorted(codes.unread.intersection(text for text in labels if text))
    if also:
        raise InputError(
            f"{f'{source}: ' * bool(source)}{also[0]!r} is the label of an example, so that it cannot stand for a "
            "prediction that could not be read (`unread`); leave it out."
        )
    found = codes.unread & {text for text in cells if text is not None}
    for text in found:
        codes.meet(text)
    return found


def _spelled(text: str) -> str:
    """One spelling for one whole number; other text as it stands."""
    return str(int(text.partition(".")[0])) if WHOLE.fullmatch(text) else text


def _by_value(text: str) -> str:
    """One spelling for one number; other text as it stands.

    Examples
    --------
    >>> [_by_value(text) for text in ("03", "3.50", "1e3", "1/2", "nan")]
    ['3', '3.5', '1000', '1/2', 'nan']
    """
    number = None if WHOLE.fullmatch(text) else number_of(text)
    return _spelled(text) if number is None or not abs(number) < WHOLE_FLOATS else _answer(number)


def spelled(value: Any) -> str | None:
    """A whole number, or a text that spells one, as text without zeros around it; None of anything else.

    Examples
    --------
    >>> spelled(3.0), spelled("03"), spelled(2**70), spelled("3.5"), spelled(None)
    ('3', '3', '1180591620717411303424', None, None)
    """
    if isinstance(value, str):
        return _spelled(value) if WHOLE.fullmatch(value) else None
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return str(int(value)) if isinstance(value, (float, np.floating)) and float(value).is_integer() else None


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
            f"not run, say so with `missing={first!r}`; if they are wrong, say so with `unread={first!r}`."
        )


def text_marks(column: Column, codes: Codes) -> NDArray[Any]:
    """The same for right and wrong, which may also be spelled true and false."""
    cells = set(column)
    values: dict[str | None, Any] = {text: TRUTH.get(text.lower(), number_of(text)) for text in cells}
    values = {text: text if value is None else value for text, value in values.items()} | _gaps(cells, codes)
    return _translated(column, values)


def _gaps(cells: Set[str | None], codes: Codes, *, empty: bool = True) -> dict[str | None, None]:
    """What marks a missing cell."""
    found = {str(code): code for code in codes if str(code) in cells}
    for code in found.values():
        codes.meet(code)
    return dict.fromkeys([None, *[""] * empty, *found])


def are_numbers(column: Column, kinds: str = "biuf") -> bool:
    """Whether a column is an array of numbers, all of which are there."""
    return isinstance(column, np.ndarray) and column.dtype.kind in kinds and not isinstance(column, np.ma.MaskedArray)


def looks_numeric(value: Any) -> bool:
    """Whether a cell is a number, or spells one."""
    return (
        number_of(value) is not None if isinstance(value, str) else isinstance(value, (int, float, np.number, np.bool_))
    )


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
