"""Rounded answers and nothing known: the labels that were learned so far park the accuracy on an edge.

All n points are attacked, so the hits of a random query are binomial(n, 1/m), and where they lie between the edges is
given: n/m may be in the middle of a step. Nothing is sure that could be spoilt. But after some plain answers the
likeliest labels are right a little more often than 1/m, the unlikeliest a little less. Naming them at some points
moves the accuracy of all queries: they play the part of the sure examples (`parking`). In the next phase, with three
times as many answers, fewer points do.

Before an answer has differed from the others, no analyst whatever can do this: labels are uniform, so any query has
binomial(n, 1/m) hits, and where an edge is out of their reach all answers are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.attack.confidence import query_weights
from heldout.attack.forecast import answer_efficiency, detectability, forced_choice
from heldout.attack.knowledge import Knowledge
from heldout.attack.naive_bayes import NaiveBayes
from heldout.attack.oracle import AccuracyOracle
from heldout.attack.parked import Lever, kept_signal
from heldout.attack.parking import Floats, Ints, Parking, batch_ends
from heldout.attack.queries import highest, tally
from heldout.attack.reading import answer_law
from heldout.errors import InputError

FIRST = 16  # answers before the first phase, at least
GROWTH = 3  # answers that a phase ends with, in those it began with
WORTH = 0.05  # of the signal's square that a better place must keep
HALF = 2  # no more than the HALF-th part of the points is fixed
SAFELY = 1.2  # times what has to be moved that must have been learned
SYNTHETIC = 4000  # points drawn for a forecast


@dataclass(frozen=True)
class Plan:
    """Where the accuracy is to be moved, and when.

    Parameters
    ----------
    move : float
        Hits by which the middle of their law is to be moved, up or down.
    plain, parked : float
        What answers keep of the signal where it is, and where it is moved to.
    starts : tuple of int
        The first query of each phase, 0 the first; from the second on the accuracy is parked.
    """

    move: float
    plain: float
    parked: float
    starts: tuple[int, ...]


@lru_cache(maxsize=256)
def make_plan(n: int, m: int, digits: int, k: int) -> Plan | None:
    """What an analyst who knows nothing does with k answers; None where the best is not to move at all.

    Examples
    --------
    >>> make_plan(10_000, 2, 2, 5000) is None  # edges at one standard deviation on either side: no place is better
    True
    >>> plan = make_plan(10_000, 10, 2, 5000)  # 1,000 hits, give or take 30; edges at 950 and 1,050
    >>> abs(plan.move) > 30, round(plan.plain**2, 2), round(plan.parked**2, 2)
    (True, 0.41, 0.64)
    >>> make_plan(10_000, 100, 2, 5000) is None  # 100 hits, give or take 10: no answer ever differs
    True
    """
    step = n / 10**digits
    if step <= math.sqrt(n * (m - 1)) / m:
        return None
    moves = np.linspace(-step / 2, step / 2, 65)
    kept = np.array([_kept_at(n, m, digits, float(move)) for move in moves])
    plain = _kept_at(n, m, digits, 0.0)
    if kept.max() ** 2 < plain**2 + WORTH:
        return None
    near = np.flatnonzero(kept**2 >= kept.max() ** 2 - WORTH / 5)
    move = float(moves[near[np.abs(moves[near]).argmin()]])
    start = FIRST
    while 2 * start < k and (
        n / HALF * (forced_choice(plain * detectability(start, n, m), m) - 1 / m) < SAFELY * abs(move)
    ):
        start += max(2, start // 8 * 2)
    if 2 * start >= k:
        return None
    starts = [0, start]
    while starts[-1] * GROWTH < k:
        starts.append(starts[-1] * GROWTH)
    return Plan(move=move, plain=plain, parked=float(kept.max()), starts=tuple(starts))


def _kept_at(n: int, m: int, digits: int, move: float) -> float:
    hits, probability, answers = answer_law(n, points=n, options=m, digits=digits, outside=move)
    return answer_efficiency("nb", hits, probability, answers, n=n)


@dataclass(frozen=True, eq=False)
class Fixed:
    """All points are asked about, but at some the label is the same in all queries."""

    n: int
    where: Ints
    named: Ints

    def labels(self, drawn: NDArray[Any]) -> NDArray[np.int64]:
        """(n,) the query."""
        whole = drawn.astype(np.int64)
        whole[self.where] = self.named
        return whole

    def option_of(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """(n,) the true label; -1 where the query does not draw."""
        whole = labels.astype(np.int64)
        whole[self.where] = -1
        return whole

    def hits_elsewhere(self, labels: NDArray[Any]) -> int:
        """Hits at the fixed labels."""
        return int((labels[self.where] == self.named).sum())


@dataclass(frozen=True, eq=False)
class Learned:
    """(n,) what the answers say of each point: the likeliest and the unlikeliest label, with their probabilities."""

    label: Ints
    best: Floats
    unlikely: Ints
    least: Floats


def choose_fixed(learned: Learned, m: int, move: float, *, count: int = 1) -> tuple[Lever, tuple[float, float]]:
    """Which points are fixed to move the accuracy: the surest, as many as are needed and half a deviation more.

    They name their likeliest label at first; spoilt, the unlikeliest, which serves to move the accuracy down.

    Parameters
    ----------
    move : float
        Hits to be gained, or, below 0, to be lost.
    count : int
        How many points each one stands for.

    Returns
    -------
    Lever, (float, float)
        And mean and standard deviation of the hits before any is spoilt.
    """
    gain = learned.best - 1 / m if move > 0 else 1 / m - learned.least
    order = np.argsort(-gain, kind="stable")[: len(gain) // HALF]
    side = learned.best[order] if move > 0 else learned.least[order]
    reached = count * np.cumsum(gain[order]) - np.sqrt(count * np.cumsum(side * (1 - side))) / 2
    enough = np.flatnonzero(reached >= abs(move))
    where = order[: int(enough[0]) + 1 if len(enough) else len(order)]
    where = np.repeat(where, count)
    p, q = learned.best[where], learned.least[where]
    lever = Lever(
        where=where, spoilt=learned.unlikely[where], loss=p - q, variance=np.maximum(p + q - (p - q) ** 2, 0.0)
    )
    return lever, (float(p.sum()), math.sqrt(float(np.sum(p * (1 - p)))))


@dataclass(eq=False)
class _Phase:
    """Queries with the same points fixed."""

    parking: Parking
    lever: Lever
    label: Ints  # named there before any is spoilt
    told: int = 0  # answers that the parking has heard

    def asks(self, n: int) -> Fixed:
        """The queries to come."""
        spoilt = np.arange(len(self.label)) < self.parking.spoilt
        return Fixed(n, self.lever.where, np.where(spoilt, self.lever.spoilt, self.label))


class LearningBayes(NaiveBayes):
    """NB without a prior, for rounded answers: plain queries first, then phases on a rounding edge.

    Parameters
    ----------
    plan : Plan
        From `make_plan`, for as many answers as are planned.
    """

    parked = True

    def __init__(self, known: Knowledge, *, seed: int, digits: int, plan: Plan) -> None:
        super().__init__(known, seed=seed, digits=digits)
        self._plan, self._phases = plan, list[_Phase]()
        self._asks: Fixed | Knowledge = known

    def ask(self) -> NDArray[np.int64]:
        """(n,) labels of the next query."""
        self._prepare()
        return self._asks.labels(self._queries.labels(len(self._answers)))

    def tell(self, accuracy: float) -> None:
        """The answer to it."""
        super().tell(accuracy)
        self._hear()

    def play(
        self, oracle: AccuracyOracle, k: int, *, n_jobs: int = 1, tell: Callable[[float], None] | None = None
    ) -> None:
        """Ask until there are k answers."""
        first = len(self._answers)
        while (start := len(self._answers)) < k:
            self._prepare(n_jobs)
            stop = min(k, self._batch_end())
            part = (stop - start) / (k - first)
            told = None if tell is None else (lambda share, part=part: tell(share * part))
            more = oracle.accuracies(self._asks, self._queries, start, stop, n_jobs=n_jobs, tell=told)
            self._answers = np.concatenate((self._answers, more))
            self._hear()

    def predict_after(
        self, stops: Sequence[int], *, n_jobs: int = 1, tell: Callable[[float], None] | None = None
    ) -> NDArray[np.int64]:
        """(stops, n) labels after the first so many answers, stops growing."""
        if stops[-1] > len(self._answers):
            raise InputError(f"{stops[-1]:,} answers are looked back on, {self.asked:,} were given.")
        out = np.empty((len(stops), self.known.n), dtype=np.int64)
        for row, stop in enumerate(stops):

            def visit(first: int, scores: NDArray[np.float64], ties: NDArray[np.uint64], row: int = row) -> None:
                out[row, first : first + len(scores)] = highest(scores, ties)

            told = None if tell is None else (lambda share: tell(share / len(stops)))
            self._tally(stop, visit, [out[row]], n_jobs, told)
        return out

    def weights(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """ln(α (m-1) / (1-α)), α the share of hits among the points that are not fixed."""
        starts = self._plan.starts
        parts = [super().weights(answers[: starts[1]])]
        for t, phase in enumerate(self._phases, start=1):
            end = starts[t + 1] if t + 1 < len(starts) else None
            said = answers[starts[t] : end]
            if len(said):
                points = phase.parking.points
                rates = phase.parking.read(self._codes(said)) / points
                least = 0.5 / (points * self.known.m)
                parts.append(query_weights(np.clip(rates, least, 1 - least), self.known.m))
        return np.concatenate(parts)

    def _codes(self, answers: NDArray[np.float64]) -> Ints:
        assert self.digits is not None
        return np.asarray(np.rint(answers * 10**self.digits), dtype=np.int64)

    def _tally(
        self,
        stop: int,
        visit: Callable[[int, NDArray[np.float64], NDArray[np.uint64]], None],
        made: Sequence[NDArray[Any]],
        n_jobs: int,
        tell: Callable[[float], None] | None = None,
    ) -> None:
        """Scores after so many answers."""
        fixed = np.zeros(self.known.n, dtype=np.uint64)
        for t, phase in enumerate(self._phases, start=1):
            fixed[phase.lever.where] |= np.uint64(1) << np.uint64(t)
        starts = [s for s in self._plan.starts if s < stop] or [0]
        tally(self._queries, self.weights(self._answers[:stop]), starts, fixed, visit, made, n_jobs=n_jobs, tell=tell)

    def _prepare(self, n_jobs: int = 1) -> None:
        """Where a phase begins, see what was learned, and fix the surest."""
        starts, known = self._plan.starts, self.known
        if len(self._phases) + 1 == len(starts) or len(self._answers) != starts[len(self._phases) + 1]:
            return
        assert self.digits is not None
        n, m = known.n, known.m
        learned = Learned(np.empty(n, dtype=np.int64), np.empty(n), np.empty(n, dtype=np.int64), np.empty(n))

        def visit(first: int, scores: NDArray[np.float64], ties: NDArray[np.uint64]) -> None:
            here = slice(first, first + len(scores))
            learned.label[here], learned.unlikely[here] = highest(scores, ties), highest(-scores, ties)
            odds = _odds(scores)
            learned.best[here], learned.least[here] = odds.max(axis=1), odds.min(axis=1)

        made = [learned.label, learned.best, learned.unlikely, learned.least]
        self._tally(len(self._answers), visit, made, n_jobs)
        lever, expected = choose_fixed(learned, m, self._plan.move)
        parking = phase_parking(n, m, self.digits, lever, expected)
        self._phases.append(_Phase(parking, lever, learned.label[lever.where]))
        self._asks = self._phases[-1].asks(n)

    def _batch_end(self) -> int:
        """Where the next choice has to be made."""
        starts, t = self._plan.starts, len(self._phases)
        end = starts[t + 1] if t + 1 < len(starts) else 2**62
        if not t:
            return end
        return min(end, starts[t] + batch_ends(len(self._answers) - starts[t] + 1)[-1])

    def _hear(self) -> None:
        """Where a batch is complete, choose anew."""
        if not self._phases:
            return
        phase, start = self._phases[-1], self._plan.starts[len(self._phases)]
        done = len(self._answers) - start
        if done and done == batch_ends(done)[-1]:
            phase.parking.tell(self._codes(self._answers[start + phase.told :]))
            phase.told = done
            self._asks = phase.asks(self.known.n)


def phase_parking(n: int, m: int, digits: int, lever: Lever, expected: tuple[float, float]) -> Parking:
    """What is known of the fixed points' hits when a phase begins."""
    fixed = len(lever.where)
    return Parking(
        n,
        digits=digits,
        points=n - fixed,
        options=m,
        loss=lever.loss,
        variance=lever.variance,
        most=fixed,
        expected=expected,
    )


def draw_learning(n: int, m: int, digits: int, plan: Plan, stops: Ints, *, rng: np.random.Generator) -> Floats:
    """(c,) accuracy after so many answers, in one drawing: numbers of hits for the analyst's choices, and scores.

    Some points stand for all. A phase with q points that are not fixed adds to each of them what the forced choice
    does: to the score of a label d² + d Z if it is true, d Z if not, d² = kept² k/q · m/(m-1). The accuracy is the mean
    probability of the likeliest label.
    """
    each = max(1, math.ceil(n / min(SYNTHETIC, max(500, 100 * SYNTHETIC // m))))  # points that one stands for
    scores = np.zeros((max(1, n // each), m))
    found, starts = [], [*plan.starts, 2**62]
    for t in range(len(plan.starts)):
        there = stops[(stops > starts[t]) & (stops <= starts[t + 1])] - starts[t]
        marks = np.unique(np.append(there, min(starts[t + 1], int(stops[-1])) - starts[t]))
        marks = marks[marks > 0]
        if not len(marks):
            break
        free, points = np.ones(len(scores), dtype=bool), n
        kept = np.full(len(marks), plan.plain)
        if t:
            odds = _odds(scores)
            learned = Learned(odds.argmax(axis=1), odds.max(axis=1), odds.argmin(axis=1), odds.min(axis=1))
            lever, expected = choose_fixed(learned, m, plan.move, count=each)
            free[lever.where] = False
            points = n - len(lever.where)
            kept = kept_signal(
                phase_parking(n, m, digits, lever, expected),
                marks,
                outside=max(0, round(rng.normal(*expected))),
                taken=lever.draw_taken(rng),
                points=points,
                options=m,
                rng=rng,
            )
        square = np.maximum.accumulate(kept**2 * marks) / points * m / (m - 1)
        for mark, d2 in zip(marks.tolist(), np.diff(square, prepend=0.0).tolist(), strict=True):
            scores[free] += math.sqrt(d2) * rng.normal(size=(int(free.sum()), m))
            scores[free, 0] += d2
            if mark in there:
                found.append(float(_odds(scores).max(axis=1).mean()))
    return np.array(found)


def _odds(scores: Floats) -> Floats:
    """Probabilities of the labels."""
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
