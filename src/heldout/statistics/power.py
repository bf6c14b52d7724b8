"""What could have been detected: the number that keeps "no evidence" from being read as "clean"."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import logsumexp, softmax
from scipy.stats import norm

from heldout.errors import InputError
from heldout.statistics.bernstein import bernstein_log_pvalue
from heldout.statistics.betting import star_rejects
from heldout.statistics.checks import Alternative, Floats, check_alternative, check_sample, check_tolerance
from heldout.statistics.mean_zero import Method
from heldout.statistics.mixture import BET_SHARES

LEVEL = 0.05
POWER = 0.8
N_SIMULATIONS = 400  # standard error of the simulated power: 0.02
N_BISECTIONS = 10


def detectable_effect(
    values: ArrayLike,
    *,
    lower: float,
    upper: float,
    rng: np.random.Generator,
    method: Method = "betting",
    alternative: Alternative = "two-sided",
    tolerance: float = 0.0,
) -> float:
    """Smallest positive mean that this test would find at level 0.05 with power 0.8.

    A plug-in: the observed values are tilted exponentially (weights proportional to
    exp(theta * T)) to a mean mu, samples of the same size are drawn and tested, and mu is bisected
    to power 0.8. NaN where no value is positive or all are, since then no tilt reaches from mean
    zero upwards, and where not even the largest tilt is found. A `tolerance` goes with betting only.

    Examples
    --------
    >>> T = np.zeros(10_000)
    >>> T[:200], T[200:400] = -0.5, 0.5
    >>> effect = detectable_effect(T, lower=-24 / 25, upper=0.5, rng=np.random.default_rng(0))
    >>> 0.0025 < effect < 0.0035
    True
    """
    check_alternative(alternative)
    if method == "bernstein_uncapped":
        raise InputError("`bernstein_uncapped` is no test, so it has no power; use `bernstein`.")
    x = check_sample(values, lower=lower, upper=upper)
    check_tolerance(tolerance, lower=lower, upper=upper)
    if tolerance and method != "betting":
        raise InputError(f"the detectable effect with a tolerance is known for betting only, not for {method}.")
    distinct, counts = np.unique(x, return_counts=True)
    if distinct[-1] <= 0.0 or distinct[0] > 0.0:
        return math.nan
    seed = int(rng.integers(2**63))  # the same random numbers at every mu: power is nearly monotone

    def power(mu: float) -> float:
        weights = tilt(distinct, counts / len(x), mu)
        same = np.random.default_rng(seed)
        known = {"lower": lower, "upper": upper}
        if method == "betting":
            return _betting_power(
                distinct, weights, len(x), same, **known, alternative=alternative, tolerance=tolerance
            )
        return _count_power(distinct, weights, len(x), same, **known, alternative=alternative, method=method)

    low, high = 0.0, 0.99 * float(distinct[-1])
    guess = min(high, tolerance + 3.0 * float(np.sqrt(np.mean(x**2) / len(x))) + 3.0 / len(x))
    while guess < high and power(guess) < POWER:
        low, guess = guess, 2.0 * guess
    high = min(high, guess)
    if power(high) < POWER:
        return math.nan
    for _ in range(N_BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high


def detectable_difference(standard_error: float, *, level: float, alternative: Alternative) -> float:
    r"""Difference of test and control that a normal test finds with power 0.8: (z_level + z_.8) se.

    Examples
    --------
    >>> round(detectable_difference(0.001, level=0.05, alternative="two-sided"), 6)
    0.002802
    """
    tail = level if alternative == "greater" else level / 2.0
    return float(norm.isf(tail) + norm.ppf(POWER)) * standard_error


def tilt(values: Floats, shares: Floats, mu: float) -> Floats:
    """Exponentially tilted probabilities, proportional to share * exp(theta * value), with mean mu.

    Examples
    --------
    >>> tilt(np.array([0.0, 1.0]), np.array([0.9, 0.1]), 0.5)
    array([0.5, 0.5])
    """
    log_shares = np.log(shares)

    def excess(theta: float) -> float:
        return float(softmax(log_shares + theta * values) @ values) - mu

    reach = 1.0
    while excess(-reach) > 0.0 or excess(reach) < 0.0:
        reach *= 2.0
    theta = brentq(excess, -reach, reach, xtol=1e-12)
    return np.asarray(softmax(log_shares + theta * values))


def _betting_power(
    values: Floats,
    probabilities: Floats,
    n: int,
    rng: np.random.Generator,
    *,
    lower: float,
    upper: float,
    alternative: Alternative,
    tolerance: float,
) -> float:
    """Share of simulated samples that the bettor aiming at level 0.05 rejects.

    Rejections are nested: whoever is rejected at 0.05 is so at every larger level, so one level is enough.
    """
    keep = (values != 0.0) | (tolerance > 0.0)  # a zero moves nothing, unless there is a tolerance
    share = float(probabilities[keep].sum())
    sizes = rng.binomial(n, min(1.0, share), size=N_SIMULATIONS)
    width = max(1, int(sizes.max()))
    # Rows are filled up with zeros at time 0, which move nothing.
    filled = np.arange(width) < sizes[:, None]
    if sizes.min() == n:
        times = np.broadcast_to(np.arange(n), filled.shape)
    else:
        places = np.sort(np.where(filled, rng.random((N_SIMULATIONS, width)), 2.0), axis=1)
        times = np.where(filled, places * n, 0.0).astype(np.intp)
    drawn = rng.choice(values[keep], p=probabilities[keep] / share, size=(N_SIMULATIONS, width))
    rejects = star_rejects(
        np.where(filled, drawn, 0.0),
        times,
        n,
        log_alphas=np.array([math.log(LEVEL)]),
        lower=lower,
        upper=upper,
        alternative=alternative,
        tolerance=tolerance,
    )
    return float(rejects.mean())


def _count_power(
    values: Floats,
    probabilities: Floats,
    n: int,
    rng: np.random.Generator,
    *,
    lower: float,
    upper: float,
    alternative: Alternative,
    method: Method,
) -> float:
    """Share of simulated samples rejected by a test that ignores the order of the examples."""
    counts = rng.multinomial(n, probabilities / probabilities.sum(), size=N_SIMULATIONS)
    if method == "mixture":
        up = logsumexp(counts @ np.log1p(np.outer(values, BET_SHARES / -lower)), axis=1)
        down = logsumexp(counts @ np.log1p(np.outer(-values, BET_SHARES / upper)), axis=1)
        log_e = up if alternative == "greater" else np.logaddexp(up, down) - math.log(2.0)
        return float((log_e - math.log(len(BET_SHARES)) >= -math.log(LEVEL)).mean())
    means = counts @ values / n
    sds = np.sqrt(np.maximum(counts @ values**2 / n - means**2, 0.0))
    log_p = [bernstein_log_pvalue(m, s, n, width=upper - lower) for m, s in zip(means, sds, strict=True)]
    found = np.array(log_p) <= math.log(LEVEL)
    if alternative == "greater":
        found &= means > 0.0
    return float(found.mean())
