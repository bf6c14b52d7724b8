"""What a budget returns: data, all of it computed in the run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.frames import Names, Source, from_rows
from heldout.predictions.doubts import Doubt
from heldout.report import Result
from heldout.results import Record, today
from heldout.reuse.adjusted import Adjusted
from heldout.reuse.alike import Alike
from heldout.reuse.bounds import LARGEST, TestableModels
from heldout.reuse.cover import CoverCurve
from heldout.reuse.curves import Curve
from heldout.reuse.grouped import ExampleGroups
from heldout.reuse.label_noise import LabelNoise, SecondLabels
from heldout.reuse.leaderboard import Comparison, ScoreComparison
from heldout.reuse.like_these import AssumptionFit
from heldout.reuse.needed import Needed
from heldout.reuse.similarity import SimilarityResult
from heldout.reuse.trials import Trials
from heldout.reuse.winner import Winner
from heldout.summary import Summary


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Pool(Record):
    """The leaderboard of k models, by errors or by scores, and what holds for it.

    Parameters
    ----------
    names : tuple of str
        Models.
    values, low, high : (k,) float
        Errors or mean scores, and intervals that hold for all models at once with probability 1 - delta: Clopper and
        Pearson's of errors, Korn and Graubard's in groups; those of scores are in `heldout.statistics.score_means`.
    n_observed : (k,) int
        Examples of each model.
    epsilon : dict
        "union", "similarity": the smallest epsilon such that all k values are within epsilon of the truth, ends
        included, with probability 1 - delta; the same where only the union bound is given.
    level : dict
        "union" (delta / k), "similarity": the level of each model's own interval such that all hold at once; "pairs":
        what a pair's own p-value must not exceed to be significant, all pairs considered (Holm).
    order : (k,) int
        The leaderboard, best first.
    neighbours : tuple of Comparison or ScoreComparison
        Each model against the next one down.
    n_significant : int or None
        Pairs that are told apart; None for very large pools, whose pairs are not all tested.
    ranks : (k, 2) int or None
        Smallest and largest rank that is left open by all pairs, family-wise (Holm); None for very large pools.
    top : dict
        For 1, 3 and 10 the models that cannot be excluded from so many at the top; each set holds with 1 - delta.
    winner : Winner
        The first on the leaderboard, its score, and what that is expected to lose on fresh examples.
    groups : tuple of tuples of int
        Bands down the leaderboard: no model of a band can be told from its first.
    n_missing : int
        Cells without a value.
    example_groups : ExampleGroups or None
        Groups of examples that depend on each other; None where every example stands alone. With them only the union
        bound is given, and models are compared by sums over groups.
    """

    unlisted: ClassVar[tuple[str, ...]] = (
        "names", "values", "low", "high", "n_observed", "epsilon", "order", "ranks", "top", "winner", "example_groups",
    )  # fmt: skip
    derived: ClassVar[Names] = (
        ("independent", "unit"), "n_pairs", ("pairs_significant", "n_significant"), ("neighbours", "named_neighbours"),
        ("groups", "named_groups"),
    )  # fmt: skip
    columns: ClassVar[dict[str, str]] = {"error": "values"}  # of `models`, beside those that every pool has

    names: tuple[str, ...]
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    n_observed: NDArray[np.int64]
    epsilon: dict[str, float]
    level: dict[str, float]
    order: NDArray[np.intp]
    neighbours: tuple[Comparison | ScoreComparison, ...]
    n_significant: int | None
    ranks: NDArray[np.int64] | None
    top: dict[int, tuple[int, ...]]
    winner: Winner
    groups: tuple[tuple[int, ...], ...]
    n_missing: int
    example_groups: ExampleGroups | None

    @property
    def unit(self) -> str:
        """What has to be independent."""
        return "examples" if self.example_groups is None else "groups"

    @property
    def n_pairs(self) -> int:
        """All pairs of models."""
        return len(self.names) * (len(self.names) - 1) // 2

    @property
    def winner_interval(self) -> tuple[float, float]:
        """True score of the first: its interval among those that hold for all models at once, so that it was chosen
        for its score takes nothing away."""
        return self.low[self.winner.model].item(), self.high[self.winner.model].item()

    def named(self, models: Sequence[int]) -> list[str]:
        """Names of some models."""
        return [self.names[i] for i in models]

    @property
    def named_neighbours(self) -> list[dict[str, Any]]:
        """`neighbours` as plain rows, by name."""
        pairs = ((c, self.named((c.better, c.worse))) for c in self.neighbours)
        return [asdict(c) | {"better": better, "worse": worse} for c, (better, worse) in pairs]

    @property
    def neighbour_columns(self) -> dict[str, list[Any]]:
        """`neighbours` for a frame: plain p-values beside their logarithms, which do not underflow."""
        logs = {"p_value": "log_p_value", "adjusted_p_value": "log_adjusted"}
        return from_rows(
            [row | {name: math.exp(row[log]) for name, log in logs.items()} for row in self.named_neighbours]
        )

    @property
    def named_groups(self) -> list[list[str]]:
        """`groups` by name."""
        return [self.named(group) for group in self.groups]

    @property
    def models(self) -> list[dict[str, Any]]:
        """The leaderboard as plain rows, one per model, best first."""
        columns = {**self.columns, "low": "low", "high": "high", "n_examples": "n_observed"}
        band = {model: number for number, members in enumerate(self.groups, start=1) for model in members}
        rows = []
        for place, i in enumerate(self.order.tolist(), start=1):
            row = {"name": self.names[i], "place": place, "group": band[i]}
            row |= {key: getattr(self, name)[i].item() for key, name in columns.items()}
            if self.ranks is not None:
                row["rank_low"], row["rank_high"] = self.ranks[i].tolist()
            rows.append(row)
        return rows


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PoolResult(Pool):
    """What holds for k models that are right or wrong.

    Parameters
    ----------
    similarity : SimilarityResult
        Counts of every model and pair.
    alike : Alike
        What a page shows of all pairs.
    cover : CoverCurve
        Size of a similarity cover against eta.
    theorem2 : dict
        Theorem 2 on this pool's own cover: eta, cover and the epsilon of (4), (5), (6); for information.
    adaptive : float
        What Corollary 4 guarantees where each model was chosen after seeing the exact scores of those before it.
    difficulty_forecast : (k + 1,) float or None
        Share of examples that at most j models get wrong if Assumption A1 holds, each model with its own error.
    assumption : AssumptionFit or None
        Whether Assumption A1 predicts that two models are both wrong; None where it cannot be checked.
    adjusted : Adjusted
        Chance-adjusted similarity, mean over pairs: Cohen's kappa of right and wrong, CAPA of answers and of
        probabilities.
    label_noise, second_labels
        What wrong labels would do, where that was asked for.
    """

    unlisted = (
        *Pool.unlisted, "similarity", "alike", "adaptive", "difficulty_forecast", "assumption", "adjusted",
        "label_noise", "second_labels",
    )  # fmt: skip
    derived = (
        *Pool.derived, ("pairs_below_chance", "alike.below_chance"), "similarity.right_for_all",
        "similarity.wrong_for_all",
    )  # fmt: skip

    similarity: SimilarityResult
    alike: Alike
    cover: CoverCurve
    theorem2: dict[str, float]
    adaptive: float
    difficulty_forecast: NDArray[np.float64] | None
    assumption: AssumptionFit | None
    adjusted: Adjusted
    label_noise: LabelNoise | None = None
    second_labels: SecondLabels | None = None

    @property
    def winner_interval(self) -> tuple[float, float]:
        """True score of the first; intervals are of errors."""
        low, high = super().winner_interval
        return 1 - high, 1 - low

    @property
    def pairs(self) -> dict[str, Any]:
        """Columns: how alike any two models are, in the order of the table."""
        alike = self.similarity
        first, second = (self.named(models.tolist()) for models in np.triu_indices(len(self.names), 1))
        columns = {"similarity": alike.agreement(), "if_independent": alike.baseline(), "kappa": alike.kappa()}
        return {"first": first, "second": second, **columns}

    @property
    def named_assumption(self) -> dict[str, Any] | None:
        """`assumption`, with names."""
        return None if self.assumption is None else self.assumption.to_dict(self.names)


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
    columns = {  # noqa: RUF012
        "score": "values", "trial_share": "trial_share", "variance_between": "between", "variance_within": "within",
    }  # fmt: skip

    between: NDArray[np.float64]
    within: NDArray[np.float64]
    trial_share: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Budget(Result):
    """What a budget of right and wrong and one of scores have in common.

    Its tables (`to_frame`) are "models", the leaderboard, best first, and "neighbours", each model against the next one
    down; without a pool one row of numbers.

    Parameters
    ----------
    n_examples : int
        Of the test set.
    epsilon, delta : float
        Error bar that was asked for, and the probability that a statement on all models at once fails.
    testable : TestableModels
        Models that fit at epsilon and delta: like those of the pool, each kind with its own error and similarities; or,
        from four numbers, models with one error and one similarity. Of scores only the union bound is known.
    pool : Pool or None
        None where only four numbers were given.
    needed : Needed
        Examples that an error bar and a difference take, and the difference that can be told now.
    too_few : bool
        Whether examples, or groups of them, are too few to say anything.
    seed : int or None
        Of the draws behind `needed` and the winner's expected drop; None where nothing was drawn.
    tasks : dict
        Examples of each task, where the table has several.
    trials_agree : bool
        Whether cells had trials, all of which agree.
    groups_of_one : str or None
        What told groups, where each holds one example; examples are then the unit.
    scored_by : str or None
        The metric and filter, the scorer or the column, where the files had a choice.
    source, data_digest, version, created : str
        What came in, a hash of it; what made the result, and when.
    doubts : tuple of Doubt
        Models that may have been misread: never right, or with predictions that are a label but for their spelling.
    """

    told_by = "heldout.reuse.budget_summary:summarise"
    unlisted: ClassVar[tuple[str, ...]] = ("epsilon", "delta", "testable", "too_few", "tasks", "trials_agree")
    derived: ClassVar[Names] = (
        "n_models", "target", ("epsilon", "error_bars"), ("testable_models", "testable"), ("further_models", "further"),
        "testable.reason", "pool.example_groups", "first", "top", "pool.winner", "models", "notes", "adaptive",
    )  # fmt: skip
    tabled: ClassVar[dict[str, Source]] = {"models": "pool.models", "neighbours": "pool.neighbour_columns"}
    adaptive = False  # nothing here holds for models that were tuned on the test set

    n_examples: int
    epsilon: float
    delta: float
    testable: TestableModels
    pool: Pool | None
    needed: Needed
    seed: int | None
    source: str
    data_digest: str | None
    version: str
    too_few: bool = False
    tasks: dict[str, int] = field(default_factory=dict)
    trials_agree: bool = False
    groups_of_one: str | None = None
    scored_by: str | None = None
    doubts: tuple[Doubt, ...] = ()
    created: str = field(default_factory=today)

    @property
    def n_models(self) -> int | None:
        """The number k of models; None where only four numbers were given."""
        return None if self.pool is None else len(self.pool.names)

    @property
    def error_bar(self) -> float:
        """All models of the pool are within this of the truth at once; NaN without a pool."""
        return math.nan if self.pool is None else self.pool.epsilon["similarity"]

    @property
    def error_bars(self) -> dict[str, float]:
        """The pool's error bars; similarity's is NaN where only the union bound is given."""
        bars = {"union": math.nan, "similarity": math.nan} if self.pool is None else self.pool.epsilon
        return bars if self.testable.similarity is not None else bars | {"similarity": math.nan}

    @property
    def example_groups(self) -> ExampleGroups | None:
        """Groups of examples that depend on each other."""
        return None if self.pool is None else self.pool.example_groups

    @property
    def first(self) -> list[str]:
        """Models that cannot be excluded from rank 1."""
        return [] if self.pool is None else self.pool.named(self.pool.top[1])

    @property
    def top(self) -> dict[str, list[str]]:
        """Models that cannot be excluded from the top 3 and the top 10."""
        return {} if self.pool is None else {str(t): self.pool.named(m) for t, m in self.pool.top.items() if t > 1}

    @property
    def models(self) -> list[dict[str, Any]]:
        """The leaderboard as plain rows."""
        return [] if self.pool is None else self.pool.models

    @property
    def further(self) -> TestableModels:
        """By each bound: testable models less those already there, at least 0."""
        used, counts = self.n_models or 0, self.testable.to_dict()
        left = {name: k if k is None or k >= LARGEST else max(0, k - used) for name, k in counts.items()}
        return replace(self.testable, **left)

    @property
    def further_models(self) -> int:
        """How many more models fit beside those that are there."""
        return self.further.count

    @property
    def target(self) -> dict[str, float]:
        """What was asked for."""
        return {"epsilon": self.epsilon, "delta": self.delta}

    @property
    def notes(self) -> tuple[str, ...]:
        """What else is to be known of the table, one sentence each."""
        from heldout.reuse.budget_summary import notes_of

        return notes_of(self.tasks, trials_agree=self.trials_agree)

    def needed_summary(self) -> Summary:
        """How many examples are needed, alone.

        Returns
        -------
        heldout.summary.Summary
            What `heldout budget --needed` shows.
        """
        from heldout.reuse.budget_summary import summarise_needed

        return summarise_needed(self)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BudgetResult(Budget):
    """How many models a test set can still measure, and what is known of those it has.

    Its tables (`to_frame`) are "models", the leaderboard, best first, "neighbours", each model against the next one
    down, and "pairs", how alike any two models are; without a pool one row of numbers.

    Parameters
    ----------
    equal : TestableModels or None
        The same as `testable` if all models had the pool's mean error and mean similarity, as the paper plugs in; None
        where no such models exist. Where errors differ much this is far too many.
    mean_error, mean_similarity, independent_similarity : float
        Of the models and pairs of the pool; what the similarity would be if models erred independently.
    by_similarity, by_epsilon : Curve or None
        Testable models of the mean error against similarity (figures 1b and 2), and of the mean error and similarity
        against epsilon (figure 2); None where `equal` is.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import budget
    >>> right = np.random.default_rng(0).random((4, 1000)) < [[0.9], [0.8], [0.8], [0.7]]
    >>> result = budget(right, epsilon=0.05)
    >>> result.n_models, result.first, result.error_bar < 0.05
    (4, ['model 0'], True)
    """

    unlisted = (*Budget.unlisted, "equal")
    derived = (
        *Budget.derived, ("testable_if_equal", "equal"), ("adjusted_similarity", "pool.adjusted"),
        ("assumption_a1", "pool.named_assumption"), "pool.label_noise", "pool.second_labels", "plug_in",
    )  # fmt: skip
    tabled = {**Budget.tabled, "pairs": "pool.pairs"}  # noqa: RUF012
    alone = ("", (
        "n_examples", ("error", "mean_error"), ("similarity", "mean_similarity"), "epsilon", "delta",
        ("models_union", "testable.union"), ("models_similarity", "testable.similarity"),
        ("models_naive_bayes", "testable.naive_bayes"), ("reason", "testable.reason"),
    ))  # fmt: skip
    plug_in = True  # errors and similarities, as if they were the true ones

    mean_error: float
    mean_similarity: float
    independent_similarity: float
    equal: TestableModels | None
    pool: PoolResult | None
    by_similarity: Curve | None
    by_epsilon: Curve | None

    @property
    def narrowest(self) -> float | None:
        """The narrowest error bar that a single model of the mean error can have, read off the curve; None without."""
        curve = self.by_epsilon
        if curve is None or not (curve.union >= 1).any():
            return None
        return float(curve.x[np.argmax(curve.union >= 1)])


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ScoreBudgetResult(Budget):
    """What a test set says of k models whose predictions have scores between 0 and 1.

    Its tables (`to_frame`) are "models", the leaderboard, best first, and "neighbours", each model against the next one
    down.

    Parameters
    ----------
    trials : Trials
        How many there are of a cell, how much of an error bar is chance inside examples, and what more would bring.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import budget
    >>> scores = np.random.default_rng(0).random((3, 500)) * [[1.0], [0.8], [0.8]]
    >>> result = budget(scores)
    >>> type(result).__name__, result.first, round(result.mean_score, 2)
    ('ScoreBudgetResult', ['model 0'], 0.44)
    """

    derived = (*Budget.derived, "kind", "mean_score")
    kind = "scores"

    pool: ScorePool
    trials: Trials

    @property
    def mean_score(self) -> float:
        """Over all models."""
        return float(self.pool.values.mean())
