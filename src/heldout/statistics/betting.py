"""STaR bets: a martingale that aims at one level, run over a fixed grid of levels."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.statistics.checks import (
    Alternative,
    Floats,
    check_alternative,
    check_sample,
    check_tolerance,
)

BET_CUT = 0.98  # of the largest bet that keeps the wealth positive whatever comes
LOG_LEVEL_TOP = math.log(0.5)
LOG_LEVEL_STEP = math.log(10.0) / 10.0  # ten levels a decade, 0.05 and 0.005 among them


def order_by_id(ids: Sequence[object]) -> NDArray[np.intp]:
    """Order in which a martingale visits its examples: by a hash of their ids.

    Fixed before any score is known, and the same whatever order a folder was listed in. Equal
    ids keep the order they came in.

    Examples
    --------
    >>> [("c", "a", "b")[i] for i in order_by_id(["c", "a", "b"])]
    ['a', 'b', 'c']
    """
    # surrogatepass: a file name that is not valid Unicode is an id like any other.
    names = [str(i).encode("utf-8", "surrogatepass") for i in ids]
    keys = [hashlib.blake2b(name, digest_size=16).digest() for name in names]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.intp)


def log_levels(start: int, stop: int) -> Floats:
    """Logs of the levels number `start` to `stop` - 1 of the fixed grid 0.5 * 10^(-j/10)."""
    return LOG_LEVEL_TOP - LOG_LEVEL_STEP * np.arange(start, stop, dtype=np.float64)


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
    for k in range(values.shape[1]):
        need = np.maximum(log_targets - log_wealth, 0.0)
        bet = np.minimum(np.sqrt(need * scale[:, k, None]), largest_bet)
        log_wealth += np.log1p(bet * values[:, k, None])
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
    """Which (repetition, level) a bettor that aims at that level rejects; shapes as in `star_log_wealth`.

    With a tolerance a zero counts too, so `values` must then hold every example.
    """
    v0 = ((upper - lower) / 2.0) ** 2  # the largest variance a value of this range can have
    if alternative == "greater":
        wealth = star_log_wealth(values - tolerance, times, n, log_targets=-log_alphas, lower=lower - tolerance, v0=v0)
    else:  # half the capital on each sign, each half aiming at 2 / alpha
        targets = math.log(2.0) - log_alphas
        up = star_log_wealth(values - tolerance, times, n, log_targets=targets, lower=lower - tolerance, v0=v0)
        down = star_log_wealth(-values - tolerance, times, n, log_targets=targets, lower=-upper - tolerance, v0=v0)
        wealth = np.logaddexp(up, down) - math.log(2.0)
    # The last bet may land on its target exactly but for rounding.
    return np.asarray(wealth >= -log_alphas - 1e-12)


def star_bets_log_pvalue(
    values: ArrayLike,
    *,
    lower: float,
    upper: float,
    alternative: Alternative = "two-sided",
    ids: Sequence[object] | None = None,
    tolerance: float = 0.0,
) -> float:
    """Log p-value of "the mean is zero" by betting; the example order is fixed by a hash of the ids.

    A bettor that aims at one level alpha tests at that level only, so a grid of levels
    0.5 * 10^(-j/10) is run and p is the smallest of them such that it and every larger one
    reject (1 if 0.5 does not). The rejection region of each level thus lies inside that of its own
    bettor, which keeps p valid; 1 over the largest wealth of the grid would not be. (Of two bettors
    the one with the lower target always needs less, so the rejections are in fact nested.)

    With a `tolerance` the null is abs(E T) <= tolerance: the two signs bet on T - tolerance and
    T + tolerance, and each is a non-negative supermartingale.

    Examples
    --------
    >>> star_bets_log_pvalue([0.5, -0.5] * 50, lower=-0.5, upper=0.5)
    0.0
    >>> star_bets_log_pvalue([0.25] * 1000, lower=-0.5, upper=0.5) < math.log(1e-100)
    True
    """
    check_alternative(alternative)
    x = check_sample(values, lower=lower, upper=upper)
    check_tolerance(tolerance, lower=lower, upper=upper)
    n = len(x)
    if ids is not None and len(ids) != n:
        raise InputError(f"`ids` names {len(ids)} examples but there are {n} values; give one id an example.")
    x = x[order_by_id(range(n) if ids is None else ids)]
    times = np.flatnonzero(x) if tolerance == 0.0 else np.arange(n)
    log_p = 0.0
    start, size = 0, 32
    while True:
        log_alphas = log_levels(start, start + size)
        rejects = star_rejects(
            x[None, times], times[None], n, log_alphas=log_alphas, lower=lower, upper=upper,
            alternative=alternative, tolerance=tolerance,
        )[0]  # fmt: skip
        if not rejects.all():
            first_failure = int(np.argmin(rejects))
            return float(log_alphas[first_failure - 1]) if first_failure else log_p
        log_p = float(log_alphas[-1])
        start, size = start + size, min(4 * size, 4096)
