"""The numbers behind an audit's charts; `heldout.independence.curves` computes them once, in the run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Band:
    """A number and what lies around it."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """p-values of the test set alone and both error estimates at one sample size, over random subsets."""

    size: int
    n_subsets: int
    betting: Band  # log p: of the mean p over the subsets, the smallest and the largest
    bernstein: Band
    test_error: Band  # with its interval, both averaged over the subsets
    adversarial_estimate: Band
    orbit: Band | None = None  # as of betting, of the orbit test on finite groups


@dataclass(frozen=True, kw_only=True)
class ModelAlone:
    """One of several models, on the test set alone."""

    error: float
    statistic: float  # mean T
    log_p_value: float  # betting
    holm: float  # p, adjusted for the number of models


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
    models: tuple[ModelAlone, ...]  # none of a single model
