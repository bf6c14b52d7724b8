"""What a budget of scores returns: data, all of it computed in the run."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.report import Result
from heldout.results import today
from heldout.reuse.bounds import LARGEST, TestableModels
from heldout.reuse.few import too_few_groups
from heldout.reuse.grouped import ExampleGroups
from heldout.reuse.needed import Needed
from heldout.reuse.winner import Winner
from heldout.statistics.grouped import Floats
from heldout.summary import Summary

MORE_TRIALS = 2  # times as many, in words


@dataclass(frozen=True, kw_only=True)
class ScoreComparison:
    """Two models that stand beside each other on the leaderboard."""

    better: int
    worse: int
    difference: float  # of mean scores on the examples that both have
    log_p_value: float  # of this pair alone, two-sided
    log_adjusted: float  # over all pairs, by Holm
    survives: bool
    contradicted: bool = False


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ScoreBudgetResult(Result):
    """What a test set says of k models whose answers have scores between 0 and 1.

    Parameters
    ----------
    names : tuple of str
        Models.
    scores, low, high : (k,) float
        Mean scores, and intervals that hold for all models at once with probability 1 - delta.
    n_observed : (k,) int
        Examples of each model.
    error_bar : float
        All means are within this of the truth at once, by the union bound; `level` is that of each interval, delta / k.
    testable : TestableModels
        Models like these that fit at epsilon.
    order : (k,) int
        The leaderboard, highest score first.
    ranks : (k, 2) int
        Smallest and largest rank that is left open by all pairs, family-wise (Holm).
    neighbours : tuple of ScoreComparison
        Each model against the next one down.
    bands : tuple of tuples of int
        No model of a band can be told from its first.
    trials : (3,) int
        Fewest, median and most trials of a cell; zeros where nothing is known of them.
    between, within, trial_share : (k,) float
        Variances between and inside examples, and the share of the squared error bar that is chance inside examples;
        NaN where trials are not known.
    pair_trial_share : float
        The same for the difference of two models, median over pairs.
    top : dict
        For 1, 3 and 10: models that cannot be excluded from so high a rank, each at 1 - delta.
    winner : Winner
        The first on the leaderboard, and what its score is expected to lose on fresh examples.
    needed : Needed
        Examples for the error bar and for a gap, and the gap that can be told now.
    example_groups : ExampleGroups or None
    tasks : dict
        Examples of each task, where the table has several.
    created : str
        Date, as in 2025-12-31.
    """

    unlisted = (
        "names", "scores", "low", "high", "n_observed", "error_bar", "level", "epsilon", "delta", "testable", "order",
        "ranks", "neighbours", "bands", "n_significant", "n_missing", "trials", "between", "within", "trial_share",
        "pair_trial_share", "top", "tasks",
    )  # fmt: skip
    derived = {  # noqa: RUF012
        "kind": "kind", "n_models": "n_models", "mean_score": "mean_score", "target": "target",
        "epsilon": "error_bars", "testable_models": "testable_models", "further_models": "further",
        "reason": "testable.reason", "trials": "trial_numbers", "first": "first", "top": "named_top",
        "models": "models", "pool": "pool", "notes": "notes", "adaptive": "adaptive",
    }  # fmt: skip
    kind = "scores"
    adaptive = False

    names: tuple[str, ...]
    n_examples: int
    scores: Floats
    low: Floats
    high: Floats
    n_observed: NDArray[np.int64]
    error_bar: float
    level: float
    epsilon: float
    delta: float
    testable: TestableModels
    order: NDArray[np.intp]
    ranks: NDArray[np.int64]
    neighbours: tuple[ScoreComparison, ...]
    bands: tuple[tuple[int, ...], ...]
    n_significant: int
    n_missing: int
    trials: NDArray[np.int64]
    between: Floats
    within: Floats
    trial_share: Floats
    pair_trial_share: float
    top: dict[int, tuple[int, ...]]
    winner: Winner
    needed: Needed
    example_groups: ExampleGroups | None
    seed: int
    source: str
    data_digest: str
    version: str
    tasks: dict[str, int] = field(default_factory=dict)
    created: str = field(default_factory=today)

    @property
    def too_few(self) -> bool:
        """Whether groups are too few to say anything."""
        return too_few_groups(self.example_groups, self.error_bar, self.delta)

    @property
    def n_models(self) -> int:
        """The number k of models."""
        return len(self.names)

    @property
    def n_pairs(self) -> int:
        """All pairs of models."""
        return self.n_models * (self.n_models - 1) // 2

    @property
    def further_models(self) -> int:
        """How many more models fit at epsilon beside those that are there."""
        union = self.testable.union
        return union if union >= LARGEST else max(0, union - self.n_models)

    @property
    def first(self) -> list[str]:
        """Models that cannot be excluded from rank 1."""
        return [self.names[i] for i in self.top[1]]

    @property
    def median_trial_share(self) -> float:
        """Median over models of the share that trials make; NaN where it is not known."""
        known = self.trial_share[np.isfinite(self.trial_share)]
        return float(np.median(known)) if len(known) else math.nan

    def shrinks(self, more: float, *, pairs: bool = False) -> float:
        """Factor of error bars, or of gaps, with so many times as many trials; `math.inf` for all there could be."""
        share = self.pair_trial_share if pairs else self.median_trial_share
        return math.sqrt(1 - share * (1 - 1 / more))

    @property
    def models(self) -> list[dict[str, Any]]:
        """The leaderboard as plain rows."""
        band = {model: number for number, members in enumerate(self.bands, start=1) for model in members}
        return [
            {
                "name": self.names[i],
                "score": float(self.scores[i]),
                "low": float(self.low[i]),
                "high": float(self.high[i]),
                "place": place,
                "group": band[i],
                "n_examples": int(self.n_observed[i]),
                "rank_low": int(self.ranks[i, 0]),
                "rank_high": int(self.ranks[i, 1]),
                "variance_between": float(self.between[i]),
                "variance_within": float(self.within[i]),
                "trial_share": float(self.trial_share[i]),
            }
            for place, i in enumerate(self.order.tolist(), start=1)
        ]

    @property
    def unit(self) -> str:
        """What has to be independent."""
        return "examples" if self.example_groups is None else "groups"

    @property
    def mean_score(self) -> float:
        """Over all models."""
        return float(self.scores.mean())

    @property
    def target(self) -> dict[str, float]:
        """What was asked for."""
        return {"epsilon": self.epsilon, "delta": self.delta}

    @property
    def error_bars(self) -> dict[str, float | None]:
        """By each bound; similarity's is for right and wrong only."""
        return {"union": self.error_bar, "similarity": None}

    @property
    def testable_models(self) -> dict[str, int | None]:
        """`testable` by bound."""
        return self.testable.to_dict()

    @property
    def further(self) -> dict[str, int | None]:
        """`further_models` by bound."""
        return {"union": self.further_models, "similarity": None, "naive_bayes": None}

    @property
    def named_top(self) -> dict[str, list[str]]:
        """`top` by name, without the first."""
        return {str(t): [self.names[i] for i in models] for t, models in self.top.items() if t > 1}

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

    @property
    def pool(self) -> dict[str, Any]:
        """What holds for the models that were given, as plain data."""
        return {
            "level": {"union": self.level, "similarity": None},
            "independent": self.unit,
            "n_pairs": self.n_pairs,
            "n_significant": self.n_significant,
            "pairs_significant": self.n_significant,
            "n_missing": self.n_missing,
            "neighbours": [
                asdict(c) | {"better": self.names[c.better], "worse": self.names[c.worse]} for c in self.neighbours
            ],
            "groups": [[self.names[i] for i in band] for band in self.bands],
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What else is to be known of the table, one sentence each."""
        from heldout.reuse.budget_summary import notes_of

        return notes_of(self.tasks)

    def summary(self) -> Summary:
        """What the budget says."""
        from heldout.reuse.budget_summary.scores import summarise

        return summarise(self)

    def needed_summary(self) -> Summary:
        """How many examples are needed, alone."""
        from heldout.reuse.budget_summary.scores import summarise_needed

        return summarise_needed(self)
