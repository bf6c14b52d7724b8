"""One number for a falling curve: the slope, the steepest step, the distance from a line, and their intervals.

References
----------
Pavlitskaya, Oswald, Zöllner (2022). Measuring overfitting in convolutional neural networks using adversarial
perturbations and label noise. IJCNN.
Zhang, Barr, Guedj, Harman, Shawe-Taylor (2019). Perturbed model validation. arXiv:1905.10201.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.memorization.spread import Spread

DRAWS = 4000  # curves of errors behind an interval
EQUAL = 1e-9  # steps that differ by less, relatively, are the same


def slope(accuracies: ArrayLike, rates: ArrayLike) -> NDArray[np.float64]:
    r"""|k| of the line fitted to a curve by least squares, the last axis being the rates (6).

    .. math:: \hat k = \left| \sum_i (r_i - \bar r)(A_i - \bar A) / \sum_i (r_i - \bar r)^2 \right|

    Of the accuracy on the noisy labels it is trained on (PMV) a model that learns has a large one, since it does not
    reach what is wrong; of the accuracy on the clean labels (PTV) a model that memorises has.

    Examples
    --------
    >>> rates, curve = [0.0, 0.1, 0.2, 0.3], [0.9, 0.8, 0.7, 0.4]
    >>> round(float(slope(curve, rates)), 12), round(abs(float(np.polyfit(rates, curve, 1)[0])), 12)
    (1.6, 1.6)
    """
    a, r = _curve(accuracies, rates)
    centred = r - r.mean()
    return np.asarray(np.abs(((a - a.mean(axis=-1, keepdims=True)) * centred).sum(axis=-1) / np.sum(centred**2)))


def learned_slope(accuracy: float, n_classes: float) -> float:
    """k_S of a model that learns with an accuracy of A and does not reach the wrong labels, about: of m classes it hits
    a wrong label by chance, A - (1 - A) / (m - 1).

    Examples
    --------
    >>> round(learned_slope(0.9, 10), 4), learned_slope(0.9, math.inf)
    (0.8889, 0.9)
    """
    return accuracy - (1 - accuracy) / (n_classes - 1)


def largest_step(accuracies: ArrayLike) -> NDArray[np.float64]:
    """k_max: the largest change of accuracy between neighbouring strengths (10), which must be equally far apart.

    The paper calls it a decrease, and takes steps without their sign: a rise counts as well.

    Examples
    --------
    >>> float(largest_step([1.0, 0.75, 0.25, 0.25])), float(largest_step([0.25, 0.75]))
    (0.5, 0.5)
    """
    a = np.asarray(accuracies, dtype=np.float64)
    if a.shape[-1] < 2:
        raise InputError("the largest step needs accuracies at two strengths at least.")
    return np.asarray(np.abs(np.diff(a, axis=-1)).max(axis=-1))


def squared_distance(accuracies: ArrayLike, strengths: ArrayLike) -> NDArray[np.float64]:
    r"""SSE: the squared distances of a curve from the best line through its own first point (11).

    .. math:: \sum_{r=1}^p (A_r - (A_0 + k r))^2, \quad k = \sum_r r (A_r - A_0) / \sum_r r^2

    The line is tied to A_0, as (11) and (5) write it, so it has one free number, the slope; the free line of (6)
    would fit better and give less. The unit of the strengths does not matter.

    Examples
    --------
    >>> [round(float(squared_distance(curve, [0, 1, 2])), 4) for curve in ([1.0, 0.75, 0.5], [1.0, 0.5, 0.5])]
    [0.0, 0.05]
    """
    a, r = _curve(accuracies, strengths)
    fall, far = a[..., 1:] - a[..., :1], r[1:] - r[0]
    k = (fall * far).sum(axis=-1, keepdims=True) / np.sum(far**2)
    return np.asarray(((fall - k * far) ** 2).sum(axis=-1))


def equal_steps(strengths: ArrayLike) -> bool:
    """Whether neighbouring strengths are equally far apart, so that a step means the same everywhere."""
    steps = np.diff(np.asarray(strengths, dtype=np.float64))
    return bool(np.ptp(steps) <= EQUAL * np.abs(steps).max(initial=1.0)) if len(steps) else True


@dataclass(frozen=True)
class Metric:
    """A metric is the size of a curve, in a sense in which sizes of sums are at most sums of sizes.

    So the metric of the true curve and of the measured one differ by no more than the size of their difference, also
    where the metric has a corner (a linear curve has SSE 0 and cannot have less): that is how every interval here is
    made.

    Parameters
    ----------
    parts : function of strengths (p,)
        (q, p) matrix that turns a curve into numbers of which the size is made: steps, distances from a line.
    norm : {"largest", "root"}
        The size: the largest of them without their signs, or the root of the sum of their squares.
    power : int
        The metric is this power of the size.
    memorised : {"high", "low"}
        Which end of the metric a model that memorises is at.
    even : bool
        Whether it compares steps, so that strengths must be equally far apart.
    """

    name: str
    parts: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    norm: Literal["largest", "root"]
    power: int
    memorised: Literal["high", "low"]
    even: bool
    points: int = 2  # strengths that are needed
    most: float = math.inf  # what it can be at most

    def size(self, accuracies: ArrayLike, strengths: ArrayLike) -> NDArray[np.float64]:
        """A seminorm of curves (..., p)."""
        a, r = _curve(accuracies, strengths)
        return self.norm_of(self.parts_of(a, r))

    def parts_of(self, accuracies: NDArray[np.float64], strengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Curves (..., p) in their parts (..., q): 0 for a level curve, to the last bit."""
        return np.asarray((accuracies - accuracies[..., :1]) @ self.parts(strengths).T)

    def norm_of(self, parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The size from its parts, the last axis."""
        if self.norm == "largest":
            return np.asarray(np.abs(parts).max(axis=-1))
        return np.asarray(np.sqrt((parts**2).sum(axis=-1)))

    def __call__(self, accuracies: ArrayLike, strengths: ArrayLike) -> NDArray[np.float64]:
        """The metric of a curve."""
        return np.asarray(self.size(accuracies, strengths) ** self.power)

    def rare(self, strengths: NDArray[np.float64], units: int, tail: float) -> float:
        """How far off what was never seen may put the size: the rule of three.

        What happens to one example in n / 3 is missed once in twenty times, and no spread of what was seen tells of it:
        an example that falls at some strength, or at one alone.
        """
        unseen = np.concatenate([np.eye(len(strengths)), np.tri(len(strengths))])
        return float(self.size(unseen, strengths).max()) * -math.log(tail) / units


def _slope_parts(strengths: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = strengths - strengths.mean()
    return np.asarray(centred / np.sum(centred**2))[None]  # (6)


def _step_parts(strengths: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.diff(np.eye(len(strengths)), axis=0)  # (10)


def _distance_parts(strengths: NDArray[np.float64]) -> NDArray[np.float64]:
    far = (strengths - strengths[0])[1:]
    fall = np.eye(len(strengths))[1:] - np.eye(len(strengths))[0]
    return np.asarray(fall - np.outer(far, far @ fall) / np.sum(far**2))  # (11)


K_S = Metric("k_S", _slope_parts, "largest", 1, "low", even=False)
K_PTV = Metric("k_PTV", _slope_parts, "largest", 1, "high", even=False)
K_MAX = Metric("k_max", _step_parts, "largest", 1, "high", even=True, most=1.0)
SSE = Metric("SSE", _distance_parts, "root", 2, "high", even=True, points=3)


@dataclass(frozen=True)
class Estimate:
    """A metric, its interval over examples (and trainings) drawn anew, or why there is none."""

    value: float
    low: float
    high: float
    reason: str | None = None

    @classmethod
    def undefined(cls, reason: str) -> Estimate:
        """No number, and why."""
        return cls(math.nan, math.nan, math.nan, reason)

    def __str__(self) -> str:
        if math.isnan(self.value):
            return f"undefined: {self.reason}"
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f})"


def estimate(
    metric: Metric,
    accuracies: NDArray[np.float64],
    strengths: NDArray[np.float64],
    *,
    spread: Spread,
    rng: np.random.Generator,
    draws: int = DRAWS,
    level: float = 0.95,
) -> Estimate:
    """A metric of a measured curve with an interval that holds the true curve's at least `level` of the time.

    Parameters
    ----------
    accuracies : (p,) float
        The curve.
    spread : Spread
        Of its error. A slope's interval has a closed form; for the others, curves of such errors are drawn.
    """
    parts = metric.parts(strengths)
    middle = float(metric.norm_of(metric.parts_of(accuracies, strengths)))
    if len(parts) == 1:
        far = spread.quantile(parts[0], (1 - level) / 2)
    else:
        sizes = metric.norm_of(spread.drawn(draws, rng) @ parts.T)
        far = float(np.quantile(sizes, level, method="higher")) * small_sample(spread.units, level)
    # What was never seen is added as independent errors are.
    far = math.hypot(far, metric.rare(strengths, spread.units, 1 - level))
    low, high = max(0.0, middle - far), middle + far
    return Estimate(middle**metric.power, low**metric.power, min(metric.most, high**metric.power))


def small_sample(n: int, level: float) -> float:
    """How much wider an interval of n examples must be than a normal one, as Student's is.

    Examples
    --------
    >>> [round(small_sample(n, 0.95), 3) for n in (10, 60, 1000)]
    [1.154, 1.021, 1.001]
    """
    from scipy.special import ndtri, stdtrit

    upper = (1 + level) / 2
    return float(stdtrit(n - 1, upper) / ndtri(upper))


def linear_estimate(value: float, spread: Spread, *, level: float = 0.95) -> Estimate:
    """A single accuracy, or a difference of two, with its interval, within -1 and 1."""
    far = math.hypot(spread.quantile(np.ones(1), (1 - level) / 2), -math.log(1 - level) / spread.units)
    return Estimate(value, max(-1.0, value - far), min(1.0, value + far))


def _curve(accuracies: ArrayLike, strengths: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, r = np.asarray(accuracies, dtype=np.float64), np.asarray(strengths, dtype=np.float64)
    if r.ndim != 1 or a.shape[-1] != len(r) or len(r) < 2:
        raise InputError(f"accuracies of shape {a.shape} at {r.size} strengths; one each is needed, two at least.")
    if (np.diff(r) <= 0).any():
        raise InputError(f"strengths must grow; they are {', '.join(f'{x:g}' for x in r)}.")
    return a, r
