r"""A pool of scores between 0 and 1, trials among them: error bars over examples, comparisons, what trials cost.

Trials of one example are no new examples. A cell is the mean of its trials, and everything below takes cells (or
groups of them) as the unit, so that the error bars know nothing of trials. What they would gain from more is told by
the variance of a model's mean score over n examples with t trials each,

.. math:: V = \frac{1}{n}\left(B + \frac{W}{t}\right), \qquad
          \hat W = \operatorname{mean}_j w_j, \quad
          \hat B = s^2 - \operatorname{mean}_j \frac{w_j}{t_j},    \tag{1}

B the variance of true scores between examples, W that of one trial inside an example (w_j, divisor t_j - 1), s² the
variance of the cells (divisor n - 1). With m times as many trials error bars shrink by the factor

.. math:: \sqrt{1 - q\,(1 - 1/m)}, \qquad q = \frac{\operatorname{mean}_j (w_j / t_j)}{n V},    \tag{2}

which is never below sqrt(1 - q), however many trials there are; only more examples help further.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from heldout.groups import group_sizes
from heldout.predictions import Predictions
from heldout.progress import plain_bar
from heldout.reuse.bounds import TestableModels, whole_models
from heldout.reuse.grouped import ExampleGroups, Grouping, group_moments
from heldout.reuse.leaderboard import ScoreComparison, TestedPairs
from heldout.statistics.binomial import sign_test_log_pvalue
from heldout.statistics.bounded_differences import bounded_log_p_values
from heldout.statistics.grouped import Floats, GroupMoments
from heldout.statistics.score_means import mean_score_intervals, mean_score_levels

FINEST = 1e-5  # of an error bar, to which it is found
SCORES_ONLY = (
    "the similarity and Naive Bayes bounds are for answers that are right or wrong, so only the union bound is given "
    "(counting a score of 0.5 or more as right makes them so)"
)


class ScoredPool:
    """The scores of k models, and their differences, over examples or groups of them."""

    def __init__(self, table: Predictions, grouping: Grouping | None) -> None:
        self.table, self.grouping = table, grouping
        self.scores, self.observed = table.scores, table.observed
        n = table.n_examples
        codes = np.arange(n) if grouping is None else grouping.codes
        self._order = np.argsort(codes, kind="stable")
        self._starts = np.flatnonzero(np.diff(codes[self._order], prepend=-1))
        self.sizes = group_sizes(codes).astype(np.float64)
        self._alone = len(self.sizes) == n

    def sums(self, cells: NDArray[np.float64] | NDArray[np.bool_]) -> Floats:
        """Sums over groups, (..., G)."""
        values = np.asarray(cells, dtype=np.float64)
        return values if self._alone else np.add.reduceat(values[..., self._order], self._starts, axis=-1)

    @cached_property
    def moments(self) -> GroupMoments:
        """Moments of every model's scores."""
        sums = self.sums(self.scores)
        sizes = np.broadcast_to(self.sizes, sums.shape) if self.observed is None else self.sums(self.observed)
        return group_moments(sums, sizes, np.einsum("ij,ij->i", self.scores, self.scores))

    @cached_property
    def _correlation(self) -> Floats:
        return self.moments.correlation()

    @property
    def means(self) -> Floats:
        """(k,) mean scores."""
        return np.asarray(self.moments.total / self.moments.n)

    def intervals(self, level: float) -> tuple[Floats, Floats]:
        """Intervals of every model's mean score, each at 1 - level."""
        return mean_score_intervals(self.moments, self._correlation, level)

    def reach(self, delta: float) -> float:
        """The smallest epsilon whose costs over all models are at most delta: all means are within it at once."""
        low, high = self.intervals(delta / len(self.scores))
        bad, good = 0.0, float(np.maximum(high - self.means, self.means - low).max())  # Bonferroni's will do
        while good - bad > FINEST * good:
            middle = (bad + good) / 2
            fits = float(mean_score_levels(self.moments, self._correlation, middle).sum()) <= delta
            bad, good = (bad, middle) if fits else (middle, good)
        return good

    def fits(self, epsilon: float, delta: float, times: float) -> bool:
        """Whether all means would be within epsilon at once with so many times as many examples, or groups, like these.

        The costs are those of `reach`, which is the smallest epsilon that fits with those there are.
        """
        m = self.moments.repeated(times)
        return float(mean_score_levels(m, m.correlation(), epsilon).sum()) <= delta

    def testable(self, epsilon: float, delta: float) -> TestableModels:
        """How many models like these fit, by the union bound."""
        cost = float(mean_score_levels(self.moments, self._correlation, epsilon).mean())
        return TestableModels(union=whole_models(delta, cost), similarity=None, naive_bayes=None, reason=SCORES_ONLY)

    def described(self) -> ExampleGroups | None:
        """The groups as a result shows them."""
        g = self.grouping
        if g is None:
            return None
        return ExampleGroups(
            n_groups=len(self.sizes),
            smallest=int(self.sizes.min()),
            largest=int(self.sizes.max()),
            named=g.named,
            n_repeated=g.n_repeated,
            repeated_in=g.repeated_in,
            design_effect=self.moments.design_effect,
        )

    def variances(self) -> tuple[Floats, Floats, Floats]:
        """(k,) variance between examples and inside them (1), and the share q of the error bar that trials make (2).

        NaN where cells are single trials, or where their trials are not known one by one.
        """
        m, (inside, of_mean) = self.moments, self._inside
        cells = m.within / np.maximum(m.n - 1, 1)  # s²
        times, _ = m.spread(self._correlation)
        whole = m.within / m.n * times  # n V
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(whole > 0, np.minimum(1.0, of_mean / whole), 0.0)
        between = np.where(np.isnan(inside), math.nan, np.maximum(0.0, cells - of_mean))
        return between, inside, np.where(np.isnan(inside), math.nan, share)

    @cached_property
    def _inside(self) -> tuple[Floats, Floats]:
        """(k,) means over examples of w and of w / t (1); NaN where nothing is known of them."""
        table = self.table
        if table.trials is None or table.within is None:
            unknown = np.full(table.n_models, math.nan)
            return unknown, unknown
        several, there = table.trials > 1, table.trials > 0
        counted = several.sum(axis=1)
        with np.errstate(invalid="ignore"):
            inside = np.where(several, table.within, 0.0).sum(axis=1) / np.where(counted > 0, counted, math.nan)
        # a cell of one trial says nothing of its own; it is taken to vary as the others do
        own = np.where(several, table.within, inside[:, None]) / np.maximum(table.trials, 1)
        return inside, np.where(there, own, 0.0).sum(axis=1) / there.sum(axis=1)

    def pair_trial_shares(self, first: int, others: NDArray[np.intp], error: Floats) -> Floats:
        """The share (2) that trials make of the squared standard errors of differences; NaN where it is not known."""
        _, of_mean = self._inside
        n = np.full(len(others), float(self.table.n_examples))
        if self.observed is not None:
            n = (self.observed[first] & self.observed[others]).sum(axis=1).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (of_mean[first] + of_mean[others]) / (n * error**2)
        return np.asarray(np.minimum(1.0, share))

    def differences(self, first: int, others: NDArray[np.intp]) -> tuple[Floats, NDArray[np.bool_]]:
        """Scores of one model less those of each of some others on the examples that both have, and where these are."""
        apart = self.scores[first] - self.scores[others]
        if self.observed is None:
            return apart, np.ones((len(others), 1), dtype=bool)
        common = self.observed[first] & self.observed[others]
        return np.where(common, apart, 0.0), common

    @cached_property
    def _right_or_wrong(self) -> NDArray[np.bool_]:
        """(k,) models whose scores are all 0 or 1."""
        whole = (self.scores == 0) | (self.scores == 1)
        return np.asarray((whole if self.observed is None else whole | ~self.observed).all(axis=1))

    def log_p_values(self, first: int, others: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
        """Log p-values, two-sided, that one model is as good as each of some others; mean differences, standard errors.

        Those of `compare`: a test of the mean of bounded differences (`heldout.statistics.bounded_differences`), which
        is McNemar's exact test where both are right or wrong on every example.
        """
        apart, common = self.differences(first, others)
        sums = self.sums(apart)
        sizes = np.broadcast_to(self.sizes, sums.shape) if self.observed is None else self.sums(common)
        moments = group_moments(sums, sizes, np.einsum("ij,ij->i", apart, apart))
        log_p = bounded_log_p_values(sums, sizes)
        if self._alone and self._right_or_wrong[first]:
            for k in np.flatnonzero(self._right_or_wrong[others]).tolist():
                log_p[k] = sign_test_log_pvalue(int((apart[k] > 0).sum()), int((apart[k] < 0).sum()))
        above, below = moments.correlation_parts()
        own = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
        error = np.sqrt(moments.within * moments.spread(np.clip(own, 0.0, 1.0))[0]) / moments.n
        return log_p, np.asarray(moments.total / moments.n), np.asarray(error)


class ScorePairs(TestedPairs):
    """Pairs of models with scores: differences, their standard errors, and what trials make of these."""

    def __init__(self, pool: ScoredPool, delta: float, *, progress: bool = False) -> None:
        k = pool.table.n_models
        super().__init__(k, delta)
        parts: list[tuple[Floats, Floats, Floats, Floats]] = []
        with plain_bar(k - 1, "pairs of models", unit="models", shown=progress and k > 200) as bar:
            for i in range(k - 1):
                others = np.arange(i + 1, k)
                log_p, difference, error = pool.log_p_values(i, others)
                parts.append((log_p, difference, error, pool.pair_trial_shares(i, others, error)))
                bar.update()
        self._log_p, self.difference, self.error, self.trial_share = (
            np.concatenate(part) for part in zip(*parts, strict=True)
        )

    @property
    def log_p(self) -> Floats:
        """(pairs,) two-sided, of each pair alone, in pdist's order."""
        return self._log_p

    @cached_property
    def sign(self) -> NDArray[np.int8]:
        """(pairs,) 1 where the first is better on the examples both have, -1 where the second is."""
        return np.asarray(np.sign(self.difference), dtype=np.int8)

    def compare(self, better: int, worse: int) -> ScoreComparison:
        """One pair, held to what all of them leave it."""
        place = self.place(better, worse)
        difference = float(self.difference[place]) * (1 if better < worse else -1)
        told = float(self.log_p[place]) <= math.log(self.level)
        return ScoreComparison(
            better=better,
            worse=worse,
            difference=difference,
            log_p_value=float(self.log_p[place]),
            log_adjusted=float(self.log_adjusted[place]),
            survives=told and difference > 0,
            contradicted=told and difference < 0,
        )
