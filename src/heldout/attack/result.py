"""What a stress test returns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.attack.public import PublicSplit
from heldout.report import Result
from heldout.results import Record, today

COLUMNS = (  # of a run in a frame
    "attack", "answers", "n_examples", "n_classes", "trials", "baseline", "queries", ("accuracy", "mean"), "std",
    "advantage", "forecast", "upper_bound",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Noticed:
    """Something that was noticed during a run, with its numbers.

    Parameters
    ----------
    kind : str
        "refuted", "commonest", "scan_better", "unseen_step", "reconstructed" or "bayes_better".
    values : dict
        What its sentence tells.
    """

    kind: str
    values: dict[str, float | int | str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StressRun(Record):
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
        True accuracy on all examples after so many answers, one row per trial; the mean in the JSON.
    starts : (trials,) float
        Accuracy of the guess that each trial starts from; 1/m where it starts from none. Gains are counted from here.
    chance : float
        What that was expected to be: 1/m without prior knowledge.
    forecast : (c,) float
        Expected accuracy, computed and not simulated; NaN where that is not possible.
    upper_bound : (c,) float
        Accuracy that no attack whatever passes with probability 1 - delta, by the exact tail; 1 where that excludes
        nothing, NaN where the mechanism's answers cannot be counted or the given labels refute the prior.
    theorem_bound : (c,) float
        The same by Theorem 3.1 as printed; NaN with a prior, which it does not know.
    noticed : tuple of Noticed
        `notes` has them in words.

    Examples
    --------
    >>> from heldout import stress
    >>> run = stress(500, 2, queries=100, trials=2).run
    >>> run.attack, run.queries.tolist()[-1], run.accuracy.shape == (2, len(run.queries))
    ('nb', 100, True)
    """

    unlisted = ("chosen", "parked", "starts")
    derived = (
        ("accuracy", "mean"), ("chosen_by_forecast", "chosen"), ("on_rounding_edge", "parked"), "trials", "baseline",
        "std", "advantage", "forecast_gain", "notes",
    )  # fmt: skip

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
    noticed: tuple[Noticed, ...] = ()
    chosen: bool = False
    parked: bool = False

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

    @property
    def notes(self) -> tuple[str, ...]:
        """What was noticed, one sentence each."""
        from heldout.attack.summary import NOTES

        return tuple(NOTES[note.kind].format(**note.values) for note in self.noticed)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StressResult(Result):
    """How far somebody could game a leaderboard.

    Its tables (`to_frame`) are "queries", one row per number of answers, and "by_attack", "by_digits" and "by_classes",
    the same rows for all that was compared, where something was.

    Parameters
    ----------
    run : StressRun
        What was asked for; "curve" in the JSON.
    by_attack, by_digits, by_classes : tuple of StressRun
        The same with other attacks, with answers of other digits, with other numbers of classes; each contains `run`
        itself, or is empty where nothing was compared.
    expected_bound : float
        What no attack passes on average (after Remark 3.2), exact answers and no prior; else NaN.
    reach : dict of float to int
        Answers that bring so much more accuracy than the baseline, by the forecast without prior; empty with one.
    regime : dict
        Section 4 for this n, m and k, without a prior: "k_min" = ln n + m ln m and "rate" = sqrt(k/n)/m of Theorem 4.3
        without its constants, "theorem_4_3_applies"; "reconstructable", the points that Theorem 4.5 says can be
        recovered exactly, "theorem_4_5_queries", the queries for them; "corollary_4_6_applies", k >= 40 m ln m or not,
        and "corollary_4_6_accuracy", what those points make.
    gain_on_fourfold : float
        What as many answers are expected to give away on a test set four times as large; NaN where the forecast is not
        for all examples, exact answers and no prior.
    seed : int
    delta : float
        Probability that an attack passes the upper bound.
    labels, prior : str
        Where they came from: "uniform at random", "given", ...
    source : str
        The files, or the numbers.
    data_digest, version, created : str
        A hash of labels and prior; what made the result, and when.
    public : PublicSplit or None
        Where answers are about a public part only: `run` is of an analyst who knows it, this of one who does not.

    Examples
    --------
    >>> from heldout import stress
    >>> result = stress(500, 2, queries=100, trials=2)
    >>> result.run.baseline, result.advantage > 0.05, result.upper_bound
    (0.5, True, 1.0)
    """

    told_by = "heldout.attack.summary:summarise"
    unlisted = ("run", "reach")
    derived = (
        "accuracy", "advantage", "std", "forecast", "upper_bound", ("upper_bound_vacuous", "run.vacuous"),
        "theorem_bound", "run.baseline", "run.chance", "queries", "run.n_examples", "run.n_classes", "run.attack",
        "run.answers", "run.digits", "run.points", "run.top", ("chosen_by_forecast", "run.chosen"),
        ("on_rounding_edge", "run.parked"), "run.trials", ("curve", "run"), ("queries_to_reach", "reach"), "run.notes",
    )  # fmt: skip

    tabled: ClassVar = {
        "queries": ("run", COLUMNS), **{name: (name, COLUMNS) for name in ("by_attack", "by_digits", "by_classes")},
    }  # fmt: skip

    run: StressRun
    by_attack: tuple[StressRun, ...]
    by_digits: tuple[StressRun, ...]
    by_classes: tuple[StressRun, ...]
    expected_bound: float
    reach: dict[float, int]
    regime: dict[str, float]
    gain_on_fourfold: float = math.nan
    seed: int
    delta: float
    labels: str
    prior: str | None
    source: str
    data_digest: str | None
    version: str
    created: str = field(default_factory=today)
    public: PublicSplit | None = None

    @property
    def queries(self) -> int:
        """Answers handed out."""
        return int(self.run.queries[-1])

    @property
    def accuracy(self) -> float:
        """Mean accuracy after all answers."""
        return float(self.run.mean[-1])

    @property
    def advantage(self) -> float:
        """What all answers together gave away."""
        return float(self.run.advantage[-1])

    @property
    def std(self) -> float:
        """Standard deviation of that over the trials; NaN for one trial."""
        return float(self.run.std[-1])

    @property
    def forecast(self) -> float:
        """Accuracy that was to be expected after all answers; NaN where it is not computed."""
        return float(self.run.forecast[-1])

    @property
    def upper_bound(self) -> float:
        """Accuracy that no attack passes after all answers; 1: excludes nothing, NaN: unknown."""
        return float(self.run.upper_bound[-1])

    @property
    def theorem_bound(self) -> float:
        """The same by Theorem 3.1 as printed."""
        return float(self.run.theorem_bound[-1])
