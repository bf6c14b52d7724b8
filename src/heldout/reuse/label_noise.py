r"""What wrong labels do to a leaderboard and to its budget.

Let a share :math:`\rho` of the labels be wrong. A model with true error e has the observed error e'.

**At random**: which labels are wrong has nothing to do with the models, and a wrong label is any of the m - 1 others.
On a wrong label a right answer counts as wrong, and a wrong one as right with probability 1 / (m - 1), so

.. math:: e' = (1 - \rho)\, e + \rho \left(1 - \frac{e}{m - 1}\right) = \rho + f e, \qquad
          f = 1 - \rho\left(1 + \frac{1}{m - 1}\right),    \tag{1}

1 / (m - 1) being its mean over examples where these have different numbers of options, and 0 for answers so free that a
wrong one never meets a wrong label. All errors move up and all differences
shrink by the factor f: the order stays, tests of equality stay valid and lose power, and an error bar of epsilon on
true errors is one of f epsilon on observed ones.

**In the worst case** the wrong labels stand where they do most harm. A true error is anywhere within rho of the
observed one (within n rho over the number of its answers, where some are missing). Of b examples that only the first
of two models gets right, each wrong label can hand one to the second (its answer was the right one): (b, c) becomes
(b - t, c + t), t = min(b, n rho). Nothing harms the first more: an example that both get wrong gives the second one
example for each label, not two. So a lead of b - c examples is safe from a share of

.. math:: \rho < (b - c) / (2 n)    \tag{2}

wrong labels, and a comparison survives if it is significant at (b - t, c + t). Where answers are missing n is still the
number of all labels: every wrong one may stand on an example that both models have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.files import read_npy, read_table
from heldout.groups import group_codes
from heldout.predictions import Predictions
from heldout.predictions.values import plain
from heldout.reuse.adjusted import chance_of_wrong, n_classes
from heldout.reuse.grouped import GroupedPool, Grouping, group_moments
from heldout.reuse.leaderboard import MOST_RANKED, PairTests
from heldout.reuse.similarity import SimilarityResult, similarity
from heldout.statistics import clopper_pearson
from heldout.statistics.binomial import sign_test_log_pvalues
from heldout.statistics.grouped import korn_graubard
from heldout.statistics.stepdown import holm_level

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class LabelNoise:
    """How leaderboard and budget move if a stated share of labels is wrong.

    Parameters
    ----------
    share : float
        The share rho that was stated.
    n_wrong : int
        Labels that makes.
    n_classes : int or None
        Classes m behind `factor`; None for free answers, and where a column tells each example's number of options.
    factor : float
        f of (1).
    true_errors : tuple of float
        (e' - rho) / f of every model, were labels wrong at random; below 0 where the model has fewer errors than there
        are wrong labels.
    too_good : tuple of str
        Those models: for them labels are not wrong at random, or fewer are wrong.
    error_bar, error_bar_random, error_bar_worst : float
        That holds for all models at once: on observed errors, and on true ones.
    epsilon : float
        Error bar asked for further models.
    models, models_random, models_worst : int
        Models that fit at epsilon: on observed errors, and on true ones.
    n_pairs : int
        Pairs of models.
    n_significant, n_significant_worst : int or None
        Told apart by observed labels; and wherever the wrong labels are. None for groups of examples and large pools.
    first_safe_below : float
        Share of wrong labels below which the first of the leaderboard keeps its lead over the second (2).
    """

    share: float
    n_wrong: int
    n_classes: int | None
    factor: float
    true_errors: tuple[float, ...]
    too_good: tuple[str, ...]
    error_bar: float
    error_bar_random: float
    error_bar_worst: float
    epsilon: float
    models: int
    models_random: int
    models_worst: int
    n_pairs: int
    n_significant: int | None
    n_significant_worst: int | None
    first_safe_below: float


@dataclass(frozen=True, kw_only=True)
class SecondLabels:
    """The leaderboard by a second set of labels, beside the first.

    Parameters
    ----------
    source : str
        Where they come from.
    n_examples, n_changed : int
        Examples that have a second label, and those where it differs.
    share, low, high : float
        Of labels that differ, with its interval at 1 - level.
    errors, second_errors : tuple of float
        Of every model on these examples, by the first and by the second labels.
    ranks, second_ranks : tuple of int
        Places on both leaderboards.
    kendall : float
        Kendall's tau-b of the two orders; NaN where one has no order.
    n_pairs, n_significant, n_second, n_both, n_turned : int
        Pairs; those told apart by the first labels, by the second, by both the same way, and by both in opposite ways.
        Whole groups are the unit where examples come in groups.
    level : float
        Of the interval, and family-wise of the comparisons.
    """

    source: str
    n_examples: int
    n_changed: int
    share: float
    low: float
    high: float
    errors: tuple[float, ...]
    second_errors: tuple[float, ...]
    ranks: tuple[int, ...]
    second_ranks: tuple[int, ...]
    kendall: float
    n_pairs: int
    n_significant: int
    n_second: int
    n_both: int
    n_turned: int
    level: float = 0.05


def noise_factor(share: float, chance: float) -> float:
    """f of (1): by how much differences between true errors shrink; `chance` is the mean of 1 / (m - 1).

    Examples
    --------
    >>> noise_factor(0.03, 1), round(noise_factor(0.03, 1 / 9), 6), noise_factor(0.03, 0)
    (0.94, 0.966667, 0.97)
    """
    if not 0 < share * (1 + chance) < 1:
        most = "1" if chance == 0 else f"{1 / (1 + chance):.3g}, where labels say nothing any more"
        raise InputError(f"`label_noise` is {share:g}; a share above 0 and below {most} is needed.")
    return 1 - share * (1 + chance)


def label_noise(
    table: Predictions,
    counts: SimilarityResult,
    share: float,
    *,
    order: NDArray[np.intp],
    error_bar: float,
    epsilon: float,
    delta: float,
    fits: Callable[[float], int],
    grouped: bool,
) -> LabelNoise:
    """What a stated share of wrong labels does.

    Parameters
    ----------
    fits : function
        From an error bar on observed errors to how many models can have it.
    grouped : bool
        Examples come in groups: pairs are then not tested again.
    """
    factor = noise_factor(share, chance_of_wrong(table))
    most_of_one = min(1.0, share * counts.n_examples / max(1, int(counts.observed.min())))  # of a model's own labels
    errors = counts.errors
    first, second = int(order[0]), int(order[1])
    _, first_only_wrong, second_only_wrong, _ = counts.counts(first, second)
    lead = max(0, second_only_wrong - first_only_wrong)
    tested = not grouped and counts.n_models <= MOST_RANKED
    before, after = _survivors(counts, share, delta) if tested else (None, None)
    return LabelNoise(
        share=share,
        n_wrong=math.floor(share * counts.n_examples + 1e-9),
        n_classes=None if "n_options" in table.columns else n_classes(table),
        factor=factor,
        true_errors=tuple(((errors - share) / factor).tolist()),  # (1)
        too_good=tuple(name for name, e in zip(counts.names, errors.tolist(), strict=True) if e < share),
        error_bar=error_bar,
        error_bar_random=error_bar / factor,
        error_bar_worst=error_bar + most_of_one,
        epsilon=epsilon,
        models=fits(epsilon),
        models_random=fits(factor * epsilon),
        models_worst=fits(epsilon - most_of_one) if epsilon > most_of_one else 0,
        n_pairs=counts.n_pairs,
        n_significant=before,
        n_significant_worst=after,
        first_safe_below=lead / (2 * counts.n_examples),  # (2)
    )


def _survivors(counts: SimilarityResult, share: float, delta: float) -> tuple[int, int]:
    """Pairs told apart, and pairs told apart wherever the wrong labels are; both by Holm's procedure."""
    plain, worst = np.zeros(counts.n_pairs), np.zeros(counts.n_pairs)
    n_wrong = math.floor(share * counts.n_examples + 1e-9)
    for row in counts.rows():
        b, c = row.second_wrong - row.both_wrong, row.first_wrong - row.both_wrong  # only the first, the second right
        more, fewer = np.maximum(b, c), np.minimum(b, c)
        moved = np.minimum(more, n_wrong)
        plain[row.pairs] = sign_test_log_pvalues(more, fewer)
        left = more - moved > fewer + moved
        worst[row.pairs] = np.where(left, sign_test_log_pvalues(more - moved, fewer + moved), 0.0)
    return tuple(int(np.count_nonzero(p <= math.log(holm_level(p, delta)))) for p in (plain, worst))  # type: ignore[return-value]


def second_labels(
    table: Predictions, labels: NDArray[Any], *, source: str, delta: float, grouping: Grouping | None = None
) -> SecondLabels:
    """Every model scored again by other labels, on the examples that have one."""
    if table.predictions is None or table.labels is None:
        raise InputError("`second_labels` need answers to score again; this table knows right and wrong only.")
    there = np.array([not _gap(value) for value in labels.tolist()])
    if not there.any():
        raise InputError(f"`second_labels`: {source} has no label for any example.")
    first = table.examples(there)
    assert first.predictions is not None
    assert first.labels is not None
    second = labels[there]
    if first.labels.dtype.kind in "iu":
        try:
            second = np.array([int(value) for value in second.tolist()])
        except (TypeError, ValueError) as error:
            raise InputError(f"`second_labels`: {source} holds a label that is no class number ({error}).") from error
    else:
        second = np.array([str(value) for value in second.tolist()])
    known = set(np.unique(first.labels).tolist()) | set(np.unique(first.predictions).tolist())
    unknown = sorted({value for value in second.tolist() if value not in known}, key=str)
    if len(unknown) == len(set(second.tolist())):
        raise InputError(
            f"`second_labels`: {source} holds {unknown[:3]}, none of which is a label or an answer of the table."
        )
    _check_numbering(first.labels, second, source)
    again = Predictions.from_arrays(
        first.predictions, second, names=first.names, observed=first.observed, classes="any"
    )
    by_first, by_second = similarity(first), similarity(again)
    n = len(second)
    differs = first.labels != second
    groups = None if grouping is None else _of_some(grouping, there, source)
    low, high = _share_interval(differs, groups, delta)
    told = [_told(part, counts, delta, groups) for part, counts in ((first, by_first), (again, by_second))]
    ranks = [
        np.argsort(np.argsort(counts.errors, kind="stable"), kind="stable") + 1 for counts in (by_first, by_second)
    ]
    return SecondLabels(
        source=source,
        n_examples=n,
        n_changed=int(np.count_nonzero(differs)),
        share=float(differs.mean()),
        low=low,
        high=high,
        errors=tuple(by_first.errors.tolist()),
        second_errors=tuple(by_second.errors.tolist()),
        ranks=tuple(ranks[0].tolist()),
        second_ranks=tuple(ranks[1].tolist()),
        kendall=_kendall(by_first.errors, by_second.errors),
        n_pairs=by_first.n_pairs,
        n_significant=int(np.count_nonzero(told[0])),
        n_second=int(np.count_nonzero(told[1])),
        n_both=int(np.count_nonzero((told[0] == told[1]) & (told[0] != 0))),
        n_turned=int(np.count_nonzero((told[0] == -told[1]) & (told[0] != 0))),
        level=delta,
    )


def _check_numbering(first: NDArray[Any], second: NDArray[Any], source: str) -> None:
    """Labels of the same examples agree on some, and not on most of them once all are one number off.

    That no model predicts a class is no sign of it: a second look may find one.
    """
    same = int(np.count_nonzero(first == second))
    if first.dtype.kind in "iu":
        for shift in (1, -1):
            moved = int(np.count_nonzero(first == second - shift))
            if moved > max(same, len(first) / 2):
                raise InputError(
                    f"`second_labels`: {source} has the label of the table on {same:,} of {len(first):,} examples, and "
                    f"on {moved:,} with 1 {'taken off' if shift > 0 else 'added'}, so that one of the two "
                    "seems to count classes from 0 and the other from 1; renumber one of them."
                )
    if not same:
        raise InputError(
            f"`second_labels`: {source} has another label than the table on every one of {len(first):,} examples (such "
            f"as {plain(second[0])!r} for {plain(first[0])!r}); name classes as the table does, and give labels of all "
            "examples if these are of those alone that were corrected."
        )


def _of_some(grouping: Grouping, there: NDArray[np.bool_], source: str) -> Grouping | None:
    """The groups of some of the examples; None where each of them stands alone."""
    codes = group_codes(grouping.codes[there], int(there.sum()))
    if len(codes) > 1 and int(codes.max()) == 0:
        raise InputError(
            f"`second_labels`: all examples that {source} has a label for are in one group, so that "
            "nothing is left to compare."
        )
    return None if int(codes.max()) + 1 == len(codes) else replace(grouping, codes=codes)


def _share_interval(differs: NDArray[np.bool_], groups: Grouping | None, level: float) -> tuple[float, float]:
    """Of the share of labels that differ: Clopper and Pearson's, or Korn and Graubard's over whole groups."""
    if groups is None:
        return clopper_pearson(int(np.count_nonzero(differs)), len(differs), level=level)
    sizes, sums = np.bincount(groups.codes), np.bincount(groups.codes, differs)
    m = group_moments(sums[None].astype(np.float64), sizes[None].astype(np.float64), sums[None].sum(axis=-1))
    times, df = m.spread(m.correlation())
    ends = korn_graubard(m.total / m.n, m.n / times, df, level)
    return float(ends[0][0]), float(ends[1][0])


def _told(table: Predictions, counts: SimilarityResult, delta: float, groups: Grouping | None) -> NDArray[np.int64]:
    """(pairs,) 1 where the first is better, -1 where the second is, 0 where they are not told apart."""
    tests = PairTests(counts, delta, None if groups is None else GroupedPool(table, counts, groups))
    sign = np.zeros(counts.n_pairs, dtype=np.int64)
    for row in counts.rows():
        sign[row.pairs] = np.sign(row.second_wrong - row.first_wrong)  # what both get wrong drops out
    return np.where(tests.log_p <= math.log(tests.level), sign, 0)


def _kendall(first: Floats, second: Floats) -> float:
    from scipy.stats import kendalltau

    return float(kendalltau(first, second).statistic) if len(first) > 1 else math.nan


def _gap(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def find_second_labels(spec: str, table: Predictions) -> NDArray[Any]:
    """What `--second-labels SPEC` means: a column of the table, a .npy file in its order, or a CSV file id,label."""
    if spec in table.columns:
        return np.asarray(table.columns[spec], dtype=object)
    path = Path(spec)
    if not path.is_file():
        known = ", ".join(sorted(table.columns)) or "none"
        raise InputError(f"the second labels {spec!r} are neither a file nor a column of the table (it has {known}).")
    if path.suffix == ".npy":
        labels = read_npy(path)
        if labels.shape != (table.n_examples,):
            raise InputError(
                f"{path} has the shape {labels.shape}; one label for each of the {table.n_examples:,} examples is "
                "needed."
            )
        return np.asarray(labels, dtype=object)
    _, rows = read_table(path, what="the second labels in", example="id,label")
    given = {name: label for name, label, *_ in rows}
    ids = table.ids if table.ids is not None else tuple(str(i) for i in range(table.n_examples))
    if not any(name in given for name in ids):
        raise InputError(f"{path} names none of the table's examples, which are called {', '.join(ids[:3])}, ...")
    return np.array([given.get(name) for name in ids], dtype=object)
