"""The attack of section 4.2: recover the labels of t points exactly, from k accuracies known only up to a shift.

Queries are random on t points and the same everywhere else, so each answer counts the hits among the t points plus an
unknown number of hits outside. Which labellings fit all answers is an integer programme with t·m unknowns; CP-SAT finds
one, and proves that there is no other or shows one. Theorem 4.5 promises uniqueness for m >= 3, t > 4m and enough
random queries; the binary case rests on Erdős and Rényi.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.attack.bounds import determined_labels
from heldout.attack.knowledge import Knowledge
from heldout.attack.naive_bayes import NaiveBayes
from heldout.errors import InputError, import_extra
from heldout.statistics.search import first_where

BUSY = 10.0  # how much longer than on an idle machine a solution may take before it is given up
EASY = 1 / 3  # measured: experiments/feldman/results/reconstruction.json


@dataclass(frozen=True, kw_only=True, eq=False)
class Reconstruction:
    """What the answers leave open.

    Parameters
    ----------
    labels : (t,) int or None
        A labelling that fits all answers; None where time ran out, or where none fits.
    shift : int or None
        Its hits outside the t points.
    unique : bool or None
        Whether it is the only one: proved, refuted (`other` is another), or unknown for lack of time.
    other : (t,) int or None
        A second labelling that fits, where there is one.
    possible : bool
        False: proved that no labelling fits; the answers are not those of any labels.
    seconds : float
        Time spent.
    """

    labels: NDArray[np.int64] | None
    shift: int | None
    unique: bool | None
    other: NDArray[np.int64] | None
    possible: bool
    seconds: float

    def to_array(self) -> NDArray[np.float64]:
        """All of it but the other labelling, which nobody asks for later, in a row of numbers."""
        labels = np.zeros(0) if self.labels is None else self.labels
        unique = math.nan if self.unique is None else self.unique
        shift = math.nan if self.shift is None else self.shift
        return np.array([unique, shift, self.possible, self.seconds, *labels], dtype=np.float64)

    @classmethod
    def of_array(cls, row: NDArray[np.float64], t: int) -> Reconstruction:
        """From that."""
        unique, shift, possible, seconds = row[:4].tolist()
        return cls(
            labels=row[4:].astype(np.int64) if len(row) == 4 + t else None,
            shift=None if math.isnan(shift) else int(shift),
            unique=None if math.isnan(unique) else bool(unique),
            other=None,
            possible=bool(possible),
            seconds=seconds,
        )

    def __str__(self) -> str:
        if self.labels is None:
            why = "ran out of time" if self.possible else "no labelling fits these answers"
            return f"nothing recovered: {why} ({self.seconds:.1f} s)"
        found = f"{len(self.labels):,} labels recovered in {self.seconds:.1f} s"
        if self.unique:
            return f"{found}; no other labelling fits (proved)"
        return f"{found}; " + ("another labelling fits as well" if self.unique is False else "uniqueness not settled")


def reconstruct(
    queries: ArrayLike,
    hits: ArrayLike,
    m: int,
    *,
    outside: int,
    slack: int = 0,
    time_limit: float = 60.0,
    seed: int = 0,
) -> Reconstruction:
    """Labels of t points from k queries that differ on them alone.

    Parameters
    ----------
    queries : (k, t) int
        What each query says on the t points, 0 to m - 1.
    hits : (k,) int
        Answers as numbers of points: accuracy times the size of the whole test set.
    m : int
        Classes.
    outside : int
        Other points of the test set, on which all queries say the same: the shift is 0 to this.
    slack : int
        How far an answer may be off: half a rounding step in points, 0 for exact answers.
    time_limit : float
        About so many seconds for finding, and again for proving, as CP-SAT counts work: a busy machine takes longer
        and comes to the same end.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels, queries = rng.integers(0, 3, 30), rng.integers(0, 3, (40, 30))
    >>> found = reconstruct(queries, (queries == labels).sum(axis=1) + 417, 3, outside=1000)
    >>> bool((found.labels == labels).all()), found.shift, found.unique
    (True, 417, True)
    """
    table, counts = _check(queries, hits, m, outside, slack)
    cp_model = import_extra("ortools.sat.python.cp_model", extra="attack")
    started = time.monotonic()
    status, first = _solve(cp_model, table, counts, m, outside, slack, time_limit, seed, None)
    if first is None:
        spent = time.monotonic() - started
        return Reconstruction(
            labels=None, shift=None, unique=None, other=None, possible=status != cp_model.INFEASIBLE, seconds=spent
        )
    status, second = _solve(cp_model, table, counts, m, outside, slack, time_limit, seed, first[0])
    unique = False if second is not None else True if status == cp_model.INFEASIBLE else None
    return Reconstruction(
        labels=first[0],
        shift=first[1],
        unique=unique,
        other=None if second is None else second[0],
        possible=True,
        seconds=time.monotonic() - started,
    )


def usual_size(k: int, m: int) -> int:
    """Points whose labels k answers give away within seconds, as a rule: a third of what they determine at most.

    Beyond a hundred answers the programme grows faster than what it yields.

    Examples
    --------
    >>> usual_size(60, 2), usual_size(60, 10), usual_size(1, 1000)
    (103, 19, 1)
    """
    return max(1, int(EASY * determined_labels(min(k, 100), m)))


class ReconstructionAttack(NaiveBayes):
    """Random queries on t points and the same labels elsewhere; then all t labels at once, if the answers allow it.

    Where more than one labelling fits, or time runs out, the labels are those of naive Bayes on the same answers.

    Parameters
    ----------
    known : Knowledge
        With the t points, and all classes as options.
    time_limit : float
        Seconds a prediction may take.
    """

    def __init__(
        self, known: Knowledge, *, seed: int, digits: int | None = None, sure: bool = True, time_limit: float = 10.0
    ) -> None:
        super().__init__(known, seed=seed, digits=digits, sure=sure)
        if known.options is not None:
            raise InputError("a reconstruction considers all classes; leave out `top`.")
        self._time_limit = time_limit
        # More answers than settle the labels only make the programme larger.
        self._enough = first_where(lambda k: EASY * determined_labels(k, known.m) >= known.n_points, 1, 10**9)
        self.found: dict[int, Reconstruction] = {}

    def _search(self, stop: int, slack: int) -> Reconstruction:
        """From as many answers as are needed; more where those leave another labelling."""
        known, used = self.known, min(stop, self._enough)
        while True:
            asked = np.array([self._queries.labels(j) for j in range(used)])
            hits = np.rint(self._answers[:used] * known.n).astype(np.int64)
            found = reconstruct(
                asked, hits, known.m, outside=known.n - known.n_points, slack=slack, time_limit=self._time_limit
            )
            if found.unique is not False or used == stop:
                return found
            used = min(stop, 2 * used)

    def _known(self, stop: int) -> Reconstruction | None:
        """What was found before the work was stopped."""
        notes = {} if self._queries.replay is None else self._queries.replay.notes
        kept = notes.get(f"reconstruction {stop}")
        return None if kept is None else Reconstruction.of_array(kept, self.known.n_points)

    def predict_after(
        self, stops: Sequence[int], *, n_jobs: int = 1, tell: Callable[[float], None] | None = None
    ) -> NDArray[np.int64]:
        """(stops, n) labels after the first so many answers; `found` says how each came out."""
        predicted = super().predict_after(stops, n_jobs=n_jobs)
        known = self.known
        slack = 0 if self.digits is None else math.ceil(known.n / 10**self.digits / 2)
        for row, stop in enumerate(stops):
            if stop:
                found = self._known(stop) or self._search(stop, slack)
                self.found[stop] = found
                if self._queries.replay is not None:
                    self._queries.replay.note(f"reconstruction {stop}", found.to_array())
                if found.unique and found.labels is not None:
                    predicted[row] = known.labels(found.labels)
            if tell is not None:
                tell(1 / len(stops))
        return predicted


def _solve(
    cp_model: Any,
    queries: NDArray[np.int64],
    hits: NDArray[np.int64],
    m: int,
    outside: int,
    slack: int,
    seconds: float,
    seed: int,
    not_this: NDArray[np.int64] | None,
) -> tuple[int, tuple[NDArray[np.int64], int] | None]:
    """One labelling that fits, and its shift; other than a given one."""
    t = queries.shape[1]
    model = cp_model.CpModel()
    if m == 2:  # one unknown a point is enough
        second = [model.NewBoolVar("") for _ in range(t)]
        is_label = [[v.Not(), v] for v in second]
    else:
        is_label = [[model.NewBoolVar("") for _ in range(m)] for _ in range(t)]
        for point in is_label:
            model.AddExactlyOne(point)
    shift = model.NewIntVar(0, outside, "")
    for query, count in zip(queries.tolist(), hits.tolist(), strict=True):
        total = sum(is_label[i][label] for i, label in enumerate(query)) + shift
        model.AddLinearConstraint(total, count - slack, count + slack)
    if not_this is not None:
        model.Add(sum(is_label[i][label] for i, label in enumerate(not_this.tolist())) <= t - 1)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = BUSY * seconds
    solver.parameters.random_seed = seed
    solver.parameters.num_workers = 1  # so that equal seeds give equal answers
    solver.parameters.max_deterministic_time = seconds  # and so that they do on a busy machine
    solver.parameters.catch_sigint_signal = False  # Ctrl-C is Python's
    status = solver.Solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return status, None
    labels = [next(label for label in range(m) if solver.BooleanValue(point[label])) for point in is_label]
    return status, (np.array(labels, dtype=np.int64), int(solver.Value(shift)))


def _check(
    queries: ArrayLike, hits: ArrayLike, m: int, outside: int, slack: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    table, counts = np.asarray(queries), np.asarray(hits)
    if table.ndim != 2 or 0 in table.shape or table.dtype.kind not in "iu":
        raise InputError(f"`queries` has the shape {table.shape}; whole numbers of shape (queries, points) are needed.")
    if counts.shape != table.shape[:1] or counts.dtype.kind not in "iu":
        raise InputError(
            f"`hits` has the shape {counts.shape} and the type {counts.dtype}; one whole number a query is needed, the "
            "accuracy times the number of points."
        )
    if m < 2 or table.min() < 0 or table.max() >= m:
        raise InputError(
            f"queries name the labels {table.min()} to {table.max()}; with {m} classes they are 0 to {m - 1}."
        )
    if outside < 0 or slack < 0:
        raise InputError(f"`outside` is {outside} and `slack` {slack}; neither can be below 0.")
    return table.astype(np.int64), counts.astype(np.int64)
