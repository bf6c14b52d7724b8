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

LABEL_KEYS = ("labels", "y", "targets", "y_test")
PRIOR_KEYS = ("prior", "probabilities", "probs", "ranks", "top5", "top", "predictions", "preds")


def read_labels(path: str | Path, *, key: str | None = None) -> NDArray[Any]:
    """The labels in a .npy or .npz file."""
    return _read(Path(path), key, LABEL_KEYS, "--labels-key")[0]


def read_prior(
    path: str | Path, *, key: str | None = None, models: Sequence[str] = (), m: int | None = None
) -> tuple[NDArray[Any], str]:
    """A prior of shape (n, m), and in words what it was made of.

    Parameters
    ----------
    path : path
        .npy or .npz with probabilities (examples, classes); or with class numbers, from which `prior_from_ranks` makes
        probabilities: predictions (models, examples), or ranks (examples, places, models), best first.
    key : str, optional
        The array, where a .npz has several.
    models : sequence of str
        Of ranks, only those of these models (`resnet*`); names come from the array `models` beside the ranks.
    m : int, optional
        Classes, for ranks; by default no more than they name.
    """
    table, beside = _read(Path(path), key, PRIOR_KEYS, "--prior-key")
    if table.dtype.kind not in "iu":
        if models:
            raise InputError(f"{path} holds probabilities; --prior-models chooses among several models' ranks.")
        return table, f"probabilities from {Path(path).name}"
    predictions = table.ndim == 2
    if predictions:
        if len(table) >= table.shape[1]:
            raise InputError(
                f"{path} holds class numbers of shape {table.shape}; predictions of shape (models, examples) or ranks "
                "of shape (examples, places, models) are needed."
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
    classes = int(table.max(initial=1)) + 1 if m is None else m
    prior = prior_from_ranks(table, classes)
    what = "predictions" if predictions else f"first {table.shape[1]} ranks"
    return prior, f"the {what} of {table.shape[2]} models from {Path(path).name}"


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
