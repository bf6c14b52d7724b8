"""The oracle counts and holds back; Lemma 4.1 by counting every query matrix."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from heldout.attack.confidence import log_confidence, query_weights
from heldout.attack.oracle import AccuracyOracle, Exact, Rounded
from heldout.errors import InputError


def test_lemma_4_1_by_counting():
    """n = 4, m = 3, k = 2: of all query matrices with given accuracies, the share with given labels at a point."""
    n, m, k, y = 4, 3, 2, (0, 2, 1, 1)
    queries = list(itertools.product(range(m), repeat=n))
    right = [sum(a == b for a, b in zip(q, y, strict=True)) for q in queries]
    by_accuracy: dict[tuple, dict[tuple, int]] = {}
    for (q1, r1), (q2, r2) in itertools.product(zip(queries, right, strict=True), repeat=k):
        seen = by_accuracy.setdefault((r1, r2), {})
        point = (q1[0], q2[0])
        seen[point] = seen.get(point, 0) + 1
    assert len(by_accuracy) == 25
    for (r1, r2), seen in by_accuracy.items():
        total = sum(seen.values())
        for point in itertools.product(range(m), repeat=k):
            expected = seen.get(point, 0) / total
            found = math.exp(log_confidence(point, [r1 / n, r2 / n], m)[y[0]])
            assert found == pytest.approx(expected, abs=1e-12)


def test_weights_give_the_same_order_as_confidences(rng):
    """Scores Σ w_j [s_j = l] differ from log conf by the same constant for every label."""
    m, k = 5, 40
    point, accuracies = rng.integers(0, m, k), rng.uniform(0.1, 0.4, k)
    scores = np.array(
        [sum(query_weights(a, m) for a, s in zip(accuracies, point, strict=True) if s == label) for label in range(m)]
    )
    difference = log_confidence(point, accuracies, m) - scores
    np.testing.assert_allclose(difference, difference[0], atol=1e-9)


def test_weights_at_the_ends():
    assert query_weights([1.0, 0.0], 3).tolist() == [math.inf, -math.inf]
    assert all(query_weights(1 / m, m) == 0.0 for m in (2, 3, 7, 10, 1000))


def test_counting_and_holding_back():
    labels = np.array([0, 1, 2, 0, 1, 2, 0])
    oracle = AccuracyOracle(labels)
    assert [oracle.accuracy(labels), oracle.accuracy(labels * 0)] == pytest.approx([1.0, 3 / 7])
    assert oracle.queries == 2
    coarse = AccuracyOracle(labels, Rounded(1))
    assert coarse.accuracy(labels * 0) == pytest.approx(0.4)
    assert coarse.true_accuracy(labels * 0) == pytest.approx(3 / 7)
    assert coarse.queries == 1


@pytest.mark.parametrize("n", [8, 200, 1000])
@pytest.mark.parametrize("digits", [1, 2, 3])
def test_rounding_is_exact_and_halves_go_up(n, digits):
    for wrong in range(n + 1):
        losses = np.arange(n) < wrong
        units = math.floor(wrong * 10**digits / n + 0.5 + 1e-12)
        assert Rounded(digits).answer(losses) == units / 10**digits
    assert Exact().answer(np.array([True, False])) == 0.5


def test_any_mechanism_plugs_in():
    class Silent:
        def answer(self, losses: np.ndarray) -> float:
            return 0.5

    oracle = AccuracyOracle([0, 1], Silent())
    assert oracle.accuracy([0, 1]) == oracle.accuracy([1, 0]) == 0.5


@pytest.mark.parametrize("labels", [[], [[0, 1]], [0.5, 1.0]])
def test_labels_that_are_none(labels):
    with pytest.raises(InputError, match="`labels`"):
        AccuracyOracle(labels)


def test_queries_of_another_length():
    with pytest.raises(InputError, match="the test set has 2"):
        AccuracyOracle([0, 1]).accuracy([0])
    with pytest.raises(InputError, match="`digits`"):
        Rounded(0)
