"""The numbers behind an audit's charts, computed once, in the run: a report only draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from heldout.independence.evidence import Examples, bernstein_interval
from heldout.orbit import Rule, Translations
from heldout.statistics import holm, independence_test, n_model_test
from heldout.statistics.checks import Alternative

N_SIZES, N_SUBSETS = 7, 10
SUBSET_EXAMPLES = 200_000  # bounds the work of the curve on large test sets
CURVE_ORDERS = 16  # of the bets on each subset of the curve: their mean is what is drawn
MAX_GROUP_SIZES = 4
N_BARS = 30  # of the histogram of T


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """p-values of the test set alone and both error estimates at one sample size, over random subsets."""

    size: int
    betting: tuple[float, ...]  # log p, one per subset
    bernstein: tuple[float, ...]
    test_error: float
    test_error_interval: tuple[float, float]
    adversarial_estimate: float
    adversarial_estimate_interval: tuple[float, float]

    def mean_log_p(self, method: str) -> float:
        """The logarithm of the mean p over the subsets, 0 at most."""
        logs = getattr(self, method)
        return min(0.0, float(logsumexp(logs)) - math.log(len(logs)))


@dataclass(frozen=True, kw_only=True)
class ModelGroups:
    """Disjoint groups of `size` models, T averaged within each: section 3.1 of v1."""

    size: int
    log_p_values: tuple[float, ...]  # one per group; betting, on the test set alone
    counts: tuple[int, ...]  # of p-values, in tenths


@dataclass(frozen=True, kw_only=True)
class StatisticHistogram:
    """How T is spread over the examples; zeros are counted, not drawn."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    n_zero: int
    n_below: int
    n_above: int
    standard_deviation: float


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Everything that is drawn of one audit."""

    curve: tuple[CurvePoint, ...]
    statistic: StatisticHistogram
    model_groups: tuple[ModelGroups, ...]  # none of a single model; the first are the models one by one
    holm: tuple[float, ...]  # the p-values of single models, adjusted for their number


def draw(
    test: Examples, *, orbit: Translations, rule: Rule, alternative: Alternative, tolerance: float, seed: int
) -> Drawn:
    """Compute all of it from the examples of the test set."""
    n, n_models = len(test), len(test.statistics)
    lower, upper = orbit.statistic_range(rule)
    curve = subset_curve(
        test,
        sizes=curve_sizes(n),
        n_subsets=max(4, min(N_SUBSETS, SUBSET_EXAMPLES // n)),
        lower=lower,
        upper=upper,
        alternative=alternative,
        tolerance=tolerance,
        seed=seed,
        rng=np.random.default_rng(seed),
    )
    groups = []
    for size in group_sizes(n_models) if n_models > 1 else ():
        found = n_model_test(
            test.statistics,
            lower=lower,
            upper=upper,
            group_size=size,
            alternative=alternative,
            groups=test.groups,
            tolerance=tolerance,
            seed=seed,
        )
        counts = np.histogram(found.p_values, bins=[i / 10 for i in range(11)])[0]
        groups.append(ModelGroups(size=size, log_p_values=found.log_p_values, counts=tuple(counts.tolist())))
    return Drawn(
        curve=curve,
        statistic=statistic_histogram(test.T, lower, upper),
        model_groups=tuple(groups),
        holm=tuple(float(p) for p in holm([math.exp(p) for p in groups[0].log_p_values])) if groups else (),
    )


def curve_sizes(n: int) -> list[int]:
    """About seven sample sizes in even ratios up to n.

    Examples
    --------
    >>> curve_sizes(10_000)
    [250, 462, 855, 1581, 2924, 5407, 10000]
    >>> curve_sizes(7)
    [7]
    """
    first = min(n, max(20, n // 40))
    return sorted({round(size) for size in np.geomspace(first, n, N_SIZES)})


def group_sizes(n_models: int) -> list[int]:
    """Sizes of groups of models that leave at least two groups: 1 and at most three larger ones.

    Examples
    --------
    >>> group_sizes(2), group_sizes(20), group_sizes(1250)
    ([1], [1, 2, 5, 10], [1, 10, 50, 500])
    """
    sizes = [m * 10**e for e in range(7) for m in (1, 2, 5) if m * 10**e <= n_models // 2]
    if len(sizes) <= MAX_GROUP_SIZES:
        return sizes
    return [sizes[round(i)] for i in np.linspace(0, len(sizes) - 1, MAX_GROUP_SIZES)]


def statistic_histogram(values: NDArray[np.float64], lower: float, upper: float) -> StatisticHistogram:
    """T over its guaranteed range; 0 is an edge, so that no bar mixes signs."""
    nonzero = values[values != 0]
    width = (upper - lower) / N_BARS
    below, above = math.ceil(-lower / width - 1e-9), math.ceil(upper / width - 1e-9)
    edges = [i * width for i in range(-below, above + 1)]
    return StatisticHistogram(
        edges=tuple(edges),
        counts=tuple(np.histogram(nonzero, bins=np.array(edges))[0].tolist()),
        n_zero=len(values) - len(nonzero),
        n_below=int((nonzero < 0).sum()),
        n_above=int((nonzero > 0).sum()),
        standard_deviation=float(values.std()),
    )


def subset_curve(
    examples: Examples,
    *,
    sizes: Sequence[int],
    n_subsets: int,
    lower: float,
    upper: float,
    alternative: Alternative,
    tolerance: float = 0.0,
    seed: int = 0,
    rng: np.random.Generator,
) -> tuple[CurvePoint, ...]:
    """p and both error estimates against sample size over random subsets: figure 8 of v1.

    Subsets of one size overlap, so their spread shows how much the sample decides, and is not a standard error.
    """
    values, losses, weighted = examples.T, examples.losses.mean(axis=0), examples.weighted_losses

    def groups(rows: NDArray[np.intp]) -> NDArray[np.intp] | None:
        return None if examples.groups is None else np.unique(examples.groups[rows], return_inverse=True)[1]

    points = []
    for size in sizes:
        whole = size == len(values)
        drawn = [rng.permutation(len(values))[:size] for _ in range(1 if whole else n_subsets)]
        log_p = {
            method: tuple(
                independence_test(
                    values[i],
                    lower=lower,
                    upper=upper,
                    method=method,
                    alternative=alternative,
                    groups=groups(i),
                    tolerance=tolerance,
                    seed=seed,
                    n_orders=None if whole else CURVE_ORDERS,
                ).log_p_value
                for i in drawn
            )
            for method in ("betting", "bernstein")
        }
        estimates = []
        for of in (losses, weighted):
            low, high = np.mean([bernstein_interval(of[i], groups(i)) for i in drawn], axis=0)
            estimates.append((float(np.mean([of[i].mean() for i in drawn])), (float(low), float(high))))
        points.append(
            CurvePoint(
                size=int(size),
                **log_p,
                test_error=estimates[0][0],
                test_error_interval=estimates[0][1],
                adversarial_estimate=estimates[1][0],
                adversarial_estimate_interval=estimates[1][1],
            )
        )
    return tuple(points)
