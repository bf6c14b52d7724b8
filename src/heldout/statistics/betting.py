"""STaR bets: martingales that aim at one level, averaged over orders of the examples, on a fixed grid of levels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from heldout.statistics.checks import (
    Alternative,
    Floats,
    check_alternative,
    check_sample,
    check_tolerance,
)

BET_CUT = 0.98  # of the largest bet that keeps the wealth positive whatever comes
LOG_LEVEL_TOP = math.log(0.5)
LOG_LEVEL_STEP = math.log(10.0) / 10.0  # ten levels per decade, 0.05 and 0.005 among them

# Over 15 seeds p moved by a step of the grid or not at all with 500 orders of 20 to 200 non-zero values, and with 200
# orders of 800. Aims of 0.5 to 0.8 have the same power to 0.01, 0.3 loses 0.03.
AIM = 0.6  # of the level that is tested: c in (1)
N_ORDERS = (100, 500)  # fewest, most
BETS_PLACED = 200_000  # orders times non-zero values, between these two
FINE_LEVELS = 100  # down to 5e-11; below, levels are a decade apart and fewer orders do
FEWER_ORDERS = 50
EQUAL = 1e-9  # shares of a level that differ by less are the same but for rounding


def log_levels(start: int, stop: int) -> Floats:
    """Logs of the levels number `start` to `stop` - 1 of a fixed grid: 0.5 * 10^(-j/10), from 5e-11 on 10^-1 apart."""
    j = np.arange(start, stop, dtype=np.float64)
    steps = np.minimum(j, FINE_LEVELS) + 10.0 * np.maximum(j - FINE_LEVELS, 0.0)
    return LOG_LEVEL_TOP - LOG_LEVEL_STEP * steps


def star_log_wealth(
    values: Floats, times: NDArray[np.intp], n: int, *, log_targets: Floats, lower: float, v0: float
) -> Floats:
    r"""Log wealth of STaR bets [1]_ that expect a positive mean, one for each target.

    .. math:: \lambda^2 = \frac{2\,(\ln target - \ln W)}{(n - t)\, v_t}, \quad
              v_t = \frac{v_0 + \sum_{s\le t} T_s^2}{t + 1},

    cut to 0.98 of -1/lower, and 0 once the target is reached. The bet on an example depends on
    earlier ones only. A zero leaves the wealth as it is, so only the others need be given, each
    with the number `times` of examples before it.

    Parameters
    ----------
    values, times : (n_repetitions, n_nonzero)
        Non-zero values in order and how many examples came before each; rows may be filled up
        with zeros.
    log_targets : (n_targets,)

    Returns
    -------
    (n_repetitions, n_targets)

    References
    ----------
    .. [1] Voráček, Orabona (2025). STaR-Bets: sequential target-recalculating bets for tighter
       confidence intervals. arXiv:2505.22422.
    """
    largest_bet = BET_CUT / -lower
    squares = np.cumsum(values**2, axis=1) - values**2  # of the examples before this one
    variances = (v0 + squares) / (times + 1)
    scale = 2.0 / ((n - times) * variances)
    log_wealth = np.zeros((len(values), len(log_targets)))
    bet = np.empty_like(log_wealth)
    factor = np.sqrt(scale)
    for k in range(values.shape[1]):  # in place: this loop is where the time goes
        np.subtract(log_targets, log_wealth, out=bet)
        np.maximum(bet, 0.0, out=bet)
        np.sqrt(bet, out=bet)
        bet *= factor[:, k, None]
        np.minimum(bet, largest_bet, out=bet)
        bet *= values[:, k, None]
        np.log1p(bet, out=bet)
        log_wealth += bet
    return log_wealth


def star_rejects(
    values: Floats,
    times: NDArray[np.intp],
    n: int,
    *,
    log_alphas: Floats,
    lower: float,
    upper: float,
    alternative: Alternative,
    tolerance: float = 0.0,
) -> NDArray[np.bool_]:
    """Which levels the wealth of the bets on a positive mean rejects, averaged over orders of one sample (1).

    Two-sided, this half of the capital is all that is counted; what is left of the other half would only add to it.

    Parameters
    ----------
    values, times : (..., n_orders, n_nonzero)
        As in `star_log_wealth`. With a tolerance a zero counts too, so `values` must then hold every example.

    Returns
    -------
    (..., n_levels)
    """
    log_wealth = _log_wealth(
        values, times, n, log_alphas, lower=lower, upper=upper, alternative=alternative, tolerance=tolerance
    )
    mean = logsumexp(log_wealth, axis=-2) - math.log(values.shape[-2])  # (1)
    # The last bet may land on its target exactly but for rounding.
    return np.asarray(mean >= -log_alphas - 1e-12)


def _log_wealth(
    values: NDArray[np.float64],
    times: NDArray[np.intp],
    n: int,
    log_alphas: Floats,
    *,
    lower: float,
    upper: float,
    alternative: Alternative,
    tolerance: float,
) -> Floats:
    """(..., n_orders, n_levels) log wealth of bets on a positive mean that aim at each level; see `star_rejects`."""
    shape = values.shape
    flat, at = values.reshape(-1, shape[-1]), times.reshape(-1, shape[-1])
    v0 = ((upper - lower) / 2.0) ** 2  # the largest variance a value of this range can have
    targets = -math.log(AIM) - log_alphas
    if alternative == "two-sided":  # half the capital on each sign, each half aiming at twice as much
        targets = targets + math.log(2.0)
    log_wealth = star_log_wealth(flat - tolerance, at, n, log_targets=targets, lower=lower - tolerance, v0=v0)
    log_wealth = log_wealth.reshape(*shape[:-1], -1)
    return log_wealth - math.log(2.0) if alternative == "two-sided" else log_wealth


@dataclass(frozen=True, kw_only=True)
class Capital:
    """How near the bets come to a level, where they come least near: p is at most the level where `share` is 1 or more.

    Parameters
    ----------
    share : float
        Mean wealth over the orders, in units of what the level takes (1); of this level and all larger ones of the
        grid the least for its error.
    error : float
        Its standard error over the orders: what another seed would change. 0 where no seed changes anything.
    """

    share: float
    error: float


def star_bets_capital(
    values: ArrayLike,
    *,
    level: float,
    lower: float,
    upper: float,
    alternative: Alternative = "two-sided",
    tolerance: float = 0.0,
    seed: int = 0,
    n_orders: int | None = None,
) -> Capital:
    """How sure it is on which side of a level the p of `star_bets_log_pvalue` is, whose arguments the others are.

    The error is 0 where nothing depends on the orders: all values are equal, say, or the bets hold next to nothing in
    any order. Of a level below the finest of the grid, 5e-11, it is told how sure that one is.

    Examples
    --------
    >>> from heldout.statistics.betting import star_bets_capital
    >>> near = star_bets_capital([0.5] * 15 + [-0.04] * 60 + [0.0] * 400, level=0.05, lower=-0.96, upper=0.5)
    >>> round(near.share, 2), round(near.error, 2)
    (0.93, 0.01)
    """
    x, lower, upper = _winning_half(values, lower=lower, upper=upper, alternative=alternative, tolerance=tolerance)
    ordered, times = random_orders(x, zeros=tolerance > 0.0, rng=np.random.default_rng(seed), n_orders=n_orders)
    if not ordered.size:
        return Capital(share=level, error=0.0)  # nothing to bet on: the capital stays 1
    log_alphas = log_levels(0, FINE_LEVELS)
    coarser = int(np.count_nonzero(log_alphas > math.log(level) + 1e-12))  # p is at most the level where it is the next
    log_alphas = log_alphas[: coarser + 1]
    wealth = np.exp(
        log_alphas
        + _log_wealth(
            ordered, times, len(x), log_alphas, lower=lower, upper=upper, alternative=alternative, tolerance=tolerance
        )
    )
    shares, errors = wealth.mean(axis=0), wealth.std(axis=0, ddof=1) / math.sqrt(len(wealth))
    if not (errors > EQUAL).any():
        errors = np.zeros_like(errors)
    room = np.where(shares >= 1 - 1e-12, np.inf, -np.inf)
    least = int(np.argmin(np.divide(shares - 1, errors, out=room, where=errors > 0)))
    return Capital(share=float(shares[least]), error=float(errors[least]))


def _winning_half(
    values: ArrayLike, *, lower: float, upper: float, alternative: Alternative, tolerance: float
) -> tuple[Floats, float, float]:
    """The values and their range, turned round where two-sided bets win on a negative mean."""
    check_alternative(alternative)
    x = check_sample(values, lower=lower, upper=upper)
    check_tolerance(tolerance, lower=lower, upper=upper)
    if alternative == "two-sided" and x.mean() < 0.0:  # look at the half that wins
        return -x, -upper, -lower
    return x, lower, upper


def star_bets_log_pvalue(
    values: ArrayLike,
    *,
    lower: float,
    upper: float,
    alternative: Alternative = "two-sided",
    tolerance: float = 0.0,
    seed: int = 0,
    n_orders: int | None = None,
) -> float:
    r"""Log p-value of "the mean is zero" by betting, over many random orders of the examples.

    One order is valid, but its p is a lottery: for one data set it ran from 0.0002 to 1 over 400 orders. The mean of
    e-values is an e-value, however they depend on each other. So at level alpha the wealth of bettors that aim at
    1 / (c alpha) is averaged over the orders, and alpha is rejected where

    .. math:: \frac1K \sum_{k=1}^K W_k \ge \frac1\alpha, \qquad c = 0.6:    \tag{1}

    a share c of the orders that reach their aim is enough, and what the others hold counts too. A grid of levels
    0.5 * 10^(-j/10) is run, and p is the smallest of them such that it and every larger one reject (1 if 0.5 does not).
    The rejection region of each level thus lies inside that of its own test, which keeps p valid; 1 over the largest
    wealth of the grid would not be.

    The orders are random ones of the *sorted* values: neither the names of the examples nor the order they come in
    changes anything, and another seed moves p by a step of the grid or not at all; near a level that may decide, which
    `star_bets_capital` tells.

    With a `tolerance` the null is abs(E T) <= tolerance: the two signs bet on T - tolerance and
    T + tolerance, and each is a non-negative supermartingale. With fewer orders (`n_orders`) p is as valid and depends
    more on the seed.

    Parameters
    ----------
    values : (n,)
        T of every example.
    lower, upper : float
        The range that the rule guarantees.
    alternative, tolerance, seed, n_orders
        As in `independence_test`.

    Returns
    -------
    float
        Natural logarithm of p, at most 0.

    Examples
    --------
    >>> import math
    >>> from heldout.statistics import star_bets_log_pvalue
    >>> star_bets_log_pvalue([0.5, -0.5] * 50, lower=-0.5, upper=0.5)
    0.0
    >>> star_bets_log_pvalue([0.25] * 1000, lower=-0.5, upper=0.5) < math.log(1e-100)
    True
    """
    x, lower, upper = _winning_half(values, lower=lower, upper=upper, alternative=alternative, tolerance=tolerance)
    ordered, times = random_orders(x, zeros=tolerance > 0.0, rng=np.random.default_rng(seed), n_orders=n_orders)
    if not ordered.size:
        return 0.0
    log_p, start, size = 0.0, 0, 4
    while True:
        log_alphas = log_levels(start, start + size)
        if start >= FINE_LEVELS:  # all of these levels are below the finest ones
            ordered, times = ordered[:FEWER_ORDERS], times[:FEWER_ORDERS]
        rejects = star_rejects(
            ordered, times, len(x), log_alphas=log_alphas, lower=lower, upper=upper,
            alternative=alternative, tolerance=tolerance,
        )  # fmt: skip
        if not rejects.all():
            first_failure = int(np.argmin(rejects))
            return float(log_alphas[first_failure - 1]) if first_failure else log_p
        log_p = float(log_alphas[-1])
        start += size
        size = min(2 * size, 64, FINE_LEVELS - start) if start < FINE_LEVELS else 64


def fewest_examples(level: float, *, lower: float, upper: float, alternative: Alternative = "two-sided") -> int:
    """How many examples a bet needs at least to reach a level, were all of them as extreme as can be.

    A bet on a value x multiplies the capital by at most 1 - x / lower, or 1 - x / upper on the other sign.

    Examples
    --------
    >>> [fewest_examples(0.05, lower=-0.96, upper=0.5, alternative=side) for side in ("two-sided", "greater")]
    [4, 8]
    """
    check_alternative(alternative)
    gain = math.log1p(-upper / lower)
    if alternative == "two-sided":
        gain, level = max(gain, math.log1p(-lower / upper)), level / 2
    return math.ceil(-math.log(level) / gain)


def random_orders(
    x: Floats, *, zeros: bool, rng: np.random.Generator, n_orders: int | None = None
) -> tuple[Floats, NDArray[np.intp]]:
    """(K, n_nonzero) the non-zero values in K random orders, and how many examples come before each.

    With `zeros` every value is kept, as a tolerance makes zeros count.
    """
    kept = np.sort(x if zeros else x[x != 0.0])
    n, m = len(x), len(kept)
    if n_orders is None:
        n_orders = int(np.clip(BETS_PLACED // max(m, 1), *N_ORDERS))
    ordered = rng.permuted(np.broadcast_to(kept, (n_orders, m)), axis=1)
    if m == n:
        return ordered, np.broadcast_to(np.arange(n), (n_orders, n))
    places = [np.sort(rng.choice(n, size=m, replace=False, shuffle=False)) for _ in range(n_orders)]
    return ordered, np.array(places, dtype=np.intp).reshape(n_orders, m)
