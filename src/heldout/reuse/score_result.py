"""What a budget of scores returns: prints itself, travels as a dict, is saved as npz + JSON."""

from __future__ import annotations

import math
import textwrap
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.files import read_result, write_result
from heldout.reuse.bounds import LARGEST, TestableModels
from heldout.reuse.few import few_warnings, too_few_groups, too_few_sentence
from heldout.reuse.first import TOPS, list_names
from heldout.reuse.grouped import ExampleGroups
from heldout.reuse.needed import Needed
from heldout.reuse.result import NAMED, SHOWN, TERMINAL, count_text, examples_text
from heldout.reuse.winner import Winner
from heldout.statistics.grouped import Floats

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


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreBudgetResult:
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
    notes : tuple of str
        What else is to be known of the table: how tasks were pooled.
    """

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
    notes: tuple[str, ...] = ()

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
                "variance_between": _defined(float(self.between[i])),
                "variance_within": _defined(float(self.within[i])),
                "trial_share": _defined(float(self.trial_share[i])),
            }
            for place, i in enumerate(self.order.tolist(), start=1)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; an undefined number is None."""
        known = math.isfinite(self.median_trial_share)
        return {
            "kind": "scores",
            "n_models": self.n_models,
            "n_examples": self.n_examples,
            "mean_score": float(self.scores.mean()),
            "target": {"epsilon": self.epsilon, "delta": self.delta},
            "epsilon": {"union": self.error_bar, "similarity": None},
            "testable_models": self.testable.to_dict(),
            "further_models": {"union": self.further_models, "similarity": None, "naive_bayes": None},
            "reason": self.testable.reason,
            "needed": self.needed.to_dict(),
            "trials": {
                **{name: int(t) or None for name, t in zip(("fewest", "median", "most"), self.trials, strict=True)},
                "share_of_error_bar": self.median_trial_share if known else None,
                "with_twice_as_many": self.shrinks(2) if known else None,
                "with_endlessly_many": self.shrinks(math.inf) if known else None,
                "share_of_gap": _defined(self.pair_trial_share),
                "gap_with_twice_as_many": self.shrinks(2, pairs=True) if known else None,
            },
            "first": self.first,
            "top": {str(t): [self.names[i] for i in models] for t, models in self.top.items() if t > 1},
            "winner": self.winner.to_dict(),
            "models": self.models(),
            "pool": {
                "level": {"union": self.level, "similarity": None},
                "independent": self.unit,
                "n_pairs": self.n_pairs,
                "n_significant": self.n_significant,
                "pairs_significant": self.n_significant,
                "n_missing": self.n_missing,
                "neighbours": [
                    {**asdict(c), "better": self.names[c.better], "worse": self.names[c.worse]} for c in self.neighbours
                ],
                "groups": [[self.names[i] for i in band] for band in self.bands],
            },
            "example_groups": None if self.example_groups is None else self.example_groups.to_dict(),
            "adaptive": False,
            "notes": list(self.notes),
            "seed": self.seed,
            "source": self.source,
            "data_digest": self.data_digest,
            "version": self.version,
        }

    @property
    def unit(self) -> str:
        """What has to be independent."""
        return "examples" if self.example_groups is None else "groups"

    def trial_sentence(self) -> str:
        """What more trials would bring."""
        fewest, _, most = self.trials.tolist()
        if most <= 1:
            return "How many trials are behind a score is not known, so what more of them would bring cannot be told."
        count = f"{fewest:,} trials" if fewest == most else f"{fewest:,} to {most:,} trials"
        share = self.median_trial_share
        if not math.isfinite(share):
            return f"{count} per cell, not known one by one, so what more of them would bring cannot be told."
        between, within = (float(np.nanmedian(v)) for v in (self.between, self.within))
        twice, all_of_them = (100 * (1 - self.shrinks(m)) for m in (MORE_TRIALS, math.inf))
        text = (
            f"{count} per cell: variance {within:.4f} inside an example (one trial), {between:.4f} between examples "
            f"(medians over models). Twice as many trials would shorten the error bars by {twice:.1f} %, endlessly "
            f"many by {all_of_them:.1f} %"
        )
        if math.isfinite(self.pair_trial_share):
            gap, least = (100 * (1 - self.shrinks(m, pairs=True)) for m in (MORE_TRIALS, math.inf))
            text += f", and the gap that can be told between two models by {gap:.1f} % and {least:.1f} %"
        return f"{text}; four times as many examples would halve them."

    def __str__(self) -> str:
        sure = f"{100 * (1 - self.delta):g} %"
        lines = textwrap.wrap(self.headline(), TERMINAL)
        lines += [
            "",
            f"{'score (mean)':28s} {self.scores.mean():.4f}",
            f"{f'all {self.n_models:,} within, at {sure}':28s} ±{self.error_bar:.5f}   (union bound over {self.unit})",
        ]
        if not self.too_few:
            lines.append(f"{'models like these':28s} {count_text(self.testable.union)} fit at ±{self.epsilon:g}")
            lines += self._needed_lines(sure)
        if (groups := self.example_groups) is not None:
            lines.append(f"{'groups of examples':28s} {groups.n_groups:,} of {groups.smallest:,} to {groups.largest:,}")
        if self.n_missing:
            lines.append(f"{'missing cells':28s} {self.n_missing:,}, left out (they must be missing by chance)")
        for told in (*few_warnings(self.n_examples, self.example_groups), *self.notes):
            lines += textwrap.wrap(told, TERMINAL)
        lines += ["", *textwrap.wrap(f"Trials: {self.trial_sentence()}", TERMINAL)]
        lines += ["", f"{'':4s}{'model':32s} {'score':>7s}  {'interval, all at once':21s}  {'rank':>9s}"]
        beaten = {c.better for c in self.neighbours if c.survives}
        for row, i in zip(self.models()[:SHOWN], self.order.tolist(), strict=False):
            name = row["name"] if len(row["name"]) <= 32 else row["name"][:31] + "…"
            rank = f"{row['rank_low']} to {row['rank_high']}"
            lines.append(
                f"{row['place']:3d} {name:32s} {row['score']:7.4f}  {row['low']:.4f} to {row['high']:.4f}"
                f"       {rank:>9s}" + ("   significantly better than the next" if i in beaten else "")
            )
        if self.n_models > SHOWN:
            lines.append(f"    ... and {self.n_models - SHOWN:,} more (--json or the report)")
        lines += ["", *textwrap.wrap(self.pairs_sentence(), TERMINAL), *textwrap.wrap(self.first_sentence(), TERMINAL)]
        return "\n".join([*lines, "", *textwrap.wrap(self.rests_on(), TERMINAL)])

    def needed_text(self) -> str:
        """How many examples are needed, alone."""
        sure = f"{100 * (1 - self.delta):g} %"
        lines = [f"This test set has {self.n_examples:,} examples, {self.n_models:,} models with scores.", ""]
        lines.append(f"{f'all {self.n_models:,} within, at {sure}':28s} ±{self.error_bar:.5f}")
        lines += textwrap.wrap(self.headline(), TERMINAL) if self.too_few else self._needed_lines(sure)
        for told in few_warnings(self.n_examples, self.example_groups):
            lines += textwrap.wrap(told, TERMINAL)
        return "\n".join([*lines, "", *textwrap.wrap(self.trial_sentence(), TERMINAL)])

    def _needed_lines(self, sure: str) -> list[str]:
        return [f"{name:28s} {value}" for name, value in self.needed_facts(sure)]

    def needed_facts(self, sure: str) -> list[tuple[str, str]]:
        """Examples for the error bar and for a gap, and the gap that can be told now."""
        need = self.needed
        told = "none, with so few examples"
        if math.isfinite(need.gap_now):
            told = f"{need.gap_now:.4f}   (two models named beforehand, at {sure}, {100 * need.power:g} % power)"
        facts = [
            (
                f"examples for ±{need.epsilon:g}",
                f"{examples_text(need.examples_for_epsilon, bare=True)}   (all {need.n_models:,} models like these at "
                f"once, at {sure})",
            ),
            ("gap that can be told now", told),
            (f"examples for a gap of {need.gap:g}", examples_text(need.examples_for_gap, bare=True)),
        ]
        if need.first_gap is not None:
            examples = examples_text(need.examples_for_first, bare=True)
            facts.append(("examples, first from second", f"{examples}   ({need.first_gap:.4g} apart)"))
        return facts

    def headline(self) -> str:
        """The answer in a sentence or two."""
        if self.example_groups is not None and self.too_few:
            return too_few_sentence(self.example_groups, self.n_models, self.error_bar)
        within = f"±{self.error_bar:.3g}"
        text = (
            f"These {self.n_examples:,} examples measure the mean scores of all {self.n_models:,} models to within "
            f"{within}, all at once, with {100 * (1 - self.delta):g} %."
        )
        fit, left = self.testable.union, self.further_models
        if fit == 0:
            return f"{text} They cannot measure even one to within ±{self.epsilon:g}."
        more = f"{count_text(left)} more fit" if left else "no more fit"
        return f"{text} To within ±{self.epsilon:g} they can measure {count_text(fit)} like these: {more}."

    def pairs_sentence(self) -> str:
        """How many differences are significant."""
        survive = sum(c.survives for c in self.neighbours)
        return (
            f"Significant differences: {self.n_significant:,} of {self.n_pairs:,} pairs, {survive} of "
            f"{len(self.neighbours)} between neighbours (paired over {self.unit}, family-wise "
            f"{100 * (1 - self.delta):g} % by Holm)."
        )

    def first_sentence(self) -> str:
        """Who may be first, and what the winner's score is worth."""
        first, w = self.first, self.winner
        sure = f"{100 * (1 - self.delta):g} %"
        text = f"May be first, at {sure}: {len(first):,} of {self.n_models:,} ({list_names(first, NAMED)})."
        wider = [f"top {t}: {len(self.top[t]):,}" for t in TOPS if 1 < t < self.n_models]
        if wider:
            text += f" May be among the {', among the '.join(wider)}."
        if not math.isfinite(w.expected_drop):
            return f"{text} What the winner will lose on fresh examples cannot be told from so few {self.unit}."
        return (
            f"{text} The winner, {w.name}, has {w.score:.4f}. It was chosen for that: on as many fresh examples a "
            f"winner like it drops by {w.expected_drop:.4f} on average, to {w.corrected:.4f}."
        )

    def rests_on(self) -> str:
        """The conditions, always at the end."""
        return (
            f"Error bars are over {self.unit}, which must be independent; the trials of an example are kept together. "
            "They hold for models chosen without looking at this test set; a model tuned on it is not covered. What "
            "is for right and wrong only (similarity, attacks) needs --threshold 0.5."
        )

    def save(self, path: str | Path) -> None:
        """Write `path`.npz (everything) and `path`.json (what `to_dict` gives)."""
        values = dict(vars(self))
        arrays = {name: values.pop(name) for name in _ARRAYS}
        values["testable"] = asdict(self.testable)
        values["neighbours"] = [asdict(c) for c in self.neighbours]
        values |= {"winner": asdict(self.winner), "needed": asdict(self.needed)}
        if (groups := values["example_groups"]) is not None:
            arrays["design_effect"] = groups.design_effect
            values["example_groups"] = {k: v for k, v in vars(groups).items() if k != "design_effect"}
        write_result(path, plain=self.to_dict(), record={"scores": True, **values}, arrays=arrays)

    @classmethod
    def load(cls, path: str | Path) -> ScoreBudgetResult:
        """Read what `save` wrote; every number comes back to the last bit."""
        record, arrays = read_result(path)
        try:
            del record["scores"]
            effect = arrays.pop("design_effect", None)
            if (groups := record["example_groups"]) is not None and effect is not None:
                groups["repeated_in"] = tuple(groups["repeated_in"])
                record["example_groups"] = ExampleGroups(**groups, design_effect=effect)
            record["testable"] = TestableModels(**record["testable"])
            record["neighbours"] = tuple(ScoreComparison(**c) for c in record["neighbours"])
            record["bands"] = tuple(tuple(band) for band in record["bands"])
            record["names"], record["notes"] = tuple(record["names"]), tuple(record["notes"])
            record["top"] = {int(top): tuple(models) for top, models in record["top"].items()}
            record["winner"], record["needed"] = Winner(**record["winner"]), Needed(**record["needed"])
            return cls(**record, **arrays)  # type: ignore[arg-type]
        except Exception as error:
            raise InputError(f"{path}.npz is not a saved budget of scores: {error!r}.") from error


_ARRAYS = ("scores", "low", "high", "n_observed", "order", "ranks", "trials", "between", "within", "trial_share")


def _defined(value: float) -> float | None:
    return value if math.isfinite(value) else None
