"""Draws of `arrangements` in NumPy, for where there is no numba; `arrangement_kernels` draws the same, to the last bit.

Items are in the order of their strata, those whose value depends on the order last in each. Random numbers are a
function of draw, purpose and item (splitmix64).
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heldout.statistics.margin_trades import Floats, Words, unit_numpy, word

PICKS, SHUFFLES, ROUNDS = (
    np.uint64(i) for i in (0, 1, 2)
)  # words of a draw's key: orders, positions, from the third on rounds
CELLS = 4_000_000  # positions that are held at once

Places = NDArray[np.uint8]


class Design(NamedTuple):
    """What the draws need to know of the items, as arrays only, so that machine code takes it as it is.

    Parameters
    ----------
    places : (n,) uint8
        Positions of the answer as printed.
    bounds : (strata + 1,) int64
        Where strata begin.
    passive : (strata,) int64
        How many items of a stratum, its first, have one value in all their orders.
    balanced : (strata,) bool
        Whether positions can be permuted freely.
    many : (n, k) int32
        Orders of an item with each position.
    first : (n, k + 1) int64
        Where the orders of an item with each position begin in `values`.
    values : (m, v) float
        Of every order, by item and position.
    base : (v,) float
        Sum of the values of those items that have only one.
    """

    places: Places
    bounds: NDArray[np.int64]
    passive: NDArray[np.int64]
    balanced: NDArray[np.bool_]
    many: NDArray[np.int32]
    first: NDArray[np.int64]
    values: Floats
    base: Floats


def walk_numpy(places: Places, keys: Words, steps: int, design: Design) -> None:
    """Every row of positions (b, n) takes `steps` rounds of swaps in the strata that are not balanced, in place.

    To match items at random, the last of those that are left takes any of the others, and so on; of an odd number one
    waits first, whichever, so that every two items meet.
    """
    many, here = design.many.astype(np.float64), np.arange(len(places))
    n = places.shape[1]
    for s, (low, high) in enumerate(pairwise(design.bounds.tolist())):
        if design.balanced[s]:
            continue
        for step in range(steps):
            key = word(keys, ROUNDS + np.uint64(step))
            order, left = np.tile(np.arange(low, high), (len(places), 1)), high - low
            if left % 2:
                order[here, (unit_numpy(word(key, np.uint64(high))) * left).astype(np.int64)] = high - 1
                left -= 1
            for i in range(left - 1, 0, -2):
                j = (unit_numpy(word(key, np.uint64(low + i))) * i).astype(np.int64)
                order[here, j], order[:, i - 1] = order[:, i - 1], order[here, j]
            last = np.arange(left - 1, 0, -2)
            one, two = order[:, last], order[:, last - 1]
            row = here[:, None]
            p, q = places[row, one], places[row, two]
            u = unit_numpy(word(key[:, None], np.uint64(n + low) + last.astype(np.uint64)))
            swap = u * (many[one, p] * many[two, q]) < many[one, q] * many[two, p]
            places[row, one], places[row, two] = np.where(swap, q, p), np.where(swap, p, q)


def totals_numpy(keys: Words, hub: Places, steps: int, design: Design) -> Floats:
    """(b, v) sums of values: positions from the hub on, an order with its position for each item."""
    size = max(1, CELLS // max(1, len(hub)))
    return np.concatenate(
        [_totals(keys[a : a + size], hub, steps, design) for a in range(0, len(keys), size)]
        or [np.zeros((0, design.values.shape[1]))]
    )


def _totals(keys: Words, hub: Places, steps: int, design: Design) -> Floats:
    places, here = np.repeat(hub[None], len(keys), axis=0), np.arange(len(keys))
    walk_numpy(places, keys, steps, design)
    picks, shuffles = word(keys, PICKS), word(keys, SHUFFLES)
    total = np.repeat(design.base[None], len(keys), axis=0)
    for s, (low, high) in enumerate(pairwise(design.bounds.tolist())):
        for i in range(high - 1, low + int(design.passive[s]) - 1, -1):
            if design.balanced[s]:
                j = low + (unit_numpy(word(shuffles, np.uint64(i))) * (i - low + 1)).astype(np.int64)
                p = places[here, j]
                places[here, j] = places[:, i]
            else:
                p = places[:, i]
            begin, end = design.first[i, p], design.first[i, p.astype(np.int64) + 1]
            chosen = begin + (unit_numpy(word(picks, np.uint64(i))) * (end - begin)).astype(np.int64)
            total += design.values[chosen]
    return total
