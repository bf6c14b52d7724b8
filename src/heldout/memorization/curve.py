"""A curve: accuracy on the training set as it is perturbed more and more, and its metrics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.groups import design_effect
from heldout.memorization.metrics import (
    K_MAX,
    K_PTV,
    K_S,
    SSE,
    Estimate,
    Metric,
    equal_steps,
    estimate,
)
from heldout.memorization.spread import Spread, shares, spread_of
from heldout.statistics.binomial import clopper_pearson

PMV, PTV = "pmv", "ptv"
LEVEL = 0.95


@dataclass(frozen=True, kw_only=True, eq=False)
class Exhibits:
    """A few examples as they were perturbed.

    Parameters
    ----------
    rows : (k,) int
        Which examples.
    pictures : (k, p, height, width, channels) uint8
        Each at every strength.
    right : (k, p) bool
        Whether the model was right.
    """

    rows: NDArray[np.intp]
    labels: NDArray[np.int64]
    pictures: NDArray[np.uint8]
    right: NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """Accuracy of one model at growing strengths of one perturbation.

    Parameters
    ----------
    model, perturbation : str
        Names. Of label noise there are two curves: "pmv" is the accuracy on the labels that were trained on, "ptv"
        the one on the true labels.
    unit : str
        What the strengths count.
    strengths : (p,) float
        Beginning with 0, growing.
    correct : (p, s, n) bool
        Whether the model of the s-th training is right on the n-th example; s = 1 for a model that is not trained anew.
    done : (p, s) bool
        Trainings that ended well; the others do not count.
    even : bool
        Whether equal steps of strength are equal by definition, so that the largest step and SSE have a meaning.
    seed : int
        Of the draws behind the intervals.
    wrong : (p, s, n) bool, optional
        Under label noise, which labels were made wrong. How many is fixed, so the accuracy on them and on the others
        are two means: without it intervals are too wide.
    groups : (n,) int, optional
        Codes of groups of examples that depend on each other; intervals then are for groups drawn anew.
    examples : str
        A hash of the examples (and of the wrong labels): models with equal ones are compared example by example.
    unfit : str, optional
        Why the model does not fit its labels, so that label noise says nothing of its memory and it is not ranked.
    undefined : str, optional
        Why the curve has no metric.
    assumed : bool
        The first point was not measured but taken for granted (PTV from a single rate).
    exhibits : Exhibits, optional
    """

    model: str
    perturbation: str
    unit: str
    strengths: NDArray[np.float64]
    correct: NDArray[np.bool_]
    done: NDArray[np.bool_]
    even: bool
    seed: int
    undefined: str | None = None
    assumed: bool = False
    exhibits: Exhibits | None = None
    wrong: NDArray[np.bool_] | None = None
    groups: NDArray[np.intp] | None = None
    examples: str = ""
    unfit: str | None = None

    @property
    def n(self) -> int:
        """Examples."""
        return int(self.correct.shape[2])

    @property
    def accuracies(self) -> NDArray[np.float64]:
        """(p, s) accuracy of every training; NaN where it did not end well."""
        return np.where(self.done, self.correct.mean(axis=2), np.nan)

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """(p,) mean over trainings."""
        return np.array(
            [row[ok].mean() if ok.any() else np.nan for row, ok in zip(self.accuracies, self.done, strict=True)]
        )

    @property
    def units(self) -> int:
        """What is drawn anew: groups, or examples."""
        return self.n if self.groups is None else int(self.groups.max()) + 1

    @property
    def used(self) -> NDArray[np.bool_]:
        """(p,) strengths with a training."""
        return np.asarray(self.done.any(axis=1))

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """(strengths used, s, units) what each example or group adds to the error of each training's accuracy."""
        wrong = None if self.wrong is None else self.wrong[self.used]
        return shares(self.correct[self.used], wrong=wrong, groups=self.groups)

    @cached_property
    def spread(self) -> Spread:
        """The error of the curve at the strengths that are used."""
        return spread_of([self.shares], self.accuracies[self.used], self.done[self.used])

    @cached_property
    def bands(self) -> NDArray[np.float64]:
        """(2, p) each point's own interval: exact for independent answers of one training, else as the metrics' are."""
        out = np.full((2, len(self.strengths)), np.nan)
        for place, i in enumerate(np.flatnonzero(self.used)):
            if self.assumed and i == 0:
                out[:, i] = self.accuracy[i]
            elif self.correct.shape[1] == 1 and self.wrong is None and self.groups is None:
                out[:, i] = clopper_pearson(int(self.correct[i].sum()), self.n, confidence=LEVEL)
            else:
                one = np.eye(int(self.used.sum()))[place]
                far = math.hypot(self.spread.quantile(one, (1 - LEVEL) / 2), -math.log(1 - LEVEL) / self.units)
                out[:, i] = np.clip([self.accuracy[i] - far, self.accuracy[i] + far], 0.0, 1.0)
        return out

    @property
    def design_effect(self) -> float:
        """How many times the variance over examples is what it would be, were they independent: at the largest.

        1 without groups; NaN where no strength tells.
        """
        if self.groups is None:
            return 1.0
        found = [design_effect(right[ok].mean(axis=0), self.groups) for right, ok in self._measured]
        return max((d for d in found if not math.isnan(d)), default=math.nan)

    @property
    def _measured(self) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        rows = [i for i in np.flatnonzero(self.used) if not (self.assumed and i == 0)]
        return [(self.correct[i], self.done[i]) for i in rows]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What is asked of a curve of this kind."""
        return {PMV: (K_S,), PTV: (K_PTV,)}.get(self.perturbation, (K_MAX, SSE))

    def estimate(self, metric: Metric, *, level: float = LEVEL) -> Estimate:
        """One metric with its interval, or why it has no meaning here."""
        used = self.used
        strengths = self.strengths[used]
        reason = self.undefined
        if reason is None and self.units < 2:
            reason = f"one {'example' if self.groups is None else 'group'} has no interval."
        if reason is None and len(strengths) < metric.points:
            reason = f"{metric.points} strengths at least are needed."
        if reason is None and metric.even and not self.even:
            reason = f"steps of {self.unit} are not equal, so that the largest one and a straight line mean nothing."
        if reason is None and metric.even and not equal_steps(strengths):
            reason = "the strengths are not equally far apart."
        if reason is not None:
            return Estimate.undefined(reason)
        rng = np.random.default_rng([self.seed, 1])
        return estimate(metric, self.accuracy[used], strengths, spread=self.spread, rng=rng, level=level)

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """Every metric of this curve."""
        return {metric.name: self.estimate(metric) for metric in self.metrics}

    def comparable(self, other: Curve) -> bool:
        """Whether metrics of two curves say the same thing: equal perturbation, unit and strengths that count."""
        mine, theirs = ((c.perturbation, c.unit, c.assumed, c.strengths[c.used].tobytes()) for c in (self, other))
        return mine == theirs

    def shares_examples(self, other: Curve) -> bool:
        """Whether both were measured on the same examples (and wrong labels), so that they are compared in pairs."""
        same = self.examples != "" and self.examples == other.examples and self.correct.shape == other.correct.shape
        if not same or (self.groups is None) != (other.groups is None):
            return False
        return self.groups is None or np.array_equal(self.groups, np.asarray(other.groups))

    def _trainings_dict(self, i: int) -> dict[str, Any]:
        if self.assumed and i == 0:
            return {"assumed": True}
        return {"accuracies": [plain(a) for a in self.accuracies[i]]} if self.correct.shape[1] > 1 else {}

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        low, high = self.bands
        return {
            "perturbation": self.perturbation,
            "unit": self.unit,
            "examples": self.n,
            **({} if self.groups is None else {"groups": self.units, "design_effect": plain(self.design_effect)}),
            "trainings": int(self.done[int(self.assumed) :].sum()) if self.perturbation in (PMV, PTV) else None,
            "curve": [
                {
                    "strength": float(strength),
                    "accuracy": plain(accuracy),
                    "low": plain(low[i]),
                    "high": plain(high[i]),
                    **self._trainings_dict(i),
                }
                for i, (strength, accuracy) in enumerate(zip(self.strengths, self.accuracy, strict=True))
            ],
            "metrics": {name: estimate_dict(found) for name, found in self.estimates.items()},
            **({} if self.unfit is None else {"does_not_fit": self.unfit}),
        }


def plain(value: float) -> float | None:
    """A number for JSON, where NaN is none."""
    return None if np.isnan(value) else float(value)


def estimate_dict(found: Estimate) -> dict[str, Any]:
    """An estimate for JSON."""
    out = {"value": plain(found.value), "low": plain(found.low), "high": plain(found.high)}
    return out if found.reason is None else {**out, "reason": found.reason}
