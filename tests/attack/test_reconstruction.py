"""Reconstruction against brute force over all labellings, and at the sizes that are promised."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from heldout.attack.oracle import AccuracyOracle, Rounded
from heldout.attack.reconstruction import reconstruct
from heldout.errors import InputError


def fitting(queries, hits, m, outside, slack):
    """Every labelling that fits, by trying all of them."""
    t = queries.shape[1]
    found = []
    for labels in itertools.product(range(m), repeat=t):
        rest = hits - (queries == labels).sum(axis=1)
        low, high = max(0, int((rest - slack).max())), min(outside, int((rest + slack).min()))
        if low <= high:
            found.append(labels)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_brute_force(seed):
    rng = np.random.default_rng(seed)
    m, t = int(rng.integers(2, 4)), int(rng.integers(2, 6))
    k, outside, slack = int(rng.integers(1, 7)), int(rng.integers(0, 4)), int(rng.integers(0, 2))
    labels, queries = rng.integers(0, m, t), rng.integers(0, m, (k, t))
    hits = (queries == labels).sum(axis=1) + rng.integers(0, outside + 1)
    hits = hits + rng.integers(-slack, slack + 1, k)
    possible = fitting(queries, hits, m, outside, slack)
    found = reconstruct(queries, hits, m, outside=outside, slack=slack)
    assert tuple(found.labels) in possible
    assert found.unique == (len(possible) == 1)
    assert (found.other is None) == found.unique
    if found.other is not None:
        assert tuple(found.other) in possible
        assert tuple(found.other) != tuple(found.labels)


@pytest.mark.parametrize(("t", "m"), [(100, 2), (60, 3), (30, 10)])
def test_sixty_queries_recover_what_is_promised(t, m):
    """Through an oracle over 2,000 points; nothing is known of those outside."""
    rng = np.random.default_rng(t)
    hidden = rng.integers(0, m, 2000)
    oracle = AccuracyOracle(hidden)
    elsewhere = rng.integers(0, m, 2000 - t)
    queries = rng.integers(0, m, (60, t))
    answers = [oracle.accuracy(np.concatenate([query, elsewhere])) for query in queries]
    found = reconstruct(queries, np.rint(2000 * np.array(answers)).astype(int), m, outside=2000 - t)
    np.testing.assert_array_equal(found.labels, hidden[:t])
    assert found.unique is True
    assert found.shift == int((elsewhere == hidden[t:]).sum())
    assert found.seconds < 60  # the limit it was given
    assert "no other labelling fits (proved)" in str(found)


def test_too_few_queries_say_so():
    rng = np.random.default_rng(0)
    labels, queries = rng.integers(0, 3, 20), rng.integers(0, 3, (4, 20))
    found = reconstruct(queries, (queries == labels).sum(axis=1), 3, outside=50)
    assert found.unique is False
    assert "another labelling fits as well" in str(found)


def test_rounded_answers_need_slack():
    rng = np.random.default_rng(1)
    hidden = rng.integers(0, 2, 400)
    oracle = AccuracyOracle(hidden, Rounded(2))  # steps of 4 points
    queries = rng.integers(0, 2, (60, 12))
    elsewhere = np.zeros(388, dtype=int)
    answers = np.array([oracle.accuracy(np.concatenate([query, elsewhere])) for query in queries])
    found = reconstruct(queries, np.rint(400 * answers).astype(int), 2, outside=388, slack=2)
    np.testing.assert_array_equal(found.labels, hidden[:12])


def test_answers_of_no_labelling():
    queries = np.array([[0, 0], [1, 1]])
    found = reconstruct(queries, np.array([0, 5]), 2, outside=3)
    assert (found.labels, found.possible) == (None, False)
    assert "no labelling fits" in str(found)


def test_no_time():
    rng = np.random.default_rng(2)
    queries = rng.integers(0, 3, (40, 60))
    found = reconstruct(queries, (queries == 1).sum(axis=1), 3, outside=10, time_limit=0.0)
    assert found.labels is None
    assert found.possible
    assert "ran out of time" in str(found)


@pytest.mark.parametrize(
    ("queries", "hits", "options", "words"),
    [
        ([[0, 1]], [1, 2], {}, "`hits`"),
        ([[0, 1]], [0.5], {}, "`hits`"),
        ([0, 1], [1], {}, "`queries`"),
        ([[0, 3]], [1], {}, "0 to 2"),
        ([[0, -1]], [1], {}, "0 to 2"),
        ([[0, 1]], [1], {"outside": -1}, "`outside`"),
    ],
)
def test_refuses(queries, hits, options, words):
    with pytest.raises(InputError, match=words):
        reconstruct(queries, hits, 3, **({"outside": 5} | options))
