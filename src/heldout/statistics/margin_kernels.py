"""The trades of `margins`, compiled by numba. They release the interpreter's lock, so threads run side by side."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from heldout.statistics.margin_trades import BYTES, EACH, FIRST, FOURS, GOLDEN, PAIRS, SCALE, SECOND, SHARP, TINY

ONE, S2, S4, S11, S27, S30, S31, S56 = (np.uint64(s) for s in (1, 2, 4, 11, 27, 30, 31, 56))


def compiled(function: Any, **options: Any) -> Any:
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


word = compiled(_word, inline="always")


def _unit(z: Any) -> Any:
    return np.float64(z >> S11) * SCALE


unit = compiled(_unit, inline="always")


def _kept(of_kept: Any, others: Any, mine: Any, odds: Any, u: Any) -> Any:
    """How many of the `mine` examples dealt to the first model are tilted; see `margin_trades.kept_numpy`."""
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


kept = compiled(_kept)


def _popcount(x: Any) -> Any:
    x = x - ((x >> ONE) & PAIRS)
    x = (x & FOURS) + ((x >> S2) & FOURS)
    return np.int64((((x + (x >> S4)) & BYTES) * EACH) >> S56)


popcount = compiled(_popcount, inline="always")


def _part(mask: Any, out: Any, start: Any, stop: Any, d: Any, m: Any, key: Any) -> None:
    """m of the d examples of a mask, all ways being equally likely; see `margin_trades.part_numpy`."""
    width = stop - start
    if m == 0 or m == d:
        for w in range(start, stop):
            out[w] = mask[w] if m else np.uint64(0)
        return
    depth = 1
    while (np.int64(1) << (2 * depth)) < SHARP * d:
        depth += 1
    share, got = ((m << depth) + d // 2) // d, np.int64(0)
    if share == 0:
        for w in range(start, stop):
            out[w] = np.uint64(0)
    elif share == np.int64(1) << depth:
        got = d
        for w in range(start, stop):
            out[w] = mask[w]
    else:
        low = 0
        while not (share >> low) & 1:
            low += 1
        for w in range(start, stop):
            coins = word(key, low * width + w - start)
            for level in range(low + 1, depth):
                more = word(key, level * width + w - start)
                coins = coins | more if (share >> level) & 1 else coins & more
            out[w] = coins & mask[w]
            got += popcount(out[w])
    picks = depth * width
    while got != m:
        less = got > m
        rank = np.int64(unit(word(key, picks)) * np.float64(got if less else d - got))
        picks += 1
        for w in range(start, stop):
            some = out[w] if less else mask[w] & ~out[w]
            here = popcount(some)
            if rank < here:
                for _ in range(rank):
                    some = some & (some - ONE)
                out[w] ^= some & (~some + ONE)
                break
            rank -= here
        got += -1 if less else 1


part = compiled(_part)


def _walk(tables: Any, keys: Any, steps: Any, bounds: Any, there: Any, tilt: Any, odds: Any, star: Any) -> None:
    """Every table of the stack takes `steps` rounds of trades, in place; see `margin_trades.walk_numpy`."""
    k, words = tables.shape[1:]
    tilted = odds.shape[0] > 0
    order = np.empty(k, np.int64)
    apart, kind, dealt = np.empty(words, np.uint64), np.empty(words, np.uint64), np.empty(words, np.uint64)
    for b in range(tables.shape[0]):
        for step in range(steps):
            round_key = word(keys[b], step)
            if star:
                order[0], order[1] = 0, 1 + np.int64(unit(word(round_key, 0)) * np.float64(k - 1))
            else:
                for i in range(k):
                    order[i] = i
                for i in range(k - 1, 0, -1):
                    j = np.int64(unit(word(round_key, i)) * np.float64(i + 1))
                    order[i], order[j] = order[j], order[i]
            for pair in range(1 if star else k // 2):
                one, two = order[2 * pair], order[2 * pair + 1]
                first, second = tables[b, one], tables[b, two]
                pair_key = word(round_key, k + pair)
                for g in range(bounds.shape[0] - 1):
                    start, stop = bounds[g], bounds[g + 1]
                    for w in range(start, stop):
                        apart[w] = (first[w] ^ second[w]) & there[one, w] & there[two, w]
                    sign, of_kept = 1, np.int64(0)
                    if tilted:
                        more, less = np.int64(0), np.int64(0)
                        for w in range(start, stop):
                            more += popcount(apart[w] & tilt[one, w] & ~tilt[two, w])
                            less += popcount(apart[w] & tilt[two, w] & ~tilt[one, w])
                        both = more > 0 and less > 0
                        if both:
                            sign = 1 if unit(word(pair_key, 4 * g)) < 0.5 else -1
                        elif more == 0:
                            sign = -1
                        of_kept = more if sign == 1 else less
                        for w in range(start, stop):
                            mine_only, theirs_only = tilt[one, w] & ~tilt[two, w], tilt[two, w] & ~tilt[one, w]
                            if both:
                                apart[w] &= ~(theirs_only if sign == 1 else mine_only)
                            kind[w] = apart[w] & (mine_only if sign == 1 else theirs_only)
                    differ, mine = np.int64(0), np.int64(0)
                    for w in range(start, stop):
                        differ += popcount(apart[w])
                        mine += popcount(apart[w] & first[w])
                    if mine == 0 or mine == differ:
                        continue
                    if of_kept == 0:
                        part(apart, dealt, start, stop, differ, mine, word(pair_key, 4 * g + 2))
                        for w in range(start, stop):
                            first[w] = (first[w] & ~apart[w]) | dealt[w]
                            second[w] = (second[w] & ~apart[w]) | (apart[w] ^ dealt[w])
                        continue
                    side = odds[0] if sign == 1 else odds[1]
                    u = unit(word(pair_key, 4 * g + 1))
                    many = np.float64(of_kept), np.float64(differ - of_kept), np.float64(mine)
                    of_mine = np.int64(kept(many[0], many[1], many[2], side, u))
                    part(kind, dealt, start, stop, of_kept, of_mine, word(pair_key, 4 * g + 3))
                    for w in range(start, stop):
                        apart[w] &= ~kind[w]
                        first[w] = (first[w] & ~kind[w]) | dealt[w]
                        second[w] = (second[w] & ~kind[w]) | (kind[w] ^ dealt[w])
                    part(apart, dealt, start, stop, differ - of_kept, mine - of_mine, word(pair_key, 4 * g + 2))
                    for w in range(start, stop):
                        first[w] = (first[w] & ~apart[w]) | dealt[w]
                        second[w] = (second[w] & ~apart[w]) | (apart[w] ^ dealt[w])


walk = compiled(_walk)
