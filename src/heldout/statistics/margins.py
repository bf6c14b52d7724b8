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
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.checks import check_count
from heldout.errors import InputError
from heldout.groups import group_codes
from heldout.results import Record
from heldout.statistics.margin_trades import BITS, Words, popcounts, walk_numpy
from heldout.workers import in_threads

Floats = NDArray[np.float64]
Cells = NDArray[np.uint8]  # 1 right, 0 wrong, 2 missing
Side = Literal["greater", "less", "two-sided"]

MISSING = 2
STEPS = 20  # rounds to the hub and out again; LiveCodeBench's mean after 5, 10, 20, 40: 464.6, 461.6, 461.8, 461.6
BATCH = 32_000_000  # bits that are held at once; every stratum begins a word
PLAIN_BATCH = 4_000_000  # bits of tables that walk side by side without numba
PIECE = 2_000_000  # bits that one thread walks at a time: a hundred tables of LiveCodeBench, one of 200 x 10,000
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
        return float(standardised(self.observed, self.expected, self.standard_deviation))

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


def monte_carlo_p(observed: float, drawn: Floats, *, unit: float = 0.0) -> float:
    """(1), with equal sums told equal after rounding; `unit` is what sums are made of where they may all be 0.

    Examples
    --------
    >>> monte_carlo_p(2.0, np.array([1.0, 2.0, 3.0]))
    0.75
    """
    slack = TIE * max(unit, abs(observed), float(np.abs(drawn).max(initial=0.0)))
    return float((1 + np.count_nonzero(drawn >= observed - slack)) / (len(drawn) + 1))  # (1)


def standardised(observed: Any, expected: Any, spread: Any) -> Any:
    """What is more than expected, in units of its spread; NaN where that is 0.

    Examples
    --------
    >>> standardised(5.0, 3.0, np.array([1.0, 0.0])).tolist()
    [2.0, nan]
    """
    return (observed - expected) / np.where(np.asarray(spread) > 0, spread, np.nan)


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
        self._cells, self._order, self._sizes = cells, order, sizes
        self._tilt, self._odds = np.zeros((k, 0), dtype=np.uint64), np.zeros(0)
        if delta:
            if not math.isfinite(delta):
                raise InputError(f"`delta` is {delta}; it must be a finite number.")
            e = np.asarray(tilt)
            if e.shape != (k, n) or not np.isin(e, (0, 1)).all():
                raise InputError(f"`tilt` must be a table of 0 and 1, {(k, n)}; its shape is {e.shape}.")
            self._tilt = self.packed(e == 1)
            self._odds = np.exp([delta, -delta])  # once: exp differs in the last bit between libraries

    @cached_property
    def tradable(self) -> NDArray[np.bool_]:
        """(strata,) whether anything can be traded there."""
        by_stratum, ends = self._cells[:, self._order], np.cumsum(self._sizes)
        parts = zip(ends - self._sizes, ends, strict=True)
        return np.array([_can_trade(by_stratum[:, a:b]) for a, b in parts])

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
        size = max(1, BATCH // (BITS * self.bits.size))
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
        walk, n_jobs, most = (walk_numpy, 1, PLAIN_BATCH) if kernels is None else (kernels.walk, self.n_jobs, PIECE)
        trading = 2 if self._star else len(self.bits)  # rows
        size = max(1, most // (BITS * self.bits.shape[1] * trading))
        pieces = ((tables[a : a + size], keys[a : a + size], *rest) for a in range(0, len(keys), size))
        deque(in_threads(walk, pieces, n_jobs=n_jobs if len(keys) > size else 1), maxlen=0)


def _can_trade(cells: Cells) -> bool:
    """Whether some two models differ both ways on examples that both have."""
    right, wrong = (cells == 1).astype(np.float32), (cells == 0).astype(np.float32)
    ahead = right @ wrong.T > 0
    return bool((ahead & ahead.T).any())


@cache
def _compiled() -> Any:
    """The same in machine code, or None without numba."""
    if find_spec("numba") is None:
        return None
    from heldout.statistics import margin_kernels

    return cast("Any", margin_kernels)
