"""The trades of `margins` in NumPy, for where there is no numba; `margin_kernels` deals the same, to the last bit.

Random numbers are a function of chain, round, couple and place (splitmix64).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
PAIRS, FOURS, BYTES, EACH = (
    np.uint64(word) for word in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x0101010101010101)
)
SCALE = 2.0**-53
BITS = 64
SHARP = 1  # coins are so exact that the rounding of m / d moves no more than half of sqrt(d) examples
TINY = 1e-25  # share of the likeliest count below which others are left out


def word(key: Any, i: Any) -> Any:
    """The i-th random word of a key: splitmix64.

    Examples
    --------
    >>> hex(word(np.uint64(0), np.uint64(0)))  # its first output for the seed 0
    '0xe220a8397b1dcdaf'
    """
    with np.errstate(over="ignore"):
        z = key + GOLDEN * (i + np.uint64(1))
        z = (z ^ (z >> np.uint64(30))) * FIRST
        z = (z ^ (z >> np.uint64(27))) * SECOND
        return z ^ (z >> np.uint64(31))


def unit_numpy(words: Words) -> Floats:
    """Uniform on [0, 1), in steps of 2^-53."""
    return np.asarray((words >> np.uint64(11)).astype(np.float64) * SCALE)


def kept_numpy(of_kept: Floats, others: Floats, mine: Floats, odds: Floats, u: Floats) -> Floats:
    r"""How many of `mine` examples, out of `of_kept` tilted and `others` plain ones, are tilted: u-quantiles of

    .. math:: P(x) \propto \binom{K}{x} \binom{R}{a - x} \omega^x    \tag{3}

    (Fisher's noncentral hypergeometric law), counted from its mode upwards and then downwards, by ratios of neighbours
    only: no logarithm, which would differ in the last bit between libraries.

    Examples
    --------
    >>> u = (np.arange(1000) + 0.5) / 1000
    >>> x = kept_numpy(*(np.full(1000, v) for v in (3.0, 3.0, 3.0, 2.0)), u)
    >>> np.bincount(x.astype(int)).tolist()  # 1, 18, 36, 8 of 63
    [16, 286, 571, 127]
    """
    low, high, spare = np.maximum(0.0, mine - others), np.minimum(mine, of_kept), others - mine
    mode = low.copy()
    while True:
        further = (mode < high) & ((of_kept - mode) * (mine - mode) * odds >= (mode + 1.0) * (spare + mode + 1.0))
        if not further.any():
            break
        mode += further
    total, found = np.ones_like(mode), mode.copy()
    left, done = np.zeros_like(mode), np.zeros(mode.shape, dtype=bool)
    for turn in range(2):  # first the sum, then the place of u in it
        if turn == 1:
            left = u * total - 1.0
            done = left < 0.0
        for up in (True, False):
            w, at = np.ones_like(mode), mode.copy()
            going = at < high if up else at > low
            while going.any():
                with np.errstate(divide="ignore", invalid="ignore"):
                    if up:
                        ratio = (of_kept - at) * (mine - at) * odds / ((at + 1.0) * (spare + at + 1.0))
                    else:
                        ratio = at * (spare + at) / ((of_kept - at + 1.0) * (mine - at + 1.0) * odds)
                w = np.where(going, w * np.where(going, ratio, 1.0), w)
                at = np.where(going, at + 1.0 if up else at - 1.0, at)
                going = going & (w >= TINY)
                if turn == 0:
                    total = np.where(going, total + w, total)
                else:
                    left = np.where(going & ~done, left - w, left)
                    hit = going & ~done & (left < 0.0)
                    found = np.where(hit, at, found)
                    done = done | hit
                going = going & (at < high if up else at > low)
    return found


def popcounts(words: Words) -> NDArray[np.int64]:
    """How many bits of each are set.

    Examples
    --------
    >>> popcounts(np.array([0, 5, 2**64 - 1], dtype=np.uint64)).tolist()
    [0, 2, 64]
    """
    with np.errstate(over="ignore"):
        x = words - ((words >> np.uint64(1)) & PAIRS)
        x = (x & FOURS) + ((x >> np.uint64(2)) & FOURS)
        return np.asarray((((x + (x >> np.uint64(4))) & BYTES) * EACH) >> np.uint64(56)).astype(np.int64)


def part_numpy(mask: Words, d: NDArray[np.int64], m: NDArray[np.int64], key: Words) -> Words:
    """m of the d examples whose bits are set in a mask, all ways being equally likely; one line after the other.

    Coins of probability m / d, to `depth` binary digits, choose about m; examples drawn at random join or leave.

    Examples
    --------
    >>> mask = np.full((1, 1), 0b10110111, dtype=np.uint64)
    >>> some = part_numpy(mask, np.array([6]), np.array([2]), np.array([7], dtype=np.uint64))
    >>> int(popcounts(some)[0, 0]), bool(some[0, 0] & ~mask[0, 0])
    (2, False)
    """
    width = mask.shape[1]
    depth = np.ones_like(d)
    while ((1 << (2 * depth)) < SHARP * d).any():
        depth += (1 << (2 * depth)) < SHARP * d
    share = ((m << depth) + d // 2) // np.maximum(1, d)
    share[m == 0], share[m == d] = 0, (1 << depth)[m == d]
    out = np.zeros_like(mask)
    place = np.arange(width, dtype=np.uint64)
    for level in range(int(depth.max(initial=0))):  # a digit of 0 before the first 1 leaves nothing
        use = level < depth
        coins = word(key[use, None], np.uint64(level * width) + place)
        heads = ((share[use] >> level) & 1 == 1)[:, None]
        out[use] = np.where(heads, out[use] | coins, out[use] & coins)
    out &= mask
    whole = share == (1 << depth)
    out[whole] = mask[whole]
    got = popcounts(out).sum(axis=1)
    turn = depth * width
    lines = np.flatnonzero(got != m)
    while len(lines):
        less = got[lines] > m[lines]
        some = np.where(less[:, None], out[lines], mask[lines] & ~out[lines])
        size = np.where(less, got[lines], (d - got)[lines])
        rank = (unit_numpy(word(key[lines], turn[lines].astype(np.uint64))) * size).astype(np.int64)
        turn[lines] += 1
        until = np.cumsum(popcounts(some), axis=1)
        at = (until <= rank[:, None]).sum(axis=1)
        here = some[np.arange(len(lines)), at]
        rank -= np.where(at > 0, until[np.arange(len(lines)), at - 1], 0)
        bits = (here[:, None] >> np.arange(BITS, dtype=np.uint64)) & np.uint64(1)
        bit = (np.cumsum(bits, axis=1) <= rank[:, None].astype(np.uint64)).sum(axis=1).astype(np.uint64)
        out[lines, at] ^= np.uint64(1) << bit
        got[lines] += np.where(less, -1, 1)
        lines = lines[got[lines] != m[lines]]
    return out


def walk_numpy(
    tables: Words,
    keys: Words,
    steps: int,
    bounds: NDArray[np.int64],
    there: Words,
    tilt: Words,
    odds: Floats,
    star: bool,
) -> None:
    """Every table of the stack takes `steps` rounds of trades, in place."""
    k, pairs, here = tables.shape[1], 1 if star else tables.shape[1] // 2, np.arange(len(tables))
    for step in range(steps):
        round_key = word(keys, np.uint64(step))
        order = np.tile(np.arange(k), (len(tables), 1))
        if star:
            order[:, 1] = 1 + (unit_numpy(word(round_key, np.uint64(0))) * (k - 1)).astype(np.int64)
        for i in range(0 if star else k - 1, 0, -1):  # Fisher and Yates
            j = (unit_numpy(word(round_key, np.uint64(i))) * (i + 1)).astype(np.int64)
            order[here, i], order[here, j] = order[here, j], order[here, i]
        one, two = order[:, 0 : 2 * pairs : 2].ravel(), order[:, 1 : 2 * pairs : 2].ravel()
        table = np.repeat(here, pairs)
        pair_key = word(round_key[:, None], np.uint64(k) + np.arange(pairs, dtype=np.uint64)).ravel()
        for g, (a, b) in enumerate(pairwise(bounds.tolist())):
            first, second = tables[table, one, a:b], tables[table, two, a:b]  # (lines, words): a couple each
            apart = (first ^ second) & there[one, a:b] & there[two, a:b]
            kind = np.zeros_like(apart)
            sign = np.ones(len(one), dtype=np.int64)
            if len(odds):
                ahead, behind = tilt[one, a:b] & ~tilt[two, a:b], tilt[two, a:b] & ~tilt[one, a:b]
                more, less = (popcounts(apart & side).sum(axis=1) for side in (ahead, behind))
                both, coin = (more > 0) & (less > 0), unit_numpy(word(pair_key, np.uint64(4 * g))) < 0.5
                sign = np.where(both, np.where(coin, 1, -1), np.where(more > 0, 1, -1))
                apart &= ~np.where(both[:, None], np.where(sign[:, None] == 1, behind, ahead), np.uint64(0))
                kind = apart & np.where(sign[:, None] == 1, ahead, behind)
            differ, mine, of_kept = (popcounts(part).sum(axis=1) for part in (apart, apart & first, kind))
            moving = (mine > 0) & (mine < differ)
            apart[~moving] = 0
            of_mine = np.zeros_like(mine)
            tilted = np.flatnonzero(moving & (of_kept > 0))
            dealt = np.zeros_like(apart)
            if len(tilted):
                u = unit_numpy(word(pair_key[tilted], np.uint64(4 * g + 1)))
                kept, others, own = (x[tilted].astype(np.float64) for x in (of_kept, differ - of_kept, mine))
                side = np.where(sign[tilted] == 1, odds[0], odds[1])
                of_mine[tilted] = kept_numpy(kept, others, own, side, u).astype(np.int64)
                sub_key = word(pair_key[tilted], np.uint64(4 * g + 3))
                dealt[tilted] = part_numpy(kind[tilted], of_kept[tilted], of_mine[tilted], sub_key)
            rest = np.flatnonzero(moving)
            plain = apart & ~kind
            sub_key = word(pair_key[rest], np.uint64(4 * g + 2))
            dealt[rest] |= part_numpy(plain[rest], (differ - of_kept)[rest], (mine - of_mine)[rest], sub_key)
            tables[table, one, a:b] = (first & ~apart) | dealt
            tables[table, two, a:b] = (second & ~apart) | (apart ^ dealt)
