"""The door: what every verb asks of labels, seeds, shares and counts, and under which keys files hold things.

An error names the argument in backticks (`seed`), with a value where one is recommended (`missing="nan"`); the command
line writes these as its own options.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError

TEXT = "USO"  # kinds of arrays that may hold names
MOST_JOBS = 10_000


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


def check_n_jobs(n_jobs: Any) -> int:
    """Workers, as joblib counts them: -1 is one for each core, -2 one less, and so on.

    Examples
    --------
    >>> check_n_jobs(0)
    Traceback (most recent call last):
        ...
    heldout.errors.InputError: `n_jobs` is 0; give a number of workers, or -1 for all cores.
    """
    number = check_count(n_jobs, "n_jobs", least=-MOST_JOBS, most=MOST_JOBS)
    if number == 0:
        raise InputError("`n_jobs` is 0; give a number of workers, or -1 for all cores.")
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
# Arrays of an .npz file come in pairs: each word for examples, with the words for labels that usually go with it.
PAIRED = {
    "images": ("labels", "label"),
    "image": ("labels", "label"),
    "pictures": ("labels", "label"),
    "x": ("y",),
    "data": ("targets", "target", "labels", "label"),
}
SETS = {"": "", "train": "train", "training": "train", "test": "test", "control": "control", "fresh": "fresh"} | (
    dict.fromkeys(("val", "valid", "validation", "dev"), "validation")
)
# Which sets of a file are meant where nobody says, the first that is there.
WANTED = {
    "test": (("", "test"),),
    "train": (("train",), ("",), ("test",)),
    "validation": (("validation",), ("test",), ("",), ("train",)),
    "any": (tuple(SETS.values()),),
}


@lru_cache(maxsize=2**12)  # logs have a few keys in each of a million lines
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


def set_of(key: str, words: Collection[str]) -> tuple[str, str] | None:
    """The word of a key and the set that it is of; None where it has no such word.

    Examples
    --------
    >>> set_of("X_train", PAIRED), set_of("control_images", PAIRED), set_of("data", PAIRED), set_of("name", PAIRED)
    (('x', 'train'), ('images', 'control'), ('data', ''), None)
    """
    name = plain_name(key)
    if name in words:
        return name, ""
    for word in sorted(words, key=len, reverse=True):
        if name.startswith(f"{word}_") or name.endswith(f"_{word}"):
            of = name.removeprefix(f"{word}_") if name.startswith(f"{word}_") else name.removesuffix(f"_{word}")
            return word, SETS.get(of, of)
    return None


def pair(
    keys: Collection[str],
    x_key: str | None,
    y_key: str | None,
    *,
    of: str,
    source: str,
    what: str = "pictures",
    options: tuple[str, str] = ("images_key", "labels_key"),
) -> tuple[str, str]:
    """The keys of examples and of their labels: those asked for, the partner of one, or the only pair that fits best.

    `of` is the set that is meant, a key of `WANTED`. Arrays of two sets are never paired.

    Examples
    --------
    >>> keys = ["x_train", "y_train", "x_test", "y_test"]
    >>> pair(keys, None, None, of="test", source="a.npz"), pair(keys, None, None, of="train", source="a.npz")
    (('x_test', 'y_test'), ('x_train', 'y_train'))
    >>> pair(["x", "y", "data", "targets"], "data", None, of="test", source="a.npz")
    ('data', 'targets')
    >>> pair(["images", "y", "targets"], None, None, of="test", source="a.npz")
    Traceback (most recent call last):
        ...
    heldout.errors.InputError: a.npz has several arrays of labels ('y', 'targets'); choose with `labels_key`.
    """
    for key, option in zip((x_key, y_key), options, strict=True):
        if key is not None:
            check_key(keys, key, option, source=source)
    if x_key is not None and y_key is not None:
        return x_key, y_key
    wanted = WANTED[of]
    xs = _candidates(keys, x_key, y_key, tuple(PAIRED), wanted)
    ys = _candidates(keys, y_key, x_key, LABEL_WORDS, wanted)
    for found, kind, option, other in ((xs, what, options[0], y_key), (ys, "labels", options[1], x_key)):
        if not found:
            raise _nothing(keys, kind, option, other, source)
    fits = {(x, y): fit for x in xs for y in ys if (fit := _fit(xs[x], ys[y], wanted)) is not None}
    if not fits:
        at, kind = (0, what) if y_key is not None else (1, "labels")
        raise _nothing(keys, kind, options[at], (y_key, x_key or next(iter(xs)))[at], source)
    best = [both for both, fit in fits.items() if fit == min(fits.values())]
    if len(best) > 1:
        arrays = [tuple(dict.fromkeys(both[i] for both in best)) for i in range(2)]
        if len(arrays[1]) == 1:
            raise _several(what, arrays[0], options[0], source)
        if len(arrays[0]) == 1:
            raise _several("labels", arrays[1], options[1], source)
        told = ", ".join(f"{x!r} with {y!r}" for x, y in best)
        raise InputError(f"{source} has several arrays of {what} and labels ({told}); choose with `{options[0]}`.")
    return best[0]


def labels_beside(keys: Collection[str], x_key: str, y_key: str) -> list[str]:
    """Other arrays that are called as labels of the same set are.

    Examples
    --------
    >>> labels_beside(["x_test", "y_test", "test_labels", "y_train", "class_names"], "x_test", "y_test")
    ['test_labels']
    """
    own = (set_of(y_key, LABEL_WORDS) or set_of(x_key, tuple(PAIRED)) or ("", ""))[1]
    return [key for key in keys if key not in (x_key, y_key) and (set_of(key, LABEL_WORDS) or ("", None))[1] == own]


def refuse_several_labels(
    arrays: Any, at: tuple[str, str], *, source: str, option: str = "labels_key", wanted: str | None = None
) -> None:
    """Of several arrays of labels that differ nobody knows which are meant, unless one is `wanted`."""
    if wanted is not None:
        return
    own = arrays[at[1]]
    others = [key for key in labels_beside(list(arrays), *at) if arrays.shape(key) == own.shape]
    if any(not np.array_equal(arrays[key], own) for key in others):
        raise _several("labels that differ", (at[1], *others), option, source)


def only_pictures(keys: Collection[str], wanted: str | None, *, of: str, source: str) -> str:
    """The key of pictures whose labels are elsewhere."""
    if wanted is not None:
        check_key(keys, wanted, "images_key", source=source)
        return wanted
    found = _candidates(keys, None, None, tuple(PAIRED), WANTED[of])
    fits = next((fits for sets in WANTED[of] if (fits := [key for key in found if found[key][1] in sets])), [])
    if not fits:
        raise _nothing(keys, "pictures", "images_key", None, source)
    if len(fits) > 1:
        raise _several("pictures", fits, "images_key", source)
    return fits[0]


LABEL_WORDS = tuple(word for word in LABEL.usual + LABEL.weak if "test" not in word)
_Named = tuple[str, str | None]  # the word, and the set; None where any may be meant


def _candidates(
    keys: Collection[str],
    chosen: str | None,
    other: str | None,
    words: tuple[str, ...],
    wanted: tuple[tuple[str, ...], ...],
) -> dict[str, _Named]:
    """The key that was chosen; else those that go by a usual name, of the sets that are wanted or of the other's."""
    if chosen is not None:
        return {chosen: set_of(chosen, words) or ("", None)}
    meant = {of for sets in wanted for of in sets}
    if other is not None:
        meant.add((set_of(other, tuple(PAIRED)) or set_of(other, LABEL_WORDS) or ("", ""))[1])
    found = {key: set_of(key, words) for key in keys if key != other}
    return {key: named for key, named in found.items() if named is not None and named[1] in meant}


def _fit(x: _Named, y: _Named, wanted: tuple[tuple[str, ...], ...]) -> tuple[int, int, int] | None:
    """How well two arrays go together, least is best; None where they are of different sets."""
    (x_word, x_set), (y_word, y_set) = x, y
    of = next((s for s in (x_set, y_set) if s), "")
    place = next((i for i, sets in enumerate(wanted) if of in sets), 0)
    rank = 0 if y_word in PAIRED.get(x_word, ()) else 1 if y_word in ("", "y", *LABEL.usual) else 2
    if x_set is None or y_set is None or x_set == y_set:
        return 0, place, rank
    return (1, place, rank) if "" in (x_set, y_set) else None


def _nothing(keys: Collection[str], what: str, option: str, other: str | None, source: str) -> InputError:
    why = "under a usual name" if other is None else f"that go with {other!r}"
    return InputError(f"{source} holds no {what} {why}; of its keys {quoted(keys)} say which they are with `{option}`.")


def _several(what: str, names: Collection[str], option: str, source: str) -> InputError:
    return InputError(f"{source} has several arrays of {what} ({quoted(names)}); choose with `{option}`.")


def called(path: object, keys: Sequence[str]) -> str:
    """A file, with the arrays that were taken from it.

    Examples
    --------
    >>> called("a/mnist.npz", ("x_train", "y_train")), called("a/pictures", ())
    ('a/mnist.npz (x_train, y_train)', 'a/pictures')
    """
    return f"{path} ({', '.join(keys)})" if keys else str(path)


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
