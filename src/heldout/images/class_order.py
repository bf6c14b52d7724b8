"""How the classes of pictures are numbered: by the order of their names, by these themselves, or as in another set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.checks import number_labels
from heldout.errors import InputError

ClassesBy = Literal["number", "name", "value"]
BY_VALUE: ClassesBy = "value"  # a class called 7 is class 7


def in_order(names: Sequence[str], by: ClassesBy | None, what: str) -> list[str]:
    """Names of classes in the order of their numbers: as text, or as numbers where that is another order.

    Examples
    --------
    >>> in_order(["dog", "cat"], None, "pictures"), in_order(["1", "2", "10"], "number", "pictures")
    (['cat', 'dog'], ['1', '2', '10'])
    """
    text = sorted(names)
    numbers = sorted(text, key=int) if all(name.isdecimal() for name in text) else text
    if numbers == text and by is not None:
        raise InputError(
            f"`classes_by={by!r}` has no effect on {what}, whose classes have one order only; leave it out."
        )
    if numbers != text and by is None:
        raise InputError(
            f"{what}: the classes are called {_some(numbers)} and have another order as text ({_some(text)}), by "
            "which torchvision numbers folders. Say which one the model was trained with: `classes_by='number'` or "
            f"`classes_by='name'`; `classes_by={BY_VALUE!r}` if the class called {numbers[-1]} is the class "
            f"{numbers[-1]}, counted from 0."
        )
    return numbers if by == "number" else text


def numbers_called(names: Sequence[str], what: str) -> dict[str, int]:
    """Class numbers from what classes are called, where that is these numbers.

    Examples
    --------
    >>> numbers_called(["0", "07", "10"], "pictures")
    {'0': 0, '07': 7, '10': 10}
    """
    strange = [name for name in names if not name.isdecimal()]
    if strange:
        raise InputError(
            f"`classes_by={BY_VALUE!r}` needs classes called by their numbers, but {what} has {strange[0]!r}."
        )
    called: dict[int, str] = {}
    for name in names:
        if (other := called.setdefault(int(name), name)) != name:
            raise InputError(f"{what}: {other!r} and {name!r} are one number; give each class one name.")
    return {name: value for value, name in called.items()}


def may_be_shifted(called: NDArray[np.int64], labels: NDArray[np.int64]) -> bool:
    """Whether classes called by numbers may be those of other labels counted from 1 instead of 0.

    Examples
    --------
    >>> may_be_shifted(np.array([1, 2, 3]), np.array([0, 1, 2])), may_be_shifted(np.array([1, 3]), np.array([0, 1, 3]))
    (True, False)
    """
    found = np.unique(called)
    return bool(found[0] == labels.min() + 1 and found[-1] - found[0] + 1 == len(found))


def _some(names: Sequence[str], most: int = 4) -> str:
    """The first few, where there are many.

    Examples
    --------
    >>> _some(["1", "10", "2"], 2)
    '1, 10, ...'
    """
    return ", ".join(names[:most]) + ", ..." * (len(names) > most)


def names_of(labels: ArrayLike, by: ClassesBy | None, what: str) -> list[str] | None:
    """The classes of labels that are text, in their order; None of numbers, which have theirs."""
    names = number_labels(labels, what=what)[1]
    if names is not None:
        return in_order(names, by, what)
    if by is not None:
        raise InputError(f"`classes_by={by!r}` has no effect on {what}, which are numbers; leave it out.")
    return None


def class_numbers(found: Sequence[str], wanted: Sequence[str] | None, what: str) -> dict[str, int]:
    """Number classes by their place in `found`, or in `wanted`."""
    strangers = [name for name in found if wanted is not None and name not in wanted]
    if strangers:
        raise InputError(f"{what} has the class {strangers[0]!r}, which the test set does not have.")
    return {name: i for i, name in enumerate(found if wanted is None else wanted)}
