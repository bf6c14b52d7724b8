"""Arrays to the fields of a table: every cell is checked here, once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.predictions.cells import both_masks, matrix, read_predictions
from heldout.predictions.item_columns import as_column
from heldout.predictions.trials import Scale, Scaling, read_scores, read_trials
from heldout.predictions.values import CellError, Codes, ModelError, as_text, read_marks, refuse_path

ARRAYS = "arrays"  # the source of what no file brought


class Fields(Protocol):
    """What a table of predictions holds, for those who check or write one."""

    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def cells(self) -> NDArray[Any]: ...  # noqa: D102
    @property
    def observed(self) -> NDArray[np.bool_] | None: ...  # noqa: D102
    @property
    def trials(self) -> NDArray[np.int64] | None: ...  # noqa: D102
    @property
    def within(self) -> NDArray[np.float64] | None: ...  # noqa: D102
    @property
    def predictions(self) -> NDArray[Any] | None: ...  # noqa: D102
    @property
    def labels(self) -> NDArray[Any] | None: ...  # noqa: D102
    @property
    def ids(self) -> tuple[str, ...] | None: ...  # noqa: D102
    @property
    def source(self) -> str: ...  # noqa: D102
    @property
    def columns(self) -> Mapping[str, NDArray[Any]]: ...  # noqa: D102


def read_fields(
    *,
    predictions: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    scores: ArrayLike | None = None,
    trials: ArrayLike | None = None,
    within: ArrayLike | None = None,
    scale: Scaling = None,
    names: Sequence[Any] | None = None,
    ids: Sequence[Any] | None = None,
    observed: ArrayLike | None = None,
    codes: Codes,
    source: str = ARRAYS,
    columns: Mapping[str, ArrayLike | Sequence[Any]] | None = None,
    called: str | None = None,
) -> dict[str, Any]:
    """The fields of a table of `correct`, of `scores`, or of `predictions` and `labels`; none is the caller's array.

    `called` is the argument that they came in, for messages.
    """
    given = {"correct": correct, "scores": scores, "predictions": predictions}
    kind, values = next((name, values) for name, values in given.items() if values is not None)
    called = called or kind
    refuse_path(values, what=called)
    said, truth, counted, spread = None, None, trials, within
    cells: NDArray[Any]
    if correct is not None:
        cells, seen = read_marks(correct, codes, what=called)
    elif scores is not None:
        read = read_scores(scores, codes, what=called, scale=Scale(scale))
        cells, seen = read.cells, read.observed
        counted, spread = (read.trials, read.within) if trials is None else (trials, within)
    else:
        assert predictions is not None, "`correct`, `scores`, or `predictions` and `labels`"
        assert labels is not None
        said, truth, seen = read_predictions(predictions, labels, codes)
        cells = np.asarray(said == truth)
    cells = matrix(cells, what=called)
    return {
        "names": tuple(f"model {i}" for i in range(len(cells))) if names is None else tuple(names),
        "cells": cells,
        "observed": both_masks(observed, seen, cells.shape),
        "trials": None if counted is None else read_trials(counted, cells.shape),
        "within": None if spread is None else np.array(spread, dtype=np.float64).reshape(cells.shape),
        "predictions": None if said is None else _own(said, predictions),
        "labels": None if truth is None else _own(truth, labels),
        "ids": ids,
        "source": source,
        "columns": {name: _own(as_column(v, cells.shape[1], name), v) for name, v in (columns or {}).items()},
    }


@contextmanager
def naming_cells(source: str, names: Iterable[Any] | None, ids: Iterable[Any] | None) -> Iterator[None]:
    """What is wrong with a cell is told with the names of its model, its example and its file."""
    try:
        yield
    except InputError as error:
        told = error
        models = None if names is None else [as_text(name) for name in names]
        if isinstance(error, CellError):
            told = error.named(models, None if ids is None else [as_text(name) for name in ids])
        elif isinstance(error, ModelError):
            told = error.named(models)
        if source == ARRAYS:
            raise told from error
        raise InputError(f"{source}: {told}") from error


def _own(read: NDArray[Any], given: Any) -> NDArray[Any]:
    """A copy where an array is still the caller's."""
    return read.copy() if isinstance(given, np.ndarray) and np.may_share_memory(read, given) else read
