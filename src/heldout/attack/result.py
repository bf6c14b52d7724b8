"""What a stress test returns: prints itself, travels as a dict, is saved as npz + JSON."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.attack.public import PublicSplit
from heldout.errors import InputError
from heldout.files import read_result, write_result

TERMINAL = 118  # characters
LITTLE = 0.0005  # a gain that is hardly one
TITLES = {
    "nb": "naive Bayes",
    "majority": "majority vote",
    "plurality": "plurality above 1 sd",
    "linear-scan": "linear scan",
    "reconstruction": "reconstruction",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class StressRun:
    """One attack on one oracle, simulated several times, with what was to be expected.

    Parameters
    ----------
    attack : str
        "nb", "majority", "plurality", "linear-scan" or "reconstruction".
    n_examples, n_classes : int
        The test set.
    answers : str
        What the oracle says: "exact", "2 digits", or the name of another mechanism.
    digits : int or None
        Digits of a rounded answer.
    points : int
        Examples that are attacked; the others keep the best guess there was.
    top : int or None
        Labels that are considered at each of them; None: all classes.
    chosen : bool
        Whether `points` and `top` were chosen by forecast, from the prior and without labels.
    parked : bool
        Whether naive Bayes kept the accuracy on a rounding edge, as it does where answers are rounded.
    queries : (c,) int
        Numbers of answers, growing; the last is what was asked for.
    accuracy : (trials, c) float
        True accuracy on all examples after so many answers, one row a trial.
    starts : (trials,) float
        Accuracy of the guess that each trial starts from; 1/m where it starts from none. Gains are counted from here.
    chance : float
        What that was expected to be: 1/m without prior knowledge.
    forecast : (c,) float
        Expected accuracy, computed and not simulated; NaN where that cannot be done.
    upper_bound : (c,) float
        Accuracy that no attack whatever passes with probability 1 - delta, by the exact tail; 1 where that says
        nothing, NaN where the mechanism's answers cannot be counted or the given labels refute the prior.
    theorem_bound : (c,) float
        The same by Theorem 3.1 as printed; NaN with a prior, which it does not know.
    notes : tuple of str
        What was noticed: sentences.
    """

    attack: str
    n_examples: int
    n_classes: int
    answers: str
    digits: int | None
    points: int
    top: int | None
    queries: NDArray[np.int64]
    accuracy: NDArray[np.float64]
    starts: NDArray[np.float64]
    chance: float
    forecast: NDArray[np.float64]
    upper_bound: NDArray[np.float64]
    theorem_bound: NDArray[np.float64]
    notes: tuple[str, ...] = ()
    chosen: bool = False
    parked: bool = False

    @property
    def title(self) -> str:
        """The attack in words."""
        return ("parked " if self.parked else "") + TITLES[self.attack]

    @property
    def aim_words(self) -> str:
        """How the points and labels that are attacked were chosen, where nobody said which."""
        return "chosen by forecast, without labels" if self.chosen else ""

    @property
    def answer_words(self) -> str:
        """The answers in words."""
        if self.answers == "exact":
            return "exact answers"
        return f"answers of {self.answers}" if self.digits else f"answers by {self.answers}"

    @property
    def trials(self) -> int:
        """How often it was simulated."""
        return len(self.accuracy)

    @property
    def mean(self) -> NDArray[np.float64]:
        """(c,) mean accuracy over the trials."""
        return np.asarray(self.accuracy.mean(axis=0))

    @property
    def baseline(self) -> float:
        """Mean accuracy before any answer."""
        return float(self.starts.mean())

    @property
    def std(self) -> NDArray[np.float64]:
        """(c,) standard deviation of the gain over the trials; NaN for one trial."""
        if self.trials == 1:
            return np.full(len(self.queries), math.nan)
        return np.asarray((self.accuracy - self.starts[:, None]).std(axis=0, ddof=1))

    @property
    def advantage(self) -> NDArray[np.float64]:
        """(c,) mean accuracy less the baseline: what the answers gave away."""
        return self.mean - self.baseline

    @property
    def forecast_gain(self) -> NDArray[np.float64]:
        """(c,) what the answers are expected to give away."""
        return self.forecast - self.chance

    @property
    def vacuous(self) -> bool:
        """Whether the upper bound excludes nothing at the full number of answers."""
        return bool(self.upper_bound[-1] >= 1)

    def to_dict(self) -> dict[str, Any]:
        """The whole curve as plain data; an undefined number is None."""
        return {
            "attack": self.attack,
            "n_examples": self.n_examples,
            "n_classes": self.n_classes,
            "answers": self.answers,
            "digits": self.digits,
            "points": self.points,
            "top": self.top,
            "chosen_by_forecast": self.chosen,
            "on_rounding_edge": self.parked,
            "trials": self.trials,
            "baseline": self.baseline,
            "chance": self.chance,
            "queries": self.queries.tolist(),
            "accuracy": _plain(self.mean),
            "std": _plain(self.std),
            "advantage": _plain(self.advantage),
            "forecast": _plain(self.forecast),
            "forecast_gain": _plain(self.forecast_gain),
            "upper_bound": _plain(self.upper_bound),
            "theorem_bound": _plain(self.theorem_bound),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class StressResult:
    """How far somebody could game a leaderboard.

    Parameters
    ----------
    run : StressRun
        What was asked for.
    by_attack, by_digits, by_classes : tuple of StressRun
        The same with other attacks, with answers of other digits, with other numbers of classes; each contains `run`
        itself, or is empty where nothing was compared.
    expected_bound : float
        What no attack passes on average (after Remark 3.2), exact answers and no prior; else NaN.
    reach : dict of float to int
        Answers that bring so many points more than the baseline, by the forecast without prior; empty with one.
    regime : dict
        Section 4 for this n, m and k, without a prior: "k_min" = ln n + m ln m and "rate" = sqrt(k/n)/m of Theorem 4.3
        without its constants, "theorem_4_3_applies"; "reconstructable", the points that Theorem 4.5 says can be
        recovered exactly, "theorem_4_5_queries", the queries for them; "corollary_4_6_applies", k >= 40 m ln m or not,
        and "corollary_4_6_accuracy", what those points make.
    seed : int
    delta : float
        Probability that an attack passes the upper bound.
    labels, prior : str
        Where they came from: "uniform at random", "given", ...
    source : str
        The files, or the numbers.
    public : PublicSplit or None
        Where answers are about a public part only: `run` is of an analyst who knows it, this of one who does not.
    """

    run: StressRun
    by_attack: tuple[StressRun, ...]
    by_digits: tuple[StressRun, ...]
    by_classes: tuple[StressRun, ...]
    expected_bound: float
    reach: dict[float, int]
    regime: dict[str, float]
    seed: int
    delta: float
    labels: str
    prior: str | None
    source: str
    data_digest: str | None
    version: str
    public: PublicSplit | None = None

    @property
    def accuracy(self) -> float:
        """Mean accuracy after all answers."""
        return float(self.run.mean[-1])

    @property
    def advantage(self) -> float:
        """What all answers together gave away."""
        return float(self.run.advantage[-1])

    @property
    def queries(self) -> int:
        """Answers handed out."""
        return int(self.run.queries[-1])

    @property
    def no_bound(self) -> str:
        """Why there is no upper bound, where there is none."""
        counted = self.run.answers == "exact" or self.run.digits is not None
        return "the labels refute the prior" if counted else "the answers of this mechanism cannot be counted"

    @property
    def condition(self) -> str:
        """What the upper bound rests on."""
        return "if the prior is right" if self.prior else "if all labels are equally likely"

    @cached_property
    def headline(self) -> str:
        """The answer in one sentence."""
        run = self.run
        answers = "answers" if run.answers == "exact" else run.answer_words
        analyst = "this analyst" if run.attack == "nb" else f"this analyst ({run.title})"
        if self.queries == 1:
            answers = answers.replace("answers", "answer", 1)
        part = "" if self.public is None else " on the public part"
        text = f"After {self.queries:,} {answers} {analyst} {gain_words(self.advantage)}{part}"
        if self.advantage < -LITTLE:
            text += ": the guess it starts from is better than what comes out"
        coarser = [r for r in self.by_digits if r.digits == 2 and run.digits is None]
        if coarser and self.advantage >= LITTLE:
            gain = float(coarser[0].advantage[-1])
            text += f", with two-digit answers {gain_words(gain, again=True)}"
        return f"{text}{self._public_words()}."

    def _public_words(self) -> str:
        """What an analyst gains on both parts who does not know which is which."""
        split = self.public
        if split is None or not len(split.public):
            return ""
        private = f"{gain_words(split.gain_private)} on the private one"
        if len(split.private) > 1:
            error = float(split.private.std(ddof=1)) / math.sqrt(len(split.private))
            if abs(split.gain_private) <= 2 * error:
                private = "nothing that can be told from chance on the private one"
        return f"; not knowing which examples are public, it {gain_words(split.gain_public)} there and {private}"

    def __str__(self) -> str:
        run = self.run
        std, forecast = run.std[-1], run.forecast[-1]
        spread = "" if math.isnan(std) else f"   (sd {std:.4f} over {run.trials} trials)"
        attacked = "all" if run.points == run.n_examples else f"{run.points:,} of {run.n_examples:,}"
        labels = f"all {run.n_classes:,}" if run.top is None else f"{run.top} of {run.n_classes:,}"
        moves = "answering some examples wrongly on purpose" if self.prior else "keeping labels fixed at some examples"
        lines = [
            *textwrap.wrap(self.headline, TERMINAL),
            "",
            f"attack               {run.title}, {run.answer_words}",
            f"test set             {run.n_examples:,} examples, {run.n_classes:,} classes, labels {self.labels}",
            f"attacked             {attacked} examples, {labels} labels each"
            + (f" ({run.aim_words})" if run.aim_words else "")
            + (f"; prior: {self.prior}" if self.prior else ""),
            *[f"parked               on a rounding edge, by {moves}"] * run.parked,
            f"accuracy before      {run.baseline:.4f}",
            f"accuracy after       {self.accuracy:.4f}",
            f"advantage            {self.advantage:+.4f}{spread}",
            "forecast             " + ("none for such answers" if math.isnan(forecast) else f"{forecast:.4f}"),
            "nobody passes        " + self._bound_words(),
        ]
        lines += self._public_lines()
        if self.reach:
            steps = ", ".join(f"+{100 * a:g} {'point' if a == 0.01 else 'points'} {k:,}" for a, k in self.reach.items())
            lines += [f"answers needed       {steps}   (naive Bayes, exact answers, forecast)"]
        for title, runs in (("other attacks", self.by_attack), ("other answers", self.by_digits)):
            others = [r for r in runs if r is not run]
            if others:
                names = (r.title if runs is self.by_attack else r.answers for r in others)
                gains = ", ".join(
                    f"{name} {r.advantage[-1]:+.4f}"
                    + ("" if r.queries[-1] == self.queries else f" ({r.queries[-1]:,} answers)")
                    for name, r in zip(names, others, strict=True)
                )
                lines += textwrap.wrap(gains, TERMINAL, initial_indent=f"{title:20s} ", subsequent_indent=" " * 21)
        for note in run.notes:
            lines += ["", *textwrap.wrap(note, TERMINAL)]
        return "\n".join(lines)

    def _public_lines(self) -> list[str]:
        split = self.public
        if split is None:
            return []
        lines = [f"public part          {split.n_public:,} examples, all of the above; {split.n_private:,} are private"]
        if not len(split.public):
            return [*lines, "who does not know it cannot reconstruct its labels"]
        plain = split.to_dict()
        spreads = ["" if plain[f"std_{part}"] is None else f" (sd {plain[f'std_{part}']:.4f})" for part in _PARTS]
        error = "" if math.isnan(split.transfers_error) else f" ± {100 * split.transfers_error:.1f}"
        share = "none to speak of" if math.isnan(split.transfers) else f"{100 * split.transfers:.1f}{error} %"
        taken = ", answers taken at face value" if split.face_value else ""
        return [
            *lines,
            f"not knowing it       {split.gain_public:+.4f}{spreads[0]} on the public part, {split.gain_private:+.4f}"
            f"{spreads[1]} on the private one{taken}",
            f"share that transfers {share}",
        ]

    def _bound_words(self) -> str:
        bound, theorem = self.run.upper_bound[-1], self.run.theorem_bound[-1]
        if math.isnan(bound):
            return f"unknown: {self.no_bound}"
        if bound >= 1:
            return f"vacuous: with {self.queries:,} such answers no accuracy below 1 is excluded"
        printed = (
            "" if math.isnan(theorem) else f"; Theorem 3.1 {theorem:.4f}" if theorem < 1 else "; Theorem 3.1 vacuous"
        )
        return f"{bound:.4f}   (with probability {1 - self.delta:g} {self.condition}{printed})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; an undefined number is None."""
        run = self.run
        return {
            "accuracy": self.accuracy,
            "advantage": self.advantage,
            "std": _number(run.std[-1]),
            "forecast": _number(run.forecast[-1]),
            "upper_bound": _number(run.upper_bound[-1]),
            "upper_bound_vacuous": run.vacuous,
            "theorem_bound": _number(run.theorem_bound[-1]),
            "expected_bound": _number(self.expected_bound),
            "baseline": run.baseline,
            "chance": run.chance,
            "queries": self.queries,
            "n_examples": run.n_examples,
            "n_classes": run.n_classes,
            "attack": run.attack,
            "answers": run.answers,
            "digits": run.digits,
            "points": run.points,
            "top": run.top,
            "chosen_by_forecast": run.chosen,
            "on_rounding_edge": run.parked,
            "trials": run.trials,
            "seed": self.seed,
            "delta": self.delta,
            "labels": self.labels,
            "prior": self.prior,
            "public": None if self.public is None else self.public.to_dict(),
            "curve": run.to_dict(),
            "by_attack": [r.to_dict() for r in self.by_attack],
            "by_digits": [r.to_dict() for r in self.by_digits],
            "by_classes": [r.to_dict() for r in self.by_classes],
            "queries_to_reach": {f"{a:g}": k for a, k in self.reach.items()},
            "regime": {key: _number(value) for key, value in self.regime.items()},
            "notes": list(run.notes),
            "source": self.source,
            "data_digest": self.data_digest,
            "version": self.version,
        }

    def save(self, path: str | Path) -> None:
        """Write `path`.npz (everything) and `path`.json (what `to_dict` gives)."""
        runs = self._runs()
        record: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN}
        record["reach"] = list(self.reach.items())
        record["regime"] = self.regime
        record["runs"] = [{name: getattr(r, name) for name in _RUN_PLAIN} for r in runs]
        for group in _GROUPS:
            record[group] = [next(i for i, r in enumerate(runs) if r is member) for member in getattr(self, group)]
        arrays = {f"{name}_{i}": getattr(r, name) for i, r in enumerate(runs) for name in _RUN_ARRAYS}
        if (split := self.public) is not None:
            record["public"] = {k: v for k, v in vars(split).items() if k not in _PARTS}
            arrays |= {f"gain_{part}": getattr(split, part) for part in _PARTS}
        write_result(path, plain=self.to_dict(), record=record, arrays=arrays)

    @classmethod
    def load(cls, path: str | Path) -> StressResult:
        """Read what `save` wrote; every number comes back to the last bit."""
        record, arrays = read_result(path)
        try:
            runs = []
            for i, plain in enumerate(record.pop("runs")):
                fields: dict[str, Any] = plain | {name: arrays[f"{name}_{i}"] for name in _RUN_ARRAYS}
                runs.append(StressRun(**(fields | {"notes": tuple(plain["notes"])})))
            groups: dict[str, Any] = {group: tuple(runs[i] for i in record.pop(group)) for group in _GROUPS}
            reach = {float(a): int(k) for a, k in record.pop("reach")}
            if (kept := record.pop("public", None)) is not None:
                record["public"] = PublicSplit(**(kept | {part: arrays[f"gain_{part}"] for part in _PARTS}))
            return cls(run=runs[0], reach=reach, **groups, **record)
        except Exception as error:
            raise InputError(f"{path}.npz is not a saved stress test: {error!r}.") from error

    def _runs(self) -> list[StressRun]:
        """All runs, each once, the main one first."""
        runs = [self.run]
        for group in _GROUPS:
            runs += [r for r in getattr(self, group) if not any(r is seen for seen in runs)]
        return runs


_PLAIN = ("expected_bound", "seed", "delta", "labels", "prior", "source", "data_digest", "version")
_PARTS = ("public", "private")
_GROUPS = ("by_attack", "by_digits", "by_classes")
_RUN_PLAIN = (
    "attack", "n_examples", "n_classes", "answers", "digits", "points", "top", "chosen", "parked",
    "chance", "notes",
)  # fmt: skip
_RUN_ARRAYS = ("queries", "accuracy", "starts", "forecast", "upper_bound", "theorem_bound")


def gain_words(advantage: float, *, again: bool = False) -> str:
    """A gain in percentage points.

    Examples
    --------
    >>> gain_words(0.0304), gain_words(0.026, again=True), gain_words(-0.0002), gain_words(-0.02)
    ('gains 3.0 points', 'still 2.6', 'loses 0.02 points', 'loses 2.0 points')
    >>> gain_words(0.0), gain_words(-0.0002, again=True)
    ('gains 0.00 points', '-0.02')
    """
    points = f"{100 * abs(advantage):.1f}" if abs(advantage) >= 0.001 else f"{100 * abs(advantage):.2f}"
    lost = advantage < 0 and points != "0.00"
    if again:
        return f"-{points}" if lost else f"still {points}" if advantage >= LITTLE else points
    return f"{'loses' if lost else 'gains'} {points} points"


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _plain(values: NDArray[np.float64]) -> list[float | None]:
    return [_number(v) for v in values.tolist()]
