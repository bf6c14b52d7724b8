"""`Predictions`: what several models predicted on one test set."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.predictions.cells import as_answers, check_cells
from heldout.predictions.fields import ARRAYS, naming_cells, read_fields
from heldout.predictions.item_columns import as_column, repeated_inputs, scored_by
from heldout.predictions.numbering import ANY_CLASS, check_numbering
from heldout.predictions.trials import Scaling, check_trials
from heldout.predictions.values import Codes, listing, read_ids, read_names
from heldout.predictions.writers import save

MANY_NAMES = 20  # that a message lists


@dataclass(frozen=True, kw_only=True, eq=False)
class Predictions:
    """How k models did on n examples, and, where known, what each predicted.

    Made by `from_arrays`, `from_correct`, `from_scores` or `heldout.load_predictions`; all of them check what comes in,
    and nothing later does. A cell is right or wrong, or a score between 0 and 1: a judge's, or the mean over several
    trials of one example, which stay together in their cell. They are no new examples.

    Attributes
    ----------
    names : tuple of str
        The k models, no two alike.
    cells : (k, n) bool, or float64 between 0 and 1
        Right or wrong; or scores, where any lies in between. False or 0 also where a cell is missing. `correct` and
        `scores` are the two ways to look at it.
    observed : (k, n) bool or None
        Which cells are there; None where all are. Wrong and missing are different things.
    trials : (k, n) int64 or None
        Trials behind each cell, 0 where it is missing; None where all cells are one trial each.
    within : (k, n) float64 or None
        Variance of the trials inside each cell (divisor t - 1), 0 where it has fewer than two; None where there are no
        trials, or where they are not known one by one.
    predictions : (k, n) of whole numbers or text, or None
        What was predicted, where that is known; the value of a missing cell means nothing.
    labels : (n,) or None
        The true classes or texts.
    ids : tuple of str, or None
        The n examples, no two alike.
    source : str
        What was read.
    columns : dict of str to (n,) array
        What else is known of each example: the repository it comes from, the text it asks.

    Examples
    --------
    >>> from heldout import Predictions
    >>> pool = Predictions.from_arrays([[0, 1, 2, -1], [0, 2, 2, 2]], [0, 1, 2, 2], names=["a", "b"], missing=-1)
    >>> print(pool)
    2 models, 4 examples, 1 cell missing (arrays)
    >>> pool.wrong.sum(axis=1)
    array([0, 1])
    """

    names: tuple[str, ...]
    cells: NDArray[np.bool_] | NDArray[np.float64]
    observed: NDArray[np.bool_] | None = None
    trials: NDArray[np.int64] | None = None
    within: NDArray[np.float64] | None = None
    predictions: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    ids: tuple[str, ...] | None = None
    source: str = ARRAYS
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cells, observed = check_cells(self.cells, self.observed)
        k, n = cells.shape
        object.__setattr__(self, "names", read_names(self.names, k))
        object.__setattr__(self, "ids", read_ids(self.ids, n))
        if observed is not None:
            without = [self.names[i] for i in np.flatnonzero(~observed.any(axis=1)).tolist()]
            if without:
                raise InputError(f"every cell of {listing(without)} is missing; leave such models out.")
        if (self.predictions is None) != (self.labels is None):
            raise InputError("`predictions` and `labels` belong together; give both or neither.")
        if self.predictions is not None and self.labels is not None:
            shapes = self.predictions.shape, self.labels.shape
            if shapes != ((k, n), (n,)):
                raise InputError(f"`predictions`, `labels` have the shapes {shapes} but `cells` has {(k, n)}.")
        trials, within = check_trials(self.trials, self.within, cells, observed)
        arrays = {"cells": cells, "observed": observed, "trials": trials, "within": within}
        for name, array in {**arrays, "predictions": self.predictions, "labels": self.labels}.items():
            object.__setattr__(self, name, None if array is None else _read_only(array))
        columns = {name: _read_only(as_column(v, n, name)) for name, v in self.columns.items()}
        object.__setattr__(self, "columns", columns)

    @classmethod
    def from_arrays(
        cls,
        predictions: ArrayLike,
        labels: ArrayLike,
        *,
        names: Iterable[str] | None = None,
        ids: Iterable[Any] | None = None,
        observed: ArrayLike | None = None,
        missing: Any = None,
        unread: Any = None,
        classes: int | Sequence[Any] | str | None = None,
        columns: Mapping[str, ArrayLike | Sequence[Any]] | None = None,
    ) -> Predictions:
        """What scikit-learn models predict, and the true labels.

        Parameters
        ----------
        predictions : (n_models, n_examples), or (n_examples,) of one model
            Class numbers or class names. Masked cells and None are missing.
        labels : (n_examples,)
            Of the same kind.
        names : k str, optional
            Models; numbered from 0 without.
        ids : n values, optional
            Examples.
        observed : (n_models, n_examples) bool, optional
            False for a cell that was not run.
        missing : value or several, optional
            Codes of a cell that was not run: -2, say, or "nan". Any other code that is no class, such as -1 for
            a prediction nobody could read, is simply wrong. A code that no cell holds is refused.
        unread : text or several, optional
            Predictions that could not be read, such as "NA" or "", and are wrong: texts that say that they are not
            there are refused beside labels unless they are declared as the one or the other.
        classes : int, sequence or "any", optional
            Labels must lie among the classes: a number m means 0 to m-1. Without it, whole-number labels must lie
            between the smallest and the largest prediction, since labels counted from 1 and predictions counted
            from 0 are a common slip; and so must be a prediction of every model that is never right. "any" turns
            both checks off (free text), and lets answers be numbers that are no whole ones.
        columns : dict of n values each, optional
            What else is known of each example; `budget(..., groups="repo")` names one.

        Returns
        -------
        Predictions
            Checked.
        """
        codes = Codes(missing, unread)
        if isinstance(classes, str) and classes == ANY_CLASS:
            predictions, labels = as_answers(predictions, labels, codes)
        table = make_table(
            predictions=predictions,
            labels=labels,
            names=names,
            ids=ids,
            observed=observed,
            missing=codes,
            columns=columns,
        )
        codes.check()
        check_numbering(table, classes)
        return table

    @classmethod
    def from_correct(
        cls,
        correct: ArrayLike,
        *,
        names: Iterable[str] | None = None,
        ids: Iterable[Any] | None = None,
        observed: ArrayLike | None = None,
        missing: Any = None,
        columns: Mapping[str, ArrayLike | Sequence[Any]] | None = None,
    ) -> Predictions:
        """A matrix of 1 (right) and 0 (wrong), (n_models, n_examples), when that is all there is.

        Parameters
        ----------
        correct : (n_models, n_examples)
            0 and 1, or truth values. Masked cells and None are missing.
        names, ids, observed, missing, columns
            As in `from_arrays`.

        Returns
        -------
        Predictions
            Checked.

        Examples
        --------
        >>> from heldout import Predictions
        >>> print(Predictions.from_correct([[1, 0, 1], [1, 1, None]]))
        2 models, 3 examples, 1 cell missing (arrays)
        """
        return make_table(correct=correct, names=names, ids=ids, observed=observed, missing=missing, columns=columns)

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        *,
        trials: ArrayLike | None = None,
        within: ArrayLike | None = None,
        scale: Scaling = None,
        names: Iterable[str] | None = None,
        ids: Iterable[Any] | None = None,
        observed: ArrayLike | None = None,
        missing: Any = None,
        columns: Mapping[str, ArrayLike | Sequence[Any]] | None = None,
    ) -> Predictions:
        """Scores between 0 and 1: a judge's, or the mean over several trials of one example.

        Parameters
        ----------
        scores : (n_models, n_examples), or (n_models, n_examples, n_trials)
            With a third axis, the trials of each cell, of which NaN (or masked) ones were not run. Text such as "3/5"
            is 3 successes of 5 trials.
        trials : int, or (n_models, n_examples), optional
            Trials behind each score, where only their mean is known.
        within : (n_models, n_examples), optional
            Variance of the trials of each cell (divisor t - 1). Without it, it follows where trials are successes or
            failures, that is, where score times trials is a whole number.
        scale : str, number or pair, optional
            What scores run from and to: "percent" (0 to 100), 10 (0 to 10), (1, 5) or "1:5". 0 to 1 without.
        names, ids, observed, missing, columns
            As in `from_arrays`.

        Returns
        -------
        Predictions
            Checked.

        Examples
        --------
        >>> from heldout import Predictions
        >>> pool = Predictions.from_scores([["3/5", "5/5"], ["0/5", "4/5"]], names=["a", "b"])
        >>> print(pool)
        2 models, 2 examples, 5 trials each (arrays)
        >>> pool.scores.tolist(), Predictions.from_scores([[60, 100]], scale="percent").scores.tolist()
        ([[0.6, 1.0], [0.0, 0.8]], [[0.6, 1.0]])
        """
        return make_table(
            scores=scores,
            trials=trials,
            within=within,
            scale=scale,
            names=names,
            ids=ids,
            observed=observed,
            missing=missing,
            columns=columns,
        )

    def save(self, path: str | Path) -> None:
        """Write `.npz`, `.csv`, `.parquet`, `.json` or `.jsonl`, whole or not at all.

        `load` reads it back; a table that needed `classes` needs it again. `columns` are written as `column:repo`, and
        read without being asked for; of values other than text and numbers, such as lists, the text is kept.

        Parameters
        ----------
        path : path
            Its suffix tells the format.
        """
        save(self, Path(path))

    @property
    def is_binary(self) -> bool:
        """Whether every cell is right or wrong, none in between."""
        return self.cells.dtype == np.bool_

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Right predictions, (k, n), False also where a cell is missing; an error on a table of fractions."""
        self.require_binary("this step")
        return cast("NDArray[np.bool_]", self.cells)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores, (k, n), 0.0 or 1.0 where predictions are right or wrong, and 0.0 where a cell is missing."""
        return self.cells.astype(np.float64) if self.is_binary else cast("NDArray[np.float64]", self.cells)

    def require_binary(self, what: str) -> None:
        """Say that something needs right and wrong, where there are scores in between.

        Parameters
        ----------
        what : str
            What needs it, to begin the sentence with.

        Examples
        --------
        >>> from heldout import Predictions
        >>> Predictions.from_scores([[0.5, 1]]).require_binary("the similarity bound")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        heldout.errors.InputError: the similarity bound needs scores of 0 or 1, but 1 of 2 cells...
        """
        if not self.is_binary:
            between = int(((self.cells > 0) & (self.cells < 1)).sum())
            raise InputError(
                f"{what} needs scores of 0 or 1, but {between:,} of {_count(self.cells.size, 'cell')} "
                f"({self.source}) {'lies' if between == 1 else 'lie'} between; count a score of 0.5 or more as right "
                "with `threshold=0.5`."
            )

    def thresholded(self, threshold: float) -> Predictions:
        """Right or wrong: a score that reaches the threshold is right. Trials are one verdict then.

        Parameters
        ----------
        threshold : float
            Above 0, at most 1.

        Returns
        -------
        Predictions
            Without trials.

        Examples
        --------
        >>> from heldout import Predictions
        >>> Predictions.from_scores([[0.2, 0.5, 1]]).thresholded(0.5).correct.tolist()
        [[False, True, True]]
        """
        if not 0 < threshold <= 1:
            raise InputError(f"`threshold` is {threshold:g}; it must lie above 0 and at most at 1.")
        return replace(self, cells=self.scores >= threshold, trials=None, within=None)

    @property
    def n_models(self) -> int:
        """The number k of models."""
        return len(self.cells)

    @property
    def n_examples(self) -> int:
        """The number n of examples."""
        return int(self.cells.shape[1])

    @property
    def n_missing(self) -> int:
        """Number of missing cells."""
        return 0 if self.observed is None else int(self.observed.size - np.count_nonzero(self.observed))

    @property
    def scored_by(self) -> str | None:
        """By what the models were scored, where files had a choice: a metric and filter, a scorer, or a column."""
        return scored_by(self.columns)

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Wrong predictions, (k, n); a missing cell is not wrong."""
        return ~self.correct if self.observed is None else self.observed & ~self.correct

    def digest(self) -> str:
        """Hash (sha256, hex) of names, scores, missing cells and numbers of trials.

        Returns
        -------
        str
            64 hexadecimal digits.
        """
        h = hashlib.sha256(json.dumps([self.names, self.cells.shape]).encode())
        h.update(np.packbits(self.correct).data if self.is_binary else np.ascontiguousarray(self.cells).data)
        if self.observed is not None:
            h.update(np.packbits(self.observed).data)
        if self.trials is not None:
            h.update(np.ascontiguousarray(self.trials).data)
        return h.hexdigest()

    def position(self, model: str | int | np.integer[Any]) -> int:
        """Where a model stands, by its name or its number.

        Parameters
        ----------
        model : str or int
            A negative number counts from the end.

        Returns
        -------
        int
            From 0.

        Examples
        --------
        >>> from heldout import Predictions
        >>> pool = Predictions.from_correct([[1, 0], [0, 1]], names=["alpha", "beta"])
        >>> pool.position("beta"), pool.position(-1)
        (1, 1)
        >>> pool.position("alpah")
        Traceback (most recent call last):
            ...
        heldout.errors.InputError: there is no model 'alpah' in arrays; did you mean 'alpha'? It has 'alpha', 'beta'.
        """
        if isinstance(model, str):
            if model in self.names:
                return self.names.index(model)
            near = get_close_matches(model.lower(), [name.lower() for name in self.names], n=1)
            meant = next(
                (f"; did you mean {name!r}? It has" for name in self.names if name.lower() in near), ", which has"
            )
            raise InputError(f"there is no model {model!r} in {self.source}{meant} {listing(self.names, MANY_NAMES)}.")
        row = int(model)
        if not -self.n_models <= row < self.n_models:
            count = _count(self.n_models, "model")
            raise InputError(f"there is no model {row} in {self.source}, which has {count}, numbered from 0.")
        return row % self.n_models

    def select(self, models: str | Iterable[str] | Iterable[int]) -> Predictions:
        """Some of the models, by name or by position, in the order given; or by a mask of k truth values.

        Parameters
        ----------
        models : str, or several str or int, or (k,) bool
            Which ones.

        Returns
        -------
        Predictions
            The same examples.

        Examples
        --------
        >>> from heldout import Predictions
        >>> pool = Predictions.from_correct([[1, 0], [0, 1], [1, 1]], names=["a", "b", "c"])
        >>> pool.select(["c", "a"]).names, pool.select([1]).names
        (('c', 'a'), ('b',))
        """
        if isinstance(models, str):
            models = [models]
        elif isinstance(models, np.ndarray) and models.dtype == np.bool_:
            if models.shape != (self.n_models,):
                raise InputError(f"the mask has the shape {models.shape} but there are {self.n_models:,} models.")
            models = np.flatnonzero(models)
        rows = np.array([self.position(model) for model in models], dtype=np.intp)
        return self._part(rows, None)

    def _part(self, rows: NDArray[np.intp], places: NDArray[np.intp] | None) -> Predictions:
        """Some models, in this order, on some examples (None: on all)."""
        index = rows if places is None else np.ix_(rows, places)

        def cut(array: NDArray[Any] | None) -> Any:
            return None if array is None else array[index]

        def pick(values: NDArray[Any]) -> NDArray[Any]:
            return values if places is None else values[places]

        ids = self.ids
        if ids is not None and places is not None:
            ids = tuple(ids[i] for i in places.tolist())
        return Predictions(
            names=tuple(self.names[i] for i in rows.tolist()),
            cells=cut(self.cells),
            observed=cut(self.observed),
            trials=cut(self.trials),
            within=cut(self.within),
            predictions=cut(self.predictions),
            labels=None if self.labels is None else pick(self.labels),
            ids=ids,
            source=self.source,
            columns={name: pick(values) for name, values in self.columns.items()},
        )

    def by(self, column: str) -> dict[str, Predictions]:
        """The table cut by the values of a column of the examples, in order of appearance; models without any are left
        out.

        Parameters
        ----------
        column : str
            One of `columns`.

        Returns
        -------
        dict of str to Predictions
            One table per value.

        Examples
        --------
        >>> from heldout import Predictions
        >>> pool = Predictions.from_correct([[1, 0, 1]], columns={"task": ["a", "b", "a"]})
        >>> {name: part.n_examples for name, part in pool.by("task").items()}
        {'a': 2, 'b': 1}
        """
        if column not in self.columns:
            known = listing(list(self.columns), len(self.columns)) or "none"
            raise InputError(f"{self.source} has no column {column!r} of its examples; it has {known}.")
        values = [str(value) for value in self.columns[column].tolist()]
        return {name: self.examples([value == name for value in values]) for name in dict.fromkeys(values)}

    def examples(self, chosen: ArrayLike) -> Predictions:
        """Some of the examples, by a mask of n truth values or by position; models without any of them are left out.

        Parameters
        ----------
        chosen : (n,) bool, or positions
            Which ones.

        Returns
        -------
        Predictions
            The same models, where they have any of these examples.
        """
        places = np.asarray(chosen)
        places = np.flatnonzero(places) if places.dtype == np.bool_ else places.astype(np.intp)
        rows = np.arange(self.n_models)
        if self.observed is not None:
            rows = np.flatnonzero(self.observed[:, places].any(axis=1))
        return self._part(rows, places)

    def repeated_inputs(self) -> tuple[NDArray[np.intp] | None, tuple[str, ...]]:
        """Number the distinct inputs of the examples, and name the columns that hold them; None where none repeats.

        An example whose texts are all empty is nobody's repetition; texts that are the same everywhere are no input.

        Returns
        -------
        codes : (n,) int or None
            Equal for examples with one input.
        names : tuple of str
            The columns.

        Examples
        --------
        >>> from heldout import Predictions
        >>> pool = Predictions.from_correct([[1, 0, 1]], columns={"question": ["1 + 1?", "2 + 2?", "1 + 1?"]})
        >>> pool.repeated_inputs()[0].tolist()
        [0, 1, 0]
        """
        return repeated_inputs(self.columns, self.n_examples)

    def __str__(self) -> str:
        text = f"{_count(self.n_models, 'model')}, {_count(self.n_examples, 'example')}"
        if self.n_missing:
            text += f", {_count(self.n_missing, 'cell')} missing"
        if self.trials is not None:
            there = self.trials if self.observed is None else self.trials[self.observed]
            low, high = int(there.min()), int(there.max())
            text += f", {low:,} trials each" if low == high else f", {low:,} to {high:,} trials each"
        never = [name for name, cells in zip(self.names, self.cells, strict=True) if not cells.any()]
        if self.labels is not None and never:  # perhaps no model at all, but a column of something else
            text += f", right on no example: {listing(never)}"
        return f"{text} ({self.source})"


def make_table(
    *,
    names: Iterable[Any] | None = None,
    ids: Iterable[Any] | None = None,
    missing: Any = None,
    source: str = ARRAYS,
    **arrays: Any,
) -> Predictions:
    """A table of `correct`, of `scores`, or of `predictions` and `labels`, whose cells are checked one by one.

    What needs all models at once, whether labels and predictions number classes alike, is left to
    `check_numbering`: the models may come in several files.

    Parameters
    ----------
    missing : Codes, or as in `Predictions.from_arrays`
        Whoever hands in `Codes` reads more with them, and checks in the end that every code was met.
    **arrays
        As in `heldout.predictions.fields.read_fields`.
    """
    codes = missing if isinstance(missing, Codes) else Codes(missing)
    known = None if names is None else tuple(names)
    own_ids = ids if ids is None or isinstance(ids, tuple) else tuple(ids)
    with naming_cells(source, known, own_ids):
        table = Predictions(**read_fields(names=known, ids=own_ids, codes=codes, source=source, **arrays))
        if codes is not missing:
            codes.check()
        return table


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written through: what was checked stays as it is."""
    view = array.view()
    view.flags.writeable = False
    return view


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
