r"""Tails of a sum of independent whole numbers, each with a law of its own, to many digits however small they are.

For S = X_1 + ... + X_n with cumulant function K(theta) = sum of log E exp(theta X_i), the tilted law

.. math:: P_\theta(x) = P(S = x)\, e^{\theta x - K(\theta)}    \tag{1}

is that of a sum of tilted laws. With theta such that its mean is the observed s, the tail is

.. math:: P(S \le s) = e^{K(\theta) - \theta s} \sum_{x \le s} P_\theta(x)\, e^{-\theta (x - s)},    \tag{2}

theta <= 0, whose terms of weight are where the tilted law has its mass. Fourier transforms are exact to about 1e-16 of
the largest probability, which is nothing to (2); without the tilt they give tails of 1e-19 as -1e-16 [1]_.

Where there are many, the tilted laws are convolved in pairs until they are as long as a window outside of which their
sum has less than 1e-22 of its mass by Bernstein's inequality, h on each side of the mean,

.. math:: h^2 = 2 L (\sigma_\theta^2 + R h / 3), \qquad L = \log(2 \cdot 10^{22}),    \tag{3}

with R the longest range of one X_i; their transforms at the length of the window are then multiplied, which takes sums
modulo that length.

References
----------
.. [1] Hong (2013). On computing the distribution function for the Poisson binomial distribution. Computational
   Statistics & Data Analysis 59, 41-51, whose transform is not tilted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import irfft, next_fast_len, rfft

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

OUTSIDE = math.log(2e22)  # L of (3)
DIRECT = 32  # laws of at most so many values are convolved term by term
CELLS = 4_000_000  # probabilities that are transformed at a time
SMALL = 30_000  # probabilities that are transformed at once, without pairs
NEAR = 0.05  # the tilted mean may miss the observed sum by so many standard deviations, and so many units
TURNS = 200


@dataclass(frozen=True)
class LogTails:
    """Logarithms of P(S <= s), P(S >= s) and P(S = s) for an observed sum s.

    Examples
    --------
    >>> tails = LogTails(lower=math.log(0.25), upper=math.log(0.875), point=math.log(0.125))
    >>> round(math.exp(tails.log_p("overfitted")), 6), round(math.exp(tails.log_p("overfitted", mid_p=True)), 6)
    (0.25, 0.1875)
    >>> round(math.exp(tails.log_p("two-sided")), 6)
    0.5
    """

    lower: float
    upper: float
    point: float

    def log_p(self, alternative: str, *, mid_p: bool = False) -> float:
        """Log p-value: of fewer than expected ("overfitted"), or of both sides, twice the smaller one and at most 1.

        Twice the smaller tail is valid whatever the shape of the law, and rejects where a one-sided test at half the
        level does; orders of the counts by their probability would be valid too, but move with the law's bumps. With
        `mid_p` the observed sum counts half, which is not valid: levels may be exceeded.
        """
        lower, upper = self._tails[mid_p]
        return lower if alternative == "overfitted" else min(0.0, math.log(2) + min(lower, upper))

    @cached_property
    def _tails(self) -> tuple[tuple[float, float], tuple[float, float]]:
        half = tuple(
            tail if self.point == -math.inf else tail + math.log1p(-min(0.5, 0.5 * math.exp(self.point - tail)))
            for tail in (self.lower, self.upper)
        )
        return (self.lower, self.upper), (half[0], half[1])


def sum_log_tails(
    values: ArrayLike, starts: ArrayLike, observed: int, *, log_weights: ArrayLike | None = None
) -> LogTails:
    """(2) and its like for the sum of n independent whole numbers.

    Parameters
    ----------
    values : (m,) int
        What each can be, one after the other.
    starts : (n + 1,) int
        Where the values of each begin; the last is m.
    observed : int
        The sum s.
    log_weights : (m,) float, optional
        Logarithms of their probabilities, which sum to 1 for each; without them its values are equally likely (a value
        that is there twice is twice as likely).

    Examples
    --------
    Two dice show at most 3:

    >>> tails = sum_log_tails([1, 2, 3, 4, 5, 6] * 2, [0, 6, 12], 3)
    >>> round(36 * math.exp(tails.lower), 9), round(36 * math.exp(tails.point), 9)
    (3.0, 2.0)
    """
    v, begin = np.asarray(values, dtype=np.int64), np.asarray(starts, dtype=np.int64)
    sizes = np.diff(begin)
    assert (sizes > 0).all(), "every number has a value"
    weights = -np.log(np.repeat(sizes, sizes)) if log_weights is None else np.asarray(log_weights, dtype=np.float64)
    law = np.repeat(np.arange(len(sizes)), sizes)
    there = weights > -np.inf
    v, weights, law = v[there], weights[there], law[there]
    begin = np.searchsorted(law, np.arange(len(sizes) + 1))
    least = np.minimum.reduceat(v, begin[:-1]) if len(v) else v
    left = int(observed) - int(least.sum())
    v = v - least[law]
    moving = np.maximum.reduceat(v, begin[:-1]) > 0 if len(v) else np.zeros(0, dtype=bool)
    keep = moving[law] if len(v) else moving
    v, weights, law = v[keep], weights[keep], (np.cumsum(moving) - 1)[law[keep]]
    begin = np.searchsorted(law, np.arange(int(moving.sum()) + 1))
    if not len(v):
        return LogTails(*(0.0 if yes else -math.inf for yes in (left >= 0, left <= 0, left == 0)))
    step = int(np.gcd.reduce(v))
    sums = _Sums(v // step, weights, law, begin[:-1])
    below, rest = divmod(left, step)
    if rest:  # between two sums that there can be
        return LogTails(sums.log_tails(below).lower, sums.log_tails(below + 1).upper, -math.inf)
    return sums.log_tails(below)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Laws of numbers from 0 on, none of them constant."""

    v: Ints
    weights: Floats
    law: Ints
    begin: Ints

    @cached_property
    def ranges(self) -> Ints:
        return np.asarray(np.maximum.reduceat(self.v, self.begin))

    def tilted(self, theta: float) -> tuple[Floats, float, float, float]:
        """Probabilities under the tilt, K, and mean and variance of the sum."""
        x = self.weights + theta * self.v
        top = np.maximum.reduceat(x, self.begin)
        share = np.exp(x - top[self.law])
        total = np.add.reduceat(share, self.begin)
        share /= total[self.law]
        means = np.add.reduceat(share * self.v, self.begin)
        variance = float((share * (self.v - means[self.law]) ** 2).sum())
        return share, float((top + np.log(total)).sum()), float(means.sum()), variance

    def tilt_to(self, target: float) -> tuple[float, Floats, float, float, float]:
        """The theta whose mean is about the target, by Newton's steps between bounds, and what `tilted` says of it."""
        theta, low, high = 0.0, -math.inf, math.inf
        for _ in range(TURNS):
            share, k, mean, variance = self.tilted(theta)
            miss = target - mean
            if abs(miss) <= NEAR * min(1.0, target, float(self.ranges.sum()) - target) + NEAR * math.sqrt(variance):
                break
            low, high = (theta, high) if miss > 0 else (low, theta)
            longest = max(1.0, abs(theta))
            step = miss / variance if variance > 0 else math.copysign(longest, miss)
            theta += max(-longest, min(longest, step))
            if not low < theta < high:
                theta = 0.5 * (low + high)
        return theta, share, k, mean, variance

    def log_tails(self, s: int) -> LogTails:
        most = int(self.ranges.sum())
        if not 0 <= s <= most:
            return LogTails(*((-math.inf, 0.0) if s < 0 else (0.0, -math.inf)), point=-math.inf)
        theta, share, k, mean, variance = self.tilt_to(min(max(s, 0.5), most - 0.5))
        longest = OUTSIDE * int(self.ranges.max()) / 3
        h = longest + math.sqrt(longest**2 + 2 * OUTSIDE * variance)  # (3)
        length = int(next_fast_len(min(most + 1, 2 * math.ceil(h) + 3), real=True))
        x = (0 if length > most else math.floor(mean) - length // 2) + np.arange(length)
        x = x[(x >= 0) & (x <= most)]
        law = self._modulo(share, length)[x % length]
        scale = k - theta * s
        with np.errstate(divide="ignore"):
            point = float(np.log(max(0.0, law[x == s].sum()))) + scale
            if theta <= 0:
                below = law[x < s] @ np.exp(theta * (s - x[x < s]))  # (2)
                lower = float(np.log(max(0.0, below + math.exp(point - scale)))) + scale
                upper = _log_rest(float(np.log(max(0.0, below))) + scale)
            else:
                above = law[x > s] @ np.exp(theta * (s - x[x > s]))  # (2), from the other side
                upper = float(np.log(max(0.0, above + math.exp(point - scale)))) + scale
                lower = _log_rest(float(np.log(max(0.0, above))) + scale)
        return LogTails(min(0.0, lower), min(0.0, upper), min(0.0, point))

    def _modulo(self, share: Floats, length: int) -> Floats:
        """Law of the tilted sum modulo a length."""
        product = np.ones(length // 2 + 1, dtype=np.complex128)
        classes = np.ceil(np.log2(self.ranges + 1)).astype(np.int64)  # laws of a class have at most 2^class values
        place = np.empty(len(classes), dtype=np.int64)
        for c in np.unique(classes):
            mine = np.flatnonzero(classes == c)
            place[mine] = np.arange(len(mine))
            width = 1 << int(c)
            some = classes[self.law] == c
            flat = place[self.law[some]] * width + self.v[some]
            rows: Floats = np.bincount(flat, weights=share[some], minlength=len(mine) * width).astype(np.float64)
            rows = rows.reshape(-1, width)
            odd = []
            while len(rows) * length > SMALL and len(rows) > 1 and rows.shape[1] < length:
                if len(rows) % 2:
                    odd.append(rows[-1:])
                rows = _convolved(rows[0 : len(rows) - 1 : 2], rows[1 : len(rows) : 2])
            for part in (*odd, rows):
                product *= _transformed(part, length)
        return np.asarray(irfft(product, length))


def _convolved(a: Floats, b: Floats) -> Floats:
    """Row by row."""
    width = a.shape[1]
    out = np.zeros((len(a), 2 * width - 1))
    if width <= DIRECT:
        for j in range(width):
            out[:, j : j + width] += a[:, j, None] * b
        return out
    fast = next_fast_len(2 * width - 1, real=True)
    size = max(1, CELLS // fast)
    for i in range(0, len(a), size):
        here = slice(i, i + size)
        out[here] = irfft(rfft(a[here], fast) * rfft(b[here], fast), fast)[:, : 2 * width - 1]
    return out


def _transformed(rows: Floats, length: int) -> NDArray[np.complex128]:
    """Product of the transforms of rows that are taken modulo a length."""
    product = np.ones(length // 2 + 1, dtype=np.complex128)
    turns = -(-rows.shape[1] // length)
    size = max(1, CELLS // (turns * length))
    for i in range(0, len(rows), size):
        some = rows[i : i + size]
        if turns > 1:
            padded = np.zeros((len(some), turns * length))
            padded[:, : some.shape[1]] = some
            some = padded.reshape(len(some), turns, length).sum(axis=1)
        product *= np.prod(rfft(some, length), axis=0)
    return product


def _log_rest(log_p: float) -> float:
    """log(1 - p)."""
    p = math.exp(min(0.0, log_p))
    return math.log1p(-p) if p < 1 else -math.inf
