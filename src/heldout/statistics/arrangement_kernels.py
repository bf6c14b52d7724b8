"""Draws of `arrangements`, compiled by numba. They release the interpreter's lock, so threads run side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.statistics.arrangement_walks import PICKS, ROUNDS, SHUFFLES
from heldout.statistics.margin_kernels import compiled, unit, word

TILE = 8  # draws that go through the items side by side, so that values are read once for all of them


def _walk_one(place: Any, order: Any, key: Any, steps: Any, bounds: Any, balanced: Any, many: Any) -> None:
    """One row of positions; see `arrangement_walks.walk_numpy`."""
    n = place.shape[0]
    for s in range(bounds.shape[0] - 1):
        if balanced[s]:
            continue
        low, high = bounds[s], bounds[s + 1]
        for step in range(steps):
            round_key = word(key, ROUNDS + np.uint64(step))
            for i in range(low, high):
                order[i] = i
            left = high - low
            if left % 2 == 1:  # one of them waits
                order[low + np.int64(unit(word(round_key, high)) * np.float64(left))] = high - 1
                left -= 1
            for i in range(left - 1, 0, -2):
                j = np.int64(unit(word(round_key, low + i)) * np.float64(i))
                one, two = order[low + i], order[low + j]
                order[low + j] = order[low + i - 1]
                p, q = np.int64(place[one]), np.int64(place[two])
                if p == q:
                    continue
                now = np.float64(many[one, p]) * np.float64(many[two, q])
                new = np.float64(many[one, q]) * np.float64(many[two, p])
                if unit(word(round_key, n + low + i)) * now < new:
                    place[one], place[two] = q, p


walk_one = compiled(_walk_one)


def _walk(places: Any, keys: Any, steps: Any, bounds: Any, balanced: Any, many: Any) -> None:
    """Every row of positions; see `arrangement_walks.walk_numpy`."""
    order = np.empty(places.shape[1], np.int32)
    for b in range(places.shape[0]):
        walk_one(places[b], order, keys[b], steps, bounds, balanced, many)


walk = compiled(_walk)


def _totals(
    keys: Any,
    hub: Any,
    steps: Any,
    bounds: Any,
    passive: Any,
    balanced: Any,
    many: Any,
    first: Any,
    values: Any,
    base: Any,
) -> Any:
    """Sums of values for each key; see `arrangement_walks.totals_numpy`."""
    n, v = hub.shape[0], values.shape[1]
    out = np.empty((keys.shape[0], v))
    order, places = np.empty(n, np.int32), np.empty((TILE, n), np.uint8)
    picks, shuffles = np.empty(TILE, np.uint64), np.empty(TILE, np.uint64)
    for b in range(0, keys.shape[0], TILE):
        tile = min(TILE, keys.shape[0] - b)
        for t in range(tile):
            key = keys[b + t]
            places[t] = hub
            walk_one(places[t], order, key, steps, bounds, balanced, many)
            picks[t], shuffles[t] = word(key, PICKS), word(key, SHUFFLES)
            for c in range(v):
                out[b + t, c] = base[c]
        for s in range(bounds.shape[0] - 1):
            low = bounds[s]
            for i in range(bounds[s + 1] - 1, low + passive[s] - 1, -1):
                for t in range(tile):
                    p = np.int64(places[t, i])
                    if balanced[s]:
                        j = low + np.int64(unit(word(shuffles[t], i)) * np.float64(i - low + 1))
                        p = np.int64(places[t, j])
                        places[t, j] = places[t, i]
                    chosen = first[i, p] + np.int64(unit(word(picks[t], i)) * np.float64(many[i, p]))
                    for c in range(v):
                        out[b + t, c] += values[chosen, c]
    return out


totals = compiled(_totals)
