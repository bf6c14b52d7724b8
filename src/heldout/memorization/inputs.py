"""Strengths and training sets from the command line."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heldout.checks import called, check_labels, number_labels, pair, refuse_several_labels
from heldout.errors import InputError
from heldout.files import Npz

MOST = 1000  # strengths


def parse_strengths(text: str, *, name: str = "strengths") -> list[float]:
    """Numbers from `0:8` (steps of 1), `0:0.5:0.1` (end included) or `0,1,2,4`.

    Examples
    --------
    >>> parse_strengths("0:3"), parse_strengths("0:0.5:0.1"), parse_strengths("0,2,8")
    ([0.0, 1.0, 2.0, 3.0], [0.0, 0.1, 0.2, 0.3, 0.4, 0.5], [0.0, 2.0, 8.0])
    """
    try:
        if ":" not in text:
            return [float(part) for part in text.split(",")]
        start, end, step = (float(part) for part in (text if text.count(":") > 1 else f"{text}:1").split(":"))
        if not (np.isfinite([start, end, step]).all() and step > 0 and end > start and (end - start) / step < MOST):
            raise ValueError
    except ValueError:
        raise InputError(f"`{name}={text}`: write 0:8, or 0:0.5:0.1 (from, to, step), or 0,1,2,4.") from None
    count = int(np.floor((end - start) / step + 1e-9)) + 1
    return [round(start + i * step, 12) for i in range(count)]


def parse_strengths_of(texts: Sequence[str], names: Sequence[str]) -> dict[str, list[float]]:
    """Strengths of each perturbation from `0:8` (for all) and `gaussian=0:64:8` (for one).

    Examples
    --------
    >>> parse_strengths_of(["0:2", "fog=0:1"], ["spatial", "fog"])
    {'spatial': [0.0, 1.0, 2.0], 'fog': [0.0, 1.0]}
    """
    found: dict[str, list[float]] = {}
    for text in sorted(texts, key=lambda t: "=" in t):  # what is said of one goes before what is said of all
        name, _, values = text.rpartition("=")
        if name and name not in names:
            raise InputError(f"`strengths={text}`: {name} is not among the perturbations {', '.join(names)}.")
        for each in [name] if name else names:
            found[each] = parse_strengths(values)
    return found


class TrainingSet(NamedTuple):
    """Examples and labels, and what they are called: the file with its keys."""

    x: NDArray[Any]
    y: NDArray[Any]
    source: str


def read_training_set(
    path: str | Path,
    *,
    x_key: str | None = None,
    y_key: str | None = None,
    of: Literal["train", "validation"] = "train",
) -> TrainingSet:
    """Examples and labels of an .npz file; labels are class numbers or names."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    with Npz(path) as arrays:
        at = pair(list(arrays), x_key, y_key, of=of, source=str(path), what="examples", options=("x_key", "y_key"))
        refuse_several_labels(arrays, at, source=str(path), option="y_key", wanted=y_key)
        x, y = (arrays[key] for key in at)
    what = f"{path}: {at[1]!r}"
    numbers = check_labels(number_labels(y, what=what)[0], count=len(x) if x.ndim else 0, what=what)
    return TrainingSet(x, y.reshape(len(numbers)), called(path, at))


def as_training(thing: Any) -> Any:
    """What `--train` names: an estimator, a class of one, or a function (x, y, seed)."""
    if inspect.isclass(thing) and hasattr(thing, "fit") and hasattr(thing, "get_params"):
        return thing()
    return thing


def for_training(train: Any, x: NDArray[Any]) -> NDArray[Any]:
    """scikit-learn's estimators take tables: pictures are flattened row by row."""
    return x.reshape(len(x), -1) if hasattr(train, "get_params") and x.ndim > 2 else x
