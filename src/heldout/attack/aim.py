"""Which examples and which labels an analyst with a prior attacks, if nobody says: those of the best forecast."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.attack.knowledge import Knowledge, with_prior
from heldout.attack.oracle import Exact, Mechanism, MechanismMaker, Rounded
from heldout.attack.outlook import SUMMED, forecast_curve

TOPS = (2, 3, 5, 10)
FEWEST = 20  # points
QUICK = 2  # drawings a forecast is made from here


def choose_aim(
    prior: NDArray[Any],
    queries: int,
    *,
    attack: str = "nb",
    mechanism: Mechanism | MechanismMaker,
    rng: np.random.Generator,
) -> tuple[int | None, int]:
    """Top R (None: all classes) and number of points for which the forecast after so many answers is best.

    It sees the prior and no labels: the forecast is for labels that are drawn from the prior. Points are tried in the
    series 1, 2, 5, 10, …, from the best number for fewer labels on, upwards and downwards while the forecast grows.

    Examples
    --------
    >>> prior = np.full((2000, 10), 0.001 / 9)
    >>> prior[:, 0] = 0.999
    >>> prior[:300] = [0.45, 0.45, *[0.1 / 8] * 8]  # only these are in doubt, between two labels
    >>> choose_aim(prior, 200, mechanism=Exact(), rng=np.random.default_rng(0))
    (2, 500)
    """
    n, m = prior.shape
    known_to = mechanism if isinstance(mechanism, Exact | Rounded) else Exact()
    sizes = [q for e in range(1, 10) for q in (10**e, 2 * 10**e, 5 * 10**e) if FEWEST <= q < n] + [n]
    best: tuple[float, int | None, int] = (-math.inf, None, n)
    at = len(sizes) // 2
    for top in [*(r for r in TOPS if r < m), *([None] if m <= max(SUMMED, TOPS[-1]) else [])]:
        whole = with_prior(prior, top=top, rng=rng)
        order = _least_sure(prior, rng)
        found: dict[int, float] = {}

        def forecast(i: int) -> float:
            if i not in found:  # noqa: B023
                aim = _first_points(whole, order, sizes[i])  # noqa: B023
                curve = forecast_curve(attack, aim, np.array([queries]), mechanism=known_to, drawings=QUICK)
                found[i] = float(curve[0])  # noqa: B023
            return found[i]  # noqa: B023

        while at + 1 < len(sizes) and forecast(at + 1) > forecast(at):
            at += 1
        while at > 0 and forecast(at - 1) > forecast(at):
            at -= 1
        if forecast(at) > best[0]:
            best = (forecast(at), top, sizes[at])
    return best[1], best[2]


def _least_sure(prior: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
    """(n,) the examples, the least sure first, equals in random order."""
    shuffled = rng.permutation(len(prior))
    confidence = np.asarray(prior.max(axis=1))
    return np.asarray(shuffled[np.argsort(confidence[shuffled], kind="stable")])


def _first_points(whole: Knowledge, order: NDArray[np.int64], count: int) -> Knowledge:
    """The same, but only so many points are attacked."""
    if count == whole.n:
        return whole
    chosen = np.sort(order[:count])
    return replace(
        whole,
        points=chosen,
        options=None if whole.options is None else whole.options[chosen],
        unlikely=None if whole.unlikely is None else whole.unlikely[chosen],
    )
