"""The law of the scores against enumeration, against the forced choice, and against simulated attacks."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from heldout.attack.forecast import forecast
from heldout.attack.knowledge import Knowledge
from heldout.attack.outlook import VOTES
from heldout.attack.reading import hits_law
from heldout.attack.score_law import discrete_forecast
from heldout.attack.stress import stress


@pytest.mark.parametrize("weights", [(-1.0, 0.0, 2.0), (-0.7, 0.1, 0.9)])
@pytest.mark.parametrize(("m", "k"), [(3, 2), (4, 3)])
def test_by_enumeration(weights, m, k):
    """Three independent scores, each a sum of k draws that name its label or not: every combination counted."""
    n, hits, probability = 2, np.arange(3), np.array([0.5, 0.3, 0.2])
    w = np.array(weights)
    named = probability * hits / n, probability * (1 - hits / n) / (m - 1)

    def law(mass):
        places = [(0.0, 1 - float(mass.sum())), *zip(w.tolist(), mass.tolist(), strict=True)]
        found: dict[float, float] = {}
        for draws in itertools.product(places, repeat=k):
            s = round(sum(d[0] for d in draws), 9)
            found[s] = found.get(s, 0.0) + math.prod(d[1] for d in draws)
        return found

    true, other = law(named[0]), law(named[1])
    expected = 0.0
    for s, p in true.items():
        below = sum(q for t, q in other.items() if t < s - 1e-9)
        equal = sum(q for t, q in other.items() if abs(t - s) < 1e-9)
        for ties in range(m):
            chance = math.comb(m - 1, ties) * equal**ties * below ** (m - 1 - ties)
            expected += p * chance / (1 + ties)
    found = discrete_forecast(w, hits, probability, points=n, m=m, k=k)
    assert found == pytest.approx(expected, abs=1e-9 if w[0] == -1 else 2e-4)  # off a grid of whole numbers: its step


@pytest.mark.parametrize(("n", "m", "k"), [(10_000, 10, 1000), (10_000, 100, 20_000), (50_000, 20, 3000)])
def test_where_labels_are_named_often_it_is_the_forced_choice(n, m, k):
    hits, probability = hits_law(n, m)
    weights = VOTES["nb"](Knowledge(n=n, m=m), seed=0, sure=False).weights(hits / n)
    found = discrete_forecast(weights, hits, probability, points=n, m=m, k=k)
    assert found == pytest.approx(forecast(n, m, k), abs=5e-4)


SETTINGS = {"nb": (4000, 1000, 800), "majority": (4000, 100, 100), "plurality": (4000, 10, 300)}


@pytest.mark.parametrize(
    ("attack", "n", "m", "k"),
    [
        (a, *at) if SETTINGS[a] == at else pytest.param(a, *at, marks=pytest.mark.slow)
        for a in VOTES
        for at in SETTINGS.values()
    ],
)
def test_simulated(attack, n, m, k):
    """Also where a label is named less than once on average, where the forced choice is far too low."""
    result = stress(n, m, queries=k, attack=attack, trials=30, seed=1)
    error = float(result.run.std[-1]) / math.sqrt(30)
    assert result.run.forecast[-1] == pytest.approx(result.accuracy, abs=4 * error)
    if m == 1000 and attack != "majority":
        assert forecast(n, m, k, attack=attack) < result.accuracy - 4 * error


def test_no_signal_is_chance():
    hits, probability = hits_law(1000, 50)
    assert discrete_forecast(np.zeros(len(hits)), hits, probability, points=1000, m=50, k=100) == pytest.approx(1 / 50)
    assert discrete_forecast(np.ones(len(hits)), hits, probability, points=1000, m=50, k=0) == pytest.approx(1 / 50)
