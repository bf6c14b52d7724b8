"""What a budget returns: data, all of it computed in the run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.report import Result
from heldout.results import Record, today
from heldout.reuse.adjusted import Adjusted
from heldout.reuse.alike import Alike
from heldout.reuse.bounds import LARGEST, TestableModels
from heldout.reuse.cover import CoverCurve
from heldout.reuse.curves import Curve
from heldout.reuse.few import too_few_groups
from heldout.reuse.first import TOPS
from heldout.reuse.grouped import ExampleGroups
from heldout.reuse.label_noise import LabelNoise, SecondLabels
from heldout.reuse.leaderboard import Comparison
from heldout.reuse.like_these import AssumptionFit
from heldout.reuse.needed import Needed
from heldout.reuse.similarity import SimilarityResult
from heldout.reuse.winner import Winner
from heldout.summary import Summary


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PoolResult(Record):
    """What holds for the k models that were given.

    Parameters
    ----------
    similarity : SimilarityResult
        Counts of every model and pair.
    alike : Alike
        What a page shows of all pairs.
    cover : CoverCurve
        Size of a similarity cover against eta.
    epsilon : dict
        "union", "similarity": the smallest epsilon such that all k errors are within epsilon, ends included, with
        probability 1 - delta.
    level : dict
        "union" (delta / k), "similarity": the level of each model's own interval such that all hold at once; "pairs":
        what a pair's own p-value must not exceed to be significant, all pairs considered (Holm).
    low, high : (k,) float
        Intervals of the errors at level["similarity"], Clopper and Pearson's without groups.
    order : (k,) int
        The leaderboard, lowest error first.
    neighbours : tuple of Comparison
        Each model against the next one down.
    n_significant : int or None
        Pairs that are told apart; None for very large pools, whose pairs are not all tested.
    ranks : (k, 2) int or None
        Smallest and largest rank that is left open; None for very large pools.
    top : dict
        For 1, 3 and 10 the models that cannot be excluded from so many at the top; each set holds with 1 - delta.
    winner : Winner
        The first on the leaderboard, its score, and what that is expected to lose on fresh examples.
    groups : tuple of tuples of int
        Tied groups down the leaderboard: no model of a group can be told from its first.
    theorem2 : dict
        Theorem 2 on this pool's own cover: eta, cover and the epsilon of (4), (5), (6); for information.
    adaptive : float
        What Corollary 4 guarantees where each model was chosen after seeing the exact scores of those before it.
    difficulty_forecast : (k + 1,) float or None
        Share of examples that at most j models get wrong if Assumption A1 holds, each model with its own error.
    n_missing : int
        Cells without an answer.
    assumption : AssumptionFit or None
        Whether Assumption A1 predicts that two models are both wrong; None where it cannot be checked.
    example_groups : ExampleGroups or None
        Groups of examples that depend on each other; None where every example stands alone. With them the intervals
        are Korn and Graubard's, the bounds are the union's alone, and models are compared by sums over groups.
    adjusted : Adjusted
        Chance-adjusted similarity, mean over pairs: of right and wrong, of answers, of probabilities.
    label_noise, second_labels
        What wrong labels would do, where that was asked for.
    """

    unlisted = (
        "similarity", "alike", "epsilon", "low", "high", "order", "ranks", "top", "winner", "adaptive",
        "difficulty_forecast", "assumption", "example_groups", "adjusted", "label_noise", "second_labels",
    )  # fmt: skip
    derived = {  # noqa: RUF012
        "independent": "unit", "n_pairs": "similarity.n_pairs", "pairs_significant": "n_significant",
        "pairs_below_chance": "alike.below_chance", "right_for_all": "right_for_all", "wrong_for_all": "wrong_for_all",
        "neighbours": "named_neighbours", "groups": "named_groups",
    }  # fmt: skip

    similarity: SimilarityResult
    alike: Alike
    cover: CoverCurve
    epsilon: dict[str, float]
    level: dict[str, float]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    order: NDArray[np.intp]
    neighbours: tuple[Comparison, ...]
    n_significant: int | None
    ranks: NDArray[np.int64] | None
    top: dict[int, tuple[int, ...]]
    winner: Winner
    groups: tuple[tuple[int, ...], ...]
    theorem2: dict[str, float]
    adaptive: float
    difficulty_forecast: NDArray[np.float64] | None
    n_missing: int
    assumption: AssumptionFit | None
    example_groups: ExampleGroups | None
    adjusted: Adjusted
    label_noise: LabelNoise | None = None
    second_labels: SecondLabels | None = None

    @property
    def unit(self) -> str:
        """What has to be independent."""
        return "examples" if self.example_groups is None else "groups"

    def names(self, models: tuple[int, ...]) -> list[str]:
        """Names of some models."""
        return [self.similarity.names[i] for i in models]

    @property
    def right_for_all(self) -> float | None:
        """Share of the examples that every model has and gets right; None where there is no such example."""
        s = self.similarity
        return float(s.difficulty[0] / s.n_complete) if s.n_complete else None

    @property
    def wrong_for_all(self) -> float | None:
        """The same for those that every model gets wrong."""
        s = self.similarity
        return float(s.difficulty[-1] / s.n_complete) if s.n_complete else None

    @property
    def named_neighbours(self) -> list[dict[str, Any]]:
        """`neighbours` as plain rows."""
        names = self.similarity.names
        return [asdict(c) | {"better": names[c.better], "worse": names[c.worse]} for c in self.neighbours]

    @property
    def named_groups(self) -> list[list[str]]:
        """`groups` by name."""
        return [self.names(group) for group in self.groups]

    def models(self) -> list[dict[str, Any]]:
        """The leaderboard as plain rows."""
        s = self.similarity
        group = {model: number for number, members in enumerate(self.groups, start=1) for model in members}
        rows = []
        for place, i in enumerate(self.order.tolist(), start=1):
            row = {
                "name": s.names[i],
                "error": float(s.errors[i]),
                "low": float(self.low[i]),
                "high": float(self.high[i]),
                "place": place,
                "group": group[i],
                "n_examples": int(s.observed[i]),
            }
            if self.ranks is not None:
                row["rank_low"], row["rank_high"] = (int(r) for r in self.ranks[i])
            rows.append(row)
        return rows


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BudgetResult(Result):
    """How many models a test set can still measure, and what is known of those it has.

    Parameters
    ----------
    testable : TestableModels
        Models that fit at epsilon and delta: like those of the pool, each kind with its own error and similarities; or,
        from four numbers, models with one error and one similarity.
    equal : TestableModels or None
        The same if all models had the pool's mean error and mean similarity, as the paper plugs in; None where no such
        models exist. Where errors differ much this is far too many.
    pool : PoolResult or None
        None where only four numbers were given.
    exact_error, exact_similarity, examples_each
        The means behind `equal`.
    needed : Needed
        Examples that an error bar and a difference take, and the difference that can be told now.
    by_similarity, by_epsilon : Curve or None
        Testable models of the mean error against similarity (figures 1b and 2), and of the mean error and similarity
        against epsilon (figure 2); None where `equal` is.
    seed : int or None
        Of the draws behind `needed` and the winner's expected drop; None where nothing was drawn.
    tasks : dict
        Examples of each task, where the table has several.
    trials_agree : bool
        Whether cells had trials, all of which agree.
    created : str
        Date, as in 2025-12-31.
    """

    unlisted = (
        "epsilon", "delta", "testable", "equal", "exact_error", "exact_similarity", "examples_each", "tasks",
        "trials_agree",
    )  # fmt: skip
    derived = {  # noqa: RUF012
        "target": "target", "epsilon": "error_bars", "testable_models": "testable_models",
        "testable_if_equal": "testable_if_equal", "further_models": "further", "reason": "testable.reason",
        "adjusted_similarity": "adjusted", "assumption_a1": "assumption_a1", "example_groups": "example_groups",
        "first": "first", "top": "top", "winner": "winner", "models": "models", "label_noise": "label_noise",
        "second_labels": "second_labels", "notes": "notes", "plug_in": "plug_in", "adaptive": "adaptive",
    }  # fmt: skip
    plug_in = True  # errors and similarities, as if they were the true ones
    adaptive = False  # nothing here holds for models that were tuned on the test set

    n_models: int | None
    n_examples: int
    mean_error: float
    mean_similarity: float
    independent_similarity: float
    epsilon: float
    delta: float
    testable: TestableModels
    equal: TestableModels | None
    pool: PoolResult | None
    exact_error: Fraction
    exact_similarity: Fraction
    examples_each: int
    needed: Needed
    by_similarity: Curve | None
    by_epsilon: Curve | None
    seed: int | None
    source: str
    data_digest: str | None
    version: str
    tasks: dict[str, int] = field(default_factory=dict)
    trials_agree: bool = False
    created: str = field(default_factory=today)

    @property
    def too_few(self) -> bool:
        """Whether groups are too few to say anything."""
        p = self.pool
        return p is not None and too_few_groups(p.example_groups, p.epsilon["similarity"], self.delta)

    @property
    def further(self) -> dict[str, int | None]:
        """By each bound: testable models less those already there, at least 0."""
        used = self.n_models or 0
        return {
            name: k if k is None or k >= LARGEST else max(0, k - used) for name, k in self.testable.to_dict().items()
        }

    @property
    def further_models(self) -> int:
        """How many more models fit beside those that are there."""
        left = self.further["union" if self.testable.similarity is None else "similarity"]
        assert left is not None
        return left

    @property
    def fitting_models(self) -> int:
        """Testable models by the similarity union bound, or by the union bound where there is no coupling."""
        return self.testable.union if self.testable.similarity is None else self.testable.similarity

    @property
    def target(self) -> dict[str, float]:
        """What was asked for."""
        return {"epsilon": self.epsilon, "delta": self.delta}

    @property
    def error_bars(self) -> dict[str, float | None]:
        """The pool's error bars; similarity's is None where only the union bound is given."""
        if self.pool is None:
            return {"union": None, "similarity": None}
        return {**self.pool.epsilon, **({} if self.example_groups is None else {"similarity": None})}

    @property
    def testable_models(self) -> dict[str, int | None]:
        """`testable` by bound."""
        return self.testable.to_dict()

    @property
    def testable_if_equal(self) -> dict[str, int | None] | None:
        """`equal` by bound."""
        return None if self.equal is None else self.equal.to_dict()

    @property
    def assumption_a1(self) -> dict[str, Any] | None:
        """The pool's `assumption`, with names."""
        if self.pool is None or self.pool.assumption is None:
            return None
        return self.pool.assumption.to_dict(self.pool.similarity.names)

    @property
    def example_groups(self) -> ExampleGroups | None:
        """Groups of examples that depend on each other."""
        return None if self.pool is None else self.pool.example_groups

    @property
    def adjusted(self) -> Adjusted | None:
        """Chance-adjusted similarity, mean over pairs."""
        return None if self.pool is None else self.pool.adjusted

    @property
    def winner(self) -> Winner | None:
        """The first on the leaderboard."""
        return None if self.pool is None else self.pool.winner

    @property
    def label_noise(self) -> LabelNoise | None:
        """What a stated share of wrong labels would do."""
        return None if self.pool is None else self.pool.label_noise

    @property
    def second_labels(self) -> SecondLabels | None:
        """What other labels say."""
        return None if self.pool is None else self.pool.second_labels

    @property
    def top(self) -> dict[str, list[str]]:
        """Models that cannot be excluded from the top 3 and the top 10."""
        return {str(t): self.pool.names(self.pool.top[t]) for t in TOPS if t > 1} if self.pool else {}

    @property
    def models(self) -> list[dict[str, Any]]:
        """The leaderboard as plain rows."""
        return self.pool.models() if self.pool else []

    @property
    def narrowest(self) -> float | None:
        """The narrowest error bar that a single model of the mean error can have, read off the curve; None without."""
        curve = self.by_epsilon
        if curve is None or not (curve.union >= 1).any():
            return None
        return float(curve.x[np.argmax(curve.union >= 1)])

    @property
    def first(self) -> list[str]:
        """Models that cannot be excluded from rank 1."""
        return [] if self.pool is None else self.pool.names(self.pool.top[1])

    @property
    def notes(self) -> tuple[str, ...]:
        """What else is to be known of the table, one sentence each."""
        from heldout.reuse.budget_summary import notes_of

        return notes_of(self.tasks, trials_agree=self.trials_agree)

    def summary(self) -> Summary:
        """What the budget says."""
        from heldout.reuse.budget_summary import summarise

        return summarise(self)

    def needed_summary(self) -> Summary:
        """How many examples are needed, alone."""
        from heldout.reuse.budget_summary import summarise_needed

        return summarise_needed(self)
