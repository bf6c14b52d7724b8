"""A few models that stand for all: similarity covers by Definition 1 of Mania et al. (2019)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.reuse.similarity import SimilarityResult, condensed_row

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Table = NDArray[np.bool_]

_FEWEST_COVERS, _MOST_COVERS = 24, 256  # greedy covers behind a curve
_WORK = 1.5e8  # pairs looked at for a curve: fewer covers in a large pool
_LEVELS = 2**20  # pairs whose similarities are tried, at most: they are sorted


@dataclass(frozen=True, kw_only=True, eq=False)
class CoverCurve:
    """How many models cover a pool, for every similarity at once (figure 3 of the paper).

    Parameters
    ----------
    eta : (s,) float64
        Similarities, ascending; the last is 1.
    size : (s,) int64
        At similarity eta[i] or less, a cover of size[i] models was found; ascending.
    """

    eta: Floats
    size: NDArray[np.int64]

    def at(self, eta: float) -> int:
        """Size of a cover at similarity `eta`: an upper bound of the covering number."""
        return int(self.size[np.searchsorted(self.eta, _check_eta(eta))])

    def steps(self, most: int) -> tuple[list[float], list[float]]:
        """The last similarity of every size, and that size; some of them where there are more than `most`."""
        ends = np.flatnonzero(np.append(self.size[1:] != self.size[:-1], True))
        kept = ends if len(ends) <= most else ends[np.unique(np.linspace(0, len(ends) - 1, most).round().astype(int))]
        return self.eta[kept].tolist(), self.size[kept].astype(float).tolist()

    def to_dict(self) -> dict[str, Any]:
        """The steps as plain lists."""
        return {"eta": self.eta.tolist(), "size": self.size.tolist()}


def cover(similarity: SimilarityResult, eta: float) -> Indices:
    """Find a small similarity cover inside the pool.

    A set M of models is an `eta` cover if for every model q it holds one with no more error than q and one with no
    less, each equal to q in 0/1 loss on a share of at least `eta` of the examples (Definition 1 of [1]_). A model of
    M covers itself. This is a set cover over 2k requirements; it is found greedily, and what turns out not to be
    needed is left out again. Errors and shares are those seen on the test set. Two models that share no example are
    not similar.

    Parameters
    ----------
    similarity : SimilarityResult
        Of the k models.
    eta : float
        Least similarity, within 0 and 1.

    Returns
    -------
    (size,) intp
        Indices of the models of the cover, ascending.

    References
    ----------
    .. [1] Mania, Miller, Schmidt, Hardt, Recht (2019). Model similarity mitigates test set overuse. NeurIPS.

    Examples
    --------
    Models 0 and 2 have the smallest and the largest error; model 1 differs from both on one example of four:

    >>> from heldout.reuse.similarity import similarity
    >>> pool = similarity([[True, True, True, True], [True, True, True, False], [True, True, False, False]])
    >>> cover(pool, 0.75).tolist(), cover(pool, 0.8).tolist()
    ([0, 2], [0, 1, 2])
    """
    _check_eta(eta)
    pool = _Pool(similarity)
    return np.sort(pool.greedy(eta))


def cover_curve(similarity: SimilarityResult) -> CoverCurve:
    """Find a small similarity cover for every eta at once.

    The model that is covered worst is added until all are covered at similarity 1: that gives nested covers of every
    size. Greedy covers make the curve lower: at every similarity of a pair in a small pool, where the curve climbs most
    in a large one. A cover holds for every smaller similarity too, so the curve is the least size at or above each.

    Parameters
    ----------
    similarity : SimilarityResult
        Of the k models.

    Returns
    -------
    CoverCurve

    Examples
    --------
    >>> from heldout.reuse.similarity import similarity
    >>> pool = similarity([[True, True, True, True], [True, True, True, False], [True, True, False, False]])
    >>> curve = cover_curve(pool)
    >>> curve.eta.tolist(), curve.size.tolist()
    ([0.75, 1.0], [2, 3])
    >>> curve.at(0.8)
    3
    """
    pool = _Pool(similarity)
    etas, sizes = pool.nested()
    return _envelope([*zip(etas.tolist(), sizes, strict=True), *pool.refined(etas[0], sizes[0])])


class _Pool:
    """Similarities and the order of errors of k models."""

    def __init__(self, similarity: SimilarityResult) -> None:
        empty = np.flatnonzero(similarity.observed == 0)
        if len(empty):
            raise InputError(
                f"the model {similarity.names[empty[0]]!r} has no answer on any example, so it has no error; leave it "
                "out of the pool."
            )
        self.k = k = similarity.n_models
        # A pair that shares no example is similar at no eta. Quotients of counts below 2**26 are equal as float64 if
        # and only if they are equal, so that errors and similarities are compared exactly.
        self.agreement = similarity.agreement()
        np.copyto(self.agreement, -np.inf, where=np.isnan(self.agreement))
        self.rank = np.unique(similarity.errors, return_inverse=True)[1].astype(np.int32)
        self.start = np.array([i * (2 * k - i - 1) // 2 for i in range(k + 1)])

    def row(self, i: int) -> Floats:
        """Similarity of model i with all models, itself included."""
        return np.insert(self.agreement[condensed_row(i, self.k)], i, 1.0)

    def tables(self, eta: float) -> tuple[Table, Table]:
        """Who covers whom from below and from above at `eta`: (k, k), the one that covers first."""
        k, rank = self.k, self.rank
        below, above = np.eye(k, dtype=np.bool_), np.eye(k, dtype=np.bool_)
        for i in range(k - 1):
            similar = self.agreement[self.start[i] : self.start[i + 1]] >= eta
            np.logical_and(similar, rank[i] <= rank[i + 1 :], out=below[i, i + 1 :])
            np.logical_and(similar, rank[i] >= rank[i + 1 :], out=above[i, i + 1 :])
        below |= above.T  # i covers j from below if and only if j covers i from above
        above[:] = below.T
        return below, above

    def greedy(self, eta: float) -> Indices:
        """Cover of the pool, in the order in which it was chosen."""
        below, above = self.tables(eta)
        everyone = np.arange(self.k)
        # `above[q]` are the models that cover q from below: the gain of each is the requirements it would meet
        gain = _tally(above, everyone) + _tally(below, everyone)
        need_below, need_above = np.ones((2, self.k), np.bool_)
        alone = (np.count_nonzero(below, axis=1) == 1) | (np.count_nonzero(above, axis=1) == 1)
        members: list[int] = []
        chosen = np.flatnonzero(alone)  # nobody else covers them from above, or from below
        while True:
            members += chosen.tolist()
            for table, other, need in ((below, above, need_below), (above, below, need_above)):
                met = need & table[chosen].any(axis=0)
                need &= ~met
                gain -= _tally(other, np.flatnonzero(met))
            if not (need_below.any() or need_above.any()):
                return _without_spare(np.array(members, np.intp), below, above)
            chosen = np.array([np.argmax(gain)])

    def nested(self) -> tuple[Floats, list[int]]:
        """Add the model that is covered worst, until all are covered at 1: the similarity reached at each size."""
        below, above = np.full((2, self.k), -np.inf)
        chosen = sorted({int(np.argmin(self.rank)), int(np.argmax(self.rank))})  # the ends are covered by no other
        etas: list[float] = []
        sizes = [0]
        while not etas or etas[-1] < 1.0:
            for i in chosen:
                row = self.row(i)
                np.maximum(below, row, out=below, where=self.rank >= self.rank[i])
                np.maximum(above, row, out=above, where=self.rank <= self.rank[i])
            least = np.minimum(below, above)
            etas.append(float(least.min()))
            sizes.append(sizes[-1] + len(chosen))
            chosen = [int(np.argmin(least))]
        return np.array(etas), sizes[1:]

    def refined(self, lowest: float, size: int) -> list[tuple[float, int]]:
        """Greedy covers where the curve from `size` at `lowest` to similarity 1 is least known."""
        step = 1 + len(self.agreement) // _LEVELS
        levels = np.unique(np.concatenate([self.agreement[::step], [max(lowest, 0.0), 1.0]]))
        levels = levels[levels >= max(lowest, 0.0)]  # below, the ends alone are a cover, and none is smaller
        points = [(1.0, len(self.greedy(1.0)))]
        gaps: list[tuple[float, int, int, int, int]] = []

        def note(low: int, low_size: int, high: int, high_size: int) -> None:
            if high - low > 1:
                width = levels[high] - levels[low]
                heappush(gaps, (-width * abs(math.log(high_size / low_size)), low, low_size, high, high_size))

        note(0, size, len(levels) - 1, points[0][1])
        most = int(np.clip(_WORK / self.k**2, _FEWEST_COVERS, _MOST_COVERS))
        while gaps and len(points) < most:
            _, low, low_size, high, high_size = heappop(gaps)
            middle = int(np.searchsorted(levels, (levels[low] + levels[high]) / 2))
            middle = min(max(middle, low + 1), high - 1)
            middle_size = len(self.greedy(levels[middle]))
            points.append((float(levels[middle]), middle_size))
            note(low, low_size, middle, middle_size)
            note(middle, middle_size, high, high_size)
        return points


def _tally(table: Table, rows: Indices) -> NDArray[np.int32]:
    """Column sums of some rows of a table; in bytes, which hold 255."""
    total = np.zeros(table.shape[1], np.int32)
    for first in range(0, len(rows), 255):
        total += np.add.reduce(table.view(np.uint8)[rows[first : first + 255]], axis=0, dtype=np.uint8)
    return total


def _without_spare(members: Indices, below: Table, above: Table) -> Indices:
    """Leave out members, last chosen first, whose models are all covered by others."""
    times_below, times_above = _tally(below, members), _tally(above, members)
    kept = []
    for i in members[::-1]:
        if times_below[below[i]].min() > 1 and times_above[above[i]].min() > 1:
            times_below -= below[i]
            times_above -= above[i]
        else:
            kept.append(i)
    return np.array(kept[::-1], np.intp)


def _envelope(points: Iterable[tuple[float, int]]) -> CoverCurve:
    """Least size at or above each similarity, one step a size."""
    best: list[tuple[float, int]] = []
    for eta, size in sorted(points, key=lambda point: (point[1], -point[0])):  # small covers first
        if eta >= 0 and (not best or eta > best[-1][0]):
            best.append((eta, size))
    return CoverCurve(
        eta=np.array([eta for eta, _ in best], np.float64), size=np.array([size for _, size in best], np.int64)
    )


def _check_eta(eta: float) -> float:
    if not 0 <= eta <= 1:
        raise InputError(f"`eta` is {eta}; a similarity is a share of the examples, within 0 and 1.")
    return eta
