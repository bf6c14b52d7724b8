r"""Two models that are right or wrong on the same examples: McNemar's exact test, its interval, and its power.

b examples only the first model gets right, c only the second; d = (b - c) / n. If both models are right equally often,
b of the b + c discordant examples are a fair coin's heads: McNemar's exact test. The interval of the difference comes
from test inversion: the lower end is where

.. math:: P_{\delta}(S \ge b - c) = \alpha / 2, \qquad S = B - C, \quad (B, C, n - B - C) \sim
          Multinomial(n; \tilde p_{10}, \tilde p_{01}, \cdot),    \tag{1}

exact tails at the most likely shares with :math:`p_{10} - p_{01} = \delta` (Tango's restricted estimate),

.. math:: \tilde p_{01} = \frac{\sqrt{B^2 - 4 A C} - B}{2 A}, \quad A = 2n, \quad B = -b - c + (2n - b + c)\delta,
          \quad C = -c\,\delta (1 - \delta),    \tag{2}

and 0 is inside exactly where McNemar's p is above alpha. Over all tables of 20, 50 and 100 examples it covers 95.4 % or
more, counted exactly (`tests/statistics/test_paired.py`).

References
----------
McNemar (1947). Psychometrika 12(2), 153-157. Tango (1998). Statistics in Medicine 17, 891-908.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, ndtri, xlog1py, xlogy

from heldout.errors import InputError
from heldout.statistics.binomial import upper_tail
from heldout.statistics.search import first_where

Floats = NDArray[np.float64]

LEVEL, POWER = 0.05, 0.8
ABOVE_ZERO = 1e-9  # an end next to 0 that 0 is not inside of
CLOSE = 1e-7  # normal quantiles, to which an end is found
REACH = 8.5  # standard deviations of the number of discordant examples; beyond is 1e-17
POWER_REACH = 5.0  # the same for power, beyond is 6e-7


def difference_tail(least: ArrayLike, n: ArrayLike, p10: ArrayLike, p01: ArrayLike) -> Floats:
    """P(B - C >= least) for (B, C, rest) of n examples with shares p10, p01; element by element.

    The number of discordant examples is binomial, and given it B is.

    Examples
    --------
    >>> float(difference_tail(2, 2, 0.5, 0.25))  # both examples are of the first kind
    0.25
    """
    s, size, up, down = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (least, n, p10, p01)))
    share = np.clip(up + down, 0.0, 1.0)
    first = np.divide(up, share, out=np.full(share.shape, 0.5), where=share > 0)
    mean, sd = size * share, np.sqrt(size * share * (1 - share))
    width = math.ceil(2 * (REACH * float(sd.max(initial=0.0)) + 12))
    start = np.clip(np.floor(mean - width / 2), 0, np.maximum(size - width, 0))
    m = start[..., None] + np.arange(min(width, float(size.max(initial=0.0))) + 1)
    there = m <= size[..., None]
    m = np.where(there, m, 0.0)
    total, p = size[..., None], share[..., None]
    log_pmf = gammaln(total + 1) - gammaln(m + 1) - gammaln(total - m + 1) + xlogy(m, p) + xlog1py(total - m, -p)
    tail = upper_tail(np.ceil((m + s[..., None]) / 2), m, np.clip(first, 0.0, 1.0)[..., None])
    return np.asarray(np.minimum(1.0, np.where(there, np.exp(log_pmf) * tail, 0.0).sum(axis=-1)))


def restricted_shares(b: Floats, c: Floats, n: Floats, delta: Floats) -> tuple[Floats, Floats]:
    """The most likely p10 and p01 with p10 - p01 = delta (2)."""
    linear = -b - c + (2 * n - b + c) * delta
    root = np.sqrt(np.maximum(0.0, linear**2 + 8 * n * c * delta * (1 - delta)))
    down = np.clip((root - linear) / (4 * n), np.maximum(0.0, -delta), (1 - delta) / 2)
    return np.asarray(down + delta), np.asarray(down)


def mcnemar_intervals(b: ArrayLike, c: ArrayLike, n: ArrayLike, *, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Intervals of the difference in accuracy (1), each at 1 - level, for many pairs of models at once.

    Zero is inside exactly where McNemar's exact p is above the level.

    Parameters
    ----------
    b, c : array of int
        Examples that only the first, only the second model gets right.
    n : array of int
        Examples of both.

    Examples
    --------
    >>> low, high = mcnemar_intervals([60, 5], [30, 0], 500)
    >>> low.round(4).tolist(), high.round(4).tolist()  # 5 against 0: p = 0.0625
    ([0.0222, 0.0], [0.0986, 0.0232])
    """
    first, second, size = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (b, c, n)))
    shape = first.shape
    first, second, size = (v.reshape(-1) for v in (first, second, size))
    low = _lower_ends(first, second, size, level)
    high = -_lower_ends(second, first, size, level)
    told = 2 * upper_tail(np.maximum(first, second), first + second, 0.5) <= level
    # Far out, at 0.001 and below, the tails of (1) at 0 can be heavier than those of McNemar's coin.
    low = np.where(told & (first > second), np.maximum(low, ABOVE_ZERO), np.where(told, low, np.minimum(low, 0.0)))
    high = np.where(told & (second > first), np.minimum(high, -ABOVE_ZERO), np.where(told, high, np.maximum(high, 0.0)))
    return low.reshape(shape), high.reshape(shape)


def _lower_ends(b: Floats, c: Floats, n: Floats, level: float) -> Floats:
    """Where the tail (1) is level / 2: by secants of its normal quantile, which is nearly straight in delta."""
    s, z = b - c, float(ndtri(level / 2))
    out = np.full(len(s), -1.0)
    left = np.flatnonzero(s > -n)
    low, high = np.full(len(left), -1.0), s[left] / n[left]
    sd = np.sqrt(np.maximum(b + c, 4.0)[left]) / n[left]
    at, before, f_before = np.clip(high + (z - 0.3) * sd, -1.0 + 1e-12, high), high, np.full(len(left), np.nan)
    for step in range(80):
        shares = restricted_shares(b[left], c[left], n[left], at)
        with np.errstate(divide="ignore"):
            f = np.clip(ndtri(difference_tail(s[left], n[left], *shares)), -40.0, 40.0) - z  # rises with delta
        low, high = np.where(f < 0, at, low), np.where(f < 0, high, at)
        out[left] = at
        going = (np.abs(f) > CLOSE) & (high - low > 1e-13)
        if not going.any():
            break
        with np.errstate(invalid="ignore", divide="ignore"):
            slope = np.where(np.isnan(f_before), 1 / sd, (f - f_before) / (at - before))
            new = at - f / slope
        inside = (new > low) & (new < high) & (step % 8 < 6)
        new = np.where(inside, new, (low + high) / 2)
        keep = np.flatnonzero(going)
        before, f_before, at = at[keep], f[keep], new[keep]
        left, low, high, sd = left[keep], low[keep], high[keep], sd[keep]
    return out


def mcnemar_power(n: int, p10: float, p01: float, *, level: float = LEVEL) -> float:
    """Probability that McNemar's exact test at `level` finds the first model better.

    Parameters
    ----------
    n : int
        Examples.
    p10, p01 : float
        Shares of examples that only the first, only the second model gets right.

    Examples
    --------
    >>> round(mcnemar_power(6, 1.0, 0.0), 6), mcnemar_power(5, 1.0, 0.0)  # 2 / 2^6 is below 0.05, 2 / 2^5 is not
    (1.0, 0.0)
    """
    share = p10 + p01
    if share <= 0:
        return 0.0
    reach = POWER_REACH * math.sqrt(n * share * (1 - share)) + 12
    m = np.arange(max(0, math.floor(n * share - reach)), min(n, math.ceil(n * share + reach)) + 1, dtype=np.float64)
    log_pmf = gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1) + xlogy(m, share) + xlog1py(n - m, -min(1.0, share))
    return float(np.exp(log_pmf) @ upper_tail(critical_counts(m, level), m, min(1.0, p10 / share)))


def critical_counts(m: Floats, level: float) -> Floats:
    """The smallest b of m discordant examples that McNemar's exact test calls significant; m + 1 where none is.

    Examples
    --------
    >>> critical_counts(np.array([5.0, 6.0, 100.0]), 0.05).tolist()
    [6.0, 6.0, 61.0]
    """
    least = np.clip(np.ceil((m + 1 - ndtri(level / 2) * np.sqrt(m)) / 2), 0, m + 1)
    going = np.arange(len(m))
    while len(going):  # from the normal guess to where the tail falls below the level: a step or two
        some, at = m[going], least[going]
        move = np.where(
            2 * upper_tail(at, some, 0.5) > level, 1.0, np.where(2 * upper_tail(at - 1, some, 0.5) <= level, -1.0, 0.0)
        )
        least[going] += move
        going = going[move != 0]
    return np.asarray(np.minimum(least, m + 1))


def gap_shares(gap: float, disagreement: float) -> tuple[float, float]:
    """Shares p10, p01 of two models that disagree on this share of the examples, or on as many as the gap takes."""
    share = max(gap, disagreement)
    return (share + gap) / 2, (share - gap) / 2


def detectable_gap(n: int, disagreement: float, *, level: float = LEVEL, power: float = POWER) -> float:
    """The smallest difference in accuracy that McNemar's exact test finds with this power; NaN where none is.

    Parameters
    ----------
    disagreement : float
        Share of examples on which only one of the two models is right.

    Examples
    --------
    >>> round(detectable_gap(500, 0.18), 4)
    0.0546
    """
    check_pair_numbers(n=n, disagreement=disagreement, level=level, power=power)
    if mcnemar_power(n, 1.0, 0.0, level=level) < power:
        return math.nan

    def short(gap: float) -> bool:
        return mcnemar_power(n, *gap_shares(gap, disagreement), level=level) < power

    guess = float(ndtri(power) - ndtri(level / 2)) * math.sqrt(max(disagreement, 4 / n) / n)
    low, high = 0.0, min(1.0, guess)
    while short(high):
        low, high = high, min(1.0, 1.2 * high)
    if low == 0.0:
        low = high
        while not short(low):
            low, high = low / 1.2, low
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if short(middle) else (low, middle)
    return high


def examples_for_gap(gap: float, disagreement: float, *, level: float = LEVEL, power: float = POWER) -> int:
    """Examples from which on McNemar's exact test finds this difference in accuracy with this power.

    The exact power has teeth: the number is the first after which it holds as far as 1 % further on.

    Examples
    --------
    >>> examples_for_gap(0.05, 0.18)
    595
    """
    check_pair_numbers(n=1, disagreement=disagreement, level=level, power=power)
    if not 0 < gap <= 1:
        raise InputError(f"`gap` is {gap}; a difference in accuracy above 0 and up to 1 is needed.")
    shares = gap_shares(gap, disagreement)

    def holds(n: int) -> bool:
        return mcnemar_power(n, *shares, level=level) >= power

    most = 8
    while not holds(most):
        most *= 2
    n = first_where(holds, 1, most)
    while True:  # past the last tooth that dips below
        dips = [i for i in range(n, n + max(2, n // 100)) if not holds(i)] if n < 20_000 else []
        if not dips:
            return n
        n = dips[-1] + 1


def check_pair_numbers(*, n: int, disagreement: float, level: float, power: float) -> None:
    """Refuse what is no share, or no examples."""
    if n < 1:
        raise InputError(f"`n` is {n}; at least one example is needed.")
    if not 0 <= disagreement <= 1:
        raise InputError(f"`disagreement` is {disagreement}; it is a share of the examples, 0 to 1.")
    for name, value in (("level", level), ("power", power)):
        if not 0 < value < 1:
            raise InputError(f"`{name}` is {value}; it must be between 0 and 1.")
