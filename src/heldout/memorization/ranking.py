"""Which of several models memorised more: by one metric, and by metrics that disagree."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from heldout.memorization.curve import LEVEL, PMV, PTV, Curve, metrics_of
from heldout.memorization.metrics import Estimate
from heldout.results import Record

EQUAL = 1e-12  # values that differ by less are the same


@dataclass(frozen=True)
class Column:
    """A metric of a perturbation: what models are compared by."""

    perturbation: str
    metric: str
    memorised: Literal["high", "low"]

    @property
    def title(self) -> str:
        """In words."""
        if self.perturbation == "gap":
            return "gap"
        return f"{ {PMV: 'PMV', PTV: 'PTV'}.get(self.perturbation, self.perturbation) } {self.metric}"


GAP = Column("gap", "gap", "high")


@dataclass(frozen=True)
class Ranked:
    """A model's place: its metric with its interval, and the first and last rank that comparisons leave open."""

    model: str
    value: float
    low: float
    high: float
    ranks: tuple[int, int]


@dataclass(frozen=True)
class Ranking:
    """Models in the order of one metric.

    Parameters
    ----------
    family_wise_level : float
        Among models that do not differ, anything in `significant` is rarer than 1 - level.
    significant : tuple of (str, str)
        Pairs of models of which the first memorised more: significant, family-wise over all pairs of the metric.
    most_memorised_first : tuple of Ranked
        Each with an interval of its own. Models that share their examples are compared in pairs, which tells more than
        whether two intervals overlap.
    """

    perturbation: str
    metric: str
    memorised: Literal["high", "low"]
    family_wise_level: float
    significant: tuple[tuple[str, str], ...]
    most_memorised_first: tuple[Ranked, ...]

    @property
    def column(self) -> Column:
        """What the models are ranked by."""
        return Column(self.perturbation, self.metric, self.memorised)

    @property
    def models(self) -> tuple[str, ...]:
        """Their names, the one that memorised most first."""
        return tuple(r.model for r in self.most_memorised_first)

    def of(self, model: str) -> Ranked:
        """The place of a model."""
        return next(r for r in self.most_memorised_first if r.model == model)

    def differs(self, first: str, second: str) -> bool:
        """Whether the first memorised significantly more than the second."""
        return (first, second) in self.significant

    @property
    def ends_differ(self) -> bool:
        """Whether the first model memorised significantly more than the last."""
        return self.differs(self.models[0], self.models[-1])

    @property
    def tied(self) -> bool:
        """Whether all models have the same value, up to rounding in sums."""
        return abs(self.most_memorised_first[0].value - self.most_memorised_first[-1].value) < EQUAL


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Disagreement(Record):
    """Two metrics that order two models differently, each significantly.

    Parameters
    ----------
    columns : (Column, Column)
    models : (str, str)
        The first memorised more by the first metric, the second by the second.
    values : pairs of float
        Of both models, by the first metric and by the second.
    """

    unlisted = ("columns",)
    derived = ("by",)

    columns: tuple[Column, Column]
    models: tuple[str, str]
    values: tuple[tuple[float, float], tuple[float, float]]

    @property
    def by(self) -> tuple[str, str]:
        """The metrics by name."""
        return self.columns[0].title, self.columns[1].title


@dataclass(frozen=True)
class Correlation:
    """Kendall's tau of the orders by two metrics."""

    between: tuple[str, str]
    kendall_tau: float


def columns_of(curves: Iterable[Curve]) -> list[Column]:
    """All metrics there are, in the order of the curves."""
    found = [Column(c.perturbation, m.name, m.memorised) for c in curves for m in metrics_of(c.perturbation)]
    return list(dict.fromkeys(found))


def rank(
    column: Column,
    estimates: Mapping[str, Estimate],
    larger: Callable[[str, str, float], bool],
    *,
    level: float = LEVEL,
) -> Ranking | None:
    """Order models by a metric; None for fewer than two.

    Parameters
    ----------
    larger : function of two models and a share
        Whether the metric of the first is larger than that of the second, which is wrongly said at most this share of
        the time. It is asked once for each pair, of the one with the larger value: the share is (1 - level) over twice
        the number of pairs, so that anything said wrongly anywhere is rarer than 1 - level (Bonferroni).
    """
    known = {model: e for model, e in estimates.items() if not math.isnan(e.value)}
    if len(known) < 2:
        return None
    sign = -1.0 if column.memorised == "high" else 1.0
    order = sorted(known, key=lambda model: (sign * known[model].value, model))
    pairs = list(itertools.combinations(order, 2))  # the one that memorised more by value first
    tail = (1 - level) / (2 * len(pairs))
    above = {
        (more, less)
        for more, less in pairs
        if larger(*((more, less) if column.memorised == "high" else (less, more)), tail)
    }
    places = [
        Ranked(
            model,
            known[model].value,
            known[model].low,
            known[model].high,
            (
                1 + sum((other, model) in above for other in order),
                len(order) - sum((model, other) in above for other in order),
            ),
        )
        for model in order
    ]
    return Ranking(column.perturbation, column.metric, column.memorised, level, tuple(sorted(above)), tuple(places))


def disagreements(rankings: Sequence[Ranking]) -> tuple[Disagreement, ...]:
    """Every pair of models that two metrics order in opposite ways, each significantly."""
    found = []
    for first, second in itertools.combinations(rankings, 2):
        more, less = (set(r.significant) for r in (first, second))
        for a, b in itertools.permutations(first.models, 2):
            if (a, b) in more and (b, a) in less:
                by_first, by_second = ((r.of(a).value, r.of(b).value) for r in (first, second))
                columns = first.column, second.column
                found.append(Disagreement(columns=columns, models=(a, b), values=(by_first, by_second)))
    return tuple(found)


def opposed(
    models: Sequence[str], rankings: Sequence[Ranking]
) -> dict[tuple[str, str], tuple[list[Ranking], list[Ranking]]]:
    """Pairs of models that metrics disagree on: those by which the first memorised significantly more, and those by
    which the second did."""
    found = {}
    for a, b in itertools.combinations(models, 2):
        more, less = ([r for r in rankings if r.differs(*pair)] for pair in ((a, b), (b, a)))
        if more and less:
            found[a, b] = more, less
    return found


def n_compared(models: Sequence[str], rankings: Sequence[Ranking]) -> int:
    """Pairs of models that two metrics or more compare."""
    pairs = itertools.combinations(models, 2)
    return sum(sum({a, b} <= {*r.models} for r in rankings) > 1 for a, b in pairs)


def correlations(rankings: Sequence[Ranking]) -> tuple[Correlation, ...]:
    """Kendall's tau of each two metrics' orders, where at least three models share them."""
    found = [
        Correlation((a.column.title, b.column.title), rank_correlation(a, b))
        for a, b in itertools.combinations(rankings, 2)
    ]
    return tuple(c for c in found if not math.isnan(c.kendall_tau))


def rank_correlation(first: Ranking, second: Ranking) -> float:
    """Kendall's tau of two metrics over the models they share; NaN below three."""
    from scipy.stats import kendalltau

    shared = [model for model in first.models if model in second.models]
    if len(shared) < 3:
        return float("nan")
    values = []
    for r in (first, second):
        sign = 1.0 if r.column.memorised == "high" else -1.0
        values.append([sign * r.of(model).value for model in shared])
    return float(kendalltau(*values).statistic)
