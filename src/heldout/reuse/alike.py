"""How alike the models of a pool are, in the few numbers that a page shows: a grid of all pairs, and a map of them in
which similar models stand together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.reuse.similarity import SimilarityResult

FEW_PAIRS = 10  # up to so many are listed one by one
MAX_BINS, MIN_BINS = 48, 12
MAX_CLUSTERED = 2_000  # more are thinned out evenly down the leaderboard
MAX_OPTIMAL = 200  # optimal leaf order takes cubic time
MAX_ROWS = 100  # of a map; more are put together in blocks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Clustered:
    """A square matrix of similarities, clustered, and the models behind each of its rows."""

    values: Floats
    rows: tuple[NDArray[np.intp], ...]
    n_models: int  # clustered; fewer than there are where the pool was thinned out

    @property
    def blocks(self) -> bool:
        """Whether a row stands for several models."""
        return self.n_models > len(self.rows)

    def closest(self, row: int) -> tuple[float, int] | None:
        """How alike a row is to the others on average, and the closest of them; None where none is known."""
        others = np.where(np.arange(len(self.rows)) == row, np.nan, self.values[row])
        return (float(np.nanmean(others)), int(np.nanargmax(others))) if np.isfinite(others).any() else None


@dataclass(frozen=True, kw_only=True, eq=False)
class Alike:
    """Similarity over all pairs.

    Parameters
    ----------
    below_chance, disjoint : int
        Pairs that are both wrong less often than independent models would be; pairs without a common example.
    pairs : (pairs, 3) float or None
        Similarity, that of independent models, and kappa of each pair, where they are few.
    edges, counts : (bins + 1,) float, (bins, bins) int, or None
        Pairs counted over similarity if independent and similarity, on one grid, where they are many.
    map : Clustered or None
        None for two models.
    """

    below_chance: int
    disjoint: int
    pairs: Floats | None
    edges: Floats | None
    counts: Ints | None
    map: Clustered | None


def how_alike(s: SimilarityResult, order: NDArray[np.intp]) -> Alike:
    """What a page shows of all pairs; `order` is that of the leaderboard."""
    few = s.n_pairs <= FEW_PAIRS
    edges, counts = (None, None) if few else pair_grid(s)
    return Alike(
        below_chance=s.below_chance,
        disjoint=s.disjoint,
        pairs=np.stack([s.agreement(), s.baseline(), s.kappa()], axis=1) if few else None,
        edges=edges,
        counts=counts,
        map=clustered(s, order) if s.n_models > 2 else None,
    )


def pair_grid(s: SimilarityResult) -> tuple[Floats, Ints]:
    """Pairs counted over (baseline, similarity) on one grid; a row of pairs at a time, so that large pools fit.

    Returns
    -------
    edges : (bins + 1,) float64
        Of both axes.
    counts : (bins, bins) int64
        Baseline first.
    """
    low, high = math.inf, -math.inf
    for chance, observed in _pairs(s):
        if len(chance):
            low = min(low, float(chance.min()), float(observed.min()))
            high = max(high, float(chance.max()), float(observed.max()))
    pad = max(1e-3, 0.01 * (high - low))
    low, high = max(0.0, low - pad), min(1.0, high + pad)
    bins = int(np.clip(round(2.5 * (s.n_pairs - s.disjoint) ** (1 / 3)), MIN_BINS, MAX_BINS))
    if s.common is None:
        low, high, bins = whole_steps(low, high, bins, s.n_examples)
    counts = np.zeros(bins * bins, np.int64)
    for chance, observed in _pairs(s):
        x, y = (np.clip(((v - low) / (high - low) * bins).astype(np.int64), 0, bins - 1) for v in (chance, observed))
        counts += np.bincount(x * bins + y, minlength=bins * bins)
    return np.linspace(low, high, bins + 1), counts.reshape(bins, bins)


def whole_steps(low: float, high: float, bins: int, n: int) -> tuple[float, float, int]:
    """A grid whose bins all hold equally many multiples of 1/n; otherwise small test sets give combs.

    Examples
    --------
    >>> low, high, bins = whole_steps(0.5, 0.9, 12, 100)
    >>> round(100 * low, 6), round(100 * high, 6), bins  # from 49.5 on, four hundredths per bin
    (49.5, 93.5, 11)
    """
    steps = math.ceil((high - low) / bins * n - 1e-9)
    start = math.floor(low * n + 1e-9) - 0.5
    bins = math.ceil((high * n - start) / steps)
    return start / n, (start + bins * steps) / n, bins


def _pairs(s: SimilarityResult) -> Iterator[tuple[Floats, Floats]]:
    """(baseline, similarity) of each model against those after it, where they share examples."""
    for row in s.rows():
        there = row.common > 0
        n = row.common[there]
        first, second = row.first_wrong[there] / n, row.second_wrong[there] / n
        yield first * second + (1 - first) * (1 - second), row.agreements()[there] / n


def clustered(similarity: SimilarityResult, order: NDArray[np.intp]) -> Clustered:
    """Average linkage on the share of examples where two models differ; past 100 models, means over blocks."""
    models = np.sort(order[thinned(len(order), MAX_CLUSTERED)])
    values = submatrix(similarity, models)
    leaves = leaf_order(values)
    values, models = values[np.ix_(leaves, leaves)], models[leaves]
    if len(models) <= MAX_ROWS:
        return Clustered(values=values, rows=tuple(models[:, None]), n_models=len(models))
    pieces = np.array_split(np.arange(len(models)), MAX_ROWS)
    means = block_means(values, [len(p) for p in pieces])
    return Clustered(values=means, rows=tuple(models[p] for p in pieces), n_models=len(models))


def thinned(k: int, most: int) -> NDArray[np.intp]:
    """Positions 0 to k - 1, or `most` of them evenly spread, both ends included.

    Examples
    --------
    >>> thinned(4, 9).tolist(), thinned(9, 3).tolist()
    ([0, 1, 2, 3], [0, 4, 8])
    """
    if k <= most:
        return np.arange(k)
    return np.round(np.linspace(0, k - 1, most)).astype(np.intp)


def submatrix(similarity: SimilarityResult, models: NDArray[np.intp]) -> Floats:
    """Similarity among some models, given in ascending order; NaN where two share no example, 1 on the diagonal."""
    out = np.ones((len(models), len(models)))
    for a, model in enumerate(models[:-1].tolist()):
        row = similarity.row(model)
        later = models[a + 1 :] - model - 1
        with np.errstate(invalid="ignore"):
            out[a, a + 1 :] = out[a + 1 :, a] = row.agreements()[later] / row.common[later]
    return out


def leaf_order(values: Floats) -> NDArray[np.intp]:
    """Rows of a similarity matrix in the order of the leaves of its tree."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    k = len(values)
    if k < 3:
        return np.arange(k)
    distances = 1.0 - values[np.triu_indices(k, 1)]
    known = np.isfinite(distances)
    distances[~known] = distances[known].mean() if known.any() else 1.0  # neither near nor far
    tree = linkage(distances, method="average", optimal_ordering=k <= MAX_OPTIMAL)
    return np.asarray(leaves_list(tree), dtype=np.intp)


def block_means(values: Floats, sizes: list[int]) -> Floats:
    """Means over blocks of rows and columns; pairs of a model with itself and pairs that are NaN do not count.

    Examples
    --------
    >>> block_means(np.array([[1, 0.5, 0.2], [0.5, 1, 0.4], [0.2, 0.4, 1]]), [2, 1]).round(3).tolist()
    [[0.5, 0.3], [0.3, nan]]
    """
    known = np.isfinite(values) & ~np.eye(len(values), dtype=bool)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])

    def sums(matrix: Floats) -> Floats:
        return np.add.reduceat(np.add.reduceat(matrix, starts, axis=0), starts, axis=1)

    with np.errstate(invalid="ignore"):
        means: Floats = sums(np.where(known, values, 0.0)) / sums(known.astype(np.float64))
    return means
