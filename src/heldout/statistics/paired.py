r"""Two models on the same examples: exact tests of "equally good", intervals that agree with them, and power.

**Right or wrong.** b examples only the first model gets right, c only the second; d = (b - c) / n. If both models are
right equally often, b of the b + c discordant examples are a fair coin's heads: McNemar's exact test. The interval of the
difference is of test inversion: the lower end is where

.. math:: P_{\delta}(S \ge b - c) = \alpha / 2, \qquad S = B - C, \quad (B, C, n - B - C) \sim
          Multinomial(n; \tilde p_{10}, \tilde p_{01}, \cdot),    \tag{1}

exact tails at the most likely shares with :math:`p_{10} - p_{01} = \delta` (Tango's restricted estimate),

.. math:: \tilde p_{01} = \frac{\sqrt{B^2 - 4 A C} - B}{2 A}, \quad A = 2n, \quad B = -b - c + (2n - b + c)\delta,
          \quad C = -c\,\delta (1 - \delta),    \tag{2}

and 0 is inside exactly where McNemar's p is above alpha.

**Scores between 0 and 1, or whole groups.** The null is that models can be swapped: on any example (or group, as a
whole) the law of the two scores is the same whichever model is called the first. Then every difference has either sign
with probability 1/2, and the law of their sum is that of

.. math:: S = \sum_u \varepsilon_u |D_u|, \qquad \varepsilon_u = \pm 1.    \tag{3}

The sum of squares is the same under all signs, so the test is that of the studentised mean as well, and it holds for
the wider null of equal mean scores where there are many units. The interval is all :math:`\delta` that the same test of
:math:`D_u - \delta n_u` does not reject.

References
----------
McNemar (1947). Psychometrika 12(2), 153-157. Tango (1998). Statistics in Medicine 17, 891-908. Fisher (1935). The Design
of Experiments, section 21. Janssen (1999). Scand. J. Statist. 26, 333-349 (studentised, wider null). Lugannani, Rice
(1980). Adv. Appl. Probab. 12, 475-490. Robinson (1982). JRSS B 44(1), 91-101 (saddlepoints for sign flips).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, log_ndtr, ndtri, ndtri_exp, stdtrit, xlog1py, xlogy

from heldout.errors import InputError
from heldout.statistics.binomial import sign_test_log_pvalue, upper_tail
from heldout.statistics.search import first_where

Floats = NDArray[np.float64]

LEVEL, POWER = 0.05, 0.8
ENUMERATED = 16  # units whose signs are all tried
STEPS = 2**18  # most points of a lattice on which sums are counted exactly
FINEST = 1e-9  # relative; scores that lie on a lattice up to this are on it
DISTINCT = 64  # sizes of differences on such a lattice
LARGEST_TRIED = 6  # of the units, all signs where sums are approximated: one that dominates is no normal law
ABOVE_ZERO = 1e-9  # an end next to 0 that 0 is not inside of
CLOSE = 1e-7  # normal quantiles, to which an end is found
MANY = 20_000  # units, none of which can dominate; series do for logarithms of hyperbolic cosines
SMALL_TILT = 0.2  # of the largest unit; the first term left out is then 4e-9 of the first
REACH = 8.5  # standard deviations of the number of discordant examples; beyond is 1e-17
POWER_REACH = 5.0  # the same for power, beyond is 6e-7


# --- right or wrong -----------------------------------------------------------------------------------------------


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


# --- scores between 0 and 1, and whole groups ------------------------------------------------------------------------


@dataclass(frozen=True)
class SignFlip:
    """Log p-value of a sign-flip test, and how it was computed: "exact" or "saddlepoint"."""

    log_p_value: float
    method: str


def sign_flip_test(differences: ArrayLike) -> SignFlip:
    """Two-sided test that every difference has either sign with probability 1/2 (3).

    Exact where all signs can be tried (16 differences that are not 0), where all are of one size (the sign test), or
    where they are whole multiples of one number, as sums of 0 and 1 and means of trials are. Otherwise by a saddlepoint
    of the same law, with all signs of the six largest tried.

    Examples
    --------
    >>> round(math.exp(sign_flip_test([1, 1, 1, 1, 1, 1, -1, 0]).log_p_value), 6)  # McNemar's: 2 (7 + 1) / 2^7
    0.125
    >>> round(math.exp(sign_flip_test([0.5, 0.25, 0.1, 0.7]).log_p_value), 6)
    0.125
    """
    d = np.asarray(differences, dtype=np.float64)
    if d.ndim != 1 or not np.isfinite(d).all():
        raise InputError(f"`differences` has shape {d.shape}; it must be a row of finite numbers.")
    total = abs(float(d.sum()))
    sizes = np.abs(d[d != 0])
    if not len(sizes):
        return SignFlip(0.0, "exact")
    if np.ptp(sizes) <= FINEST * sizes[0]:
        ups = int((d > 0).sum())
        return SignFlip(sign_test_log_pvalue(ups, len(sizes) - ups), "exact")
    if (log_p := _lattice_log_tail(sizes, total)) is not None:
        return SignFlip(min(0.0, math.log(2) + log_p), "exact")
    if len(sizes) <= ENUMERATED:
        return SignFlip(min(0.0, math.log(2 * _enumerated_tail(sizes, total))), "exact")
    distinct, counts = (sizes, np.ones(len(sizes))) if len(sizes) > MANY else np.unique(sizes, return_counts=True)
    log_tail = _saddlepoint_log_tail(distinct, counts.astype(np.float64), total)
    return SignFlip(min(0.0, math.log(2) + log_tail), "saddlepoint")


def sign_flip_interval(
    differences: ArrayLike, sizes: ArrayLike | None = None, *, level: float = LEVEL
) -> tuple[float, float]:
    """All delta for which flipping signs of differences less delta times size is not rejected: 1 - level.

    Zero is inside exactly where `sign_flip_test` has a p above the level. -inf and inf where so few units cannot
    exclude anything.

    Parameters
    ----------
    differences : (G,)
        Of scores, one per example; or summed over each group.
    sizes : (G,), optional
        Examples of each group; 1 without.

    Examples
    --------
    >>> low, high = sign_flip_interval(np.linspace(-0.4, 0.6, 101))
    >>> round(low, 3), round(high, 3)  # Student's: 0.0422, 0.1578
    (0.042, 0.158)
    """
    d = np.asarray(differences, dtype=np.float64)
    weight = np.ones(len(d)) if sizes is None else np.asarray(sizes, dtype=np.float64)
    if (1 - len(d)) * math.log(2) > math.log(level):  # all signs alike is not rare enough
        return -math.inf, math.inf
    units = np.unique(np.stack([d, weight]), axis=1, return_counts=True) if len(d) <= MANY else (np.stack([d, weight]), 1)
    counts = np.broadcast_to(np.asarray(units[1], dtype=np.float64), units[0].shape[1:])
    low, high = (_flip_end(*units[0], counts, level, side) for side in (-1.0, 1.0))
    if sign_flip_test(d).log_p_value > math.log(level):
        low, high = min(low, 0.0), max(high, 0.0)
    return low, high


def _flip_end(d: Floats, weight: Floats, counts: Floats, level: float, side: float) -> float:
    """One end of the interval: where the p-value of D - delta n is the level, on one side of the estimate.

    Normal quantiles of p are nearly straight in delta, so secants find it; p has steps where all signs are tried, so
    each is held between two ends.
    """
    n = float(counts @ weight)
    centre = float(counts @ d) / n
    spread = math.sqrt(float(counts @ (d - centre * weight) ** 2)) / n
    if spread == 0.0:
        return centre
    target = float(ndtri(level / 2))

    def excess(distance: float) -> float:
        """Quantile of p at this distance, in spreads, above the level's; falls with distance."""
        log_p = _moved_log_p(d - (centre + side * distance * spread) * weight, counts)
        return float(ndtri_exp(log_p - math.log(2))) - target

    near, far = 0.0, -target + 0.1
    while (f_far := excess(far)) > 0:
        near, far = far, 1.3 * far
        if far > 1e6:
            return side * math.inf
    f_near = excess(near) if near else -target
    for step in range(60):
        at = near + (far - near) * f_near / (f_near - f_far) if step % 4 < 3 else (near + far) / 2
        f = excess(at)
        if abs(f) < CLOSE:
            return centre + side * at * spread
        near, f_near, far, f_far = (at, f, far, f_far) if f > 0 else (near, f_near, at, f)
        if far - near < 1e-7:
            break
    return centre + side * far * spread


def _moved_log_p(d: Floats, counts: Floats) -> float:
    """Log p of the sign-flip test where the differences have been moved, so that they lie on no lattice."""
    sizes, total = np.abs(d), abs(float(counts @ d))
    if counts.sum() <= ENUMERATED:
        return min(0.0, math.log(2 * _enumerated_tail(np.repeat(sizes, counts.astype(np.int64)), total)))
    return min(0.0, math.log(2) + _saddlepoint_log_tail(sizes, counts, total))


def _enumerated_tail(sizes: Floats, total: float) -> float:
    """P(S >= total), all signs tried."""
    sums = _all_sums(sizes)
    return float((sums >= total - FINEST * sizes.sum()).mean())


def _all_sums(sizes: Floats) -> Floats:
    """Sums of the sizes with every choice of signs."""
    sums = np.zeros(1)
    for size in sizes.tolist():
        sums = np.concatenate([sums - size, sums + size])
    return sums


def _lattice_log_tail(sizes: Floats, total: float) -> float | None:
    """log P(S >= total) where sizes are whole multiples of one number, counted exactly; None where they are not.

    The law is tilted to where the tail begins, so that a Fourier transform keeps its digits there; the tilt is taken off
    term by term.
    """
    if len(sizes) > STEPS or len(np.unique(np.round(sizes[:1000] / sizes.max(), 12))) > DISTINCT:
        return None
    distinct, inverse = np.unique(np.round(sizes / sizes.max(), 12), return_inverse=True)
    if len(distinct) > DISTINCT:
        return None
    values = np.array([sizes[inverse == i].mean() for i in range(len(distinct))])
    whole = _whole_multiples(values)
    if whole is None:
        return None
    step = values[0] / whole[0]
    counts = np.bincount(inverse).astype(np.float64)
    span = int(counts @ whole)
    if 2 * span + 1 > STEPS:
        return None
    # S = span - 2 (sum of those with a minus): sums over minuses run from 0 to span, and only their parity class.
    least = math.floor((span - total / step) / 2 + 1e-6)  # P(sum of minuses <= least)
    if least >= span:
        return 0.0
    tilt = _tilt(values / step, counts, total / step)  # towards S = total
    minus = 1 / (1 + np.exp(2 * tilt * whole))  # tilted probability of a minus
    length = 1 << (span + 1).bit_length()
    frequency = np.exp(-2j * np.pi * np.arange(length // 2 + 1) / length)
    transform = np.ones(length // 2 + 1, dtype=np.complex128)
    for size, count, q in zip(whole.astype(np.int64).tolist(), counts.astype(np.int64).tolist(), minus, strict=True):
        transform *= ((1 - q) + q * frequency**size) ** count
    law = np.maximum(np.fft.irfft(transform, length)[: least + 1], 0.0)
    j = np.arange(least + 1)
    sums = span - 2 * j
    log_moment = float(counts @ _log_cosh(tilt * whole))
    terms = np.log(np.maximum(law, 1e-300)) - tilt * sums + log_moment
    return min(0.0, float(_log_sum(terms)))


def _whole_multiples(values: Floats) -> Floats | None:
    """Whole numbers in the proportions of some sizes, in rising order; None where they are in no such proportion."""
    for smallest in range(1, 1001):
        whole = values * (smallest / values[0])
        if np.all(np.abs(whole - np.round(whole)) < 1e-6) and whole[-1] < STEPS:
            return np.asarray(np.round(whole))
    return None


def _log_cosh(x: Floats) -> Floats:
    size = np.abs(x)
    return np.asarray(size + np.log1p(np.exp(-2 * size)) - math.log(2))


def _log_sum(x: Floats) -> float:
    top = float(x.max())
    return top + math.log(float(np.exp(x - top).sum()))


def _tilt(sizes: Floats, counts: Floats, total: float) -> float:
    """theta with sum of sizes times tanh(theta sizes) = total; cut where only all signs alike is left."""
    total = min(total, (1 - 1e-9) * float(counts @ sizes))
    if total <= 0:
        return 0.0
    theta = total / float(counts @ sizes**2)
    low, high = 0.0, math.inf
    for _ in range(200):
        rise = np.tanh(theta * sizes)
        excess = float(counts @ (sizes * rise)) - total
        low, high = (low, theta) if excess > 0 else (theta, high)
        if abs(excess) <= 1e-10 * total:
            break
        slope = float(counts @ (sizes**2 * (1 - rise**2)))
        step = theta - excess / slope if slope > 0 else math.inf
        theta = step if low < step < high else (2 * low if math.isinf(high) else (low + high) / 2)
    return theta


def _saddlepoint_log_tail(sizes: Floats, counts: Floats, total: float) -> float:
    """log P(S >= total) by Lugannani and Rice's formula, with all signs of the few largest units tried."""
    if len(sizes) > MANY:
        return _lugannani_rice(sizes, counts, total)
    order = np.argsort(sizes)
    sizes, counts = sizes[order], counts[order].copy()
    few: list[float] = []
    at = len(sizes) - 1
    while len(few) < LARGEST_TRIED and at >= 0:
        taken = min(int(counts[at]), LARGEST_TRIED - len(few))
        few += [float(sizes[at])] * taken
        counts[at] -= taken
        at -= counts[at] == 0
    sums, often = np.unique(np.round(_all_sums(np.array(few)), 12), return_counts=True)
    kept = counts > 0
    logs = [_lugannani_rice(sizes[kept], counts[kept], total - shift) for shift in sums.tolist()]
    return min(0.0, _log_sum(np.array(logs) + np.log(often / often.sum())))


def _lugannani_rice(sizes: Floats, counts: Floats, total: float) -> float:
    """log P(sum >= total) for signs of independent fair coins."""
    most, variance = float(counts @ sizes), float(counts @ sizes**2)
    if total >= most:
        return -float(counts.sum()) * math.log(2) if total <= most * (1 + 1e-12) else -1e300
    if total <= -most:
        return 0.0
    if total < 0:
        return math.log1p(-math.exp(min(-1e-300, _lugannani_rice(sizes, counts, -total))))
    if total < 1e-4 * math.sqrt(variance):  # the formula is 0 / 0 at the centre, where the law is symmetric
        return math.log(0.5 - total / math.sqrt(2 * math.pi * variance))
    if len(sizes) > MANY and total / variance * float(sizes.max()) < SMALL_TILT:
        theta, cumulant, curvature = _small_tilt(sizes, counts, total)
    else:
        theta = _tilt(sizes, counts, total)
        cumulant = float(counts @ _log_cosh(theta * sizes))
        curvature = float(counts @ (sizes**2 * (1 - np.tanh(theta * sizes) ** 2)))
    exponent = theta * total - cumulant  # w^2 / 2
    w, u = math.sqrt(max(1e-300, 2 * exponent)), theta * math.sqrt(max(curvature, 1e-300))
    log_sf = float(log_ndtr(-w))
    correction = (1 / u - 1 / w) * math.exp(-exponent - 0.5 * math.log(2 * math.pi) - log_sf)
    return min(0.0, log_sf + math.log(max(1e-300, 1 + correction)))


def _small_tilt(sizes: Floats, counts: Floats, total: float) -> tuple[float, float, float]:
    """theta, sum of log cosh(theta sizes) and its second derivative, from the first terms of their series."""
    squares = sizes**2
    powers = [float(counts @ squares)]
    rising = squares
    for _ in range(3):
        rising = rising * squares
        powers.append(float(counts @ rising))
    s2, s4, s6, s8 = powers  # log cosh x = x^2/2 - x^4/12 + x^6/45 - 17 x^8/2520 + ...
    theta = total / s2
    for _ in range(50):
        slope = theta * s2 - theta**3 * s4 / 3 + 2 * theta**5 * s6 / 15 - 17 * theta**7 * s8 / 315
        curvature = s2 - theta**2 * s4 + 2 * theta**4 * s6 / 3 - 17 * theta**6 * s8 / 45
        theta -= (slope - total) / curvature
        if abs(slope - total) < 1e-13 * total:
            break
    cumulant = theta**2 * s2 / 2 - theta**4 * s4 / 12 + theta**6 * s6 / 45 - 17 * theta**8 * s8 / 2520
    return theta, cumulant, curvature


def detectable_mean(differences: ArrayLike, sizes: ArrayLike | None = None, *, level: float = LEVEL) -> float:
    """The mean difference that the sign-flip test finds with power 0.8, by Student's law with the observed spread.

    NaN where so few units cannot reach the level, or do not vary.
    """
    d = np.asarray(differences, dtype=np.float64)
    weight = np.ones(len(d)) if sizes is None else np.asarray(sizes, dtype=np.float64)
    count = len(d)
    if (1 - count) * math.log(2) > math.log(level):
        return math.nan
    rest = d - d.sum() / weight.sum() * weight
    spread = math.sqrt(float(rest @ rest) * count / (count - 1)) / float(weight.sum())
    return float(stdtrit(count - 1, 1 - level / 2) + ndtri(POWER)) * spread if spread > 0 else math.nan
