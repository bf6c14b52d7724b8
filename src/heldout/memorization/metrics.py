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


def largest_step(accuracies: ArrayLike) -> NDArray[np.float64]:
    """k_max: the largest change of accuracy between neighbouring strengths (10), which must be equally far apart.

    Examples
    --------
    >>> float(largest_step([1.0, 0.75, 0.25, 0.25]))
    0.5
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

    So the metric of the true curve and of the measured one differ by no more than the size of their difference, which
    resampling tells, also where the metric has a corner (a linear curve has SSE 0 and cannot have less): that is how
    every interval here is made.

    Parameters
    ----------
    size : function of accuracies (..., p) and strengths (p,)
        A seminorm of the accuracies; the metric is its `power`.
    memorised : {"high", "low"}
        Which end of the metric a model that memorises is at.
    even : bool
        Whether it compares steps, so that strengths must be equally far apart.
    """

    name: str
    size: Callable[[ArrayLike, ArrayLike], NDArray[np.float64]]
    power: int
    memorised: Literal["high", "low"]
    even: bool
    points: int = 2  # strengths that are needed
    most: float = math.inf  # what it can be at most

    def __call__(self, accuracies: ArrayLike, strengths: ArrayLike) -> NDArray[np.float64]:
        """The metric of a curve."""
        return np.asarray(self.size(accuracies, strengths) ** self.power)


def _root_squared_distance(accuracies: ArrayLike, strengths: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(squared_distance(accuracies, strengths)))


def _largest_step(accuracies: ArrayLike, strengths: ArrayLike) -> NDArray[np.float64]:
    return largest_step(accuracies)


K_S = Metric("k_S", slope, 1, "low", even=False)
K_PTV = Metric("k_PTV", slope, 1, "high", even=False)
K_MAX = Metric("k_max", _largest_step, 1, "high", even=True, most=1.0)
SSE = Metric("SSE", _root_squared_distance, 2, "high", even=True, points=3)


@dataclass(frozen=True)
class Estimate:
    """A metric, its interval over resampled examples (and trainings), or why there is none."""

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
    resampled: NDArray[np.float64],
    n: int,
    level: float = 0.95,
) -> Estimate:
    """A metric of a measured curve with an interval that holds the true curve's at least `level` of the time.

    Parameters
    ----------
    accuracies : (p,) float
        The curve.
    resampled : (resamples, p) float
        Curves of examples (and trainings) drawn anew, from `resampled_trainings`.
    n : int
        Examples. Something that happens to one example in n / 3 is missed once in twenty times (rule of three), so
        resampling, which shows what was seen, is not all: an example in n / 3 that falls at some strength, or at one
        alone, is added to it, as independent errors are.
    """
    middle = float(metric.size(accuracies, strengths))
    spread = float(np.quantile(metric.size(resampled - accuracies, strengths), level, method="higher"))
    unseen = np.concatenate([np.eye(len(strengths)), np.tri(len(strengths))])
    rare = float(metric.size(unseen, strengths).max()) * -math.log(1 - level) / n
    spread = math.hypot(spread * small_sample(n, level), rare)
    low, high = max(0.0, middle - spread), middle + spread
    return Estimate(middle**metric.power, low**metric.power, min(metric.most, high**metric.power))


def small_sample(n: int, level: float) -> float:
    """How much wider an interval of n examples must be than resampling says, as Student's is than the normal one.

    Examples
    --------
    >>> [round(small_sample(n, 0.95), 3) for n in (10, 60, 1000)]
    [1.217, 1.03, 1.002]
    """
    from scipy.special import ndtri, stdtrit

    upper = (1 + level) / 2
    return float(stdtrit(n - 1, upper) / ndtri(upper) * math.sqrt(n / (n - 1)))


def resampled_curves(correct: NDArray[np.bool_], *, resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """(resamples, strengths) accuracies of a fixed model, the examples drawn anew with replacement.

    Parameters
    ----------
    correct : (strengths, n) bool
        The same n examples at every strength, so that the curve's points move together.
    """
    return resampled_trainings(correct[:, None, :], resamples=resamples, rng=rng)


def resampled_trainings(
    correct: NDArray[np.bool_],
    *,
    resamples: int,
    rng: np.random.Generator,
    done: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """(resamples, rates) accuracies of models that were trained anew, examples and trainings drawn with replacement.

    Parameters
    ----------
    correct : (rates, seeds, n) bool
        Trainings of different rates have nothing in common, so their seeds are drawn one rate at a time. A few seeds
        drawn with replacement vary too little, and how much they vary is itself uncertain: see `drawn_seeds`. Which
        examples a training happens to miss counts twice, among the examples and among the trainings, so where nothing
        else differs between trainings the curves vary up to 1.4 times too much.
    done : (rates, seeds) bool, optional
        Trainings that count, one a rate at least; default all.
    """
    rates, seeds, n = correct.shape
    counted = np.ones((rates, seeds), dtype=bool) if done is None else done
    if not counted.any(axis=1).all():
        raise InputError("a rate without a training has no accuracy.")
    table = correct[counted]  # (trainings, n)
    first = np.concatenate([[0], np.cumsum(counted.sum(axis=1))])
    # Examples that fared alike everywhere are one kind; only how many of each kind are drawn matters.
    _, kinds, sizes = np.unique(np.packbits(table, axis=0), axis=1, return_index=True, return_counts=True)
    answers = table[:, kinds].astype(np.float32).T
    curves = np.empty((resamples, rates))
    for start in range(0, resamples, BLOCK):
        size = min(BLOCK, resamples - start)
        times = rng.multinomial(n, sizes / n, size=size).astype(np.float32)
        accuracy = times @ answers / np.float32(n)  # (size, trainings)
        for i in range(rates):
            part = slice(first[i], first[i + 1])
            curves[start : start + size, i] = accuracy[:, part].mean(axis=1) + drawn_seeds(
                table[part].mean(axis=1), size, rng=rng
            )
    return curves


def drawn_seeds(values: NDArray[np.float64], size: int, *, rng: np.random.Generator) -> NDArray[np.float64]:
    """(size,) by how much the mean of s trainings may be off: values drawn with replacement, less their own mean.

    Stretched by s / (s - 1), which such draws lack in variance, and by (s - 1) / χ²(s - 1), the doubt about it, which
    gives the tails of Student's t.
    """
    s = len(values)
    if s < 2:
        return np.zeros(size)
    off = values[rng.integers(0, s, (size, s))].mean(axis=1) - values.mean()
    return np.asarray(off * np.sqrt(s / rng.chisquare(s - 1, size)))


BLOCK = 200  # resamplings held at once


def gap(
    training: NDArray[np.bool_],
    validation: NDArray[np.bool_],
    *,
    resamples: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Estimate:
    """Accuracy on training examples (s, n) less that on validation examples (s, v), of s trainings.

    Examples
    --------
    >>> found = gap(np.ones((1, 100), bool), np.arange(100)[None] < 80, resamples=200, rng=np.random.default_rng(0))
    >>> round(found.value, 2), found.low < 0.2 < found.high
    (0.2, True)
    """
    s = len(training)
    if min(training.shape[1], validation.shape[1]) < 2:
        return Estimate.undefined("one example has no interval.")
    differences = np.zeros((resamples, s))
    for table, sign in ((training, 1), (validation, -1)):
        n = table.shape[1]
        _, kinds, sizes = np.unique(np.packbits(table, axis=0), axis=1, return_index=True, return_counts=True)
        times = rng.multinomial(n, sizes / n, size=resamples)
        differences += sign * (times @ table[:, kinds].T.astype(np.float64)) / n
    apart = training.mean(axis=1) - validation.mean(axis=1)
    value, fewest = float(apart.mean()), min(training.shape[1], validation.shape[1])
    off = differences.mean(axis=1) - value + drawn_seeds(apart, resamples, rng=rng)
    spread = float(np.quantile(np.abs(off), level, method="higher"))
    spread = math.hypot(spread * small_sample(fewest, level), -math.log(1 - level) / fewest)
    return Estimate(value, max(-1.0, value - spread), min(1.0, value + spread))


def _curve(accuracies: ArrayLike, strengths: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, r = np.asarray(accuracies, dtype=np.float64), np.asarray(strengths, dtype=np.float64)
    if r.ndim != 1 or a.shape[-1] != len(r) or len(r) < 2:
        raise InputError(f"accuracies of shape {a.shape} at {r.size} strengths; one each is needed, two at least.")
    if (np.diff(r) <= 0).any():
        raise InputError(f"strengths must grow; they are {', '.join(f'{x:g}' for x in r)}.")
    return a, r
