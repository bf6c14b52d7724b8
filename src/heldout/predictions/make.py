"""Arrays to a table: every cell is checked here, once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.predictions.cells import both_masks, matrix, read_answers
from heldout.predictions.item_columns import as_column
from heldout.predictions.table import ARRAYS, Predictions
from heldout.predictions.trials import Scale, Scaling, read_scores, read_trials
from heldout.predictions.values import CellError, Codes, as_text, read_marks, refuse_path


def make_table(
    *,
    predictions: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    scores: ArrayLike | None = None,
    trials: ArrayLike | None = None,
    within: ArrayLike | None = None,
    scale: Scaling = None,
    names: Iterable[Any] | None = None,
    ids: Iterable[Any] | None = None,
    observed: ArrayLike | None = None,
    missing: Any = None,
    source: str = ARRAYS,
    columns: Mapping[str, ArrayLike | Sequence[Any]] | None = None,
) -> Predictions:
    """A table of `correct`, of `scores`, or of `predictions` and `labels`, whose cells are checked one by one.

    What needs all models at once, whether labels and predictions number classes alike, is left to
    `check_numbering`: the models may come in several files. Nothing of the table is the caller's own array.
    """
    codes = missing if isinstance(missing, Codes) else Codes(missing)
    given = {"correct": correct, "scores": scores, "predictions": predictions}
    kind = next(name for name, values in given.items() if values is not None)
    refuse_path(given[kind], what=kind)
    names = None if names is None else tuple(names)
    ids = ids if ids is None or isinstance(ids, tuple) else tuple(ids)
    try:
        answers, truth, counted, spread = None, None, trials, within
        cells: NDArray[Any]
        if correct is not None:
            cells, seen = read_marks(correct, codes, what="correct")
        elif scores is not None:
            read = read_scores(scores, codes, what="scores", scale=Scale(scale))
            cells, seen = read.cells, read.observed
            counted, spread = (read.trials, read.within) if trials is None else (trials, within)
        else:
            assert predictions is not None, "`correct`, `scores`, or `predictions` and `labels`"
            assert labels is not None
            answers, truth, seen = read_answers(predictions, labels, codes)
            cells = np.asarray(answers == truth)
        cells = matrix(cells, what=kind)
        table = Predictions(
            names=tuple(f"model {i}" for i in range(len(cells))) if names is None else names,
            cells=cells,
            observed=both_masks(observed, seen, cells.shape),
            trials=None if counted is None else read_trials(counted, cells.shape),
            within=None if spread is None else np.array(spread, dtype=np.float64).reshape(cells.shape),
            predictions=None if answers is None else _own(answers, predictions),
            labels=None if truth is None else _own(truth, labels),
            ids=ids,
            source=source,
            columns={name: _own(as_column(v, cells.shape[1], name), v) for name, v in (columns or {}).items()},
        )
        if codes is not missing:  # else whoever made the codes reads more with them
            codes.check()
        return table
    except InputError as error:
        told = error
        if isinstance(error, CellError):
            told = error.named(
                None if names is None else [as_text(name) for name in names],
                None if ids is None else [as_text(name) for name in ids],
            )
        if source == ARRAYS:
            raise told from error
        raise InputError(f"{source}: {told}") from error


def _own(read: NDArray[Any], given: Any) -> NDArray[Any]:
    """A copy where an array is still the caller's."""
    return read.copy() if isinstance(given, np.ndarray) and np.may_share_memory(read, given) else read
