"""How many models a test set can take: three bounds, from four numbers.

All of them bound the probability that *some* of k models is off by at least epsilon (1), for models that were chosen
without looking at the test set. Error and similarity are plugged in as if they were known.

References
----------
Mania, Miller, Schmidt, Hardt, Recht (2019). Model similarity mitigates test set overuse. NeurIPS.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.results import Record
from heldout.reuse.thresholds import (
    Number,
    both_wrong,
    check_exact_share,
    check_number,
    error_thresholds,
    exact,
    independent_similarity,
)
from heldout.statistics.binomial import lower_tail, probability_of, upper_tail
from heldout.statistics.joint_binomial import Coupling
from heldout.statistics.search import first_where

MOST_EXAMPLES = 10**9  # beyond, tails are no longer exact to ten digits
LARGEST = 10**18  # counts stop here: a bound that allows more says "at least this many"
# The Naive Bayes summand rises like exp(-exp(x)), whose spectrum falls more slowly than a bell's.
NAIVE_BAYES_POINTS = 32


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TestableModels(Record):
    """How many models can be tested so that all errors are within epsilon with probability 1 - delta.

    `similarity` and `naive_bayes` are None where the bound does not exist; `reason` says why. `LARGEST` (10^18)
    means "at least that many".

    Parameters
    ----------
    union : int
        By the union bound.
    similarity, naive_bayes : int or None
        By the two bounds of Mania et al.; None where one does not exist.
    reason : str, optional
        Why.

    Examples
    --------
    >>> from heldout import testable_models
    >>> found = testable_models(50_000, error=0.244, similarity=0.85, epsilon=0.01, delta=0.05)
    >>> found.union, found.count == found.similarity
    (251165, True)
    """

    __test__ = False  # pytest collects classes by this name
    unlisted = ("reason",)

    union: int
    similarity: int | None
    naive_bayes: int | None
    reason: str | None = None

    @property
    def count(self) -> int:
        """By the similarity union bound, or by the union bound where there is no coupling."""
        return self.union if self.similarity is None else self.similarity


@dataclass(frozen=True)
class Setting:
    """Models with one error and one pairwise similarity on n examples, and the thresholds they must not reach.

    `lo` and `hi` are whole numbers of wrong answers: a model is off by epsilon at <= lo and at >= hi.
    """

    n: int
    p: float
    p11: float | None  # P(two models wrong); None: no coupling
    lo: int
    hi: int

    @cached_property
    def coupling(self) -> Coupling:
        """The pair's W and X."""
        assert self.p11 is not None
        return Coupling.of(self.p, self.p, self.p11)

    @cached_property
    def one_model(self) -> float:
        """P(one model is off by at least epsilon)."""
        return float(upper_tail(self.hi, self.n, self.p) + lower_tail(self.lo, self.n, self.p))


def testable_models(
    n_examples: int,
    error: Number,
    similarity: Number,
    *,
    epsilon: Number = 0.01,  # noqa: PT028 (no pytest function)
    delta: Number = 0.05,  # noqa: PT028
) -> TestableModels:
    """How many models with one error and one pairwise similarity a test set of n examples can take.

    Parameters
    ----------
    n_examples : int
        Size of the test set.
    error : float
        Error rate of the models, between 0 and 1.
    similarity : float
        Share of examples on which two models are both right or both wrong.
    epsilon, delta : float
        All errors shall be within epsilon with probability 1 - delta.

    Returns
    -------
    TestableModels
        By the union bound (2), by the similarity union bound (3) optimised over t on each tail, and under the Naive
        Bayes assumption A1.

    Examples
    --------
    ImageNet (section 5.1; the published 257,397 has the lower threshold one example too low):

    >>> from heldout import testable_models
    >>> testable_models(50_000, 0.244, 0.85)
    TestableModels(union=251165, similarity=1062137, naive_bayes=128963384, reason=None)
    """
    if not 1 <= n_examples <= MOST_EXAMPLES or n_examples != int(n_examples):
        raise InputError(f"`n_examples` is {n_examples}; a test set has 1 to {MOST_EXAMPLES:,} examples.")
    for name, value in (("error", error), ("epsilon", epsilon), ("delta", delta)):
        check_exact_share(name, value)
    p, eta = exact(error), check_number("similarity", similarity)
    return equal_models(n_examples, p, both_wrong(p, eta), epsilon=epsilon, delta=float(exact(delta)))


def equal_models(n: int, p: Fraction, p11: Fraction, *, epsilon: Number, delta: float) -> TestableModels:
    """The same from P(wrong) and P(both wrong)."""
    lo, hi = error_thresholds(n, p, epsilon)
    setting = Setting(n, float(p), float(p11) if p11 >= p * p else None, lo, hi)
    union = union_bound_models(setting, delta)
    if setting.p11 is None:
        return TestableModels(
            union=union,
            similarity=None,
            naive_bayes=None,
            reason=f"models with error {float(p):.4g} that err independently have a similarity of "
            f"{independent_similarity(p):.4g}, and {float(1 - 2 * (p - p11)):.4g} is less: the coupling of errors "
            "behind the other two bounds does not exist, so only the union bound applies",
        )
    if p11 == p:  # one and the same model, however often
        all_or_none = LARGEST if setting.one_model <= delta else 0
        return TestableModels(union=union, similarity=all_or_none, naive_bayes=all_or_none)
    return TestableModels(
        union=union,
        similarity=similarity_bound_models(setting, delta),
        naive_bayes=naive_bayes_models(setting, delta),
    )


testable_models.__test__ = False  # type: ignore[attr-defined]  # nor shall a user's pytest collect it


def union_models(n: int, error: Number, *, epsilon: Number, delta: float) -> int:
    """How many models of one error fit by the union bound alone, whatever they have in common.

    Examples
    --------
    >>> union_models(50_000, 0.244, epsilon=0.01, delta=0.05)
    251165
    """
    lo, hi = error_thresholds(n, error, epsilon)
    return union_bound_models(Setting(n, float(exact(error)), None, lo, hi), delta)


def union_bound_models(setting: Setting, delta: float) -> int:
    """The largest k with k P(one model is off) <= delta (2)."""
    return whole_models(delta, setting.one_model)


def naive_bayes_models(setting: Setting, delta: float) -> int:
    """The largest k whose probability (15) is at most delta."""
    values, weights = setting.coupling.nodes(setting.n, points_per_width=NAIVE_BAYES_POINTS)
    log_inside = log_inside_of(setting, values)
    return largest_where(lambda k: naive_bayes_sum(weights, log_inside, k) <= delta)


def log_inside_of(setting: Setting, values: NDArray[np.int64]) -> NDArray[np.float64]:
    """log P(one model is not off | ΣW)."""
    x = setting.coupling.x1
    off = np.minimum(1.0, upper_tail(setting.hi, values, x) + lower_tail(setting.lo, values, x))
    with np.errstate(divide="ignore"):  # log 0 where it is certain to be off
        return np.asarray(np.log1p(-off), dtype=np.float64)


def naive_bayes_sum(weights: NDArray[np.float64], log_inside: NDArray[np.float64], k: float) -> float:
    """P(some of k models is off), summed over ΣW: 1 - (1 - r)^k of (15), in logs."""
    return float(np.sum(weights * -np.expm1(k * log_inside)))


class SimilarityBound:
    """The refined union bound (3) for k models around one anchor, on both tails.

    The anchor's event is widened to {S1 >= c} with c <= hi (and {S1 <= d} with d >= lo); every other model then costs
    only P(S2 >= hi and S1 <= c - 1). c = hi gives back the union bound, so this one is never above it.
    """

    def __init__(self, setting: Setting) -> None:
        self.n, self.p = setting.n, setting.p
        self.x = setting.coupling.x1
        self.values, self.weights = setting.coupling.nodes(setting.n)
        self.hi, self.lo = setting.hi, setting.lo
        self.sd = math.sqrt(self.n * self.p * (1 - self.p))
        self._off_above = self.weights * upper_tail(self.hi, self.values, self.x)
        self._off_below = self.weights * lower_tail(self.lo, self.values, self.x)
        self._trials = np.append(self.values, self.n)
        self._rates = np.append(np.full(len(self.values), self.x), self.p)
        self._found: dict[tuple[int, bool], tuple[float, float]] = {}

    def above(self, c: int) -> tuple[float, float]:
        """P(S1 >= c) and P(S2 >= hi, S1 <= c - 1)."""
        joint = np.sum(self._off_above * lower_tail(c - 1, self.values, self.x))
        return float(upper_tail(c, self.n, self.p)), float(joint)

    def below(self, d: int) -> tuple[float, float]:
        """P(S1 <= d) and P(S2 <= lo, S1 >= d + 1)."""
        joint = np.sum(self._off_below * upper_tail(d + 1, self.values, self.x))
        return float(lower_tail(d, self.n, self.p)), float(joint)

    def best(self, others: float) -> tuple[int, int]:
        """The c and d that minimise the bound for `others` models beside the anchor.

        Raising c by one changes it by P(S1 = c) (others · P(S2 >= hi | S1 = c) - 1), and the conditional probability
        grows with c: the best c is the first at which the change is not negative.
        """

        def too_high(c: int) -> bool:
            anchor, joint = self._at(c, above=True)
            return others * joint >= anchor

        def too_low(d: int) -> bool:
            anchor, joint = self._at(d, above=False)
            return others * joint >= anchor

        # Beyond six standard deviations the anchor's own probability is no longer small for any delta below 1.
        first = max(0, math.floor(self.n * self.p - 6 * self.sd))
        last = min(self.n, math.ceil(self.n * self.p + 6 * self.sd))
        c = first_where(too_high, min(first, self.hi), self.hi)
        d = -first_where(lambda minus: too_low(-minus), -max(last, self.lo), -self.lo)
        return c, d

    def _at(self, count: int, *, above: bool) -> tuple[float, float]:
        """P(S1 = count) and P(S2 is off on that side, S1 = count); searches ask for the same counts again and again."""
        found = self._found.get((count, above))
        if found is None:
            off = self._off_above if above else self._off_below
            pmf = probability_of(count, self._trials, self._rates)
            found = self._found[count, above] = float(pmf[-1]), float(np.sum(off * pmf[:-1]))
        return found

    def probability(self, k: float) -> float:
        """The bound on P(some of k models is off), at its best c and d."""
        if k < 1:
            return 0.0
        c, d = self.best(k - 1)
        (anchor_above, above), (anchor_below, below) = self.above(c), self.below(d)
        return min(1.0, anchor_above + anchor_below + (k - 1) * (above + below))

    def models(self, delta: float) -> int:
        """The largest k whose bound is at most delta.

        k - 1 = (delta - anchor) / other is a ratio of two functions of (c, d); Dinkelbach's iteration climbs to its
        maximum: minimise anchor + (k - 1) other at the present k, take the ratio there, repeat.
        """
        c, d = self.hi, self.lo
        if self.above(c)[0] + self.below(d)[0] > delta:
            return 0  # not even the anchor alone
        others = -1.0
        while True:
            (anchor_above, above), (anchor_below, below) = self.above(c), self.below(d)
            left, cost = delta - anchor_above - anchor_below, above + below
            ratio = left / cost if cost > 0 else math.inf
            if ratio >= LARGEST:
                return LARGEST
            if ratio <= others * (1 + 1e-13):
                return 1 + math.floor(others)
            others = ratio
            c, d = self.best(others)


def similarity_bound_models(setting: Setting, delta: float) -> int:
    """The largest k by the similarity union bound (3)."""
    return SimilarityBound(setting).models(delta)


def largest_where(fits: Callable[[float], bool]) -> int:
    """The largest k up to LARGEST that fits; fitting ends somewhere and does not come back."""
    if not fits(1.0):
        return 0
    k = 1
    while fits(2.0 * k):
        k *= 2
        if k >= LARGEST:
            return LARGEST
    return first_where(lambda m: not fits(float(m)), k + 1, 2 * k) - 1


def whole_models(budget: float, cost: float) -> int:
    """budget / cost rounded down, at most LARGEST."""
    return LARGEST if cost * LARGEST <= budget else math.floor(budget / cost)
