"""The forecast against closed forms, against simulated scores and against simulated attacks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from heldout.attack.confidence import query_weights
from heldout.attack.forecast import (
    EFFICIENCY,
    detectability,
    forced_choice,
    forecast,
    forecast_with_prior,
)
from heldout.attack.outlook import expected_accuracy, queries_to_reach
from heldout.errors import InputError


def forecast_top(n_points: int, top: int, k: int, *, share: float) -> float:
    """Expected accuracy on the attacked points, where the label is among the top R with probability `share`.

    Only those points answer to a query, so they alone carry the signal and its noise:
    share · mAFC(sqrt(k/(q · share) · R/(R-1)), R).
    """
    return share * forced_choice(detectability(k, n_points * share, top), top) if share else 0.0


@pytest.mark.parametrize("m", [2, 3, 10, 1000, 100_000])
def test_no_signal_is_chance(m):
    assert forced_choice(0.0, m) == pytest.approx(1 / m, rel=1e-9)


@pytest.mark.parametrize("d", [0.1, 1.0, 3.0])
def test_two_classes_in_closed_form(d):
    assert forced_choice(d, 2) == pytest.approx(norm.cdf(d / math.sqrt(2)), abs=1e-13)


@pytest.mark.parametrize(("d", "m"), [(0.5, 5), (2.0, 100)])
def test_simulated_scores(rng, d, m):
    z = rng.normal(size=(40_000, m))
    z[:, 0] += d
    rate = float((z.argmax(axis=1) == 0).mean())
    assert forced_choice(d, m) == pytest.approx(rate, abs=4 * math.sqrt(rate / 40_000))


def test_design_s_numbers():
    assert forecast(10_000, 2, 1000) == pytest.approx(0.6241, abs=5e-5)
    assert forecast(10_000, 10, 1000) == pytest.approx(0.161, abs=5e-4)
    assert forecast(10_000, 100, 5000) == pytest.approx(0.048, abs=1e-3)
    assert forecast(10_000, 2, 1000, attack="majority") == pytest.approx(norm.cdf(math.sqrt(0.2 / math.pi)), abs=1e-12)


def attack(rng, n, m, k, kind):
    """One attack, the plain way: draw, ask, weigh, take the best."""
    labels = rng.integers(0, m, n)
    scores = np.zeros((n, m))
    rows = np.arange(n)
    sd = math.sqrt((1 - 1 / m) / m / n)
    for _ in range(k):
        query = rng.integers(0, m, n)
        accuracy = float((query == labels).mean())
        weight = {
            "nb": query_weights(accuracy, m),
            "majority": math.copysign(1.0, accuracy - 1 / m),
            "plurality": float(accuracy > 1 / m + sd),
        }[kind]
        scores[rows, query] += weight
    scores += rng.random((n, m)) * 1e-9  # ties are broken at random
    return float((scores.argmax(axis=1) == labels).mean())


@pytest.mark.parametrize(
    ("n", "m", "k", "kind"),
    [(4000, 2, 800, "nb"), (4000, 10, 400, "nb"), (4000, 2, 800, "majority"), (4000, 5, 1000, "plurality")],
)
def test_simulated_attacks(rng, n, m, k, kind):
    found = float(np.mean([attack(rng, n, m, k, kind) for _ in range(4)]))
    expected = forecast(n, m, k, attack=kind)
    assert found == pytest.approx(expected, abs=5 * math.sqrt(0.25 / (4 * n)) + 0.003)
    assert abs(found - 1 / m) > 5 * math.sqrt(0.25 / (4 * n))  # it gains something at all


def test_nb_beats_majority_beats_plurality():
    assert EFFICIENCY["nb"] > EFFICIENCY["majority"] > EFFICIENCY["plurality"]
    assert forecast(10_000, 2, 1000) - forecast(10_000, 2, 1000, attack="majority") == pytest.approx(0.0245, abs=5e-4)


def test_prior(rng):
    """Points of two kinds, a sure prior and a loose one, scores simulated."""
    prior = np.array([[0.7, 0.2, 0.1], [0.4, 0.35, 0.25]])
    n, k = 1000, 300
    d = math.sqrt(k / n * 3 / 2)
    hits = 0
    for row in prior:
        labels = rng.choice(3, 60_000, p=row)
        z = rng.normal(size=(60_000, 3))
        z[np.arange(60_000), labels] += d
        hits += int(((np.log(row) + d * z).argmax(axis=1) == labels).sum())
    assert forecast_with_prior(prior, n, k) == pytest.approx(hits / 120_000, abs=0.006)
    assert forecast_with_prior(prior, n, 0) == pytest.approx(0.55)
    certain = np.array([[1.0, 0.0, 0.0]])
    assert forecast_with_prior(certain, n, k) == pytest.approx(1.0)


def test_top(rng):
    assert forecast_top(10_000, 2, 5200, share=1.0) == pytest.approx(forecast(10_000, 2, 5200))
    assert forecast_top(10_000, 2, 5200, share=0.0) == 0.0
    assert forecast_top(10_000, 4, 0, share=0.8) == pytest.approx(0.2)  # chance among the top four


@pytest.mark.parametrize(("n", "m", "attack_name"), [(10_000, 2, "nb"), (50_000, 1000, "nb"), (10_000, 10, "majority")])
def test_queries_to_reach_inverts_the_forecast(n, m, attack_name):
    advantage = 0.3 / m
    k = queries_to_reach(advantage, n, m, attack=attack_name)
    before, after = (expected_accuracy(n, m, x, attack=attack_name) for x in (k - 1, k))
    assert before < 1 / m + advantage <= after + 1e-9


@pytest.mark.parametrize("advantage", [0.0, -0.1, 0.5, 2.0])
def test_impossible_advantages(advantage):
    with pytest.raises(InputError, match="`advantage`"):
        queries_to_reach(advantage, 1000, 2)
