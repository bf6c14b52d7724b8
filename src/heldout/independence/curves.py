"""What is drawn of an audit, computed from the examples of its test set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from heldout.independence.drawn import Band, CurvePoint, Drawn, ModelAlone, ModelGroups, StatisticHistogram
from heldout.independence.evidence import Examples, bernstein_interval
from heldout.independence.views import views_test
from heldout.orbit import Rule
from heldout.orbit.table import Orbit
from heldout.statistics import holm, independence_test, n_model_test
from heldout.statistics.checks import Alternative

N_SIZES, N_SUBSETS = 7, 10
SUBSET_EXAMPLES = 200_000  # bounds the work of the curve on large test sets
CURVE_ORDERS = 16  # of the bets on each subset of the curve: their mean is what is drawn
MAX_GROUP_SIZES = 4
N_BARS = 30  # of the histogram of T


def draw(test: Examples, *, orbit: Orbit, rule: Rule, alternative: Alternative, tolerance: float, seed: int) -> Drawn:
    """Compute all of it from the examples of the test set."""
    n, n_models = len(test), len(test.statistics)
    lower, upper = orbit.statistic_range(rule)
    tested: dict[str, Any] = {
        "lower": lower,
        "upper": upper,
        "alternative": alternative,
        "tolerance": tolerance,
        "seed": seed,
    }
    n_subsets = max(4, min(N_SUBSETS, SUBSET_EXAMPLES // n))
    groups = []
    for size in group_sizes(n_models) if n_models > 1 else ():
        found = n_model_test(test.statistics, group_size=size, groups=test.groups, **tested)
        counts = np.histogram(found.p_values, bins=[i / 10 for i in range(11)])[0]
        groups.append(ModelGroups(size=size, log_p_values=found.log_p_values, counts=tuple(counts.tolist())))
    alone = groups[0].log_p_values if groups else ()
    columns = zip(
        test.losses.mean(axis=1), test.statistics.mean(axis=1), alone, holm([math.exp(p) for p in alone]), strict=False
    )
    return Drawn(
        curve=subset_curve(test, sizes=curve_sizes(n), n_subsets=n_subsets, rng=np.random.default_rng(seed), **tested),
        statistic=statistic_histogram(test.T, lower, upper),
        model_groups=tuple(groups),
        models=tuple(
            ModelAlone(error=float(error), statistic=float(mean), log_p_value=log_p, holm=float(adjusted))
            for error, mean, log_p, adjusted in columns
        ),
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


def _band(log_p: Sequence[float]) -> Band:
    """Of the mean p over subsets, in logs."""
    mean = min(0.0, float(logsumexp(log_p)) - math.log(len(log_p)))
    return Band(mean=mean, low=min(log_p), high=max(log_p))


def subset_curve(
    examples: Examples,
    *,
    sizes: Sequence[int],
    n_subsets: int,
    rng: np.random.Generator,
    **tested: Any,  # range of T, alternative, tolerance and seed
) -> tuple[CurvePoint, ...]:
    """p and both error estimates against sample size over random subsets: figure 8 of v1.

    Subsets of one size overlap, so their spread shows how much the sample decides, and is not a standard error.
    """
    values, losses, weighted = examples.T, examples.losses.mean(axis=0), examples.weighted_losses
    points = []
    for size in sizes:
        whole = size == len(values)
        rows = [rng.permutation(len(values))[:size] for _ in range(1 if whole else n_subsets)]
        drawn = [(i, None if examples.groups is None else np.unique(examples.groups[i], return_inverse=True)[1])
                 for i in rows]  # fmt: skip
        bands: dict[str, Band] = {}
        for method in ("betting", "bernstein"):
            n_orders = None if whole else CURVE_ORDERS
            log_p = [
                independence_test(values[i], method=method, groups=groups, n_orders=n_orders, **tested).log_p_value
                for i, groups in drawn
            ]
            bands[method] = _band(log_p)
        if examples.view_losses is not None:
            found = [views_test(examples.view_losses[:, i], groups) for i, groups in drawn]
            greater = tested["alternative"] == "greater"
            bands["orbit"] = _band([of.log_p_overfitted if greater else of.log_p_two_sided for of in found])
        for name, of in (("test_error", losses), ("adversarial_estimate", weighted)):
            low, high = np.mean([bernstein_interval(of[i], groups) for i, groups in drawn], axis=0)
            mean = float(np.mean([of[i].mean() for i, _ in drawn]))
            bands[name] = Band(mean=mean, low=float(low), high=float(high))
        points.append(CurvePoint(size=int(size), n_subsets=len(drawn), **bands))
    return tuple(points)
