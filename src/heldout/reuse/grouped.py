"""A pool whose examples come in groups: error bars, intervals and comparisons that take whole groups as the unit.

What is said of independent examples by exact binomial tails is said here by Student's law for as many groups as there
are: intervals are Korn and Graubard's, at as many examples as the groups are worth. Models are compared by the sums of
their paired differences over groups, by the test that `compare` has, too (`heldout.statistics.bounded_differences`),
so that both give the same p. Bonferroni over models, Holm over pairs; how the misses of similar models overlap
is not known here, so similarity brings nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.groups import FEW, Codes, group_codes, group_sizes, join_groups, resolve_groups
from heldout.predictions import Predictions
from heldout.results import Record
from heldout.reuse.bounds import TestableModels, whole_models
from heldout.reuse.similarity import SimilarityResult, condensed_row
from heldout.statistics.bounded_differences import bounded_log_p_values
from heldout.statistics.grouped import Floats, GroupMoments, korn_graubard, korn_graubard_level

MOST_POOLED = 300  # models whose pairs tell how alike the differences within a group are; evenly down the leaderboard
FINEST = 1e-7  # to which an error bar is found
GRID = 4_096  # levels looked for at once
UNION_ONLY = (
    "examples come in groups, and the similarity and Naive Bayes bounds are for independent examples, so only the "
    "union bound is given"
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ExampleGroups(Record):
    """Groups of examples, and what they cost.

    Parameters
    ----------
    n_groups, smallest, largest : int
        How many there are, and how many examples they hold.
    named : str or None
        What told them; None where only repeated inputs did.
    n_repeated : int
        Examples whose input stands at another example, too; they are one group with it.
    repeated_in : tuple of str
        Columns that hold the inputs.
    design_effect : (k,) float
        Kish's, of each model's error; NaN where a model is right, or wrong, on every example.
    """

    unlisted = ("named", "n_repeated")
    derived = (("from", "named"), ("repeated_inputs", "n_repeated"), ("design_effect", "effects"), "few")

    n_groups: int
    smallest: int
    largest: int
    named: str | None
    n_repeated: int
    repeated_in: tuple[str, ...]
    design_effect: NDArray[np.float64]

    @property
    def few(self) -> bool:
        """Whether laws for many groups are rough."""
        return self.n_groups < FEW

    @property
    def median_effect(self) -> float:
        """Median design effect over models; NaN where none has one."""
        known = self.design_effect[np.isfinite(self.design_effect)]
        return float(np.median(known)) if len(known) else float("nan")

    @property
    def largest_effect(self) -> float:
        """Largest design effect of a model; NaN where none has one."""
        known = self.design_effect[np.isfinite(self.design_effect)]
        return float(known.max()) if len(known) else float("nan")

    @property
    def effects(self) -> dict[str, float]:
        """Median and largest design effect."""
        return {"median": self.median_effect, "largest": self.largest_effect}


@dataclass(frozen=True)
class Grouping:
    """The group of each example, and who said so."""

    codes: Codes
    named: str | None
    n_repeated: int
    repeated_in: tuple[str, ...]


def find_groups(
    table: Predictions, groups: ArrayLike | Sequence[Any] | str | None
) -> tuple[Grouping | None, str | None]:
    """The groups that were given, joined with examples of one input; None where every example stands alone, and then
    what told groups of one example each."""
    n = table.n_examples
    parts: list[Codes] = []
    named = None
    if isinstance(groups, str):
        named = groups
        if groups not in table.columns and table.ids is None:
            raise InputError(
                f"{table.source} has no column {groups!r} and no example ids that groups could be told by; name the "
                "ids with `ids_key`, or give one group for each example in Python."
            )
        ids = table.ids if table.ids is not None else tuple(str(i) for i in range(n))
        parts.append(group_codes(resolve_groups(groups, ids, table.columns), n))
    elif groups is not None:
        named = "as given"
        parts.append(group_codes(groups, n))
    repeated, columns = table.repeated_inputs()
    n_repeated = 0
    if repeated is not None:
        n_repeated = int((group_sizes(repeated)[repeated] > 1).sum())
        parts.append(repeated)
    if not parts:
        return None, None
    codes = join_groups(*parts)
    if int(codes.max()) == 0 and n > 1:
        raise InputError(f"all {n:,} examples are in one group, so that nothing is left to compare.")
    if int(codes.max()) + 1 == n:
        return None, named
    return Grouping(codes, named, n_repeated, columns if n_repeated else ()), None


class GroupedPool:
    """The errors of k models, and their differences, over groups of examples."""

    def __init__(self, table: Predictions, similarity: SimilarityResult, grouping: Grouping) -> None:
        self.similarity, self.grouping = similarity, grouping
        self._wrong, self._observed = table.wrong, table.observed
        order = np.argsort(grouping.codes, kind="stable")
        self._order = order
        self._starts = np.flatnonzero(np.diff(grouping.codes[order], prepend=-1))
        self.sizes = group_sizes(grouping.codes).astype(np.float64)
        self.counts = self._sums(self._wrong)  # (k, G) wrong answers
        n = float(table.n_examples)
        weights = 1 / (1 - self.sizes / n)  # of the jackknife
        self._weighted = self.counts * weights, self.sizes * weights

    def _sums(self, cells: NDArray[np.bool_]) -> Floats:
        """Sums over groups of some rows of cells."""
        ordered = np.asarray(cells)[..., self._order].astype(np.int32)
        return np.add.reduceat(ordered, self._starts, axis=-1).astype(np.float64)

    @cached_property
    def errors(self) -> GroupMoments:
        """Moments of every model's errors."""
        sizes = self.sizes if self._observed is None else self._sums(self._observed)
        return group_moments(self.counts, np.broadcast_to(sizes, self.counts.shape), self.counts.sum(axis=-1))

    @cached_property
    def _worth(self) -> tuple[Floats, Floats, Floats]:
        """Shares, effective numbers of examples, degrees of freedom; a model in one group alone is worth nothing."""
        return _worth(self.errors)

    def levels(self, epsilon: float) -> Floats:
        """(k,) what it costs to have each model's interval within epsilon."""
        return korn_graubard_level(*self._worth, epsilon)

    def reach(self, delta: float) -> float:
        """The smallest epsilon, to a ten-millionth, whose costs over all models are at most delta."""
        share, n, df = self._worth
        k = len(self.counts)
        low, high = korn_graubard(share, n, df, delta / k)
        bad, good = 0.0, min(1.0, 1.001 * float(np.maximum(high - share, share - low).max()))  # Bonferroni's will do
        while good - bad > FINEST:
            between = np.linspace(bad, good, max(3, min(18, GRID // k)))[1:-1]
            fits = korn_graubard_level(share, n, df, between[:, None]).sum(axis=1) <= delta
            first = int(np.argmax(fits)) if fits.any() else len(between)
            bad = float(between[first - 1]) if first > 0 else bad
            good = float(between[first]) if first < len(between) else good
        return good

    def fits(self, epsilon: float, delta: float, times: float) -> bool:
        """Whether all errors would be within epsilon at once with so many times as many groups like these."""
        return float(korn_graubard_level(*_worth(self.errors.repeated(times)), epsilon).sum()) <= delta

    def intervals(self, delta: float) -> tuple[Floats, Floats]:
        """Intervals of every model's error that hold at once with 1 - delta."""
        return korn_graubard(*self._worth, delta / len(self.counts))

    def testable(self, epsilon: float, delta: float) -> TestableModels:
        """How many models like these fit, by the union bound alone."""
        union = whole_models(delta, float(self.levels(epsilon).mean()))
        return TestableModels(union=union, similarity=None, naive_bayes=None, reason=UNION_ONLY)

    def described(self) -> ExampleGroups:
        """The groups as a result shows them."""
        g = self.grouping
        return ExampleGroups(
            n_groups=len(self.sizes),
            smallest=int(self.sizes.min()),
            largest=int(self.sizes.max()),
            named=g.named,
            n_repeated=g.n_repeated,
            repeated_in=g.repeated_in,
            design_effect=self.errors.design_effect,
        )

    def log_p_values(self, first: int, others: NDArray[np.intp]) -> Floats:
        """Log p-values, two-sided, that one model is as good as each of some others; those of `compare`."""
        if self._observed is None:
            return bounded_log_p_values(self.counts[first] - self.counts[others], self.sizes)
        common = self._observed[first] & self._observed[others]
        change = self._sums(common & self._wrong[first]) - self._sums(common & self._wrong[others])
        return bounded_log_p_values(change, self._sums(common))

    def spread(self, first: int, others: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """How many times the variance of independent examples these differences have, and degrees of freedom."""
        m = self.differences(first, others)
        return m.spread(self._correlations(m))

    def _correlations(self, m: GroupMoments) -> Floats:
        """Of two differences of one group: the larger of the pair's own and all pairs together, within 0 and 1."""
        above, below = m.correlation_parts()
        own = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
        return np.asarray(np.clip(np.maximum(own, self.correlation), 0.0, 1.0))

    @cached_property
    def correlation(self) -> float:
        """Correlation of two differences of one group, over all pairs of models together."""
        k = len(self.counts)
        order = np.argsort(self.similarity.errors, kind="stable")
        some = order[np.linspace(0, k - 1, min(k, MOST_POOLED)).round().astype(np.intp)]
        above = below = 0.0
        for place, first in enumerate(some[:-1].tolist()):
            parts = self.differences(first, some[place + 1 :]).correlation_parts()
            above, below = above + float(parts[0].sum()), below + float(parts[1].sum())
        return min(1.0, max(0.0, above / below)) if below > 0 else 0.0

    def differences(self, first: int, others: NDArray[np.intp]) -> GroupMoments:
        """Moments of the errors of one model less those of each of some others, on the examples that both have."""
        if self._observed is None:
            return self._differences(first, others)
        common = self._observed[first] & self._observed[others]
        only_first, only_other = common & self._wrong[first], common & self._wrong[others]
        change = self._sums(only_first) - self._sums(only_other)
        return group_moments(change, self._sums(common), (only_first ^ only_other).sum(axis=-1, dtype=np.int64))

    def _differences(self, first: int, others: NDArray[np.intp]) -> GroupMoments:
        """The same where nothing is missing: sums of squares of differences are sums of products of counts."""
        wrong, n = self.similarity.wrong.astype(np.float64), float(self.similarity.n_examples)
        total = wrong[first] - wrong[others]
        mean = total / n
        both = np.insert(self.similarity.both_wrong[condensed_row(first, len(wrong))], first, 0)[others]

        def squares(counts: Floats, sizes: Floats, norms: Floats, products: Floats) -> Floats:
            """Sum over groups of (difference less mean times size)²."""
            apart = norms[first] + norms[others] - 2 * (counts[others] @ counts[first])
            drift = mean * (products[first] - products[others])
            return np.asarray(np.maximum(0.0, apart - 2 * drift + mean**2 * (sizes @ sizes)))

        g = float(len(self.sizes))
        powers = [np.full(len(others), float((self.sizes**power).sum())) for power in (2, 3, 4)]
        return GroupMoments(
            n=np.full(len(others), n),
            n_groups=np.full(len(others), g),
            s2=powers[0],
            s3=powers[1],
            s4=powers[2],
            total=total,
            square=wrong[first] + wrong[others] - 2.0 * both,
            between=squares(self.counts, self.sizes, *self._products[0]),
            jackknife=(g - 1) / g * squares(*self._weighted, *self._products[1]),
        )

    @cached_property
    def _products(self) -> list[tuple[Floats, Floats]]:
        """Of each model's counts with themselves and with the sizes, plain and as the jackknife weighs them."""
        both = ((self.counts, self.sizes), self._weighted)
        return [(np.einsum("ij,ij->i", counts, counts), counts @ sizes) for counts, sizes in both]


def _worth(m: GroupMoments) -> tuple[Floats, Floats, Floats]:
    """Shares, effective numbers of examples, degrees of freedom."""
    times, df = m.spread(m.correlation())
    return m.total / m.n, np.where(m.n_groups > 1, m.n / times, 0.0), df


def group_moments(sums: Floats, sizes: Floats, square: NDArray[Any]) -> GroupMoments:
    """Moments from the sum of x over each group, (k, G), the groups' sizes, and the sum of x² over all examples."""
    one = sizes[:1] if sizes.strides[0] == 0 else sizes  # the same groups in every row
    n = np.maximum(one.sum(axis=-1), 1.0)
    total = sums.sum(axis=-1)
    rest = sums - (total / n)[:, None] * one
    groups = (one > 0).sum(axis=-1).astype(np.float64)
    between = np.einsum("ij,ij->i", rest, rest)
    if one is not sizes and (one == 1).all():
        left_out = between / (1 - 1 / n) ** 2 if n[0] > 1 else np.zeros_like(between)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            rest /= 1 - one / n[:, None]
        rest = np.where(one < n[:, None], rest, 0.0)
        left_out = np.einsum("ij,ij->i", rest, rest)
    rows = np.ones(len(sums))
    return GroupMoments(
        n=n * rows,
        n_groups=groups * rows,
        s2=(one**2).sum(axis=-1) * rows,
        s3=(one**3).sum(axis=-1) * rows,
        s4=(one**4).sum(axis=-1) * rows,
        total=total,
        square=np.asarray(square, dtype=np.float64),
        between=between,
        jackknife=(groups - 1) / np.maximum(groups, 1) * left_out,
    )
