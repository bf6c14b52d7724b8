"""Naive Bayes against rounded answers: the accuracy is parked on a rounding edge first."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heldout.attack.confidence import query_weights
from heldout.attack.knowledge import Knowledge
from heldout.attack.naive_bayes import NaiveBayes
from heldout.attack.oracle import AccuracyOracle
from heldout.attack.parking import Floats, Ints, Parking, batch_ends

SURE = 0.5  # hits that spoiling an example must take, at least, on average
RESERVED = 4  # no more than the RESERVED-th part of the attacked points is left out to be spoilt instead


@dataclass(frozen=True, kw_only=True, eq=False)
class Lever:
    """Examples that can be answered wrongly on purpose, in this order.

    Parameters
    ----------
    where : (c,) int
        The examples, none of them attacked.
    spoilt : (c,) int
        What is answered there instead of the best guess.
    loss : (c,) float
        Hits that this takes, on average.
    variance : (c,) float
        And their variance.
    """

    where: Ints
    spoilt: Ints
    loss: Floats
    variance: Floats

    def taken(self, guess: Ints, labels: Ints) -> Ints:
        """(c + 1,) hits that spoiling the first so many takes, if these are the labels."""
        there = labels[self.where]
        change = (guess[self.where] == there).astype(np.int64) - (self.spoilt == there)
        return np.concatenate(([0], np.cumsum(change)))

    def draw_taken(self, rng: np.random.Generator) -> Ints:
        """The same for labels as the prior expects them."""
        mean, square = self.loss, self.variance + self.loss**2  # of a change that is 1, 0 or -1
        up, down = (square + mean) / 2, (square - mean) / 2
        u = rng.random(len(mean))
        return np.concatenate(([0], np.cumsum((u < up).astype(np.int64) - (u > 1 - down))))


def find_lever(known: Knowledge, digits: int) -> tuple[Knowledge, Lever | None]:
    """The surest examples outside the attacked points, as many as move the accuracy from one rounding edge to the next.

    Where too few are left outside, the surest of the attacked points are not attacked: they have least to give. None
    where the edges are so close that no place between them is better than another, or where nothing is sure.
    """
    step = known.n / 10**digits
    points, options = expected_points(known), known.n_options
    if known.prior is None or step <= math.sqrt(points / options * (1 - 1 / options)):
        return known, None
    order, best, least, unlikely = known.surest
    free = np.ones(known.n, dtype=bool)
    free[slice(None) if known.points is None else known.points] = False
    usable = best - least >= SURE
    outside = np.flatnonzero(free[order] & usable)
    inside = np.flatnonzero(~free[order] & usable)[: known.n_points // RESERVED]
    short = step + 1 - float((best - least)[outside].sum())
    if short > 0:
        inside = inside[: int(np.searchsorted(np.cumsum((best - least)[inside]), short)) + 1]
        outside = np.sort(np.concatenate((outside, inside)))
        known = known.without(order[inside])
    loss = (best - least)[outside]
    chosen = outside[: int(np.searchsorted(np.cumsum(loss), step + 1)) + 1]
    if float(loss[: len(chosen)].sum()) < step / 2:
        return known, None
    p, q = best[chosen], least[chosen]
    return known, Lever(
        where=order[chosen], spoilt=unlikely[chosen], loss=p - q, variance=np.maximum(p + q - (p - q) ** 2, 0.0)
    )


def expected_points(known: Knowledge) -> float:
    """Attacked points whose label is among those considered, as the prior has it."""
    return known.n_points * (1.0 if known.options is None else known.option_shares()[0])


class ParkedBayes(NaiveBayes):
    """NB for an analyst who knows how many digits the answers have.

    Random queries as ever; beside them, some examples the prior is sure of are answered wrongly, so many that the
    accuracy of a random query lies on a rounding edge (`parking`). Their number follows the answers: it is adaptive.
    Without a prior, or where rounding is fine enough, this is `NaiveBayes` itself.

    Examples
    --------
    >>> from heldout.attack.knowledge import with_prior
    >>> from heldout.attack.oracle import Rounded
    >>> rng = np.random.default_rng(0)
    >>> prior = np.tile([[0.998, 0.001, 0.001]], (5000, 1))
    >>> prior[:200] = 0.49, 0.49, 0.02
    >>> labels = (prior.cumsum(axis=1) < rng.random((5000, 1))).sum(axis=1)
    >>> oracle = AccuracyOracle(labels, Rounded(2))
    >>> known = with_prior(prior, top=2, points=200, rng=rng)
    >>> plain, parked = (kind(known, seed=0, digits=2) for kind in (NaiveBayes, ParkedBayes))
    >>> for analyst in (plain, parked):
    ...     analyst.play(oracle, 400)
    >>> before = oracle.true_accuracy(known.guess)
    >>> oracle.true_accuracy(parked.predict()) - before > 0.012 > oracle.true_accuracy(plain.predict()) - before
    True
    """

    def __init__(self, known: Knowledge, *, seed: int, digits: int | None = None, sure: bool = True) -> None:
        aim, self.lever = (known, None) if digits is None else find_lever(known, digits)
        super().__init__(known if self.lever is None else aim, seed=seed, digits=digits, sure=sure)
        self._parking = None if self.lever is None else make_parking(self.known, self.lever, digits=digits or 1)
        self._codes = np.zeros(0, dtype=np.int64)
        self._told = 0
        self._asks = self.known

    @property
    def parked(self) -> bool:
        """Whether there is anything to park with."""
        return self._parking is not None

    @property
    def extra(self) -> int:
        """Queries that are not random."""
        return super().extra if self._parking is None else 0

    def ask(self) -> NDArray[np.int64]:
        """(n,) labels of the next query."""
        if self._parking is None:
            return super().ask()
        return self._asks.labels(self._queries.labels(len(self._answers)))

    def tell(self, accuracy: float) -> None:
        """The answer to it."""
        super().tell(accuracy)
        if self._parking is not None:
            self._hear(np.array([accuracy]))

    def play(
        self, oracle: AccuracyOracle, k: int, *, n_jobs: int = 1, tell: Callable[[float], None] | None = None
    ) -> None:
        """Ask until there are k answers."""
        if self._parking is None:
            super().play(oracle, k, n_jobs=n_jobs, tell=tell)
            return
        first = len(self._answers)
        for end in batch_ends(k):
            start, stop = len(self._answers), min(end, k)
            if stop > start:
                part = (stop - start) / (k - first)
                told = None if tell is None else (lambda share, part=part: tell(share * part))
                more = oracle.accuracies(self._asks, self._queries, start, stop, n_jobs=n_jobs, tell=told)
                self._answers = np.concatenate((self._answers, more))
                self._hear(more)

    def weights(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """ln(α' (R-1) / (1-α')), α' = E[hits | answers] / points."""
        if self._parking is None or len(answers) == 0:
            return super().weights(answers)
        points, options = self._parking.points, self.known.n_options
        least = 0.5 / (points * options)
        rates = self._parking.read(self._codes[: len(answers)]) / points
        return query_weights(np.clip(rates, least, 1 - least), options)

    def _hear(self, answers: NDArray[np.float64]) -> None:
        """Where a batch is complete, choose how many examples are spoilt in the next."""
        assert self._parking is not None
        assert self.lever is not None
        self._codes = np.concatenate((self._codes, np.rint(answers * self._parking.scale).astype(np.int64)))
        if len(self._codes) == batch_ends(len(self._codes))[-1]:
            self._parking.tell(self._codes[self._told :])
            self._told = len(self._codes)
            self._asks = spoil(self.known, self.lever, self._parking.spoilt)


def spoil(known: Knowledge, lever: Lever, count: int) -> Knowledge:
    """The same with so many sure examples answered wrongly."""
    assert known.guess is not None
    guess = known.guess.copy()
    guess[lever.where[:count]] = lever.spoilt[:count]
    return replace(known, guess=guess)


def make_parking(known: Knowledge, lever: Lever, *, digits: int) -> Parking:
    """What the analyst begins with."""
    return Parking(
        known.n,
        digits=digits,
        points=max(1, round(expected_points(known))),
        options=known.n_options,
        loss=lever.loss,
        variance=lever.variance,
        most=known.n - known.n_points,
    )


def kept_signal(
    parking: Parking, stops: Ints, *, outside: int, taken: Ints, points: int, options: int, rng: np.random.Generator
) -> Floats:
    """(c,) what a parked analyst keeps of the signal of exact answers, calibration included: one drawing of the hits.

    A weight w keeps Σ w z / sqrt(k Σ w²) of it, z being the hits in standard deviations. No labels are drawn, only
    numbers of hits: the analyst's choices depend on nothing else.

    Parameters
    ----------
    parking : Parking
        As the analyst begins.
    stops : (c,) int
        Numbers of answers.
    outside, taken : int, (c + 1,) int
        Hits on the points that are not attacked, and how many of them spoiling takes.
    points, options : int
        Attacked points that can be hit, and labels at each.
    """
    hits, codes = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    k = int(stops[-1])
    for end in batch_ends(k):
        more = rng.binomial(points, 1 / options, end - len(hits))
        hits = np.concatenate((hits, more))
        codes = np.concatenate((codes, said := parking.codes_of(outside - int(taken[parking.spoilt]) + more)))
        parking.tell(said)
    z = (hits - points / options) / math.sqrt(points / options * (1 - 1 / options))
    kept = []
    for stop in stops.tolist():
        w = parking.read(codes[:stop]) - parking.mean
        power = float(w @ w)
        kept.append(max(0.0, float(w @ z[:stop])) / math.sqrt(stop * power) if power > 0 else 0.0)
    return np.array(kept)
