"""The control test: test set against control set, labels permuted within class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from heldout.errors import InputError
from heldout.statistics.checks import Alternative, Floats, check_alternative

CHUNK_CELLS = 4_000_000  # counts drawn at a time, so that memory stays bounded
FLAT = 1e-8  # share of the sum of squares below which the spread inside a set is rounding, hence 0
TIE = 1e-7  # relative; above what rounding does to a studentised difference whose spread is not FLAT


@dataclass(frozen=True, kw_only=True)
class ControlTestResult:
    """Test set against control on one number an example."""

    difference: float  # test minus control, within class
    standard_error: float
    interval: tuple[float, float]  # 95 %, normal
    p_greater: float
    p_two_sided: float
    alternative: Alternative
    n_test: int
    n_control: int
    n_unmatched: int  # examples of classes that only one of the two sets has
    n_resamples: int

    @property
    def p_value(self) -> float:
        """The p-value of the declared alternative."""
        return self.p_greater if self.alternative == "greater" else self.p_two_sided

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"test minus control {self.difference:+.5f} (95 % {low:+.5f} to {high:+.5f}), "
            f"permutation p = {self.p_value:.2g} ({self.alternative})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {**vars(self), "interval": list(self.interval), "p_value": self.p_value}


class _Stratum:
    """One class: its distinct values, centred, and how often each stands in both sets together."""

    def __init__(self, test: Floats, control: Floats) -> None:
        pooled = np.concatenate([test, control])
        self.n_test, self.n_control = len(test), len(control)
        centre = float(pooled.mean())
        distinct, self.counts = np.unique(pooled, return_counts=True)
        self.values = distinct - centre
        self.moments = np.stack([self.values, self.values**2])  # what a split is judged by
        self.observed = np.stack([test - centre, (test - centre) ** 2]).sum(axis=1)
        self.total = self.moments @ self.counts

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Sum and sum of squares of the test part in `size` random splits, (2, size)."""
        method: Literal["count", "marginals"] = "count" if 4 * len(self.counts) > self.counts.sum() else "marginals"
        counts = rng.multivariate_hypergeometric(self.counts, self.n_test, size=size, method=method)
        return np.asarray(self.moments @ counts.T)


def control_test(
    T_test: ArrayLike,
    T_control: ArrayLike,
    *,
    classes_test: ArrayLike | None = None,
    classes_control: ArrayLike | None = None,
    alternative: Alternative = "two-sided",
    rng: np.random.Generator,
    n_resamples: int = 9999,
) -> ControlTestResult:
    r"""Permutation test that two sets have the same law within each class.

    Labels "test" and "control" are permuted within class; the statistic is the difference of the
    class-wise means, D, over its standard error:

    .. math:: D = \sum_c w_c (\bar T_c - \bar T'_c), \quad w_c \propto \frac{n_c n'_c}{n_c + n'_c},
              \quad se^2 = s^2 \sum_c \frac{w_c^2}{n_c} + s'^2 \sum_c \frac{w_c^2}{n'_c},

    with s, s' the standard deviations within class of each set. p = (b + 1) / (B + 1). Exact if,
    given the class, test and control examples have the same law; sizes and class mixes may differ.
    Without classes this is the studentised difference of two means. The interval is normal and takes
    the spread to be the same in every class, which matters only where the class mixes differ much.

    The permutation law depends on how often each distinct value falls into the test set only, so
    those counts are drawn directly (multivariate hypergeometric).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> same = control_test(rng.normal(1, 1, 200), rng.normal(1, 1, 300), rng=rng)
    >>> same.p_value > 0.05
    True
    >>> control_test([1.0] * 50 + [0.0] * 50, [0.0] * 200, alternative="greater", rng=rng).p_value
    0.0001
    """
    check_alternative(alternative)
    if n_resamples < 1:
        raise InputError(f"`n_resamples` is {n_resamples}; at least 1 is needed.")
    strata, n_unmatched = _strata(T_test, T_control, classes_test, classes_control)
    n_test = sum(s.n_test for s in strata)
    n_control = sum(s.n_control for s in strata)
    if n_test - len(strata) < 1 or n_control - len(strata) < 1:
        raise InputError(
            f"{n_test} test and {n_control} control examples in {len(strata)} shared classes leave no class "
            "with two of each; give a larger control."
        )
    difference, error = _difference(np.stack([s.observed for s in strata])[:, :, None], strata)
    scale = math.sqrt(sum(float(s.total[1]) for s in strata) / (n_test + n_control))
    t_observed = float(_studentise(difference, error, scale)[0])

    # A split that equals the observed one in exact arithmetic must count as a hit after rounding.
    slack = TIE * max(1.0, abs(t_observed)) if math.isfinite(t_observed) else 0.0
    chunk = max(1, CHUNK_CELLS // max(2 * len(strata), *(len(s.counts) for s in strata)))
    n_greater = n_two_sided = done = 0
    while done < n_resamples:
        size = min(n_resamples - done, chunk)
        t = _studentise(*_difference(np.stack([s.draw(size, rng) for s in strata]), strata), scale)
        n_greater += int((t >= t_observed - slack).sum())
        n_two_sided += int((np.abs(t) >= abs(t_observed) - slack).sum())
        done += size

    half = float(norm.isf(0.025)) * float(error[0])
    return ControlTestResult(
        difference=float(difference[0]),
        standard_error=float(error[0]),
        interval=(float(difference[0]) - half, float(difference[0]) + half),
        p_greater=(n_greater + 1) / (n_resamples + 1),
        p_two_sided=(n_two_sided + 1) / (n_resamples + 1),
        alternative=alternative,
        n_test=n_test,
        n_control=n_control,
        n_unmatched=n_unmatched,
        n_resamples=n_resamples,
    )


def _strata(
    test: ArrayLike, control: ArrayLike, classes_test: ArrayLike | None, classes_control: ArrayLike | None
) -> tuple[list[_Stratum], int]:
    """Pair the two sets class by class; also count the examples whose class only one set has."""
    sets = []
    for name, values, classes in (("test", test, classes_test), ("control", control, classes_control)):
        x = np.asarray(values, dtype=np.float64)
        if x.ndim != 1 or x.size == 0 or not np.isfinite(x).all():
            raise InputError(f"`T_{name}` must be a non-empty row of finite numbers; its shape is {x.shape}.")
        c = np.zeros(len(x), dtype=np.int64) if classes is None else np.asarray(classes)
        if c.shape != x.shape:
            raise InputError(f"`classes_{name}` has shape {c.shape} but `T_{name}` has {x.shape}.")
        sets.append((x, c))
    if (classes_test is None) != (classes_control is None):
        raise InputError("give the classes of both sets or of neither.")
    (x_test, c_test), (x_control, c_control) = sets
    if (c_test.dtype.kind in "US") != (c_control.dtype.kind in "US"):
        raise InputError("the classes are text in one set and numbers in the other; give both as the same.")
    shared = np.intersect1d(c_test, c_control)
    if not len(shared):
        raise InputError("the test set and the control share no class, so nothing can be compared.")
    strata = [_Stratum(x_test[c_test == c], x_control[c_control == c]) for c in shared]
    matched = sum(s.n_test + s.n_control for s in strata)
    return strata, len(x_test) + len(x_control) - matched


def _difference(sums: Floats, strata: list[_Stratum]) -> tuple[Floats, Floats]:
    """Weighted within-class difference and its standard error from (class, moment, split) sums."""
    n = np.array([s.n_test for s in strata], dtype=np.float64)[:, None]
    n_control = np.array([s.n_control for s in strata], dtype=np.float64)[:, None]
    rest = np.stack([s.total for s in strata])[:, :, None] - sums
    weights = n * n_control / (n + n_control)
    weights /= weights.sum()
    mean, mean_control = sums[:, 0] / n, rest[:, 0] / n_control
    spread = (sums[:, 1] - n * mean**2).sum(axis=0)
    spread_control = (rest[:, 1] - n_control * mean_control**2).sum(axis=0)
    flat = FLAT * sum(float(s.total[1]) for s in strata)
    spread = np.where(spread > flat, spread, 0.0) / (n.sum() - len(strata))
    spread_control = np.where(spread_control > flat, spread_control, 0.0) / (n_control.sum() - len(strata))
    variance = spread * (weights**2 / n).sum() + spread_control * (weights**2 / n_control).sum()
    return (weights * (mean - mean_control)).sum(axis=0), np.sqrt(variance)


def _studentise(difference: Floats, error: Floats, scale: float) -> Floats:
    """Difference over error; without any spread around it a difference is infinite, and none is 0.

    `scale` is the spread of both sets together, beside which a difference may be mere rounding.
    """
    flat = error == 0.0
    infinite = np.where(np.abs(difference) > TIE * scale, np.copysign(np.inf, difference), 0.0)
    return np.where(flat, infinite, difference / np.where(flat, 1.0, error))
