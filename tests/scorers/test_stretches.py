"""Columns at which to branch are the cheapest ones."""

from __future__ import annotations

import itertools

import numpy as np

from heldout.scorers.stretches import common_beginning, stretches


def test_stretches_are_the_cheapest():
    """Against every set of columns."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        common = rng.choice([0, 3, 10, 14, 21], size=7)
        length, call = 30, int(rng.integers(0, 40))

        def cost(cuts, common=common, length=length, call=call):
            ends = [0, *cuts]
            runs = [(1 + (common < b).sum()) * (b - a) + call for a, b in itertools.pairwise(ends)]
            return sum(runs) + (len(common) + 1) * (length - ends[-1])

        every = [cuts for n in range(5) for cuts in itertools.combinations([3, 10, 14, 21], n)]
        assert cost(stretches(common, length, call)) == min(map(cost, every))


def test_common_beginning():
    assert common_beginning(np.array([1, 2, 3]), np.array([1, 2, 4, 5])) == 2
    assert common_beginning(np.array([1, 2]), np.array([1, 2, 4])) == 2
