"""How the number of testable models moves with similarity and with epsilon (figures 1b and 2), errors being equal."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from heldout.reuse.bounds import LARGEST, TestableModels, testable_models
from heldout.reuse.thresholds import Number, error_thresholds, exact, independent_similarity
from heldout.statistics.binomial import lower_tail, upper_tail

POINTS = 25
MOST = 1e12  # models at which the curve over epsilon ends: nobody has more


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """Testable models by each bound against x; NaN where a bound is undefined or past counting."""

    x: NDArray[np.float64]
    union: NDArray[np.float64]
    similarity: NDArray[np.float64]
    naive_bayes: NDArray[np.float64]


def models_by_similarity(n: int, error: Number, *, epsilon: Number, delta: Number) -> Curve:
    """Against similarity, from independent errors to nearly identical models."""
    chance = independent_similarity(error)
    etas = chance + (1 - chance) * np.linspace(1e-6, 0.99, POINTS)
    return _curve(etas, (testable_models(n, error, float(eta), epsilon=epsilon, delta=delta) for eta in etas))


def models_by_epsilon(n: int, error: Number, similarity: Number, *, delta: Number) -> Curve:
    """Against epsilon, from where one model fits to where a million millions do."""
    p = exact(error)

    def off(m: int) -> float:
        lo, hi = error_thresholds(n, p, Fraction(m, n))
        return float(upper_tail(hi, n, float(p)) + lower_tail(lo, n, float(p)))

    limits = float(delta), float(delta) / MOST
    first, last = (next((m for m in _widening(n) if off(m) <= limit), n) for limit in limits)
    steps = np.unique(np.linspace(first, max(last, first + 1), POINTS).round().astype(int))
    epsilons = [Fraction(int(m), n) for m in steps if 0 < m < n]
    models = (testable_models(n, error, similarity, epsilon=e, delta=delta) for e in epsilons)
    return _curve(np.array([float(e) for e in epsilons]), models)


def _widening(n: int) -> Iterable[int]:
    """Whole numbers up to n, each about a hundredth larger than the last."""
    m = 1
    while m < n:
        yield m
        m += math.ceil(m / 100)


def _curve(x: NDArray[np.float64], models: Iterable[TestableModels]) -> Curve:
    counts = [m.to_dict() for m in models]

    def column(name: str) -> NDArray[np.float64]:
        values = (c[name] for c in counts)
        return np.array([math.nan if v is None or v >= LARGEST else float(v) for v in values])

    return Curve(x=x, union=column("union"), similarity=column("similarity"), naive_bayes=column("naive_bayes"))
