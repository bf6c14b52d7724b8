r"""Which items look memorised in their printed order: rank p-values, and Benjamini and Hochberg's list.

The p-value of item i is the chance that an order of its set has a score of at least the printed one's,

.. math:: p_i = \frac{\sum_{\pi \in S_i : s(\pi) \ge s(\text{printed})} w(\pi)}{\sum_{\pi \in S_i} w(\pi)},    \tag{1}

equal scores counted in full: it is not randomised, so that nobody is listed by a coin. w(pi) is the law of the printed
order among those of S_i: 1 where every order was as likely, else the probability of its position of the right answer,
for which the share of the items of its stratum with that position is taken (a plug-in).

No p_i is below that of a printed order with the highest score alone,

.. math:: f_i = w(\text{printed}) / \sum_{\pi \in S_i} w(\pi),    \tag{2}

1 / 24 with all orders of four options. Of the items that nobody memorised, the highest of its scores alone has the
printed order of so many by chance,

.. math:: e = \sum_i w(\text{highest of } S_i \text{ alone}) / \sum_{\pi \in S_i} w(\pi),    \tag{3}

so that of n_1 items that are first about the share e / n_1 is there by chance. By Benjamini and Hochberg's rule k of n
items are listed at the rate q where k of them have p of at most k q / n; as no p is below its f, a list has at least

.. math:: k_0 = \min \{k : n f_{(k)} \le k q\}    \tag{4}

items, f in rising order: with 24 orders and q = 0.1, 42 % of all. Where there is no such k, no list is possible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.checks import check_share
from heldout.errors import InputError
from heldout.groups import group_codes
from heldout.results import Record
from heldout.statistics.poisson_binomial import check_starts
from heldout.statistics.seen import Q, benjamini_hochberg

Floats = NDArray[np.float64]
SAME = 1e-9  # relative; sums of weights may differ by rounding


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MemorisedItems(Record):
    """Items in the order in which they look memorised, and how many of them can be listed at the rate q.

    Attributes
    ----------
    p_values : (n_items,) float
        Of each item's rank; NaN where an order has no score.
    order, listed : int arrays
        All items, smallest p first, and those that can be listed.
    n_listed : int
        Items that can be listed, the first so many of `order`.
    n_ranked, n_first : int
        Items that have a p; those whose printed order has the highest score alone.
    first_expected : float
        How many would have it by chance.
    q : float
        Rate of the list.
    shortest : int
        Fewest items that any list at the rate q has, however strong the evidence of each; 0 where none is possible.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.statistics import memorised_items
    >>> found = memorised_items([0, 2, 4], [0, 1, 1, 0], [-0.1, -2.0, -3.0, -0.5])
    >>> found.p_values.tolist(), found.n_first, found.first_expected, found.shortest
    ([0.5, 1.0], 1, 1.0, 0)
    """

    unlisted = ("p_values", "order")
    derived = ("listed", "floor")

    p_values: Floats
    order: NDArray[np.intp]
    n_listed: int
    n_ranked: int
    n_first: int
    first_expected: float
    q: float
    shortest: int

    @property
    def listed(self) -> NDArray[np.intp]:
        """Places of the listed items, smallest p first."""
        return self.order[: self.n_listed]

    @property
    def floor(self) -> float:
        """Share of the items that are first which chance alone puts there; NaN where none is first, and perhaps above
        1."""
        return self.first_expected / self.n_first if self.n_first else math.nan


def memorised_items(
    starts: ArrayLike,
    positions: ArrayLike,
    scores: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    uniform: bool = False,
    q: float = Q,
) -> MemorisedItems:
    """Rank p-values of the items (1), and their list at the rate q.

    Parameters
    ----------
    starts : (n_items + 1,) int
        Where the orders of each item begin; the first of them is the printed one.
    positions : (m,) int
        Of the right answer in every order, from 0.
    scores : (m,) float
        High where the model does well: the log-probability of the right answer, or 1 where it is right and 0 where it
        is wrong. An item with NaN has no p.
    strata : (n_items,), optional
        Items whose positions have one law: as a rule their number of options, and the source they are from.
    uniform : bool
        Every order was as likely to be printed as any other.
    q : float
        False discovery rate of the list.

    Returns
    -------
    MemorisedItems
        P-values, the list and its floor.

    Examples
    --------
    Six items out of ten have the highest of four scores as printed. Chance alone would do that to 2.5 of them:

    >>> import numpy as np
    >>> from heldout.statistics import memorised_items
    >>> scores = [[-0.1, -1.0, -1.1, -1.2]] * 6 + [[-1.0, -0.1, -0.2, -0.3]] * 4
    >>> found = memorised_items(np.arange(0, 41, 4), [0, 1, 2, 3] * 10, np.ravel(scores), uniform=True, q=0.5)
    >>> found.n_listed, found.n_first, round(found.floor, 3), found.shortest
    (6, 6, 0.417, 5)
    """
    check_share(q, "q")
    x, at = np.asarray(scores, dtype=np.float64), np.asarray(positions)
    if x.ndim != 1 or at.shape != x.shape or at.dtype.kind not in "iu" or (at < 0).any():
        raise InputError(f"`scores` has shape {x.shape} and `positions` {at.shape}; both need one number per order.")
    begin = check_starts(starts, x, "scores")
    item = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
    weights = order_weights(begin, at, strata, uniform=uniform)
    total = np.add.reduceat(weights, begin[:-1])
    printed = x[begin[:-1]][item]
    p = np.add.reduceat(np.where(x >= printed, weights, 0.0), begin[:-1]) / total  # (1)
    floors = weights[begin[:-1]] / total  # (2)
    unknown = np.logical_or.reduceat(np.isnan(x), begin[:-1])
    p[unknown] = np.nan
    known = p[~unknown]
    best = x == np.maximum.reduceat(x, begin[:-1])[item]
    alone = np.add.reduceat(best, begin[:-1], dtype=np.int64) == 1  # never of an item with NaN
    first = int(np.count_nonzero(alone & best[begin[:-1]]))
    by_chance = float((np.add.reduceat(np.where(best, weights, 0.0), begin[:-1]) / total)[alone].sum())  # (3)
    lists = len(known) * np.sort(floors[~unknown]) <= q * (1 + SAME) * np.arange(1, len(known) + 1)  # (4)
    return MemorisedItems(
        p_values=p,
        order=np.argsort(p, kind="stable"),  # NaN last
        n_listed=benjamini_hochberg(known, q),
        n_ranked=len(known),
        n_first=first,
        first_expected=by_chance,
        q=q,
        shortest=int(np.argmax(lists)) + 1 if lists.any() else 0,
    )


def order_weights(
    starts: NDArray[np.int64], positions: NDArray[np.int64], strata: ArrayLike | None, *, uniform: bool
) -> Floats:
    """w of (1), up to a factor for each item: 1, or how often its stratum has the answer printed at that position."""
    if uniform:
        return np.ones(len(positions))
    n = len(starts) - 1
    codes = np.zeros(n, dtype=np.intp) if strata is None else group_codes(strata, n, what="strata")
    counts = np.zeros((int(codes.max()) + 1, int(positions.max()) + 1))
    np.add.at(counts, (codes, positions[starts[:-1]]), 1.0)
    return np.asarray(counts[np.repeat(codes, np.diff(starts)), positions])
