"""Draws of `arrangements`, compiled by numba. They release the interpreter's lock, so threads run side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.statistics.arrangement_walks import PICKS, ROUNDS, SHUFFLES
from heldout.statistics.margin_kernels import compiled, unit, word


def _walk_one(place: Any, order: Any, key: Any, steps: Any, bounds: Any, balanced: Any, first: Any) -> None:
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
            for i in range(high - low - 1, 0, -1):
                j = np.int64(unit(word(round_key, low + i)) * np.float64(i + 1))
                order[low + i], order[low + j] = order[low + j], order[low + i]
            for pair in range((high - low) // 2):
                one, two = order[low + 2 * pair], order[low + 2 * pair + 1]
                p, q = np.int64(place[one]), np.int64(place[two])
                if p == q:
                    continue
                now = np.float64((first[one, p + 1] - first[one, p]) * (first[two, q + 1] - first[two, q]))
                new = np.float64((first[one, q + 1] - first[one, q]) * (first[two, p + 1] - first[two, p]))
                if unit(word(round_key, n + low + pair)) * now < new:
                    place[one], place[two] = q, p


walk_one = compiled(_walk_one)


def _walk(places: Any, keys: Any, steps: Any, bounds: Any, balanced: Any, first: Any) -> None:
    """Every row of positions; see `arrangement_walks.walk_numpy`."""
    order = np.empty(places.shape[1], np.int32)
    for b in range(places.shape[0]):
        walk_one(places[b], order, keys[b], steps, bounds, balanced, first)


walk = compiled(_walk)


def _totals(
    keys: Any,
    hub: Any,
    steps: Any,
    bounds: Any,
    passive: Any,
    balanced: Any,
    first: Any,
    values: Any,
    base: Any,
) -> Any:
    """Sums of values for each key; see `arrangement_walks.totals_numpy`."""
    n, v = hub.shape[0], values.shape[1]
    out = np.empty((keys.shape[0], v))
    order, place = np.empty(n, np.int32), np.empty(n, np.uint8)
    for b in range(keys.shape[0]):
        place[:] = hub
        walk_one(place, order, keys[b], steps, bounds, balanced, first)
        picks, shuffles = word(keys[b], PICKS), word(keys[b], SHUFFLES)
        for c in range(v):
            out[b, c] = base[c]
        for s in range(bounds.shape[0] - 1):
            low = bounds[s]
            for i in range(bounds[s + 1] - 1, low + passive[s] - 1, -1):
                p = np.int64(place[i])
                if balanced[s]:
                    j = low + np.int64(unit(word(shuffles, i)) * np.float64(i - low + 1))
                    p = np.int64(place[j])
                    place[j] = place[i]
                begin, many = first[i, p], first[i, p + 1] - first[i, p]
                chosen = begin + np.int64(unit(word(picks, i)) * np.float64(many))
                for c in range(v):
                    out[b, c] += values[chosen, c]
    return out


totals = compiled(_totals)
