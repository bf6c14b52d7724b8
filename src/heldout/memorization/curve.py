"""A curve: accuracy on the training set as it is perturbed more and more, with its bands and metrics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
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
from heldout.results import Record
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


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Curve(Record):
    """Accuracy of one model at growing strengths of one perturbation; `Curve.of` makes it from answers.

    Parameters
    ----------
    model, perturbation : str
        Names. Label noise has two curves: "pmv" is the accuracy on the labels that were trained on, "ptv" the one on
        the true labels.
    unit : str
        What the strengths count.
    strengths : (p,) float
        Beginning with 0, growing.
    correct : (p, s, n) bool
        Whether the model of the s-th training is right on the n-th example. Under label noise every strength has
        trainings of its own; otherwise the s-th is the same model at all strengths, and s = 1 where there is one.
    done : (p, s) bool
        Trainings that ended well; the others do not count.
    even : bool
        Whether equal steps of strength are equal by definition, so that the largest step and SSE have a meaning.
    seed : int
        Of the draws behind the intervals.
    accuracies : (p, s) float
        Of every training; NaN where it did not end well.
    bands : (2, p) float
        Each point's own interval: exact for independent answers of one training, else as for the metrics.
    estimates : dict of str to Estimate
        Every metric of this curve with its interval, or why it has no meaning here.
    design_effect : float
        How many times the variance over examples is what it would be if they were independent, at the largest: 1
        without groups, NaN where no strength tells.
    wrong : (p, s, n) bool, optional
        Under label noise, which labels were made wrong. Their number is fixed, so the accuracy on them and on the
        others are two means: without `wrong` intervals are too wide.
    groups : (n,) int, optional
        Codes of groups of examples that depend on each other; intervals are then for groups drawn anew.
    examples : str
        A hash of the examples (and of the wrong labels): models with equal ones are compared example by example.
    unfit : str, optional
        Why the model does not fit its labels, so that label noise says nothing of its memory and it is not ranked.
    undefined : str, optional
        Why the curve has no metric.
    assumed : bool
        The first point was not measured but assumed (PTV from a single rate).
    exhibits : Exhibits, optional
        Some examples as they were perturbed.
    precision, batch_size, way : str, int, str, optional
        Of a finished model: its arithmetic, the batches that its scores came in, and what ran it: "torch",
        "torch.compile" or "ONNX Runtime" for torch modules.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import Curve
    >>> right = np.array([[[1, 1, 1, 1]], [[1, 1, 0, 0]], [[1, 0, 0, 0]]], dtype=bool)
    >>> curve = Curve.of(
    ...     model="net", perturbation="spatial", unit="pixels", strengths=np.arange(3.0), correct=right,
    ...     done=np.ones((3, 1), dtype=bool), even=True, seed=0,
    ... )
    >>> curve.accuracy.tolist(), curve.n
    ([1.0, 0.5, 0.25], 4)
    """

    unlisted = (
        "model", "strengths", "correct", "done", "even", "seed", "accuracies", "bands", "estimates", "undefined",
        "assumed", "exhibits", "wrong", "unfit",
    )  # fmt: skip
    derived = (
        ("examples", "n"), ("groups", "n_groups"), "trainings", ("curve", "points"), ("metrics", "estimates"),
        ("does_not_fit", "unfit"),
    )  # fmt: skip

    model: str
    perturbation: str
    unit: str
    strengths: NDArray[np.float64]
    correct: NDArray[np.bool_]
    done: NDArray[np.bool_]
    even: bool
    seed: int
    accuracies: NDArray[np.float64]
    bands: NDArray[np.float64]
    estimates: dict[str, Estimate]
    design_effect: float
    undefined: str | None = None
    assumed: bool = False
    exhibits: Exhibits | None = None
    wrong: NDArray[np.bool_] | None = None
    groups: NDArray[np.intp] | None = None
    examples: str = ""
    unfit: str | None = None
    precision: str | None = None
    batch_size: int | None = None
    way: str | None = None

    @classmethod
    def of(cls, **measured: Any) -> Curve:
        """The curve of what was measured: all fields but accuracies, bands, estimates and design effect, which follow.

        Parameters
        ----------
        **measured
            Fields of the class.

        Returns
        -------
        Curve
            With bands and metrics.

        Examples
        --------
        >>> import numpy as np
        >>> from heldout import Curve
        >>> right = np.array([[[1, 1, 1, 1]], [[1, 1, 0, 0]], [[1, 0, 0, 0]]], dtype=bool)
        >>> curve = Curve.of(
        ...     model="net", perturbation="spatial", unit="pixels", strengths=np.arange(3.0), correct=right,
        ...     done=np.ones((3, 1), dtype=bool), even=True, seed=0,
        ... )
        >>> curve.accuracy.tolist(), curve.estimates["k_max"].value
        ([1.0, 0.5, 0.25], 0.5)
        """
        accuracies = np.where(measured["done"], measured["correct"].mean(axis=2), np.nan)
        bare = cls(**measured, accuracies=accuracies, bands=np.zeros((2, 0)), estimates={}, design_effect=math.nan)
        done = bare.done[bare.used]
        if not bare.retrained and (done != done[:1]).any():
            raise InputError(
                f"`done` of {bare.perturbation!r} differs from strength to strength; a model that is perturbed is the "
                "same at all of them: leave out those that were not measured at some strength."
            )
        made = cls(
            **measured,
            accuracies=accuracies,
            bands=_bands(bare),
            estimates={metric.name: _estimate(bare, metric) for metric in metrics_of(bare.perturbation)},
            design_effect=_design_effect(bare),
        )
        vars(made).update({key: value for key, value in vars(bare).items() if key in ("shares", "spread")})
        return made

    @property
    def n(self) -> int:
        """Examples."""
        return int(self.correct.shape[2])

    @property
    def n_groups(self) -> int | None:
        """Groups of them, where there are any."""
        return None if self.groups is None else int(self.groups.max()) + 1

    @property
    def units(self) -> int:
        """What is drawn anew: groups, or examples."""
        return self.n_groups or self.n

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """(p,) mean over trainings."""
        return np.array(
            [row[ok].mean() if ok.any() else np.nan for row, ok in zip(self.accuracies, self.done, strict=True)]
        )

    @property
    def used(self) -> NDArray[np.bool_]:
        """(p,) strengths with a training."""
        return np.asarray(self.done.any(axis=1))

    @property
    def line(self) -> NDArray[np.float64]:
        """(4, q) the strengths at which a training ended well, the accuracy there, and the ends of its band."""
        return np.stack([self.strengths, self.accuracy, *self.bands])[:, self.used]

    @property
    def trainings(self) -> int | None:
        """How many ended well, of a model that is retrained."""
        return int(self.done[int(self.assumed) :].sum()) if self.retrained else None

    @property
    def points(self) -> list[dict[str, Any]]:
        """One per strength, for JSON."""
        found = []
        for i, (strength, accuracy) in enumerate(zip(self.strengths, self.accuracy, strict=True)):
            point = {"strength": strength, "accuracy": accuracy, "low": self.bands[0, i], "high": self.bands[1, i]}
            if self.assumed and i == 0:
                point["assumed"] = True
            elif self.correct.shape[1] > 1:
                point["accuracies"] = self.accuracies[i]
            found.append(point)
        return found

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """(strengths used, s, units) what each example or group adds to the error of each training's accuracy."""
        wrong = None if self.wrong is None else self.wrong[self.used]
        return shares(self.correct[self.used], wrong=wrong, groups=self.groups)

    @property
    def mean_shares(self) -> NDArray[np.float64]:
        """(strengths used, units) the same of the mean over trainings, of a model that is perturbed."""
        return np.asarray(self.shares[:, self.done.any(axis=0)].mean(axis=1))

    @cached_property
    def spread(self) -> Spread:
        """The error of the curve at the strengths that are used."""
        return spread_of([self.shares], self.accuracies[self.used], self.done[self.used], same=not self.retrained)

    @property
    def retrained(self) -> bool:
        """Whether every strength has trainings of its own (label noise), or the same models stand at all of them."""
        return self.perturbation in (PMV, PTV)

    def comparable(self, other: Curve) -> bool:
        """Whether metrics of two curves say the same thing: equal perturbation, unit and strengths that count.

        Parameters
        ----------
        other : Curve
            Of another model, say.

        Returns
        -------
        bool
            Whether they can be ranked together.
        """
        mine, theirs = ((c.perturbation, c.unit, c.assumed, c.strengths[c.used].tobytes()) for c in (self, other))
        return mine == theirs

    def shares_examples(self, other: Curve) -> bool:
        """Whether both were measured on the same examples (and wrong labels), so that they are compared in pairs.

        Parameters
        ----------
        other : Curve
            Of another model, say.

        Returns
        -------
        bool
            False also where it is not known.
        """
        mine, theirs = (c.correct.shape if c.retrained else c.correct.shape[2:] for c in (self, other))
        same = self.examples != "" and self.examples == other.examples and mine == theirs
        if not same or (self.groups is None) != (other.groups is None):
            return False
        return self.groups is None or np.array_equal(self.groups, np.asarray(other.groups))


def metrics_of(perturbation: str) -> tuple[Metric, ...]:
    """What is asked of a curve of this kind."""
    return {PMV: (K_S,), PTV: (K_PTV,)}.get(perturbation, (K_MAX, SSE))


def _bands(curve: Curve) -> NDArray[np.float64]:
    out = np.full((2, len(curve.strengths)), np.nan)
    accuracy = curve.accuracy
    for place, i in enumerate(np.flatnonzero(curve.used)):
        if curve.assumed and i == 0:
            out[:, i] = accuracy[i]
        elif curve.correct.shape[1] == 1 and curve.wrong is None and curve.groups is None:
            out[:, i] = clopper_pearson(int(curve.correct[i].sum()), curve.n, confidence=LEVEL)
        else:
            one = np.eye(int(curve.used.sum()))[place]
            far = math.hypot(curve.spread.quantile(one, (1 - LEVEL) / 2), -math.log(1 - LEVEL) / curve.units)
            out[:, i] = np.clip([accuracy[i] - far, accuracy[i] + far], 0.0, 1.0)
    return out


def _design_effect(curve: Curve) -> float:
    if curve.groups is None:
        return 1.0
    rows = [i for i in np.flatnonzero(curve.used) if not (curve.assumed and i == 0)]
    found = [design_effect(curve.correct[i][curve.done[i]].mean(axis=0), curve.groups) for i in rows]
    return max((d for d in found if not math.isnan(d)), default=math.nan)


def _estimate(curve: Curve, metric: Metric) -> Estimate:
    """One metric with its interval, or why it has no meaning here."""
    used = curve.used
    strengths = curve.strengths[used]
    reason = curve.undefined
    if reason is None and curve.units < 2:
        reason = f"one {'example' if curve.groups is None else 'group'} has no interval."
    if reason is None and len(strengths) < metric.points:
        reason = f"at least {metric.points} strengths are needed."
    if reason is None and metric.even and not curve.even:
        reason = f"steps of {curve.unit} are not equal, so that the largest one and a straight line mean nothing."
    if reason is None and metric.even and not equal_steps(strengths):
        reason = "the strengths are not equally far apart."
    if reason is not None:
        return Estimate.undefined(reason)
    rng = np.random.default_rng([curve.seed, 1])
    return estimate(metric, curve.accuracy[used], strengths, spread=curve.spread, rng=rng, level=LEVEL)
