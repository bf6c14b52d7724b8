"""Scores between 0 and 1 at the door: their scale, and the trials behind them.

A cell of several trials holds their mean. The trials of one example share all that makes it easy or hard, so they are
no new examples: error bars are over examples, and what more trials would bring is told by the variance inside cells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.predictions.values import CellError, Codes, ModelError, as_array, first_there, plain, read_number_cells

Scaling = str | float | Sequence[float] | None  # what scores run from and to

PERCENT = "percent"
COUNTED = re.compile(r"\s*(\d+)\s*(?:/|of)\s*(\d+)\s*")  # 3/5
# Between score times trials and a whole number, for each trial: 66.7 % of 3 trials are 2 of them.
ROUNDING = 1e-3
NEGLIGIBLE = 1e-9  # of a scale: what rounding alone may take a score beyond its end


class Scale:
    """What scores run from and to, to 0 and 1.

    Examples
    --------
    >>> Scale("percent").ends, Scale(10).ends, Scale("1:5").ends, Scale(None).ends
    ((0.0, 100.0), (0.0, 10.0), (1.0, 5.0), (0.0, 1.0))
    """

    def __init__(self, scale: Scaling = None) -> None:
        self.declared = scale is not None
        self.percent = isinstance(scale, str) and scale == PERCENT
        self.ends, self.both_said = _ends(scale)

    def check_model(self, row: int, largest: float, *, what: str) -> None:
        """Scores up to 100 of which a model has none above 1 are more likely its fractions, or right and wrong, and
        would come out a hundred times too small; whoever names both ends is taken at their word."""
        best = self.ends[1]
        if self.both_said or not 0 < largest <= 1 < best:
            return
        said = "in percent" if self.percent else f"between 0 and {best:g}"
        raise ModelError(
            row,
            f"has scores said to be {said}, but the largest is {largest:g}; leave `scale` out if all models have "
            "scores from 0 to 1, bring all to one scale if only some have, and name both ends "
            f'(`scale="0:{best:g}"`) if this model\'s are as low as that.',
            what=what,
        )

    def check_models(self, cells: NDArray[Any], models: NDArray[np.intp], *, what: str) -> None:
        """The same of every model, where `models` is the one of each cell."""
        largest = np.zeros(int(models.max(initial=-1)) + 1)
        np.maximum.at(largest, models, cells)
        for row, score in enumerate(largest.tolist()):
            self.check_model(row, score, what=what)

    def apply(
        self,
        cells: NDArray[Any],
        observed: NDArray[np.bool_] | None,
        *,
        what: str,
        models: NDArray[np.intp] | None = None,
    ) -> NDArray[np.float64]:
        """Scores between 0 and 1; a cell that is off the scale is an error that names it.

        `models` is the model of each cell; without it they stand in rows.
        """
        low, high = self.ends
        scores = np.asarray(cells, dtype=np.float64)
        if cells.dtype.kind == "f":
            for end in self.ends:  # what a mean of many ones is off by is no other score
                scores = np.where(np.abs(scores - end) <= NEGLIGIBLE * (high - low), end, scores)
        outside = ~((scores >= low) & (scores <= high))
        if observed is not None:
            outside &= observed
        if outside.any():
            place = tuple(int(i) for i in np.argwhere(outside)[0])
            holds = f"holds {_digits(plain(cells[place]))}"
            if self.declared:
                but = f", outside the scale from {low:g} to {high:g} (`scale`)."
                raise CellError(place, holds, but, what=what)
            classes = "give the labels (`labels_key`) if these are class numbers, "
            but = (
                ", but scores lie between 0 (wrong) and 1 (right); say what they run from and to with "
                '`scale="percent"` or `scale="1:5"`, '
                f"{classes if float(scores[place]).is_integer() else ''}or mark a cell that was not run with "
                "`missing`."
            )
            raise CellError(place, holds, but, what=what)
        if self.declared:
            there = np.ones(scores.shape, dtype=bool) if observed is None else observed
            self.check_models(scores[there], (models_in_rows(scores) if models is None else models)[there], what=what)
        return np.asarray((scores - low) / (high - low))


def _digits(number: float) -> str:
    """A number in few digits where they are all it has.

    Examples
    --------
    >>> _digits(80.0), _digits(1.0000001)
    ('80', '1.0000001')
    """
    short = f"{number:g}"
    return short if float(short) == number else repr(float(number))


def models_in_rows(cells: NDArray[Any]) -> NDArray[np.intp]:
    """The model of each cell where each has a row; a lone row is one model's.

    Examples
    --------
    >>> models_in_rows(np.zeros((2, 3))).tolist(), models_in_rows(np.zeros(2)).tolist()
    ([[0, 0, 0], [1, 1, 1]], [0, 0])
    """
    rows = np.arange(len(cells)) if cells.ndim > 1 else np.zeros(1, dtype=np.intp)
    return np.broadcast_to(rows.reshape(-1, *[1] * (cells.ndim - 1)), cells.shape)


def _ends(scale: Scaling) -> tuple[tuple[float, float], bool]:
    """The worst and the best, and whether both were said."""
    try:
        if scale is None:
            return (0.0, 1.0), False
        if isinstance(scale, str):
            if scale == PERCENT:
                return (0.0, 100.0), False
            parts = [float(part) for part in scale.split(":")]
        else:
            parts = [float(part) for part in np.atleast_1d(np.asarray(scale, dtype=np.float64))]
        low, high = (0.0, parts[0]) if len(parts) == 1 else parts
    except (ValueError, TypeError):
        low, high = 0.0, 0.0
    if not (np.isfinite([low, high]).all() and low < high):
        raise InputError(
            f'`scale` is {scale!r}; "percent", the best score (10), or the worst and the best ("1:5") is needed.'
        )
    return (low, high), len(parts) == 2


@dataclass(frozen=True, eq=False)
class Scored:
    """Cells that were read: bool where all are 0 or 1, and trials where there are any."""

    cells: NDArray[Any]
    observed: NDArray[np.bool_] | None
    trials: NDArray[np.int64] | None = None
    within: NDArray[np.float64] | None = None


def read_scores(
    values: ArrayLike, codes: Codes, *, what: str, scale: Scale, models: NDArray[np.intp] | None = None
) -> Scored:
    """Scores of any shape, k of n among them; a third axis holds the trials of each cell.

    `models` is the model of each cell, where they do not stand in rows.

    Examples
    --------
    >>> read_scores([[1, 0.25], ["3/5", None]], Codes(), what="scores", scale=Scale()).cells.tolist()
    [[1.0, 0.25], [0.6, 0.0]]
    """
    _check_ragged(values, what=what)
    cells = as_array(values, what=what)
    if scale.declared and _are_truths(cells):
        raise InputError(f"{what}: true and false are no scores with a scale; leave `scale` out.")
    if cells.dtype.kind == "b" and not isinstance(cells, np.ma.MaskedArray):
        codes.meet("nan")
        observed: NDArray[np.bool_] | None = None
        scores: NDArray[Any] = cells.copy()  # the caller may go on writing into its own array
    else:
        if cells.dtype.kind in "USO":
            counted = _read_counted(cells, codes, what=what, scale=scale, models=models)
            if counted is not None:
                return counted
        if cells.ndim == 3 and cells.dtype.kind == "f" and not isinstance(cells, np.ma.MaskedArray):
            cells = np.ma.masked_invalid(cells)  # of the trials of a cell some may not have been run
        numbers, observed = read_number_cells(cells, codes, what=what)
        if observed is not None and not observed.any():
            scores = np.zeros(numbers.shape)
        elif numbers.dtype.kind in "UO":
            shown = first_there(numbers, observed)
            raise InputError(
                f'{what}: the cell {shown!r} is text; a score between 0 and 1, or successes of trials such as "3/5", '
                "is needed."
            )
        else:
            scores = scale.apply(numbers, observed, what=what, models=models)
            if observed is not None:
                scores = np.where(observed, scores, 0.0)
    if scores.ndim == 3:
        return _mean_of_trials(scores.astype(np.float64), observed)
    return Scored(scores, observed)


def _are_truths(cells: NDArray[Any]) -> bool:
    """Whether cells are true and false alone, of which a scale would make something else."""
    if cells.dtype.kind != "O":
        return cells.dtype.kind == "b"
    kinds = set(map(type, cells.ravel().tolist())) - {type(None)}
    return bool(kinds) and kinds <= {bool, np.bool_}


def _check_ragged(values: Any, *, what: str) -> None:
    """Lists of trials in lists of examples in lists of models must be equally long: they make an array."""
    if not (isinstance(values, (list, tuple)) and values and isinstance(values[0], (list, tuple)) and values[0]):
        return
    if not isinstance(values[0][0], (list, tuple)):
        return
    counts = {len(trials) for row in values for trials in row if isinstance(trials, (list, tuple))}
    if len(counts) > 1:
        raise InputError(
            f"{what}: the cells have {min(counts)} to {max(counts)} trials, and an array needs as many in each; fill "
            'up with NaN, or give successes of trials such as "3/5".'
        )


def _read_counted(
    cells: NDArray[Any], codes: Codes, *, what: str, scale: Scale, models: NDArray[np.intp] | None
) -> Scored | None:
    """Cells of which some are successes of trials, `3/5`; None where no cell is."""
    flat = cells.ravel().tolist()
    if not any(issubclass(kind, str) for kind in set(map(type, flat))):
        return None
    found = [COUNTED.fullmatch(value) if isinstance(value, str) else None for value in flat]
    if not any(found):
        return None
    others = np.array([None if match else value for match, value in zip(found, flat, strict=True)], dtype=object)
    whose = models_in_rows(cells) if models is None else models
    rest = read_scores(others, codes, what=what, scale=scale, models=whose.ravel())
    scores = rest.cells.astype(np.float64)
    trials = np.ones(len(flat), dtype=np.int64)
    there = np.ones(len(flat), dtype=bool) if rest.observed is None else rest.observed.copy()
    for i, match in enumerate(found):
        if match is None:
            continue
        successes, trials[i] = int(match[1]), int(match[2])
        if successes > trials[i]:
            raise InputError(f"{what}: {successes} of {trials[i]} trials is more than all of them.")
        there[i] = trials[i] > 0  # 0 of 0: not run
        scores[i] = successes / max(1, int(trials[i]))
    shape = cells.shape
    return Scored(scores.reshape(shape), there.reshape(shape), trials.reshape(shape))


def _mean_of_trials(scores: NDArray[np.float64], observed: NDArray[np.bool_] | None) -> Scored:
    """Mean, number and variance of the trials along the last axis."""
    there = np.ones(scores.shape, dtype=bool) if observed is None else observed
    trials = there.sum(axis=-1, dtype=np.int64)
    mean = np.where(there, scores, 0.0).sum(axis=-1) / np.maximum(trials, 1)
    apart = np.where(there, scores - mean[..., None], 0.0)
    within = (apart**2).sum(axis=-1) / np.maximum(trials - 1, 1)
    return Scored(np.clip(mean, 0.0, 1.0), trials > 0, trials, within)


def pooled_trials(rows: Scored, place: NDArray[np.intp], n: int) -> Scored:
    """Rows that are trials of cells, or several trials each, to n cells: their mean, number and variance.

    With t trials of mean x and variance w in each row, the sum of squares around the cell's mean is that of
    (t - 1) w + t (x - mean)².

    Examples
    --------
    >>> cells = pooled_trials(Scored(np.array([1.0, 0.0, 1.0]), None), np.array([0, 0, 1]), 2)
    >>> cells.cells.tolist(), cells.trials.tolist(), cells.within.tolist()
    ([0.5, 1.0], [2, 1], [0.5, 0.0])
    """
    x = rows.cells.astype(np.float64)
    there = np.ones(len(x), dtype=bool) if rows.observed is None else rows.observed
    t = np.where(there, 1 if rows.trials is None else rows.trials, 0).astype(np.float64)
    if rows.trials is not None:  # as everywhere: a score that is a whole number of successes is one of 0 and 1
        given = None if rows.within is None else rows.within[None]
        _, spread = check_trials(np.maximum(rows.trials, 1)[None], given, x[None], None)
    else:
        spread = np.zeros((1, len(x)))
    trials = np.bincount(place, weights=t, minlength=n)
    mean = np.bincount(place, weights=t * x, minlength=n) / np.maximum(trials, 1)
    mean = np.clip(mean, 0.0, 1.0)
    if spread is None and rows.trials is not None and (rows.trials > 1).any():
        return Scored(mean, trials > 0, trials.astype(np.int64), None)
    inside = np.zeros(len(x)) if spread is None else spread[0]
    squares = np.bincount(place, weights=np.maximum(t - 1, 0) * inside + t * (x - mean[place]) ** 2, minlength=n)
    return Scored(mean, trials > 0, trials.astype(np.int64), squares / np.maximum(trials - 1, 1))


def read_trials(trials: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Numbers of trials, one for all cells or one for each."""
    counts = np.asarray(as_array(trials, what="`trials`"))
    if counts.dtype.kind == "f" and (counts == np.floor(counts)).all():
        counts = counts.astype(np.int64)
    if counts.dtype.kind not in "iu" or (counts < 0).any():
        raise InputError("`trials` must hold whole numbers, 0 or more.")
    try:
        return np.array(np.broadcast_to(counts, shape), dtype=np.int64)
    except ValueError as error:
        raise InputError(f"`trials` has the shape {counts.shape} but the cells have {shape}.") from error


def check_trials(
    trials: NDArray[np.int64] | None,
    within: NDArray[np.float64] | None,
    cells: NDArray[Any],
    observed: NDArray[np.bool_] | None,
) -> tuple[NDArray[np.int64] | None, NDArray[np.float64] | None]:
    """Trials and the variance inside cells as a table keeps them; (None, None) where each cell is one trial.

    Where trials are successes and failures, s of t, the variance inside is s (1 - s) t / (t - 1).
    """
    if trials is None:
        if within is not None:
            raise InputError("`within` is the variance of trials, but `trials` is not given.")
        return None, None
    if trials.shape != cells.shape or trials.dtype != np.int64:
        raise InputError(
            f"`trials` has the shape {trials.shape} and the type {trials.dtype}; int64 of the shape {cells.shape} is "
            "needed."
        )
    if observed is not None:
        trials = np.where(observed, trials, 0)
    if ((trials < 1) & (True if observed is None else observed)).any():
        raise InputError("a cell that is there has 0 trials; mark it as missing (observed=).")
    if (trials <= 1).all():
        return None, None
    if within is not None:
        if within.shape != cells.shape or not (within >= 0).all():
            raise InputError(f"`within` must hold variances, 0 or more, of the shape {cells.shape}.")
        return trials, np.where(trials > 1, within, 0.0)
    successes = cells * trials
    if (np.abs(successes - np.round(successes)) > ROUNDING * trials).any():
        return trials, None
    spread = cells * (1.0 - cells) * trials / np.maximum(trials - 1, 1)
    return trials, np.where(trials > 1, spread, 0.0)
