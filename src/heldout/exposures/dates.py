"""Dates of examples and cutoffs of models; a month means its last day."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.predictions.values import is_gap

Days = NDArray[np.datetime64]  # of unit D; NaT where unknown

TIME = r"[Tt ]\d{1,2}:[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?(?: ?(?:[Zz]|UTC|GMT|[+-]\d{2}(?::?[0-5]\d)?))?"
ISO = re.compile(rf"(\d{{4}})-(\d{{1,2}})(?:-(\d{{1,2}})(?:{TIME})?)?")
SLASHED = re.compile(r"(\d{4})[/.](\d{1,2})(?:[/.](\d{1,2}))?")
TENTH = re.compile(r"\d{4}\.(10?)")  # what October is as a number, 2023.10, and as it is written
UNKNOWN = ("", "nan", "nat", "na", "n/a", "<na>", "none", "null", "unknown", "?", "-")


def read_dates(values: Sequence[Any], names: Sequence[str], *, what: str) -> Days:
    """Days of texts such as 2023-09-30, 2023-09 (its last day), 2023-09-30T12:00:00 or 2023/09/30; empty is unknown.

    Of a time with an offset from UTC the date is taken as it is written. A number is no date: 2023.1 may have been
    2023.10.

    Parameters
    ----------
    values : n values
        Texts, dates, or None.
    names : n str
        Whose they are, for messages.
    what : str
        Name of the argument.

    Examples
    --------
    >>> read_dates(["2023-02", "2023-03-01", None], "abc", what="dates").astype(str).tolist()
    ['2023-02-28', '2023-03-01', 'NaT']
    """
    days = np.full(len(values), np.datetime64("NaT", "D"), dtype="datetime64[D]")
    _check_tenths(values, names, what)
    first: dict[str, tuple[str, str]] = {}  # by its way of writing, the first that is written so
    for i, (value, name) in enumerate(zip(values, names, strict=True)):
        text, whole = _text(value), None
        if text is None:
            continue
        way = "YYYY-MM-DD"
        match = ISO.fullmatch(text)
        if match is None:
            match, way = SLASHED.fullmatch(text), f"YYYY{text[4:5]}MM{text[4:5]}DD"
        if match is not None:
            whole = _day(*match.groups())
        if whole is None:
            raise InputError(
                f"`{what}`: {text!r}, of {name!r}, is not a date; write dates as YYYY-MM-DD, or a month, which means "
                "its last day, as YYYY-MM."
            )
        first.setdefault(way, (text, name))
        if len(first) > 1:
            (one, of_one), (two, of_two) = first.values()
            raise InputError(
                f"`{what}` come in two formats: {one!r} ({of_one}) and {two!r} ({of_two}); write all of them as "
                "YYYY-MM-DD."
            )
        days[i] = whole
    return days


def _check_tenths(values: Sequence[Any], names: Sequence[str], what: str) -> None:
    """Refuse numbers, and text that was a number: 2023.1 where nothing is written 2023.10."""
    tenths = [i for i, value in enumerate(values) if isinstance(value, str) and TENTH.fullmatch(value.strip())]
    if any(values[i].strip().endswith("10") for i in tenths):
        tenths = []
    numbers = (i for i, v in enumerate(values) if isinstance(v, (int, float, np.bool_, np.number)) and not is_gap(v))
    at = next(iter([*numbers, *tenths]), None)
    if at is not None:
        raise InputError(
            f"`{what}`: {values[at]}, of {names[at]!r}, is not a date but a number, and as a number October, 2023.10, "
            'is the same as 2023.1; write dates as text, "2023-10" or "2023-10-31".'
        )


def _text(value: Any) -> str | None:
    """As it is written; None where it is unknown."""
    if is_gap(value):  # NaN and NaT, of pandas too, which is a datetime of a kind
        return None
    if isinstance(value, np.datetime64):
        finer = np.datetime_data(value.dtype)[0] not in ("Y", "M")
        return str(value.astype("datetime64[D]") if finer else value)
    if isinstance(value, (date, datetime)):
        return f"{value:%Y-%m-%d}"
    text = str(value).strip()
    return None if text.lower() in UNKNOWN else text


def _day(year: str, month: str, day: str | None) -> np.datetime64 | None:
    try:
        start = date(int(year), int(month), 1)
        if day is None:
            return np.datetime64(f"{start:%Y-%m}", "M") + np.timedelta64(1, "M") - np.timedelta64(1, "D")
        return np.datetime64(date(int(year), int(month), int(day)), "D")
    except ValueError:
        return None
