"""Joint tails of two binomials that count the errors of two models on the same examples.

Every example makes the first model wrong (1) or not (0), and the second: cells p11, p10, p01, p00. Where errors
come together at least as often as by chance, p11 >= p1 * p2, the pair has the law of (X1 W, X2 W) with independent
X1, X2, W: given how many of the W are 1, the two counts are independent binomials (appendix B of [1]_). Where they
come together less often there is no such W. The second model's *right* answers then come together with the first
one's errors more often than by chance, so the same sum serves, with the second count turned round.

References
----------
.. [1] Mania, Miller, Schmidt, Hardt, Recht (2019). Model similarity mitigates test set overuse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.statistics.binomial import lower_tail, probability_of, upper_tail

Side = Literal["upper", "lower"]
TAILS = {"upper": upper_tail, "lower": lower_tail}

# The summand is smooth in the number of W that are 1. Sampling it at every h-th point is the trapezoidal rule, whose
# error for a bell of width s is about exp(-2 pi^2 s^2 / h^2). The summand is a bell times two rising tails, so its own
# width may be smaller than each of theirs by sqrt(3): exp(-79 / 3) = 4e-12 of the sum at h = s / 2; measured 2e-13.
POINTS_PER_WIDTH = 2
WINDOW = 12.0  # standard deviations of the number of W on each side; beyond lie 1e-32
SKEWED = 60.0  # and this many more, for counts too small to be bell-shaped
CHUNK = 1 << 20  # summands held at once


@dataclass(frozen=True)
class Coupling:
    """Independent X1, X2, W such that the errors of a pair are (X1 W, X2 W)."""

    x1: float  # P(X1 = 1)
    x2: float
    w: float

    @classmethod
    def of(cls, p1: float, p2: float, p11: float) -> Coupling:
        """The coupling of a pair with p11 >= p1 * p2 > 0 (appendix B)."""
        return cls(*(float(v) for v in _coupling(np.float64(p1), np.float64(p2), np.float64(p11))))

    def nodes(
        self, n: int, *, points_per_width: float = POINTS_PER_WIDTH, step: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Values of ΣW and their probabilities: all that matter, or evenly spaced ones that stand for them."""
        x1, x2, w = (np.array([v]) for v in (self.x1, self.x2, self.w))
        first, steps, _, last = _grid(np.array([n]), x1, x2, w, points_per_width)
        each = int(steps[0]) if step is None else step
        values = np.arange(first[0], last[0] + 1, each)
        return values, probability_of(values, n, self.w) * each


def joint_tail(
    n: ArrayLike,
    p1: ArrayLike,
    p2: ArrayLike,
    p11: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    sides: tuple[Side, Side] = ("upper", "upper"),
) -> NDArray[np.float64]:
    r"""P(S1 >= first and S2 >= second), or with <= where a side is "lower"; (14) of Mania et al., for many pairs.

    Parameters
    ----------
    n : array of int
        Examples.
    p1, p2, p11 : array of float
        P(first model wrong), P(second model wrong), P(both wrong).
    first, second : array of int
        Thresholds on the number of wrong answers.
    sides : pair of "upper" or "lower"
        Which tail of either count.

    Returns
    -------
    array of float
        One probability a pair; the arguments are broadcast.

    Examples
    --------
    Two models that are always wrong together, two that never are, and two that err independently:

    >>> joint_tail(3, 0.5, 0.5, [0.5, 0.0, 0.25], 2, 2).round(12).tolist()
    [0.5, 0.0, 0.25]
    """
    n, first, second = (np.asarray(v, dtype=np.int64) for v in (n, first, second))
    p1, p2, p11 = (np.asarray(v, dtype=np.float64) for v in (p1, p2, p11))
    n, p1, p2, p11, first, second = (v.ravel() for v in np.broadcast_arrays(n, p1, p2, p11, first, second))
    answer = np.empty(len(n))
    # Where errors avoid each other, count the second model's right answers instead.
    apart = p11 < p1 * p2
    other_side: Side = "lower" if sides[1] == "upper" else "upper"
    p2, p11 = np.where(apart, 1.0 - p2, p2), np.where(apart, p1 - p11, p11)
    p11 = np.asarray(np.minimum(p11, np.minimum(p1, p2)))  # rounding of the differences must not break this
    second = np.where(apart, n - second, second)
    for rows, ends in ((~apart, sides), (apart, (sides[0], other_side))):
        if rows.any():
            answer[rows] = _joint_tail_together(n[rows], p1[rows], p2[rows], p11[rows], first[rows], second[rows], ends)
    return answer


def _joint_tail_together(
    n: NDArray[np.int64],
    p1: NDArray[np.float64],
    p2: NDArray[np.float64],
    p11: NDArray[np.float64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    sides: tuple[Side, Side],
) -> NDArray[np.float64]:
    """The same for pairs with p11 >= p1 p2."""
    one, other = (TAILS[side] for side in sides)
    answer = one(first, n, p1) * other(second, n, p2)  # right where independent, or where one never changes
    pairs = np.flatnonzero(p11 > p1 * p2)
    x1, x2, w = _coupling(p1[pairs], p2[pairs], p11[pairs])
    start, step, count, _ = _grid(n[pairs], x1, x2, w)
    ends = np.cumsum(count)
    for some in np.split(np.arange(len(pairs)), np.flatnonzero(np.diff(ends // CHUNK)) + 1):
        if len(some) == 0:
            continue
        at, size = pairs[some], count[some]
        offset = np.cumsum(size) - size
        values = np.repeat(start[some], size) + np.repeat(step[some], size) * (
            np.arange(size.sum()) - np.repeat(offset, size)
        )
        given = [np.repeat(v, size) for v in (n[at], w[some], first[at], x1[some], second[at], x2[some])]
        summand = probability_of(values, given[0], given[1]) * one(given[2], values, given[3])
        summand *= other(given[4], values, given[5])
        answer[at] = np.add.reduceat(summand, offset) * step[some]  # (14)
    return answer


def _coupling(p1: Any, p2: Any, p11: Any) -> tuple[Any, Any, Any]:
    """P(X1), P(X2), P(W) of appendix B; rounding must not carry them past 1."""
    return np.minimum(1.0, p11 / p2), np.minimum(1.0, p11 / p1), np.minimum(1.0, p1 * p2 / p11)


def _grid(
    n: NDArray[np.int64],
    x1: NDArray[np.float64],
    x2: NDArray[np.float64],
    w: NDArray[np.float64],
    points_per_width: float = POINTS_PER_WIDTH,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """First value of ΣW, step, number of values, last value; a pair each."""
    mean, sd = n * w, np.sqrt(n * w * (1 - w))
    half = WINDOW * sd + SKEWED
    first = np.maximum(0, np.floor(mean - half)).astype(np.int64)
    last = np.minimum(n, np.ceil(mean + half)).astype(np.int64)
    # Widths in units of ΣW: its own, and those over which the two conditional tails rise.
    widths = [sd, *(np.sqrt(mean * (1 - x) / x) for x in (x1, x2))]
    step = np.maximum(1, np.floor(np.minimum.reduce(widths) / points_per_width)).astype(np.int64)
    return first, step, (last - first) // step + 1, last
