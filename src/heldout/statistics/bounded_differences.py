r"""Two models with scores between 0 and 1, or over whole groups of examples: McNemar's exact test carried over to them.

The null is that the mean difference is 0, whatever its law: differences need not be symmetric. Models that are 0.05
better on nearly every example and a whole point worse on a few are equal on average, and 20 examples may show none of
the few. So one unit more is counted, as bad as a unit can be. With independent standard exponential weights

.. math:: p = 2\, P\Big(\sum_u W_u D_u \le c\, W_0\Big)    \tag{1}

for a positive sum of differences (signs turned round for a negative one), D_u the difference of unit u, an example or
the sum over a group, and c the largest that can be: 1, or the size of the largest group, `largest` where that is known
and else the largest drawn. This is Gaffke's test of a bounded mean. Where differences are -1, 0 and 1, b of the one and
a of the other, (1) is

.. math:: 2\, P(\Gamma_b \le \Gamma_{a + 1}) = 2\, P(\mathrm{Bin}(a + b, 1/2) \ge b),

McNemar's exact p; where all have one sign it is :math:`2 \prod_u (1 + D_u / c)^{-1}`, never below that of as many fair
coins. That it holds at every number of units and for every law is a conjecture that is proved in special cases and has
no known exception; `tests/statistics/test_bounded_differences.py` measures it where sign flips and Student's test fail.
Of groups it holds for laws of which none is larger than c: without `largest`, one that is never drawn because it is
rare may weigh more.

The interval holds all :math:`\delta` at which :math:`D_u - \delta n_u` pass the same test, c being (1 + delta) times as
large below and (1 - delta) times above, so 0 is inside exactly where p is above the level. For many units it is the
usual one, longer by about c / n on each side. Tails of (1) come from a saddlepoint (2), to 2.5 % for a handful of units
and to 0.5 % from twenty on:

.. math:: K(t) = -\sum_u \ln(1 - t r_u), \quad K'(t) = 0, \quad w = \mathrm{sgn}(t) \sqrt{-2 K(t)}, \quad
          v = t \sqrt{K''(t)}, \quad P = \Phi(w) + \phi(w) \Big(\frac1w - \frac1v\Big).    \tag{2}

References
----------
Gaffke (2005). Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable.
Math. Methods Statist. 14(4), 451-467. Learned-Miller, Thomas (2019). A new confidence interval for the mean of a
bounded random variable. arXiv:1905.06208. Lugannani, Rice (1980). Adv. Appl. Probab. 12, 475-490.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtri, ndtri_exp

from heldout.errors import InputError
from heldout.statistics.mcnemar_power import POWER
from heldout.statistics.paired import ABOVE_ZERO, LEVEL, is_told

Floats = NDArray[np.float64]

ROUNDING = 1e-9  # a difference of scores below this is none
CELLS = 400_000  # differences of several pairs that are worked on together
DISTINCT = 4_097  # units, or values of them, that are kept apart; more are counted on a grid
COARSE = 65  # points of a grid on which it is computed what could have been seen
CLOSE = 1e-5  # normal quantiles, to which an end is found
STEPS = 60


def bounded_log_p_values(
    differences: ArrayLike, sizes: ArrayLike | None = None, *, largest: float | None = None
) -> Floats:
    """Log p-values (1), two-sided, that mean differences are 0; one for each row.

    Parameters
    ----------
    differences : (m, G) or (G,)
        Differences of scores, one per example; or summed over each group.
    sizes : (m, G) or (G,), optional
        Examples of each group, 0 where a row has none of it; 1 without.
    largest : float, optional
        Examples that a group can hold at most, drawn or not; the largest in `sizes` without.

    Examples
    --------
    >>> d = np.repeat([1.0, -1.0, 0.0], [9, 2, 100])
    >>> round(float(np.exp(bounded_log_p_values(d))), 4)  # McNemar's: 0.0654
    0.0657
    >>> round(float(np.exp(bounded_log_p_values(np.full(20, 0.1)))), 4)  # 2 / 1.1^20
    0.2973
    """
    d, weight, most = _rows(differences, sizes, largest)
    out = np.zeros(len(d))
    for some in _batches(d):
        units = _Units.of(d[some], weight[some], most)
        out[some] = units.log_p()
    return out if np.ndim(differences) > 1 else np.asarray(out[0])


def bounded_intervals(
    differences: ArrayLike, sizes: ArrayLike | None = None, *, largest: float | None = None, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """Intervals of mean differences over examples, each at 1 - level, within [-1, 1]; one for each row.

    Zero is inside exactly where `bounded_log_p_values` is above the level.

    Examples
    --------
    >>> low, high = bounded_intervals(np.linspace(-0.4, 0.6, 101))
    >>> round(float(low), 3), round(float(high), 3)  # Student's: 0.042, 0.158
    (0.029, 0.168)
    """
    d, weight, most = _rows(differences, sizes, largest)
    low, high = np.zeros(len(d)), np.zeros(len(d))
    for some in _batches(d):
        units = _Units.of(d[some], weight[some], most)
        log_p, up = units.log_p(), units.total > 0
        ends = units.low_ends(level), -units.turned().low_ends(level)
        told = is_told(log_p, level)
        low[some] = np.where(
            told & up, np.maximum(ends[0], ABOVE_ZERO), np.where(told, ends[0], np.minimum(ends[0], 0))
        )
        high[some] = np.where(
            told & ~up, np.minimum(ends[1], -ABOVE_ZERO), np.where(told, ends[1], np.maximum(ends[1], 0))
        )
    return (low, high) if np.ndim(differences) > 1 else (np.asarray(low[0]), np.asarray(high[0]))


def bounded_detectable(
    differences: ArrayLike, sizes: ArrayLike | None = None, *, largest: float | None = None, level: float = LEVEL
) -> Floats:
    r"""The mean difference that the test finds with power 0.8, at the law of these differences; one for each row.

    The law is tilted to other means, with weights exp(lambda D_u), so that what is rare gets rarer or more common, and
    half a unit is added at the typical size of a difference (at that of the largest drawn where there is none) on
    either side. A sample whose mean is 0.84 standard errors below that of the law shall just be told. NaN where so few
    units never reach the level, whatever they say.

    Examples
    --------
    >>> round(float(bounded_detectable(np.zeros(1000))), 4)  # McNemar's: 0.0079
    0.0078
    >>> float(bounded_detectable([0.5, 0.4, 0.6]))
    nan
    """
    d, weight, most = _rows(differences, sizes, largest)
    out = np.full(len(d), math.nan)
    for some in _batches(d):
        units = _Units.of(d[some], weight[some], most)
        out[some] = np.where(units.can_reach(level), units.detectable(level), math.nan)
    return out if np.ndim(differences) > 1 else np.asarray(out[0])


def _rows(differences: ArrayLike, sizes: ArrayLike | None, largest: float | None) -> tuple[Floats, Floats, float]:
    d = np.asarray(differences, dtype=np.float64)
    weight = np.ones(d.shape[-1:]) if sizes is None else np.asarray(sizes, dtype=np.float64)
    if not 1 <= d.ndim <= 2 or weight.shape not in (d.shape, d.shape[-1:]) or not d.size:
        raise InputError(
            f"`differences` has shape {d.shape} and `sizes` {weight.shape}; rows of one length are needed."
        )
    if not np.isfinite(d).all():
        raise InputError("`differences` must be finite numbers.")
    weight = np.broadcast_to(weight, d.shape)
    if (np.abs(d) > weight + 1e-6).any():
        raise InputError("`differences` must lie between minus and plus the size of their group, or -1 and 1.")
    if largest is not None and not weight.max() <= largest < math.inf:
        raise InputError(f"`largest` is {largest:g}; a group of {weight.max():g} is among those given.")
    return np.atleast_2d(d), np.atleast_2d(weight), largest or 0.0


def _batches(d: Floats) -> list[slice]:
    step = max(1, CELLS // d.shape[1]) if d.shape[1] <= DISTINCT else 1
    return [slice(start, start + step) for start in range(0, len(d), step)]


class _Units:
    """Rows of units: values (m, v), sizes and counts that fit them, the largest size (m,), drawn and possible (c)."""

    def __init__(self, values: Floats, sizes: Floats, counts: Floats, drawn: Floats, largest: Floats) -> None:
        self.values, self.sizes, self.counts, self.drawn, self.largest = values, sizes, counts, drawn, largest
        self.n = np.maximum((counts * sizes).sum(axis=1), 1e-300)
        self.total = (counts * values).sum(axis=1)
        self.total = np.where(np.abs(self.total) > ROUNDING * drawn, self.total, 0.0)

    @classmethod
    def of(cls, d: Floats, weight: Floats, most: float) -> _Units:
        """Differences and sizes as they are, or of one row by value where there are very many."""
        if len(d) == 1 and d.shape[1] > DISTINCT:
            there = weight[0] > 0
            d, weight = (d[:, there], weight[:, there]) if there.any() and not there.all() else (d, weight)
        drawn = weight.max(axis=1)
        drawn = np.where(drawn > 0, drawn, 1.0)  # a row without any example says nothing
        largest = np.maximum(drawn, most)
        if d.shape[1] <= DISTINCT or (weight[0] != 1).any():
            return cls(np.where(np.abs(d) > ROUNDING, d, 0.0), weight, np.ones((1, 1)), drawn, largest)
        values, counts = _by_value(np.clip(d[0], -1.0, 1.0))
        return cls(values[None], np.ones((1, 1)), counts[None], drawn, largest)

    def turned(self) -> _Units:
        """The two models swapped."""
        return _Units(-self.values, self.sizes, self.counts, self.drawn, self.largest)

    def log_p(self) -> Floats:
        """Two-sided (1)."""
        side = np.where(self.total < 0, -1.0, 1.0)[:, None]
        return np.asarray(np.minimum(0.0, math.log(2) + _log_tail(side * self.values, self.counts, self.largest)[0]))

    def can_reach(self, level: float) -> NDArray[np.bool_]:
        """Whether p is ever so small: where every unit is at its best."""
        best = math.log(2) - (self.counts * np.log1p(self.sizes / self.largest[:, None])).sum(axis=1)
        return is_told(np.broadcast_to(best, self.n.shape), level)

    def low_ends(self, level: float) -> Floats:
        """Where the one-sided p is level / 2: secants of its normal quantile, held between two ends."""
        m = len(self.largest)
        z, out = float(ndtri(level / 2)), np.full(m, -1.0)
        mean = self.total / self.n
        left = np.flatnonzero(mean > -1 + 1e-12)
        spread = np.sqrt((self.counts * (self.values - mean[:, None] * self.sizes) ** 2).sum(axis=1))
        added = (self.largest / self.n)[left]
        spread = spread[left] / self.n[left] + 0.1 * added
        low, high = np.full(len(left), -1.0), mean[left]
        before, f_before = high.copy(), np.full(len(left), np.nan)
        at = np.maximum(high + z * spread - (1 + high) * added, (high - 1) / 2)
        tilt: Floats | None = None
        for step in range(STEPS):
            rows = left if len(self.values) > 1 else slice(None)
            sizes = self.sizes if len(self.sizes) == 1 else self.sizes[rows]
            counts = self.counts if len(self.counts) == 1 else self.counts[rows]
            rest = self.values[rows] - at[:, None] * sizes
            log_tail, tilt = _log_tail(rest, counts, (1 + at) * self.largest[left], start=tilt)
            f = np.clip(ndtri_exp(log_tail), -40.0, 40.0) - z  # rises with delta
            low, high = np.where(f < 0, at, low), np.where(f < 0, high, at)
            out[left] = at
            going = (np.abs(f) > CLOSE) & (high - low > 1e-12)
            if not going.any():
                break
            with np.errstate(invalid="ignore", divide="ignore"):
                slope = np.where(np.isnan(f_before), 1 / spread, (f - f_before) / (at - before))
                new = at - f / slope
            new = np.where((new > low) & (new < high) & (step % 6 < 4), new, (low + high) / 2)
            keep = np.flatnonzero(going)
            before, f_before, at = at[keep], f[keep], new[keep]
            left, low, high, spread, tilt = left[keep], low[keep], high[keep], spread[keep], tilt[keep]
        return out

    def detectable(self, level: float) -> Floats:
        """See `bounded_detectable`; on a coarse grid."""
        there = np.broadcast_to(self.counts * (self.sizes > 0), self.values.shape)
        absolute = (self.counts * np.abs(self.values)).sum(axis=1)
        squares = (self.counts * self.values**2).sum(axis=1)
        typical = np.where(absolute > 0, squares / np.where(absolute > 0, absolute, 1.0), self.drawn)
        added = np.stack([typical, -typical], axis=1)
        mass = _on_grid(self.values / self.drawn[:, None], there, COARSE)
        mass += _on_grid(added / self.drawn[:, None], np.full((1, 1), 0.5), COARSE)
        units = there.sum(axis=1, keepdims=True)
        x = np.linspace(-1.0, 1.0, COARSE) * self.drawn[:, None]
        scale = np.sqrt((mass * x**2).sum(axis=1) / mass.sum(axis=1))
        log_mass = np.log(np.maximum(mass, 1e-300))

        def law(tilt: Floats) -> Floats:
            exponent = log_mass + tilt[:, None] * x
            weights = np.exp(exponent - exponent.max(axis=1, keepdims=True))
            return np.asarray(units * weights / weights.sum(axis=1, keepdims=True))

        def excess(tilt: Floats) -> Floats:  # of the statistic's normal quantile over what is needed
            log_tail = _log_tail(x, law(tilt), self.largest)[0]
            return np.asarray(ndtri(level / 2) - np.clip(ndtri_exp(log_tail), -1e3, 1e3))

        per_tilt = scale * np.sqrt(units[:, 0])  # standard errors
        root = np.sqrt(mass @ np.ones(COARSE))

        def centre(tilt: Floats) -> Floats:
            return np.asarray((law(tilt) * x).sum(axis=1) / (scale * root))

        start = -centre(np.zeros_like(scale)) * root / scale / units[:, 0]
        wide = np.abs(start) + 3 / per_tilt
        equal = _rising_root(centre, start - wide, start + wide)
        just = _rising_root(excess, equal, equal - 1.3 * ndtri(level / 2) / per_tilt)
        reached = (law(just) * x).sum(axis=1)

        def short(tilt: Floats) -> Floats:
            weights = law(tilt)
            sums = (weights * x).sum(axis=1)
            variance = (weights * x**2).sum(axis=1) - sums**2 / units[:, 0]
            return np.asarray((sums - ndtri(POWER) * np.sqrt(np.maximum(variance, 0.0)) - reached) / self.largest)

        found = (law(_rising_root(short, just, just + 1.2 * ndtri(POWER) / per_tilt)) * x).sum(axis=1) / self.n
        return np.asarray(np.minimum(1.0, found))


def _rising_root(f: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Where functions of one number each, rising, are 0, from two ends that are moved up where both are below."""
    f_low, f_high = f(low), f(high)
    for _ in range(STEPS):
        short = f_high < 0
        if not short.any():
            break
        width = high - low
        low, f_low = np.where(short, high, low), np.where(short, f_high, f_low)
        high = np.where(short, high + 2 * width, high)
        f_high = np.where(short, f(high), f_high)
    found, side = high.copy(), np.zeros_like(high)
    going = np.ones(len(high), dtype=bool)
    for _ in range(STEPS):
        with np.errstate(invalid="ignore", divide="ignore"):
            middle = high - f_high * (high - low) / (f_high - f_low)
        middle = np.where((middle > low) & (middle < high), middle, (low + high) / 2)
        value = f(middle)
        found = np.where(going, middle, found)
        going &= (np.abs(value) > 1e-3) & (high - low > 1e-9 * np.abs(high))
        if not going.any():
            break
        now = np.where(value < 0, -1.0, 1.0)
        twice, side = np.where(now == side, 0.5, 1.0), now  # an end that stays again counts half (Illinois)
        low, f_low = np.where(now < 0, middle, low), np.where(now < 0, value, twice * f_low)
        high, f_high = np.where(now < 0, high, middle), np.where(now < 0, twice * f_high, value)
    return found


def _by_value(x: Floats) -> tuple[Floats, Floats]:
    """Distinct values and how often they are there; where there are too many, shared out to a grid that keeps the sum.

    The logarithms of (2) are convex in the values, so the grid makes tails heavier, by a ten-millionth of a variance.
    """
    values, counts = np.unique(x[:DISTINCT], return_counts=True)
    if 2 * len(values) < DISTINCT:
        values, counts = np.unique(x, return_counts=True)
        if len(values) <= DISTINCT:
            return values, counts.astype(np.float64)
    return np.linspace(-1.0, 1.0, DISTINCT), _on_grid(x[None], np.ones((1, 1)), DISTINCT)[0]


def _on_grid(x: Floats, counts: Floats, size: int) -> Floats:
    """(m, size) counts on a grid from -1 to 1; each number is shared out to the two points around it."""
    place = (np.clip(x, -1.0, 1.0) + 1.0) * ((size - 1) / 2)
    left = np.minimum(place.astype(np.int64), size - 2)
    right = place - left
    at = (left + size * np.arange(len(x))[:, None]).ravel()
    length = size * len(x)
    on_grid = np.bincount(at, (counts * (1.0 - right)).ravel(), minlength=length)
    on_grid += np.bincount(at + 1, (counts * right).ravel(), minlength=length)
    return np.asarray(on_grid.reshape(len(x), size))


def _log_tail(x: Floats, counts: Floats, bound: Floats, *, start: Floats | None = None) -> tuple[Floats, Floats]:
    """log P(sum of Gamma(counts) x <= bound times an exponential) of each row (2), and the tilt t at which it is."""
    scale = np.maximum(np.maximum(x.max(axis=1), -x.min(axis=1)), bound)
    scale = np.where(scale > 0, scale, 1.0)
    r, c = x / scale[:, None], bound / scale
    top, bottom = np.maximum(r.max(axis=1), 0.0), np.maximum(c, -r.min(axis=1))
    with np.errstate(divide="ignore"):
        low, high = -1 / bottom, 1 / top
    weighted = counts * r
    slope, curvature = weighted.sum(axis=1) - c, (weighted * r).sum(axis=1) + c * c
    tilt = -slope / np.maximum(curvature, 1e-300) if start is None else start * scale
    tilt = np.clip(tilt, 0.9 * low, np.minimum(0.9 * high, 1e12))
    for _ in range(STEPS):
        q = r / np.maximum(1.0 - tilt[:, None] * r, 1e-14)
        own = -c / (1.0 + tilt * c)
        weighted = counts * q
        slope = weighted.sum(axis=1) + own
        weighted *= q
        curvature = weighted.sum(axis=1) + own * own
        low, high = np.where(slope < 0, tilt, low), np.where(slope < 0, high, tilt)
        step = slope / np.maximum(curvature, 1e-300)
        with np.errstate(invalid="ignore"):
            new = tilt - step
            inside = (new > low) & (new < high)
            new = np.where(inside, new, np.where(np.isfinite(high), (low + high) / 2, 2 * tilt + 1))
        done = np.abs(step) * np.sqrt(curvature) < 1e-6
        tilt = np.where(done & ~inside, tilt, new)
        if done.all():
            break
    # at the tilt found; a step of a millionth of a standard deviation would change a tail by as little
    log_moment = -(counts * np.log(np.maximum(1.0 - tilt[:, None] * r, 1e-14))).sum(axis=1) - np.log1p(tilt * c)
    third = 2 * ((weighted * q).sum(axis=1) + own**3)
    w = np.sign(tilt) * np.sqrt(np.maximum(0.0, -2 * log_moment))
    v = tilt * np.sqrt(curvature)
    centre = np.abs(w) < 1e-3
    with np.errstate(divide="ignore", invalid="ignore"):
        lead = log_ndtr(w)
        share = (1 / w - 1 / v) * np.exp(-0.5 * w * w - 0.5 * math.log(2 * math.pi) - lead)
        log_tail = lead + np.log1p(np.maximum(share, -1 + 1e-12))
    near = np.log(np.clip(0.5 + third / np.maximum(curvature, 1e-300) ** 1.5 / (6 * math.sqrt(2 * math.pi)), 1e-9, 1.0))
    log_tail = np.where(centre, near, log_tail)
    alone = (r >= 0).all(axis=1) & (c > 0)  # then it is a product
    with np.errstate(divide="ignore"):
        product = -(counts * np.log1p(np.maximum(r, 0.0) / np.where(c > 0, c, 1.0)[:, None])).sum(axis=1)
    return np.minimum(0.0, np.where(alone, product, log_tail)), tilt / scale
