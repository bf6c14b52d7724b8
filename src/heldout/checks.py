"""The door: what every verb asks of labels, seeds, shares and counts, and under which keys files hold things.

An error names the argument in backticks (`seed`), with a value where one is recommended (`missing="nan"`); the command
line writes these as its own options.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError

TEXT = "USO"  # kinds of arrays that may hold names


def check_seed(seed: Any, name: str = "seed") -> int:
    """A seed, which is a whole number and not negative.

    Examples
    --------
    >>> check_seed(-1)
    Traceback (most recent call last):
        ...
    heldout.errors.InputError: `seed` is -1; it must be a whole number, 0 or larger.
    """
    try:
        value = operator.index(seed)
    except TypeError:
        value = -1
    if value < 0:
        raise InputError(f"`{name}` is {seed!r}; it must be a whole number, 0 or larger.")
    return value


def check_count(value: Any, name: str, *, least: int = 1, most: int | None = None) -> int:
    """A whole number within limits.

    Examples
    --------
    >>> check_count(0, "trials")
    Traceback (most recent call last):
        ...
    heldout.errors.InputError: `trials` is 0; it must be at least 1.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"`{name}` is {value!r}; it must be a whole number.") from None
    if number < least:
        raise InputError(f"`{name}` is {number:,}; it must be at least {least:,}.")
    if most is not None and number > most:
        raise InputError(f"`{name}` is {number:,}; it must be at most {most:,}.")
    return number


def check_share(value: Any, name: str, *, zero: bool = False, one: bool = False) -> float:
    """A number between 0 and 1, of which `zero` and `one` may be allowed too.

    Examples
    --------
    >>> check_share(float("nan"), "level")
    Traceback (most recent call last):
        ...
    heldout.errors.InputError: `level` is nan; it must be between 0 and 1.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"`{name}` is {value!r}; it must be a number between 0 and 1.") from None
    if not (0 < number < 1 or (zero and number == 0) or (one and number == 1)):
        at_the_edge = f", and not {number:g} itself" if number in (0, 1) else ""
        raise InputError(f"`{name}` is {value}; it must be between 0 and 1{at_the_edge}.")
    return number


def check_labels(
    labels: ArrayLike,
    *,
    count: int | None = None,
    classes: int | None = None,
    what: str = "`labels`",
    of: str = "example",
) -> NDArray[np.int64]:
    """Class numbers from 0, one for each of `count` examples, below `classes` where that is known.

    Examples
    --------
    >>> check_labels([[0.0], [2.0]]).tolist()
    [0, 2]
    >>> check_labels([0, 3], classes=3)
    Traceback (most recent call last):
        ...
    heldout.errors.InputError: `labels`: 3 is not a class; classes are 0 to 2.
    """
    y = np.asarray(labels)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        hint = " (of probabilities take the argmax first)" if y.dtype.kind == "f" and y.ndim == 2 else ""
        raise InputError(f"{what}: the shape is {y.shape}, but one class per {of} is needed{hint}.")
    if count is not None and len(y) != count:
        raise InputError(f"{what}: {len(y):,} for {count:,} {of}s; there must be one for each.")
    if len(y) == 0:
        raise InputError(f"{what}: there are none; at least one {of} is needed.")
    if y.dtype.kind not in "iub" and not (y.dtype.kind == "f" and np.array_equal(y, np.round(y))):
        raise InputError(
            f"{what}: the type is {y.dtype}, but class numbers (0, 1, 2, ...) or class names are needed, one per {of}."
        )
    y = y.astype(np.int64)
    if y.min() < 0 or (classes is not None and y.max() >= classes):
        wrong = int(y.min()) if y.min() < 0 else int(y.max())
        known = "numbered from 0" if classes is None else f"0 to {classes - 1}"
        raise InputError(f"{what}: {wrong} is not a class; classes are {known}.")
    return y


def number_labels(
    labels: ArrayLike, names: Sequence[str] | None = None, *, what: str = "`labels`"
) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Labels that are text as numbers, and the names of the classes; numbers stay as they are, without names.

    Names are numbered in their order, or in that of `names`: a control must be numbered as its test set is.

    Examples
    --------
    >>> number_labels(["dog", "cat", "dog"])
    (array([1, 0, 1]), ('cat', 'dog'))
    >>> number_labels([3, 1])
    (array([3, 1]), None)
    """
    y = np.asarray(labels)
    if y.dtype.kind not in TEXT or not y.size:
        return y, None
    flat = [value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in y.ravel().tolist()]
    strange = next((value for value in flat if not isinstance(value, str)), None)
    if strange is not None or not all(isinstance(value, str) for value in flat):
        raise InputError(f"{what}: text is mixed with {strange!r}; give class numbers or class names, not both.")
    found = sorted(set(flat))
    strangers = [] if names is None else [name for name in found if name not in names]
    if strangers:
        raise InputError(f"{what}: {strangers[0]!r} is not among the classes {', '.join(names or ())}.")
    known = tuple(found if names is None else names)
    place = {name: i for i, name in enumerate(known)}
    return np.array([place[value] for value in flat], dtype=np.int64).reshape(y.shape), known


@dataclass(frozen=True)
class Role:
    """Names of one thing, in lower case with underscores, and the argument that names it otherwise.

    A weak name may as well be that of something else; it counts only where nothing else can be meant.
    """

    option: str
    usual: tuple[str, ...]
    weak: tuple[str, ...] = ()


EXAMPLE = Role(
    "ids_key",
    (
        "id",
        "ids",
        "example_id",
        "example_ids",
        "doc_id",
        "doc_ids",
        "question_id",
        "question_ids",
        "sample_id",
        "sample_ids",
        "instance_id",
        "instance_ids",
        "task_id",
        "task_ids",
    ),
    ("index", "idx", "", "unnamed:_0"),
)
LABEL = Role(
    "labels_key",
    (
        *("label", "labels", "y_true", "target", "targets", "gold", "reference", "references", "ground_truth"),
        *("y_test", "test_labels"),
    ),
    ("y", "truth", "true_label", "true_labels", "gold_label", "gold_labels", "gt", "class", "true_class", "expected"),
)
PICTURE = Role("images_key", ("images", "image", "pictures", "x", "data", "x_test", "test_images"))
# Of a training set, which may lie beside a test set in the same file.
TRAINING_LABEL = Role("y_key", ("y_train", "train_labels", *LABEL.usual), LABEL.weak)
TRAINING_EXAMPLE = Role("x_key", ("x_train", "train_images", *PICTURE.usual))


def plain_name(key: str) -> str:
    """A name without what spelling adds.

    Examples
    --------
    >>> plain_name("True Label"), plain_name("Example-ID")
    ('true_label', 'example_id')
    """
    return re.sub(r"[\s-]+", "_", key.strip()).lower()


def pick(
    keys: Collection[str],
    wanted: str | None,
    role: Role,
    *,
    source: str,
    noun: str = "key",
    weak: bool = False,
    taken: Collection[str] = (),
) -> str | None:
    """The key that was asked for, else the first that goes by a usual name and is not taken."""
    if wanted is not None:
        check_key(keys, wanted, role.option, source=source, noun=noun)
        return wanted
    spelled = {plain_name(key): key for key in reversed(list(keys)) if key not in taken}
    return next((spelled[name] for name in role.usual + (role.weak if weak else ()) if name in spelled), None)


def need(keys: Collection[str], wanted: str | None, role: Role, *, source: str, what: str) -> str:
    """The same, where nothing can be done without; names that are weak elsewhere count too."""
    found = pick(keys, wanted, role, source=source, weak=True)
    if found is None:
        raise InputError(
            f"{source} holds no {what} under a usual name; of its keys {quoted(keys)} say which they are with "
            f"`{role.option}`."
        )
    return found


def check_key(keys: Collection[str], key: str, option: str, *, source: str, noun: str = "key") -> None:
    """A key that was asked for must be there."""
    if key not in keys:
        raise InputError(f"{source} has no {noun} {key!r} (`{option}`); it has {quoted(keys)}.")


def quoted(names: Collection[str]) -> str:
    """All names, for a message.

    Examples
    --------
    >>> quoted(["a", "b"]), quoted([])
    ("'a', 'b'", 'none')
    """
    return ", ".join(map(repr, names)) or "none"
