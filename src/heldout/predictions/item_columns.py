"""What is known of the examples beside the predictions: their columns, and which of them ask the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.checks import plain_name
from heldout.errors import InputError
from heldout.predictions.keys import SCORED, TEXTS, digest_column
from heldout.predictions.values import is_gap, listing

SHOWN_TASKS = 3
SHOWN_TEXT, LEAD = 40, 10  # characters of a text in a message, and of them before the place where two part


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


@dataclass(frozen=True)
class Apart:
    """Two texts of what should be one example, and how many examples are like it."""

    place: int
    count: int
    column: str
    one: Any
    other: Any

    def asked(self) -> tuple[str, str]:
        """Both texts, quoted, and cut short around where they part."""
        one, other = _words(self.one), _words(self.other)
        start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
        start = start - LEAD if start + LEAD > SHOWN_TEXT else 0
        return _cut(one, start), _cut(other, start)


def scored_by(columns: Mapping[str, NDArray[Any]]) -> str | None:
    """By what examples were scored, in words; with their tasks where these differ, and None where nothing says.

    Examples
    --------
    >>> scored_by({SCORED: np.array(["acc", "f1"], dtype=object), "task": np.array(["a", "b"], dtype=object)})
    "acc on 'a'; f1 on 'b'"
    """
    scores = _texts(columns[SCORED]) if SCORED in columns else []
    found = [score for score in dict.fromkeys(scores) if score]
    if len(found) < 2 or "task" not in columns:
        return "; ".join(found) or None
    tasks: dict[str, dict[str, None]] = {}
    for score, task in zip(scores, _texts(columns["task"]), strict=True):
        tasks.setdefault(score, {})[task] = None
    return "; ".join(f"{score} on {listing(list(tasks[score]), SHOWN_TASKS)}" for score in found)


def told_apart(columns: Mapping[str, NDArray[Any]], others: Mapping[str, NDArray[Any]]) -> Apart | None:
    """The first of n examples that asks something else in the one than in the other, by texts under a usual name.

    White space aside, and whatever else is known of an example; a text that only one of them has tells nothing.
    """
    both = columns.keys() & others.keys()
    names = [name for name in columns if name in both and (plain_name(name) in TEXTS or digest_column(name) in both)]
    found = [(where_apart(columns[name], others[name]), name) for name in names]
    places = {place for (places, _) in found for place in places}
    if not places:
        return None
    first = min(places)
    name = next(name for places, name in found if first in places)
    return Apart(first, len(places), name, columns[name][first], others[name][first])


def where_apart(one: NDArray[Any], other: NDArray[Any]) -> list[int]:
    """The places in which two columns ask something else."""
    pairs = enumerate(zip(one.tolist(), other.tolist(), strict=True))
    return [
        i for i, (a, b) in pairs if a is not b and not (type(a) is type(b) is str and a == b) and asks_another(a, b)
    ]


def asks_another(a: Any, b: Any) -> bool:
    """Whether two texts are not the same, white space aside; what is not there tells nothing.

    Examples
    --------
    >>> asks_another("1 + 1?", "1 +  1? "), asks_another("1 + 1?", None), asks_another("1 + 1?", "1 + 2?")
    (False, False, True)
    """
    one, other = _words(a), _words(b)
    return bool(one and other) and one != other


def _words(value: Any) -> str:
    """A text with single blanks; empty where there is none."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (str, list, tuple, dict)) and is_gap(value):
        return ""
    return " ".join(str(value).split())


def _cut(text: str, start: int) -> str:
    shown = text[start : start + SHOWN_TEXT].strip()
    return repr(f"{'...' * (start > 0)}{shown}{'...' * (start + SHOWN_TEXT < len(text))}")


def _texts(column: NDArray[Any]) -> list[str]:
    texts = column.tolist()
    return texts if set(map(type, texts)) <= {str} else ["" if is_gap(value) else str(value) for value in texts]
