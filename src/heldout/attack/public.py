"""A leaderboard with a hidden half: answers are about a public part of the test set, the prize about the rest.

Two analysts. One knows which examples are public, attacks these, and leaves its guess elsewhere: it gains on the public
part what `stress` says of a test set of that size, and nothing on the private part. The other does not know, asks about
all examples, and puts the answers together as if they were about all. At a private example its votes are noise: without
a prior the labels it ends with there are as good as any, with one they replace a better guess, so that it loses.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heldout.attack.kept import KeptTrials, Replay
from heldout.attack.knowledge import without_prior
from heldout.attack.linear_scan import LinearScan, scan_until
from heldout.attack.oracle import AccuracyOracle, Exact, is_maker, made_by
from heldout.attack.outlook import VOTES
from heldout.attack.task import Task
from heldout.checkpoints import Checkpoint
from heldout.checks import check_share
from heldout.errors import InputError
from heldout.results import Record

Floats = NDArray[np.float64]

NEGLIGIBLE = 0.0005  # a public gain of which no share can be told


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PublicSplit(Record):
    """What an analyst who does not know which examples are public gains on both parts, one number per trial.

    Parameters
    ----------
    share : float
        Of the examples that is public, as asked for.
    n_public, n_private : int
        Examples of both parts.
    public, private : (trials,) float
        Gains in accuracy after all answers; empty where the attack has to know what it attacks (reconstruction).
    face_value : bool
        Answers are rounded, and this analyst takes them at face value.
    """

    unlisted = ("public", "private")
    derived = ("gain_public", "gain_private", "std_public", "std_private", "transfers", "transfers_error")

    share: float
    n_public: int
    n_private: int
    public: Floats
    private: Floats
    face_value: bool = False

    @property
    def gain_public(self) -> float:
        """Mean gain on the part that the answers are about; NaN where it was not simulated."""
        return float(self.public.mean()) if len(self.public) else math.nan

    @property
    def gain_private(self) -> float:
        """Mean gain on the rest."""
        return float(self.private.mean()) if len(self.private) else math.nan

    @property
    def transfers(self) -> float:
        """Share of the public gain that is there on the private part, too; NaN without a public gain worth the name."""
        return self.gain_private / self.gain_public if self.gain_public >= NEGLIGIBLE else math.nan

    @property
    def transfers_error(self) -> float:
        """Standard error of `transfers` over the trials, by linearisation; NaN for fewer than two."""
        if len(self.public) < 2 or math.isnan(self.transfers):
            return math.nan
        rest = self.private - self.transfers * self.public
        return float(rest.std(ddof=1) / math.sqrt(len(rest)) / self.gain_public)

    @property
    def std_public(self) -> float:
        """Standard deviation of the public gain over the trials; NaN for fewer than two."""
        return _std(self.public)

    @property
    def std_private(self) -> float:
        """The same on the rest."""
        return _std(self.private)


def _std(gains: Floats) -> float:
    return float(gains.std(ddof=1)) if len(gains) > 1 else math.nan


def split_public(task: Task, share: float) -> tuple[Task, int]:
    """The public part as a task of its own, for an analyst who knows it; and its size."""
    check_share(share, "public")
    n_public = round(share * task.n)
    if not 1 <= n_public < task.n:
        raise InputError(
            f"`public` is {share:g}, which makes {n_public:,} of {task.n:,} examples public; both parts need some."
        )
    shown = _mask(task, n_public)
    points = None if task.points is None else min(n_public, max(1, round(task.points * share)))
    part = replace(
        task,
        n=n_public,
        labels=None if task.labels is None else task.labels[shown],
        prior=None if task.prior is None else task.prior[shown],
        points=points,
    )
    return part, n_public


def _mask(task: Task, n_public: int, trial: int = 0) -> NDArray[np.bool_]:
    rng = np.random.default_rng([task.seed, trial, n_public])
    shown = np.zeros(task.n, dtype=bool)
    shown[rng.permutation(task.n)[:n_public]] = True
    return shown


def simulate_public(
    task: Task,
    part: Task,
    share: float,
    *,
    n_jobs: int = 1,
    tell: Callable[[float], None] | None = None,
    kept: KeptTrials | None = None,
) -> PublicSplit:
    """The analyst who does not know which examples are public, once per trial."""
    n_public = part.n
    rounded = task.digits is not None
    if task.attack == "reconstruction":
        nobody = np.zeros(0)
        return PublicSplit(
            share=share,
            n_public=n_public,
            n_private=task.n - n_public,
            public=nobody,
            private=nobody,
            face_value=rounded,
        )
    points = None if part.points is None else min(task.n, round(part.points * task.n / n_public))
    task = replace(task, top=part.top, points=points, chosen=False)
    gains = []
    trials = kept or KeptTrials(Checkpoint(None, {}, of="run"))
    for trial, seed in enumerate(task.seeds()[:-1]):
        name = f"public {trial}"
        found = trials.finished(name)
        if found is None:
            rng = np.random.default_rng(seed.spawn(2)[1])
            found = {"gains": _trial(task, _mask(task, n_public, trial + 1), rng, n_jobs, trials.replay(name))}
            trials.finish(name, **found)
        gains.append(found["gains"])
        if tell is not None:
            tell(task.queries)
    public, private = np.array(gains).T
    return PublicSplit(
        share=share, n_public=n_public, n_private=task.n - n_public, public=public, private=private, face_value=rounded
    )


def _trial(task: Task, shown: NDArray[np.bool_], rng: np.random.Generator, n_jobs: int, replay: Replay) -> Floats:
    """(2,) gains on both parts."""
    labels = task.draw_labels(rng) if task.labels is None else task.labels
    given = task.mechanism
    oracle = AccuracyOracle(labels, made_by(given, rng) if is_maker(given) else copy.deepcopy(given), public=shown)
    seed = int(rng.integers(2**63))

    def accuracies(predicted: NDArray[np.int64]) -> Floats:
        right = predicted == labels
        return np.array([right[shown].mean(), right[~shown].mean()])

    if task.attack == "linear-scan":
        scan = LinearScan(task.n, task.m, seed=seed)
        start = accuracies(scan.predict())
        return accuracies(scan_until(scan, oracle, task.queries, replay)) - start
    known = task.shared() or without_prior(task.n, task.m, points=task.points, rng=rng)
    start = np.full(2, 1 / task.m) if known.guess is None else accuracies(known.guess)
    analyst = VOTES[task.attack](known, seed=seed, sure=isinstance(task.mechanism, Exact), public=float(shown.mean()))
    analyst.keep(replay)
    analyst.play(oracle, task.queries, n_jobs=n_jobs)
    return accuracies(analyst.predict()) - start
