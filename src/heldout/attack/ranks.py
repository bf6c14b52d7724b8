"""A prior from what models rank first, second, third: no labels and no probabilities are needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError


def rank_profile(ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """(R,) how often what one model puts in place r is what another model puts first, over all ordered pairs.

    Models that were trained alike err alike, so this takes them for a little better than they are.
    """
    models = ranks.shape[2]
    shares = [(ranks[:, :, a] == ranks[:, :1, b]).mean(axis=0) for a in range(models) for b in range(models) if a != b]
    return np.asarray(np.mean(shares, axis=0))


def prior_from_ranks(ranks: ArrayLike, m: int) -> NDArray[np.float32]:
    """Probabilities from the ranks of several models: the mean of what each of them says.

    A model gives the label in its place r the share of times that another model puts such a label first
    (`rank_profile`), and what is left to all other labels alike. Where the models disagree, the
    mean is flat: those are the points of low confidence.

    Parameters
    ----------
    ranks : (n, R, models) int
        Labels, best first. At least two models: one model's ranks do not say how sure it is.
    m : int
        Classes.

    Returns
    -------
    (n, m) float32

    Examples
    --------
    >>> ranks = np.array([[[0, 0], [1, 1]], [[2, 1], [1, 2]]])  # two points, two places, two models
    >>> prior_from_ranks(ranks, 4).round(3).tolist()
    [[0.5, 0.5, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0]]
    """
    table = check_ranks(ranks, m)
    n, places, models = table.shape
    profile = rank_profile(table)
    rest = max(0.0, 1.0 - float(profile.sum())) / max(1, m - places)
    prior = np.full((n, m), rest, dtype=np.float64 if n * m < 1e6 else np.float32)
    rows = np.arange(n)
    for model in range(models):
        for place in range(places):
            prior[rows, table[:, place, model]] += (profile[place] - rest) / models
    prior /= prior.sum(axis=1, keepdims=True)
    return prior.astype(np.float32)


def check_ranks(ranks: ArrayLike, m: int) -> NDArray[np.int64]:
    """Whole numbers of shape (n, R, models), or a sentence that says what is wrong with them."""
    table = np.asarray(ranks)
    if table.ndim != 3 or 0 in table.shape or table.dtype.kind not in "iu":
        raise InputError(
            f"ranks have the shape {table.shape} and the type {table.dtype}; class numbers of shape (examples, places, "
            "models) are needed, best first."
        )
    if table.shape[2] < 2:
        raise InputError(
            "ranks of one model do not say how sure it is of which label; give ranks of at least two models, or "
            "probabilities."
        )
    table = table.astype(np.int64)
    if table.min() < 0 or table.max() >= m:
        raise InputError(
            f"ranks name the classes {table.min()} to {table.max()}; with {m} classes they are 0 to {m - 1}."
        )
    repeated = np.sort(table, axis=1)
    if (repeated[:, 1:] == repeated[:, :-1]).any():
        raise InputError("ranks name a class twice at the same example; the places of a model must differ.")
    return table
