"""What is known of the examples beside the answers: their columns, and which of them ask the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.predictions.keys import TEXTS, digest_column, plain_name
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
    parts = [_first_places(columns.get(digest_column(name), columns[name])) for name in names]
    codes, blank = parts[0]
    for more, empty in parts[1:]:
        codes = np.unique(codes * n + more, return_inverse=True)[1].reshape(-1)
        blank = blank & empty
    if blank.any():  # nobody's repetition
        codes = np.where(blank, n + np.arange(n), codes)
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    if len(first) in (1, n):
        return None, ()
    order = np.empty(len(first), dtype=np.intp)
    order[np.argsort(first)] = np.arange(len(first))
    return order[codes.reshape(-1)], names


def _first_places(column: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Where each text stands first, and which texts are empty."""
    texts = column.tolist()
    if not set(map(type, texts)) <= {str}:
        texts = ["" if is_gap(value) else str(value) for value in texts]
    first: dict[str, int] = {}
    places = np.fromiter(map(first.setdefault, texts, count()), dtype=np.intp, count=len(texts))
    empty = np.array([place for text, place in first.items() if not text or text.isspace()], dtype=np.intp)
    return places, np.isin(places, empty)
