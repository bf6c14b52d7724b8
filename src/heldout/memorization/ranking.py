"""Which of several models memorised more: by one metric, and by metrics that disagree."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from heldout.memorization.curve import LEVEL, PMV, PTV, Curve, plain
from heldout.memorization.metrics import Estimate


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

    @property
    def direction(self) -> str:
        """Which way to read it."""
        return f"{'larger' if self.memorised == 'high' else 'smaller'} means more memorised"


GAP = Column("gap", "gap", "high")


@dataclass(frozen=True)
class Ranking:
    """Models in the order of one metric, the one that memorised most first.

    Parameters
    ----------
    models : tuple of str
    estimates : tuple of Estimate
        Each with an interval of its own. Models that share their examples are compared in pairs, which tells more than
        whether two intervals overlap.
    above : frozenset of (str, str)
        Pairs of models of which the first memorised more: significant, family-wise over all pairs of the metric.
    ranks : tuple of (int, int)
        First and last place that each model may have, by these pairs.
    level : float
        Of the whole family: among models that do not differ, anything in `above` is rarer than 1 - level.
    """

    column: Column
    models: tuple[str, ...]
    estimates: tuple[Estimate, ...]
    above: frozenset[tuple[str, str]]
    ranks: tuple[tuple[int, int], ...]
    level: float

    def differs(self, first: str, second: str) -> bool:
        """Whether the first memorised significantly more than the second."""
        return (first, second) in self.above

    def __str__(self) -> str:
        parts = [f"{self.models[0]} {self.estimates[0].value:.4f}"]
        for before, after, found in zip(self.models, self.models[1:], self.estimates[1:], strict=False):
            parts.append(f"{'>' if self.differs(before, after) else '~'} {after} {found.value:.4f}")
        return " ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "perturbation": self.column.perturbation,
            "metric": self.column.metric,
            "memorised": self.column.memorised,
            "family_wise_level": self.level,
            "significant": sorted(list(pair) for pair in self.above),
            "most_memorised_first": [
                {
                    "model": model,
                    "value": plain(e.value),
                    "low": plain(e.low),
                    "high": plain(e.high),
                    "ranks": list(ranks),
                }
                for model, e, ranks in zip(self.models, self.estimates, self.ranks, strict=True)
            ],
        }


@dataclass(frozen=True)
class Disagreement:
    """Two metrics that order two models differently, each significantly."""

    first: Column
    second: Column
    model: str  # memorised more by the first metric
    other: str  # memorised more by the second
    by_first: tuple[float, float]  # of model and other
    by_second: tuple[float, float]

    def __str__(self) -> str:
        return (
            f"{self.model} memorised more than {self.other} by {self.first.title} ({self.by_first[0]:.4f} against "
            f"{self.by_first[1]:.4f}), less by {self.second.title} ({self.by_second[0]:.4f} against "
            f"{self.by_second[1]:.4f})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "by": [self.first.title, self.second.title],
            "models": [self.model, self.other],
            "values": [list(self.by_first), list(self.by_second)],
        }


def columns_of(curves: Sequence[Curve]) -> list[Column]:
    """All metrics there are, in the order of the curves."""
    found = [Column(c.perturbation, m.name, m.memorised) for c in curves for m in c.metrics]
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
    known = {model: e for model, e in estimates.items() if not np.isnan(e.value)}
    if len(known) < 2:
        return None
    sign = -1.0 if column.memorised == "high" else 1.0
    order = sorted(known, key=lambda model: (sign * known[model].value, model))
    pairs = list(itertools.combinations(order, 2))  # the one that memorised more by value first
    tail = (1 - level) / (2 * len(pairs))
    above = frozenset(
        (more, less)
        for more, less in pairs
        if larger(*((more, less) if column.memorised == "high" else (less, more)), tail)
    )
    ranks = tuple(
        (
            1 + sum((other, model) in above for other in order),
            len(order) - sum((model, other) in above for other in order),
        )
        for model in order
    )
    return Ranking(column, tuple(order), tuple(known[model] for model in order), above, ranks, level)


def disagreements(rankings: Sequence[Ranking]) -> list[Disagreement]:
    """Every pair of models that two metrics order in opposite ways, each significantly."""
    found = []
    for first, second in itertools.combinations(rankings, 2):
        for a, b in itertools.permutations(first.models, 2):
            if {a, b} <= set(second.models) and first.differs(a, b) and second.differs(b, a):
                values = [tuple(r.estimates[r.models.index(model)].value for model in (a, b)) for r in (first, second)]
                found.append(Disagreement(first.column, second.column, a, b, values[0], values[1]))  # type: ignore[arg-type]
    return found


def rank_correlation(first: Ranking, second: Ranking) -> float:
    """Kendall's tau of two metrics over the models they share; NaN below three."""
    from scipy.stats import kendalltau

    shared = [model for model in first.models if model in second.models]
    if len(shared) < 3:
        return float("nan")
    values = []
    for r in (first, second):
        sign = 1.0 if r.column.memorised == "high" else -1.0
        values.append([sign * r.estimates[r.models.index(model)].value for model in shared])
    return float(kendalltau(*values).statistic)
