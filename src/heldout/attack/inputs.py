"""Labels and priors from files."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heldout.attack.prior_classes import in_class_order
from heldout.attack.ranks import prior_from_ranks
from heldout.checks import EXAMPLE, LABEL, Role, number_labels, pick, quoted
from heldout.errors import InputError
from heldout.files import Npz, read_npy
from heldout.predictions.items import ItemTable, by_class, label_column, prediction_rows, score_columns
from heldout.predictions.values import listing, read_ids

PRIOR = Role("prior_key", ("prior", "probabilities", "probs", "counts", "ranks", "top5", "top", "predictions", "preds"))
KINDS = ("probabilities", "counts", "predictions", "ranks")
NUMPY = (".npy", ".npz")
SHOWN = 10  # classes that are named


class Labels(NamedTuple):
    """Class numbers, the names of the classes where labels are text, and the examples' ids where there are any."""

    values: NDArray[Any]
    classes: tuple[str, ...] | None
    ids: tuple[str, ...] | None


def read_named_labels(path: str | Path, *, key: str | None = None) -> Labels:
    """Labels, with the names of classes and the ids of examples.

    Parameters
    ----------
    path : path
        .npy or .npz; a CSV, Parquet, JSON or JSONL table with a column of labels; samples of lm-evaluation-harness or a
        log of inspect_ai, whose targets are read; or a folder of such tables or logs, which must agree.
    key : str, optional
        The array, or column, where none goes by a usual name.
    """
    path = Path(path)
    if path.is_dir() or (path.is_file() and not _is_numpy(path)):
        labels, ids = label_column(path, key)
    else:
        labels, beside = _read(path, key, LABEL)
        ids = _ids_beside(beside, labels.shape[:1], path)
    return Labels(*number_labels(labels, what=path.name), ids)


def read_prior(
    path: str | Path,
    *,
    key: str | None = None,
    models: Sequence[str] = (),
    m: int | None = None,
    n: int | None = None,
    kind: str | None = None,
    models_axis: int | None = None,
    classes: tuple[str, ...] | None = None,
    ids: tuple[str, ...] | None = None,
    labelled: bool = True,
    prior_classes: Sequence[str] | None = None,
) -> tuple[NDArray[Any], str]:
    """A prior of shape (n, m), and in words what it was made of.

    Parameters
    ----------
    path : path
        .npy, .npz, or a table (CSV, Parquet, JSON, JSONL): probabilities (examples, classes), or (classes,) that hold
        for every example; counts of the same shapes, such as annotators' votes; or class numbers, from which
        `prior_from_ranks` makes probabilities: predictions (models, examples), or ranks (examples, places, models),
        best first.
    key : str, optional
        The array, where a .npz has several.
    models : sequence of str
        Of ranks, only those of these models (`resnet*`); names come from the array `models` beside the ranks.
    m : int, optional
        Classes, for ranks; by default no more than they name.
    n : int, optional
        Examples, for what holds for every one.
    kind : str, optional
        "probabilities", "counts", "predictions" or "ranks"; without it fractions are probabilities and whole numbers
        class numbers, or counts where the columns of a table are called as the classes are.
    models_axis : int, optional
        Axis of the models in predictions (0 without) or ranks (2 without).
    classes : tuple of str, optional
        Names of the classes, in order, where predictions are text.
    ids : tuple of str, optional
        Examples in the order of the labels: rows of a prior that names its own are put in this order.
    labelled : bool
        Whether there are labels, whose classes the columns of a table must be those of; without any, each order of the
        columns will do.
    prior_classes : sequence of str, optional
        The class of each column, by name or number, in the order of the columns: their headings are not looked at. Of
        class numbers, the class of each number.
    """
    path = Path(path)
    if kind not in (None, *KINDS):
        raise InputError(f"`kind` is {kind!r}; it can be {', '.join(KINDS)}.")
    named = False
    if path.is_dir() or (path.is_file() and not _is_numpy(path)):
        by_heading = labelled and prior_classes is None
        found, kind = _read_table(path, kind, classes, models_axis, m, labelled=by_heading)
        table, beside, own, named = found.values, {"models": np.array(found.names)}, found.ids, found.named
        if prior_classes is not None and table.dtype.kind in "iu" and named:
            raise InputError(
                f"{path.name} holds predictions, whose classes go by their names, and no columns of classes; leave "
                "`prior_classes` out."
            )
    else:
        table, beside = _read(path, key, PRIOR)
        if table.dtype.kind in "iu" and kind in (None, "predictions", "ranks"):
            table = _turned(table, models_axis, path)
        own = _ids_beside(beside, table.shape, path)
    if m is None and prior_classes is not None:
        m = len(prior_classes)
    prior, words = _make_prior(table, beside, path, kind=kind, models=models, m=m, n=n, models_axis=models_axis)
    if prior_classes is not None and prior.ndim == 2:
        prior = in_class_order(prior, prior_classes, classes)
        words += f", whose classes were said to be {listing(list(prior_classes), SHOWN)}"
    elif classes is not None and not named and prior.ndim == 2:  # the page says which column was taken for which class
        if prior.shape[1] != len(classes):
            raise InputError(
                f"{path.name} is a prior over {prior.shape[1]:,} classes without their names, and the labels name "
                f"{len(classes):,} ({listing(classes)}); give one over these, as a table whose "
                "columns are called as the classes are, or with `prior_classes`."
            )
        words += f", which names no classes: they are taken in the order {listing(classes, SHOWN)}"
    return _in_order(prior, own, ids, path), words


def _make_prior(
    table: NDArray[Any],
    beside: dict[str, NDArray[Any]],
    path: Path,
    *,
    kind: str | None,
    models: Sequence[str],
    m: int | None,
    n: int | None,
    models_axis: int | None,
) -> tuple[NDArray[Any], str]:
    """Probabilities from what was read."""
    if kind == "counts":
        return _spread(_shares(table, path), n), f"counts from {path.name}"
    if table.dtype.kind not in "iu" or kind == "probabilities":
        if models:
            raise InputError(f"{path} holds probabilities; `models` chooses among several models' ranks.")
        if models_axis is not None:
            raise InputError(f"{path} holds probabilities, which have no axis of models; leave `models_axis` out.")
        return _spread(table, n), f"probabilities from {path.name}"
    if table.ndim == 1:
        raise InputError(
            f"{path} holds {len(table):,} whole numbers; say with `kind='counts'` that they count each class. One "
            "model's predictions alone do not say how sure it is: those of several, (models, examples), would."
        )
    predictions = table.ndim == 2
    if predictions:
        if len(table) >= table.shape[1] and models_axis is None:
            raise InputError(
                f"{path} holds class numbers of shape {table.shape}; predictions of shape (models, examples) or ranks "
                "of shape (examples, places, models) are needed (`models_axis` says where models are, "
                "`kind='counts'` that these are counts)."
            )
        table = table.T[:, None, :]  # each model's first place
    if table.ndim == 3 and models:
        names = [str(name) for name in beside.get("models", np.array([]))]
        if len(names) != table.shape[2]:
            raise InputError(f"{path} names {len(names)} models, its ranks are those of {table.shape[2]}.")
        chosen = [i for i, name in enumerate(names) if any(fnmatch.fnmatch(name, pattern) for pattern in models)]
        unknown = [p for p in models if not fnmatch.filter(names, p)]
        if unknown:
            raise InputError(f"no model fits {unknown[0]!r} (`models`); there are {', '.join(names)}.")
        table = table[:, :, chosen]
    known = int(table.max(initial=1)) + 1 if m is None else m
    prior = prior_from_ranks(table, known)
    what = "predictions" if predictions else f"first {table.shape[1]} ranks"
    return prior, f"the {what} of {table.shape[2]} models from {Path(path).name}"


def _in_order(
    prior: NDArray[Any], own: tuple[str, ...] | None, wanted: tuple[str, ...] | None, path: Path
) -> NDArray[Any]:
    """Rows in the order of the labels, where both name their examples."""
    if own is None or wanted is None or own == wanted or len(own) != len(prior):
        return prior
    place = {name: i for i, name in enumerate(own)}
    lacking = [name for name in wanted if name not in place]
    if lacking or len(own) != len(wanted):
        shared = len(wanted) - len(lacking)
        first = f", the first without a prior being {lacking[0]!r}" if lacking else ""
        raise InputError(
            f"{path.name} is about other examples than the labels: {len(own):,} and {len(wanted):,}, "
            f"{shared:,} in common{first}; give both for the same ids."
        )
    return prior[[place[name] for name in wanted]]


def _ids_beside(beside: dict[str, NDArray[Any]], shape: tuple[int, ...], path: Path) -> tuple[str, ...] | None:
    """Ids of the examples in the same .npz, where they are as many as one of its axes."""
    found = beside.get("ids")
    if found is None or found.ndim != 1 or len(found) not in shape:
        return None
    return read_ids(found, len(found), source=path.name)


def _read_table(
    path: Path,
    kind: str | None,
    classes: tuple[str, ...] | None,
    models_axis: int | None,
    m: int | None,
    *,
    labelled: bool,
) -> tuple[ItemTable, str | None]:
    """Probabilities or counts, one column a class; or predictions, one column a model; and which of these it is."""
    counts = None

    def ordered(found: ItemTable) -> ItemTable:
        return by_class(found, classes, source=path.name) if labelled else found

    if kind in (None, "probabilities", "counts") and path.is_file():
        found = score_columns(path, classes, whole=kind == "counts")
        if found is not None:
            return ordered(found), kind
        counts = score_columns(path, classes, whole=True)
        known = set(classes or map(str, range(m or 0)))
        if kind is None and counts is not None and known == set(counts.names):  # classes, and no models
            return ordered(counts), "counts"
    if kind in ("probabilities", "counts"):
        raise InputError(f"{path.name} holds no table of {kind}: one column of numbers for each class is needed.")
    try:
        return prediction_rows(path, classes, models_axis), kind
    except InputError as error:
        way_out = "say `kind='counts'` if these are counts, one column for each class"
        if counts is None:
            way_out = "give probabilities or counts, one column for each class, or predictions beside a column `label`"
        raise InputError(f"{str(error).split('; ')[0].removesuffix('.')}; {way_out}.") from error


def _turned(table: NDArray[Any], models_axis: int | None, path: Path) -> NDArray[Any]:
    """Predictions with the models first, ranks with the models last."""
    if models_axis is None or table.ndim not in (2, 3):
        return table
    if not 0 <= models_axis < table.ndim:
        raise InputError(f"{path} holds an array of shape {table.shape}, which has no axis {models_axis}.")
    return np.moveaxis(table, models_axis, 0 if table.ndim == 2 else 2)


def _shares(table: NDArray[Any], path: Path) -> NDArray[np.float64]:
    """Counts to probabilities."""
    counts = np.asarray(table, dtype=np.float64)
    totals = counts.sum(axis=-1, keepdims=True)
    if counts.ndim not in (1, 2) or not (counts >= 0).all() or (totals == 0).any():
        raise InputError(
            f"{path} holds no counts: whole numbers of shape (classes,) or (examples, classes) are needed, none "
            "below 0 and no row of zeros."
        )
    return np.asarray(counts / totals)


def _spread(prior: NDArray[Any], n: int | None) -> NDArray[Any]:
    """What holds for every class, at every example."""
    if prior.ndim != 1:
        return prior
    if n is None:
        raise InputError(
            "this prior is the same for every example, so that their number is not known; give `n_examples`."
        )
    return np.broadcast_to(prior, (n, len(prior)))


def _is_numpy(path: Path) -> bool:
    """By its first bytes, or by a name that says so."""
    with path.open("rb") as f:
        magic = f.read(6)
    suffix = path.suffix.lower()
    return (magic[:2] == b"PK" and suffix != ".eval") or magic == b"\x93NUMPY" or suffix in NUMPY


def _read(path: Path, key: str | None, role: Role) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
    """One array, and what lies beside it."""
    if not path.is_file():
        raise InputError(f"{path} is not a file.")
    with path.open("rb") as f:
        magic = f.read(6)
    if magic[:2] != b"PK":
        if key:
            raise InputError(f"{path} holds one array without a name; leave out `{role.option}`.")
        return read_npy(path, mapped=True), {}
    with Npz(path) as arrays:
        found = pick(arrays, key, role, source=str(path), weak=True)
        if found is None and len(arrays) == 1:
            found = next(iter(arrays))
        if found is None:
            raise InputError(f"{path} holds {quoted(arrays)}; name the array with `{role.option}`.")
        beside = {"models": arrays["models"]} if "models" in arrays else {}
        ids = pick(arrays, None, EXAMPLE, source=str(path), taken=(found,))
        beside |= {} if ids is None else {"ids": arrays[ids]}
        return arrays[found], beside
