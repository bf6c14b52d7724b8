"""A budget from four numbers, without a pool to look at; and what fits if all models were equal."""

from __future__ import annotations

from fractions import Fraction

from heldout._version import __version__
from heldout.errors import InputError
from heldout.reuse.bounds import TestableModels, equal_models, testable_models, union_models
from heldout.reuse.curves import Curve, models_by_epsilon, models_by_similarity
from heldout.reuse.few import WIDE, check_narrow
from heldout.reuse.needed import GAP, numbers_needed, round_up
from heldout.reuse.result import BudgetResult
from heldout.reuse.thresholds import Number, check_exact_share, exact, independent_similarity

USUAL_EPSILON, USUAL_MODELS = 0.01, 100  # four numbers, no error bar asked for: at least so wide, and for so many


def budget_from_numbers(
    n_examples: int,
    error: Number,
    similarity: Number,
    *,
    epsilon: Number | None = None,
    delta: Number = 0.05,
    gap: Number = GAP,
) -> BudgetResult:
    """How many models can a test set of this size measure? From four numbers, without a pool to look at.

    Without an epsilon it is 0.01, or more where a hundred such models do not fit there by the union bound.

    Parameters
    ----------
    n_examples : int
        Size of the test set.
    error, similarity : float
        Of the models: their error rate, and the share of examples on which two of them are both right or both wrong.
    epsilon, delta, gap : float
        As in `budget`.

    Returns
    -------
    BudgetResult
        Without a pool: how many such models fit, and how many examples other answers would take.

    Examples
    --------
    >>> from heldout import budget_from_numbers
    >>> budget_from_numbers(50_000, error=0.244, similarity=0.85, epsilon=0.01).testable.union  # Mania et al. 2019
    251165
    """
    check_exact_share("gap", gap)
    if epsilon is None:
        epsilon = usual_epsilon(n_examples, error, similarity, delta)
        if epsilon >= WIDE:
            raise InputError(
                f"`n_examples` is {n_examples:,}, too few to say anything: a hundred such models fit at no error bar "
                f"below ±{WIDE:g}; give more, or an error bar (`epsilon`)."
            )
    else:
        check_exact_share("epsilon", epsilon)
        check_narrow(epsilon)
    testable = testable_models(n_examples, error, similarity, epsilon=epsilon, delta=delta)
    share = float(exact(delta))
    by_similarity, by_epsilon = equal_curves(n_examples, exact(error), exact(similarity), exact(epsilon), share)
    return BudgetResult(
        n_examples=n_examples,
        mean_error=float(exact(error)),
        mean_similarity=float(exact(similarity)),
        independent_similarity=independent_similarity(error),
        epsilon=float(exact(epsilon)),
        delta=share,
        testable=testable,
        equal=testable,
        pool=None,
        needed=numbers_needed(
            n_examples,
            float(exact(error)),
            float(exact(similarity)),
            epsilon=float(exact(epsilon)),
            delta=share,
            gap=float(exact(gap)),
        ),
        by_similarity=by_similarity,
        by_epsilon=by_epsilon,
        seed=None,
        source="numbers",
        data_digest=None,
        version=__version__,
    )


def usual_epsilon(n: int, error: Number, similarity: Number, delta: Number) -> float:
    """The smallest round error bar, 0.01 or more, at which a hundred such models fit; refuses what are no models."""
    testable_models(
        n, error, similarity, epsilon="0.5", delta=delta
    )  # says what is wrong with the numbers, if anything
    epsilon = USUAL_EPSILON
    while epsilon < 0.9 and union_models(n, error, epsilon=epsilon, delta=float(exact(delta))) < USUAL_MODELS:
        epsilon = round_up(1.0001 * epsilon)
    return epsilon


def equal_curves(n: int, error: Fraction, alike: Fraction, epsilon: Fraction, delta: float) -> tuple[Curve, Curve]:
    """What fits were all equal, against similarity and against epsilon."""
    return (
        models_by_similarity(n, error, epsilon=float(epsilon), delta=delta),
        models_by_epsilon(n, error, alike, delta=delta),
    )


def equal_or_none(n: int, error: Fraction, alike: Fraction, *, epsilon: Number, delta: float) -> TestableModels | None:
    """The paper's plug-in, as if all models had the mean error and the mean similarity; None where no models have both.

    Where answers are missing the two means are of different examples, and may not fit together.
    """
    both = error + (alike - 1) / 2
    if not 0 < error < 1 or not max(Fraction(0), 2 * error - 1) <= both <= error:
        return None
    return equal_models(n, error, both, epsilon=epsilon, delta=delta)
