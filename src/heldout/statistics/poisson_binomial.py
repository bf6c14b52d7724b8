r"""Errors as given against errors in all arrangements: exact where every arrangement was as likely as any other.

An example has an orbit of arrangements, such as a picture and its mirror image, or a question with its options in all
orders. Where the model knows nothing of which of them is the given one, and that is one of them at random, for each
example by itself, the errors as given are a sum of independent zeros and ones,

.. math:: E = \sum_i \mathrm{Bernoulli}(p_i), \qquad p_i = \text{share of the orbit that is wrong},    \tag{1}

the given arrangement included: the Poisson-binomial law, of which `lattice_sums` has the tails.

Where examples depend on each other (tiles of one slide, frames of one video), their arrangements need not be
independent. It is then enough that a group as a whole could as well have been given with one and the same move applied
to all of its examples: which holds where they all share their arrangement, and where each has its own at random. Given
everything but that move, the errors of group g are one of the sums

.. math:: W_{gj} = \sum_{i \in g} w_{ij}, \qquad j = 1 \ldots |G|,    \tag{2}

each as likely as any other, w_ij telling whether example i is wrong after the move j; groups are independent, and E is
a sum of such numbers. So it is where several models are counted together, w_ij telling how many of them are wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.groups import group_codes
from heldout.results import Record
from heldout.statistics.lattice_sums import LogTails, sum_log_tails

Floats = NDArray[np.float64]
Side = Literal["overfitted", "two-sided"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OrbitTestResult(Record):
    """Errors as given against what is expected where every arrangement is as likely as any other.

    Attributes
    ----------
    errors : int
        Examples that are wrong as given; of several models all of their errors.
    expected, standard_deviation : float
        Of the errors, under the null hypothesis.
    log_p_value, p_value : float
        Of the declared alternative; the first is finite even where the second underflows.
    log_p_overfitted, log_p_two_sided : float
        Of each alternative.
    alternative : {"overfitted", "two-sided"}
        What was declared; "overfitted" looks for fewer errors as given.
    mid_p : bool
        Whether the observed count was counted half, which is not valid: false alarms may exceed the level.
    n_examples, n_groups : int
        What it rests on; the second is None without groups.

    Examples
    --------
    >>> from heldout.statistics import orbit_test
    >>> found = orbit_test([[False, True]] * 10)
    >>> found.errors, found.expected, found.p_value == 2**-10
    (0, 5.0, True)
    """

    derived = ("p_value", "log_p_value", "valid")

    errors: int
    expected: float
    standard_deviation: float
    log_p_overfitted: float
    log_p_two_sided: float
    alternative: Side
    mid_p: bool
    n_examples: int
    n_groups: int | None = None

    @property
    def log_p_value(self) -> float:
        """Logarithm of the p-value of the declared alternative."""
        return self.log_p_overfitted if self.alternative == "overfitted" else self.log_p_two_sided

    @property
    def p_value(self) -> float:
        """The p-value of the declared alternative; may underflow to 0."""
        return math.exp(self.log_p_value)

    @property
    def valid(self) -> bool:
        """Whether the level holds: not with `mid_p`."""
        return not self.mid_p

    def __str__(self) -> str:
        return (
            f"{self.errors:,} errors as given where {self.expected:,.1f} ± {self.standard_deviation:.1f} are expected, "
            f"p = {self.p_value:.2g} ({self.alternative}{', mid-p, not valid' if self.mid_p else ''})"
        )


def poisson_binomial_log_tails(p: ArrayLike, count: int) -> LogTails:
    """Logarithms of P(E <= count), P(E >= count) and P(E = count) for a sum E of independent Bernoulli(p_i).

    Parameters
    ----------
    p : (n,) float
        Probabilities, 0 and 1 included.
    count : int
        How many; tails of counts that there cannot be are 0 or 1.

    Examples
    --------
    >>> tails = poisson_binomial_log_tails([0.5] * 5000, 0)
    >>> round(tails.lower / math.log(2), 6)
    -5000.0
    >>> poisson_binomial_log_tails([0.0, 1.0, 1.0], 1)
    LogTails(lower=-inf, upper=0.0, point=-inf)
    """
    shares = np.asarray(p, dtype=np.float64)
    if shares.ndim != 1 or not ((shares >= 0) & (shares <= 1)).all():
        raise InputError("`p` must hold one probability between 0 and 1 for each example.")
    weights = np.empty((len(shares), 2))
    with np.errstate(divide="ignore"):
        weights[:, 0], weights[:, 1] = np.log1p(-shares), np.log(shares)
    values = np.tile(np.arange(2), len(shares))
    return sum_log_tails(values, 2 * np.arange(len(shares) + 1), count, log_weights=weights.ravel())


def orbit_test(
    wrong: ArrayLike,
    *,
    starts: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    alternative: Side = "overfitted",
    mid_p: bool = False,
) -> OrbitTestResult:
    """Exact test of errors as given against errors in all arrangements of the same examples.

    Valid where the given arrangement of every example was one of its orbit at random, which is for the user to know:
    shuffled options, pictures from above, mirrored ones whose side means nothing. Where only the answer's position has
    a law of its own, `arrangement_test` is valid.

    Parameters
    ----------
    wrong : (n_examples, n_points) bool or int, or (m,) with `starts`
        Whether the model is wrong, the given arrangement first; or how many of several models are.
    starts : (n_examples + 1,) int, optional
        Where the arrangements of each example begin, where they differ in number.
    groups : (n_examples,), optional
        Names of groups of examples that depend on each other. Column j must then be the same move for all examples of a
        group, and `wrong` a table; moves that lead a picture to itself stay in it.
    alternative : {"overfitted", "two-sided"}
        "overfitted": fewer errors as given. Two-sided p is twice the smaller one.
    mid_p : bool
        Count the observed number half. Not valid.

    Returns
    -------
    OrbitTestResult
        Errors, what is expected, and p-values.

    Examples
    --------
    Twenty pictures that are right as given, and wrong in three of their eight views:

    >>> from heldout.statistics import orbit_test
    >>> found = orbit_test([[False] * 5 + [True] * 3] * 20)
    >>> found.errors, found.expected, round(found.p_value / (5 / 8) ** 20, 6)
    (0, 7.5, 1.0)
    """
    check_side(alternative)
    table = np.asarray(wrong)
    if table.dtype.kind not in "biuf" or not ((table >= 0) & (table % 1 == 0)).all():
        raise InputError("`wrong` must hold True and False only, or how many models are wrong.")
    table = table.astype(np.int64)
    if starts is None:
        if table.ndim != 2 or table.size == 0:
            raise InputError(
                f"`wrong` has shape {table.shape}; it must be a table, (n_examples, n_points), or come with `starts`."
            )
        begin = np.arange(len(table) + 1) * table.shape[1]
    elif groups is not None:
        raise InputError("`groups` needs the same moves for all examples: give `wrong` as a table, without `starts`.")
    else:
        begin = check_starts(starts, table, "wrong")
    n = len(begin) - 1
    n_groups = None
    if groups is not None:
        table = unit_counts(table, group_codes(groups, n))
        n_groups = len(table)
        begin = np.arange(n_groups + 1) * table.shape[1]
    flat, sizes = table.reshape(-1), np.diff(begin)
    errors = int(flat[begin[:-1]].sum())
    means, squares = (np.add.reduceat(flat**k, begin[:-1]) / sizes for k in (1, 2))
    if flat.max() <= 1:
        tails = poisson_binomial_log_tails(means, errors)  # (1)
    else:
        tails = sum_log_tails(flat, begin, errors)
    return OrbitTestResult(
        errors=errors,
        expected=float(means.sum()),
        standard_deviation=math.sqrt(max(0.0, float((squares - means**2).sum()))),
        log_p_overfitted=tails.log_p("overfitted", mid_p=mid_p),
        log_p_two_sided=tails.log_p("two-sided", mid_p=mid_p),
        alternative=alternative,
        mid_p=mid_p,
        n_examples=n,
        n_groups=n_groups,
    )


def unit_counts(counts: NDArray[np.int64], groups: NDArray[np.intp] | None) -> NDArray[np.int64]:
    """(2): errors (n_examples, n_points) of each example after each move, summed over the examples of each group.

    Examples
    --------
    >>> counts = np.array([[0, 1], [1, 1], [0, 1]])
    >>> unit_counts(counts, np.array([0, 1, 0])).tolist(), unit_counts(counts, None) is counts
    ([[0, 2], [1, 1]], True)
    """
    if groups is None:
        return counts
    units = np.zeros((int(groups.max()) + 1, counts.shape[1]), dtype=np.int64)
    np.add.at(units, groups, counts)
    return units


def check_side(alternative: str) -> None:
    """Refuse anything but the two sides of these tests."""
    if alternative not in get_args(Side):
        raise InputError(f"`alternative` is {alternative!r}; it must be 'overfitted' or 'two-sided'.")


def check_starts(starts: ArrayLike, flat: NDArray[np.generic], name: str) -> NDArray[np.int64]:
    """Where the arrangements of each example begin, checked; the last one is how many there are."""
    begin = np.asarray(starts)
    whole = begin.ndim == 1 and len(begin) > 1 and begin.dtype.kind in "iu"
    if not whole or begin[0] != 0 or (np.diff(begin) < 1).any() or begin[-1] != flat.shape[-1]:
        raise InputError(
            f"`starts` must rise from 0 to the {flat.shape[-1]:,} arrangements of `{name}`, with at least one for each "
            "example."
        )
    return begin.astype(np.int64)
