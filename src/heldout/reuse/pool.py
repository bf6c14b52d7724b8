"""Error bars that hold for all models of a given pool at once, with unequal errors and similarities.

The events "model i is off" overlap where models are similar. For any tree over the models, Hunter and Worsley's
inequality takes the overlaps along its edges off the union bound,

    P(∪ A_i) <= Σ P(A_i) - Σ_{(i, j) in the tree} P(A_i ∩ A_j),

so the bound is never worse than the union bound, whatever tree is chosen. A good tree joins the models whose events
overlap most. Single and joint probabilities are exact binomial tails with the pool's own errors and
similarities plugged in.

References
----------
Hunter (1976). J. Appl. Probab. 13(3), 597-603. Worsley (1982). Biometrika 69(2), 297-302.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, owens_t

from heldout.reuse.similarity import SimilarityResult, condensed_row
from heldout.statistics.binomial import lower_quantile, lower_tail, upper_quantile, upper_tail
from heldout.statistics.joint_binomial import Side, joint_tail
from heldout.statistics.search import first_where
from heldout.workers import in_threads, n_workers

Counts = NDArray[np.int64]

# Examples added to each of a pair's four cells before they are plugged in: few errors must not make models look surer,
# or more alike, than is known. Without, the error bar of the best eight CIFAR-10 models on 1,000 examples missed 5.1 %
# of the time at 5 % (`experiments/mania/results/coverage-plain.json`). At 50,000 examples it changes nothing.
SMOOTHING = 0.5
PIECE = 64  # pairs that a thread takes at a time


@dataclass(frozen=True)
class Tree:
    """Edges of a forest over the models, with what is needed of each pair."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    both_wrong: NDArray[np.float64]  # share of examples


class PoolBound:
    """Bounds on the probability that some model's count of wrong answers leaves its limits."""

    def __init__(self, similarity: SimilarityResult, *, n_jobs: int = 1) -> None:
        self.similarity, self.n_jobs = similarity, n_jobs
        self.n: Counts = similarity.observed
        self.wrong: Counts = similarity.wrong
        self.smoothing = SMOOTHING

    @property
    def p(self) -> NDArray[np.float64]:
        """Error rates as they are plugged in."""
        return (self.wrong + 2 * self.smoothing) / (self.n + 4 * self.smoothing)

    @property
    def largest(self) -> int:
        """The most examples that a model has; epsilon is m over this."""
        return int(self.n.max())

    def limits(self, m: int) -> tuple[Counts, Counts]:
        """Counts at which a model is off by more than epsilon = m / n: at most low, at least high."""
        reach = self.n * m // self.largest + 1  # n_i is below n where cells are missing
        return self.wrong - reach, self.wrong + reach

    def marginals(self, low: Counts, high: Counts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """P(S_i >= high_i) and P(S_i <= low_i)."""
        return upper_tail(high, self.n, self.p), lower_tail(low, self.n, self.p)

    def union(self, low: Counts, high: Counts) -> float:
        """The union bound (2)."""
        return float(sum(tail.sum() for tail in self.marginals(low, high)))

    def hunter_worsley(self, low: Counts, high: Counts, tree: Tree) -> float:
        """The union bound less the overlaps along the tree, on each tail."""
        i, j = tree.first, tree.second
        pair = self.n[i], self.p[i], self.p[j], tree.both_wrong
        above = self.joint_tails(*pair, high[i], high[j])
        below = self.joint_tails(*pair, low[i], low[j], sides=("lower", "lower"))
        return self.union(low, high) - float(above.sum() + below.sum())

    def joint_tails(self, *arguments: ArrayLike, sides: tuple[Side, Side] = ("upper", "upper")) -> NDArray[np.float64]:
        """`joint_tail` of many pairs, shared among threads; those of a pair do not depend on the others."""
        pairs = [np.ravel(each) for each in np.broadcast_arrays(*arguments)]
        pieces = (tuple(each[a : a + PIECE] for each in pairs) for a in range(0, len(pairs[0]), PIECE))
        if n_workers(self.n_jobs) == 1 or len(pairs[0]) <= PIECE:
            return joint_tail(*pairs, sides=sides)
        return np.concatenate(list(in_threads(partial(joint_tail, sides=sides), pieces, n_jobs=self.n_jobs)))

    def tree(self, high: Counts) -> Tree:
        """The spanning tree whose overlaps are largest, judged by bivariate normal tails (Prim's algorithm).

        Normal tails only choose the tree; any tree gives a valid bound. Models that were run on different examples
        are not joined: the law of their pair is not that of examples they share.
        """
        k = len(self.n)
        with np.errstate(divide="ignore"):
            z = np.clip(-ndtri(upper_tail(high, self.n, self.p)), 1e-3, 37.0)
        sd = np.sqrt(self.p * (1 - self.p))
        outside = np.ones(k, dtype=bool)
        best, parent, parent_share = np.full(k, -1.0), np.zeros(k, dtype=np.intp), np.zeros(k)
        edges: list[tuple[int, int, float]] = []
        node = 0
        for _ in range(k - 1):
            outside[node] = False
            share, comparable = self.shares_with(node)
            spread = sd[node] * sd
            correlation = np.divide(share - self.p[node] * self.p, spread, out=np.zeros(k), where=spread > 0)
            reach = np.flatnonzero(outside & comparable)
            overlap = np.full(k, -1.0)
            overlap[reach] = normal_overlap(z[node], z[reach], correlation[reach])
            closer = overlap > best
            best[closer], parent[closer], parent_share[closer] = overlap[closer], node, share[closer]
            node = int(np.argmax(np.where(outside, best, -2.0)))
            if best[node] >= 0:  # else nothing is comparable with it so far: it starts a tree of its own
                edges.append((int(parent[node]), node, float(parent_share[node])))
        first, second, shares = zip(*edges, strict=True) if edges else ((), (), ())
        return Tree(np.array(first, dtype=np.intp), np.array(second, dtype=np.intp), np.array(shares, dtype=np.float64))

    def shares_with(self, node: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """P(both wrong) of one model with every other, and which of them were run on the same examples."""
        s, k = self.similarity, len(self.n)
        index = condensed_row(node, k)
        others = np.arange(k) != node
        share, comparable = np.zeros(k), np.zeros(k, dtype=bool)
        share[others] = (s.both_wrong[index] + self.smoothing) / (self.n[node] + 4 * self.smoothing)
        comparable[others] = True
        if s.common is not None:
            comparable[others] = (s.common[index] == self.n[node]) & (self.n[others] == self.n[node])
        return share, comparable


def normal_overlap(
    h: float | NDArray[np.float64], k: NDArray[np.float64], correlation: NDArray[np.float64]
) -> NDArray[np.float64]:
    """P(Z1 > h and Z2 > k) of two standard normals, h and k positive, through Owen's T.

    Examples
    --------
    >>> float(normal_overlap(1.0, np.array([1.0]), np.array([0.0]))[0].round(6))  # 0.158655 squared
    0.025171
    """
    r = np.clip(correlation, -1 + 1e-12, 1 - 1e-12)
    spread = np.sqrt(1 - r * r)
    answer = (
        0.5 * (ndtr(-h) + ndtr(-k)) - owens_t(h, (k - r * h) / (h * spread)) - owens_t(k, (h - r * k) / (k * spread))
    )
    return np.asarray(np.maximum(answer, 0.0), dtype=np.float64)


def pool_reach(pool: PoolBound, tree: Tree | None, delta: float, *, most: int | None = None) -> int:
    """The smallest m such that all errors are within m / n, ends included, with probability at least 1 - delta.

    `tree` None: by the union bound. `most`: an m that is known to hold. With a tree the bound at the m returned is at
    most delta; it need not grow with every smaller m, so a smaller one could in principle do.
    """

    def holds(m: int) -> bool:
        low, high = pool.limits(m)
        probability = pool.union(low, high) if tree is None else pool.hunter_worsley(low, high, tree)
        return probability <= delta

    most = pool.largest if most is None else most
    # No model may be off more often than delta on its own: most of the search needs no joint tails.
    least = first_where(lambda m: max(tail.max() for tail in pool.marginals(*pool.limits(m))) <= delta, 0, most)
    return first_where(holds, least, most)


def pool_level(pool: PoolBound, tree: Tree, delta: float, *, steps: int = 8) -> float:
    """The level at which every model's own interval can be taken so that all hold at once with 1 - delta.

    k intervals at one level miss with at most k · level, less what their misses overlap. The share that overlaps is
    taken along the tree at the plugged-in errors; the rest is charged in full: a tail that falls short of its level
    there, because counts are whole, may not at the true error. Never below Bonferroni's delta / k.
    """
    k = len(pool.n)
    if k == 1:
        return delta

    def holds(level: float) -> bool:
        high = upper_quantile(level / 2, pool.n, pool.p) + 1
        low = lower_quantile(level / 2, pool.n, pool.p) - 1  # P(S <= ppf - 1) < level / 2
        union = pool.union(low, high)
        kept = pool.hunter_worsley(low, high, tree) / union if union > 0 else 1.0
        return k * level * kept <= delta

    good, bad = math.log(delta / k), math.log(delta)
    for _ in range(steps):
        middle = (good + bad) / 2
        if holds(math.exp(middle)):
            good = middle
        else:
            bad = middle
    return math.exp(good)
