"""The control test: test set against control set, examples or whole groups permuted within class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from heldout.errors import InputError
from heldout.groups import group_codes, group_means, group_sizes
from heldout.results import Record
from heldout.statistics.checks import Alternative, Floats, check_alternative
from heldout.workers import in_threads

CHUNK_CELLS = 4_000_000  # counts drawn at a time, so that memory stays bounded
FLAT = 1e-8  # share of the sum of squares below which the spread inside a set is rounding, hence 0
SEVERAL = -1  # class of a group whose examples are of several classes
TIE = 1e-7  # relative; above what rounding does to a studentised difference whose spread is not FLAT


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ControlTestResult(Record):
    """Test set against control on one number per example.

    Attributes
    ----------
    difference, standard_error : float
        Test minus control, within class.
    interval : (float, float)
        Of the difference, 95 %.
    p_value, p_greater, p_two_sided : float
        Of the declared alternative, and of each.
    standard_error_test : float
        What of the standard error comes from the test set.
    n_test, n_control, n_unmatched : int
        Examples; those of classes that only one of the two sets has.
    n_groups_test, n_groups_control : int or None
        Groups, where they were given: each counts once, with its mean.
    alternative, n_resamples
        What was asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import control_test
    >>> found = control_test([1.0] * 50 + [0.0] * 50, [0.0] * 200, rng=np.random.default_rng(0))
    >>> round(found.difference, 6), found.p_value
    (0.5, 0.0001)
    """

    derived = ("p_value",)

    difference: float  # test minus control, within class
    standard_error: float
    standard_error_test: float  # what of it comes from the test set
    interval: tuple[float, float]  # 95 %, Student, with each class's own spread
    p_greater: float
    p_two_sided: float
    alternative: Alternative
    n_test: int
    n_control: int
    n_unmatched: int  # examples of classes that only one of the two sets has
    n_resamples: int
    n_groups_test: int | None = None  # where groups were given: each counts once, with its mean
    n_groups_control: int | None = None

    @property
    def p_value(self) -> float:
        """The p-value of the declared alternative."""
        return self.p_greater if self.alternative == "greater" else self.p_two_sided

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"test minus control {self.difference:+.5f} (95 % {low:+.5f} to {high:+.5f}), "
            f"permutation p = {self.p_value:.2g} ({self.alternative})"
        )


@dataclass(frozen=True, kw_only=True)
class ControlTestsResult:
    """Test set against control on several numbers per example, and on the smallest of their p-values.

    Attributes
    ----------
    each : tuple of ControlTestResult
        One per statistic.
    p_value, p_greater, p_two_sided : float
        Of the smallest of their p-values, for the declared alternative and for each.
    alternative : str
        The declared one.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.statistics import control_tests
    >>> rng = np.random.default_rng(0)
    >>> found = control_tests(rng.normal(1, 1, (2, 50)), rng.normal(0, 1, (2, 50)), rng=rng, n_resamples=999)
    >>> len(found.each), found.p_value
    (2, 0.001)
    """

    each: tuple[ControlTestResult, ...]
    p_greater: float
    p_two_sided: float
    alternative: Alternative

    @property
    def p_value(self) -> float:
        """The combined p-value of the declared alternative."""
        return self.p_greater if self.alternative == "greater" else self.p_two_sided

    @property
    def spoke(self) -> ControlTestResult:
        """The one with the smallest p-value; the first of equals."""
        return min(self.each, key=lambda test: test.p_value)


class _Stratum:
    """One class: its distinct rows of values, centred, and how often each stands in both sets together."""

    def __init__(self, test: Floats, control: Floats) -> None:
        pooled = np.concatenate([test, control], axis=1)
        self.n_test, self.n_control = test.shape[1], control.shape[1]
        centre = pooled.mean(axis=1, keepdims=True)
        distinct, self.counts = np.unique(pooled, axis=1, return_counts=True)
        self.moments = np.stack([distinct - centre, (distinct - centre) ** 2])  # what a split is judged by
        self.observed = np.stack([test - centre, (test - centre) ** 2]).sum(axis=2)  # (2, statistics)
        self.total = self.moments @ self.counts

    def draw(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """How often each row falls into the test part in `size` random splits, (size, rows)."""
        method: Literal["count", "marginals"] = "count" if 4 * len(self.counts) > self.counts.sum() else "marginals"
        return rng.multivariate_hypergeometric(self.counts, self.n_test, size=size, method=method)

    def sums(self, drawn: NDArray[np.int64]) -> Floats:
        """Sums and sums of squares of the test part, (2, statistics, size)."""
        return np.asarray(self.moments @ drawn.T)


def control_test(
    T_test: ArrayLike,
    T_control: ArrayLike,
    *,
    classes_test: ArrayLike | None = None,
    classes_control: ArrayLike | None = None,
    groups_test: ArrayLike | None = None,
    groups_control: ArrayLike | None = None,
    alternative: Alternative = "two-sided",
    rng: np.random.Generator,
    n_resamples: int = 9999,
    n_jobs: int = 1,
) -> ControlTestResult:
    r"""Permutation test that two sets of independent examples have the same law within each class.

    Labels "test" and "control" are permuted within class; the statistic is the difference of the
    class-wise means, D, over its standard error:

    .. math:: D = \sum_c w_c (\bar T_c - \bar T'_c), \quad w_c \propto \frac{n_c n'_c}{n_c + n'_c},
              \quad se^2 = s^2 \sum_c \frac{w_c^2}{n_c} + s'^2 \sum_c \frac{w_c^2}{n'_c},

    with s, s' the standard deviations within class of each set. p = (b + 1) / (B + 1). Exact if examples are
    independent and, given the class, test and control examples have the same law; sizes and class mixes may differ.
    Without classes this is the studentised difference of two means.

    Examples that depend on each other (`groups_test`, `groups_control`, each with names of its own) are permuted as
    whole groups: a group counts once, with the mean of its values. A group whose examples are all of one class is
    compared within it; groups of several classes are compared with each other, on values less their class's mean over
    such groups of both sets. Exact if groups are independent and, given the class, group means have the same law in
    both sets.

    The interval has each class's own spread, since class mixes may differ (a spread pooled over classes covered 83 %
    instead of 95 % with 900, 20, 80 examples against 80, 20, 900), and Student's tails with Satterthwaite's degrees:

    .. math:: se^2 = \sum_c w_c^2 \left(\frac{s_c^2}{n_c} + \frac{s_c'^2}{n_c'}\right).    \tag{2}

    The permutation law depends on how often each distinct value falls into the test set only, so
    those counts are drawn directly (multivariate hypergeometric).

    Parameters
    ----------
    T_test, T_control : (n,) and (n_control,)
        One number per example.
    classes_test, classes_control : (n,) and (n_control,), optional
        Strata within which sets are compared.
    groups_test, groups_control : (n,) and (n_control,), optional
        Examples that depend on each other.
    alternative : {"two-sided", "greater"}
        "greater": the test set's numbers are larger.
    rng : numpy.random.Generator
        Of the splits.
    n_resamples : int
        The number B of random splits; p is never below 1 / (B + 1).
    n_jobs : int
        Workers, as joblib counts them (-1: one for each core), here threads that weigh splits while others are drawn;
        the result does not depend on it. Worth it from some thousands of different values on.

    Returns
    -------
    ControlTestResult
        Difference, interval and p-values.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import control_test
    >>> rng = np.random.default_rng(0)
    >>> same = control_test(rng.normal(1, 1, 200), rng.normal(1, 1, 300), rng=rng)
    >>> same.p_value > 0.05
    True
    >>> control_test([1.0] * 50 + [0.0] * 50, [0.0] * 200, alternative="greater", rng=rng).p_value
    0.0001
    """
    x = [np.asarray(values, dtype=np.float64) for values in (T_test, T_control)]
    for name, values in zip(("test", "control"), x, strict=True):
        if values.ndim != 1:
            raise InputError(f"`T_{name}` must be a non-empty row of finite numbers; its shape is {values.shape}.")
    return control_tests(
        x[0][None],
        x[1][None],
        classes_test=classes_test,
        classes_control=classes_control,
        groups_test=groups_test,
        groups_control=groups_control,
        alternative=alternative,
        rng=rng,
        n_resamples=n_resamples,
        n_jobs=n_jobs,
    ).each[0]


def control_tests(
    T_test: ArrayLike,
    T_control: ArrayLike,
    *,
    classes_test: ArrayLike | None = None,
    classes_control: ArrayLike | None = None,
    groups_test: ArrayLike | None = None,
    groups_control: ArrayLike | None = None,
    alternative: Alternative = "two-sided",
    rng: np.random.Generator,
    n_resamples: int = 9999,
    n_jobs: int = 1,
) -> ControlTestsResult:
    r"""`control_test` on several statistics at once, and on the smallest of their p-values (Westfall and Young 1993).

    All statistics see the same random splits. With p_s(b) the share of the splits, the observed one among them, whose
    statistic s is at least that of split b, and split 0 the observed one,

    .. math:: p = \frac{\#\{b : \min_s p_s(b) \le \min_s p_s(0)\}}{B + 1},    \tag{3}

    which is exact wherever `control_test` is, however the statistics depend on each other. It is at most the number of
    statistics times the smallest p, and less the more alike they are.

    Parameters
    ----------
    T_test, T_control : (n_statistics, n) and (n_statistics, n_control)
        Several numbers per example.
    classes_test, classes_control, groups_test, groups_control, alternative, rng, n_resamples, n_jobs
        As in `control_test`.

    Returns
    -------
    ControlTestsResult
        Each statistic's test, and the p-value of all together.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.statistics import control_tests
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(1, 1, (2, 200)), rng.normal(0, 1, (2, 300))
    >>> found = control_tests(x, y, rng=rng, n_resamples=999)
    >>> found.p_value, [test.p_value for test in found.each]
    (0.001, [0.001, 0.001])
    """
    check_alternative(alternative)
    if n_resamples < 1:
        raise InputError(f"`n_resamples` is {n_resamples}; at least 1 is needed.")
    sets = read_sets(T_test, T_control, classes_test, classes_control)
    n_all = sum(len(c) for _, c in sets)
    sets, n_groups, sizes = one_row_per_group(sets, groups_test, groups_control)
    strata, matched = _strata(*sets[0], *sets[1], groups=n_groups)
    n_unmatched = n_all - sum(int(size[kept].sum()) for size, kept in zip(sizes, matched, strict=True))
    n_test = sum(s.n_test for s in strata)
    n_control = sum(s.n_control for s in strata)
    difference, error = _difference(np.stack([s.observed for s in strata])[..., None], strata)
    scale = np.sqrt(sum(s.total[1] for s in strata) / (n_test + n_control))
    chunk = max(1, CHUNK_CELLS // max(2 * len(strata) * len(scale), *(len(s.counts) for s in strata)))
    sizes_drawn = [min(n_resamples - done, chunk) for done in range(0, n_resamples, chunk)]
    # One sequence of draws, whoever sums them up.
    splits = ((stratum, stratum.draw(size, rng)) for size in sizes_drawn for stratum in strata)
    sums = in_threads(_Stratum.sums, splits, n_jobs=n_jobs)
    drawn = [_studentise(difference, error, scale)]
    for _ in sizes_drawn:
        some = np.stack([next(sums) for _ in strata])
        drawn.append(_studentise(*_difference(some, strata), scale))
    t = np.concatenate(drawn, axis=1)  # (statistics, splits), the observed one first
    p_greater, p_two_sided = _shares_as_large(t), _shares_as_large(np.abs(t))

    error_test, error_control, degrees = _spreads(strata)
    standard_error = np.hypot(error_test, error_control)
    half = np.where(standard_error > 0, stdtrit(degrees, 0.975) * standard_error, 0.0)
    each = tuple(
        ControlTestResult(
            difference=float(difference[i, 0]),
            standard_error=float(standard_error[i]),
            standard_error_test=float(error_test[i]),
            interval=(float(difference[i, 0] - half[i]), float(difference[i, 0] + half[i])),
            p_greater=float(p_greater[i, 0]),
            p_two_sided=float(p_two_sided[i, 0]),
            alternative=alternative,
            n_test=int(sizes[0][matched[0]].sum()),
            n_control=int(sizes[1][matched[1]].sum()),
            n_unmatched=n_unmatched,
            n_resamples=n_resamples,
            n_groups_test=n_test if n_groups else None,
            n_groups_control=n_control if n_groups else None,
        )
        for i in range(len(scale))
    )
    smallest, smallest_two_sided = p_greater.min(axis=0), p_two_sided.min(axis=0)
    return ControlTestsResult(
        each=each,
        p_greater=float((smallest <= smallest[0]).mean()),  # (3)
        p_two_sided=float((smallest_two_sided <= smallest_two_sided[0]).mean()),
        alternative=alternative,
    )


def _shares_as_large(t: Floats) -> Floats:
    """For every split the share of the splits whose statistic is at least as large, (statistics, splits).

    A split that equals another one in exact arithmetic must count as one after rounding, hence the slack.
    """
    slack = np.where(np.isfinite(t), TIE * np.maximum(1.0, np.abs(t)), 0.0)
    below = [np.searchsorted(np.sort(row), row - less, side="left") for row, less in zip(t, slack, strict=True)]
    return np.asarray((t.shape[1] - np.array(below)) / t.shape[1])


Set = tuple[Floats, NDArray[Any]]  # (statistics, n) values, (n,) classes


def read_sets(
    test: ArrayLike, control: ArrayLike, classes_test: ArrayLike | None, classes_control: ArrayLike | None
) -> list[Set]:
    """Both sets, checked."""
    sets = []
    for name, values, classes in (("test", test, classes_test), ("control", control, classes_control)):
        x = np.asarray(values, dtype=np.float64)
        if x.ndim != 2 or x.size == 0 or not np.isfinite(x).all():
            raise InputError(f"`T_{name}` must be a non-empty row of finite numbers; its shape is {x.shape[-1:]}.")
        c = np.zeros(x.shape[1], dtype=np.int64) if classes is None else np.asarray(classes)
        if c.shape != x.shape[1:]:
            raise InputError(f"`classes_{name}` has shape {c.shape} but `T_{name}` has {x.shape[1:]}.")
        sets.append((x, c))
    if len(sets[0][0]) != len(sets[1][0]):
        raise InputError(f"{len(sets[0][0])} statistics of the test set but {len(sets[1][0])} of the control.")
    if (classes_test is None) != (classes_control is None):
        raise InputError("give the classes of both sets or of neither.")
    _check_kinds([c for _, c in sets])
    return sets


def _check_kinds(classes: list[NDArray[Any]]) -> None:
    if len({c.dtype.kind in "US" for c in classes}) > 1:
        raise InputError("the classes are text in one set and numbers in the other; give both as the same.")


def unit_strata(
    classes: list[NDArray[Any]], groups_test: ArrayLike | None, groups_control: ArrayLike | None
) -> tuple[list[NDArray[Any]], list[NDArray[np.intp]], bool]:
    """What the units of both sets are compared within, the unit of each example, and whether units are groups.

    A unit is an example, compared within its class; or, where any group has two or more, a group, compared within the
    class that all of its examples have, or with the other groups of several classes.
    """
    codes = [
        np.arange(len(c)) if groups is None else group_codes(groups, len(c), what=f"groups_{name}")
        for c, groups, name in zip(classes, (groups_test, groups_control), ("test", "control"), strict=True)
    ]
    if all((group_sizes(code) == 1).all() for code in codes):  # in the order they came: the very same draws
        return classes, [np.arange(len(c)) for c in classes], False
    places = np.unique(np.concatenate(classes), return_inverse=True)[1]
    strata: list[NDArray[Any]] = []
    for own, code in zip(np.split(places, [len(classes[0])]), codes, strict=True):
        lowest, highest = np.full(code.max() + 1, len(places)), np.full(code.max() + 1, -1)
        np.minimum.at(lowest, code, own)
        np.maximum.at(highest, code, own)
        strata.append(np.where(lowest == highest, lowest, SEVERAL))
    return strata, codes, True


def one_row_per_group(
    sets: list[Set], groups_test: ArrayLike | None, groups_control: ArrayLike | None
) -> tuple[list[Set], bool, list[NDArray[np.int64]]]:
    """Groups in place of examples, whether there are any of two or more, and how many examples each row stands for."""
    strata, codes, grouped = unit_strata([c for _, c in sets], groups_test, groups_control)
    if not grouped:
        return sets, False, [np.ones(len(c), dtype=np.int64) for _, c in sets]
    places = np.unique(np.concatenate([c for _, c in sets]), return_inverse=True)[1]
    cut = len(sets[0][1])
    # Groups of several classes are compared on values less their class's mean. It must not depend on which group is in
    # which set, so it is taken over both; and over such groups only: with pure ones among them, a class that is harder
    # inside mixed groups gave 15 % false alarms where class mixes differ.
    mixed = np.concatenate([stratum[code] == SEVERAL for stratum, code in zip(strata, codes, strict=True)])
    values = np.concatenate([x for x, _ in sets], axis=1)
    if mixed.any():
        within = np.unique(places[mixed], return_inverse=True)[1]
        values[:, mixed] -= np.stack([group_means(row, within)[within] for row in values[:, mixed]])
    out: list[Set] = [
        (np.stack([group_means(row, code) for row in x]), stratum)
        for x, code, stratum in zip(np.split(values, [cut], axis=1), codes, strata, strict=True)
    ]
    return out, True, [group_sizes(code) for code in codes]


def check_comparable(
    classes_test: ArrayLike,
    classes_control: ArrayLike,
    *,
    groups_test: ArrayLike | None = None,
    groups_control: ArrayLike | None = None,
) -> None:
    """Refuse, before anything is computed, two sets that `control_test` could not compare."""
    classes = [np.asarray(classes_test), np.asarray(classes_control)]
    _check_kinds(classes)
    (test, control), _, grouped = unit_strata(classes, groups_test, groups_control)
    _check_shared(test, control, groups=grouped)


def _check_shared(test: NDArray[Any], control: NDArray[Any], *, groups: bool) -> NDArray[Any]:
    """The strata that both sets have, in which some must have two units of each."""
    shared = np.intersect1d(test, control)
    if not len(shared):
        kinds = " (groups of one class are compared within it, groups of several classes with each other)"
        raise InputError(
            f"the test set and the control share no class, so nothing can be compared{kinds if groups else ''}."
        )
    n_test, n_control = (int(np.isin(c, shared).sum()) for c in (test, control))
    if n_test - len(shared) < 1 or n_control - len(shared) < 1:
        raise InputError(
            f"{n_test} test and {n_control} control {'groups' if groups else 'examples'} in {len(shared)} shared "
            "classes leave no class with two of each; give a larger control."
        )
    return shared


def _strata(
    x_test: Floats, c_test: NDArray[Any], x_control: Floats, c_control: NDArray[Any], *, groups: bool
) -> tuple[list[_Stratum], tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Pair the two sets class by class; also which rows have a class that the other set has."""
    shared = _check_shared(c_test, c_control, groups=groups)
    strata = [_Stratum(x_test[:, c_test == c], x_control[:, c_control == c]) for c in shared]
    return strata, (np.isin(c_test, shared), np.isin(c_control, shared))


def _spreads(strata: list[_Stratum]) -> tuple[Floats, Floats, Floats]:
    """Standard errors of the weighted means of both sets (2), and Satterthwaite's degrees of freedom; one a statistic.

    A class with a single example in a set has no spread of its own there; it gets that of the set's other classes.
    """
    weights = np.array([s.n_test * s.n_control / (s.n_test + s.n_control) for s in strata])[:, None]
    weights /= weights.sum()
    variances, terms = [], []
    for which in (0, 1):
        n = np.array([s.n_control if which else s.n_test for s in strata], dtype=np.float64)[:, None]
        sums = np.array([s.total - s.observed if which else s.observed for s in strata])  # (class, moment, statistic)
        spread = np.maximum(sums[:, 1] - sums[:, 0] ** 2 / n, 0.0)
        spread = np.where(spread > FLAT * sum(s.total[1] for s in strata), spread, 0.0)
        degrees = n - 1.0
        several = degrees > 0
        pooled = (spread * several).sum(axis=0) / degrees.sum()
        variance = weights**2 / n * np.where(several, spread / np.where(several, degrees, 1.0), pooled)
        variances.append(variance.sum(axis=0))
        terms.append((variance**2 / np.where(several, degrees, degrees.sum())).sum(axis=0))
    total, term = sum(variances), sum(terms)
    degrees_all = np.where(term > 0, np.asarray(total) ** 2 / np.where(term > 0, term, 1.0), np.inf)
    return np.sqrt(variances[0]), np.sqrt(variances[1]), degrees_all


def _difference(sums: Floats, strata: list[_Stratum]) -> tuple[Floats, Floats]:
    """Weighted within-class difference and its standard error, (statistic, split), from (class, moment, statistic,
    split) sums.
    """
    n = np.array([s.n_test for s in strata], dtype=np.float64)[:, None, None]
    n_control = np.array([s.n_control for s in strata], dtype=np.float64)[:, None, None]
    rest = np.stack([s.total for s in strata])[..., None] - sums
    weights = n * n_control / (n + n_control)
    weights /= weights.sum()
    mean, mean_control = sums[:, 0] / n, rest[:, 0] / n_control
    spread = (sums[:, 1] - n * mean**2).sum(axis=0)
    spread_control = (rest[:, 1] - n_control * mean_control**2).sum(axis=0)
    flat = FLAT * np.asarray(sum(s.total[1] for s in strata))[:, None]
    spread = np.where(spread > flat, spread, 0.0) / (n.sum() - len(strata))
    spread_control = np.where(spread_control > flat, spread_control, 0.0) / (n_control.sum() - len(strata))
    variance = spread * (weights**2 / n).sum() + spread_control * (weights**2 / n_control).sum()
    return (weights * (mean - mean_control)).sum(axis=0), np.sqrt(variance)


def _studentise(difference: Floats, error: Floats, scale: Floats) -> Floats:
    """Difference over error; without any spread around it a difference is infinite, and none is 0.

    `scale` is the spread of each statistic in both sets together, beside which a difference may be mere rounding.
    """
    flat = error == 0.0
    infinite = np.where(np.abs(difference) > TIE * scale[:, None], np.copysign(np.inf, difference), 0.0)
    return np.where(flat, infinite, difference / np.where(flat, 1.0, error))
