"""Whether one model's metric is larger than another's by more than chance, the examples being the same for both.

A size is the largest of some linear functions of a curve: of the steps and their negatives (k_max), of the slope and
its negative, of all directions of residuals (SSE). Let a and b be the measured curves of two models, e and f their
errors, which go together where the examples are the same, and l' the function that is largest for the *true* curve of
the second. The measured size of the second is at least l'(b). So if in truth the first is no larger,

    size(a) - l'(b)  <=  l(e) - l'(f),                                                                    (C1)

l being the function that is largest for the *measured* curve of the first. Hence "larger" is said only if
size(a) - l'(b) exceeds, for every l' there is, the quantile of the largest l(e) - l'(f) over those l that may be
the largest of the first curve, near ties included (C2): with ties of the first the maximum is biased upwards, which the
largest of several errors tells; ties of the second can only hold it back. The size of a - b would not do: of two curves
that are steepest at different strengths the errors do not cancel, even if they are the same at every strength.

For SSE there is a function for each direction; size(a) - size(true) is at most |t a + e| - t |a| for any t from 0 up to
the true size over |a|, and t is taken from the lower end of the interval (C3); the direction of the second is the
measured one, since for a straight true curve every fixed direction holds.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from heldout.memorization.metrics import DRAWS, Metric
from heldout.memorization.spread import Spread

Floats = NDArray[np.float64]
NEAR = 3.5  # standard errors within which a function may be the largest of the true curve
FEWEST = 0.005  # share of the draws beyond which a quantile is carried on as a normal law's


def larger(
    metric: Metric,
    first: Floats,
    second: Floats,
    strengths: Floats,
    *,
    spread: Spread,
    tail: float,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> bool:
    """Whether the first curve's metric is larger, wrongly said at most a share `tail` of the time.

    Parameters
    ----------
    first, second : (p,) float
        The measured curves.
    spread : Spread
        Of the errors of both, (2 p), the first one's first.
    """
    parts = metric.parts(strengths)
    a, b = (metric.parts_of(curve, strengths) for curve in (first, second))
    size = float(metric.norm_of(a))
    if size <= float(metric.norm_of(b)):
        return False
    # What was never seen, as in an interval: here an example on which the models differ.
    rare = metric.rare(strengths, spread.units, 2 * tail)
    if len(parts) == 1:
        return _larger_slope(parts[0], float(a[0]), float(b[0]), spread, tail, rare)
    errors = spread.drawn(draws, rng)
    e, f = errors[:, : len(first)] @ parts.T, errors[:, len(first) :] @ parts.T
    if metric.norm == "root":
        least = max(0.0, size - float(np.quantile(metric.norm_of(e), 0.95)))
        t = least / size  # (C3)
        direction = b / (np.linalg.norm(b) or 1.0)
        off = metric.norm_of(t * a + e) - least - f @ direction
        return size - float(np.linalg.norm(b)) > math.hypot(_quantile(off[:, None], tail, spread)[0], rare)
    signed, e, f = (np.concatenate([x, -x], axis=-1) for x in (a, e, f))
    top = int(signed.argmax())
    near = size - signed <= NEAR * (e[:, [top]] - e).std(axis=0) + 1e-12
    off = e[:, near].max(axis=1)[:, None] - f  # (C2), a column for each l'
    beyond = size - np.concatenate([b, -b])
    return bool((beyond > np.hypot(_quantile(off, tail, spread), rare)).all())


def _larger_slope(weights: Floats, a: float, b: float, spread: Spread, tail: float, rare: float) -> bool:
    """(C2) with two functions, a slope and its negative; Student's quantiles."""
    p = len(weights)
    sign = math.copysign(1.0, a)
    own = np.concatenate([weights, np.zeros(p)])
    ties = 1 if abs(a) > NEAR / 2 * math.sqrt(spread.variance(own)) else 2
    for other in (1.0, -1.0):
        far = spread.quantile(np.concatenate([sign * weights, -other * weights]), tail / ties)
        if abs(a) - other * b <= math.hypot(far, rare):
            return False
    return True


def _quantile(off: Floats, tail: float, spread: Spread) -> Floats:
    """(q,) quantiles of each column, not below 0.

    Beyond what the draws tell, the last one they do tell is stretched as a normal law's would be, or Student's where
    trainings are few: too far, if anything, since the columns' means are not negative.
    """
    from scipy.special import ndtri, stdtrit

    known = max(tail, FEWEST)
    stretch = float(stdtrit(spread.units - 1, 1 - tail) / ndtri(1 - known))
    if spread.fewest is not None:
        stretch = max(stretch, float(stdtrit(spread.fewest, 1 - tail) / stdtrit(spread.fewest, 1 - known)))
    return np.maximum(0.0, np.quantile(off, 1 - known, axis=0, method="higher")) * stretch
