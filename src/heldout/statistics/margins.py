r"""Tables of right and wrong with given margins: how many each model has right, and how many models each example.

Under the Rasch model, P(right) = logistic(ability - difficulty), all tables with the same margins are equally likely;
within strata, where abilities are each stratum's own, given each stratum's margins. Such tables are drawn by trades
[1]_: two models put together the examples that exactly one of them has right, and deal them out anew, each getting as
many as it had. A round matches all models at random and lets every couple trade [2]_. Its kernel is symmetric, so the
parallel method of Besag and Clifford [3]_ applies: `steps` rounds back from the data to a hub, and from it B times
`steps` rounds out again. Data and draws are then exchangeable, and

.. math:: p = \frac{1 + \#\{b : S_b \ge S_0\}}{B + 1}    \tag{1}

is exact, however few rounds there are. Means and standard deviations need so many that the draws forget the hub.
Missing cells are never traded; trades then need not reach all tables, and p is exact on the class that they reach.

With `delta`, tables have probability proportional to

.. math:: \exp\Big(\delta \sum_{ij} E_{ij} X_{ij}\Big)    \tag{2}

given the margins: delta is the log-odds ratio of being right that E = 1 brings. Two models then deal by this law: first
how many of the examples that only one of them could have seen go to that one (Fisher's noncentral hypergeometric law),
then which. Where each could have seen examples that the other could not, a coin leaves one kind of these out of the
deal. The kernel is reversible for (2), and p is exact again. (Deals accepted with min(1, exp(delta D)), D being the
change of the sum, are exact too, but on LiveCodeBench with delta = 1.4 they forget three times as slowly, and on long
rows they hardly move.)

Random numbers are a function of chain, round, couple and example (splitmix64), so that draws are the same to the last
bit in machine code and without, on any number of threads.

References
----------
.. [1] Strona, Nappo, Boccacci, Fattorini, San-Miguel-Ayanz (2014). A fast and unbiased procedure to randomize
   ecological binary matrices with fixed row and column totals. Nature Communications 5, 4114.
.. [2] Carstens (2015). Proof of uniform sampling of binary matrices with fixed row sums and column sums for the fast
   Curveball algorithm. Physical Review E 91, 042812.
.. [3] Besag, Clifford (1989). Generalized Monte Carlo significance tests. Biometrika 76(4), 633-642.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.checks import check_count
from heldout.errors import InputError
from heldout.groups import group_codes
from heldout.results import Record

Floats = NDArray[np.float64]
Cells = NDArray[np.uint8]  # 1 right, 0 wrong, 2 missing
Words = NDArray[np.uint64]
Side = Literal["greater", "less", "two-sided"]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SCALE = 2.0**-53
MISSING = 2
TINY = 1e-25  # share of the likeliest count below which others are left out
STEPS = 20  # rounds to the hub and out again; LiveCodeBench's mean after 5, 10, 20, 40: 464.6, 461.6, 461.8, 461.6
BATCH = 32_000_000  # cells that are held at once
PLAIN_BATCH = 4_000_000  # cells of tables that walk side by side without numba
TIE = 1e-9  # relative; sums of equal tables may differ by rounding


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MarginTestResult(Record):
    """A statistic of a table of right and wrong against tables with the same margins.

    Attributes
    ----------
    observed, expected, standard_deviation : float
        The statistic, and its mean and spread over the drawn tables (these need rounds enough to forget the data).
    p_value, p_greater, p_less, p_two_sided : float
        Of the declared `alternative`, and of each.
    alternative : {"greater", "less", "two-sided"}
        What was declared.
    drawn : (n_resamples,) float
        The statistic of every drawn table.
    n_resamples, steps : int
        Draws, and rounds of trades to the hub and out again.
    n_idle : int
        Strata in which nothing can be traded.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import margin_test
    >>> found = margin_test([[1, 1, 0, 0], [0, 0, 1, 1]], [[1, 1, 0, 0], [0, 0, 0, 0]], rng=np.random.default_rng(0))
    >>> found.observed, round(found.expected, 1)
    (2.0, 1.0)
    """

    unlisted = ("drawn",)
    derived = ("p_value", "z")

    observed: float
    expected: float
    standard_deviation: float
    p_greater: float
    p_less: float
    p_two_sided: float
    alternative: Side
    n_resamples: int
    steps: int
    n_idle: int
    drawn: Floats

    @property
    def p_value(self) -> float:
        """The p-value of the declared alternative."""
        return {"greater": self.p_greater, "less": self.p_less, "two-sided": self.p_two_sided}[self.alternative]

    @property
    def z(self) -> float:
        """Observed less expected, in standard deviations of the drawn tables; NaN where they are all alike."""
        spread = self.standard_deviation
        return (self.observed - self.expected) / spread if spread > 0 else math.nan

    def __str__(self) -> str:
        return (
            f"{self.observed:g} where {self.expected:.1f} ± {self.standard_deviation:.1f} are expected given the "
            f"margins, p = {self.p_value:.2g} ({self.alternative})"
        )


def margin_test(
    correct: ArrayLike,
    statistic: ArrayLike | Callable[[NDArray[np.bool_]], ArrayLike],
    *,
    observed: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    tilt: ArrayLike | None = None,
    delta: float = 0.0,
    alternative: Side = "greater",
    n_resamples: int = 9999,
    steps: int = STEPS,
    n_jobs: int = 1,
    rng: np.random.Generator,
) -> MarginTestResult:
    """Exact test of a statistic given how many examples each model, and how many models each example has right.

    Parameters
    ----------
    correct : (n_models, n_examples) of 0 and 1
        Who is right where.
    statistic : (n_models, n_examples) array, or function
        Weights of a sum over the cells that are right; or a function from (b, n_models, n_examples) tables, missing
        cells False, to (b,) numbers.
    observed : (n_models, n_examples) bool, optional
        False where a cell is missing; such cells are never traded.
    strata : (n_examples,), optional
        Examples are traded within strata only, so that the margins of each are kept.
    tilt : (n_models, n_examples) of 0 and 1, optional
        The E of the tilted law; only with `delta`.
    delta : float
        Log-odds ratio under the null hypothesis: tables have probability proportional to exp(delta sum E X).
    alternative : {"greater", "less", "two-sided"}
        "greater": the statistic is larger than expected. Two-sided p is twice the smaller one.
    n_resamples : int
        The number B of tables; p is never below 1 / (B + 1).
    steps : int
        Rounds of trades to the hub and out again. p is exact for any number, means are not.
    n_jobs : int
        Workers, as joblib counts them (-1: one for each core), here threads, which change nothing but the time; they
        need numba.
    rng : numpy.random.Generator
        Of the trades.

    Returns
    -------
    MarginTestResult
        p-values, and mean and spread of the drawn tables.

    Examples
    --------
    The first model is right where the second is wrong, as often as it could be:

    >>> import numpy as np
    >>> from heldout import margin_test
    >>> x = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
    >>> early = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0]])
    >>> found = margin_test(x, early, n_resamples=9999, rng=np.random.default_rng(0))
    >>> bool(abs(found.p_value - 1 / 20) < 0.01)  # one of the 20 ways to deal out six examples
    True
    """
    if alternative not in get_args(Side):
        raise InputError(f"`alternative` is {alternative!r}; it must be {' or '.join(map(repr, get_args(Side)))}.")
    cells = read_cells(correct, observed)
    n_resamples = check_count(n_resamples, "n_resamples")
    if delta and tilt is None:
        raise InputError(
            f"`delta` is {delta:g}, but of what? Give the cells that it is the log-odds ratio of as `tilt`."
        )
    chains = MarginChains(cells, strata=strata, tilt=tilt, delta=delta, steps=steps, n_jobs=n_jobs)
    of_tables = _statistic(statistic, cells.shape)
    found = float(of_tables(cells[None])[0])
    drawn = np.concatenate([of_tables(tables) for tables in chains.draw(n_resamples, rng)])
    greater, less = monte_carlo_p(found, drawn), monte_carlo_p(-found, -drawn)
    return MarginTestResult(
        observed=found,
        expected=float(drawn.mean()),
        standard_deviation=float(drawn.std()),
        p_greater=greater,
        p_less=less,
        p_two_sided=min(1.0, 2 * min(greater, less)),
        alternative=alternative,
        n_resamples=n_resamples,
        steps=chains.steps,
        n_idle=int(np.count_nonzero(~chains.tradable)),
        drawn=drawn,
    )


def monte_carlo_p(observed: float, drawn: Floats) -> float:
    """(1), with equal sums told equal after rounding.

    Examples
    --------
    >>> monte_carlo_p(2.0, np.array([1.0, 2.0, 3.0]))
    0.75
    """
    slack = TIE * max(1.0, abs(observed))
    return float((1 + np.count_nonzero(drawn >= observed - slack)) / (len(drawn) + 1))  # (1)


def read_cells(correct: ArrayLike, observed: ArrayLike | None) -> Cells:
    """A table of 0, 1 and 2 (missing), checked."""
    x = np.asarray(correct)
    if x.ndim != 2 or x.size == 0:
        raise InputError(f"`correct` has shape {x.shape}; it must be a table, (n_models, n_examples).")
    there = np.ones(x.shape, dtype=bool) if observed is None else np.asarray(observed, dtype=bool)
    if there.shape != x.shape:
        raise InputError(f"`observed` has shape {there.shape} but `correct` has {x.shape}.")
    if x.dtype.kind not in "biuf" or not np.isin(x[there], (0, 1)).all():
        raise InputError("`correct` must hold 0 and 1 only; of scores take those of 0.5 or more, say, as right.")
    return np.where(there, np.where(there, x, 0) == 1, MISSING).astype(np.uint8)


def _statistic(
    statistic: ArrayLike | Callable[[NDArray[np.bool_]], ArrayLike], shape: tuple[int, ...]
) -> Callable[[Cells], Floats]:
    if callable(statistic):
        given = statistic

        def called(tables: Cells) -> Floats:
            values = np.asarray(given(tables == 1), dtype=np.float64)
            if values.shape != (len(tables),):
                raise InputError(
                    f"`statistic` returned shape {values.shape} for {len(tables)} tables; one each is due."
                )
            return values

        return called
    weights = np.asarray(statistic, dtype=np.float64)
    if weights.shape != shape or not np.isfinite(weights).all():
        raise InputError(f"`statistic` has shape {weights.shape}; give a finite weight for each cell of {shape}.")
    used = np.flatnonzero(weights)
    part = weights.ravel()[used]

    def summed(tables: Cells) -> Floats:
        return np.asarray((tables.reshape(len(tables), -1)[:, used] == 1) @ part)

    return summed


class MarginChains:
    """Tables with the margins of one table, by trades.

    Parameters
    ----------
    cells : (k, n) of 0, 1 and 2
        1 right, 0 wrong, 2 missing.
    strata : (n,), optional
        Examples are traded within strata.
    tilt, delta
        Of the tilted law (2).
    steps : int
        Rounds to the hub and out again.
    star : bool
        A round is one trade of the first model with another one drawn at random. Where only the first model's row
        counts, it mixes as fast as by rounds of all, for the price of one couple.
    n_jobs : int
        Threads, -1 for all cores; without numba there is one.
    """

    def __init__(
        self,
        cells: Cells,
        *,
        strata: ArrayLike | None = None,
        tilt: ArrayLike | None = None,
        delta: float = 0.0,
        steps: int = STEPS,
        star: bool = False,
        n_jobs: int = 1,
    ) -> None:
        k, n = cells.shape
        self._star = star
        self.steps, self.n_jobs = check_count(steps, "steps"), n_jobs
        codes = np.zeros(n, dtype=np.intp) if strata is None else group_codes(strata, n, what="strata")
        order = np.argsort(codes, kind="stable")
        self._order = None if np.array_equal(order, np.arange(n)) else order
        self.cells = np.ascontiguousarray(cells[:, order])
        self.bounds = np.concatenate([[0], np.cumsum(np.bincount(codes))]).astype(np.int64)
        self.tradable = np.array([_can_trade(self.cells[:, a:b]) for a, b in pairwise(self.bounds)])
        self._tilt, self._odds = np.zeros((k, n), dtype=np.int8), np.zeros(0)
        if delta:
            if not math.isfinite(delta):
                raise InputError(f"`delta` is {delta}; it must be a finite number.")
            e = np.asarray(tilt)
            if e.shape != (k, n) or not np.isin(e, (0, 1)).all():
                raise InputError(f"`tilt` must be a table of 0 and 1, {(k, n)}; its shape is {e.shape}.")
            self._tilt = np.ascontiguousarray(e[:, order].astype(np.int8))
            self._odds = np.exp([delta, -delta])  # once: exp differs in the last bit between libraries

    def draw(self, n_tables: int, rng: np.random.Generator) -> Iterator[Cells]:
        """Tables around one hub, in stacks of (b, k, n)."""
        keys = rng.integers(0, 2**64, size=n_tables + 1, dtype=np.uint64)
        hub = self.cells[None].copy()
        self._walk(hub, keys[:1])
        size = max(1, BATCH // self.cells.size)
        back = None if self._order is None else np.argsort(self._order)
        for a in range(1, n_tables + 1, size):
            some = keys[a : a + size]
            tables = np.repeat(hub, len(some), axis=0)
            self._walk(tables, some)
            yield tables if back is None else tables[:, :, back]

    def _walk(self, tables: Cells, keys: Words) -> None:
        rest = self.steps, self.bounds, self._tilt, self._odds, self._star
        from joblib import Parallel, delayed, effective_n_jobs

        kernels = _compiled()
        if len(self.cells) < 2:
            return
        if kernels is None:
            size = max(1, PLAIN_BATCH // (2 * self.cells.shape[1] if self._star else self.cells.size))
            for a in range(0, len(keys), size):
                _walk_numpy(tables[a : a + size], keys[a : a + size], *rest)
            return
        parts = min(effective_n_jobs(self.n_jobs), len(keys))
        if parts == 1:
            kernels.walk(tables, keys, *rest)
            return

        ends = np.linspace(0, len(keys), parts + 1).astype(int).tolist()
        Parallel(n_jobs=parts, require="sharedmem")(
            delayed(kernels.walk)(tables[a:b], keys[a:b], *rest) for a, b in pairwise(ends)
        )


def _can_trade(cells: Cells) -> bool:
    """Whether some two models differ both ways on examples that both have."""
    right, wrong = (cells == 1).astype(np.float32), (cells == 0).astype(np.float32)
    ahead = right @ wrong.T > 0
    return bool((ahead & ahead.T).any())


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


def _unit(words: Words) -> Floats:
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


def _walk_numpy(
    tables: Cells,
    keys: Words,
    steps: int,
    bounds: NDArray[np.int64],
    tilt: NDArray[np.int8],
    odds: Floats,
    star: bool,
) -> None:
    """Every table of the stack takes `steps` rounds of trades, in place."""
    m, k, n = tables.shape
    pairs, here = 1 if star else k // 2, np.arange(m)
    strata = range(len(bounds) - 1)
    stratum = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    for step in range(steps):
        round_key = word(keys, np.uint64(step))
        order = np.tile(np.arange(k), (m, 1))
        if star:
            order[:, 1] = 1 + (_unit(word(round_key, np.uint64(0))) * (k - 1)).astype(np.int64)
        for i in range(0 if star else k - 1, 0, -1):  # Fisher and Yates
            j = (_unit(word(round_key, np.uint64(i))) * (i + 1)).astype(np.int64)
            order[here, i], order[here, j] = order[here, j], order[here, i]
        one, two = order[:, 0 : 2 * pairs : 2], order[:, 1 : 2 * pairs : 2]
        pair_key = word(round_key[:, None], np.uint64(k) + np.arange(pairs, dtype=np.uint64))
        first, second = (np.moveaxis(tables[here[:, None], rows], 2, 0).copy() for rows in (one, two))  # (n, m, pairs)
        apart = (first ^ second) == 1  # 2, for a missing cell, is never one bit from 0 or 1
        kind = np.zeros(apart.shape, dtype=bool)  # of the tilted kind
        if len(odds):
            gain = np.moveaxis(tilt[one] - tilt[two], 2, 0)
            more, less = (np.add.reduceat(apart & (gain == s), bounds[:-1], axis=0, dtype=np.int64) for s in (1, -1))
            coins = np.stack([_unit(word(pair_key, np.uint64(n + 2 * g))) < 0.5 for g in strata])
            sign = np.where((more > 0) & ((less == 0) | coins), 1, -1)  # (strata, m, pairs)
            both = (more > 0) & (less > 0)
            apart &= ~(both[stratum] & (gain == -sign[stratum]))
            kind = apart & (gain == sign[stratum])
        differ, mine, tilted = (
            np.add.reduceat(part, bounds[:-1], axis=0, dtype=np.int64).astype(np.float64)
            for part in (apart, apart & (first == 1), kind)
        )
        theirs = np.zeros_like(mine)
        if len(odds):
            moving = (mine > 0) & (mine < differ)
            u = np.stack([_unit(word(pair_key, np.uint64(n + 2 * g + 1))) for g in strata])
            side = np.where(sign == 1, odds[0], odds[1])
            theirs[moving] = kept_numpy(
                tilted[moving], (differ - tilted)[moving], mine[moving], side[moving], u[moving]
            )
            theirs[mine == differ] = tilted[mine == differ]
        left, many = np.stack([mine - theirs, theirs]), np.stack([differ - tilted, tilted])
        dealt = first.copy()
        for c in range(n):
            g, at, which = stratum[c], apart[c], kind[c]
            chance = _unit(word(pair_key, np.uint64(c)))
            pick = at & (chance * np.where(which, many[1, g], many[0, g]) < np.where(which, left[1, g], left[0, g]))
            for number in (0, 1) if len(odds) else (0,):
                own = at & (which == bool(number))
                many[number, g] -= own
                left[number, g] -= pick & own
            dealt[c][at] = pick[at]
        second = np.where(apart, 1 - dealt, second)
        tables[here[:, None], one] = np.moveaxis(dealt, 0, 2)
        tables[here[:, None], two] = np.moveaxis(second, 0, 2)


@cache
def _compiled() -> Any:
    """The same in machine code, or None without numba."""
    if find_spec("numba") is None:
        return None
    from heldout.statistics import margin_kernels

    return cast("Any", margin_kernels)
