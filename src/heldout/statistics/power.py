"""What could have been detected: the number that keeps "no evidence" from being read as "clean"."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtri, softmax

from heldout.errors import InputError
from heldout.statistics.bernstein import bernstein_log_pvalue
from heldout.statistics.betting import star_rejects
from heldout.statistics.checks import Alternative, Floats, check_alternative, check_sample, check_tolerance
from heldout.statistics.mean_zero import Method, one_value_per_group
from heldout.statistics.mixture import BET_SHARES

LEVEL = 0.05
POWER = 0.8
N_SIMULATIONS = 400  # standard error of the simulated power: 0.02
N_BISECTIONS = 10
N_ORDERS = 4  # of each simulated sample; 32 moved the detectable effect by 0.5 % at most
CELLS = 4_000_000  # simulated values held at once


@dataclass(frozen=True)
class Detectable:
    """Effects that are found with power 0.8, by what brings them about.

    Parameters
    ----------
    tilted : float
        All of T's law moves up: fewer errors, more and larger positive values.
    turned : float
        Errors stay as they are, and zeros turn positive: examples that were untouched become adversarial. The same mean
        then has more spread, so it takes a larger one; at the `tilted` effect power was 0.58 to 0.76.

    Examples
    --------
    >>> from heldout.statistics import Detectable
    >>> found = Detectable(0.003, 0.004)
    >>> found.low, found.high
    (0.003, 0.004)
    """

    tilted: float
    turned: float

    @property
    def low(self) -> float:
        """The smaller one; NaN where neither is known."""
        return float(np.fmin(self.tilted, self.turned))

    @property
    def high(self) -> float:
        """The larger one: an effect that is found four times in five either way; NaN where neither is known."""
        return float(np.fmax(self.tilted, self.turned))


Law = Callable[[float], Floats | None]  # a mean -> probabilities of the distinct values; None where there is none


def detectable_effect(
    values: ArrayLike,
    *,
    lower: float,
    upper: float,
    rng: np.random.Generator,
    method: Method = "betting",
    alternative: Alternative = "two-sided",
    groups: ArrayLike | None = None,
    tolerance: float = 0.0,
    level: float = LEVEL,
) -> Detectable:
    """Smallest positive means that this test would find at `level` with power 0.8, under two alternatives.

    A plug-in: the observed values are tilted exponentially (weights proportional to exp(theta * T)) to a mean mu; or
    they are tilted to mean zero and then zeros give way to positive values, in their proportions, until the mean is mu.
    Samples of the same size are drawn and tested, and mu is bisected to power 0.8. NaN where no value is positive or
    all are, since then no tilt reaches from mean zero upwards; where there are no zeros to turn; and where not even
    the largest effect is found. A `tolerance` goes with betting only. With `groups` the values are the group means.

    Parameters
    ----------
    values : (n,)
        T of every example.
    lower, upper : float
        The range that the rule guarantees.
    rng : numpy.random.Generator
        Of the samples.
    method, alternative, groups, tolerance
        As in `independence_test`.
    level : float
        Of the test.

    Returns
    -------
    Detectable
        Two means, by what brings them about.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.statistics import detectable_effect
    >>> T = np.zeros(2_000)
    >>> T[:40], T[40:80] = -0.5, 0.5
    >>> found = detectable_effect(T, lower=-24 / 25, upper=0.5, rng=np.random.default_rng(0))
    >>> 0.0068 < found.tilted < found.turned < 0.0088
    True
    """
    check_alternative(alternative)
    if method == "bernstein_uncapped":
        raise InputError("`bernstein_uncapped` is no test, so it has no power; use `bernstein`.")
    x = one_value_per_group(check_sample(values, lower=lower, upper=upper), groups)[0]
    check_tolerance(tolerance, lower=lower, upper=upper)
    if tolerance and method != "betting":
        raise InputError(f"the detectable effect with a tolerance is known for betting only, not for {method}.")
    distinct, counts = np.unique(x, return_counts=True)
    if distinct[-1] <= 0.0 or distinct[0] > 0.0:
        return Detectable(math.nan, math.nan)
    seed = int(rng.integers(2**63))  # the same random numbers at every mu: power is nearly monotone

    def smallest(law: Law) -> float:
        def power(mu: float) -> float:
            weights = law(mu)
            if weights is None:
                return math.nan
            same = np.random.default_rng(seed)
            known = {"lower": lower, "upper": upper, "level": level}
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
        if math.isnan(power(high)):  # out of zeros: the largest mean that can be had, nearly
            high = _last_defined(power, low, high)
        if not power(high) >= POWER:
            return math.nan
        for _ in range(N_BISECTIONS):
            middle = (low + high) / 2.0
            low, high = (low, middle) if power(middle) >= POWER else (middle, high)
        return high

    shares = counts / len(x)
    return Detectable(smallest(lambda mu: tilt(distinct, shares, mu)), smallest(turning(distinct, shares)))


def _last_defined(power: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(N_BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if math.isnan(power(middle)) else (middle, high)
    return low


def turning(values: Floats, shares: Floats) -> Law:
    """The law of mean mu in which zeros have turned positive, in the proportions of the positive values.

    Examples
    --------
    >>> law = turning(np.array([-0.5, 0.0, 0.5]), np.array([0.1, 0.8, 0.1]))
    >>> law(0.1).round(3), law(0.5) is None
    (array([0.1, 0.6, 0.3]), True)
    """
    if values[-1] <= 0.0:  # no tilt reaches zero from below
        return lambda mu: None
    if values[0] >= 0.0:  # nothing to balance the positive values: mean zero is all zeros
        null = np.where(values == 0.0, 1.0, 0.0)
        return _turned(values, null, np.where(values > 0.0, shares, 0.0))
    null = tilt(values, shares, 0.0)
    return _turned(values, null, np.where(values > 0.0, null, 0.0))


def _turned(values: Floats, shares: Floats, positive: Floats) -> Law:
    """From these shares zeros turn into positive values, in the given proportions, for a mean so much higher."""
    zero = values == 0.0
    if not zero.any() or not positive.any():
        return lambda higher: None
    change = positive / positive.sum() - zero
    gain = float(change @ values)

    def law(higher: float) -> Floats | None:
        weights = np.asarray(shares + higher / gain * change)
        return weights if weights[zero][0] >= 0.0 else None

    return law


def detectable_difference(
    T_test: ArrayLike,
    *,
    standard_error_test: float,
    standard_error_control: float,
    level: float,
    alternative: Alternative,
) -> Detectable:
    r"""Differences of test and control that a normal test finds with power 0.8, under the two alternatives.

    .. math:: d = (z_{level} + z_{.8})\, se(d), \quad se(d)^2 = se_{test}^2 \frac{v(d)}{v(0)} + se_{control}^2,

    where v(d) is the variance of the test values once their mean is d higher than the observed one.

    Parameters
    ----------
    T_test : (n,)
        Values of the test examples (or group means): any with zeros and positive values, or 0 and 1.
    standard_error_test, standard_error_control : float
        Of the two means.
    level, alternative
        Of the test.

    Returns
    -------
    Detectable
        Two differences, by what brings them about.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.statistics import detectable_difference
    >>> T = np.repeat([-0.5, 0.0, 0.5], [100, 800, 100])
    >>> found = detectable_difference(T, standard_error_test=0.001, standard_error_control=0.0, level=0.05,
    ...                               alternative="two-sided")
    >>> round(found.tilted, 5), round(found.turned, 5)
    (0.0028, 0.00284)
    """
    tail = level if alternative == "greater" else level / 2.0
    z, z_power = float(-ndtri(tail)), float(ndtri(POWER))
    distinct, counts = np.unique(np.asarray(T_test, dtype=np.float64), return_counts=True)
    shares = counts / counts.sum()
    null = math.hypot(standard_error_test, standard_error_control)
    if null == 0.0:
        return Detectable(math.nan, math.nan)
    mean = float(shares @ distinct)
    before = float(shares @ (distinct - mean) ** 2)

    def tilted(d: float) -> Floats | None:
        return tilt(distinct, shares, mean + d) if mean + d < distinct[-1] else None

    def smallest(law: Law) -> float:
        d = (z + z_power) * null
        for _ in range(30):  # a contraction: the spread moves far more slowly than the mean
            weights = law(d)
            if weights is None:
                return math.nan
            after = float(weights @ (distinct - weights @ distinct) ** 2)
            # The test is studentised: what it must pass grows with the spread as well.
            d = (z + z_power) * math.sqrt(
                standard_error_test**2 * (after / before if before > 0 else 1.0) + standard_error_control**2
            )
        return d

    turned = _turned(distinct, shares, np.where(distinct > 0.0, shares, 0.0))
    return Detectable(smallest(tilted), smallest(turned))


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
    level: float,
    alternative: Alternative,
    tolerance: float,
) -> float:
    """Share of simulated samples that bets rejects at this level, each sample over a few orders.

    The p-value also asks that every larger level rejects; that this one does and a larger one does not is too rare to
    matter here.
    """
    keep = (values != 0.0) | (tolerance > 0.0)  # a zero moves nothing, unless there is a tolerance
    share = float(probabilities[keep].sum())
    all_sizes = rng.binomial(n, min(1.0, share), size=N_SIMULATIONS)
    width = max(1, int(all_sizes.max()))
    n_rejected = 0
    for sizes in np.array_split(all_sizes, math.ceil(N_SIMULATIONS * N_ORDERS * width / CELLS)):
        shape = (len(sizes), N_ORDERS, width)
        # Rows are filled up with zeros at time 0, which move nothing; every order has the same values.
        filled = (np.arange(width) < sizes[:, None])[:, None]
        drawn = rng.choice(values[keep], p=probabilities[keep] / share, size=(len(sizes), 1, width))
        shuffled = np.argsort(np.where(filled, rng.random(shape), 2.0), axis=-1)
        orders = np.take_along_axis(np.broadcast_to(drawn, shape), shuffled, axis=-1)
        if sizes.min() == n:
            times = np.broadcast_to(np.arange(n), shape)
        else:
            places = np.sort(np.where(filled, rng.random(shape), 2.0), axis=-1)
            times = np.where(filled, places * n, 0.0).astype(np.intp)
        rejects = star_rejects(
            np.where(filled, orders, 0.0),
            times,
            n,
            log_alphas=np.array([math.log(level)]),
            lower=lower,
            upper=upper,
            alternative=alternative,
            tolerance=tolerance,
        )
        n_rejected += int(rejects.sum())
    return n_rejected / N_SIMULATIONS


def _count_power(
    values: Floats,
    probabilities: Floats,
    n: int,
    rng: np.random.Generator,
    *,
    lower: float,
    upper: float,
    level: float,
    alternative: Alternative,
    method: Method,
) -> float:
    """Share of simulated samples rejected by a test that ignores the order of the examples."""
    counts = rng.multinomial(n, probabilities / probabilities.sum(), size=N_SIMULATIONS)
    if method == "mixture":
        up = logsumexp(counts @ np.log1p(np.outer(values, BET_SHARES / -lower)), axis=1)
        down = logsumexp(counts @ np.log1p(np.outer(-values, BET_SHARES / upper)), axis=1)
        log_e = up if alternative == "greater" else np.logaddexp(up, down) - math.log(2.0)
        return float((log_e - math.log(len(BET_SHARES)) >= -math.log(level)).mean())
    means = counts @ values / n
    sds = np.sqrt(np.maximum(counts @ values**2 / n - means**2, 0.0))
    log_p = [bernstein_log_pvalue(m, s, n, width=upper - lower) for m, s in zip(means, sds, strict=True)]
    found = np.array(log_p) <= math.log(level)
    if alternative == "greater":
        found &= means > 0.0
    return float(found.mean())
