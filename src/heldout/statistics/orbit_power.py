"""What an exact test on finite orbits could have found: fewer errors as given than in the other views."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtr

from heldout.errors import InputError
from heldout.statistics.checks import Alternative, Floats, check_alternative
from heldout.statistics.power import LEVEL, POWER, Detectable


def detectable_errors(counts: ArrayLike, *, alternative: Alternative = "greater", level: float = LEVEL) -> Detectable:
    r"""How many errors fewer than in the mean of all views the orbit test finds at `level` with power 0.8.

    Under H the errors as given are :math:`E = \sum_i v_i`, each :math:`v_i` uniform on the row :math:`i` of `counts`.
    Two ways in which they become fewer than the sum :math:`\mu` of the rows' means:

    * `tilted`: every unit prefers the views with few errors, with weights proportional to
      :math:`e^{-\theta v}`. The law of E is then its law under H times :math:`e^{-\theta E}`, and the power is exact.
    * `turned`: a share of the units, whichever, is known by heart as given, and has no error there, which makes the
      mean of its row smaller too; the others are as under H. The power is that of a normal law with the mean and the
      variance of :math:`\mu - E`, continuity corrected.

    A plug-in: what the model did to all views is taken for what it does under H. NaN where nothing, however large, is
    found so often.

    Parameters
    ----------
    counts : (n_units, n_views) int
        Errors of each unit (a picture, or a group of pictures that are moved together) in each view, all models
        together.
    alternative : {"greater", "two-sided"}
        "greater" is overfitting: fewer errors as given.
    level : float
        Of the test.

    Returns
    -------
    Detectable
        Means of :math:`\mu - E`, by what brings them about.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.statistics.orbit_power import detectable_errors
    >>> flips = np.repeat([[0, 0], [0, 1], [1, 1]], [800, 100, 100], axis=0)  # right, wrong in one view, wrong in both
    >>> found = detectable_errors(flips)
    >>> round(found.tilted, 1), round(found.turned, 1)
    (12.6, 13.2)
    """
    check_alternative(alternative)
    values = np.asarray(counts)
    if values.ndim != 2 or 0 in values.shape:
        raise InputError(f"`counts` has shape {values.shape}; it must be (n_units, n_views).")
    first, law = _law(values)
    errors = np.arange(first, first + len(law))
    tail = np.cumsum(law)
    found = np.flatnonzero(tail <= (level if alternative == "greater" else level / 2))
    if not len(found):
        return Detectable(math.nan, math.nan)
    most, mean = int(errors[found[-1]]), float(values.mean(axis=1).sum())
    return Detectable(_tilted(law, errors, most, mean), _turned(values, most, mean))


def _law(values: NDArray[np.int_]) -> tuple[int, Floats]:
    """The sum of one value from each row, each as likely as the others of its row: a first value, and the
    probabilities from there on; what lies further than 12 standard deviations (and a little) from the mean is left out.
    """
    rows, times = np.unique(np.sort(values, axis=1), axis=0, return_counts=True)
    mean, deviation = float(values.mean(axis=1).sum()), math.sqrt(float(values.var(axis=1).sum()))
    reach = math.ceil(12 * deviation + 40 * float(np.ptp(values, axis=1).max()))
    first = max(int(values.min(axis=1).sum()), math.floor(mean) - reach)
    size = min(int(values.max(axis=1).sum()), math.ceil(mean) + reach) - first + 1
    turns = np.arange(size // 2 + 1) / size  # the transform of the law modulo `size`
    transform = np.exp(2j * math.pi * ((turns * first) % 1.0))
    for row, k in zip(rows, times.tolist(), strict=True):
        transform *= np.exp(-2j * math.pi * (np.multiply.outer(row, turns) % 1.0)).mean(axis=0) ** k
    return first, np.maximum(np.fft.irfft(transform, size), 0.0)


def _tilted(law: Floats, errors: NDArray[np.int_], most: int, mean: float) -> float:
    kept = law > 1e-14  # of what is left, rounding decides
    log_law, values = np.log(law[kept]), errors[kept].astype(np.float64)

    def tilt(theta: float) -> Floats:
        log_weights = log_law - theta * (values - values[0])
        return np.asarray(np.exp(log_weights - logsumexp(log_weights)))

    def missing(theta: float) -> float:
        return float(tilt(theta)[values <= most].sum()) - POWER

    high = 1.0
    while missing(high) < 0:
        high *= 2.0
        if high > 1e3:
            return math.nan
    return mean - float(tilt(brentq(missing, 0.0, high)) @ values)


def _turned(values: NDArray[np.int_], most: int, mean: float) -> float:
    k, first, second = values.shape[1], values.mean(axis=1), (values.astype(np.float64) ** 2).mean(axis=1)
    spread, left = second - first**2, (1 - 1 / k) * first  # of a unit, and its mean where its given view is right
    squared = first**2 * (1 - 2 / k) + second / k**2  # mean of that mean's square
    still = (1 - 1 / k) * second - squared  # the spread that is left
    critical = mean - most - 0.5

    def missing(share: float) -> float:
        scale = math.sqrt(float(((1 - share) * spread + share * still).sum() / spread.sum()))
        variance = float(((1 - share) * spread + share * squared - (share * left) ** 2).sum())
        found = (share * float(left.sum()) - scale * critical) / math.sqrt(max(variance, 1e-12))
        return float(ndtr(found)) - POWER

    return float(left.sum()) * float(brentq(missing, 0.0, 1.0)) if missing(1.0) > 0 > missing(0.0) else math.nan
