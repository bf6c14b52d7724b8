"""An order of models in which similar ones stand together; presentation only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.reuse.similarity import SimilarityResult

MAX_CLUSTERED = 2_000  # more are thinned out evenly down the leaderboard
MAX_OPTIMAL = 200  # optimal leaf order takes cubic time
MAX_ROWS = 100  # of a heat map; more are put together in blocks

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Clustered:
    """A square matrix of similarities, clustered, and the models behind each of its rows."""

    values: Floats
    rows: tuple[NDArray[np.intp], ...]
    n_models: int  # clustered; fewer than there are where the pool was thinned out

    @property
    def blocks(self) -> bool:
        """Whether a row stands for several models."""
        return self.n_models > len(self.rows)


def clustered(similarity: SimilarityResult, order: NDArray[np.intp]) -> Clustered:
    """Average linkage on the share of examples where two models differ; past 100 models, means over blocks."""
    models = np.sort(order[thinned(len(order), MAX_CLUSTERED)])
    values = submatrix(similarity, models)
    leaves = leaf_order(values)
    values, models = values[np.ix_(leaves, leaves)], models[leaves]
    if len(models) <= MAX_ROWS:
        return Clustered(values, tuple(models[i : i + 1] for i in range(len(models))), len(models))
    pieces = np.array_split(np.arange(len(models)), MAX_ROWS)
    return Clustered(block_means(values, [len(p) for p in pieces]), tuple(models[p] for p in pieces), len(models))


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
