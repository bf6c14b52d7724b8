"""The trades of `margins`, compiled by numba. They release the interpreter's lock, so threads run side by side."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from heldout.statistics.margins import FIRST, GOLDEN, SCALE, SECOND, TINY

ONE, S11, S27, S30, S31 = (np.uint64(s) for s in (1, 11, 27, 30, 31))


def _compile(function: Any, **options: Any) -> Any:
    """Compiled and kept on disk for the next process, where there is a place for it."""
    try:
        return numba.njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # no folder that numba can write to
        return numba.njit(nogil=True, **options)(function)


def _word(key: Any, i: Any) -> Any:
    z = key + GOLDEN * (np.uint64(i) + ONE)
    z = (z ^ (z >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    return z ^ (z >> S31)


word = _compile(_word, inline="always")


def _unit(z: Any) -> Any:
    return np.float64(z >> S11) * SCALE


unit = _compile(_unit, inline="always")


def _kept(of_kept: Any, others: Any, mine: Any, odds: Any, u: Any) -> Any:
    """How many of the `mine` examples dealt to the first model are of the tilted kind; see `margins.kept_numpy`."""
    low, high, spare = max(0.0, mine - others), min(mine, of_kept), others - mine
    mode = low
    while mode < high and (of_kept - mode) * (mine - mode) * odds >= (mode + 1.0) * (spare + mode + 1.0):
        mode += 1.0
    total = 1.0
    for turn in range(2):  # first the sum, then the place of u in it
        left = u * total - 1.0
        if turn == 1 and left < 0.0:
            return mode
        w, at = 1.0, mode
        while at < high:
            w = w * ((of_kept - at) * (mine - at) * odds / ((at + 1.0) * (spare + at + 1.0)))
            at += 1.0
            if w < TINY:
                break
            if turn == 0:
                total += w
            else:
                left -= w
                if left < 0.0:
                    return at
        w, at = 1.0, mode
        while at > low:
            w = w * (at * (spare + at) / ((of_kept - at + 1.0) * (mine - at + 1.0) * odds))
            at -= 1.0
            if w < TINY:
                break
            if turn == 0:
                total += w
            else:
                left -= w
                if left < 0.0:
                    return at
    return mode


kept = _compile(_kept)


def _walk(tables: Any, keys: Any, steps: Any, bounds: Any, tilt: Any, odds: Any, star: Any) -> None:
    """Every table of the stack takes `steps` rounds of trades, in place; see `margins._walk_numpy`."""
    k, n = tables.shape[1:]
    tilted = odds.shape[0] > 0
    order, places = np.empty(k, np.uint32), np.empty(n + 1, np.uint32)  # unsigned: no look for negative places
    chance, picked, apart = np.empty(n), np.empty(n, np.uint8), np.empty(n, np.uint8)
    for b in range(tables.shape[0]):
        for step in range(steps):
            round_key = word(keys[b], step)
            if star:
                order[0], order[1] = 0, 1 + np.uint32(unit(word(round_key, 0)) * np.float64(k - 1))
            else:
                for i in range(k):
                    order[i] = i
                for i in range(k - 1, 0, -1):
                    j = np.uint32(unit(word(round_key, i)) * np.float64(i + 1))
                    order[i], order[j] = order[j], order[i]
            for pair in range(1 if star else k // 2):
                one, two = order[2 * pair], order[2 * pair + 1]
                first, second = tables[b, one], tables[b, two]
                pair_key = word(round_key, k + pair)
                for g in range(bounds.shape[0] - 1):
                    start, here = bounds[g], first[bounds[g] : bounds[g + 1]]
                    there = second[bounds[g] : bounds[g + 1]]
                    for c in range(here.shape[0]):  # loops apart, so that all but the last are done many at a time
                        apart[c] = (here[c] ^ there[c]) == 1  # 2, for a missing cell, is never one bit from 0 or 1
                    sign = np.int64(0)
                    if tilted:
                        more, less = np.int64(0), np.int64(0)
                        for c in range(here.shape[0]):
                            gain = np.int64(tilt[one, start + c]) - np.int64(tilt[two, start + c])
                            more += np.int64(apart[c]) * np.int64(gain == 1)
                            less += np.int64(apart[c]) * np.int64(gain == -1)
                        sign = np.int64(1) if more > 0 else np.int64(-1)
                        if more > 0 and less > 0:
                            sign = np.int64(1) if unit(word(pair_key, n + 2 * g)) < 0.5 else np.int64(-1)
                            for c in range(here.shape[0]):
                                gain = np.int64(tilt[one, start + c]) - np.int64(tilt[two, start + c])
                                apart[c] = apart[c] * np.uint8(gain != -sign)
                    mine = np.int64(0)
                    for c in range(here.shape[0]):
                        mine += np.int64(apart[c] & here[c])
                    met = np.uint64(0)
                    for c in range(here.shape[0]):
                        places[met] = np.uint32(c + start)
                        met += np.uint64(apart[c])
                    differ = np.int64(met)
                    if mine == 0 or mine == differ:
                        continue
                    if tilted:
                        of_kept = np.int64(0)
                        for p in range(differ):
                            c = places[p]
                            picked[p] = np.int64(tilt[one, c]) - np.int64(tilt[two, c]) == sign
                            of_kept += np.int64(picked[p])
                        side = odds[0] if sign == 1 else odds[1]
                        left_kept = kept(
                            np.float64(of_kept), np.float64(differ - of_kept), np.float64(mine), side,
                            unit(word(pair_key, n + 2 * g + 1)),
                        )  # fmt: skip
                        left_rest = np.float64(mine) - left_kept
                        many_kept, many_rest = np.float64(of_kept), np.float64(differ - of_kept)
                        for p in range(differ):
                            u = unit(word(pair_key, places[p]))
                            if picked[p]:
                                pick = u * many_kept < left_kept
                                many_kept -= 1.0
                                left_kept -= np.float64(pick)
                            else:
                                pick = u * many_rest < left_rest
                                many_rest -= 1.0
                                left_rest -= np.float64(pick)
                            picked[p] = pick
                    else:
                        for p in range(differ):
                            chance[p] = unit(word(pair_key, places[p])) * np.float64(differ - p)
                        left = np.float64(mine)
                        for p in range(differ):
                            pick = chance[p] < left
                            left -= np.float64(pick)
                            picked[p] = pick
                    for p in range(differ):
                        c = places[p]
                        first[c] = picked[p]
                        second[c] = 1 - picked[p]


walk = _compile(_walk)
