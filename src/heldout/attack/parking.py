"""Where a rounded answer tells most, and how an analyst gets there.

An answer of d digits changes only where the number of hits passes an edge, n / 10^d hits from the next. If the hits of
random queries spread less than that, most answers are the same and say nothing, unless an edge lies in the middle of
their law: then each answer tells which half the query is in, and keeps sqrt(2/π) = 0.80 of the signal. An analyst gets
there by answering some sure examples wrongly on purpose, each of which takes one hit off every query.

How many, the answers themselves tell. x, the hits on the examples that are not attacked, is unknown. With a flat law of
x to begin with, every answer c to a query with s examples spoilt multiplies it by

    P(c | x, s) = F(e(c+1) - 1 - x + r(s)) - F(e(c) - 1 - x + r(s)),                                               (1)

F the distribution of the hits on the attacked points, e(c) the smallest number of hits whose answer is c or more, r(s)
the hits that spoiling s examples takes. The next s is the one whose answer is hardest to foretell, that is of the
largest entropy under the law of x (2): first this bisects x, then it keeps an edge in the middle of the hits' law. The
weight of an answer is that of E[hits | c], the mean over the law of x given all answers (3).
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from heldout.attack.reading import hits_law

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SINGLE = 12  # queries after each of which s is chosen anew; then after each quarter more
SHARE = 4
QUANTILES = (0.1, 0.16, 0.22, 0.28, 0.34, 0.4, 0.45, 0.5, 0.55, 0.6, 0.66, 0.72, 0.78, 0.84, 0.9)
SAME = 1e-9  # entropies that differ by rounding, which depends on the processor; the first of them is taken
WORTH = 2e-3  # nats that another s must promise
FINE = 6.0  # places of x within a standard deviation of the hits, at least
NONE = 1e-300  # what is taken for impossible


def lowest_hits(n: int, digits: int) -> Ints:
    """(10^d + 2,) the smallest number of hits of n whose answer is at least c last digits, c = 0 … 10^d + 1.

    The loss is rounded, halves up: (2 w 10^d + n) // (2 n) of w losses; in whole numbers, as `Rounded` does it.

    Examples
    --------
    >>> lowest_hits(1000, 1)[[0, 1, 2, 10, 11]].tolist()  # a loss of 0.95 is said to be 1.0
    [0, 51, 151, 951, 1001]
    """
    scale = 10**digits
    c = np.arange(scale + 2, dtype=np.int64)
    most_wrong = -(-n * (2 * (scale - c) + 1) // (2 * scale)) - 1
    return np.asarray(np.clip(n - most_wrong, 0, n + 1))


def batch_ends(k: int) -> list[int]:
    """Numbers of queries after which s is chosen anew, up to the first that is k or more.

    Examples
    --------
    >>> batch_ends(20)
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 18, 22]
    """
    ends = [0]
    while ends[-1] < k:
        ends.append(ends[-1] + (1 if ends[-1] < SINGLE else max(1, ends[-1] // SHARE)))
    return ends[1:]


class Parking:
    """What is known of x, and how many examples are spoilt next.

    Parameters
    ----------
    n, digits : int
        Examples, and digits of an answer.
    points : int
        Attacked points whose label is among those that are drawn from.
    options : int
        How many those are.
    loss, variance : (c,) float
        Hits that each example, spoilt in this order, is expected to take, and how uncertain that is.
    most : int
        The largest x there can be.
    expected : (float, float), optional
        Mean and standard deviation of x as they are known beforehand; nothing is known by default.

    Examples
    --------
    Four hundred points, two labels each: 200 hits, give or take 10; an edge every 100. With 1,237 hits elsewhere, the
    hits lie between two edges (1,351 and 1,451) and nearly all answers are the same, until 86 hits are taken off.

    >>> rng = np.random.default_rng(0)
    >>> parking = Parking(10_000, digits=2, points=400, options=2, loss=np.ones(100), variance=np.zeros(100), most=9600)
    >>> for size in np.diff([0, *batch_ends(200)]):
    ...     hits = 1237 + rng.binomial(400, 0.5, size) - parking.spoilt
    ...     parking.tell(parking.codes_of(hits))
    >>> 81 <= parking.spoilt <= 91
    True
    """

    def __init__(
        self,
        n: int,
        *,
        digits: int,
        points: int,
        options: int,
        loss: Floats,
        variance: Floats,
        most: int,
        expected: tuple[float, float] | None = None,
    ) -> None:
        self.n, self.scale, self.points, self.most = n, 10**digits, points, most
        self.edges = lowest_hits(n, digits)
        hits, probability = hits_law(points, options)
        self._first = int(hits[0])
        self._below = np.concatenate(([0.0], np.cumsum(probability)))  # P(H < first + i)
        self._sums = np.concatenate(([0.0], np.cumsum(probability * hits)))  # E[H; H < first + i]
        self.mean = float(self._sums[-1])
        self.spread = math.sqrt(float(np.sum(probability * (hits - self.mean) ** 2)))
        self.taken = np.concatenate(([0.0], np.cumsum(loss)))  # r(s)
        self._noise = np.concatenate(([0.0], np.cumsum(variance)))
        self.spoilt = 0  # s of the batch to come
        self._x: Ints | None = None
        self._law: Floats | None = None
        self._moves: list[int] = []  # s of the batches so far
        self._start: Floats | None = None  # the law of x to begin with
        if expected is not None:
            mean, sd = expected
            reach = math.ceil(6 * sd + 5 * math.sqrt(float(self._noise[-1])))
            low, high = max(0, round(mean) - reach), min(most, round(mean) + reach)
            self._x = np.arange(low, max(low, high) + 1, max(1, int(self.spread / FINE)), dtype=np.int64)
            self._start = _normal(np.asarray(-0.5 * ((self._x - mean) / max(sd, 0.5)) ** 2, dtype=np.float64))
            self._law = self._start
            self.spoilt = self._choose()

    def codes_of(self, total: Ints) -> Ints:
        """Answers in last digits to so many hits."""
        return np.asarray(np.searchsorted(self.edges, np.clip(total, 0, self.n), side="right") - 1)

    def tell(self, codes: Ints) -> None:
        """The answers of a batch, in last digits; chooses `spoilt` for the next."""
        seen, counts = np.unique(codes, return_counts=True)
        if self._x is None:
            self._x = self._places(seen)
            self._start = self._law = np.full(len(self._x), 1 / len(self._x))
        assert self._law is not None
        law = self._moved(self._law, self._variance(self._moves[-1:], self.spoilt))
        self._moves.append(self.spoilt)
        self._law = _normal(np.log(np.maximum(law, NONE)) + self._log_likelihood(seen, counts, self.spoilt))
        self.spoilt = self._choose()

    def read(self, codes: Ints) -> Floats:
        """(k,) E[hits on the attacked points | all these answers], for the first k queries."""
        ends = np.minimum(batch_ends(len(codes)), len(codes))
        batches = np.split(codes, ends[:-1])
        if self._start is None or self._x is None or not len(codes):
            return np.full(len(codes), self.mean)
        moves = self._moves[: len(batches)]
        moves += [self.spoilt] * (len(batches) - len(moves))  # a batch that is not complete yet
        steps = [np.unique(batch, return_inverse=True, return_counts=True) for batch in batches]
        logs = [self._log_likelihood(seen, counts, s) for (seen, _, counts), s in zip(steps, moves, strict=True)]
        noise = [self._variance([a], b) for a, b in itertools.pairwise(moves)]
        forward, law = [], self._start
        for b, log in enumerate(logs):
            law = _normal(np.log(np.maximum(self._moved(law, noise[b - 1] if b else 0.0), NONE)) + log)
            forward.append(law)
        back, parts = np.full(len(self._x), 1.0), []
        for b in range(len(batches) - 1, -1, -1):
            smooth = forward[b] * back
            smooth /= smooth.sum()
            seen, which, _ = steps[b]
            means = np.array([float(np.sum(smooth * self._means(int(c), moves[b]))) for c in seen])  # (3)
            parts.append(means[which])
            if b:
                back = _normal(np.log(np.maximum(back, NONE)) + logs[b])
                back = self._moved(back, noise[b - 1])
        return np.concatenate(parts[::-1])

    def _places(self, seen: Ints) -> Ints:
        """Values of x that the first answers allow, evenly spaced."""
        taken = round(self.taken[self.spoilt])
        last = self._first + len(self._below) - 2
        low = max(0, int(self.edges[seen.max()]) - last + taken)
        high = min(self.most, int(self.edges[seen.min() + 1]) - 1 - self._first + taken)
        room = math.ceil(5 * math.sqrt(float(self._noise[-1])))
        low, high = max(0, low - room), min(self.most, max(low, high) + room)
        return np.arange(low, max(low, high) + 1, max(1, int(self.spread / FINE)), dtype=np.int64)

    def _limits(self, code: int, s: int) -> tuple[Ints, Ints]:
        """For each x the places in the hits' law from which on, and before which, the answer is this one."""
        assert self._x is not None
        free = self._x - round(self.taken[s])
        size = len(self._below) - 1
        low, high = (np.clip(self.edges[c] - free - self._first, 0, size) for c in (code, code + 1))
        if code == 0:
            low = np.zeros_like(low)
        if code == self.scale:
            high = np.full_like(high, size)
        return low, high

    def _log_likelihood(self, seen: Ints, counts: Ints, s: int) -> Floats:
        total = np.zeros(0 if self._x is None else len(self._x))
        for code, count in zip(seen.tolist(), counts.tolist(), strict=True):
            low, high = self._limits(code, s)
            total += count * np.log(np.maximum(self._below[high] - self._below[low], NONE))  # (1)
        return total

    def _means(self, code: int, s: int) -> Floats:
        """E[H | answer, x] for each x; where the answer cannot be, the mean."""
        low, high = self._limits(code, s)
        mass = self._below[high] - self._below[low]
        sums = self._sums[high] - self._sums[low]
        return np.asarray(np.divide(sums, mass, out=np.full(len(mass), self.mean), where=mass > 1e-14))

    def _variance(self, before: list[int], s: int) -> float:
        """Of what is taken, between two numbers of spoilt examples."""
        return abs(float(self._noise[s] - self._noise[before[0]])) if before else 0.0

    def _moved(self, law: Floats, variance: float) -> Floats:
        """The law of x after examples were spoilt, or mended, that may have been right or wrong."""
        assert self._x is not None
        step = int(self._x[1] - self._x[0]) if len(self._x) > 1 else 1
        v = variance / step**2
        if v < 1e-4 or len(law) < 3:
            return law
        reach = math.ceil(5 * math.sqrt(v)) + 1
        if v < 0.5:
            kernel = np.array([v / 2, 1 - v, v / 2])
        else:
            kernel = np.exp(-0.5 * np.arange(-reach, reach + 1) ** 2 / v)
        kernel /= kernel.sum()
        wide = np.convolve(law, kernel)
        extra = (len(kernel) - 1) // 2
        return np.asarray(wide[extra : len(wide) - extra])

    def _choose(self) -> int:
        """s of the largest entropy of the next answer (2), as it is now unless another promises more."""
        assert self._x is not None
        assert self._law is not None
        if len(self.taken) == 1:
            return 0
        there = np.flatnonzero(self._law > 1e-9)
        x, law = self._x[there], self._law[there]
        size = len(self._below) - 1

        def below(total: NDArray[np.float64]) -> Floats:
            """P(x + H < total)."""
            place = np.clip(np.rint(total).astype(np.int64)[:, None] - x[None, :] - self._first, 0, size)
            return np.asarray(self._below[place] @ law)

        centre, half = float(np.sum(law * x)) + self.mean, 6 * self.spread + float(np.ptp(x))
        around = np.linspace(centre - half, centre + half, 200)
        upto = below(around)
        wanted = np.interp(QUANTILES, upto, around)
        near = self.edges[np.searchsorted(self.edges, centre - half - self.taken[-1]) :]
        near = near[near <= centre + half]
        takes = (wanted[:, None] - near[None, :]).ravel()
        takes = takes[(takes >= -0.5) & (takes <= self.taken[-1] + 0.5)]
        places = np.unique(np.concatenate(([self.spoilt], _nearest(self.taken, takes))))
        edges = near + np.rint(self.taken[places])[:, None]
        cells = np.diff(below(edges.ravel()).reshape(edges.shape), axis=1, prepend=0.0, append=1.0)
        entropy = -np.sum(cells * np.log(np.maximum(cells, NONE)), axis=1)  # (2)
        best = int(np.argmax(entropy >= entropy.max() - SAME))
        stay = float(entropy[np.searchsorted(places, self.spoilt)])
        return int(places[best]) if entropy[best] > stay + WORTH else self.spoilt


def _nearest(grid: Floats, values: Floats) -> Ints:
    """Where a growing grid is nearest to each value."""
    right = np.clip(np.searchsorted(grid, values), 1, len(grid) - 1)
    return np.asarray(np.where(values - grid[right - 1] < grid[right] - values, right - 1, right), dtype=np.int64)


def _normal(logs: Floats) -> Floats:
    """Probabilities from their logarithms."""
    law = np.exp(logs - logs.max())
    return np.asarray(law / law.sum())
