"""The leak test: test set against control on a score of any kind, less what other models lead one to expect."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

from heldout.errors import InputError
from heldout.results import Record
from heldout.statistics.checks import Alternative, Floats
from heldout.statistics.homogeneity import sizes_differ
from heldout.statistics.permutation import ControlTestResult, ControlTestsResult, control_tests

Method = Literal["regression", "mean"]

MARGIN_CLIP = (-5.0, 10.0)  # of a log-odds margin: beyond, a model is sure, and how sure is noise
N_BINS, BIN_SIZE = 40, 50  # of examples that are expected alike: at most so many bins, of at least so many examples
FLOOR = 0.25  # of the spread in a bin, as a share of the spread over all
TOP = 0.95  # quantile of the scores to which an example moves that was learned by heart
PULL = 0.25  # share of the way to it that a seen example is taken to move
SHARE = 0.1  # of the test set that is taken to be seen
ALTERNATIVE: Alternative = "greater"  # unless declared otherwise: a leak makes a test set easier, never harder
MOST_LOG_RATIO = 50.0  # keeps exp finite; examples beyond are certain anyway


@dataclass(frozen=True, kw_only=True)
class LeakScores:
    """Scores of both sets together, what was to be expected of them, and how far each looks seen.

    PULL, SHARE and the bins were chosen on CIFAR-10 networks that trained on 0 to 3,000 of their test pictures
    (experiments/leaks), and confirmed on networks trained afterwards, on the same pictures. Any choice gives an exact
    test; these saw more than the mean residual did, at every leak of 100 pictures or more.

    Attributes
    ----------
    scores, expected, spread : (n,) float
        Scores (clipped, larger is better), what the references lead one to expect, and how far scores lie around it.
    n_references, method
        References, and how they were made use of.
    variance_removed : float
        Share of the variance within class that the references take off.

    Examples
    --------
    >>> from heldout.statistics import leak_scores
    >>> found = leak_scores([1.0, 2.0, 3.0, 6.0])
    >>> found.expected.tolist(), found.residuals.tolist()
    ([3.0, 3.0, 3.0, 3.0], [-2.0, -1.0, 0.0, 3.0])
    """

    scores: Floats  # (n,) larger is better; clipped
    expected: Floats  # (n,) from the references
    spread: Floats  # (n,) of scores around what is expected, among examples expected alike
    n_references: int
    method: Method
    variance_removed: float  # share of the variance within class that the references take off

    @property
    def residuals(self) -> Floats:
        """Scores less what was expected of them."""
        return self.scores - self.expected

    @cached_property
    def gains(self) -> Floats:
        """By how much each score would rise, were the example seen: PULL of the way up to the quantile TOP."""
        return gains_of(float(np.quantile(self.scores, TOP)), self.expected)

    @property
    def log_ratios(self) -> Floats:
        r"""How much likelier a score is if its example was seen, for a normal residual whose mean rises by the gain g:

        .. math:: \ell = \frac{g r}{s^2} - \frac{g^2}{2 s^2}    \tag{1}
        """
        return log_ratios_of(self.residuals, self.gains, self.spread)

    @property
    def sparse(self) -> Floats:
        r"""The likelihood ratio of a test set of which a share was seen, one term per example:

        .. math:: \log(1 + \varepsilon (e^\ell - 1)), \quad \varepsilon = 0.1    \tag{2}

        Examples far above what was expected count; the others hardly do, so that a few seen ones stand out.
        """
        return sparse_of(self.log_ratios)


def gains_of(top: float, expected: Floats) -> Floats:
    """`LeakScores.gains` for a given quantile of the scores."""
    return np.asarray(PULL * np.maximum(top - expected, 0.0))


def log_ratios_of(residuals: Floats, gains: Floats, spread: Floats) -> Floats:
    """`LeakScores.log_ratios`; 0 where there is no spread."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = (gains * residuals - gains**2 / 2.0) / spread**2  # (1)
    return np.where(spread > 0.0, np.minimum(ratios, MOST_LOG_RATIO), 0.0)


def sparse_of(log_ratios: Floats) -> Floats:
    """`LeakScores.sparse`."""
    return np.asarray(np.log1p(SHARE * np.expm1(log_ratios)))  # (2)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LeakTestResult(Record):
    """Test set against control on residual scores: their mean, their upper tail, and both together.

    Attributes
    ----------
    mean, sparse : ControlTestResult
        The test of the mean residual, and the one for a few examples far above what was expected.
    p_value, p_greater, p_two_sided : float
        Of both together, for the declared alternative and for each.
    tail_counts : bool
        Whether the second test has a say: not where groups have other sizes in one set than in the other.
    n_references, method
        References, and how they were made use of.
    variance_removed : float
        Share of the variance within class that the references take off.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.statistics import leak_test
    >>> rng = np.random.default_rng(0)
    >>> found = leak_test(rng.normal(1, 1, 200), rng.normal(0, 1, 200), rng=rng, n_resamples=999)
    >>> found.p_value, found.n_references
    (0.001, 0)
    """

    derived = ("p_value", "alternative")

    mean: ControlTestResult  # residuals, in the unit of the scores
    sparse: ControlTestResult  # (2), which sees a few examples far above what was expected
    p_greater: float  # of the smaller of their p-values, under the same permutations; or the mean's alone
    p_two_sided: float
    tail_counts: bool  # not where groups have other sizes in one set than in the other
    n_references: int
    method: Method
    variance_removed: float  # share of the variance within class; NaN where the scores have none

    @property
    def alternative(self) -> Alternative:
        """Declared before the data."""
        return self.mean.alternative

    @property
    def p_value(self) -> float:
        """The combined p-value of the declared alternative."""
        return self.p_greater if self.alternative == "greater" else self.p_two_sided

    @property
    def spoke(self) -> ControlTestResult:
        """The one with the smaller p-value, if both count."""
        if not self.tail_counts:
            return self.mean
        return min(self.mean, self.sparse, key=lambda test: test.p_value)

    @property
    def disagree(self) -> bool:
        """Whether the two, if both count, point in opposite directions."""
        return self.tail_counts and self.mean.difference * self.sparse.difference < 0

    def __str__(self) -> str:
        low, high = self.mean.interval
        side = "one-sided" if self.alternative == "greater" else self.alternative
        return (
            f"residual, test minus control {self.mean.difference:+.4f} (95 % {low:+.4f} to {high:+.4f}); "
            f"p = {self.p_value:.2g} ({side}; mean {self.mean.p_value:.2g}, tail {self.sparse.p_value:.2g})"
        )


def leak_scores(
    scores: ArrayLike,
    references: ArrayLike | None = None,
    *,
    classes: ArrayLike | None = None,
    clip: tuple[float, float] | None = None,
    method: Method = "regression",
) -> LeakScores:
    r"""What references lead one to expect of each score, and how far the scores are spread around it.

    Expected is the regression of the scores on the references', or the references' mean, plus the mean of what is left
    in each of up to 40 bins of examples that are expected alike; the spread is that in the bin. All of it is fitted on
    both sets together and does not know which example is in which, so that a permutation test of it is exact.

    No reference has a negative weight in the regression (non-negative least squares). Plain least squares gives one to
    a reference that shares more of its errors with the others than with the model, and what such a reference knows of
    the test set would then count for the model: 49 % false alarms at 0.05 where it knew a tenth, 4 % so.

    Parameters
    ----------
    scores : (n,)
        Of the model, larger is better: test set and control together.
    references : (k, n), optional
        Of models that cannot have seen more of the test set than of the control. Without any, the mean is expected.
    classes : (n,), optional
        For `variance_removed` only.
    clip : (low, high), optional
        Applied to all scores before anything else.
    method : {"regression", "mean"}
        What is expected: the regression on the references' scores, or their mean.

    Returns
    -------
    LeakScores
        Of both sets together.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.statistics import leak_scores
    >>> rng = np.random.default_rng(0)
    >>> hard = rng.normal(size=2000)
    >>> found = leak_scores(hard + 0.5 * rng.normal(size=2000), hard + 0.5 * rng.normal(size=(3, 2000)))
    >>> round(found.variance_removed, 2)  # 1 - (0.25 + 0.25 / 3) / 1.25 is 0.73
    0.73
    """
    if method not in get_args(Method):
        raise InputError(f"`method` is {method!r}; it must be 'regression' or 'mean'.")
    x = _checked(scores, "scores")
    others = np.empty((0, len(x))) if references is None else np.asarray(references, dtype=np.float64)
    if others.ndim != 2 or others.shape[1] != len(x) or not np.isfinite(others).all():
        raise InputError(
            f"`references` has shape {others.shape}; it must be (references, {len(x)}), with one finite score for each "
            "example."
        )
    if clip is not None:
        x, others = np.clip(x, *clip), np.clip(others, *clip)
    expected, n_weights = np.full(len(x), x.mean()), 0
    if len(others):
        fitted = others.mean(axis=0)
        if method == "regression":
            centred = others - others.mean(axis=1, keepdims=True)
            weights = nnls(centred.T, x - x.mean())[0]
            fitted, n_weights = x.mean() + weights @ centred, int((weights > 0.0).sum())
        expected = fitted + mean_in_bin(x - fitted, fitted)
    left = x - expected
    spread = spread_of(left**2, expected if len(others) else np.zeros(len(x)))
    return LeakScores(
        scores=x,
        expected=expected,
        spread=spread,
        n_references=len(others),
        method=method,
        variance_removed=_variance_removed(x, left, classes, n_weights + number_of_bins(len(x)))
        if len(others)
        else 0.0,
    )


def leak_test(
    scores_test: ArrayLike,
    scores_control: ArrayLike,
    *,
    references_test: ArrayLike | None = None,
    references_control: ArrayLike | None = None,
    classes_test: ArrayLike | None = None,
    classes_control: ArrayLike | None = None,
    groups_test: ArrayLike | None = None,
    groups_control: ArrayLike | None = None,
    clip: tuple[float, float] | None = None,
    method: Method = "regression",
    alternative: Alternative = ALTERNATIVE,
    rng: np.random.Generator,
    n_resamples: int = 9999,
    n_jobs: int = 1,
) -> LeakTestResult:
    """Permutation test that a model's scores have the same law on test set and control, within each class.

    Two statistics, both of scores less what the references lead one to expect: the mean, and one for a few seen
    examples (`LeakScores.sparse`). Their p-values are combined by the smallest, under the same permutations. What the
    second one brings and costs, as the share of 200 simulated leaks found at 0.05 (three references; normal scores, and
    in brackets skewed ones with heavy tails, clipped):

    ========================================  ===========  ===========  ===========
    leak                                      mean alone   tail alone   together
    ========================================  ===========  ===========  ===========
    1 % of 4,000, all the way up              0.18 (0.14)  0.70 (0.36)  0.54 (0.28)
    3 % of 1,000, all the way up              0.38 (0.34)  0.72 (0.48)  0.64 (0.46)
    3 % of 2,000, half the way                0.24 (0.25)  0.38 (0.46)  0.36 (0.45)
    10 % of 2,000, a quarter of the way       0.55 (0.51)  0.52 (0.66)  0.54 (0.70)
    30 % of 300, a quarter of the way         0.62 (0.52)  0.60 (0.63)  0.62 (0.66)
    all of 2,000, up by 0.06 sd               0.84 (0.90)  0.62 (0.14)  0.81 (0.86)
    ========================================  ===========  ===========  ===========

    Exact as `control_test` is: if examples (or groups) are independent and, given the class, test and control examples,
    together with what the references say of them, have the same law. References that know the test set themselves hide
    a leak; they did not make one up in any simulation. References that know the *control* do: one of three that knew
    30 % of it gave 36 % false alarms at 0.05, one-sided.

    With groups, group means have the same law only where sizes have. Where they have not (a chi-squared test of the
    sizes, which sees no score) the mean counts alone: studentised it held its level (0.04 to 0.05), but the tail gave
    16 % false alarms at 0.05 for 30 groups of 30 against 200 single examples.

    Parameters
    ----------
    scores_test, scores_control : (n,), (n_control,)
        Larger is better.
    references_test, references_control : (k, n), (k, n_control), optional
        Of models that cannot have seen more of the test set than of the control.
    clip, method
        As in `leak_scores`.
    classes_test, classes_control, groups_test, groups_control, alternative, rng, n_resamples, n_jobs
        As in `control_test`.

    Returns
    -------
    LeakTestResult
        Both statistics, and the p-value of both together.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.statistics import leak_test
    >>> rng = np.random.default_rng(0)
    >>> hard = rng.normal(size=4000)
    >>> model, others = hard + rng.normal(size=4000), hard + rng.normal(size=(3, 4000))
    >>> model[:200] += 4.0  # a tenth of the test set, the first 2,000, was learned by heart
    >>> found = leak_test(model[:2000], model[2000:], references_test=others[:, :2000],
    ...                   references_control=others[:, 2000:], n_resamples=999, rng=rng)
    >>> found.p_value, found.mean.p_value, found.sparse.p_value
    (0.001, 0.001, 0.001)
    """
    scores, references, classes, n_test = both_sets(
        scores_test, scores_control, references_test, references_control, classes_test, classes_control
    )
    both = leak_scores(scores, references, classes=classes, clip=clip, method=method)
    return leak_test_of(
        both,
        n_test,
        classes_test=classes_test,
        classes_control=classes_control,
        groups_test=groups_test,
        groups_control=groups_control,
        alternative=alternative,
        rng=rng,
        n_resamples=n_resamples,
        n_jobs=n_jobs,
    )


def leak_test_of(both: LeakScores, n_test: int, **options: Any) -> LeakTestResult:
    """`leak_test` where the scores of both sets, the test set's first, are already weighed."""
    statistics = np.stack([both.residuals, both.sparse])
    found: ControlTestsResult = control_tests(statistics[:, :n_test], statistics[:, n_test:], **options)
    counts = not sizes_differ(
        options.get("groups_test"), options.get("groups_control"), n_test, len(both.scores) - n_test
    )
    return LeakTestResult(
        mean=found.each[0],
        sparse=found.each[1],
        p_greater=found.p_greater if counts else found.each[0].p_greater,
        p_two_sided=found.p_two_sided if counts else found.each[0].p_two_sided,
        tail_counts=counts,
        n_references=both.n_references,
        method=both.method,
        variance_removed=both.variance_removed,
    )


def _checked(values: ArrayLike, name: str) -> Floats:
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or x.size == 0 or not np.isfinite(x).all():
        raise InputError(f"`{name}` must be a non-empty row of finite numbers; its shape is {x.shape}.")
    return x


def both_sets(
    scores_test: ArrayLike,
    scores_control: ArrayLike,
    references_test: ArrayLike | None,
    references_control: ArrayLike | None,
    classes_test: ArrayLike | None,
    classes_control: ArrayLike | None,
) -> tuple[Floats, Floats | None, NDArray[Any] | None, int]:
    """Scores, references and classes of both sets together, the test set's first, and how many those are."""
    test, control = _checked(scores_test, "scores_test"), _checked(scores_control, "scores_control")
    if (references_test is None) != (references_control is None):
        raise InputError("give the references' scores on both sets or on neither.")
    references = None
    if references_test is not None and references_control is not None:
        references = _joined(references_test, references_control, len(test), len(control))
    classes = None
    if classes_test is not None and classes_control is not None:
        classes = np.concatenate([np.asarray(classes_test), np.asarray(classes_control)])
    return np.concatenate([test, control]), references, classes, len(test)


def _joined(test: ArrayLike, control: ArrayLike, n_test: int, n_control: int) -> Floats:
    x, y = (np.asarray(values, dtype=np.float64) for values in (test, control))
    if x.ndim != 2 or y.ndim != 2 or len(x) != len(y) or (x.shape[1], y.shape[1]) != (n_test, n_control):
        raise InputError(
            f"`references_test` has shape {x.shape} and `references_control` {y.shape}; they must be (k, {n_test}) and "
            f"(k, {n_control}), with the same k references in the same order."
        )
    return np.concatenate([x, y], axis=1)


def number_of_bins(n: float) -> int:
    """Bins of examples that are expected alike."""
    return int(np.clip(n // BIN_SIZE, 1, N_BINS))


def mean_in_bin(values: Floats, by: Floats) -> Floats:
    """For each example the mean of `values` over the examples whose `by` is about the same; equal ones share a bin."""
    n_bins = number_of_bins(len(values))
    edges = np.unique(np.quantile(by, np.arange(1, n_bins) / n_bins))
    bins = np.searchsorted(edges, by, side="left")
    counts = np.bincount(bins)
    means = np.bincount(bins, weights=values) / np.maximum(counts, 1)
    return np.asarray(means[bins])


def spread_of(squares: Floats, by: Floats) -> Floats:
    """Root mean square in each bin, at least FLOOR of that over all."""
    return np.maximum(np.sqrt(mean_in_bin(squares, by)), FLOOR * float(np.sqrt(np.mean(squares))))


def _variance_removed(scores: Floats, left: Floats, classes: ArrayLike | None, n_fitted: int) -> float:
    """1 - residual over original variance, both within class; NaN where the scores do not vary.

    For the numbers that were fitted to the scores, else noise would seem to explain some: 25 % with 30 references and
    120 examples.
    """
    codes = np.zeros(len(scores), dtype=np.intp)
    if classes is not None:
        codes = np.unique(np.asarray(classes), return_inverse=True)[1].reshape(-1)
    counts: NDArray[np.intp] = np.bincount(codes)

    def within(x: Floats) -> float:
        return float(np.sum((x - (np.bincount(codes, weights=x) / counts)[codes]) ** 2))

    total, free = within(scores), len(scores) - 1 - n_fitted
    if total <= 0.0:
        return math.nan
    return max(0.0, 1.0 - within(left) / total * (len(scores) - 1) / free) if free > 0 else 0.0
