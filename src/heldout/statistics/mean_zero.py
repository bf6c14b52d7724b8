"""Is the mean of T zero? One door to the tests, for one model and for N."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from heldout.errors import InputError
from heldout.groups import group_codes, group_means
from heldout.statistics.bernstein import bernstein_log_pvalue
from heldout.statistics.betting import star_bets_log_pvalue
from heldout.statistics.checks import Alternative, Floats, check_alternative, check_sample, check_tolerance
from heldout.statistics.mixture import mixture_log_evalue

Method = Literal["betting", "mixture", "bernstein", "bernstein_uncapped"]


@dataclass(frozen=True, kw_only=True)
class IndependenceTestResult:
    """Evidence against "the mean of T is zero".

    Attributes
    ----------
    statistic : float
        Mean T; with groups the mean of their means.
    log_p_value, p_value : float
        The first is finite even where the second underflows.
    method, alternative, tolerance
        The test.
    n_examples, n_groups : int
        What it rests on; the second is None without groups.

    Examples
    --------
    >>> from heldout import independence_test
    >>> found = independence_test([0.5] * 100 + [0.0] * 900, lower=-0.96, upper=0.5)
    >>> found.statistic, found.p_value < 1e-10
    (0.05, True)
    """

    statistic: float  # mean T; with groups the mean of their means
    log_p_value: float  # finite even where p underflows
    method: Method
    alternative: Alternative
    tolerance: float
    n_examples: int
    n_groups: int | None = None  # where groups were given: each counts once, with its mean

    @property
    def p_value(self) -> float:
        """May underflow to 0; `log_p_value` does not."""
        return math.exp(self.log_p_value)

    def __str__(self) -> str:
        units = f"{self.n_examples:,} examples" + (f" in {self.n_groups:,} groups" if self.n_groups else "")
        return f"mean T = {self.statistic:+.6f} over {units}, {self.method} p = {self.p_value:.3g} ({self.alternative})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON.

        Returns
        -------
        dict
            All fields and the p-value.
        """
        return {**vars(self), "p_value": self.p_value}


def independence_test(
    T: ArrayLike,
    *,
    lower: float,
    upper: float,
    method: Method = "betting",
    alternative: Alternative = "two-sided",
    groups: ArrayLike | None = None,
    tolerance: float = 0.0,
    seed: int = 0,
    n_orders: int | None = None,
    ids: Sequence[object] | None = None,
) -> IndependenceTestResult:
    """Test that T has mean zero, as it has when model and test set are independent.

    Parameters
    ----------
    T : (n_examples,)
        One statistic per example, for instance from `heldout.score_map_statistics`.
    lower, upper : float
        The range that the rule guarantees (`Translations.statistic_range`), never the data's own.
    method : {"betting", "mixture", "bernstein", "bernstein_uncapped"}
        Every one keeps its level at any sample size. `betting` finds the smallest effects,
        `mixture` needs no order and combines, `bernstein` is the published test (eq. 8 of v1).
        `bernstein_uncapped` may exceed 1 and only orders results; it is not a p-value there.
    alternative : {"two-sided", "greater"}
        "greater" looks for a positive mean only. Bernstein's one-sided p is the two-sided one where
        the mean is positive and 1 (3 uncapped) elsewhere, since (7) bounds both sides with one delta.
    groups : (n_examples,), optional
        Names of groups of examples that depend on each other (frames of one video, copies of one picture). Every level
        is for independent units, so each group then counts once, with the mean of its T.
    tolerance : float
        Test abs(E T) <= tolerance instead, for moves that keep label or density only roughly.
    seed : int
        Of the random orders that `betting` averages over; p hardly depends on it.
    n_orders : int, optional
        How many; fewer are as valid, faster, and depend more on the seed.
    ids : sequence, optional
        Without effect: the names of examples no longer order the bets.

    Returns
    -------
    IndependenceTestResult
        Mean T and its p-value.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import independence_test
    >>> T = np.zeros(10_000)
    >>> T[:120] = 0.5
    >>> print(independence_test(T, lower=-24 / 25, upper=0.5, method="bernstein"))
    mean T = +0.006000 over 10,000 examples, bernstein p = 0.000577 (two-sided)
    """
    check_alternative(alternative)
    x = check_sample(T, lower=lower, upper=upper)
    check_tolerance(tolerance, lower=lower, upper=upper)
    if ids is not None:
        warnings.warn("`ids` has no effect any more, and goes in 0.2: bets do not depend on names.", DeprecationWarning,
                      stacklevel=2)  # fmt: skip
    n, (x, n_groups) = len(x), one_value_per_group(x, groups)
    mean = float(x.mean())
    if method == "betting":
        log_p = star_bets_log_pvalue(
            x,
            lower=lower,
            upper=upper,
            alternative=alternative,
            tolerance=tolerance,
            seed=seed,
            n_orders=n_orders,
        )
    elif method == "mixture":
        log_e = mixture_log_evalue(x, lower=lower, upper=upper, alternative=alternative, tolerance=tolerance)
        log_p = min(0.0, -log_e)
    elif method in ("bernstein", "bernstein_uncapped"):
        excess = max((mean if alternative == "greater" else abs(mean)) - tolerance, 0.0)
        log_p = bernstein_log_pvalue(excess, float(x.std()), len(x), width=upper - lower)
        if method == "bernstein":
            log_p = min(0.0, log_p)
    else:
        raise InputError(f"`method` is {method!r}; choose one of {', '.join(get_args(Method))}.")
    return IndependenceTestResult(
        statistic=mean,
        log_p_value=log_p,
        method=method,
        alternative=alternative,
        tolerance=tolerance,
        n_examples=n,
        n_groups=n_groups,
    )


def one_value_per_group(x: Floats, groups: ArrayLike | None) -> tuple[Floats, int | None]:
    """The means of the groups and their number; the values themselves where there are no groups of two or more.

    Examples
    --------
    >>> one_value_per_group(np.array([1.0, 2.0, 5.0]), ["a", "a", "b"])
    (array([1.5, 5. ]), 2)
    """
    if groups is None:
        return x, None
    codes = group_codes(groups, len(x))
    n_groups = int(codes.max()) + 1
    return (group_means(x, codes), n_groups) if n_groups < len(x) else (x, None)


@dataclass(frozen=True, kw_only=True)
class NModelTestResult:
    """One test for each disjoint group of models; the groups share their examples.

    Attributes
    ----------
    groups : tuple of IndependenceTestResult
        One test per group of models.
    group_size : int
        Models in each.
    log_e_value : float
        Averaged over the groups: valid although they share examples.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import n_model_test
    >>> T = np.zeros((4, 1000))
    >>> T[:2, :60] = 0.5  # two of four trainings are right on 60 examples and wrong beside them
    >>> found = n_model_test(T, lower=-0.96, upper=0.5, group_size=2)
    >>> [test.statistic for test in found.groups], [p < 0.001 for p in found.p_values]
    ([0.03, 0.0], [True, False])
    """

    groups: tuple[IndependenceTestResult, ...]
    group_size: int
    log_e_value: float  # average over the groups: valid although they share examples

    @property
    def log_p_values(self) -> tuple[float, ...]:
        """One a group. Never combine them by Fisher's method: the groups share their examples."""
        return tuple(g.log_p_value for g in self.groups)

    @property
    def p_values(self) -> tuple[float, ...]:
        """One a group; see `log_p_values`."""
        return tuple(g.p_value for g in self.groups)

    def __str__(self) -> str:
        ps = ", ".join(f"{p:.3g}" for p in self.p_values[:10])
        more = ", ..." if len(self.groups) > 10 else ""
        return f"{len(self.groups)} groups of {self.group_size} models: p = {ps}{more}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON.

        Returns
        -------
        dict
            All fields and the p-values.
        """
        return {
            "group_size": self.group_size,
            "p_values": list(self.p_values),
            "log_p_values": list(self.log_p_values),
            "log_e_value": self.log_e_value,
            "groups": [g.to_dict() for g in self.groups],
        }


def n_model_test(
    T: ArrayLike,
    *,
    lower: float,
    upper: float,
    group_size: int | None = None,
    method: Method = "betting",
    alternative: Alternative = "two-sided",
    groups: ArrayLike | None = None,
    tolerance: float = 0.0,
    seed: int = 0,
) -> NModelTestResult:
    """The N-model test (section 3.1 of v1): average T over N trainings first, then test.

    Parameters
    ----------
    T : (n_models, n_examples)
        Statistics of several trainings of one architecture on the same examples.
    lower, upper, method, alternative, tolerance, seed
        As in `independence_test`.
    groups : (n_examples,), optional
        Of examples, as in `independence_test`.
    group_size : int, optional
        N. The models are cut into K = n_models // N disjoint groups in the order given, and each
        gives one p-value. Default: all of them in one group.

    Returns
    -------
    NModelTestResult
        One test per group of models.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import n_model_test
    >>> T = np.zeros((4, 1000))
    >>> T[0, :30] = 0.5
    >>> n_model_test(T, lower=-0.96, upper=0.5, group_size=2, method="mixture").p_values[1]
    1.0
    """
    stack = np.asarray(T, dtype=np.float64)
    if stack.ndim != 2 or 0 in stack.shape:
        raise InputError(f"`T` has shape {stack.shape}; it must be (n_models, n_examples).")
    size = len(stack) if group_size is None else group_size
    if not 1 <= size <= len(stack):
        raise InputError(f"`group_size` is {size} for {len(stack)} models; it must be between 1 and that.")
    n_groups = len(stack) // size
    averaged = stack[: n_groups * size].reshape(n_groups, size, -1).mean(axis=1)
    tests = tuple(
        independence_test(
            row,
            lower=lower,
            upper=upper,
            method=method,
            alternative=alternative,
            groups=groups,
            tolerance=tolerance,
            seed=seed,
        )
        for row in averaged
    )
    log_e = [
        mixture_log_evalue(
            one_value_per_group(row, groups)[0], lower=lower, upper=upper, alternative=alternative, tolerance=tolerance
        )
        for row in averaged
    ]
    return NModelTestResult(groups=tests, group_size=size, log_e_value=float(logsumexp(log_e)) - math.log(n_groups))
