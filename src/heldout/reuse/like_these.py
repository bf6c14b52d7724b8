"""How many models like those of a given pool a test set can take: errors and similarities as unequal as they are.

K models "like these" are of the pool's own kinds in equal shares: a kind has the error of one of the k models, and with
any other kind the similarity that those two models have. Then

* union bound: K times the mean of the models' own tails (2);
* similarity union bound: one model of the pool is the anchor, its event widened to c; a further model of kind i costs
  P(E_i and the anchor below c), the mean over the kinds counts (3); or, where that allows more, the pool's own
  spanning tree (Hunter and Worsley), to which a further model of kind i is tied where kind i overlaps most;
* Naive Bayes: one W for all, kind i errs with x_i = p_i / P(W) where W = 1, so that K models are all within with
  probability exp(K mean_i log(1 - r_i(j))) given ΣW = j (15).

With k equal models the first, the anchor's and the last are the paper's bounds. The tail at the mean error is *not* the
mean of the tails: thirty CIFAR-10 models with errors from 3 % to 18 % would pass for 594 instead of 41 by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from heldout.reuse.bounds import LARGEST, TestableModels, largest_where, naive_bayes_sum, whole_models
from heldout.reuse.pool import Counts, PoolBound, Tree, normal_overlap
from heldout.statistics.binomial import lower_tail, upper_tail
from heldout.statistics.joint_binomial import Coupling, Side

MOST_KINDS = 256  # of larger pools, evenly down the leaderboard
WIDENINGS = 15  # thresholds tried for the anchor on each tail, and again between the best one's neighbours
NODES_PER_SD = 64
TOLERANCE = 0.05  # of P(both wrong), by which Assumption A1 may be off beyond sampling error and still be said to fit


class LikeThese:
    """K models of the pool's kinds, none of which may be off by epsilon or more."""

    def __init__(self, pool: PoolBound, epsilon: Fraction, delta: float, tree: Tree | None = None) -> None:
        self.pool, self.delta, self._tree = pool, delta, tree
        # Whole numbers of examples, n_i epsilon rounded up; as Python integers, for a long decimal overflows int64.
        self.reach: Counts = np.array([math.ceil(n * epsilon) for n in pool.n.tolist()], dtype=np.int64)
        self.above, self.below = pool.marginals(pool.wrong - self.reach, pool.wrong + self.reach)
        self.cost = float(np.mean(self.above + self.below))
        order = np.argsort(pool.p, kind="stable")
        places = np.linspace(0, len(order) - 1, min(len(order), MOST_KINDS)).round().astype(np.intp)
        self.kinds: NDArray[np.intp] = order[places]

    @cached_property
    def tree(self) -> Tree:
        """The one that was given, or the best at this epsilon."""
        return self.pool.tree(self.pool.wrong + self.reach) if self._tree is None else self._tree

    def testable(self) -> TestableModels:
        """The three counts."""
        union = whole_models(self.delta, self.cost)
        naive_bayes, reason = self.naive_bayes()
        similarity = max(union, self.similarity(), self.by_tree())
        return TestableModels(union=union, similarity=similarity, naive_bayes=naive_bayes, reason=reason)

    def by_tree(self) -> int:
        """By Hunter and Worsley's inequality: the pool's own tree, and every further model tied to it by one edge.

        A further model of kind i overlaps with a model of the pool as model i does. 0 where the pool itself does not
        fit.
        """
        pool, tree = self.pool, self.tree
        i, j = tree.first, tree.second
        pair = pool.n[i], pool.p[i], pool.p[j], tree.both_wrong
        low, high = pool.wrong - self.reach, pool.wrong + self.reach
        overlap = pool.joint_tails(*pair, high[i], high[j])
        overlap = overlap + pool.joint_tails(*pair, low[i], low[j], sides=("lower", "lower"))
        k = len(pool.n)
        left = self.delta - (k * self.cost - float(overlap.sum()))
        if left < 0:
            return 0
        most = np.zeros(k)
        np.maximum.at(most, i, overlap)
        np.maximum.at(most, j, overlap)
        return min(LARGEST, k + whole_models(left, max(0.0, self.cost - float(most.mean()))))

    def similarity(self) -> int:
        """By the refined union bound (3) around the anchor that promises most."""
        if float((self.above + self.below).min()) > self.delta:
            return 0
        anchor = self._anchor()
        share, comparable = self.pool.shares_with(anchor)
        sides = [self._side(anchor, share, comparable, side) for side in ("upper", "lower")]
        ratio = (self.delta - sides[0][0][:, None] - sides[1][0][None, :]) / np.maximum(
            sides[0][1][:, None] + sides[1][1][None, :], 1e-300
        )
        best = float(ratio.max())
        return LARGEST if best >= LARGEST else max(0, math.floor(best))  # the anchor itself is not counted

    def _anchor(self) -> int:
        """The model whose widened event takes most off the others', judged by bivariate normal tails."""
        pool, kinds = self.pool, self.kinds
        with np.errstate(divide="ignore"):
            z = np.clip(-ndtri(self.above), 1e-3, 37.0)
        sd = np.sqrt(pool.p * (1 - pool.p))
        best, anchor = -math.inf, int(kinds[0])
        for a in kinds.tolist():
            share, comparable = pool.shares_with(a)
            others = kinds[comparable[kinds]]
            if not len(others):
                continue
            correlation = (share[others] - pool.p[a] * pool.p[others]) / (sd[a] * sd[others])
            for widened in z[a] * np.linspace(0.5, 1.0, 6):
                saved = normal_overlap(float(widened), z[others], correlation).sum() / len(kinds)
                left = self.delta / 2 - float(ndtr(-widened))
                ratio = left / max(float(self.above[kinds].mean()) - saved, 1e-300)
                if ratio > best:
                    best, anchor = ratio, a
        return anchor

    def _side(
        self, anchor: int, share: NDArray[np.float64], comparable: NDArray[np.bool_], side: Side
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """One tail at several widenings: P(anchor's event), mean cost of another model."""
        pool, kinds = self.pool, self.kinds
        tails = self.above if side == "upper" else self.below
        sign = 1 if side == "upper" else -1
        # A further model of the anchor's own kind is another model: what it shares with the anchor is not known.
        linked = kinds[comparable[kinds] & (kinds != anchor)]
        alone = tails[kinds].sum() - tails[linked].sum()
        scale = float(tails.mean()) / max(float(tails[kinds].mean()), 1e-300) / len(kinds)
        n, p, wrong = int(pool.n[anchor]), float(pool.p[anchor]), int(pool.wrong[anchor])

        def at(steps: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            own, others = [], []
            for step in steps.tolist():
                edge = wrong + sign * step
                own.append(float((upper_tail if side == "upper" else lower_tail)(edge, n, p)))
                joint = pool.joint_tails(
                    pool.n[linked],
                    pool.p[linked],
                    p,
                    share[linked],
                    pool.wrong[linked] + sign * self.reach[linked],
                    edge - sign,
                    sides=(side, "lower" if side == "upper" else "upper"),
                )
                others.append((alone + float(joint.sum())) * scale)
            return np.array(own), np.array(others)

        most = int(self.reach[anchor])
        steps = np.unique(np.linspace(most / 3, most, WIDENINGS).round().astype(np.int64))
        own, others = at(steps)
        best = int(np.argmax((self.delta / 2 - own) / np.maximum(others, 1e-300)))
        finer = np.arange(steps[max(0, best - 1)], steps[min(len(steps) - 1, best + 1)] + 1)
        if len(finer) > WIDENINGS:
            finer = np.unique(np.linspace(finer[0], finer[-1], WIDENINGS).round().astype(np.int64))
        more_own, more_others = at(finer)
        return np.concatenate([own, more_own]), np.concatenate([others, more_others])

    def naive_bayes(self) -> tuple[int | None, str | None]:
        """Under Assumption A1 with each kind's own error; or why not."""
        shared, reason = common_cause(self.pool)
        if shared is None:
            return None, reason
        pool, kinds = self.pool, self.kinds
        n = pool.largest
        coupling = Coupling(1.0, 1.0, shared)
        sd = math.sqrt(n * shared * (1 - shared))
        values, weights = coupling.nodes(n, step=max(1, math.floor(sd / NODES_PER_SD)))
        x = np.minimum(1.0, pool.p[kinds] / shared)
        high, low = pool.wrong[kinds] + self.reach[kinds], pool.wrong[kinds] - self.reach[kinds]
        off = np.minimum(1.0, upper_tail(high, values[:, None], x) + lower_tail(low, values[:, None], x))
        with np.errstate(divide="ignore"):
            log_inside = np.log1p(-off).mean(axis=1)
        return largest_where(lambda k: naive_bayes_sum(weights, log_inside, k) <= self.delta), None


def common_cause(pool: PoolBound) -> tuple[float | None, str | None]:
    """P(W) of Assumption A1 for models with errors of their own, or why there is none.

    Two models are then both wrong with p_i p_j / P(W): over all pairs, P(W) = mean p_i p_j / mean p_ij. It is no
    smaller than the largest error.
    """
    s = pool.similarity
    if s.common is not None:
        return None, "Assumption A1 needs every model on every example, and some answers are missing"
    p = pool.p
    pairs = (p.sum() ** 2 - (p * p).sum()) / 2
    together = float(s.both_wrong.sum(dtype=np.float64) + pool.smoothing * s.n_pairs) / (
        s.n_examples + 4 * pool.smoothing
    )
    if together < pairs:
        return None, (
            "on average two of these models are both wrong less often than if they erred independently, so the common "
            "cause of errors that Assumption A1 supposes does not exist"
        )
    return max(float(pairs / together), float(p.max())), None


@dataclass(frozen=True, kw_only=True)
class AssumptionFit:
    """How well Assumption A1 predicts that two models are both wrong.

    A pair is off where p_i p_j / P(W) and the share of examples that both get wrong differ by more than `tolerance` of
    the larger one and sampling error on top, over all pairs at once (Bernstein's inequality with the variance that A1
    gives, at delta over the number of pairs). A1 fits where no pair is off.
    """

    n_pairs: int
    n_off: int
    first: int  # the pair that is farthest off
    second: int
    implied: float  # P(both wrong) of that pair by A1
    observed: float
    tolerance: float

    @property
    def fits(self) -> bool:
        """Whether no pair is off."""
        return self.n_off == 0

    def to_dict(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Plain data."""
        worst = {
            "models": [names[self.first], names[self.second]],
            "implied": self.implied,
            "observed": self.observed,
        }
        return {
            "fits": self.fits,
            "pairs_off": self.n_off,
            "n_pairs": self.n_pairs,
            "tolerance": self.tolerance,
            "farthest": worst,
        }


def assumption_fit(pool: PoolBound, delta: float) -> AssumptionFit | None:
    """Compare P(both wrong) by Assumption A1 with what is seen; None where there is no A1, or no pair to spare.

    P(W) is taken from all pairs together, so that a single pair always fits.
    """
    shared, _ = common_cause(pool)
    s = pool.similarity
    if shared is None or s.n_pairs < 2:
        return None
    n, p = s.n_examples, s.errors
    log_term = math.log(2 * s.n_pairs / delta)
    off, farthest = 0, (-math.inf, 0, 1, math.nan, math.nan)
    for i, row in enumerate(s.rows()):
        if i == s.n_models - 1:
            break
        other = p[i + 1 :]
        observed, implied = row.both_wrong / n, p[i] * other / shared
        # Var of x_i x_j - (p_j x_i + p_i x_j) / P(W), whose mean over examples is observed less implied, under A1.
        a, b = other / shared, p[i] / shared
        variance = (
            implied * (1 - implied)
            + a**2 * p[i] * (1 - p[i])
            + b**2 * other * (1 - other)
            - 2 * a * implied * (1 - p[i])
            - 2 * b * implied * (1 - other)
            + 2 * a * b * (implied - p[i] * other)
        )
        noise = np.sqrt(2 * np.maximum(variance, 0.0) * log_term / n) + log_term / (3 * n)
        excess = np.abs(observed - implied) - noise - TOLERANCE * np.maximum(observed, implied)
        off += int((excess > 0).sum())
        j = int(np.argmax(excess))
        if excess[j] > farthest[0]:
            farthest = (float(excess[j]), i, i + 1 + j, float(implied[j]), float(observed[j]))
    _, first, second, by_a1, seen = farthest
    return AssumptionFit(
        n_pairs=s.n_pairs,
        n_off=off,
        first=first,
        second=second,
        implied=by_a1,
        observed=seen,
        tolerance=TOLERANCE,
    )


def difficulty_forecast(pool: PoolBound) -> NDArray[np.float64] | None:
    """(k + 1,) share of examples that at most j models get wrong if Assumption A1 holds, each with its own error."""
    shared, _ = common_cause(pool)
    if shared is None:
        return None
    law = np.ones(1)  # of the number of models wrong where W = 1: a sum of unequal coins
    for x in np.minimum(1.0, pool.p / shared):
        law = np.convolve(law, [1 - x, x])
    return np.minimum(1.0, 1 - shared + shared * np.cumsum(law))
