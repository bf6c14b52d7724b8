"""Rounded answers, nothing known, and only some points attacked: the labels elsewhere are chosen until they suit.

What is named at the points that are not attacked is free. Any labels there have binomial(n - q, 1/m) hits, x, which one
answer tells from others only if an edge lies between them. So labels are drawn until an answer differs from the first.
From the last but one labelling to the last leads a path, on which one point after the other changes, and x by one hit
at most each time: somewhere on it the accuracy is on the edge, and bisecting finds where. From then on the labels
elsewhere stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from heldout.attack.confidence import query_weights
from heldout.attack.forecast import answer_efficiency
from heldout.attack.knowledge import Knowledge
from heldout.attack.naive_bayes import NaiveBayes
from heldout.attack.oracle import AccuracyOracle
from heldout.attack.parking import Floats, Ints, Parking
from heldout.attack.queries import Queries
from heldout.attack.reading import answer_codes, answer_law, hits_law

WORTH = 0.05  # of the signal's square that an edge must bring
SEARCH = 4  # no more than the SEARCH-th part of the answers goes into the search
NEAR = 0.5  # standard deviations of the hits that the path may change x by, between the last two places
PLACES = 21


@lru_cache(maxsize=256)
def worth_searching(n: int, q: int, m: int, digits: int, k: int) -> bool:
    """Whether an edge is worth more than the answers it takes to find one.

    Examples
    --------
    >>> worth_searching(10_000, 500, 10, 2, 1000), worth_searching(10_000, 500, 10, 3, 1000)
    (True, False)
    >>> worth_searching(10_000, 500, 100, 2, 1000)  # no answer ever differs
    False
    """
    e, p = n - q, 1 / m
    if n / 10**digits <= math.sqrt(q * p * (1 - p)) or e < 1:
        return False
    hits, mass = hits_law(n, m)
    usual = np.bincount(answer_codes(hits, n, digits=digits, outside=0.0), mass).max()
    tickets = 1 / max(1e-12, 1 - float(usual))
    places = e * p + math.sqrt(e * p * (1 - p)) * ndtri((np.arange(PLACES) + 0.5) / PLACES)
    plain = np.mean([_kept_at(n, q, m, digits, x) ** 2 for x in places.tolist()])
    step = n / 10**digits
    best = max(_kept_at(n, q, m, digits, e * p + share * step) ** 2 for share in np.linspace(-0.5, 0.5, 33).tolist())
    return bool(tickets <= k / SEARCH and best * (1 - (tickets + math.log2(1 + e)) / k) > plain + WORTH)


def _kept_at(n: int, q: int, m: int, digits: int, outside: float) -> float:
    return answer_efficiency("nb", *answer_law(n, points=q, options=m, digits=digits, outside=outside), n=n)


class Search:
    """Which labelling is named elsewhere next: tickets, then a bisected path, then no change.

    Parameters
    ----------
    length : int
        Points on the path, those that are not attacked.
    m : int
        Classes.
    spread : float
        Standard deviation of the hits on the attacked points.
    limit : int
        Answers after which the search is given up.
    """

    def __init__(self, length: int, m: int, *, spread: float, limit: int) -> None:
        self._change = 2 / m * (1 - 1 / m)  # variance of x that a point on the path brings
        self._spread, self._limit = spread, limit
        self.ticket, self.place = 0, 0  # the labelling: the first `place` points from the next ticket
        self._low, self._high = 0, length
        self._codes: list[int] = []
        self._on_path = self.found = self.done = False

    def tell(self, code: int) -> None:
        """The answer to a query with this labelling."""
        self._codes.append(code)
        if self._on_path:
            if code == self._codes[0]:
                self._low = self.place
            else:
                self._high = self.place
        elif code != self._codes[0]:
            self._on_path, self.ticket = True, self.ticket - 1
        else:
            self.ticket += 1
        if self._on_path:
            self.place = (self._low + self._high) // 2
            self.found = self._change * (self._high - self._low) <= (NEAR * self._spread) ** 2
        self.done = self.found or len(self._codes) >= self._limit


class LuckyBayes(NaiveBayes):
    """NB without a prior on some of the points, for rounded answers.

    Parameters
    ----------
    queries : int
        Answers that are planned.
    """

    def __init__(self, known: Knowledge, *, seed: int, digits: int, queries: int) -> None:
        super().__init__(known, seed=seed, digits=digits)
        assert known.points is not None
        self._elsewhere = np.setdiff1d(np.arange(known.n), known.points)
        self._tickets = Queries(len(self._elsewhere), known.m, seed + 1)
        self._search = make_search(known.n, known.n_points, known.m, queries)
        self._searched = 0  # answers that went into it
        self._asks = self._labelled()

    @property
    def parked(self) -> bool:
        """Whether the edge was found; a search may be given up."""
        return self._search.found

    def ask(self) -> NDArray[np.int64]:
        """(n,) labels of the next query."""
        return self._asks.labels(self._queries.labels(len(self._answers)))

    def tell(self, accuracy: float) -> None:
        """The answer to it."""
        super().tell(accuracy)
        if not self._search.done:
            self._search.tell(int(self._codes(np.array([accuracy]))[0]))
            self._searched += 1
            self._asks = self._labelled()

    def play(
        self, oracle: AccuracyOracle, k: int, *, n_jobs: int = 1, tell: Callable[[float], None] | None = None
    ) -> None:
        """Ask until there are k answers."""
        first = len(self._answers)
        while not self._search.done and len(self._answers) < k:
            self.tell(oracle.accuracy(self.ask()))
        if (start := len(self._answers)) < k:
            told = None if tell is None else (lambda share: tell(share * (k - start) / (k - first)))
            more = oracle.accuracies(self._asks, self._queries, start, k, n_jobs=n_jobs, tell=told)
            self._answers = np.concatenate((self._answers, more))

    def weights(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """ln(α (m-1) / (1-α)), α = E[hits | answers] / points; 0 for the answers of the search."""
        known, points = self.known, self.known.n_points
        read = np.zeros(len(answers))
        if len(answers) > self._searched:
            assert self.digits is not None
            parking = still_parking(known.n, points, known.m, self.digits)
            rates = read_still(parking, self._codes(answers[self._searched :])) / points
            least = 0.5 / (points * known.m)
            read[self._searched :] = query_weights(np.clip(rates, least, 1 - least), known.m)
        return read

    def _codes(self, answers: NDArray[np.float64]) -> Ints:
        assert self.digits is not None
        return np.asarray(np.rint(answers * 10**self.digits), dtype=np.int64)

    def _labelled(self) -> Knowledge:
        """The queries with the labels elsewhere as the search has them."""
        assert self.known.guess is not None
        guess, search = self.known.guess.copy(), self._search
        guess[self._elsewhere] = self._tickets.labels(search.ticket)
        guess[self._elsewhere[: search.place]] = self._tickets.labels(search.ticket + 1)[: search.place]
        return replace(self.known, guess=guess)


def make_search(n: int, q: int, m: int, k: int) -> Search:
    """As the analyst begins."""
    return Search(n - q, m, spread=math.sqrt(q * (m - 1)) / m, limit=max(1, k // SEARCH))


def still_parking(n: int, q: int, m: int, digits: int) -> Parking:
    """Reads answers with an unknown x that does not change."""
    nothing = np.zeros(0)
    return Parking(n, digits=digits, points=q, options=m, loss=nothing, variance=nothing, most=n - q)


def read_still(parking: Parking, codes: Ints) -> Floats:
    """E[hits | answers], x being the same in all of them."""
    parking.tell(codes)  # any number at once: nothing is chosen by them
    return parking.read(codes)


def kept_after_search(n: int, q: int, m: int, digits: int, stops: Ints, *, rng: np.random.Generator) -> Floats:
    """(c,) what such an analyst keeps of the signal of exact answers, in one drawing of the hits."""
    search, k = make_search(n, q, m, int(stops[-1])), int(stops[-1])
    hits = rng.binomial(q, 1 / m, k)
    tickets = [rng.random(n - q) < 1 / m]
    used, parking = 0, still_parking(n, q, m, digits)
    while not search.done and used < k:
        x = _hits_on_path(tickets, search, m, n - q, rng)
        search.tell(int(parking.codes_of(np.array([x + hits[used]]))[0]))
        used += 1
    x = _hits_on_path(tickets, search, m, n - q, rng)
    codes = parking.codes_of(x + hits[used:])
    z = (hits[used:] - q / m) / math.sqrt(q / m * (1 - 1 / m))
    kept = []
    for stop in stops.tolist():
        w = np.zeros(0)
        if stop > used:
            w = read_still(still_parking(n, q, m, digits), codes[: stop - used]) - parking.mean
        power = float(w @ w)
        kept.append(max(0.0, float(w @ z[: len(w)])) / math.sqrt(stop * power) if power > 1e-12 else 0.0)
    return np.array(kept)


def _hits_on_path(
    tickets: list[NDArray[np.bool_]], search: Search, m: int, length: int, rng: np.random.Generator
) -> int:
    """x of a labelling; tickets are drawn as they are needed."""
    while len(tickets) <= search.ticket + 1:
        tickets.append(rng.random(length) < 1 / m)
    old, new = tickets[search.ticket], tickets[search.ticket + 1]
    return int(new[: search.place].sum() + old[search.place :].sum())
