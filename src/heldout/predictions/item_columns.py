"""What is known of the examples beside the predictions: their columns, and which of them ask the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.checks import plain_name
from heldout.errors import InputError
from heldout.predictions.keys import TEXTS, digest_column
from heldout.predictions.values import is_gap


def as_column(values: ArrayLike | Sequence[Any], n: int, name: str) -> NDArray[Any]:
    """What is known of each example, one value each; texts, lists and gaps stay as they are."""
    if isinstance(values, np.ndarray):
        column = values
    else:
        column = np.empty(len(cast("Sequence[Any]", values)), dtype=object)
        column[:] = values
    if column.shape != (n,):
        raise InputError(f"the column {name!r} has the shape {column.shape} but there are {n:,} examples.")
    return column


def repeated_inputs(columns: Mapping[str, NDArray[Any]], n: int) -> tuple[NDArray[np.intp] | None, tuple[str, ...]]:
    """Number the distinct inputs of n examples by their columns of texts; see `Predictions.repeated_inputs`.

    A text of which only the beginning is kept goes by the digest of the whole.
    """
    names = tuple(name for name in columns if plain_name(name) in TEXTS)
    if not names:
        return None, ()
    texts = [_texts(columns.get(digest_column(name), columns[name])) for name in names]
    if any(len(set(column)) == n for column in texts):
        return None, ()
    first: dict[Any, int] = {}
    rows: list[Any] = texts[0] if len(texts) == 1 else list(zip(*texts, strict=True))
    places = np.fromiter(map(first.setdefault, rows, count()), dtype=np.intp, count=n)
    several = np.flatnonzero(np.bincount(places) > 1).tolist()
    blank = np.isin(places, [place for place in several if not "".join(rows[place]).strip()])
    places = np.where(blank, np.arange(n), places)  # nobody's repetition
    is_first = places == np.arange(n)
    if is_first.sum() in (1, n):
        return None, ()
    return (np.cumsum(is_first) - 1)[places], names


def told_apart(columns: Mapping[str, NDArray[Any]], others: Mapping[str, NDArray[Any]]) -> NDArray[np.intp]:
    """Which of n examples ask something else in the one than in the other, by the texts that logs come with.

    White space aside, and whatever else a log says of an example.
    """
    names = [name for name in columns.keys() & others.keys() if digest_column(name) in columns.keys() & others.keys()]
    apart = np.zeros(max((len(columns[name]) for name in names), default=0), dtype=bool)
    for name in names:
        pairs = zip(columns[name].tolist(), others[name].tolist(), strict=True)
        apart |= [not (is_gap(a) or is_gap(b)) and str(a).split() != str(b).split() for a, b in pairs]
    return np.flatnonzero(apart)


def _texts(column: NDArray[Any]) -> list[str]:
    texts = column.tolist()
    return texts if set(map(type, texts)) <= {str} else ["" if is_gap(value) else str(value) for value in texts]
