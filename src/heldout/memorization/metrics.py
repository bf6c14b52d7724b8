"""One number for a falling curve: the slope, the steepest step, the distance from a line, and their intervals.

References
----------
Pavlitskaya, Oswald, Zöllner (2022). Measuring overfitting in convolutional neural networks using adversarial
perturbations and label noise. IJCNN.
Zhang, Barr, Guedj, Harman, Shawe-Taylor (2019). Perturbed model validation. arXiv:1905.10201.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
class Estimate:
    """A metric, its interval over resampled examples (and trainings), or why there is none."""

    value: float
    low: float
    high: float
    reason: str | None = None

    def __str__(self) -> str:
        if math.isnan(self.value):
            return f"undefined: {self.reason}"
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f})"


def resampled_curves(correct: NDArray[np.bool_], *, resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """(resamples, strengths) accuracies of a fixed model, the examples drawn anew with replacement.

    Parameters
    ----------
    correct : (strengths, n) bool
        The same n examples at every strength, so that the curve's points move together.
    """
    return resampled_trainings(correct[:, None, :], resamples=resamples, rng=rng)


def resampled_trainings(correct: NDArray[np.bool_], *, resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """(resamples, rates) accuracies of models that were trained anew, examples and trainings drawn with replacement.

    Parameters
    ----------
    correct : (rates, seeds, n) bool
        Trainings of different rates have nothing in common, so their seeds are drawn one rate at a time.
    """
    rates, seeds, n = correct.shape
    table = correct.reshape(rates * seeds, n).astype(np.float32)
    curves = np.empty((resamples, rates))
    for start in range(0, resamples, BLOCK):
        size = min(BLOCK, resamples - start)
        times = rng.multinomial(n, np.full(n, 1 / n), size=size).astype(np.float32)
        accuracy = (times @ table.T / n).reshape(size, rates, seeds)
        drawn = rng.integers(0, seeds, (size, rates, seeds))
        curves[start : start + size] = np.take_along_axis(accuracy, drawn, axis=2).mean(axis=2)
    return curves


BLOCK = 200  # resamplings held at once


def interval(values: NDArray[np.float64], *, level: float = 0.95) -> tuple[float, float]:
    """Percentiles of resampled values."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _curve(accuracies: ArrayLike, strengths: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, r = np.asarray(accuracies, dtype=np.float64), np.asarray(strengths, dtype=np.float64)
    if r.ndim != 1 or a.shape[-1] != len(r) or len(r) < 2:
        raise InputError(f"accuracies of shape {a.shape} at {r.size} strengths; one each is needed, two at least.")
    if (np.diff(r) <= 0).any():
        raise InputError(f"strengths must grow; they are {', '.join(f'{x:g}' for x in r)}.")
    return a, r
