"""Random queries that are never stored: every label comes from (seed, query, point) alone.

A query names one of m labels at each of n points, uniformly at random. Queries 2p and 2p + 1 are the lower and the
upper 32 bits u of the i-th output of a SplitMix64 stream [1]_ that starts at a random place of its cycle, label =
⌊u m / 2^32⌋, whose bias is below m / 2^32. So an oracle and an analyst can both see the same query without either of
them keeping it: k queries on n points with m classes take O(n + k) memory, not O(n k) or O(n m).

Two passes do all the work, each linear in n k and flat in m: `count_hits` for the oracle, `winners` for the analyst.
They are compiled where numba is there (the extra `attack`) and there is enough to do, and the same to the last bit
otherwise.

References
----------
.. [1] Steele, Lea, Flood (2014). Fast splittable pseudorandom number generators. OOPSLA.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heldout.workers import in_threads

if TYPE_CHECKING:
    from heldout.attack.kept import Replay

Labels = NDArray[np.int32]
Words = NDArray[np.uint64]
GOLDEN, FIRST, SECOND = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
S30, S27, S31, S32, LOW = (np.uint64(c) for c in (30, 27, 31, 32, 0xFFFFFFFF))
TIES = 1 << 62  # the stream that breaks ties, beyond all queries
CERTAIN, IMPOSSIBLE = 1e15, 1e30  # stand for infinite weights and priors: sums stay numbers, and no other comes near
POINTS = 1024  # points a piece
QUERIES = 512  # queries a block: their counters stay near the processor
CALL = 400  # points that NumPy has done in the time it takes to start on a query
WORTH = 20_000_000  # labels that NumPy draws in the time in which numba is loaded, compiled before


def mix(z: Words) -> Words:
    """The finaliser of SplitMix64, wrapping at 2^64."""
    z = (z ^ (z >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    return z ^ (z >> S31)


class Queries:
    """All uniform queries over m labels at n points that a seed gives.

    Parameters
    ----------
    n, m : int
        Points and labels.
    seed : int
        Of 64 bits; others are cut to that.

    Examples
    --------
    >>> queries = Queries(6, 10, seed=1)
    >>> queries.labels(4).tolist() == queries.labels(4).tolist(), queries.labels(4).dtype
    (True, dtype('int32'))
    >>> truth = queries.labels(0)  # hidden labels that query 0 gets all right
    >>> int(count_hits(queries, truth, 0, 2)[0])
    6
    """

    def __init__(self, n: int, m: int, seed: int) -> None:
        self.n, self.m = n, m
        self._start = mix(np.array([seed & (2**64 - 1)], dtype=np.uint64))
        self.replay: Replay | None = None  # keeps the passes over them

    def keys(self, first: int, last: int) -> Words:
        """Where the streams first … last - 1 start, each of which makes two queries."""
        return mix(self._start + GOLDEN * np.arange(first + 1, last + 1, dtype=np.uint64))

    def words(self, stream: int) -> Words:
        """(n,) 64 random bits a point."""
        return mix(self.keys(stream, stream + 1) + GOLDEN * np.arange(1, self.n + 1, dtype=np.uint64))

    def labels(self, query: int) -> Labels:
        """(n,) what a query says."""
        return _half(self.words(query // 2), query % 2, self.m)


def count_hits(
    queries: Queries,
    truth: NDArray[Any],
    start: int,
    stop: int,
    *,
    n_jobs: int = 1,
    tell: Callable[[float], None] | None = None,
) -> NDArray[np.int64]:
    """How many points queries start … stop - 1 get right; a truth outside 0 … m - 1 is never met.

    `tell` hears after each block which share of these queries it had; `n_jobs` threads share the blocks.
    """
    hidden = np.where((truth >= 0) & (truth < queries.m), truth, queries.m).astype(np.int64)
    compiled = _fastest(queries.n, stop - start)
    count = _count_numpy if compiled is None else compiled.count
    first, last = start // 2, (stop + 1) // 2
    hits = np.zeros((last - first, 2), dtype=np.int64)

    def block(a: int, b: int) -> None:
        count(hidden, queries.keys(first + a, first + b), queries.m, hits[a:b])

    _side_by_side(block, last - first, QUERIES // 2, n_jobs, tell, queries.replay, [hits])
    return hits.reshape(-1)[start - 2 * first : stop - 2 * first]


def winners(
    queries: Queries,
    weights: NDArray[np.float64],
    stops: Sequence[int],
    *,
    prior: Callable[[int, int], NDArray[np.float64]] | None = None,
    n_jobs: int = 1,
    tell: Callable[[float], None] | None = None,
) -> Labels:
    """The label with the highest score at every point, after so many queries.

    Parameters
    ----------
    weights : (k,) float
        What query j adds to the score of the label it names.
    stops : sequence of int
        Numbers of queries, growing, at most k.
    prior : function, optional
        Log prior of points first … last - 1 as (points, m) float64: where the scores begin; 0 without one.
    n_jobs : int
        Threads that share the points.
    tell : function, optional
        Hears after each piece which share of the points it had.

    Returns
    -------
    (stops, n) int32
        Ties are broken at random, the same way whenever the seed is the same.
    """
    ends = np.asarray(stops, dtype=np.int64)
    keys = queries.keys(0, (int(ends[-1]) + 1) // 2)
    added = np.zeros(2 * len(keys))
    added[: ends[-1]] = np.clip(weights[: ends[-1]], -CERTAIN, CERTAIN)
    compiled = _fastest(queries.n, int(ends[-1]))
    vote = _vote_numpy if compiled is None else compiled.vote
    out = np.empty((len(ends), queries.n), dtype=np.int32)
    ties = queries.words(TIES)

    def piece(a: int, b: int) -> None:
        start = np.zeros((1, queries.m)) if prior is None else np.maximum(prior(a, b), -IMPOSSIBLE)
        vote(a, keys, queries.m, added, ends, start, ties[a:b], out[:, a:b])

    _side_by_side(piece, queries.n, POINTS, n_jobs, tell, queries.replay, [out.T])
    return out


def tally(
    queries: Queries,
    weights: NDArray[np.float64],
    starts: Sequence[int],
    fixed: Words,
    visit: Callable[[int, NDArray[np.float64], Words], None],
    made: Sequence[NDArray[Any]],
    *,
    n_jobs: int = 1,
    tell: Callable[[float], None] | None = None,
) -> None:
    """Scores of all labels at all points, where some points' labels were fixed in some of the queries.

    Parameters
    ----------
    weights : (k,) float
        What query j adds to the score of the label it names.
    starts : sequence of int
        The first query of each phase, even numbers, from 0 on.
    fixed : (n,) uint64
        Bit t of a point is set where the queries of phase t named a fixed label there, which counts for nothing.
    visit : function
        Hears of each piece its first point, the (points, m) scores, and 64 random bits for ties at each point.
    made : sequence of (n, ...) arrays
        What `visit` writes to, at the rows of its points.
    """
    k = len(weights)
    keys = queries.keys(0, (k + 1) // 2)
    added = np.zeros(2 * len(keys))
    added[:k] = weights
    bounds = np.array([*(s // 2 for s in starts), len(keys)], dtype=np.int64)
    ties = queries.words(TIES)
    compiled = _fastest(queries.n, k)
    add = _tally_numpy if compiled is None else compiled.tally

    def piece(a: int, b: int) -> None:
        rows = np.zeros((b - a, queries.m))
        add(a, keys, queries.m, added, bounds, fixed[a:b], rows)
        visit(a, rows, ties[a:b])

    _side_by_side(piece, queries.n, POINTS, n_jobs, tell, queries.replay, made)


def highest(scores: NDArray[np.float64], ties: Words) -> NDArray[np.int64]:
    """(points,) the label with the highest score, equals at random."""
    tied = scores == scores.max(axis=1, keepdims=True)
    place = ((ties & LOW) * tied.sum(axis=1).astype(np.uint64)) >> S32
    return np.asarray((np.cumsum(tied, axis=1) <= place[:, None].astype(np.int64)).sum(axis=1))


def _side_by_side(
    work: Callable[[int, int], None],
    length: int,
    size: int,
    n_jobs: int,
    tell: Callable[[float], None] | None,
    replay: Replay | None,
    made: Sequence[NDArray[Any]],
) -> None:
    """work(a, b) on pieces of 0 … length, in threads; each writes to its own rows of `made`, unless these are kept."""
    places = [(a, min(length, a + size)) for a in range(0, length, size)]
    done = np.zeros(len(places), dtype=bool) if replay is None else replay.begin(made, places)

    def one(piece: int) -> None:
        a, b = places[piece]
        if not done[piece]:
            work(a, b)
            if replay is not None:
                replay.finish(piece)
        if tell is not None:
            tell((b - a) / length)

    for _ in in_threads(one, zip(range(len(places))), n_jobs=n_jobs if len(places) > 1 else 1):
        pass


def _half(words: Words, half: int, m: int) -> Labels:
    """Labels from the lower or the upper 32 bits."""
    part = (words >> S32) if half else (words & LOW)
    return ((part * np.uint64(m)) >> S32).astype(np.int32)


def _count_numpy(truth: NDArray[np.int64], keys: Words, m: int, hits: NDArray[np.int64]) -> None:
    steps = GOLDEN * np.arange(1, len(truth) + 1, dtype=np.uint64)
    for p, key in enumerate(keys):
        words = mix(key + steps)
        for half in (0, 1):
            hits[p, half] = np.count_nonzero(_half(words, half, m) == truth)


def _vote_numpy(
    first: int,
    keys: Words,
    m: int,
    weights: NDArray[np.float64],
    stops: NDArray[np.int64],
    start: NDArray[np.float64],
    ties: Words,
    out: Labels,
) -> None:
    n = out.shape[1]
    scores = np.array(np.broadcast_to(start, (n, m)))
    rows, steps = np.arange(n), GOLDEN * np.arange(first + 1, first + n + 1, dtype=np.uint64)
    done = 0
    words = np.zeros(0, dtype=np.uint64)
    for c, stop in enumerate(stops.tolist()):
        for j in range(done, stop):
            if j % 2 == 0 or j == done:
                words = mix(keys[j // 2] + steps)
            scores[rows, _half(words, j % 2, m)] += weights[j]
        done = stop
        out[c] = highest(scores, ties)


def _tally_numpy(
    first: int,
    keys: Words,
    m: int,
    weights: NDArray[np.float64],
    starts: NDArray[np.int64],
    fixed: Words,
    rows: NDArray[np.float64],
) -> None:
    steps = GOLDEN * np.arange(first + 1, first + len(rows) + 1, dtype=np.uint64)
    for t in range(len(starts) - 1):
        free = np.flatnonzero((fixed >> np.uint64(t)) & np.uint64(1) == 0)
        for p in range(starts[t], starts[t + 1]):
            words = mix(keys[p] + steps[free])
            for half in (0, 1):
                rows[free, _half(words, half, m)] += weights[2 * p + half]


def _fastest(n: int, k: int) -> Any:
    """The passes in machine code, or None while all that was asked for is done sooner than numba is loaded."""
    global _drawn
    _drawn += k * (n + CALL)
    return _compiled() if _drawn > WORTH or "numba" in sys.modules else None


_drawn = 0  # labels, in this process


@cache
def _compiled() -> Any:
    """The same in machine code, or None without numba."""
    if find_spec("numba") is None:
        return None
    from heldout.attack import kernels

    return kernels
