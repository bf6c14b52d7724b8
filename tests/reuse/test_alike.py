"""Clustering for the heat map, and the grid of pairs."""

from __future__ import annotations

import numpy as np
import pytest

from heldout.reuse.alike import FEW_PAIRS, block_means, clustered, how_alike, leaf_order, pair_grid, submatrix
from heldout.reuse.similarity import similarity
from tests.reuse.test_budget_summary import correct


def families(k: int, n: int, seed: int) -> np.ndarray:
    """Two families, shuffled: members differ from their head on a few examples only."""
    rng = np.random.default_rng(seed)
    heads = rng.random((2, n)) < 0.7
    family = rng.permutation(np.arange(k) % 2)
    return np.asarray(heads[family] ^ (rng.random((k, n)) < 0.03)), family


def test_families_stand_together() -> None:
    right, family = families(20, 400, 0)
    s = similarity(right)
    c = clustered(s, np.argsort(s.errors))
    assert not c.blocks
    found = [int(family[row[0]]) for row in c.rows]
    assert found in ([0] * 10 + [1] * 10, [1] * 10 + [0] * 10)
    models = np.concatenate(c.rows)
    assert np.array_equal(c.values, s.matrix()[np.ix_(models, models)])


def test_submatrix_is_part_of_the_matrix() -> None:
    s = similarity(correct(9, 200, 1))
    some = np.array([1, 4, 5, 8])
    assert np.array_equal(submatrix(s, some), s.matrix()[np.ix_(some, some)])


def test_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    import heldout.reuse.alike as order

    right, _ = families(130, 300, 2)
    s = similarity(right)
    c = clustered(s, np.argsort(s.errors))
    assert c.blocks
    assert c.values.shape == (100, 100)
    assert sorted(np.concatenate(c.rows).tolist()) == list(range(130))
    i, j = 3, 70
    expected = s.matrix()[np.ix_(c.rows[i], c.rows[j])].mean()
    assert c.values[i, j] == pytest.approx(expected)
    monkeypatch.setattr(order, "MAX_CLUSTERED", 60)
    thin = clustered(s, np.argsort(s.errors))
    assert thin.n_models == 60
    assert not thin.blocks


def test_block_means_against_loops() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((7, 7))
    values = (values + values.T) / 2
    values[2, 5] = values[5, 2] = np.nan
    sizes, starts = [3, 2, 2], [0, 3, 5]
    found = block_means(values, sizes)
    for a in range(3):
        for b in range(3):
            cells = [
                values[i, j]
                for i in range(starts[a], starts[a] + sizes[a])
                for j in range(starts[b], starts[b] + sizes[b])
                if i != j and np.isfinite(values[i, j])
            ]
            assert found[a, b] == pytest.approx(np.mean(cells))


def test_pairs_without_a_common_example_do_not_stop_clustering() -> None:
    values = np.ones((4, 4))
    values[0, 1] = values[1, 0] = np.nan
    assert sorted(leaf_order(values).tolist()) == [0, 1, 2, 3]


def test_pair_grid_counts_every_pair() -> None:
    s = similarity(correct(15, 300, 3))
    edges, counts = pair_grid(s)
    assert counts.sum() == 105
    expected, _, _ = np.histogram2d(s.baseline(), s.agreement(), bins=[edges, edges])
    assert np.abs(counts - expected).sum() <= 2  # a value on an edge may fall to either side


def test_few_pairs_are_kept_one_by_one() -> None:
    for k, few in ((2, True), (5, True), (6, False)):
        s = similarity(correct(k, 200, 4))
        assert (s.n_pairs <= FEW_PAIRS) == few
        alike = how_alike(s, np.argsort(s.errors))
        assert (alike.pairs is None, alike.edges is None, alike.map is None) == (not few, few, k == 2)
        assert (alike.below_chance, alike.disjoint) == (s.below_chance, s.disjoint)
        if alike.pairs is not None:
            assert np.array_equal(alike.pairs, np.stack([s.agreement(), s.baseline(), s.kappa()], axis=1))
