r"""Errors as printed against errors in other orders, given where the right answers stand.

An order of an item's options has a position of the right answer. Authors choose positions (at MMLU the last is the
commonest), and models prefer some letters, so errors as printed and in other orders differ without anybody having seen
anything. Under the null hypothesis the model is independent of the order; positions come from any law w, the same for
all items of a stratum (those with as many options, of one source), and the rest of the order is uniform. Where one
stratum mixes sources that print answers at other places and differ in how hard they are, p does not hold
(`experiments/options` has the false alarms). Given the set S_i of orders of an item that were scored, among them the
printed one,

.. math:: P(\text{printed} = \pi \mid S_i) \propto w(\text{position of the answer in } \pi),    \tag{1}

for all orders, for cyclic shifts, and for orders drawn for each item by itself. Hence, given how often each position
holds the answer in each stratum, all choices of one order of each item with these counts are equally likely. The sum
of a value, such as an error or a rank, over the printed orders is compared with its sum over B such choices,

.. math:: p = \frac{1 + \#\{b : S_b \le S_0\}}{B + 1}.    \tag{2}

Where the numbers m_i(q) of orders of item i with position q are a product a_i b_q in a stratum, as they are with all
orders and with cyclic shifts, the positions are permuted among the items, and then each item draws an order with its
position. Elsewhere they are swapped: items are matched at random, and a couple with positions p and q swaps them with
probability

.. math:: \min\Big(1, \frac{m_i(q)\, m_j(p)}{m_i(p)\, m_j(q)}\Big).    \tag{3}

Rounds of such swaps are reversible, so the parallel method of Besag and Clifford [1]_ applies: `steps` rounds back from
the data to a hub and from it B times `steps` rounds out again. Data and draws are exchangeable, and (2) is exact
however few rounds there are. Where items lack orders with some position, swaps need not reach all choices; p is exact
on those that they reach.

Permuted sums have mean and variance in closed form. With u_i(q) the mean of an item's value over its orders with
position q, s_i^2(q) their variance, c_q the count of a position and d_iq = u_i(q) less the means of its item and its
position (weighted by c) plus that of all,

.. math:: E S = \frac{1}{n} \sum_{iq} c_q u_i(q), \qquad
   \operatorname{var} S = \frac{1}{n-1} \sum_{iq} c_q d_{iq}^2 + \frac{1}{n} \sum_{iq} c_q s_i^2(q),    \tag{4}

summed over strata; where there are swaps they are those of the draws.

References
----------
.. [1] Besag, Clifford (1989). Generalized Monte Carlo significance tests. Biometrika 76(4), 633-642.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.checks import check_count
from heldout.errors import InputError
from heldout.groups import group_codes
from heldout.results import Record
from heldout.statistics.arrangement_walks import Design, Places, totals_numpy, walk_numpy
from heldout.statistics.margins import TIE, standardised
from heldout.statistics.poisson_binomial import Side, check_side, check_starts
from heldout.workers import in_threads

Floats = NDArray[np.float64]

ENOUGH = 8.0  # rounds, where every item has orders with every position; measured in `experiments/options`
MOST_STEPS = 200
PIECE = 2_000_000  # items that one thread draws at a time
MOST_POSITIONS = 255


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ArrangementTestResult(Record):
    """A sum over the printed orders against other choices of one order of each item.

    Attributes
    ----------
    observed, expected, standard_deviation : float
        The sum, and its mean and spread over such choices.
    p_value, p_overfitted, p_two_sided : float
        Of the declared `alternative`, and of each.
    alternative : {"overfitted", "two-sided"}
        What was declared; "overfitted" looks for a smaller sum as printed.
    mid_p : bool
        Whether equal sums were counted half, which is not valid: false alarms may exceed the level.
    n_items, n_varying : int
        Items, and those whose value is not the same in all their orders.
    n_resamples, steps : int
        Draws; rounds of swaps to the hub and out again, 0 where positions could be permuted.
    drawn : (n_resamples,) float
        The sum of every draw.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.statistics import arrangement_test
    >>> found = arrangement_test([0, 2, 4], [0, 1, 1, 0], [0, 1, 0, 1], rng=np.random.default_rng(0))
    >>> found.observed, found.expected
    (0.0, 1.0)
    """

    unlisted = ("drawn",)
    derived = ("p_value", "valid", "z")

    observed: float
    expected: float
    standard_deviation: float
    p_overfitted: float
    p_two_sided: float
    alternative: Side
    mid_p: bool
    n_items: int
    n_varying: int
    n_resamples: int
    steps: int
    drawn: Floats

    @property
    def p_value(self) -> float:
        """The p-value of the declared alternative."""
        return self.p_overfitted if self.alternative == "overfitted" else self.p_two_sided

    @property
    def valid(self) -> bool:
        """Whether the level holds: not with `mid_p`."""
        return not self.mid_p

    @property
    def z(self) -> float:
        """Observed less expected, in standard deviations; NaN where all draws are alike."""
        return float(standardised(self.observed, self.expected, self.standard_deviation))

    def __str__(self) -> str:
        return (
            f"{self.observed:g} as printed where {self.expected:.1f} ± {self.standard_deviation:.1f} are expected "
            f"given the positions, p = {self.p_value:.2g} "
            f"({self.alternative}{', mid-p, not valid' if self.mid_p else ''})"
        )


def arrangement_test(
    starts: ArrayLike,
    positions: ArrayLike,
    values: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    alternative: Side = "overfitted",
    mid_p: bool = False,
    n_resamples: int = 9999,
    steps: int | None = None,
    n_jobs: int = 1,
    rng: np.random.Generator,
) -> ArrangementTestResult:
    """Exact test of a sum over the printed orders, given how often each position holds the right answer.

    Parameters
    ----------
    starts : (n_items + 1,) int
        Where the orders of each item begin; the first of them is the printed one.
    positions : (m,) int
        Of the right answer in every order, from 0.
    values : (m,) float
        Of every order, small where the model does well: 1 where it is wrong and 0 where it is right, or a rank.
    strata : (n_items,), optional
        Items whose positions have one law: as a rule their number of options, and the source they are from.
    alternative : {"overfitted", "two-sided"}
        "overfitted": a smaller sum as printed. Two-sided p is twice the smaller one, at most 1.
    mid_p : bool
        Count equal sums half. Not valid.
    n_resamples : int
        The number B of draws; p is never below 1 / (B + 1).
    steps : int, optional
        Rounds of swaps to the hub and out again, where positions cannot be permuted. p is exact for any number, mean
        and spread are not; without one they are as many as draws need to forget the hub.
    n_jobs : int
        Workers, as joblib counts them (-1: one for each core), here threads, which change nothing but the time; they
        need numba.
    rng : numpy.random.Generator
        Of the draws.

    Returns
    -------
    ArrangementTestResult
        p-values, and mean and spread of the draws.

    Examples
    --------
    Eight items with two options, each right as printed and wrong with its options swapped; four have A as the answer.
    All errors are avoided by one of the 70 ways to give four items out of eight the answer A:

    >>> import numpy as np
    >>> from heldout.statistics import arrangement_test
    >>> positions, wrong = [0, 1] * 4 + [1, 0] * 4, [0, 1] * 8
    >>> found = arrangement_test(np.arange(0, 17, 2), positions, wrong, rng=np.random.default_rng(0))
    >>> found.observed, found.expected, bool(abs(found.p_value - 1 / 70) < 0.005)
    (0.0, 4.0, True)
    """
    (found,) = arrangement_tests(
        starts,
        positions,
        np.asarray(values, dtype=np.float64)[None],
        strata=strata,
        alternative=alternative,
        mid_p=mid_p,
        n_resamples=n_resamples,
        steps=steps,
        n_jobs=n_jobs,
        rng=rng,
    )
    return found


def arrangement_tests(
    starts: ArrayLike,
    positions: ArrayLike,
    values: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    alternative: Side = "overfitted",
    mid_p: bool = False,
    n_resamples: int = 9999,
    steps: int | None = None,
    n_jobs: int = 1,
    rng: np.random.Generator,
) -> tuple[ArrangementTestResult, ...]:
    """The same for several values at once, (v, m), by the same draws.

    Parameters
    ----------
    starts, positions, strata, alternative, mid_p, n_resamples, steps, n_jobs, rng
        As in `arrangement_test`.
    values : (v, m) float
        A row for each of them.

    Returns
    -------
    tuple of ArrangementTestResult
        One for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.statistics import arrangement_tests
    >>> wrong, ranks = [0, 1, 0, 1], [1, 2, 1, 2]
    >>> one, two = arrangement_tests([0, 2, 4], [0, 1, 1, 0], [wrong, ranks], rng=np.random.default_rng(0))
    >>> two.expected, one.p_value == two.p_value
    (3.0, True)
    """
    check_side(alternative)
    n_resamples = check_count(n_resamples, "n_resamples")
    begin, at, rows, codes = _read(starts, positions, values, strata)
    design = _design(begin, at, rows, codes)
    rounds = _steps(design) if steps is None else check_count(steps, "steps")
    drawn = _drawn(design, n_resamples, rounds, n_jobs, rng)
    observed = rows[:, begin[:-1]].sum(axis=1)
    if design.balanced.all():
        means, spreads = _moments(design)
    else:
        means, spreads = drawn.mean(axis=0), drawn.std(axis=0)
    varying = np.maximum.reduceat(rows, begin[:-1], axis=1) != np.minimum.reduceat(rows, begin[:-1], axis=1)
    out = []
    for v, found in enumerate(observed.tolist()):
        less, more = (_p(sign * found, sign * drawn[:, v], mid_p) for sign in (1, -1))
        out.append(
            ArrangementTestResult(
                observed=found,
                expected=float(means[v]),
                standard_deviation=float(spreads[v]),
                p_overfitted=less,
                p_two_sided=min(1.0, 2 * min(less, more)),
                alternative=alternative,
                mid_p=mid_p,
                n_items=len(begin) - 1,
                n_varying=int(varying[v].sum()),
                n_resamples=n_resamples,
                steps=0 if design.balanced.all() else rounds,
                drawn=np.ascontiguousarray(drawn[:, v]),
            )
        )
    return tuple(out)


def _p(observed: float, drawn: Floats, mid_p: bool) -> float:
    """(2), with equal sums told equal after rounding, and perhaps counted half."""
    slack = TIE * max(1.0, abs(observed), float(np.abs(drawn).max(initial=0.0)))
    hits = 1.0 + np.count_nonzero(drawn <= observed + slack)
    if mid_p:
        hits -= 0.5 * (1.0 + np.count_nonzero(np.abs(drawn - observed) <= slack))
    return float(hits / (len(drawn) + 1))  # (2)


def _read(
    starts: ArrayLike, positions: ArrayLike, values: ArrayLike, strata: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, NDArray[np.intp]]:
    """What was given, checked."""
    at, rows = np.asarray(positions), np.asarray(values, dtype=np.float64)
    if at.ndim != 1 or at.dtype.kind not in "iu" or (at < 0).any() or (at >= MOST_POSITIONS).any():
        raise InputError(f"`positions` must hold a whole number from 0 to {MOST_POSITIONS - 1} for every order.")
    if rows.ndim != 2 or rows.shape[1] != len(at):
        raise InputError(f"`values` has shape {rows.shape}; `positions` says that there are {len(at):,} orders.")
    if not np.isfinite(rows).all():
        raise InputError(f"`values` holds {int((~np.isfinite(rows)).sum()):,} numbers that are not finite.")
    begin = check_starts(starts, at, "positions")
    n = len(begin) - 1
    codes = np.zeros(n, dtype=np.intp) if strata is None else group_codes(strata, n, what="strata")
    return begin, at.astype(np.int64), rows, codes


def _design(begin: NDArray[np.int64], at: NDArray[np.int64], rows: Floats, codes: NDArray[np.intp]) -> Design:
    """Items by stratum, those that vary last; their orders by position."""
    n, k = len(begin) - 1, int(at.max()) + 1
    sizes = np.diff(begin)
    varies = (np.maximum.reduceat(rows, begin[:-1], axis=1) > np.minimum.reduceat(rows, begin[:-1], axis=1)).any(axis=0)
    order = np.lexsort((varies, codes))
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    item = np.repeat(rank, sizes)
    by_place = np.lexsort((at, item))
    many = np.bincount(item * k + at, minlength=n * k).reshape(n, k)
    first = np.zeros((n, k + 1), dtype=np.int64)
    first[:, 1:] = np.cumsum(many, axis=1)
    first += np.concatenate([[0], np.cumsum(sizes[order])[:-1]])[:, None]
    places = at[begin[:-1]][order]
    bounds = np.concatenate([[0], np.cumsum(np.bincount(codes))]).astype(np.int64)
    passive = np.bincount(codes, weights=~varies, minlength=len(bounds) - 1).astype(np.int64)
    balanced = [_balanced(many[a:b], places[a:b]) for a, b in pairwise(bounds.tolist())]
    return Design(
        places=places.astype(np.uint8),
        bounds=bounds,
        passive=passive,
        balanced=np.array(balanced),
        many=many.astype(np.int32),
        first=first,
        values=np.ascontiguousarray(rows[:, by_place].T),
        base=rows[:, begin[:-1]][:, ~varies].sum(axis=1),
    )


def _balanced(many: NDArray[np.int64], places: NDArray[np.int64]) -> bool:
    """Whether m_i(q) is a product a_i b_q over the positions that there are."""
    some = many[:, np.unique(places)]
    return bool((some > 0).all() and (some * some[0, 0] == some[:, :1] * some[0]).all())


def _steps(design: Design) -> int:
    """Rounds that forget the hub: the fewer positions an item has orders with, the fewer of its swaps can be.

    Knows only sets of orders and counts of positions, hence nothing that chance decides under the null hypothesis.
    """
    shares = [
        float((design.many[a:b, np.unique(design.places[a:b])] > 0).mean()) for a, b in pairwise(design.bounds.tolist())
    ]
    return min(MOST_STEPS, math.ceil(ENOUGH / min(shares) ** 2))


def _moments(design: Design) -> tuple[Floats, Floats]:
    """(4): mean and standard deviation of permuted sums."""
    sizes = np.diff(design.first, axis=1)
    n, k = sizes.shape
    v = design.values.shape[1]
    cell = np.repeat(np.arange(n * k), sizes.ravel())
    mean, variance = np.zeros(v), np.zeros(v)
    for c in range(v):
        x = design.values[:, c]
        with np.errstate(invalid="ignore", divide="ignore"):
            u = np.bincount(cell, weights=x, minlength=n * k) / sizes.ravel()
            within = np.bincount(cell, weights=(x - u[cell]) ** 2, minlength=n * k) / sizes.ravel()
        u, within = u.reshape(n, k), within.reshape(n, k)
        for a, b in pairwise(design.bounds.tolist()):
            counts = np.bincount(design.places[a:b], minlength=k)
            there = counts > 0
            share, part = counts[there] / (b - a), u[a:b, there]
            d = part - (part @ share)[:, None] - part.mean(axis=0) + (part @ share).mean()
            mean[c] += (part @ share).sum()
            variance[c] += (b - a) / max(1, b - a - 1) * (d**2 @ share).sum() + (within[a:b, there] @ share).sum()
    return mean, np.sqrt(variance)


def _drawn(design: Design, n_resamples: int, steps: int, n_jobs: int, rng: np.random.Generator) -> Floats:
    """(B, v) sums of the draws."""
    keys = rng.integers(0, 2**64, size=n_resamples + 1, dtype=np.uint64)
    hub: Places = design.places.copy()
    kernels = _kernels()
    if kernels is None:
        walk_numpy(hub[None], keys[:1], steps, design)
        return totals_numpy(keys[1:], hub, steps, design)
    kernels.walk(hub[None], keys[:1], steps, design.bounds, design.balanced, design.many)
    size = max(1, PIECE // len(hub))
    pieces = ((keys[a : a + size], hub, steps, *design[1:]) for a in range(1, len(keys), size))
    return np.concatenate(list(in_threads(kernels.totals, pieces, n_jobs=n_jobs if len(keys) > size else 1)))


@cache
def _kernels() -> Any:
    """The same in machine code, or None without numba."""
    if find_spec("numba") is None:
        return None
    from heldout.statistics import arrangement_kernels

    return cast("Any", arrangement_kernels)
