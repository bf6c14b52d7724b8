"""How many examples are needed: for an error bar on k models like these, and to tell two of them apart.

All of it plugs in the errors, similarities and design effects of the pool as if they were the true ones. Where models
are right or wrong on independent examples, half an example is added to each of a pair's four cells, as the pool's own
error bar has it (`heldout.reuse.pool`); scores and groups are held to their own error bar at another size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, log_ndtr, ndtr, ndtri

from heldout.reuse.grouped import GroupedPool
from heldout.reuse.pool import SMOOTHING
from heldout.reuse.scored import ScoredPool
from heldout.reuse.similarity import SimilarityResult
from heldout.statistics.binomial import lower_tail, upper_tail
from heldout.statistics.mcnemar_power import MOST_EXAMPLES, POWER, detectable_gap, examples_for_gap
from heldout.statistics.search import first_where, from_here_on

GAP = 0.01  # one percentage point, where no other gap is asked for
MOST_DRAWN = 1_000  # models; beyond, examples are told by the pool's own error bar
DRAWS, MOST_CELLS = 20_000, 4_000_000  # of a normal vector over the models, and of its entries
MOST_STEPS, SCANNED = 4_000, 100_000_000  # numbers of examples looked at one by one; entries compared for them
SOME = 60  # models whose pairs tell what groups cost a difference
ROUND = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
FINEST = 1e-6
ROUNDING = 1e-9  # a lead below this is none
STEPS = 40  # halvings
FEWEST = 2  # groups, or examples: one shows no variance

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
        Examples from which on all are within epsilon with probability 1 - delta; no more than there are where the
        pool's own error bar is within epsilon; None past 10^12. Of scores, and where examples come in groups, the size
        of a set like this one whose own error bar is within epsilon, in whole groups: no more than there are exactly
        where the pool's is.
    disagreement : float
        Share of examples on which exactly one of two models is right, on average over pairs. For scores the variance
        of the difference of two models on an example (times its design effect), median over pairs.
    gap_now : float
        The smallest true difference between two models, named beforehand, that their paired test at level delta shows
        with probability `power` on the examples there are; NaN where there are too few examples or groups for any.
    gap : float
        Difference asked for.
    examples_for_gap : int or None
        Examples that show it; None past 10^12.
    first_gap, examples_for_first
        The difference between the first two on the leaderboard, and the examples that show one as large at their own
        disagreement; None where the two are equal or the other way round on the examples both have, and past 10^12.
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
    n = counts.n_examples
    shared = 1.0 if counts.common is None else float(counts.common[counts.common > 0].mean()) / n  # by two models
    if groups is None:
        told_by: Callable[[float, float], int | None] = partial(examples_for_gap, level=delta)
        now = detectable_gap(round(n * shared), disagreement, level=delta)
    else:
        test = _grouped_gap(groups, delta, shared)
        told_by, now = test.examples, test.now(disagreement)
    by_first = told_by(lead, (only_first + only_second) / common) if lead > 0 else None
    return Needed(
        n_models=counts.n_models,
        epsilon=epsilon,
        examples_for_epsilon=_pool_examples(counts, groups, epsilon, delta, reach=reach, rng=rng),
        disagreement=disagreement,
        gap_now=now,
        gap=gap,
        examples_for_gap=_of_all(told_by(gap, disagreement), shared),
        first_gap=lead if lead > 0 else None,
        examples_for_first=_of_all(by_first, common / n),
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
    r"""Examples from which on all errors are within epsilon, ends included, with probability 1 - delta.

    Each count of wrong answers has its own binomial tails; that they move together is carried over by normal vectors:
    with N examples all models are within where

    .. math:: -\Phi^{-1}(1 - P(S_i < N (p_i - \epsilon))) \le Z_i \le \Phi^{-1}(1 - P(S_i > N (p_i + \epsilon)))
       \quad \text{for all } i,    \tag{1}

    Z normal with the correlations of the models' errors (a Gaussian copula). A bound over all models would ask for
    more: a fifth more examples and beyond where models are alike.

    Counts are whole, so (1) comes and goes before it stays: of models that err half the time all are within 0.1 with
    94 examples, not with 96, and from 99 on. Tails that are continuous in N and no smaller,

    .. math:: P(S > x) \le I_p(x, N - x + 1),    \tag{2}

    stay below delta once they are; the last number that fails lies a little below.

    Parameters
    ----------
    errors : (k,) float
        Error rates.
    normals : (draws, k) float
        Draws of Z; for one model, whatever stands here is not looked at.

    Returns
    -------
    int or None
        None past 10^12.

    Examples
    --------
    One model that errs half the time: (1.96 / 0.02)² / 4, and a little for whole counts.

    >>> examples_within(np.array([0.5]), np.ones((1, 1)), 0.02, 0.05)
    2424
    >>> examples_within(np.array([0.5]), np.ones((1, 1)), 0.1, 0.05)
    99
    """
    many = -float(ndtri(delta / 2 / len(errors)))
    most = 2 * float(errors.max()) * (many / epsilon) ** 2 + many / epsilon + 1
    if most > MOST_EXAMPLES:
        return None
    top, bottom = errors + epsilon, errors - epsilon

    def inside(above: Floats, below: Floats) -> bool:
        if len(errors) == 1:
            return float(above[0] + below[0]) <= delta
        with np.errstate(divide="ignore"):
            within = (normals <= -ndtri(above)) & (normals >= ndtri(below))  # (1)
        return float(np.mean(within.all(axis=1))) >= 1 - delta

    def whole(n: int) -> bool:
        above = upper_tail(np.floor(n * top + 1e-9) + 1, n, errors)
        return inside(above, lower_tail(np.ceil(n * bottom - 1e-9) - 1, n, errors))

    def smooth(n: int) -> bool:
        with np.errstate(invalid="ignore"):  # (2)
            above = np.where(top >= 1, 0.0, betainc(n * top, n * (1 - top) + 1, errors))
            below = np.where(bottom <= 0, 0.0, betainc(n * (1 - bottom), n * bottom + 1, 1 - errors))
        return inside(np.nan_to_num(above), np.nan_to_num(below))

    end = max(2, math.ceil(4 * most))
    steps = min(MOST_STEPS, SCANNED // max(1, normals.size))
    return from_here_on(whole, smooth, 1, end, most=steps)


def _pool_examples(
    counts: SimilarityResult,
    groups: GroupedPool | None,
    epsilon: float,
    delta: float,
    *,
    reach: float,
    rng: np.random.Generator,
) -> int | None:
    n = counts.n_examples
    if groups is not None:
        return examples_by_error_bar(partial(groups.fits, epsilon, delta), n, len(groups.sizes), reach, epsilon)
    if counts.n_models > MOST_DRAWN:
        return _by_the_root(n, reach, epsilon)
    smooth = counts.wrong + 2 * SMOOTHING, counts.observed + 4 * SMOOTHING
    answers = examples_within(smooth[0] / smooth[1], _draws(_correlations(counts), rng), epsilon, delta)
    return _no_more_than_there_are(_of_all(answers, float(counts.observed.mean()) / n), n, reach, epsilon)


def _of_all(count: int | None, share: float) -> int | None:
    """Examples of which such a share counts, as here, where cells are missing."""
    return None if count is None else math.ceil(count / share - 1e-9)


def score_needed(
    pool: ScoredPool,
    spread: Floats,
    lead: tuple[float, float] | None,
    *,
    epsilon: float,
    delta: float,
    gap: float,
    reach: float,
) -> Needed:
    """The same for scores between 0 and 1.

    Parameters
    ----------
    spread : (pairs,) float
        Standard errors of the differences of all pairs.
    lead : (float, float), optional
        Difference of the first two on the leaderboard, on the examples both have, and its standard error.
    reach : float
        The pool's own error bar.
    """
    n, k = pool.table.n_examples, pool.table.n_models
    test = _score_gap(pool, delta)
    known = spread[np.isfinite(spread)]
    typical = n * float(np.median(known)) ** 2 if len(known) else math.nan
    told = lead if lead is not None and lead[0] > ROUNDING and math.isfinite(lead[1]) else None
    return Needed(
        n_models=k,
        epsilon=epsilon,
        examples_for_epsilon=examples_by_error_bar(
            partial(pool.fits, epsilon, delta), n, len(pool.sizes), reach, epsilon
        ),
        disagreement=typical,
        gap_now=test.now(typical),
        gap=gap,
        examples_for_gap=test.examples(gap, typical),
        first_gap=None if told is None else told[0],
        examples_for_first=None if told is None else test.examples(told[0], n * told[1] ** 2),
    )


def examples_by_error_bar(
    fits: Callable[[float], bool], n: int, n_groups: int, reach: float, epsilon: float
) -> int | None:
    r"""Examples of a set like this one that would print an error bar of at most epsilon.

    With r times as many groups (of one example each, where these stand alone) like those there are, sums and sums of
    squares are r times as large, and model i costs c_i(epsilon; r) of delta, the level at which its interval would be
    within epsilon. The set has

    .. math:: n' = \min\Big\{\frac{n G'}{G} : \sum_i c_i(\epsilon; G' / G) \le \delta\Big\}    \tag{4}

    examples, n and G those there are. Few examples have to pay for what few examples do not show, as in their own error
    bar: Student's law, a few scores that may have been missed at 0 and at 1, one group that is all alike.

    Parameters
    ----------
    fits : function
        From r to whether the costs are at most delta.
    n, n_groups : int
        Examples and groups that there are.
    reach : float
        The pool's own error bar, which is found to some digits and from above.

    Returns
    -------
    int or None
        None past 10^12.

    Examples
    --------
    An error bar of 2 / sqrt(groups) that is 0.2 with the hundred groups of three there are:

    >>> examples_by_error_bar(lambda r: 2 / math.sqrt(100 * r) <= 0.1, 300, 100, 0.2, 0.1)
    1200
    """
    most = max(n_groups, MOST_EXAMPLES * n_groups // n)

    def holds(g: int) -> bool:
        return fits(g / n_groups)

    high = min(most, max(FEWEST, math.ceil(n_groups * (reach / epsilon) ** 2)))  # nearly: bars shrink as the root
    while not holds(high):
        if high == most:
            return None
        high = min(most, 2 * high)
    low = high
    while low > FEWEST and holds(low):
        low = max(FEWEST, low // 2)
    found = first_where(holds, low, high)  # (4)
    met = reach <= epsilon * (1 + 1e-12)  # `round_up` leaves so much
    found = min(n_groups, found) if met else max(n_groups + 1, found)
    return math.ceil(found * n / n_groups - 1e-9)


def _by_the_root(n: int, reach: float, epsilon: float) -> int | None:
    """Error bars shrink as the root of n."""
    found = n * (reach / epsilon) ** 2
    return max(1, math.ceil(found - 1e-9)) if found <= MOST_EXAMPLES else None


def _no_more_than_there_are(found: int | None, n: int, reach: float, epsilon: float) -> int | None:
    """Those that there are will do where the pool's own error bar says so."""
    if reach <= epsilon * (1 + 1e-12):
        return n if found is None else min(n, found)
    return found


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


def _draws(correlation: Floats, rng: np.random.Generator) -> Floats:
    """Normal vectors with these correlations; where pairs have different examples, with the nearest that exist."""
    draws = min(DRAWS, MOST_CELLS // len(correlation))
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    length = np.sqrt((root**2).sum(axis=1, keepdims=True))
    root = np.divide(root, length, out=np.zeros_like(root), where=length > 0)
    return np.asarray(rng.standard_normal((draws, len(values))) @ root.T)


class BoundedGap:
    r"""What the paired test of bounded differences can see, over examples with scores or over whole groups.

    Its p-value is 2 P(sum of W_u D_u <= c W_0), D_u the difference of a unit, c the largest that can be (1, or the size
    of the largest group) and W independent exponentials: one unit more is counted, as bad as a unit can be. With mean m
    and the sum of squares :math:`\tau^2` of the D_u, the sum being nearly normal,

    .. math:: p(m) = 2\,\Phi\Big(-\frac{n m}{\tau}\Big) + 2 \exp\Big(\frac{\tau^2}{2 c^2} - \frac{n m}{c}\Big)
              \Phi\Big(\frac{n m}{\tau} - \frac{\tau}{c}\Big), \qquad \tau^2 = n v + m^2 \sum_g n_g^2,    \tag{3}

    v the variance of a difference times its design effect. A gap d is told where the observed mean exceeds the m* at
    which p is the level, with probability :math:`\Phi((d - m^*) \sqrt{n / v})`.

    Parameters
    ----------
    sizes : (G,) float
        Examples of each group there is; ones, where examples stand alone.
    level : float
        Of the test, two-sided.
    variance : function
        From disagreement and gap to v.
    """

    def __init__(self, sizes: Floats, level: float, variance: Callable[[float, float], float]) -> None:
        self.level, self.variance = level, variance
        self.n, self.largest = float(sizes.sum()), float(sizes.max())
        self.squares = float((sizes**2).sum()) / self.n  # for each example
        self.best = float(np.log1p(sizes / self.largest).sum()) / self.n  # log p where every unit is at its best

    def power(self, n: float, disagreement: float, gap: float) -> float:
        """Probability that n examples tell such a gap; 0 where p is never so small."""
        if not math.isfinite(disagreement) or math.log(2) - self.best * n > math.log(self.level):
            return 0.0
        v = max(self.variance(disagreement, gap), 1e-12)
        return float(ndtr((gap - self._just(n, v)) * math.sqrt(n / v)))

    def _just(self, n: float, v: float) -> float:
        """m* of (3)."""
        c, low, high = self.largest, 0.0, 1.0
        for _ in range(STEPS):
            m = (low + high) / 2
            tau = math.sqrt(n * (v + m * m * self.squares))
            tail = tau * tau / (2 * c * c) - n * m / c + float(log_ndtr(n * m / tau - tau / c))
            if 2 * (float(ndtr(-n * m / tau)) + math.exp(min(tail, 0.0))) <= self.level:
                high = m
            else:
                low = m
        return high

    def now(self, disagreement: float) -> float:
        """The smallest gap that is told with the examples there are; NaN where none is."""
        steps = round(1 / FINEST)

        def told(i: int) -> bool:
            return self.power(self.n, disagreement, i * FINEST) >= POWER

        return first_where(told, 1, steps) * FINEST if told(steps - 1) else math.nan

    def examples(self, gap: float, disagreement: float) -> int | None:
        """Examples that tell a gap; None past 10^12, and where there is nothing to go by."""
        if not math.isfinite(disagreement):
            return None
        z = -float(ndtri(self.level / 2)) + float(ndtri(POWER))
        extreme = self.largest * math.log(2 / self.level) / gap
        most = 4 * (self.variance(disagreement, gap) * (z / gap) ** 2 + extreme) + 4 / self.best
        if most > MOST_EXAMPLES:
            return None
        return first_where(lambda n: self.power(float(n), disagreement, gap) >= POWER, 2, math.ceil(4 * most))


def _grouped_gap(groups: GroupedPool, level: float, shared: float) -> BoundedGap:
    """At the design effect that differences have here, where two models have such a share of the examples."""
    k = len(groups.counts)
    some = np.argsort(groups.similarity.errors, kind="stable")[
        np.linspace(0, k - 1, min(k, SOME)).round().astype(np.intp)
    ]
    parts = [groups.spread(first, some[place + 1 :])[0] for place, first in enumerate(some[:-1].tolist())]
    times = float(np.median(np.concatenate(parts)))
    return BoundedGap(groups.sizes * shared, level, lambda psi, gap: (max(psi, gap) - gap * gap) * times)


def _score_gap(pool: ScoredPool, level: float) -> BoundedGap:
    """At the variance given."""
    sizes = pool.sums(np.ones(pool.table.n_examples, dtype=bool))
    return BoundedGap(sizes, level, lambda variance, gap: variance)
