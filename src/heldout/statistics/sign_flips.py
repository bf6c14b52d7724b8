r"""Two models with scores between 0 and 1, or over whole groups of examples: sign flips, and an interval of the mean.

The null is that models can be swapped: on any example (or group, as a whole) the law of the two scores is the same
whichever model is called the first. Then every difference has either sign with probability 1/2, and the law of their
sum is that of

.. math:: S = \sum_u \varepsilon_u |D_u|, \qquad \varepsilon_u = \pm 1.    \tag{1}

The sum of squares is the same under all signs, so the test is that of the studentised mean as well, and it holds for
the wider null of equal mean scores where there are many units. The interval of the mean difference must not rest on
symmetry: flipping the signs of :math:`D_u - \delta n_u` covered 88 % where few examples differ, 84 % with 15 groups.
It holds all :math:`\delta` at which the units, tilted to the mean that :math:`\delta` asks for, reach the sum observed,

.. math:: r^* = w + \frac{1}{w} \ln\frac{u}{w}, \quad w^2 = 2 G\,(t \bar r - K(\lambda_1) + K(\lambda_0)), \quad
          u = t \sqrt{G K''(\lambda_1)}, \quad t = \lambda_1 - \lambda_0,    \tag{2}

below Student's quantile for G - 1 degrees of freedom. K is the cumulant function of the residuals
:math:`r_u = D_u - \delta n_u` with half a unit added at plus and half at minus the largest difference,
:math:`K'(\lambda_0) = 0`, :math:`K'(\lambda_1) = \bar r`. Zero is inside exactly where the p of (1) is above alpha.

References
----------
Fisher (1935). The Design of Experiments, section 21. Janssen (1999). Scand. J. Statist. 26, 333-349 (studentised, wider
null). Lugannani, Rice (1980). Adv. Appl. Probab. 12, 475-490. Robinson (1982). JRSS B 44(1), 91-101 (saddlepoints for
sign flips). DiCiccio, Romano (1990). Int. Statist. Review 58(1), 59-76 (tilting the sample). Agresti, Min (2005).
Statistics in Medicine 24, 729-740 (half an example added).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtri, stdtrit

from heldout.errors import InputError
from heldout.statistics.binomial import sign_test_log_pvalue
from heldout.statistics.mcnemar_power import POWER
from heldout.statistics.paired import ABOVE_ZERO, CLOSE, LEVEL

Floats = NDArray[np.float64]

ENUMERATED = 16  # units whose signs are all tried
STEPS = 2**18  # most points of a lattice on which sums are counted exactly
FINEST = 1e-9  # relative; scores that lie on a lattice up to this are on it
DISTINCT = 64  # sizes of differences on such a lattice
LARGEST_TRIED = 6  # of the units, all signs where sums are approximated: one that dominates is no normal law
MANY = 20_000  # units, none of which can dominate; series do for logarithms of hyperbolic cosines
SMALL_TILT = 0.2  # of the largest unit; the first term left out is then 4e-9 of the first
DOMINANT = 0.1  # share of the variance from which on a unit is one of them


@dataclass(frozen=True)
class SignFlip:
    """Log p-value of a sign-flip test, and how it was computed: "exact" or "saddlepoint"."""

    log_p_value: float
    method: str


def sign_flip_test(differences: ArrayLike) -> SignFlip:
    """Two-sided test that every difference has either sign with probability 1/2 (1).

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


def paired_interval(
    differences: ArrayLike, sizes: ArrayLike | None = None, *, level: float = LEVEL
) -> tuple[float, float]:
    """Interval of the mean difference over examples (2), at 1 - level; 0 is inside exactly where `sign_flip_test` has
    a p above the level.

    Parameters
    ----------
    differences : (G,)
        Of scores, one per example; or summed over each group.
    sizes : (G,), optional
        Examples of each group; 1 without.

    Returns
    -------
    float, float
        (-inf, inf) where there is one unit only.

    Examples
    --------
    >>> low, high = paired_interval(np.linspace(-0.4, 0.6, 101))
    >>> round(low, 3), round(high, 3)  # Student's: 0.0422, 0.1578
    (0.042, 0.158)
    """
    d = np.asarray(differences, dtype=np.float64)
    weight = np.ones(len(d)) if sizes is None else np.asarray(sizes, dtype=np.float64)
    if d.shape != weight.shape or d.ndim != 1 or not len(d) or not np.isfinite(d).all():
        raise InputError(
            f"`differences` has shape {d.shape} and `sizes` {weight.shape}; finite rows of one length are needed."
        )
    if len(d) == 1:
        return -math.inf, math.inf
    if sizes is None:
        values, often = np.unique(d, return_counts=True)
        each, counts = np.ones(len(values)), often.astype(np.float64)
    else:
        (values, each), often = np.unique(np.stack([d, weight]), axis=1, return_counts=True)
        counts = often.astype(np.float64)
    ends = _many_ends if len(values) > MANY else _tilted_ends
    low, high = ends(values, each, counts, level)
    if sign_flip_test(d).log_p_value > math.log(level):
        return min(low, 0.0), max(high, 0.0)
    return (max(low, ABOVE_ZERO), high) if d.sum() > 0 else (low, min(high, -ABOVE_ZERO))


def _many_ends(d: Floats, weight: Floats, counts: Floats, level: float) -> tuple[float, float]:
    """Ends for very many units of different sizes: normal, with the first term of the skewness (Hall 1992)."""
    total, n = float(counts.sum()), float(counts @ weight)
    centre = float(counts @ d) / n
    rest = d - centre * weight
    squares = float(counts @ rest**2)
    spread, skewness = math.sqrt(squares) / n, float(counts @ rest**3) / squares**1.5  # already over sqrt(G)
    z = -float(stdtrit(total - 1, level / 2))
    middle = centre + spread * skewness * (2 * z * z + 1) / 6
    return middle - z * spread, middle + z * spread


def _tilted_ends(d: Floats, weight: Floats, counts: Floats, level: float) -> tuple[float, float]:
    """Where the root of (2) is Student's quantile, on both sides of the estimate; by secants held between two ends."""
    n, total = float(counts @ weight), float(counts.sum())
    centre = float(counts @ d) / n
    added = float(np.abs(d).max()) or float(weight.max())
    spread = math.sqrt(float(counts @ (d - centre * weight) ** 2) + added**2) / n
    quantile = -float(stdtrit(total - 1, level / 2))

    def end(side: float) -> float:
        def at(distance: float) -> float:
            delta = centre + side * distance * spread
            return centred_root(d - delta * weight, counts, added) - quantile

        near, far, f_near = 0.0, quantile, -quantile
        while (f_far := at(far)) < 0:
            near, f_near, far = far, f_far, 1.4 * far
            if far > 1e4:
                return side * math.inf
        for step in range(60):
            middle = near + (far - near) * f_near / (f_near - f_far) if step % 4 < 3 else (near + far) / 2
            f = at(middle)
            if abs(f) < CLOSE or far - near < 1e-9:
                return centre + side * middle * spread
            near, f_near, far, f_far = (middle, f, far, f_far) if f < 0 else (near, f_near, middle, f)
        return centre + side * far * spread

    return end(-1.0), end(1.0)


def centred_root(rest: Floats, counts: Floats, added: float) -> float:
    """The root r* of (2): how far the sum of some numbers is from 0, in standard normal units; never negative.

    Parameters
    ----------
    rest, counts : (v,)
        Distinct numbers, and how many units have each.
    added : float
        Half a unit is added at plus and at minus this.
    """
    scale = max(added, float(np.abs(rest).max()))
    r = np.concatenate([rest, [added, -added]]) / scale
    mass = np.concatenate([counts, [0.5, 0.5]])
    total = float(counts.sum())
    mean = float(counts @ rest) / total / scale
    null, k_null, _ = _solve_tilt(r, mass, 0.0)
    here, k_here, curvature = _solve_tilt(r, mass, mean)
    t = here - null
    w = math.sqrt(max(0.0, 2 * total * (t * mean - (k_here - k_null))))  # (2)
    u = abs(t) * math.sqrt(total * curvature)
    return w + math.log(u / w) / w if w > 1e-6 and u > 0 else w


def _solve_tilt(r: Floats, mass: Floats, mean: float) -> tuple[float, float, float]:
    """lambda at which weights mass times exp(lambda r) give this mean; log of their sum, and their variance."""
    tilt, low, high = 0.0, -math.inf, math.inf
    for _ in range(200):
        exponent = tilt * r
        top = float(exponent.max())
        weights = mass * np.exp(exponent - top)
        norm = float(weights.sum())
        found = float(weights @ r) / norm
        variance = float(weights @ (r - found) ** 2) / norm
        if abs(found - mean) < 1e-12:
            break
        low, high = (low, tilt) if found > mean else (tilt, high)
        new = tilt - (found - mean) / variance if variance > 0 else math.inf
        if not low < new < high:
            inside = math.isfinite(low) and math.isfinite(high)
            new = (low + high) / 2 if inside else 2 * tilt + math.copysign(1.0, mean - found)
        tilt = new
    return tilt, top + math.log(norm), max(variance, 1e-300)


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

    The law is tilted to where the tail begins, so that a Fourier transform keeps its digits there; the tilt is taken
    off term by term.
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
    whole = values * (np.arange(1, 1001)[:, None] / values[0])
    fits = (np.abs(whole - np.round(whole)) < 1e-6).all(axis=1) & (whole[:, -1] < STEPS)
    return np.asarray(np.round(whole[np.argmax(fits)])) if fits.any() else None


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
    variance = float(counts @ sizes**2)
    while len(few) < LARGEST_TRIED and at >= 0 and sizes[at] ** 2 > DOMINANT * variance:
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
