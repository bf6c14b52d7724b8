"""Queries that are never stored: the same by every way of making them, and as random as they should be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, chi2, chisquare, kstest

from heldout.attack import kernels
from heldout.attack import queries as module
from heldout.attack.queries import TIES, Queries, count_hits, winners


@pytest.fixture
def plain(monkeypatch):
    """As on a machine without numba."""
    monkeypatch.setattr(module, "_fastest", lambda n, k: None)


@pytest.fixture
def fast(monkeypatch):
    """As where there is much to do."""
    monkeypatch.setattr(module, "_fastest", lambda n, k: kernels)


def splitmix(seed: int, query: int, point: int, m: int) -> int:
    """From the definition, in Python's whole numbers."""

    def mix(z: int) -> int:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    golden = 0x9E3779B97F4A7C15
    key = mix((mix(seed) + golden * (query // 2 + 1)) % 2**64)
    word = mix((key + golden * (point + 1)) % 2**64)
    return ((word >> 32 if query % 2 else word % 2**32) * m) >> 32


@pytest.mark.parametrize(("m", "seed"), [(2, 0), (10, 2**64 - 1), (1000, 123456789)])
def test_the_definition(m, seed):
    queries = Queries(9, m, seed)
    found = [queries.labels(j).tolist() for j in range(7)]
    assert found == [[splitmix(seed, j, i, m) for i in range(9)] for j in range(7)]


def slow_winners(queries, weights, stops, prior, ties):
    """One number at a time."""
    out = []
    labels = [queries.labels(j) for j in range(len(weights))]
    for stop in stops:
        row = []
        for i in range(queries.n):
            scores = prior[i].copy() if prior is not None else np.zeros(queries.m)
            for j in range(stop):
                scores[labels[j][i]] += weights[j]
            best = np.flatnonzero(scores == np.nanmax(scores))
            row.append(best[(int(ties[i]) % 2**32 * len(best)) >> 32])
        out.append(row)
    return np.array(out)


@pytest.mark.parametrize(("n", "m", "k"), [(70, 2, 301), (33, 7, 64), (20, 1000, 77), (5, 3, 1)])
@pytest.mark.parametrize("with_prior", [False, True])
def test_winners_one_by_one(rng, n, m, k, with_prior):
    queries = Queries(n, m, seed=5)
    weights = rng.integers(-2, 3, k).astype(float)  # whole numbers, so that there are ties
    prior = rng.integers(-3, 1, (n, m)).astype(float) if with_prior else None
    stops = sorted({1, k // 3 + 1, k})
    start = None if prior is None else (lambda a, b: prior[a:b])
    expected = slow_winners(queries, weights, stops, prior, queries.words(TIES))
    np.testing.assert_array_equal(winners(queries, weights, stops, prior=start), expected)


@pytest.mark.parametrize(("n", "m", "k"), [(2500, 2, 301), (1500, 7, 64), (300, 1000, 777), (4000, 10, 1200)])
def test_with_and_without_numba_to_the_last_bit(monkeypatch, rng, n, m, k):
    queries, truth = Queries(n, m, seed=5), rng.integers(-1, m + 2, n)
    weights, stops = rng.normal(size=k), [1, 5, 6, k // 2, k]
    logs = np.log(rng.dirichlet(np.ones(m), n))
    found = []
    for compiled in (kernels, None):
        monkeypatch.setattr(module, "_fastest", lambda n, k, compiled=compiled: compiled)
        for jobs in (1, 2):
            found.append(
                (
                    count_hits(queries, truth, 3, k, n_jobs=jobs),
                    winners(queries, weights, stops, n_jobs=jobs),
                    winners(queries, weights, stops, prior=lambda a, b: logs[a:b], n_jobs=jobs),
                )
            )
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(found[0][0], [(queries.labels(j) == truth).sum() for j in range(3, k)])


def test_numba_is_loaded_once_there_is_enough_to_do(monkeypatch):
    monkeypatch.setattr(module, "_compiled", lambda: kernels)
    monkeypatch.setattr(module, "_drawn", 0)
    monkeypatch.setattr(module.sys, "modules", {})
    half = module.WORTH // 2 // (1000 + module.CALL)
    assert module._fastest(1000, half) is None
    assert module._fastest(1000, half) is None
    assert module._fastest(1000, 100) is kernels  # all that was asked for counts, not this pass alone
    monkeypatch.setattr(module, "_drawn", 0)
    monkeypatch.setattr(module.sys, "modules", {"numba": None})
    assert module._fastest(1, 1) is kernels  # it is there, so it costs nothing


@pytest.mark.parametrize("without_numba", [False, True])
def test_infinite_weights(request, without_numba):
    """A query that is all right decides alone; one that is all wrong rules its labels out; -∞ is not compared away."""
    request.getfixturevalue("plain" if without_numba else "fast")
    queries = Queries(200, 3, seed=1)
    first, second = queries.labels(0), queries.labels(1)
    weights = np.array([np.inf, 5.0])
    np.testing.assert_array_equal(winners(queries, weights, [2])[0], first)
    ruled_out = winners(queries, np.array([-np.inf, -1.0]), [2])[0]
    assert (ruled_out != first).all()
    assert (ruled_out[second != first] != second[second != first]).all()
    contradiction = winners(queries, np.array([np.inf, -np.inf]), [2])[0]  # +∞ - ∞ where both name one label
    assert (contradiction[first != second] == first[first != second]).all()


@pytest.mark.parametrize("without_numba", [False, True])
def test_ties_are_broken_at_random(request, without_numba):
    request.getfixturevalue("plain" if without_numba else "fast")
    chosen = winners(Queries(30_000, 5, seed=3), np.zeros(4), [4])[0]
    assert chisquare(np.bincount(chosen, minlength=5)).pvalue > 1e-4
    others = winners(Queries(30_000, 5, seed=4), np.zeros(4), [4])[0]
    assert (chosen != others).any()


@pytest.mark.parametrize("m", [2, 3, 10, 1000])
def test_hits_are_binomial(rng, m):
    """Over queries: their whole law, not only its mean."""
    n, k = 3000, 4000
    hits = count_hits(Queries(n, m, seed=11), rng.integers(0, m, n), 0, k)
    law = binom(n, 1 / m)
    low, high = law.cdf(hits - 1), law.cdf(hits)
    assert kstest(low + (high - low) * rng.random(k), "uniform").pvalue > 1e-4


def test_queries_and_points_do_not_know_of_each_other():
    """Pairs of labels, in neighbouring queries (halves of one word), neighbouring streams and neighbouring points."""
    n, m = 100_000, 8
    queries = Queries(n, m, seed=0)
    a, b, c = (queries.labels(j).astype(np.int64) for j in (0, 1, 2))
    for x, y in ((a, b), (a, c), (b, c), (a[1:], a[:-1]), (a[2:], b[:-2])):
        counts = np.bincount(m * x + y, minlength=m * m)
        statistic = float(((counts - len(x) / m**2) ** 2 / (len(x) / m**2)).sum())
        assert 1e-4 < chi2.sf(statistic, m * m - 1) < 1 - 1e-4


def test_seeds_differ():
    assert (Queries(1000, 10, 0).labels(0) != Queries(1000, 10, 1).labels(0)).mean() > 0.85
