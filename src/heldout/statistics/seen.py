"""Which test examples look seen: their rank among the control's, and Benjamini and Hochberg's list."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.checks import check_share
from heldout.groups import group_codes, group_sizes
from heldout.results import Record
from heldout.statistics.checks import Floats
from heldout.statistics.homogeneity import homogeneity_p_value, sizes_differ
from heldout.statistics.permutation import SEVERAL, one_row_per_group, read_sets

Q = 0.1  # false discovery rate of the list
OTHER_MIX = 0.05  # level at which two sets are taken to differ in their mix of classes


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SeenExamples(Record):
    """Test examples in the order in which they look seen, and how many of them can be listed at the rate q.

    With groups the group is what is judged: all of its examples have its p, and are listed together.

    Attributes
    ----------
    p_values : (n_test,) float
        Of each example's rank among the control's.
    order, listed : int arrays
        All examples, most suspicious first, and those that can be listed.
    n_listed, n_groups_listed : int
        Examples that can be listed, the first so many of `order`; their groups, where groups were given.
    q, floor : float
        Rate of the list; the smallest p there is.
    fewest, n_compared : int
        Examples (or groups) in the shortest list that there can be; those that have a p.
    within_class : bool
        Whether examples are ranked among the control's of their class only.
    other_sizes : bool
        Groups have other sizes in one set than in the other, so that none can be ranked.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.statistics import seen_examples
    >>> found = seen_examples([9.0, 0.5, 8.0], np.arange(99) / 99.0)
    >>> found.n_listed, found.listed.tolist()
    (2, [0, 2])
    """

    unlisted = ("p_values", "order")
    derived = ("listed",)

    p_values: Floats  # (n_test,) NaN where the control has none of the class
    order: NDArray[np.intp]  # (n_test,) most suspicious first, those without a p last
    n_listed: int  # examples: the first so many of `order`
    q: float
    floor: float  # the smallest p there is; NaN where none is known
    fewest: int | None  # examples (or groups) in the shortest list that there can be; None where there can be none
    n_compared: int  # examples (or groups) that have a p
    within_class: bool  # ranked among the control's of its class only; else among all of the control
    other_sizes: bool = False  # groups have other sizes in one set than in the other, so that none can be ranked
    n_groups_listed: int | None = None  # where groups were given

    @property
    def listed(self) -> NDArray[np.intp]:
        """Positions of the listed examples in the test set, most suspicious first."""
        return self.order[: self.n_listed]


def seen_examples(
    log_ratios_test: ArrayLike,
    log_ratios_control: ArrayLike,
    *,
    classes_test: ArrayLike | None = None,
    classes_control: ArrayLike | None = None,
    groups_test: ArrayLike | None = None,
    groups_control: ArrayLike | None = None,
    within_class: bool | None = None,
    q: float = Q,
) -> SeenExamples:
    r"""Rank p-values of the test examples among the control's, and the list at the rate q.

    .. math:: p_i = \frac{1 + \#\{j \text{ in the control} : \ell_j \ge \ell_i\}}{n' + 1}    \tag{1}

    Among all of the control where both sets have about the same mix of classes, as two random parts of one source have;
    where they have not (a chi-squared test of the mixes at 0.05, which sees no score), among the control's examples of
    the same class. Ranks within 10 classes are ten times as coarse: on CIFAR-10 networks with 1,000 of 10,000 test
    pictures leaked they list nothing, ranks among all of the control 10 to 78 pictures, 8 % of them wrongly at most.

    Benjamini and Hochberg's list of them has a false discovery rate of at most q (Bates et al. 2023), also where the
    ratios come from a fit to both sets together, as they do, since unseen test examples and the control's enter it
    alike (Marandon et al. 2024). Groups count once, with their mean, as in `control_test`, and can be ranked only where
    they have the same law of sizes in both sets.

    No p is smaller than 1 / (n' + 1), so a small control allows no short list: with N test examples at
    least the smallest k with f_(k) <= k q / N, where f_i is the smallest p that example i can have.

    Parameters
    ----------
    log_ratios_test, log_ratios_control : (n,), (n_control,)
        Larger looks more seen (`LeakScores.log_ratios`).
    classes_test, classes_control, groups_test, groups_control
        As in `control_test`.
    within_class : bool, optional
        Rank within class, or not, whatever the mixes are.
    q : float
        False discovery rate of the list.

    Returns
    -------
    SeenExamples
        P-values and the list.

    References
    ----------
    Bates, Candès, Lei, Romano, Sesia (2023). Testing for outliers with conformal p-values. Annals of Statistics 51(1).
    Marandon, Lei, Mary, Roquain (2024). Adaptive novelty detection with false discovery rate guarantee. Annals of
    Statistics 52(1).

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.statistics import seen_examples
    >>> found = seen_examples([9.0, 0.5, 8.0], np.arange(99) / 99.0)
    >>> found.p_values.round(2).tolist(), found.listed.tolist(), found.fewest
    ([0.01, 0.5, 0.01], [0, 2], 1)
    """
    check_share(q, "q")
    rows = np.asarray(log_ratios_test)[None], np.asarray(log_ratios_control)[None]
    sets = read_sets(rows[0], rows[1], classes_test, classes_control)
    n_test = len(sets[0][1])
    units, grouped, _ = one_row_per_group(sets, groups_test, groups_control)
    (test, strata), (control, strata_control) = ((values[0], own) for values, own in units)
    alone = ~np.isin(strata, strata_control)
    # Groups of several classes have values less their class's mean, so that only their like compare with them.
    mixed = bool((strata == SEVERAL).any())
    if within_class is None or mixed:
        within_class = mixed or _mixes_differ(strata[~alone], strata_control)
    if not within_class:
        strata, strata_control = np.where(alone, 1, 0), np.zeros(len(control), dtype=np.intp)
    p, floors = np.full(len(test), np.nan), np.full(len(test), np.nan)
    # A mean of many examples has less spread than one of few: single examples among means of ten were listed wrongly in
    # all but every test set.
    other_sizes = grouped and sizes_differ(groups_test, groups_control, n_test, len(sets[1][1]))
    if other_sizes:
        strata, strata_control = np.ones(len(test), dtype=np.intp), np.zeros(len(control), dtype=np.intp)
    for stratum in np.intersect1d(strata, strata_control):
        mine, theirs = strata == stratum, np.sort(control[strata_control == stratum])
        as_large = len(theirs) - np.searchsorted(theirs, test[mine], side="left")
        p[mine] = (1.0 + as_large) / (len(theirs) + 1.0)  # (1)
        floors[mine] = 1.0 / (len(theirs) + 1.0)
    known = ~np.isnan(p)
    n_units = int(known.sum())
    n_units_listed = benjamini_hochberg(p[known], q)
    reachable = np.sort(floors[known]) <= _steps(n_units, q)
    codes = group_codes(groups_test, n_test) if grouped and groups_test is not None else np.arange(n_test)
    place = np.empty(len(test), dtype=np.intp)
    ranked = np.lexsort((-test, p))  # NaN last
    place[ranked] = np.arange(len(test))
    return SeenExamples(
        p_values=p[codes],
        order=np.argsort(place[codes], kind="stable"),
        n_listed=int(group_sizes(codes)[ranked[:n_units_listed]].sum()),
        q=q,
        floor=float(floors[known].min()) if n_units else math.nan,
        fewest=int(np.argmax(reachable)) + 1 if reachable.any() else None,
        n_compared=n_units,
        within_class=within_class,
        other_sizes=other_sizes,
        n_groups_listed=n_units_listed if grouped else None,
    )


def _mixes_differ(strata: NDArray[Any], strata_control: NDArray[Any]) -> bool:
    """Whether classes have other shares in one set than in the other, beyond chance."""
    classes = np.unique(np.concatenate([strata, strata_control]))
    if len(classes) < 2 or not len(strata):
        return False
    counts = [[int((of == c).sum()) for c in classes] for of in (strata, strata_control)]
    return homogeneity_p_value(counts) <= OTHER_MIX


def benjamini_hochberg(p_values: ArrayLike, q: float) -> int:
    """How many of the smallest p-values are listed: the largest k with p_(k) <= k q / N (Benjamini and Hochberg 1995).

    Parameters
    ----------
    p_values : (n,)
        In any order.
    q : float
        False discovery rate.

    Returns
    -------
    int
        From 0 to n.

    Examples
    --------
    >>> from heldout.statistics import benjamini_hochberg
    >>> benjamini_hochberg([0.01, 0.9, 0.02, 0.075], 0.1)
    3
    """
    p = np.sort(np.asarray(p_values, dtype=np.float64))
    below = np.flatnonzero(p <= _steps(len(p), q))
    return int(below[-1]) + 1 if len(below) else 0


def _steps(n: int, q: float) -> Floats:
    """k q / n for k = 1 to n, with room for rounding: 3 * 0.1 is not 0.3."""
    return np.arange(1, n + 1) * q / max(n, 1) * (1.0 + 1e-12)
