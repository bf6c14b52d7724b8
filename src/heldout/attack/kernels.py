"""The two passes of `queries`, compiled by numba. They release the interpreter's lock, so threads run side by side."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from heldout.attack.queries import FIRST, GOLDEN, LOW, S27, S30, S31, S32, SECOND

U, ONE = np.uint64, np.uint64(1)
CHUNK = 256  # streams whose labels are drawn before they are counted up


def _compile(function: Any, **options: Any) -> Any:
    """Compiled and kept on disk for the next process, where there is a place for it."""
    try:
        return numba.njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # no folder that numba can write to
        return numba.njit(nogil=True, **options)(function)


def _mix(z: Any) -> Any:
    z = (z ^ (z >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    return z ^ (z >> S31)


mix = _compile(_mix, inline="always")


def _count(truth: Any, keys: Any, m: Any, hits: Any) -> None:
    """hits[p, half] += points whose label in that query is the true one."""
    classes, streams = U(m), keys.shape[0]
    low, high = np.zeros(streams, np.int32), np.zeros(streams, np.int32)
    for i in range(truth.shape[0]):
        hidden, step = U(truth[i]), GOLDEN * U(i + 1)
        if hidden >= classes:
            continue
        # ⌊u m / 2^32⌋ = t where u lies in [⌈t 2^32 / m⌉, ⌈(t + 1) 2^32 / m⌉)
        begin = ((hidden << S32) + classes - ONE) // classes
        width = (((hidden + ONE) << S32) + classes - ONE) // classes - begin
        for p in range(streams):
            z = mix(keys[p] + step)
            low[p] += np.int32((((z & LOW) - begin) & LOW) < width)
            high[p] += np.int32((((z >> S32) - begin) & LOW) < width)
    for p in range(streams):
        hits[p, 0] += low[p]
        hits[p, 1] += high[p]


count = _compile(_count)


def _highest(row: Any) -> Any:
    best = row[0]
    for label in range(1, row.shape[0]):
        best = max(best, row[label])
    return best


highest = _compile(_highest, fastmath={"nnan", "nsz"})  # so that it is done eight at a time; there are no NaN


def _tied(row: Any, best: Any) -> Any:
    count = 0
    for label in range(row.shape[0]):
        count += row[label] == best
    return count


tied = _compile(_tied)


def _vote(first: Any, keys: Any, m: Any, weights: Any, stops: Any, start: Any, ties: Any, out: Any) -> None:
    """Scores of every point added up in the order of the queries; out[c] names the highest at each stop."""
    classes = U(m)
    drawn = np.empty(2 * CHUNK, np.int32)
    row = np.empty(m)
    for i in range(out.shape[1]):
        row[:] = start[i if start.shape[0] > 1 else 0]
        step = GOLDEN * U(first + i + 1)
        done, begin, end = 0, 0, 0  # queries counted up; those whose labels are in `drawn`
        for c in range(stops.shape[0]):
            while done < stops[c]:
                if done >= end:
                    p0 = done // 2
                    p1 = min(keys.shape[0], p0 + CHUNK)
                    for p in range(p0, p1):
                        z = mix(keys[p] + step)
                        drawn[2 * (p - p0)] = np.int32(((z & LOW) * classes) >> S32)
                        drawn[2 * (p - p0) + 1] = np.int32(((z >> S32) * classes) >> S32)
                    begin, end = 2 * p0, 2 * p1
                until = min(end, stops[c])
                for j in range(done, until):
                    row[drawn[j - begin]] += weights[j]
                done = until
            best = highest(row)
            place = ((ties[i] & LOW) * U(tied(row, best))) >> S32  # which of those that tie
            for label in range(m):
                if row[label] == best:
                    if place == U(0):
                        out[c, i] = label
                        break
                    place -= ONE


vote = _compile(_vote)


def _tally(first: Any, keys: Any, m: Any, weights: Any, starts: Any, fixed: Any, rows: Any) -> None:
    """rows[i] += the weights of the labels named at a point, but for the phases in which its label was fixed."""
    classes = U(m)
    for i in range(rows.shape[0]):
        step = GOLDEN * U(first + i + 1)
        for t in range(starts.shape[0] - 1):
            if (fixed[i] >> U(t)) & ONE:
                continue
            for p in range(starts[t], starts[t + 1]):
                z = mix(keys[p] + step)
                rows[i, ((z & LOW) * classes) >> S32] += weights[2 * p]
                rows[i, ((z >> S32) * classes) >> S32] += weights[2 * p + 1]


tally = _compile(_tally)
