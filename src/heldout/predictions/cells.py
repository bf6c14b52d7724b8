"""Matrices at the door: answers beside labels, and which cells are there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.predictions.values import Codes, as_array, first_there, plain, read_cells


def read_answers(
    predictions: ArrayLike, labels: ArrayLike, codes: Codes
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_] | None]:
    """Answers (k, n), labels (n,) of the same kind, and which answers are there (None: all)."""
    truth = _read_labels(labels)
    answers, seen = read_cells(predictions, codes, what="predictions")
    answers = matrix(answers, what="predictions")
    if answers.shape[1] != len(truth):
        raise InputError(
            f"predictions have the shape {answers.shape} but there are {len(truth):,} labels; "
            "(n_models, n_examples) is needed."
        )
    seen = None if seen is None else seen.reshape(answers.shape)
    if seen is not None and not seen.any():  # of no kind, then
        return np.broadcast_to(truth, answers.shape), truth, seen
    if (answers.dtype.kind in "UO") != (truth.dtype.kind in "UO"):
        raise InputError(
            f"labels such as {plain(truth[0])!r} and predictions such as {first_there(answers, seen)!r} are of "
            "different kinds; give both as class numbers or both as class names."
        )
    return answers, truth, seen


def matrix(cells: NDArray[Any], *, what: str) -> NDArray[Any]:
    """One row a model; one model's row alone is a matrix too."""
    if cells.ndim == 1:
        cells = cells[None]
    if cells.ndim != 2:
        raise InputError(f"{what} have the shape {cells.shape}; (n_models, n_examples) is needed.")
    if 0 in cells.shape:
        raise InputError(f"the pool is empty: {cells.shape[0]:,} models, {cells.shape[1]:,} examples.")
    return cells


def both_masks(
    given: ArrayLike | None, found: NDArray[np.bool_] | None, shape: tuple[int, ...]
) -> NDArray[np.bool_] | None:
    """Cells that are there by the mask given and by the cells themselves."""
    there = None if found is None else found.reshape(shape)
    if given is None:
        return there
    mask = matrix(as_array(given, what="`observed`") != 0, what="`observed`")
    if mask.shape != shape:
        raise InputError(f"`observed` has the shape {mask.shape} but the cells have {shape}.")
    return mask if there is None else mask & there


def _read_labels(labels: ArrayLike) -> NDArray[Any]:
    truth, seen = read_cells(labels, Codes(), what="labels")
    if truth.ndim == 2 and 1 in truth.shape:
        truth = truth.ravel()
    if truth.ndim != 1:
        raise InputError(f"labels have the shape {truth.shape}; one label an example is needed.")
    if seen is not None:
        raise InputError(f"example {int(np.argmin(seen))} has no label; leave examples without a label out.")
    return truth
