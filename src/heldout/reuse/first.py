r"""Who may be first: the models that cannot be excluded from rank 1, from the top 3, from the top 10.

A model is excluded from the top T where at least T others are better than it, each by a one-sided test at level

.. math:: c_T = \frac{\delta}{\sum_{a=1}^{T} (k - T - 1 + a) / a},    \tag{1}

which is delta / (k - 1) for T = 1. Number the models by true rank, those that are equally good in any order fixed
beforehand. With probability at least 1 - delta the T models of ranks 1 to T stay in the set. For let model j have the
true rank rho <= T. At most rho - 1 models are truly better, so it is excluded only if a = T - rho + 1
or more of the k - rho others are declared better by mistake, each with probability c_T at most. By Markov's inequality
that has a probability of at most (k - rho) c_T / a, and the sum over rho = 1, ..., T is delta. How the tests depend on
each other does not matter. Where more than T models share the top, each of them, named beforehand, stays with
1 - delta; but some of them was missing in 10 to 31 % of simulations at 95 %.

This asks less than to have *all* ranks right at once, and so it can say more: k - 1 comparisons are paid for, not all
k (k - 1) / 2 pairs in both directions. For T = 1 it is multiple comparisons with the best.

References
----------
Hsu (1984). Constrained simultaneous confidence intervals for multiple comparisons with the best. Ann. Statist. 12(3).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heldout.reuse.leaderboard import TestedPairs

TOPS = (1, 3, 10)
LEADERS = 50  # of a pool too large to test every pair: only these are held against the others


def exclusion_level(top: int, n_models: int, delta: float) -> float:
    """The level (1) of one comparison.

    Examples
    --------
    >>> exclusion_level(1, 21, 0.05)  # 0.05 / 20
    0.0025
    >>> round(0.05 / exclusion_level(3, 21, 0.05), 4)  # 18 + 19 / 2 + 20 / 3
    34.1667
    """
    a = np.arange(1, top + 1)
    return float(delta / np.sum((n_models - top - 1 + a) / a))


def may_be_among(
    tests: TestedPairs, order: NDArray[np.intp], *, tops: tuple[int, ...] = TOPS
) -> dict[int, tuple[int, ...]]:
    """For each T, the models that cannot be excluded from the top T, in the leaderboard's order.

    Each set holds with probability 1 - delta of its own, as the module says.
    """
    k = tests.n_models
    asked = [top for top in tops if top < k]
    log_levels = np.log([2 * exclusion_level(top, k, tests.delta) for top in asked])  # of a two-sided p-value
    beaten = np.zeros((len(asked), k), dtype=np.int64)
    leaders = order.tolist() if tests.complete else order[:LEADERS].tolist()
    for i in leaders:
        others, log_p, wins = tests.against_all(i)
        beaten[:, others] += wins & (log_p <= log_levels[:, None])
    sets = {top: tuple(int(j) for j in order if beaten[at, j] < top) for at, top in enumerate(asked)}
    return {top: sets.get(top, tuple(order.tolist())) for top in tops}
