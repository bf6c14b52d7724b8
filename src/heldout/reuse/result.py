"""What a budget returns: prints itself, travels as a dict, is saved as npz + JSON."""

from __future__ import annotations

import math
import textwrap
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.files import read_result, write_result
from heldout.reuse.adjusted import Adjusted
from heldout.reuse.bounds import LARGEST, TestableModels
from heldout.reuse.cover import CoverCurve
from heldout.reuse.curves import Curve, models_by_epsilon, models_by_similarity
from heldout.reuse.few import few_warnings, too_few_groups, too_few_sentence
from heldout.reuse.first import TOPS, list_names
from heldout.reuse.grouped import ExampleGroups
from heldout.reuse.label_noise import LabelNoise, SecondLabels
from heldout.reuse.leaderboard import Comparison
from heldout.reuse.like_these import AssumptionFit
from heldout.reuse.needed import Needed
from heldout.reuse.similarity import SimilarityResult
from heldout.reuse.winner import Winner

SHOWN = 20  # models printed in a terminal
NAMED = 8  # that may be first, by name
TERMINAL = 118  # characters
PLUG_IN = (
    "Errors and similarities are plugged in as if they were the true ones. The bounds hold for independent examples, "
    "and for models chosen without looking at this test set; a model tuned on it is not covered."
)
GROUPED = (
    "Whole groups are the unit: error bars, intervals and comparisons rest on the law for many independent groups, "
    "here {n_groups:,}, drawn with their sizes. They hold for models chosen without looking at this test set; a model "
    "tuned on it is not covered."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class PoolResult:
    """What holds for the k models that were given.

    Parameters
    ----------
    similarity : SimilarityResult
        Counts of every model and pair.
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

    similarity: SimilarityResult
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


@dataclass(frozen=True, kw_only=True, eq=False)
class BudgetResult:
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
    seed : int or None
        Of the draws behind `needed` and the winner's expected drop; None where nothing was drawn.
    notes : tuple of str
        What else is to be known of the table: how tasks were pooled, that all trials agree.
    """

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
    seed: int | None
    source: str
    data_digest: str | None
    version: str
    notes: tuple[str, ...] = ()

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

    @cached_property
    def by_similarity(self) -> Curve | None:
        """Testable models of the mean error against similarity (figures 1b and 2); None where `equal` is."""
        if self.equal is None:
            return None
        return models_by_similarity(self.examples_each, self.exact_error, epsilon=self.epsilon, delta=self.delta)

    @cached_property
    def by_epsilon(self) -> Curve | None:
        """Testable models of the mean error and similarity against epsilon (figure 2); None where `equal` is."""
        if self.equal is None:
            return None
        return models_by_epsilon(self.examples_each, self.exact_error, self.exact_similarity, delta=self.delta)

    @property
    def fitting_models(self) -> int:
        """Testable models by the similarity union bound, or by the union bound where there is no coupling."""
        return self.testable.union if self.testable.similarity is None else self.testable.similarity

    def __str__(self) -> str:
        sure = f"{100 * (1 - self.delta):g} %"
        t = self.testable
        lines = [
            self._headline(sure),
            "",
            f"error (mean)                 {self.mean_error:.4f}",
            f"similarity (mean)            {self.mean_similarity:.4f}   ({self.independent_similarity:.4f} if errors "
            "were independent)",
            *([] if self.pool is None else _adjusted_lines(self.pool.adjusted)),
        ]
        if not self.too_few:
            lines.append(f"models, union bound          {count_text(t.union)}")
        if self.pool is None or self.pool.example_groups is None:  # the others are for independent examples
            lines += [
                f"models, similarity bound     {count_text(t.similarity)}",
                f"models, Naive Bayes bound    {count_text(t.naive_bayes)}"
                + (f"   ({self.assumption_text})" if t.naive_bayes is not None else ""),
            ]
            if t.reason:
                lines.append(f"  {t.reason}.")
        if self.pool is not None and self.equal is not None:
            counts = ", ".join(count_text(k) for k in self.equal.to_dict().values())
            lines.append(
                f"the same, were all equal     {counts}   (mean error and similarity plugged in, as in the paper)"
            )
        if self.pool is None:
            lines += self._needed_lines(sure)
        else:
            lines += [*_bar_lines(self.pool, sure), *self._needed_lines(sure), *self._note_lines()]
            lines += [*_pool_lines(self.pool, sure), *noise_lines(self.pool)]
        return "\n".join([*lines, "", *textwrap.wrap(self._rests_on(), TERMINAL)])

    def _note_lines(self) -> list[str]:
        """Warnings, and what else is to be known of the table."""
        groups = None if self.pool is None else self.pool.example_groups
        told = (*few_warnings(self.n_examples, groups), *self.notes)
        return [line for sentence in told for line in textwrap.wrap(sentence, TERMINAL)]

    @property
    def assumption_text(self) -> str:
        """Whether the Naive Bayes number can be believed, in a few words."""
        fit = None if self.pool is None else self.pool.assumption
        if fit is None:
            return "if Assumption A1 holds"
        if fit.fits:
            return "if Assumption A1 holds, which no pair contradicts"
        return f"Assumption A1 does not fit: P(both wrong) is off in {fit.n_off:,} of {fit.n_pairs:,} pairs"

    def _rests_on(self) -> str:
        """The conditions, always at the end."""
        groups = None if self.pool is None else self.pool.example_groups
        return PLUG_IN if groups is None else GROUPED.format(n_groups=groups.n_groups)

    def _headline(self, sure: str) -> str:
        fit, used = self.fitting_models, self.n_models
        one = "model like these" if used else "such model"
        like = one if fit == 1 else one.replace("model", "models")
        within = f"to within ±{self.epsilon:g}"
        if self.too_few and self.pool is not None and self.pool.example_groups is not None:
            few = too_few_sentence(self.pool.example_groups, len(self.pool.order), self.pool.epsilon["similarity"])
            return "\n".join(textwrap.wrap(few, TERMINAL))
        if fit == 0:
            text = f"These {self.n_examples:,} examples cannot measure even one {one} {within} with {sure}: "
            text += f"{self._enough} would do. {self._holds_now}"
            return "\n".join(textwrap.wrap(text.strip(), TERMINAL))
        text = (
            f"This test set of {self.n_examples:,} examples can measure {count_text(fit)} {like}, each {within}, all "
            f"at once, with {sure}."
        )
        if used:
            left = self.further_models
            text += f" {used:,} are there, " + (f"{count_text(left)} more fit." if left else "no more fit.")
        return "\n".join(textwrap.wrap(text, TERMINAL))

    @property
    def _enough(self) -> str:
        """Examples that the error bar asked for takes, and for how many models."""
        each = "" if self.needed.n_models == 1 else f" for all {self.needed.n_models:,} at once"
        return f"{examples_text(self.needed.examples_for_epsilon)}{each}"

    @property
    def _holds_now(self) -> str:
        """What the examples there are can do."""
        if self.pool is not None:
            return f"With those there are, ±{self.pool.epsilon['similarity']:.2g} holds for all {self.n_models:,}."
        epsilon = self.narrowest
        return "" if epsilon is None else f"With those there are, one such model is measured to within ±{epsilon:.2g}."

    @property
    def narrowest(self) -> float | None:
        """The narrowest error bar that a single model of the mean error can have, read off the curve; None without."""
        curve = self.by_epsilon
        if curve is None or not (curve.union >= 1).any():
            return None
        return float(curve.x[np.argmax(curve.union >= 1)])

    def needed_text(self) -> str:
        """How many examples are needed, alone."""
        sure = f"{100 * (1 - self.delta):g} %"
        of = f", {self.n_models:,} models" if self.n_models else ""
        lines = [f"This test set has {self.n_examples:,} examples{of}.", ""]
        if self.pool is not None:
            lines += _bar_lines(self.pool, sure)[:1]
        asked = self._headline(sure).splitlines() if self.too_few else self._needed_lines(sure)
        told = [*lines, *asked, *self._note_lines(), "", *textwrap.wrap(self._rests_on(), TERMINAL)]
        return "\n".join(told)

    def _needed_lines(self, sure: str) -> list[str]:
        """Examples for the error bar and for a gap, and the gap that can be told now."""
        if self.too_few:
            return []
        need = self.needed
        who = "one such model" if self.n_models is None else f"all {need.n_models:,} models like these at once"
        lines = [
            _line(
                f"examples for ±{need.epsilon:g}",
                f"{examples_text(need.examples_for_epsilon, bare=True)}   ({who}, at {sure})",
            ),
            _line("gap that can be told now", _gap_text(need)),
            _line(f"examples for a gap of {need.gap:g}", examples_text(need.examples_for_gap, bare=True)),
        ]
        if need.first_gap is not None:
            lines.append(
                _line(
                    "examples, first from second",
                    f"{examples_text(need.examples_for_first, bare=True)}   ({need.first_gap:.4g} apart)",
                )
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; an undefined number is None."""
        pool = self.pool
        plain: dict[str, Any] = {
            "n_models": self.n_models,
            "n_examples": self.n_examples,
            "mean_error": self.mean_error,
            "mean_similarity": self.mean_similarity,
            "independent_similarity": self.independent_similarity,
            "adjusted_similarity": None if pool is None else pool.adjusted.to_dict(),
            "target": {"epsilon": self.epsilon, "delta": self.delta},
            "epsilon": _epsilon_dict(pool),
            "testable_models": self.testable.to_dict(),
            "testable_if_equal": None if self.equal is None else self.equal.to_dict(),
            "further_models": self.further,
            "reason": self.testable.reason,
            "assumption_a1": _assumption_dict(pool),
            "example_groups": None if pool is None or pool.example_groups is None else pool.example_groups.to_dict(),
            "needed": self.needed.to_dict(),
            "first": [] if pool is None else pool.names(pool.top[1]),
            "top": {} if pool is None else {str(t): pool.names(pool.top[t]) for t in TOPS if t > 1},
            "winner": None if pool is None else pool.winner.to_dict(),
            "models": [] if pool is None else pool.models(),
            "label_noise": None if pool is None or pool.label_noise is None else pool.label_noise.to_dict(),
            "second_labels": None if pool is None or pool.second_labels is None else pool.second_labels.to_dict(),
            "plug_in": True,
            "adaptive": False,
            "pool": None if pool is None else _pool_dict(pool),
            "notes": list(self.notes),
            "seed": self.seed,
            "source": self.source,
            "data_digest": self.data_digest,
            "version": self.version,
        }
        return plain

    def save(self, path: str | Path) -> None:
        """Write `path`.npz (everything) and `path`.json (what `to_dict` gives)."""
        record: dict[str, Any] = {k: v for k, v in vars(self).items() if k in _PLAIN}
        record["testable"] = asdict(self.testable)
        record["equal"] = None if self.equal is None else asdict(self.equal)
        record |= {name: str(getattr(self, name)) for name in ("exact_error", "exact_similarity")}
        record["needed"] = vars(self.needed)
        arrays: dict[str, Any] = {}
        if (pool := self.pool) is not None:
            kept = ("epsilon", "level", "groups", "theorem2", "n_missing", "n_significant", "top")
            record["pool"] = {k: getattr(pool, k) for k in kept}
            record["pool"]["winner"] = vars(pool.winner)
            record["pool"]["assumption"] = None if pool.assumption is None else vars(pool.assumption)
            record["pool"]["adjusted"] = vars(pool.adjusted)
            for name in ("label_noise", "second_labels"):
                part = getattr(pool, name)
                record["pool"][name] = None if part is None else vars(part)
            if (groups := pool.example_groups) is not None:
                record["example_groups"] = {k: v for k, v in vars(groups).items() if k != "design_effect"}
                arrays["design_effect"] = groups.design_effect
            record["neighbours"] = [vars(c) for c in pool.neighbours]
            record["names"], record["n"] = pool.similarity.names, pool.similarity.n_examples
            parts = {"pool": (pool, _POOL), "similarity": (pool.similarity, _SIMILARITY), "cover": (pool.cover, _COVER)}
            for name, (part, fields) in parts.items():
                arrays |= {f"{name}_{f}": getattr(part, f) for f in fields if getattr(part, f) is not None}
        write_result(path, plain=self.to_dict(), record=record, arrays=arrays)

    @classmethod
    def load(cls, path: str | Path) -> BudgetResult:
        """Read what `save` wrote; every number comes back to the last bit."""
        record, arrays = read_result(path)
        try:
            pool = None
            if "pool" in record:
                neighbours = tuple(Comparison(**c) for c in record.pop("neighbours"))
                kept = record.pop("pool")
                kept["groups"] = tuple(tuple(group) for group in kept["groups"])
                kept["top"] = {int(top): tuple(models) for top, models in kept["top"].items()}
                kept["winner"] = Winner(**kept["winner"])
                kept["assumption"] = None if kept["assumption"] is None else AssumptionFit(**kept["assumption"])
                kept["adjusted"] = Adjusted(**kept["adjusted"])
                for name, kind in (("label_noise", LabelNoise), ("second_labels", SecondLabels)):
                    kept[name] = None if kept[name] is None else kind(**_tuples(kept[name]))
                kept["example_groups"] = None
                if (groups := record.pop("example_groups", None)) is not None:
                    groups["repeated_in"] = tuple(groups["repeated_in"])
                    kept["example_groups"] = ExampleGroups(**groups, design_effect=arrays["design_effect"])
                similarity = SimilarityResult(
                    names=tuple(record.pop("names")),
                    n_examples=record.pop("n"),
                    **{f: arrays.get(f"similarity_{f}") for f in _SIMILARITY},  # type: ignore[arg-type]
                )
                pool = PoolResult(
                    similarity=similarity,
                    cover=CoverCurve(**{f: arrays[f"cover_{f}"] for f in _COVER}),
                    neighbours=neighbours,
                    **{f: arrays.get(f"pool_{f}") for f in _POOL},  # type: ignore[arg-type]
                    **kept,
                )
            equal = record.pop("equal")
            record["equal"] = None if equal is None else TestableModels(**equal)
            record["testable"] = TestableModels(**record["testable"])
            record["notes"] = tuple(record["notes"])
            record["needed"] = Needed(**record["needed"])
            record |= {name: Fraction(record[name]) for name in ("exact_error", "exact_similarity")}
            return cls(pool=pool, **record)
        except Exception as error:
            raise InputError(f"{path}.npz is not a saved budget: {error!r}.") from error


_PLAIN = ("n_models", "n_examples", "examples_each", "mean_error", "mean_similarity", "independent_similarity",
          "epsilon", "delta", "seed", "source", "data_digest", "version", "notes")  # fmt: skip
_SIMILARITY = ("wrong", "observed", "both_wrong", "common", "first_wrong", "second_wrong", "difficulty")
_POOL = ("low", "high", "order", "ranks", "difficulty_forecast")
_COVER = ("eta", "size")


def _tuples(plain: dict[str, Any]) -> dict[str, Any]:
    """What JSON made lists of."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()}


def count_text(count: int | None) -> str:
    """A number of models in words.

    Examples
    --------
    >>> count_text(1062137), count_text(10**18), count_text(None)
    ('1,062,137', 'over 10^18', 'undefined')
    """
    if count is None:
        return "undefined"
    return "over 10^18" if count >= LARGEST else f"{count:,}"


def examples_text(count: int | None, *, bare: bool = False) -> str:
    """A number of examples in words.

    Examples
    --------
    >>> examples_text(8526), examples_text(None), examples_text(8526, bare=True)
    ('8,526 examples', 'over 10^12 examples', '8,526')
    """
    number = "over 10^12" if count is None else f"{count:,}"
    return number if bare else f"{number} {'example' if count == 1 else 'examples'}"


def _gap_text(need: Needed) -> str:
    if not math.isfinite(need.gap_now):
        return "none, with so few examples or groups"
    parting = f"parting on {100 * need.disagreement:.3g} % of examples"
    return f"{need.gap_now:.4f}   (two models named beforehand, {100 * need.power:g} % power, {parting})"


def first_lines(pool: PoolResult, sure: str) -> list[str]:
    """Who may be first, and what the winner's score is worth."""
    first = pool.names(pool.top[1])
    k = len(pool.order)
    told = f"May be first, at {sure}: {len(first):,} of {k:,} ({list_names(first, NAMED)})."
    wider = [f"top {t}: {len(pool.top[t]):,}" for t in TOPS if 1 < t < k]
    if wider:
        told += f" May be among the {', among the '.join(wider)}."
    w = pool.winner
    if math.isfinite(w.expected_drop):
        worth = (
            f"The winner, {w.name}, is right on {w.score:.4f}. It was chosen for that: on as many fresh examples a "
            f"winner like it drops by {w.expected_drop:.4f} on average, to {w.corrected:.4f}."
        )
    else:
        worth = f"What the winner, {w.name}, will lose on fresh examples cannot be told from so few {pool.unit}."
    return [*textwrap.wrap(told, TERMINAL), *textwrap.wrap(worth, TERMINAL)]


def _adjusted_lines(adjusted: Adjusted) -> list[str]:
    """Similarity with chance taken off."""
    others = [
        f"{value:.4f} of {what}"
        for what, value in (("answers", adjusted.answers), ("probabilities", adjusted.probabilities))
        if math.isfinite(value)
    ]
    if not math.isfinite(adjusted.right):
        return []
    rest = f"; {', '.join(others)}" if others else ""
    return [_line("the same, less chance", f"{adjusted.right:.4f}   (kappa of right and wrong{rest})")]


def noise_lines(pool: PoolResult) -> list[str]:
    """What wrong labels would do, in sentences; nothing where it was not asked for."""
    told = []
    if (noise := pool.label_noise) is not None:
        told += noise_sentences(noise)
    if (second := pool.second_labels) is not None:
        told += second_sentences(second)
    return [line for sentence in told for line in ("", *textwrap.wrap(sentence, TERMINAL))]


def noise_sentences(noise: LabelNoise) -> list[str]:
    """If a stated share of labels is wrong."""
    share = f"{100 * noise.share:g} % of the labels ({noise.n_wrong:,})"
    at_random = (
        f"If {share} are wrong at random, true errors are (error - {noise.share:g}) / {noise.factor:.4g}: the order "
        f"stays, differences are {1 / noise.factor:.3g} times as large, the error bar for all is "
        f"±{noise.error_bar_random:.5f} instead of ±{noise.error_bar:.5f}, and {count_text(noise.models_random)} "
        f"models like these fit at ±{noise.epsilon:g} instead of {count_text(noise.models)}."
    )
    if noise.too_good:
        names = list_names(list(noise.too_good), NAMED)
        at_random += f" Fewer errors than wrong labels: {names}; there, labels are not wrong at random, or fewer are."
    fit = "model fits" if noise.models_worst == 1 else "models fit"
    worst = (
        f"Wherever the wrong labels are, every true error is within ±{noise.error_bar_worst:.5f}, and "
        f"{count_text(noise.models_worst)} {fit} at ±{noise.epsilon:g}."
    )
    if noise.n_significant is not None:
        worst += f" Of {noise.n_significant:,} pairs told apart {noise.n_significant_worst:,} stay so."
    worst += f" The first keeps its lead over the second below {100 * noise.first_safe_below:.3g} % of wrong labels."
    return [at_random, worst]


def second_sentences(second: SecondLabels) -> list[str]:
    """What a second set of labels says."""
    moved = max(abs(a - b) for a, b in zip(second.ranks, second.second_ranks, strict=True))
    change = [b - a for a, b in zip(second.errors, second.second_errors, strict=True)]
    interval = f"{100 * (1 - second.level):g} %: {100 * second.low:.2f} to {100 * second.high:.2f} %"
    return [
        f"By the second labels ({second.source}) {second.n_changed:,} of {second.n_examples:,} labels are others "
        f"({100 * second.share:.2f} %, {interval}). Errors change by "
        f"{min(change):+.4f} to {max(change):+.4f}, places by {moved} at most (Kendall's tau {second.kendall:.3f}). Of "
        f"{second.n_significant:,} pairs told apart by the first labels {second.n_both:,} are by the second, the same "
        f"way, {second.n_turned:,} the other way round; the second tell {second.n_second:,} apart."
    ]


def _bar_lines(pool: PoolResult, sure: str) -> list[str]:
    """The error bar that holds for all, and what groups cost."""
    s = pool.similarity
    bar = f"{f'all {s.n_models:,} within, at {sure}':28s} ±{pool.epsilon['similarity']:.5f}"
    if pool.example_groups is None:
        lines = [f"{bar}   (union bound ±{pool.epsilon['union']:.5f})"]
    else:
        lines = [bar, *_group_lines(pool.example_groups, s.n_examples)]
    return lines


def _pool_lines(pool: PoolResult, sure: str) -> list[str]:
    s, lines = pool.similarity, []
    if s.below_chance:
        lines.append(f"pairs less alike than chance {s.below_chance:,} of {s.n_pairs:,}")
    if pool.n_missing:
        lines.append(f"missing answers              {pool.n_missing:,}, left out (they must be missing by chance)")
    lines += ["", f"{'':4s}{'model':32s} {'error':>7s}  {'interval, all at once':21s}  {'rank':>9s}"]
    beaten = {c.better for c in pool.neighbours if c.survives}
    for row, i in zip(pool.models()[:SHOWN], pool.order.tolist(), strict=False):
        name = row["name"] if len(row["name"]) <= 32 else row["name"][:31] + "…"
        rank = f"{row['rank_low']} to {row['rank_high']}" if "rank_low" in row else ""
        lines.append(
            f"{row['place']:3d} {name:32s} {row['error']:7.4f}  {row['low']:.4f} to {row['high']:.4f}       {rank:>9s}"
            + ("   significantly better than the next" if i in beaten else "")
        )
    if s.n_models > SHOWN:
        lines.append(f"    ... and {s.n_models - SHOWN:,} more (--json or the report)")
    survive, contradicted = (sum(getattr(c, x) for c in pool.neighbours) for x in ("survives", "contradicted"))
    over = f"over {s.n_pairs:,} pairs, " if s.n_pairs > 1 else ""
    told = (
        f"Differences between neighbours that are significant: {survive} of {len(pool.neighbours)} (paired, "
        f"family-wise {sure} {over}for independent {pool.unit})."
    )
    if pool.n_significant is not None and s.n_pairs > len(pool.neighbours):
        told += f" Of all pairs: {pool.n_significant:,} of {s.n_pairs:,}."
    lines += textwrap.wrap(told, TERMINAL)
    tied = sum(len(group) > 1 for group in pool.groups)
    if tied:
        lines.append(f"Bands of two or more models, none of which can be told from its first: {tied}.")
    if contradicted:
        lines.append(f"Neighbours the other way round on the examples both have: {contradicted}.")
    return [*lines, *first_lines(pool, sure)]


def _group_lines(groups: ExampleGroups, n: int) -> list[str]:
    """What the groups are and what they cost."""
    sizes = f"{groups.smallest:,} to {groups.largest:,}" if groups.smallest < groups.largest else f"{groups.largest:,}"
    of = f" ({groups.named})" if groups.named is not None else ""
    lines = [_line("groups of examples", f"{groups.n_groups:,} of {sizes} examples{of}")]
    if groups.n_repeated:
        columns = ", ".join(groups.repeated_in)
        told = f"{groups.n_repeated:,} examples share theirs ({columns}) with another: put into one group"
        lines.append(_line("repeated inputs", told))
    if math.isfinite(groups.median_effect):
        effects = f"{groups.median_effect:.2f} (median over models), {groups.largest_effect:.2f} (largest)"
        worth = f"{n:,} examples are worth about {n / max(1.0, groups.median_effect):,.0f}"
        lines.append(_line("design effect", f"{effects}: {worth}"))
    return lines


def _line(name: str, value: str) -> str:
    """A name and what it is, in the columns of the numbers above."""
    return f"{name:28s} {value}"


def _epsilon_dict(pool: PoolResult | None) -> dict[str, float | None]:
    """The pool's error bars; similarity's is None where only the union bound is given."""
    if pool is None:
        return {"union": None, "similarity": None}
    return {**pool.epsilon, "similarity": pool.epsilon["similarity"] if pool.example_groups is None else None}


def _assumption_dict(pool: PoolResult | None) -> dict[str, Any] | None:
    return None if pool is None or pool.assumption is None else pool.assumption.to_dict(pool.similarity.names)


def _pool_dict(pool: PoolResult) -> dict[str, Any]:
    s = pool.similarity
    names = s.names
    return {
        "level": dict(pool.level),
        "independent": pool.unit,
        "n_pairs": s.n_pairs,
        "n_significant": pool.n_significant,
        "pairs_significant": pool.n_significant,
        "pairs_below_chance": s.below_chance,
        "n_missing": pool.n_missing,
        "right_for_all": float(s.difficulty[0] / s.n_complete) if s.n_complete else None,
        "wrong_for_all": float(s.difficulty[-1] / s.n_complete) if s.n_complete else None,
        "neighbours": [
            {
                "better": names[c.better],
                "worse": names[c.worse],
                "better_only": c.better_only,
                "worse_only": c.worse_only,
                "log_p_value": c.log_p_value,
                "log_adjusted": c.log_adjusted,
                "survives": c.survives,
                "contradicted": c.contradicted,
            }
            for c in pool.neighbours
        ],
        "groups": [[names[i] for i in group] for group in pool.groups],
        "cover": pool.cover.to_dict(),
        "theorem2": {k: None if math.isnan(v) else v for k, v in pool.theorem2.items()},
    }
