"""What a budget of scores returns: data, all of it computed in the run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.reuse.result import Budget, Pool
from heldout.statistics.grouped import Floats
from heldout.summary import Summary

MORE_TRIALS = 2  # times as many, in words


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ScorePool(Pool):
    """What holds for k models with scores.

    Parameters
    ----------
    between, within, trial_share : (k,) float
        Variances between and inside examples, and the share of the squared error bar that is chance inside examples;
        NaN where trials are not known.
    """

    unlisted = (*Pool.unlisted, "between", "within", "trial_share")

    between: Floats
    within: Floats
    trial_share: Floats

    def models(self) -> list[dict[str, Any]]:
        """The leaderboard as plain rows."""
        variances = {"variance_between": self.between, "variance_within": self.within}
        return self.rows(score=self.values, trial_share=self.trial_share, **variances)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ScoreBudgetResult(Budget):
    """What a test set says of k models whose predictions have scores between 0 and 1.

    Parameters
    ----------
    trials : (3,) int
        Fewest, median and most trials of a cell; zeros where nothing is known of them.
    median_trial_share, pair_trial_share : float
        Share of the squared error bar of a model, and of the difference of two, that is chance inside examples: medians
        over models and pairs, NaN where trials are not known.

    Examples
    --------
    >>> from heldout import budget
    >>> scores = np.random.default_rng(0).random((3, 500)) * [[1.0], [0.8], [0.8]]
    >>> result = budget(scores)
    >>> type(result).__name__, result.first, round(result.mean_score, 2)
    ('ScoreBudgetResult', ['model 0'], 0.44)
    """

    unlisted = (*Budget.unlisted, "trials", "median_trial_share", "pair_trial_share")
    derived = {**Budget.derived, "kind": "kind", "mean_score": "mean_score", "trials": "trial_numbers"}  # noqa: RUF012
    kind = "scores"

    pool: ScorePool
    trials: NDArray[np.int64]
    median_trial_share: float
    pair_trial_share: float

    def shrinks(self, more: float, *, pairs: bool = False) -> float:
        """Factor of error bars, or of gaps, with so many times as many trials; `math.inf` for all there could be.

        Parameters
        ----------
        more : float
            Trials for each one there is.
        pairs : bool
            Of the differences of two models instead.

        Returns
        -------
        float
            At most 1; NaN where trials are not known.
        """
        share = self.pair_trial_share if pairs else self.median_trial_share
        return math.sqrt(1 - share * (1 - 1 / more))

    @property
    def mean_score(self) -> float:
        """Over all models."""
        return float(self.pool.values.mean())

    @property
    def trial_numbers(self) -> dict[str, float | int | None]:
        """Trials per cell, the share of chance inside examples, and what more trials would bring."""
        fewest, median, most = (int(t) or None for t in self.trials)
        return {
            "fewest": fewest,
            "median": median,
            "most": most,
            "share_of_error_bar": self.median_trial_share,
            "with_twice_as_many": self.shrinks(MORE_TRIALS),
            "with_endlessly_many": self.shrinks(math.inf),
            "share_of_gap": self.pair_trial_share,
            "gap_with_twice_as_many": self.shrinks(MORE_TRIALS, pairs=True),
        }

    def summary(self) -> Summary:
        """What the budget says.

        Returns
        -------
        heldout.summary.Summary
            Headline, key figures and sections.
        """
        from heldout.reuse.budget_summary.scores import summarise

        return summarise(self)
