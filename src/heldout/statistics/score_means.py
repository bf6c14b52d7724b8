r"""Intervals of mean scores between 0 and 1, over examples or whole groups of them.

A mean of scores varies less than a share of right answers would: by the factor

.. math:: g = \frac{\tilde p (1 - \tilde p)}{\tilde v}, \qquad
          \tilde p = \frac{\sum x + a}{n + 2a}, \quad \tilde v = \frac{\sum x^2 + a}{n + 2a} - \tilde p^2,    \tag{1}

mean and variance of the scores with a examples at 0 and a at 1 added. The interval is Clopper and Pearson's at g times
as many examples (over the design effect, where examples come in groups), with Student's law for the variance, as Korn
and Graubard have it for shares. Where all scores are 0 or 1, g is 1 and it *is* that interval.

The examples that are added stand for those that a sample may have missed: at level delta a share up to ln(1/delta) / n
of the examples may lie at either end without one being seen, so

.. math:: a = \tfrac12 \ln(2 / \delta).    \tag{2}

Without them the interval has width 0 where all 50 scores are 0.8, as they are in 1.5 % of samples with 8 % zeros
(`tests/statistics/test_score_means.py` has coverages).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.statistics.grouped import GroupMoments, korn_graubard

Floats = NDArray[np.float64]

LEAST_LEVEL = 1e-19
STEPS = 40  # halvings of a logarithm that starts 44 wide


def steadiness(n: ArrayLike, total: ArrayLike, square: ArrayLike, level: ArrayLike) -> Floats:
    """How many times an example with scores is worth one that is right or wrong (1); at least 1.

    Parameters
    ----------
    n, total, square : array
        Number of scores, their sum, the sum of their squares.
    level : array
        Probability of a miss that the interval is for (2).

    Examples
    --------
    >>> float(steadiness(100, 30, 30, 0.05))  # right or wrong
    1.0
    >>> round(float(steadiness(1000, 500, 300, 0.05)), 2)  # variance 0.05 instead of 0.25
    4.93
    """
    n, total, square = (np.asarray(v, dtype=np.float64) for v in (n, total, square))
    a = 0.5 * np.log(2 / np.asarray(level, dtype=np.float64))  # (2)
    mean = (total + a) / (n + 2 * a)
    variance = (square + a) / (n + 2 * a) - mean**2
    return np.asarray(np.maximum(1.0, mean * (1 - mean) / variance))  # (1)


def mean_score_intervals(moments: GroupMoments, correlation: ArrayLike, level: ArrayLike) -> tuple[Floats, Floats]:
    """Intervals of mean scores, each at 1 - level, for many models at once; never of width 0.

    Parameters
    ----------
    moments : GroupMoments
        Of the scores, over groups of examples; a group may be one example.
    correlation : array
        Of two scores of one group.
    level : array
        Probability of a miss, both sides together.
    """
    return _intervals(moments, *moments.spread(correlation), level)


def _intervals(m: GroupMoments, times: Floats, df: Floats, level: ArrayLike) -> tuple[Floats, Floats]:
    gain = steadiness(m.n, m.total, m.square, level)
    return korn_graubard(m.total / m.n, np.where(m.n_groups > 1, gain * m.n / times, 0.0), df, level)


def mean_score_levels(moments: GroupMoments, correlation: ArrayLike, epsilon: float) -> Floats:
    """The smallest level of each whose interval lies within epsilon of the mean: what epsilon costs; 1 if none does."""
    share, (times, df) = moments.total / moments.n, moments.spread(correlation)

    def fits(log_level: Floats) -> NDArray[np.bool_]:
        low, high = _intervals(moments, times, df, np.exp(log_level))
        return np.asarray(np.maximum(high - share, share - low) <= epsilon)

    bad, good = np.full(share.shape, np.log(LEAST_LEVEL)), np.full(share.shape, np.log(1 - 1e-9))
    never, always = ~fits(good), fits(bad)
    for _ in range(STEPS):
        middle = (bad + good) / 2
        yes = fits(middle)
        good, bad = np.where(yes, middle, good), np.where(yes, bad, middle)
    return np.asarray(np.where(never, 1.0, np.where(always, LEAST_LEVEL, np.exp(good))))
