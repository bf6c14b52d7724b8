"""What leak would be found: the power of the leak test, from a control or a pilot, before or after the run."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from heldout.checks import check_share
from heldout.errors import InputError
from heldout.groups import group_codes, group_means
from heldout.results import Record
from heldout.statistics.checks import Alternative, Floats, check_alternative
from heldout.statistics.leak import (
    ALTERNATIVE,
    TOP,
    LeakScores,
    gains_of,
    log_ratios_of,
    mean_in_bin,
    number_of_bins,
    sparse_of,
    spread_of,
)
from heldout.statistics.permutation import SEVERAL, unit_strata
from heldout.statistics.power import LEVEL, POWER
from heldout.statistics.search import first_where

PULLS = (0.25, 0.5, 1.0)  # of the way that a seen example moves; what it is depends on how a model was trained
MOST_EXAMPLES = 10**9  # beyond, no number of examples is called enough
_gauss = functools.cache(np.polynomial.legendre.leggauss)  # nodes and weights; found when they are first used
SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # between which one is sought
MOST_CORRELATION = 0.9999  # keeps the integrand of (3) smooth enough for its nodes


@dataclass(frozen=True, eq=False, repr=False)
class DetectableLeak(Record):
    """The smallest share of the test set whose leak is found four times in five.

    Parameters
    ----------
    pull : float
        Share of the way up that a seen example moves.
    share : float
        Of the test set; NaN where not even a leak of all of it is found.

    Examples
    --------
    >>> from heldout.statistics import DetectableLeak
    >>> DetectableLeak(pull=0.5, share=0.03).to_dict()
    {'pull': 0.5, 'share': 0.03}
    """

    pull: float  # share of the way up that a seen example moves
    share: float  # of the test set; NaN where not even a leak of all of it is found


@dataclass(frozen=True, kw_only=True)
class _Law:
    """Both statistics of every independent unit, centred within class: unseen, and seen."""

    unseen: Floats  # (2, units)
    seen: Floats


def leak_power(
    scores: LeakScores,
    *,
    share: float,
    pull: float,
    n_test: float,
    n_control: float,
    classes: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    level: float = LEVEL,
    alternative: Alternative = ALTERNATIVE,
    tail: bool = True,
) -> float:
    r"""Chance that `leak_test` finds a leak of this share of the test set, by a normal law of its two statistics.

    A seen example moves from its score x to x + pull * max(top - x, 0), where top is the 95 % quantile of the scores:
    `pull` of the way up, if it is not there already. Scores with two values only (right or wrong) cannot move part of
    the way: there that share of the seen examples moves all of it. What is expected, the spread and the quantile are
    fitted to both sets together, so they move too, and are moved here in the proportion of seen examples in both sets.

    With d the mean change of a seen example's two statistics, C, C' their covariance among unseen and seen ones, and
    ``s = share``,

    .. math:: t \sim N\left(\frac{s d}{se}, \frac{V}{se\, se^T}\right), \quad
              V = \frac{(1 - s) C + s C'}{n} + \frac{C}{n'}, \quad
              se^2 = \mathrm{diag}\left(V + \frac{s (1 - s) d d^T}{n}\right),    \tag{1}

    since the test is studentised, and the test set's spread grows with the leak; found where

    .. math:: \max_j t_j > c, \quad P_0(\max_j t_j > c) = level    \tag{2}

    (of absolute values, two-sided). This forecast was within 0.07 of the simulated power of the real test for
    100 to 2,000 examples; with groups of 20 it was too high by up to 0.06 with 50 groups, 0.1 with 30, 0.2 with 20 and
    0.23 with 10.

    Parameters
    ----------
    scores : LeakScores
        Of a control, a pilot, or both sets of an audit: taken for examples nobody has seen.
    share : float
        Of the test set that was seen, in (0, 1].
    pull : float
        Of the way up that a seen example moves, in (0, 1].
    n_test, n_control : float
        Sizes for which power is asked; with groups, numbers of groups.
    classes, groups : (n,), optional
        Of the examples of `scores`. Whole groups are seen.
    level, alternative
        Of `leak_test`.
    tail : bool
        Whether the second statistic is there; without it this is the power of `control_test` on the scores.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.statistics import leak_power, leak_scores
    >>> rng = np.random.default_rng(0)
    >>> hard = rng.normal(size=4000)
    >>> scores = leak_scores(hard + rng.normal(size=4000), hard + rng.normal(size=(3, 4000)))
    >>> [round(leak_power(scores, share=s, pull=0.5, n_test=2000, n_control=2000), 2) for s in (0.01, 0.05, 0.1)]
    [0.1, 0.58, 0.98]
    """
    _check(share=share, pull=pull, level=level, n_test=n_test, n_control=n_control)
    check_alternative(alternative)
    if two_valued(scores):
        share, pull = share * pull, 1.0
    codes = None if groups is None else group_codes(groups, len(scores.scores))
    in_both, n_both = share * n_test / (n_test + n_control), n_test + n_control
    law = _law(scores, pull, in_both=in_both, n_both=n_both, classes=classes, groups=codes)
    change = (law.seen - law.unseen).mean(axis=1)
    C, C_seen = _covariance(law.unseen), _covariance(law.seen)
    of_test = ((1.0 - share) * C + share * C_seen) / n_test
    V = of_test + C / n_control
    error = np.sqrt(np.diag(V) + share * (1.0 - share) * change**2 / n_test)  # (1)
    varies = error > 1e-9 * np.abs(np.stack([law.unseen, law.seen])).max(axis=(0, 2), initial=0.0)
    varies[1] &= tail
    if not varies.any():
        return math.nan
    mean, sd = share * change[varies] / error[varies], np.sqrt(np.diag(V)[varies]) / error[varies]
    # Splits are drawn from both sets as they are, seen examples among them.
    pooled = (1.0 - in_both) * C + in_both * C_seen + in_both * (1.0 - in_both) * np.outer(change, change)
    critical = critical_value(_correlation(pooled) if varies.all() else None, level, alternative)
    lowest = -math.inf if alternative == "greater" else -critical
    if not varies.all():
        return 1.0 - float(ndtr((critical - mean[0]) / sd[0]) - ndtr((lowest - mean[0]) / sd[0]))
    return 1.0 - in_box(np.full(2, lowest), np.full(2, critical), mean, sd, _correlation(V))


def detectable_leak(
    scores: LeakScores,
    *,
    n_test: float,
    n_control: float,
    pulls: tuple[float, ...] = PULLS,
    power: float = POWER,
    classes: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    level: float = LEVEL,
    alternative: Alternative = ALTERNATIVE,
    tail: bool = True,
) -> tuple[DetectableLeak, ...]:
    """The smallest share of the test set that `leak_test` finds with this power, for each pull; NaN where none is.

    Parameters as in `leak_power`.

    Parameters
    ----------
    scores : LeakScores
        As in `leak_power`.
    n_test, n_control : float
        Sizes; with groups, numbers of groups.
    pulls : tuple of float
        Of the way up that a seen example moves.
    power : float
        The chance of a finding that is asked for.
    classes, groups, level, alternative, tail
        As in `leak_power`.

    Returns
    -------
    tuple of DetectableLeak
        One per pull.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> from heldout.statistics import detectable_leak, leak_scores
    >>> scores = leak_scores(rng.normal(size=1000))
    >>> [leak.pull for leak in detectable_leak(scores, n_test=500, n_control=500) if 0 < leak.share < 1]
    [0.25, 0.5, 1.0]
    """
    _check(power=power)

    def smallest(pull: float) -> float:
        def short(share: float) -> float:
            found = leak_power(
                scores,
                share=share,
                pull=pull,
                n_test=n_test,
                n_control=n_control,
                classes=classes,
                groups=groups,
                level=level,
                alternative=alternative,
                tail=tail,
            )
            return found - power

        # Power can fall again where nearly all are seen, since then the fit follows them: the first crossing is meant.
        low = 0.0
        for high in SHARES:
            if short(high) >= 0.0:
                return float(brentq(short, max(low, 1e-6), high, xtol=1e-5)) if short(max(low, 1e-6)) < 0.0 else high
            low = high
        return math.nan

    return tuple(DetectableLeak(pull, smallest(pull)) for pull in pulls)


def examples_needed(
    scores: LeakScores,
    *,
    share: float,
    pull: float,
    n_control: int | None = None,
    ratio: float = 1.0,
    power: float = POWER,
    classes: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    level: float = LEVEL,
    alternative: Alternative = ALTERNATIVE,
    tail: bool = True,
) -> int | None:
    """The fewest test examples (with groups: groups) with which `leak_test` has this power; None where no number has.

    Parameters
    ----------
    scores, share, pull, classes, groups, level, alternative, tail
        As in `leak_power`.
    power : float
        The chance of a finding that is asked for.
    n_control : int, optional
        Size of the control, whatever that of the test set. Without it the control grows along:
    ratio : float
        Control examples for each test example.

    Returns
    -------
    int or None
        As many test examples as it takes.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.statistics import examples_needed, leak_scores
    >>> scores = leak_scores(np.random.default_rng(0).normal(size=1000))
    >>> examples_needed(scores, share=0.3, pull=1.0) < examples_needed(scores, share=0.1, pull=1.0)
    True
    """
    _check(power=power, ratio=ratio)
    if n_control is not None:
        _check(n_control=n_control)

    def enough(n: int) -> bool:
        found = leak_power(
            scores,
            share=share,
            pull=pull,
            n_test=n,
            n_control=ratio * n if n_control is None else n_control,
            classes=classes,
            groups=groups,
            level=level,
            alternative=alternative,
            tail=tail,
        )
        return found >= power

    high = 2
    while not enough(high):
        if high >= MOST_EXAMPLES:
            return None
        high *= 2
    return first_where(enough, high // 2, high)


def effective_sizes(
    classes_test: ArrayLike,
    classes_control: ArrayLike,
    *,
    groups_test: ArrayLike | None = None,
    groups_control: ArrayLike | None = None,
) -> tuple[float, float]:
    r"""What two sets of several classes are worth in `control_test`: sizes with one class and the same standard error.

    .. math:: n = 1 / \sum_c \frac{w_c^2}{n_c}, \quad w_c \propto \frac{n_c n_c'}{n_c + n_c'},

    which is the number of examples (or groups) where the classes' shares are the same in both sets, and less elsewhere.

    Examples
    --------
    >>> effective_sizes([0] * 50 + [1] * 50, [0] * 20 + [1] * 20)
    (100.0, 40.0)
    >>> [round(n, 1) for n in effective_sizes([0] * 90 + [1] * 10, [0] * 10 + [1] * 90)]
    [36.0, 36.0]
    """
    classes = [np.asarray(classes_test), np.asarray(classes_control)]
    (own, other), _, _ = unit_strata(classes, groups_test, groups_control)
    shared = np.intersect1d(own, other)
    n, n_control = (np.array([(of == c).sum() for c in shared], dtype=np.float64) for of in (own, other))
    weights = n * n_control / (n + n_control)
    weights /= weights.sum()
    return float(1.0 / (weights**2 / n).sum()), float(1.0 / (weights**2 / n_control).sum())


def _check(**numbers: float) -> None:
    """Shares in (0, 1], chances in (0, 1), sizes positive."""
    for name, value in numbers.items():
        if name in ("share", "pull", "level", "power"):
            check_share(value, name, one=name in ("share", "pull"))
        if name in ("n_test", "n_control", "ratio") and not (math.isfinite(value) and value > 0.0):
            raise InputError(f"`{name}` is {value}; it must be a positive number.")


def two_valued(scores: LeakScores) -> bool:
    """Right or wrong, and nothing between."""
    return bool(((scores.scores == scores.scores.min()) | (scores.scores == scores.scores.max())).all())


def _law(
    scores: LeakScores,
    pull: float,
    *,
    in_both: float,
    n_both: float,
    classes: ArrayLike | None,
    groups: NDArray[np.intp] | None,
) -> _Law:
    """Statistics of unseen and seen units where a share `in_both` of the `n_both` of both sets together is seen."""
    x = scores.scores
    top = float(x.max()) if two_valued(scores) else float(np.quantile(x, TOP))
    moved = x + pull * np.maximum(top - x, 0.0)
    by = scores.expected if scores.n_references else np.zeros(len(x))
    expected = scores.expected + in_both * mean_in_bin(moved - x, by)
    spread = spread_of((1.0 - in_both) * (x - expected) ** 2 + in_both * (moved - expected) ** 2, by)
    gains = gains_of(_quantile(np.concatenate([x, moved]), np.repeat([1.0 - in_both, in_both], len(x))), expected)
    # A seen example stands in its own bin, of as few as 50: it raises what is expected of it, and the spread. Without
    # this the forecast for 2 % of 1,000, pulled all the way, was 0.50 where 0.34 were found.
    n_examples = n_both * (1.0 if groups is None else len(x) / (int(groups.max()) + 1))
    own = 1.0 / (n_examples / number_of_bins(n_examples) if scores.n_references else n_examples)
    expected_seen = expected + own * (moved - x)
    spread_seen = np.sqrt(spread**2 + own * np.maximum((moved - expected) ** 2 - (x - expected) ** 2, 0.0))

    def statistics(left: Floats, of: Floats) -> Floats:
        return np.stack([left, sparse_of(log_ratios_of(left, gains, of))])

    return _units(statistics(x - expected, spread), statistics(moved - expected_seen, spread_seen), classes, groups)


def _quantile(values: Floats, weights: Floats) -> float:
    """The TOP quantile of a weighted sample."""
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, TOP * total[-1])])


def _units(unseen: Floats, seen: Floats, classes: ArrayLike | None, code: NDArray[np.intp] | None) -> _Law:
    """One column for each independent unit, less the mean of the unseen ones of its class, as in `control_test`."""
    n = unseen.shape[1]
    own = np.zeros(n, dtype=np.intp) if classes is None else np.unique(np.asarray(classes), return_inverse=True)[1]
    own = np.asarray(own, dtype=np.intp).reshape(-1)
    if own.shape != (n,):
        raise InputError(f"`classes` has shape {own.shape}; give one class for each of the {n:,} examples.")
    if code is not None:
        lowest, highest = np.full(code.max() + 1, n), np.full(code.max() + 1, SEVERAL)
        np.minimum.at(lowest, code, own)
        np.maximum.at(highest, code, own)
        stratum = np.where(lowest == highest, lowest, own.max() + 1)
        mixed = (lowest != highest)[code]
        centre = np.zeros_like(unseen)
        if mixed.any():
            centre[:, mixed] = _class_means(unseen[:, mixed], own[mixed])
        unseen, seen = (np.stack([group_means(row, code) for row in rows - centre]) for rows in (unseen, seen))
        own = stratum
    centre = _class_means(unseen, own)
    return _Law(unseen=unseen - centre, seen=seen - centre)


def _class_means(rows: Floats, own: NDArray[np.intp]) -> Floats:
    """For every example the mean of its class, (rows, n)."""
    codes = np.unique(own, return_inverse=True)[1].reshape(-1)
    return np.stack([group_means(row, codes)[codes] for row in rows])


def _covariance(rows: Floats) -> Floats:
    return np.asarray(np.cov(rows)) if rows.shape[1] > 1 else np.full((2, 2), np.nan)


def _correlation(covariance: Floats) -> float:
    scale = math.sqrt(covariance[0, 0] * covariance[1, 1])
    return float(np.clip(covariance[0, 1] / scale, -MOST_CORRELATION, MOST_CORRELATION)) if scale > 0.0 else 0.0


def critical_value(correlation: float | None, level: float, alternative: Alternative) -> float:
    """c of (2); without a correlation that of one normal number."""
    low = float(-ndtri(level if alternative == "greater" else level / 2.0))
    if correlation is None:
        return low

    def excess(c: float) -> float:
        below = np.full(2, -np.inf if alternative == "greater" else -c)
        return 1.0 - in_box(below, np.full(2, c), np.zeros(2), np.ones(2), correlation) - level

    return float(brentq(excess, low - 1e-3, low + 2.0, xtol=1e-6))


def in_box(lower: Floats, upper: Floats, mean: Floats, sd: Floats, correlation: float) -> float:
    r"""Chance that two normal numbers lie in a box, by conditioning on the first:

    .. math:: \int_a^b \varphi(z) \left[\Phi\left(\frac{b' - \rho z}{\sqrt{1 - \rho^2}}\right)
              - \Phi\left(\frac{a' - \rho z}{\sqrt{1 - \rho^2}}\right)\right] dz    \tag{3}
    """
    (a, a2), (b, b2) = ((end - mean) / sd for end in (lower, upper))
    a, b = max(float(a), -9.0), min(float(b), 9.0)
    if b <= a:
        return 0.0
    nodes, weights = _gauss(200)
    z = (b - a) / 2.0 * nodes + (a + b) / 2.0
    rest = math.sqrt(1.0 - correlation**2)
    inside = ndtr((b2 - correlation * z) / rest) - ndtr((a2 - correlation * z) / rest)
    return float((b - a) / 2.0 * np.sum(weights * (np.exp(-(z**2) / 2.0) / math.sqrt(2.0 * math.pi)) * inside))  # (3)
