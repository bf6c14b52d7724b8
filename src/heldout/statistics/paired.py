r"""Two models that are right or wrong on the same examples: McNemar's exact test with an interval of the difference.

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

from heldout.statistics.binomial import sign_test_log_pvalue, upper_tail

Floats = NDArray[np.float64]

LEVEL = 0.05
ABOVE_ZERO = 1e-9  # an end next to 0 that 0 is not inside of
BATCH = 100  # pairs whose sums are taken together
CLOSE = 1e-7  # normal quantiles, to which an end is found
REACH = 8.5  # standard deviations of the number of discordant examples; beyond is 1e-17


def is_told(log_p: ArrayLike, level: float) -> NDArray[np.bool_]:
    """Whether a p-value is at most a level: the one comparison that verdicts and intervals go by.

    Examples
    --------
    >>> bool(is_told(math.log(0.1 / 3), 0.1 / 3)), bool(is_told(math.log(0.051), 0.05))
    (True, False)
    """
    return np.asarray(np.asarray(log_p) <= math.log(level) + 1e-9)  # rounding must not decide


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
    reach = REACH * float(sd.max(initial=0.0)) + 12
    # Every k-th even and every k-th odd number of discordant examples: a sum over a bell shape is exact far beyond
    # rounding at steps of a third of its width, and only neighbours of different parity differ by more than that.
    k = max(1, math.floor(float(sd.min(initial=0.0)) / 6))
    start = np.clip(np.floor(mean - reach), 0, None)
    odd_even = np.concatenate([start[..., None], start[..., None] + 1], axis=-1)
    m = (odd_even[..., None] + 2.0 * k * np.arange(math.ceil(reach / k) + 1)).reshape(*size.shape, -1)
    there = m <= size[..., None]
    m = np.where(there, m, 0.0)
    total, p = size[..., None], share[..., None]
    log_pmf = gammaln(total + 1) - gammaln(m + 1) - gammaln(total - m + 1) + xlogy(m, p) + xlog1py(total - m, -p)
    tail = upper_tail(np.ceil((m + s[..., None]) / 2), m, np.clip(first, 0.0, 1.0)[..., None])
    return np.asarray(np.minimum(1.0, k * np.where(there, np.exp(log_pmf) * tail, 0.0).sum(axis=-1)))


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
    low, high = np.empty(len(first)), np.empty(len(first))
    order = np.argsort(first + second, kind="stable")
    for some in np.array_split(order, max(1, math.ceil(len(order) / BATCH))):  # alike ones together: sums of one width
        b_, c_, n_ = first[some], second[some], size[some]
        low[some] = _lower_ends(b_, c_, n_, level)
        high[some] = -_lower_ends(c_, b_, n_, level)
    told = is_told(_log_p(first, second), level)
    # Far out, at 0.001 and below, the tails of (1) at 0 can be heavier than those of McNemar's coin.
    low = np.where(told & (first > second), np.maximum(low, ABOVE_ZERO), np.where(told, low, np.minimum(low, 0.0)))
    high = np.where(told & (second > first), np.minimum(high, -ABOVE_ZERO), np.where(told, high, np.maximum(high, 0.0)))
    return low.reshape(shape), high.reshape(shape)


def _log_p(b: Floats, c: Floats) -> Floats:
    """McNemar's exact p of each pair, as `sign_test_log_pvalue` has it."""
    pairs, place = np.unique(np.stack([b, c], axis=1), axis=0, return_inverse=True)
    known = np.array([sign_test_log_pvalue(round(up), round(down)) for up, down in pairs.tolist()])
    return np.asarray(known[place.reshape(-1)]) if len(known) else np.zeros(0)


def _lower_ends(b: Floats, c: Floats, n: Floats, level: float) -> Floats:
    """Where the tail (1) is level / 2: by secants of its normal quantile, which is nearly straight in delta."""
    s, z = b - c, float(ndtri(level / 2))
    out = np.full(len(s), -1.0)
    left = np.flatnonzero(s > -n)  # where the second model alone is right everywhere the end is -1
    if not len(left):
        return out
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
