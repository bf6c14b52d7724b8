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

Tables are held as bits. To deal m of d examples, every example tosses a coin that shows heads with probability m / d to
a few binary digits, sixty-four at a time; examples drawn at random then join, or leave, until they are m. All ways are
equally likely, for a tenth of the random numbers that one example after the other would take. Random numbers are a
function of chain, round, couple and place (splitmix64), so that draws are the same to the last bit in machine code and
without, on any number of threads.

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
from heldout.workers import in_threads, n_workers

Floats = NDArray[np.float64]
Cells = NDArray[np.uint8]  # 1 right, 0 wrong, 2 missing
Words = NDArray[np.uint64]
Side = Literal["greater", "less", "two-sided"]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
PAIRS, FOURS, BYTES, EACH = (
    np.uint64(word) for word in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x0101010101010101)
)
SCALE = 2.0**-53
BITS = 64
SHARP = 1  # coins are so exact that the rounding of m / d moves no more than half of sqrt(d) examples
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
    slack = TIE * max(abs(observed), float(np.abs(drawn).max(initial=0.0)))
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
        sizes = np.bincount(codes)
        self.bounds = np.concatenate([[0], np.cumsum(-(-sizes // BITS))]).astype(
            np.int64
        )  # in words: a stratum has its own
        order = np.argsort(codes, kind="stable")
        rank = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # within its stratum
        self._places = np.empty(n, dtype=np.intp)
        self._places[order] = BITS * self.bounds[codes[order]] + rank
        self._missing = cells == MISSING
        self._there, self.bits = self.packed(cells != MISSING), self.packed(cells == 1)
        starts = np.cumsum(sizes) - sizes
        by_stratum = cells[:, order]
        self.tradable = np.array([_can_trade(by_stratum[:, a : a + m]) for a, m in zip(starts, sizes, strict=True)])
        self._tilt, self._odds = np.zeros((k, 0), dtype=np.uint64), np.zeros(0)
        if delta:
            if not math.isfinite(delta):
                raise InputError(f"`delta` is {delta}; it must be a finite number.")
            e = np.asarray(tilt)
            if e.shape != (k, n) or not np.isin(e, (0, 1)).all():
                raise InputError(f"`tilt` must be a table of 0 and 1, {(k, n)}; its shape is {e.shape}.")
            self._tilt = self.packed(e == 1)
            self._odds = np.exp([delta, -delta])  # once: exp differs in the last bit between libraries

    def packed(self, flags: NDArray[np.bool_]) -> Words:
        """(k, n) flags as (k, words) of 64 bits; every stratum begins a word."""
        spread = np.zeros((len(flags), BITS * int(self.bounds[-1])), dtype=bool)
        spread[:, self._places] = flags
        return np.packbits(spread, axis=1, bitorder="little").view("<u8").astype(np.uint64)

    def unpacked(self, bits: Words, rows: slice = slice(None)) -> Cells:
        """Tables of bits as (b, k, n) of 0, 1 and 2; perhaps some rows of them."""
        some = np.ascontiguousarray(bits[:, rows]).astype("<u8", copy=False)
        flat = np.unpackbits(some.view(np.uint8), axis=2, bitorder="little")
        n = len(self._places)
        tables = flat[:, :, :n] if len(self.bounds) == 2 else flat[:, :, self._places]
        missing = self._missing[rows]
        if missing.any():
            tables = np.where(missing, np.uint8(MISSING), tables)
        return tables

    def draw(self, n_tables: int, rng: np.random.Generator, rows: slice = slice(None)) -> Iterator[Cells]:
        """Tables around one hub, in stacks of (b, k, n); perhaps some rows of them."""
        for bits in self.draw_bits(n_tables, rng):
            yield self.unpacked(bits, rows)

    def draw_bits(self, n_tables: int, rng: np.random.Generator, start: int = 0) -> Iterator[Words]:
        """The same tables as (b, k, words) of bits, from one of them on."""
        keys = rng.integers(0, 2**64, size=n_tables + 1, dtype=np.uint64)
        hub = self.bits[None].copy()
        self._walk(hub, keys[:1])
        size = max(1, BATCH // self._missing.size)
        for a in range(1 + start, n_tables + 1, size):
            some = keys[a : a + size]
            tables = np.repeat(hub, len(some), axis=0)
            self._walk(tables, some)
            yield tables

    def counted(self, bits: Words) -> NDArray[np.int64]:
        """(k, n) in how many of the tables a cell is right."""
        total = np.zeros((bits.shape[1], BITS * bits.shape[2]), dtype=np.int64)
        for a in range(0, len(bits), 255):  # which a byte can hold
            some = np.ascontiguousarray(bits[a : a + 255]).astype("<u8", copy=False).view(np.uint8)
            total += np.add.reduce(np.unpackbits(some, axis=2, bitorder="little"), axis=0, dtype=np.uint8)
        return total[:, self._places]

    def successes(self, bits: Words, flags: Words) -> NDArray[np.int64]:
        """(b, k, strata) right cells among those of flags (`packed`)."""
        found = popcounts(bits & flags)
        return np.add.reduceat(found, self.bounds[:-1], axis=2, dtype=np.int64)

    def _walk(self, tables: Words, keys: Words) -> None:
        rest = self.steps, self.bounds, self._there, self._tilt, self._odds, self._star
        kernels = _compiled()
        if len(self.bits) < 2:
            return
        if kernels is None:
            size = max(1, PLAIN_BATCH // (2 * len(self._places) if self._star else self._missing.size))
            for a in range(0, len(keys), size):
                _walk_numpy(tables[a : a + size], keys[a : a + size], *rest)
            return
        parts = min(n_workers(self.n_jobs), len(keys))
        ends = np.linspace(0, len(keys), parts + 1).astype(int).tolist()
        walks = ((tables[a:b], keys[a:b], *rest) for a, b in pairwise(ends))
        for _ in in_threads(kernels.walk, walks, n_jobs=parts):
            pass


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
        rank = (_unit(word(key[lines], turn[lines].astype(np.uint64))) * size).astype(np.int64)
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


def _walk_numpy(
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
            order[:, 1] = 1 + (_unit(word(round_key, np.uint64(0))) * (k - 1)).astype(np.int64)
        for i in range(0 if star else k - 1, 0, -1):  # Fisher and Yates
            j = (_unit(word(round_key, np.uint64(i))) * (i + 1)).astype(np.int64)
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
                both, coin = (more > 0) & (less > 0), _unit(word(pair_key, np.uint64(4 * g))) < 0.5
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
                u = _unit(word(pair_key[tilted], np.uint64(4 * g + 1)))
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


@cache
def _compiled() -> Any:
    """The same in machine code, or None without numba."""
    if find_spec("numba") is None:
        return None
    from heldout.statistics import margin_kernels

    return cast("Any", margin_kernels)
