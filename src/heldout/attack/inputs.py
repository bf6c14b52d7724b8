"""Labels and priors from files."""

from __future__ import annotations

import fnmatch
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.attack.ranks import prior_from_ranks
from heldout.errors import InputError
from heldout.predictions.items import label_column, prediction_rows, score_columns

LABEL_KEYS = ("labels", "y", "targets", "y_test")
PRIOR_KEYS = ("prior", "probabilities", "probs", "counts", "ranks", "top5", "top", "predictions", "preds")
KINDS = ("probabilities", "counts", "predictions", "ranks")
NUMPY = (".npy", ".npz")


def read_labels(path: str | Path, *, key: str | None = None) -> NDArray[Any]:
    """The labels in a file, as class numbers; class names are numbered in their order."""
    return read_named_labels(path, key=key)[0]


def read_named_labels(path: str | Path, *, key: str | None = None) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Labels, and the names of the classes where they are text.

    Parameters
    ----------
    path : path
        .npy or .npz; a CSV, Parquet, JSON or JSONL table with a column of labels; samples of lm-evaluation-harness or a
        log of inspect_ai, whose targets are read.
    key : str, optional
        The array, or column, where none goes by a usual name.
    """
    path = Path(path)
    if path.is_file() and not _is_numpy(path):
        labels = label_column(path, key)
    else:
        labels = _read(path, key, LABEL_KEYS, "--labels-key")[0]
    if labels.dtype.kind not in "UO":
        return labels, None
    names, codes = np.unique(labels.astype(np.str_), return_inverse=True)
    return codes.reshape(labels.shape), tuple(names.tolist())


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
        class numbers.
    models_axis : int, optional
        Axis of the models in predictions (0 without) or ranks (2 without).
    classes : tuple of str, optional
        Names of the classes, in order, where predictions are text.
    """
    path = Path(path)
    if kind not in (None, *KINDS):
        raise InputError(f"`kind` is {kind!r} (--prior-kind); it can be {', '.join(KINDS)}.")
    if path.is_file() and not _is_numpy(path):
        table, names = _read_table(path, kind, classes, models_axis)
        beside = {"models": np.array(names)}
    else:
        table, beside = _read(path, key, PRIOR_KEYS, "--prior-key")
        if table.dtype.kind in "iu" and kind in (None, "predictions", "ranks"):
            table = _turned(table, models_axis, path)
    if kind == "counts":
        return _spread(_shares(table, path), n), f"counts from {path.name}"
    if table.dtype.kind not in "iu" or kind == "probabilities":
        if models:
            raise InputError(f"{path} holds probabilities; --prior-models chooses among several models' ranks.")
        return _spread(table, n), f"probabilities from {path.name}"
    if table.ndim == 1:
        raise InputError(
            f"{path} holds {len(table):,} whole numbers; say with --prior-kind counts that they count each class. One "
            "model's answers alone do not say how sure it is: several models' predictions, (models, examples), would."
        )
    predictions = table.ndim == 2
    if predictions:
        if len(table) >= table.shape[1] and models_axis is None:
            raise InputError(
                f"{path} holds class numbers of shape {table.shape}; predictions of shape (models, examples) or ranks "
                "of shape (examples, places, models) are needed (--models-axis says where models are, --prior-kind "
                "counts that these are counts)."
            )
        table = table.T[:, None, :]  # each model's first place
    if table.ndim == 3 and models:
        names = [str(name) for name in beside.get("models", np.array([]))]
        if len(names) != table.shape[2]:
            raise InputError(f"{path} names {len(names)} models, its ranks are those of {table.shape[2]}.")
        chosen = [i for i, name in enumerate(names) if any(fnmatch.fnmatch(name, pattern) for pattern in models)]
        unknown = [p for p in models if not fnmatch.filter(names, p)]
        if unknown:
            raise InputError(f"--prior-models {unknown[0]}: there is {', '.join(names)}.")
        table = table[:, :, chosen]
    known = int(table.max(initial=1)) + 1 if m is None else m
    prior = prior_from_ranks(table, known)
    what = "predictions" if predictions else f"first {table.shape[1]} ranks"
    return prior, f"the {what} of {table.shape[2]} models from {Path(path).name}"


def _read_table(
    path: Path, kind: str | None, classes: tuple[str, ...] | None, models_axis: int | None
) -> tuple[NDArray[Any], list[str]]:
    """Probabilities or counts, one column a class; or predictions, one column a model."""
    if kind in (None, "probabilities", "counts"):
        found = score_columns(path, classes, whole=kind == "counts")
        if found is not None:
            return found
    if kind in ("probabilities", "counts"):
        raise InputError(f"{path.name} holds no table of {kind}: one column of numbers for each class is needed.")
    answers, names = prediction_rows(path, classes, models_axis)
    return answers, names


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
            "this prior is the same for every example, so that their number is not known; give --examples."
        )
    return np.broadcast_to(prior, (n, len(prior)))


def _is_numpy(path: Path) -> bool:
    """By its first bytes, or by a name that says so."""
    with path.open("rb") as f:
        magic = f.read(6)
    suffix = path.suffix.lower()
    return (magic[:2] == b"PK" and suffix != ".eval") or magic == b"\x93NUMPY" or suffix in NUMPY


def _read(
    path: Path, key: str | None, usual: Sequence[str], option: str
) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
    """One array, and what lies beside it."""
    if not path.is_file():
        raise InputError(f"{path} is not a file.")
    try:
        with path.open("rb") as f:
            magic = f.read(6)
        if magic[:2] != b"PK" and magic != b"\x93NUMPY":
            raise InputError(f"{path} cannot be read: it is no .npy or .npz file; numpy.save writes one.")
        if magic[:2] != b"PK":
            if key:
                raise InputError(f"{path} holds one array without a name; leave out {option}.")
            return np.load(path, mmap_mode="r", allow_pickle=False), {}
        with path.open("rb") as f, np.load(f, allow_pickle=False) as archive:  # closed even where it is damaged
            names = list(archive.files)
            found = [key] if key else [k for k in usual if k in names][:1] or (names if len(names) == 1 else [])
            if not found or found[0] not in names:
                held = ", ".join(names) or "no arrays"
                raise InputError(f"{path} holds {held}; name the array with {option}.")
            beside = {"models": archive["models"]} if "models" in names else {}
            return archive[found[0]], beside
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} cannot be read as .npy or .npz: {error}.") from error
