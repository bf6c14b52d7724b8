"""How far measured accuracies may lie from true ones, when examples (or groups of them) and trainings are drawn anew.

Training s at rate r is right on example i (c = 1) or not (c = 0). How many labels are wrong at a rate is fixed, so its
accuracy is a stratified mean: of the examples with a true label and of those with a wrong one. What an example adds
to the error is its distance from the mean of its own stratum:

    u_rsi = (c_rsi - mean of c_rs over the stratum of i) / n                                              (S1)

A method that reaches every label has no error at all then, as it should: its accuracy on the true labels is 1 - r, in
every training and on every set of examples.

The mean over S trainings errs for two reasons. Examples that are hard are so for every training: that part does not get
smaller with S, and its covariance over rates is what different trainings say alike of the same examples,

    E_rq = sum_i u_r.i u_q.i  less, where r = q,  sum_i var_s(u_rsi) / S_r                                (S2)

(u_r.i is the mean over trainings; what is taken off is the part of its square that different trainings do not share).
And trainings differ, by their wrong labels, their seeds, and by what examples do to each other in one training:

    V_r = var_s(accuracy_rs) / S_r                                                                        (S3)

which holds what (S2) leaves out, so nothing counts twice. A number that is linear in the accuracies with weights w has
the variance w'Ew + sum_r w_r² V_r. Each V_r is known from S_r - 1 degrees of freedom, E from n - 1, so the quantile is
Student's, with the degrees of freedom of Welch and Satterthwaite. With one training per rate there is no (S3), and (S2)
is all that the examples tell.

Under label noise every rate has trainings of its own. Where finished networks are perturbed more and more, the same
networks stand at every strength: then (S2) takes off and (S3) has covariances between strengths too, with S - 1 degrees
of freedom for all of them together. Two such models share examples, and no training (`beside`): how many networks there
are of each, and which of one is listed beside which of the other, says nothing.

Where examples come in groups, u is added up over each group, and groups take the place of examples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

ROUNDING = 1e-12  # of the terms that a variance is added up from; what is below is nothing
Floats = NDArray[np.float64]


def shares(
    right: NDArray[np.bool_], *, wrong: NDArray[np.bool_] | None = None, groups: NDArray[np.intp] | None = None
) -> Floats:
    """(p, s, units) what each example, or group, adds to the error of each training's accuracy (S1).

    Parameters
    ----------
    right : (p, s, n) bool
        Whether a training is right on an example.
    wrong : (p, s, n) bool, optional
        Examples whose label was made wrong; they and the others are two strata.
    groups : (n,) int, optional
        Codes of groups.

    Examples
    --------
    >>> shares(np.array([[[True, True, False, False]]])).round(4).tolist()[0][0]  # 1/8 sqrt(n / (n - 1))
    [0.1443, 0.1443, -0.1443, -0.1443]
    >>> bool(shares(np.eye(4, dtype=bool)[:1, None], wrong=~np.eye(4, dtype=bool)[:1, None]).any())
    False
    """
    n = right.shape[2]
    values = right.astype(np.float64)
    out = np.zeros_like(values)
    for stratum in [np.ones_like(right)] if wrong is None else [wrong, ~wrong]:
        size = stratum.sum(axis=2, keepdims=True)
        mean = (values * stratum).sum(axis=2, keepdims=True) / np.maximum(size, 1)
        stretch = np.sqrt(size / np.maximum(size - 1, 1))  # the mean is the stratum's own
        out += np.where(stratum, (values - mean) * stretch, 0.0)
    out /= n
    if groups is None:
        return out
    order = np.argsort(groups, kind="stable")
    count = int(groups.max()) + 1
    added = np.add.reduceat(out[:, :, order], np.searchsorted(groups[order], np.arange(count)), axis=2)
    return np.asarray(added * math.sqrt(count / max(1, count - 1) * (n - 1) / n))


@dataclass(frozen=True, eq=False)
class Spread:
    """The error of q accuracies.

    Parameters
    ----------
    examples : (q, q) float
        Covariance over examples, E of (S2).
    trainings : (q, q) float
        Covariance over trainings, V of (S3); 0 between accuracies that have no training in common.
    rates : (q,) int
        Accuracies of the same trainings have the same number: those of one rate, of one model or of two that were
        trained on the same labels; all of one model that is perturbed.
    freedom : (q,) float
        Degrees of freedom of V; 0 for one training.
    units : int
        Examples, or groups.
    """

    examples: Floats
    trainings: Floats
    rates: NDArray[np.intp]
    freedom: Floats
    units: int

    def _terms(self, weights: Floats) -> tuple[float, Floats, Floats]:
        """Variance over examples, over the trainings of each rate, and the degrees of freedom of these."""
        by_rate = np.bincount(self.rates, weights=weights * (self.trainings @ weights))
        freedom = np.zeros(len(by_rate))
        freedom[self.rates] = self.freedom
        return max(0.0, float(weights @ self.examples @ weights)), np.maximum(by_rate, 0.0), freedom

    @property
    def fewest(self) -> float | None:
        """The fewest degrees of freedom of a variance over trainings; None where there is none."""
        known = self.freedom[(self.freedom > 0) & (np.diag(self.trainings) > 0)]
        return float(known.min()) if len(known) else None

    def variance(self, weights: Floats) -> float:
        """Of a number that is linear in the accuracies."""
        examples, trainings, _ = self._terms(weights)
        return examples + float(trainings.sum())

    def quantile(self, weights: Floats, tail: float) -> float:
        """How far such a number lies from the true one on one side, but for a share `tail` of the time.

        Welch and Satterthwaite: degrees of freedom (sum V)² / sum(V² / degrees of freedom).
        """
        from scipy.special import stdtrit

        examples, trainings, freedom = self._terms(weights)
        variance = examples + float(trainings.sum())
        size = np.abs(weights)
        if variance <= ROUNDING * float(size @ (np.abs(self.examples) + np.abs(self.trainings)) @ size):
            return 0.0
        known = freedom > 0
        doubt = examples**2 / max(1, self.units - 1) + float(np.sum(trainings[known] ** 2 / freedom[known]))
        return float(stdtrit(variance**2 / doubt, 1 - tail)) * math.sqrt(variance)

    @cached_property
    def roots(self) -> tuple[Floats, Floats]:
        """(q, q) matrices that turn independent standard normal numbers into errors over examples and trainings."""
        return _root(self.examples), _root(self.trainings)

    def drawn(self, count: int, rng: np.random.Generator) -> Floats:
        """(count, q) errors: normal over examples, Student's over trainings, whose covariance few of them tell."""
        over_examples, over_trainings = self.roots
        errors = rng.standard_normal((count, len(self.rates))) @ over_examples
        if self.fewest is not None:
            freedom = np.ones(int(self.rates.max()) + 1)
            freedom[self.rates] = np.maximum(self.freedom, 1)
            stretch = np.sqrt(freedom / rng.chisquare(freedom, (count, len(freedom))))
            errors += rng.standard_normal(errors.shape) @ over_trainings * stretch[:, self.rates]
        return np.asarray(errors)


def _root(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)


def spread_of(parts: Sequence[Floats], accuracies: Floats, done: NDArray[np.bool_], *, same: bool = False) -> Spread:
    """The error of the mean accuracies over trainings.

    Parameters
    ----------
    parts : sequence of (q, s, units) float
        From `shares`; several where an accuracy is a sum over different sets of examples.
    accuracies : (q, s) float
        Of each training. q = p, or 2 p where the accuracies of a second model follow, which shares examples and the
        labels of each training with the first.
    done : (p, s) bool
        Trainings that count, at least one per rate.
    same : bool
        Whether the s-th training is the same network in every row; then a training counts in all rows or in none.
    """
    p, q = len(done), len(accuracies)
    rates = np.zeros(q, dtype=np.intp) if same else np.arange(q) % p
    counts = done[np.arange(q) % p].sum(axis=1)
    examples, trainings = np.zeros((q, q)), np.zeros((q, q))
    for u in parts:
        means = np.stack([u[i][done[i % p]].mean(axis=0) for i in range(q)])
        examples += means @ means.T  # (S2)
    for rate in np.unique(rates):
        rows = np.flatnonzero(rates == rate)
        kept, count = done[rows[0] % p], int(counts[rows[0]])
        if count < 2:
            continue
        at = np.ix_(rows, rows)
        scale = count * (count - 1)
        for u in parts:
            own = u[rows][:, kept]
            own = (own - own.mean(axis=1, keepdims=True)).reshape(len(rows), -1)
            examples[at] -= own @ own.T / scale  # (S2)
        own = accuracies[rows][:, kept]
        own = own - own.mean(axis=1, keepdims=True)
        trainings[at] = own @ own.T / scale  # (S3)
    return Spread(examples, trainings, rates, (counts - 1).astype(np.float64), min(u.shape[2] for u in parts))


def apart(first: Spread, second: Spread) -> Spread:
    """Errors of two sets of accuracies that have nothing in common, one after the other."""
    return Spread(
        block_diag(first.examples, second.examples),
        block_diag(first.trainings, second.trainings),
        np.concatenate([first.rates, second.rates + first.rates.max() + 1]),
        np.concatenate([first.freedom, second.freedom]),
        min(first.units, second.units),
    )


def beside(both: Spread, means: Sequence[tuple[Floats, Floats]]) -> Spread:
    """Errors of accuracies on the same examples by other trainings.

    Parameters
    ----------
    both : Spread
        What `apart` says of them, as if the examples were others, too.
    means : sequence of pairs of (p, units) float
        Means over trainings of what `shares` returns, of both: what (S2) is made from, between them.
    """
    p, examples = len(means[0][0]), both.examples.copy()
    examples[:p, p:] = sum(one @ other.T for one, other in means)
    examples[p:, :p] = examples[:p, p:].T
    return replace(both, examples=examples)
