"""How many examples are needed: for an error bar on k models like these, and to tell two of them apart.

All of it plugs in the errors, similarities and design effects of the pool as if they were the true ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit
from scipy.stats import nct

from heldout.reuse.grouped import GroupedPool
from heldout.reuse.pool import SMOOTHING
from heldout.reuse.similarity import SimilarityResult
from heldout.statistics.binomial import lower_tail, upper_tail
from heldout.statistics.mcnemar_power import MOST_EXAMPLES, POWER, detectable_gap, examples_for_gap
from heldout.statistics.search import first_where

GAP = 0.01  # one percentage point, where no other gap is asked for
MOST_DRAWN = 1_000  # models; beyond, examples are told by the pool's own error bar
DRAWS, MOST_CELLS = 20_000, 4_000_000  # of a normal vector over the models, and of its entries
SOME = 60  # models whose pairs tell what groups cost a difference
ROUND = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
FINEST = 1e-6

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Needed:
    """Examples that answers take, and what can be told with those there are.

    Parameters
    ----------
    n_models : int
        Models that shall all be within epsilon at once: those of the pool; one, where there is none.
    epsilon : float
        Error bar asked for.
    examples_for_epsilon : int or None
        Examples at which all are within epsilon with probability 1 - delta; None past 10^12.
    disagreement : float
        Share of examples on which exactly one of two models is right, on average over pairs.
    gap_now : float
        The smallest true difference between two models, named beforehand, that their paired test at level delta shows
        with probability `power` on the examples there are; NaN where there are too few for any.
    gap : float
        Difference asked for.
    examples_for_gap : int or None
        Examples that show it; None past 10^12.
    first_gap, examples_for_first
        The difference between the first two on the leaderboard, and the examples that show one as large at their own
        disagreement; None where the two are equal, and past 10^12.
    """

    n_models: int
    epsilon: float
    examples_for_epsilon: int | None
    disagreement: float
    gap_now: float
    gap: float
    examples_for_gap: int | None
    first_gap: float | None
    examples_for_first: int | None
    power: float = POWER

    def to_dict(self) -> dict[str, Any]:
        """Plain data; an undefined number is None."""
        return {name: None if _undefined(value) else value for name, value in vars(self).items()}


def _undefined(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def round_up(epsilon: float) -> float:
    """The next round number that is no smaller: one, one and a half, two, ... times a power of ten; below 1.

    Examples
    --------
    >>> round_up(0.0094), round_up(0.0132), round_up(0.071), round_up(0.02), round_up(0.97)
    (0.01, 0.015, 0.08, 0.02, 0.99)
    """
    scale = 10.0 ** math.floor(math.log10(epsilon))
    steps = [float(f"{step * scale:.6g}") for step in ROUND]
    return min(0.99, next(step for step in steps if step >= epsilon * (1 - 1e-12)))


def pool_needed(
    counts: SimilarityResult,
    groups: GroupedPool | None,
    order: NDArray[np.intp],
    *,
    epsilon: float,
    delta: float,
    gap: float,
    reach: float,
    rng: np.random.Generator,
) -> Needed:
    """What a pool of models needs; `reach` is the error bar that it has."""
    first, second = int(order[0]), int(order[1])
    both, only_first, only_second, neither = counts.counts(first, second)
    common = both + only_first + only_second + neither
    lead = (only_second - only_first) / common if common else 0.0
    disagreement = 1 - counts.mean_similarity
    n = round(float(counts.observed.mean()))
    if groups is None:
        for_gap: Callable[[float, float], int | None] = partial(examples_for_gap, level=delta)
        now = detectable_gap(n, disagreement, level=delta)
    else:
        test = _GroupedGap(groups, delta)
        for_gap, now = test.examples, test.now(disagreement)
    return Needed(
        n_models=counts.n_models,
        epsilon=epsilon,
        examples_for_epsilon=_pool_examples(counts, groups, epsilon, delta, n=n, reach=reach, rng=rng),
        disagreement=disagreement,
        gap_now=now,
        gap=gap,
        examples_for_gap=for_gap(gap, disagreement),
        first_gap=lead if lead > 0 else None,
        examples_for_first=for_gap(lead, (only_first + only_second) / common) if lead > 0 else None,
    )


def numbers_needed(
    n: int, error: float, similarity: float, *, epsilon: float, delta: float, gap: float = GAP
) -> Needed:
    """The same for models of one error and one similarity: the error bar of one of them."""
    disagreement = 1 - similarity
    return Needed(
        n_models=1,
        epsilon=epsilon,
        examples_for_epsilon=examples_within(np.array([error]), np.ones((1, 1)), epsilon, delta),
        disagreement=disagreement,
        gap_now=detectable_gap(n, disagreement, level=delta),
        gap=gap,
        examples_for_gap=examples_for_gap(gap, disagreement, level=delta),
        first_gap=None,
        examples_for_first=None,
    )


def examples_within(errors: Floats, normals: Floats, epsilon: float, delta: float) -> int | None:
    r"""Examples at which all errors are within epsilon, ends included, with probability 1 - delta; None past 10^12.

    Each count of wrong answers has its own binomial tails; that they move together is carried over by normal vectors:
    with N examples all models are within where

    .. math:: -\Phi^{-1}(1 - P(S_i < N (p_i - \epsilon))) \le Z_i \le \Phi^{-1}(1 - P(S_i > N (p_i + \epsilon)))
       \quad \text{for all } i,    \tag{1}

    Z normal with the correlations of the models' errors (a Gaussian copula). A bound over all models would ask for
    more: a fifth more examples and beyond where models are alike.

    Parameters
    ----------
    errors : (k,) float
        Error rates.
    normals : (draws, k) float
        Draws of Z; for one model, whatever stands here is not looked at.

    Examples
    --------
    One model that errs half the time: (1.96 / 0.02)² / 4, and a little for whole counts.

    >>> examples_within(np.array([0.5]), np.ones((1, 1)), 0.02, 0.05)
    2375
    """
    z = -float(ndtri(delta / 2))
    largest = float(errors[np.argmax(errors * (1 - errors))])
    least = largest * (1 - largest) * (z / epsilon) ** 2  # of one model, by the normal law
    many = -float(ndtri(delta / 2 / len(errors)))
    most = 2 * errors.max() * (many / epsilon) ** 2 + many / epsilon + 1
    if most > MOST_EXAMPLES:
        return None

    def holds(n: int) -> bool:
        above = upper_tail(np.floor(n * (errors + epsilon) + 1e-9) + 1, n, errors)
        below = lower_tail(np.ceil(n * (errors - epsilon) - 1e-9) - 1, n, errors)
        if len(errors) == 1:
            return float(above[0] + below[0]) <= delta
        with np.errstate(divide="ignore"):
            inside = (normals <= -ndtri(above)) & (normals >= ndtri(below))  # (1)
        return float(np.mean(inside.all(axis=1))) >= 1 - delta

    start, end = max(1, math.floor(least / 2)), max(2, math.ceil(4 * most))
    return first_where(holds, start, end)


def _pool_examples(
    counts: SimilarityResult,
    groups: GroupedPool | None,
    epsilon: float,
    delta: float,
    *,
    n: int,
    reach: float,
    rng: np.random.Generator,
) -> int | None:
    k = counts.n_models
    if k > MOST_DRAWN:
        return _whole(n * (reach / epsilon) ** 2)  # error bars shrink as the root of n
    draws = min(DRAWS, MOST_CELLS // k)
    if groups is None:
        smooth = counts.wrong + 2 * SMOOTHING, counts.observed + 4 * SMOOTHING
        return examples_within(smooth[0] / smooth[1], _draws(_correlations(counts), draws, rng), epsilon, delta)
    residuals = groups.residuals()
    n_groups = residuals.shape[1]
    covariance = residuals @ residuals.T * n_groups / (n_groups - 1)
    sd = np.sqrt(np.diag(covariance))
    scale = np.where(sd > 0, sd, 1.0)
    farthest = np.abs(_draws(covariance / np.outer(scale, scale), draws, rng) * sd).max(axis=1)
    return _whole(n * (float(np.quantile(farthest, 1 - delta)) / epsilon) ** 2)


def _whole(n: float) -> int | None:
    return max(1, math.ceil(n)) if n <= MOST_EXAMPLES else None


def _correlations(counts: SimilarityResult) -> Floats:
    """(k, k) correlation of being wrong, half an example added to each pair's four cells."""
    k = counts.n_models
    out = np.eye(k)
    for i, row in enumerate(counts.rows()):
        n = row.common + 4 * SMOOTHING
        first, second = (row.first_wrong + 2 * SMOOTHING) / n, (row.second_wrong + 2 * SMOOTHING) / n
        spread = np.sqrt(first * (1 - first) * second * (1 - second))
        out[i, i + 1 :] = ((row.both_wrong + SMOOTHING) / n - first * second) / spread
        out[i + 1 :, i] = out[i, i + 1 :]
    return out


def _draws(correlation: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Normal vectors with these correlations; where pairs have different examples, with the nearest that exist."""
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    length = np.sqrt((root**2).sum(axis=1, keepdims=True))
    root = np.divide(root, length, out=np.zeros_like(root), where=length > 0)
    return np.asarray(rng.standard_normal((draws, len(values))) @ root.T)


class _GroupedGap:
    """What the test on sums over groups can see: Student's law with the design effect that differences have here."""

    def __init__(self, groups: GroupedPool, level: float) -> None:
        self.level = level
        self.n = float(groups.sizes.sum())
        k = len(groups.counts)
        some = np.argsort(groups.similarity.errors, kind="stable")[
            np.linspace(0, k - 1, min(k, SOME)).round().astype(np.intp)
        ]
        parts = [groups.spread(first, some[place + 1 :]) for place, first in enumerate(some[:-1].tolist())]
        times, df = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
        self.times, self.df = float(np.median(times)), float(np.median(df))

    def power(self, n: float, disagreement: float, gap: float) -> float:
        psi = max(disagreement, gap)
        df = max(1.0, (self.df + 1) * n / self.n - 1)
        spread = math.sqrt(max(psi - gap * gap, 1e-12) * self.times / n)
        return float(nct.sf(-stdtrit(df, self.level / 2), df, gap / spread))

    def now(self, disagreement: float) -> float:
        return self._smallest(lambda i: self.power(self.n, disagreement, i * FINEST) >= POWER)

    def _smallest(self, holds: Callable[[int], bool]) -> float:
        steps = round(1 / FINEST)
        return first_where(holds, 1, steps) * FINEST if holds(steps - 1) else math.nan

    def examples(self, gap: float, disagreement: float) -> int | None:
        z = -float(ndtri(self.level / 2)) + float(ndtri(POWER))
        start = max(disagreement, gap) * self.times * (z / gap) ** 2
        if start > MOST_EXAMPLES / 4:
            return None
        most = math.ceil(4 * start + 40 * self.n / (self.df + 1))
        return first_where(lambda n: self.power(float(n), disagreement, gap) >= POWER, max(2, int(start / 8)), most)
