r"""Intervals of a mean in [-1, 1] that hold at every look at once, so that one may look while examples come in.

Whoever bets that the mean is above m, with a fixed share f of the largest bet that cannot ruin, owns after t examples

.. math:: K_t^f(m) = \prod_{i \le t} \left(1 - f + f\,\frac{1 + x_i}{1 + m}\right),    \tag{1}

a non-negative martingale if the mean is m, whatever the law, and decreasing in m. So is its mean over a fixed grid of
shares. It ever reaches 2 / alpha with probability alpha / 2 at most (Ville), so all m at which it has not, and at which
the same bet that the mean is *below* has not, are an interval that holds at all t at once with 1 - alpha, and so does
what the intervals of all looks have in common. What is needed: given the past, each difference has the same mean, as in
random order or in a stream of independent examples. A file that is sorted, by topic or by difficulty, does not have
that: intervals of early and late looks may then have nothing in common, or nothing with the mean of all, and both is
told (`moved`).

References
----------
Ville (1939). Étude critique de la notion de collectif. Waudby-Smith, Ramdas (2024). Estimating means of bounded random
variables by betting. JRSS B 86(1), 1-27. Robbins (1970). Ann. Math. Statist. 41(5), 1397-1409 (mixtures).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from heldout.checks import check_share
from heldout.errors import InputError

Floats = NDArray[np.float64]

# Of the largest bet that cannot ruin. The best share is about sqrt(2 ln(1 / alpha) / t) over the spread: from a dozen
# examples to 10^8 some share of the grid is within 2^(1/4) of it, which costs 4 % of the log wealth at most.
SHARES: Floats = 0.98 * 2.0 ** (-np.arange(28) / 2)
LOOKS = 60  # of the curve, evenly on a logarithmic scale
BLOCK = 16_384  # examples at a time
GRID = 513  # most distinct values that are counted one by one
SMALLEST = 1e-9  # an end next to 0 that 0 is not inside of


@dataclass(frozen=True, kw_only=True, eq=False)
class ConfidenceSequence:
    """What is known of a mean after each of some looks.

    Parameters
    ----------
    looks : (L,) int
        Units seen.
    means, low, high : (L,) float
        Mean so far, and what all intervals so far have in common.
    log_p_value : float
        Of "the mean is 0", valid at every look: 2 over the largest wealth so far.
    first : int or None
        Units after which 0 was outside for the first time, looked at after every one.
    level : float
        Probability that some interval, at some look, misses the mean.
    upward : bool
        Whether the bet that the mean is above 0 has gained more than the one that it is below.
    """

    looks: NDArray[np.int64]
    means: Floats
    low: Floats
    high: Floats
    log_p_value: float
    first: int | None
    level: float
    upward: bool

    @property
    def moved(self) -> bool:
        """Whether the mean moved with the order: no one mean is inside the intervals of all looks, or not that of all
        units."""
        low, high = self.interval
        return not low <= min(max(float(self.means[-1]), -1.0), 1.0) <= high

    @property
    def interval(self) -> tuple[float, float]:
        """After the last look."""
        return float(self.low[-1]), float(self.high[-1])

    @property
    def p_value(self) -> float:
        """Valid at every look."""
        return math.exp(self.log_p_value)


def log_wealth_path(x: Floats, m: float, *, start: Floats | None = None) -> tuple[Floats, Floats]:
    """Log of the mean over shares of (1) after every example, and the log wealth of each share at the end.

    Parameters
    ----------
    start : (n_shares,), optional
        Log wealth of each share before the first of these examples.
    """
    values, code = np.unique(x, return_inverse=True)
    table = np.log1p(SHARES[:, None] * ((1.0 + values) / (1.0 + m) - 1.0))
    steps = np.take(table, code, axis=1)
    if start is not None:
        steps[:, 0] += start
    np.cumsum(steps, axis=1, out=steps)
    end = steps[:, -1].copy()
    top = steps.max(axis=0)
    steps -= top
    np.exp(steps, out=steps)
    return np.asarray(top + np.log(steps.mean(axis=0))), end


def confidence_sequence(
    differences: ArrayLike, *, level: float = 0.05, looks: ArrayLike | None = None
) -> ConfidenceSequence:
    """An interval of the mean of numbers in [-1, 1] after every look, valid at all of them at once.

    Twice as wide as Student's after 100 examples, 1.6 times after 10^6: the price of looking as often as one likes.

    Parameters
    ----------
    differences : (n,)
        In the order in which they came.
    looks : (L,) int, optional
        After how many examples to give an interval; 60 on a logarithmic scale without. The p-value and `first` count a
        look after every example, and 0 is outside the last interval exactly where p is at most the level.

    Examples
    --------
    >>> x = np.repeat([1.0, -1.0, 0.0], [300, 100, 600])[np.random.default_rng(0).permutation(1000)]
    >>> found = confidence_sequence(x)
    >>> [round(end, 2) for end in found.interval], found.first
    ([0.14, 0.27], 84)
    """
    x = np.asarray(differences, dtype=np.float64)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all() or np.abs(x).max() > 1 + 1e-12:
        raise InputError(f"`differences` has shape {x.shape}; a row of numbers in [-1, 1] is needed.")
    check_share(level, "level")
    n = len(x)
    at = geometric_looks(n) if looks is None else np.unique(np.asarray(looks, dtype=np.int64))
    if not len(at) or at[0] < 1 or at[-1] > n:
        raise InputError(f"`looks` must lie between 1 and the {n:,} differences there are.")
    bar = math.log(2.0 / level)
    (first_up, up), (first_down, down) = (_watch_zero(values, bar) for values in (x, -x))
    firsts = (first_up, first_down)
    low = _lower_ends(x, at, bar)
    high = -_lower_ends(-x, at, bar)
    low, high = np.maximum.accumulate(low), np.minimum.accumulate(high)
    for i, first in enumerate(firsts):  # 0 is watched at every example, the ends at these looks only
        if first is not None:
            past = at >= first
            if i == 0:
                low = np.where(past, np.maximum(low, SMALLEST), low)
            else:
                high = np.where(past, np.minimum(high, -SMALLEST), high)
    found = [first for first in firsts if first is not None]
    return ConfidenceSequence(
        looks=at,
        means=np.cumsum(x)[at - 1] / at,
        low=low,
        high=high,
        log_p_value=min(0.0, math.log(2.0) - max(up, down)),
        first=min(found) if found else None,
        level=level,
        upward=up >= down,
    )


def geometric_looks(n: int) -> NDArray[np.int64]:
    """Some numbers of examples from 1 to n, evenly on a logarithmic scale.

    Examples
    --------
    >>> geometric_looks(5).tolist()
    [1, 2, 3, 4, 5]
    """
    return np.arange(1, n + 1) if n <= LOOKS else np.unique(np.round(np.geomspace(1, n, LOOKS)).astype(np.int64))


def _watch_zero(x: Floats, bar: float) -> tuple[int | None, float]:
    """After how many examples the bet that the mean is above 0 has reached the bar, and the largest log wealth.

    A difference of 0 leaves that wealth as it is, so only the others are looked at.
    """
    moves = np.flatnonzero(x)
    state: Floats | None = None
    first, largest = None, 0.0
    for start in range(0, len(moves), BLOCK):
        some = moves[start : start + BLOCK]
        path, state = log_wealth_path(x[some], 0.0, start=state)
        if first is None and path.max() >= bar:
            first = int(some[np.argmax(path >= bar)]) + 1
        largest = max(largest, float(path.max()))
    return first, largest


def _lower_ends(x: Floats, looks: NDArray[np.int64], bar: float) -> Floats:
    """The m at which the wealth (1) is the bar, at each look; -1 where it is nowhere so large.

    On counts of the distinct values up to each look. Where there are many values, an example counts for the two points
    of a grid around it, in the proportions that keep its value: the logarithm of (1) is concave in x, so this wealth is
    never above the true one, and the interval is as valid.
    """
    values, code = np.unique(x, return_inverse=True)
    stop = np.searchsorted(looks, np.arange(1, len(x) + 1))  # the first look that has seen each example
    if len(values) <= GRID:
        counts = _count(code, stop, np.ones(len(x)), (len(looks), len(values)))
    else:
        values = np.linspace(-1.0, 1.0, GRID)
        place = (np.clip(x, -1.0, 1.0) + 1.0) / 2 * (GRID - 1)
        left = np.minimum(place.astype(np.int64), GRID - 2)
        shape = (len(looks), GRID)
        counts = _count(left, stop, left + 1 - place, shape) + _count(left + 1, stop, place - left, shape)
    counts = np.cumsum(counts, axis=0)

    def log_wealth(m: Floats) -> Floats:
        ratio = (1.0 + values) / (1.0 + m[:, None]) - 1.0
        each = np.array([np.einsum("lv,lv->l", counts, np.log1p(share * ratio)) for share in SHARES.tolist()])
        return np.asarray(logsumexp(each, axis=0) - math.log(len(SHARES)))

    low, high = np.full(len(looks), -1.0), counts @ values / counts.sum(axis=1)
    for _ in range(34):
        middle = (low + high) / 2
        above = log_wealth(np.maximum(middle, -1.0 + 1e-12)) >= bar
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return low


def _count(code: NDArray[np.int64], stop: NDArray[np.int64], weight: Floats, shape: tuple[int, int]) -> Floats:
    """Weights summed over each look and value; examples after the last look do not count."""
    seen = stop < shape[0]
    flat = np.bincount(stop[seen] * shape[1] + code[seen], weights=weight[seen], minlength=shape[0] * shape[1])
    return np.asarray(flat.reshape(shape))
