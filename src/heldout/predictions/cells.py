"""Matrices at the door: predictions beside labels, and which cells are there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.predictions.text_cells import free_answers, one_spelling
from heldout.predictions.values import NAN, Codes, as_array, first_there, is_gap, plain, read_cells


def read_predictions(
    predictions: ArrayLike, labels: ArrayLike, codes: Codes
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_] | None]:
    """Predictions (k, n), labels (n,) of the same kind, and which predictions are there (None: all)."""
    predictions, labels = _one_spelling(
        as_array(predictions, what="predictions"), as_array(labels, what="labels"), codes
    )
    truth = _read_labels(labels)
    said, seen = read_cells(predictions, codes, what="predictions")
    said = matrix(said, what="predictions")
    if said.shape[1] != len(truth):
        raise InputError(
            f"predictions have the shape {said.shape} but there are {len(truth):,} labels; "
            "(n_models, n_examples) is needed."
        )
    seen = None if seen is None else seen.reshape(said.shape)
    if seen is not None and not seen.any():  # of no kind, then
        return np.broadcast_to(truth, said.shape), truth, seen
    if (said.dtype.kind in "UO") != (truth.dtype.kind in "UO"):
        raise InputError(
            f"labels such as {plain(truth[0])!r} and predictions such as {first_there(said, seen)!r} are of "
            "different kinds; give both as class numbers or both as class names."
        )
    return said, truth, seen


def as_answers(predictions: ArrayLike, labels: ArrayLike, codes: Codes) -> tuple[ArrayLike, ArrayLike]:
    """Predictions and labels as text, where they are numbers of which some are no whole ones; else as they are."""
    arrays = [as_array(cells, what=what) for cells, what in ((predictions, "predictions"), (labels, "labels"))]
    if any(isinstance(cells, np.ma.MaskedArray) or cells.dtype.kind not in "iufO" for cells in arrays):
        return predictions, labels
    flat = [cells.ravel() for cells in arrays]
    said, truth = free_answers(flat)
    if said is flat[0]:
        return predictions, labels
    if NAN in codes:
        codes.meet(NAN)
        said = [None if is_gap(value) else value for value in said]
    read = (np.array([*values, None], dtype=object)[:-1] for values in (said, truth))
    first, second = (values.reshape(cells.shape) for values, cells in zip(read, arrays, strict=True))
    return first, second


def _one_spelling(said: NDArray[Any], truth: NDArray[Any], codes: Codes) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both as they are, or with one spelling for each class where some cells are text."""
    said, truth = (np.char.decode(cells, "utf-8") if cells.dtype.kind == "S" else cells for cells in (said, truth))
    if not codes.unread and not {said.dtype.kind, truth.dtype.kind} & set("UO"):
        return said, truth
    rows = list(said) if said.ndim > 1 else [said.ravel()]
    read, found = one_spelling(rows, truth.ravel(), codes)
    same = all(one is other for one, other in zip(read, rows, strict=True))
    return said if same else np.stack(read).reshape(said.shape), found.reshape(truth.shape)


def matrix(cells: NDArray[Any], *, what: str) -> NDArray[Any]:
    """One row per model; one model's row alone is a matrix too."""
    if cells.ndim == 1:
        cells = cells[None]
    if cells.ndim != 2:
        raise InputError(f"{what} have the shape {cells.shape}; (n_models, n_examples) is needed.")
    if 0 in cells.shape:
        raise InputError(f"the pool is empty: {cells.shape[0]:,} models, {cells.shape[1]:,} examples.")
    return cells


def check_cells(cells: Any, observed: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Cells of a table as it keeps them: right and wrong where none lies between, nothing where a cell is missing."""
    if np.ma.is_masked(cells):
        raise InputError("`cells` is masked; Predictions.from_correct and from_scores take masks.")
    cells = np.asarray(cells)
    if cells.ndim != 2 or cells.dtype not in (np.bool_, np.float64):
        raise InputError(
            f"`cells` has the shape {cells.shape} and the type {cells.dtype}; truth values or scores (float64) of "
            "shape (n_models, n_examples) are needed (Predictions.from_correct turns 0/1)."
        )
    matrix(cells, what="`cells`")
    if observed is not None:
        observed = np.asarray(observed)
        if observed.shape != cells.shape or observed.dtype != np.bool_:
            raise InputError(
                f"`observed` has the shape {observed.shape} and the type {observed.dtype}; truth values of the "
                f"shape of the cells, {cells.shape}, are needed."
            )
        observed = None if observed.all() else observed
        if observed is not None:
            cells = np.where(observed, cells, np.zeros((), cells.dtype))
    if cells.dtype != np.bool_:
        if not ((cells >= 0) & (cells <= 1)).all():
            raise InputError("`cells` holds scores outside 0 to 1; Predictions.from_scores takes other scales.")
        if ((cells == 0) | (cells == 1)).all():
            cells = cells == 1
    return cells, observed


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
        raise InputError(f"labels have the shape {truth.shape}; one label per example is needed.")
    if seen is not None:
        raise InputError(f"example {int(np.argmin(seen))} has no label; leave examples without a label out.")
    return truth
