"""Simulated leaderboards on which nobody, or half of the models, are helped by what they could have seen.

Forty-five models in nine lineages of five (or each on its own), 300 items that get harder with their date; cutoffs lie
before, among and after the items' dates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CORRELATIONS = (0.0, 0.7)  # of ability and cutoff
CASES = {
    "Rasch": {},
    "2-PL": {"discrimination": "free"},
    "discrimination rising": {"discrimination": "rising"},
    "discrimination falling": {"discrimination": "falling"},
    "guessing floor 0.25": {"floor": 0.25},
    "lineages, shocks sd 1": {"lineages": True, "shock": 1.0},
    "lineages, shocks sd 2": {"lineages": True, "shock": 2.0},
    "second ability by date, shared": {"lineages": True, "drift": 1.0},
    "discrimination falling, 12 models": {"discrimination": "falling", "k": 12},
}
# Out of reach: with so few families a block of five spans half of all abilities, and is not of like ability.
OUT_OF_REACH = ("discrimination falling, 12 models",)


@dataclass(frozen=True)
class World:
    """A leaderboard, and who could have seen what."""

    right: np.ndarray  # (k, n) bool
    dates: np.ndarray  # (n,) of [0, 1]
    cutoffs: np.ndarray  # (k,)
    families: np.ndarray  # (k,)
    seen: np.ndarray  # (k, n) bool


def world(
    rng: np.random.Generator,
    *,
    k: int = 45,
    n: int = 300,
    correlation: float = 0.0,
    discrimination: str = "one",
    floor: float = 0.0,
    lineages: bool = False,
    shock: float = 0.0,
    drift: float = 0.0,
    gain: float = 0.0,
    harder: float = 1.5,
    half: bool = False,
) -> World:
    families = np.arange(k) // 5 if lineages else np.arange(k)
    count = int(families.max()) + 1
    # what a family has in common, and its members' own part; cutoffs are the family's
    common = rng.normal(size=count)
    other = correlation * common + np.sqrt(1 - correlation**2) * rng.normal(size=count)
    own = 0.5 if lineages else 0.0
    ability = common[families] * np.sqrt(1 - own**2) + own * rng.normal(size=k)
    rank = np.argsort(np.argsort(other)) / max(1, count - 1)
    cutoffs = np.clip(1.6 * rank - 0.8, -0.1, 0.8)[families]  # half of the families before all items
    if half:  # half of the models could have seen about a third of the items
        cutoffs = np.where(cutoffs > np.median(cutoffs), 1 / 3, -0.1)
    dates = np.sort(rng.random(n))
    difficulty = rng.normal(size=n) + harder * (dates - 0.5)
    slope = {
        "one": np.ones(n),
        "free": np.exp(0.4 * rng.normal(size=n)),
        "rising": np.exp(0.8 * (dates - 0.5)),
        "falling": np.exp(-0.8 * (dates - 0.5)),
    }[discrimination]
    logit = slope * (ability[:, None] - difficulty)
    if shock:
        logit = logit + shock * rng.normal(size=(count, n))[families]
    if drift:
        logit = logit + drift * (rng.normal(size=count)[families, None] * (dates - 0.5) * 2)
    seen = dates[None] <= cutoffs[:, None]
    p = floor + (1 - floor) / (1 + np.exp(-(logit + gain * seen)))
    return World(right=rng.random((k, n)) < p, dates=dates, cutoffs=cutoffs, families=families, seen=seen)
