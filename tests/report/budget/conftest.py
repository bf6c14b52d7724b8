"""Real budgets of small pools: what a report must cope with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from heldout.predictions import Predictions
from heldout.reuse.budget import budget, budget_from_numbers
from heldout.reuse.result import BudgetResult

HOSTILE = "<script>alert('&amp;')</script>\"><img src=x onerror=alert(1)>"


def correct(k: int, n: int, seed: int, *, hard: float = 0.4, spread: float = 0.25) -> NDArray[np.bool_]:
    """Models that are right on the easy examples and err on the hard ones, each at its own rate."""
    rng = np.random.default_rng(seed)
    is_hard = rng.random(n) < hard
    rates = 0.3 + spread * rng.random((k, 1))
    found: NDArray[np.bool_] = ~(is_hard & (rng.random((k, n)) < rates))
    return found


def names(k: int) -> list[str]:
    return [f"model_{i:03d}_with_a_rather_long_name_v{i % 7}" for i in range(k)]


@pytest.fixture(scope="session")
def similar() -> BudgetResult:
    """Twelve models of different quality with much in common: room for more, ties and clear steps."""
    right = correct(12, 4000, 0)
    right[9:] &= np.random.default_rng(1).random((3, 4000)) < [[0.9], [0.8], [0.6]]
    return budget(Predictions.from_correct(right, names=names(12)), epsilon=0.03)


@pytest.fixture(scope="session")
def masked() -> BudgetResult:
    """The same kind of pool with a tenth of the answers missing."""
    observed = np.random.default_rng(2).random((8, 900)) < 0.9
    return budget(Predictions.from_correct(correct(8, 900, 3), observed=observed, names=names(8)), epsilon=0.05)


@pytest.fixture(scope="session")
def opposed() -> BudgetResult:
    """Two models that are never wrong together: no coupling, the union bound only."""
    first = np.arange(1000) >= 200
    second = (np.arange(1000) < 300) | (np.arange(1000) >= 550)
    return budget(Predictions.from_correct(np.stack([first, second]), names=["one", "two"]), epsilon=0.05)


@pytest.fixture(scope="session")
def grouped() -> BudgetResult:
    """Examples in twenty groups, a few too few."""
    rng = np.random.default_rng(9)
    codes = np.repeat(np.arange(20), np.arange(5, 25))
    alike = rng.random(len(codes)) < 0.7
    right = np.where(alike, correct(6, 20, 5)[:, codes], correct(6, len(codes), 6))
    return budget(Predictions.from_correct(right, names=names(6)), epsilon=0.3, groups=codes)


@pytest.fixture(scope="session")
def families() -> BudgetResult:
    """Two families of models, each with hard examples of its own: no common cause."""
    rng = np.random.default_rng(10)
    hard = np.repeat(rng.random((2, 4000)) < 0.5, 4, axis=0)
    return budget(Predictions.from_correct(~(hard & (rng.random((8, 4000)) < 0.5)), names=names(8)), epsilon=0.03)


@pytest.fixture(scope="session")
def large() -> BudgetResult:
    """More models than rows: the top of the leaderboard, and blocks instead of names."""
    return budget(Predictions.from_correct(correct(230, 300, 4), names=names(230)), epsilon=0.1)


@pytest.fixture(scope="session")
def full() -> BudgetResult:
    """As many models as there is room for, and more."""
    return budget(Predictions.from_correct(correct(40, 500, 5), names=names(40)), epsilon=0.04)


@pytest.fixture(scope="session")
def too_few() -> BudgetResult:
    """Not even one model fits."""
    return budget(Predictions.from_correct(correct(5, 60, 6), names=names(5)), epsilon=0.01)


@pytest.fixture(scope="session")
def four_numbers() -> BudgetResult:
    """ImageNet's four numbers."""
    return budget_from_numbers(50_000, 0.244, 0.85)


@pytest.fixture(scope="session")
def no_coupling() -> BudgetResult:
    """Four numbers less similar than chance."""
    return budget_from_numbers(50_000, 0.244, 0.55)


@pytest.fixture(scope="session")
def four_too_few() -> BudgetResult:
    """Four numbers for which nothing fits."""
    return budget_from_numbers(50, 0.244, 0.85)


@pytest.fixture(scope="session")
def hostile() -> BudgetResult:
    """Names that want to break out of the page."""
    bad = [HOSTILE, f"{HOSTILE}\udcff", "\N{RIGHT-TO-LEFT OVERRIDE}back", "x" * 300]
    result = budget(Predictions.from_correct(correct(4, 300, 7), names=bad), epsilon=0.1)
    return replace(result, source=HOSTILE)


@pytest.fixture(scope="session")
def flawless() -> BudgetResult:
    """All right on everything: no mean error to draw curves for."""
    return budget(Predictions.from_correct(np.ones((4, 800), bool), names=names(4)), epsilon=0.02)


@pytest.fixture(scope="session")
def turned() -> BudgetResult:
    """The first looks better on what it answered, and is worse where both answered."""
    right, observed = np.ones((2, 3000), bool), np.ones((2, 3000), bool)
    right[0, :200] = False
    right[1, 200:260] = False
    observed[1, 400:] = False
    return budget(Predictions.from_correct(right, observed=observed, names=["lucky", "solid"]), epsilon=0.05)


@pytest.fixture(scope="session")
def misfit() -> BudgetResult:
    """Mean error and mean similarity of different examples: no two models have both."""
    right, observed = np.ones((2, 1000), bool), np.ones((2, 1000), bool)
    right[0, :10] = False
    observed[1, 20:] = False
    return budget(Predictions.from_correct(right, observed=observed, names=["all", "few"]), epsilon=0.2)


POOLS = (
    "similar",
    "masked",
    "opposed",
    "large",
    "full",
    "too_few",
    "hostile",
    "flawless",
    "turned",
    "misfit",
    "families",
)
NUMBERS = ("four_numbers", "no_coupling", "four_too_few")


@pytest.fixture(params=POOLS + NUMBERS)
def result(request: pytest.FixtureRequest) -> BudgetResult:
    """Each of them in turn."""
    found: BudgetResult = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=POOLS)
def pool_result(request: pytest.FixtureRequest) -> BudgetResult:
    """Each of those with models."""
    found: BudgetResult = request.getfixturevalue(request.param)
    return found
