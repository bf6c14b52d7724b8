"""`stress`: simulate the analysts, forecast them, and bound them all."""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout._version import __version__
from heldout.attack.bounds import (
    corollary_4_6_applies,
    expected_accuracy_bound,
    reconstructable,
    theorem_4_5_queries,
)
from heldout.attack.kept import KeptTrials, Replay
from heldout.attack.knowledge import Knowledge, without_prior
from heldout.attack.linear_scan import LinearScan, expected_scan_accuracy, scan_until
from heldout.attack.oracle import AccuracyOracle, Exact, Mechanism, MechanismMaker, Rounded, is_maker, made_by
from heldout.attack.outlook import (
    VOTES,
    bound_curves,
    expected_accuracy,
    expected_guess,
    forecast_curve,
    queries_to_reach,
    refutes,
)
from heldout.attack.public import PublicSplit, simulate_public, split_public
from heldout.attack.result import Noticed, StressResult, StressRun
from heldout.attack.task import ATTACKS, Task, make_analyst, make_task
from heldout.checkpoints import Checkpoint, begin, hash_of
from heldout.checks import check_n_jobs, check_share
from heldout.errors import import_extra
from heldout.progress import plain_bar
from heldout.workers import in_threads, n_workers

CLASSES = (2, 10, 100, 1000)  # compared with
DIGITS = (3, 2, 1)
GAINS = (0.01, 0.02, 0.05, 0.1)
CLEARLY = 0.0005  # better, in accuracy
COUNTING = 0.25  # the oracle's part of the work
LARGER = 4  # times as many examples, for what a larger test set would give away


def stress(
    n_examples: int | None = None,
    n_classes: int | None = None,
    *,
    queries: int,
    labels: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    prior_classes: Sequence[Any] | None = None,
    top: int | None = None,
    points: int | None = None,
    attack: str = "nb",
    digits: int | None = None,
    mechanism: Mechanism | MechanismMaker | None = None,
    public: float | None = None,
    trials: int = 10,
    seed: int = 0,
    delta: float = 0.05,
    compare: bool = False,
    n_jobs: int = 1,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    notify: Callable[[str], None] | None = None,
    progress: bool = False,
    source: str | None = None,
    prior_source: str | None = None,
) -> StressResult:
    """How far could somebody game a leaderboard that has answered so many queries?

    Parameters
    ----------
    n_examples, n_classes : int, optional
        The test set, where labels and prior do not say.
    queries : int
        Answers that are handed out.
    labels : (n,) int, optional
        The true labels; drawn anew in each trial by default, from the prior where there is one.
    prior : (n, m) float, optional
        What the analyst knows before asking: a probability for each label at each example, as a model gives it.
    prior_classes : sequence of str or int, optional
        The class of each column of `prior`, as `labels` call it; in their order by default: numbers from 0, or names
        in alphabetical order.
    top : int, optional
        Consider only so many labels at each example, those the prior thinks likeliest.
    points : int, optional
        Attack only so many examples, those of which the prior is least sure (without a prior: at random). With a prior
        and neither `top` nor `points`, both are chosen by forecast: from the prior alone, no labels are looked at.
    attack : str
        "nb", "majority", "plurality", "linear-scan" or "reconstruction".
    digits : int, optional
        The oracle rounds its answers to so many digits; exact by default. "nb" then knows how it rounds, and uses it.
    mechanism : Mechanism, or function of a Generator, optional
        Any other way to answer: an object with `answer(losses) -> float`, of which each trial gets a copy; or, where
        answers are random, a function that makes one from a `numpy.random.Generator`, called anew in each trial.
    public : float, optional
        Share of the examples, drawn at random, that the answers are about; the rest is private. `run` is then of an
        analyst who knows the public part; `StressResult.public` of one who does not, on both parts.
    trials : int
        Independent simulations.
    seed : int
        Of everything that is drawn.
    delta : float
        Probability that the upper bound is passed.
    compare : bool
        Also other attacks, answers of other digits and (without a prior) other numbers of classes.
    n_jobs : int
        Workers, as joblib counts them (-1: one for each core), here threads; the result does not depend on it, a
        reconstruction that ran out of time aside.
    checkpoint : path, optional
        Folder for the state of unfinished work. One that is damaged, or belongs to other numbers, is refused. Of a
        mechanism of your own only the name is compared.
    resume : bool
        Take up what is in `checkpoint`, to the same bits.
    notify : function of a sentence, optional
        Told where there is nothing to resume.
    progress : bool
        Show a bar on stderr.
    source, prior_source : str, optional
        What test set and prior are called in the report.

    Returns
    -------
    StressResult
        What the analyst gains with every answer, what was to be expected, and what nobody passes.

    Examples
    --------
    >>> from heldout import stress
    >>> result = stress(2000, 2, queries=200, trials=4)
    >>> round(float(result.run.forecast[-1]), 3), abs(result.accuracy - 0.624) < 0.03
    (0.624, True)
    """
    task = make_task(
        n_examples,
        n_classes,
        queries,
        labels,
        prior,
        prior_classes,
        top,
        points,
        attack,
        digits,
        mechanism,
        trials,
        seed,
    )
    check_n_jobs(n_jobs)
    check_share(delta, "delta")
    whole = task
    if public is not None:
        task, _ = split_public(whole, float(public))
    kept = KeptTrials(_checkpoint(whole, public, checkpoint, resume, notify))
    task = task.aimed()
    run, groups, split = _simulations(
        task, whole, public, delta, kept, compare=compare, n_jobs=n_jobs, progress=progress
    )
    n, m, free = task.n, task.m, task.prior is None
    return StressResult(
        run=run,
        by_attack=groups.get("by_attack", ()),
        by_digits=groups.get("by_digits", ()),
        by_classes=groups.get("by_classes", ()),
        expected_bound=expected_accuracy_bound(n, m, task.queries) if free and run.answers == "exact" else math.nan,
        reach={a: queries_to_reach(a, n, m) for a in GAINS if a < 1 - 1 / m} if free else {},
        regime=_regime(n, m, task.queries),
        gain_on_fourfold=_gain_on_fourfold(task, run),
        public=split,
        seed=task.seed,
        delta=delta,
        labels=task.label_words,
        prior=None if free else prior_source or "probabilities",
        source=source or f"{whole.n:,} examples, {m:,} classes",
        data_digest=whole.digest(),
        version=__version__,
    )


def _simulations(
    task: Task,
    whole: Task,
    public: float | None,
    delta: float,
    kept: KeptTrials,
    *,
    compare: bool,
    n_jobs: int,
    progress: bool,
) -> tuple[StressRun, dict[str, tuple[StressRun, ...]], PublicSplit | None]:
    """What was asked for, what it is compared with, and an analyst who does not know the public part; under one bar."""
    others = _comparisons(task) if compare else {}
    work = [task, *(t for group in others.values() for t in group), *([task] if public is not None else [])]
    with plain_bar(sum(t.trials * t.queries for t in work), "queries", unit="queries", shown=progress) as bar:
        lock, so_far = threading.Lock(), 0.0
        if kept.queries:
            bar.resumed(kept.queries)

        def tell(done: float) -> None:
            nonlocal so_far
            with lock:
                so_far += done
                more = max(0, round(so_far) - kept.queries)  # none while that is told again which was kept
                kept.queries += more
                bar.update(more)

        def simulated(of: Task, name: str) -> StressRun:
            return _simulate(of, delta, n_jobs, tell, kept, name)

        try:
            run = simulated(task, "run")
            groups = {
                name: tuple(
                    sorted([run, *(simulated(t, f"{name} {i}") for i, t in enumerate(group))], key=_ORDER[name])
                )
                for name, group in others.items()
                if group
            }
            if public is None:
                return run, groups, None
            split = simulate_public(whole, task, float(public), n_jobs=n_workers(n_jobs), tell=tell, kept=kept)
            return run, groups, split
        finally:  # also where something stops it
            kept.save_if_long()


def _checkpoint(
    task: Task,
    public: float | None,
    folder: str | Path | None,
    resume: bool,
    notify: Callable[[str], None] | None,
) -> Checkpoint:
    """Of the whole run, under everything that changes the bits of a trial."""
    if folder is None:
        return Checkpoint(None, {}, of="run")
    begin(Path(folder), resume=resume, say=notify or (lambda sentence: None))
    fingerprint = {
        "examples": task.n,
        "classes": task.m,
        "queries": task.queries,
        "labels": None if task.labels is None else hash_of(task.labels),
        "prior": None if task.prior is None else replace(task, labels=None).digest(),
        "top": task.top,
        "points": task.points,
        "attack": task.attack,
        "answers": task.mechanism_name,
        "public": public,
        "trials": task.trials,
        "seed": task.seed,
    }
    return Checkpoint(Path(folder) / "trials.npz", fingerprint, of="run")


def _simulate(
    task: Task, delta: float, n_jobs: int, tell: Callable[[float], None], kept: KeptTrials, name: str
) -> StressRun:
    """All trials of one attack, with forecast and bounds."""
    if task.attack == "reconstruction":
        import_extra("ortools.sat.python.cp_model", extra="attack")
    known, seeds, stops = task.shared(), task.seeds(), task.stops
    inner = max(1, n_workers(n_jobs) // task.trials)
    trials = ((task, known, seed, stops, inner, tell, kept, f"{name} {i}") for i, seed in enumerate(seeds[:-1]))
    results = list(in_threads(_kept_trial, trials, n_jobs=n_jobs))
    accuracy = np.array([r.accuracy for r in results])
    aim = known or without_prior(task.n, task.m, points=task.points, rng=np.random.default_rng(seeds[-1]))
    upper, theorem = bound_curves(task.n, task.m, stops, mechanism=task.mechanism, prior=task.prior, delta=delta)
    starts = np.array([r.start for r in results])
    before = float(starts.mean())
    passed = bool(((accuracy.mean(axis=0) >= upper) & (upper < 1)).any())
    refuted = task.labels is not None and task.prior is not None and (passed or refutes(task.labels, aim))
    if refuted:
        upper = np.full(len(stops), math.nan)
    forecast = forecast_curve(task.attack, aim, stops, mechanism=task.mechanism, labels=task.labels)
    return StressRun(
        attack=task.attack,
        n_examples=task.n,
        n_classes=task.m,
        answers=task.mechanism_name,
        digits=task.digits,
        points=aim.n_points,
        top=None if aim.options is None else aim.n_options,
        chosen=task.chosen,
        parked=any(r.parked for r in results),
        queries=stops,
        accuracy=accuracy,
        starts=starts,
        chance=before if task.prior is not None and task.labels is not None else expected_guess(aim),
        forecast=forecast,
        upper_bound=upper,
        theorem_bound=theorem,
        noticed=tuple(
            [Noticed(kind="refuted", values={"right": before, "expected": expected_guess(aim)})] * refuted
            + _noticed(task, float(forecast[-1]), float(upper[-1]), results)
        ),
    )


@dataclass(frozen=True)
class _Trial:
    accuracy: NDArray[np.float64]
    start: float
    parked: bool
    solved: bool = False  # a reconstruction, exactly
    points: int = 0  # that it attacked


def _kept_trial(
    task: Task,
    shared: Knowledge | None,
    seed: np.random.SeedSequence,
    stops: NDArray[np.int64],
    n_jobs: int,
    tell: Callable[[float], None],
    kept: KeptTrials,
    name: str,
) -> _Trial:
    """One trial, or what was kept of it."""
    known = kept.finished(name)
    if known is not None:
        tell(task.queries)
        start, parked, solved, points = known["rest"].tolist()
        return _Trial(known["accuracy"], start, bool(parked), bool(solved), int(points))
    found = _trial(task, shared, seed, stops, n_jobs, tell, kept.replay(name))
    rest = np.array([found.start, found.parked, found.solved, found.points], dtype=np.float64)
    kept.finish(name, accuracy=found.accuracy, rest=rest)
    return found


def _trial(
    task: Task,
    shared: Knowledge | None,
    seed: np.random.SeedSequence,
    stops: NDArray[np.int64],
    n_jobs: int,
    tell: Callable[[float], None],
    replay: Replay,
) -> _Trial:
    """One analyst against one oracle."""
    rng = np.random.default_rng(seed)
    labels = task.draw_labels(rng) if task.labels is None else task.labels
    query_seed = int(rng.integers(2**63))
    given = task.mechanism
    own = made_by(given, np.random.default_rng(seed.spawn(1)[0])) if is_maker(given) else copy.deepcopy(given)
    oracle = AccuracyOracle(labels, own)
    known = shared or without_prior(task.n, task.m, points=task.points, rng=rng)
    start = 1 / task.m if known.guess is None else oracle.true_accuracy(known.guess)
    if task.attack == "linear-scan":
        scan = LinearScan(task.n, task.m, seed=query_seed)
        start = oracle.true_accuracy(scan.predict())
        accuracy = []
        for stop in stops.tolist():
            asked = scan.asked
            after = scan_until(scan, oracle, stop, replay)
            tell(stop - asked)
            accuracy.append(oracle.true_accuracy(after))
        return _Trial(np.array(accuracy), start, parked=False)
    counting, voting = COUNTING * task.queries, (1 - COUNTING) * task.queries
    analyst = make_analyst(task, known, seed=query_seed)
    analyst.keep(replay)
    analyst.play(oracle, task.queries, n_jobs=n_jobs, tell=lambda share: tell(counting * share))
    predicted = analyst.predict_after(stops.tolist(), n_jobs=n_jobs, tell=lambda share: tell(voting * share))
    solved = task.attack == "reconstruction" and bool(analyst.found[task.queries].unique)  # type: ignore[attr-defined]
    reached = np.array([oracle.true_accuracy(p) for p in predicted])
    return _Trial(reached, start, analyst.parked, solved, known.n_points)


def _comparisons(task: Task) -> dict[str, list[Task]]:
    """The same with another attack, with answers of other digits, with other numbers of classes."""
    plain = isinstance(task.mechanism, Exact | Rounded)
    attacks = [*VOTES]
    if task.prior is None and task.points is None:
        attacks.append("linear-scan")
    levels: list[int | None] = [None, *DIGITS]
    compared = {
        "by_attack": [replace(task, attack=a) for a in attacks if a != task.attack],
        "by_digits": [
            replace(task, mechanism=Exact() if d is None else Rounded(d)).aimed()
            for d in levels
            if plain and d != task.digits
        ],
    }
    if task.prior is None and task.attack in (*VOTES, "linear-scan"):
        compared["by_classes"] = [replace(task, m=m, labels=None) for m in CLASSES if m != task.m]
    return compared


_ORDER: dict[str, Callable[[StressRun], Any]] = {
    "by_attack": lambda r: ATTACKS.index(r.attack),
    "by_digits": lambda r: -math.inf if r.digits is None and r.answers == "exact" else -(r.digits or 0),
    "by_classes": lambda r: r.n_classes,
}


def _noticed(task: Task, forecast: float, upper: float, trials: list[_Trial]) -> list[Noticed]:
    found = []
    if task.labels is not None:
        commonest = float(np.bincount(task.labels).max()) / task.n
        if any(commonest > limit for limit in (forecast, upper)):  # neither need be known
            found.append(Noticed(kind="commonest", values={"share": commonest}))
    if task.attack in VOTES and task.prior is None and isinstance(task.mechanism, Exact):
        scan = expected_scan_accuracy(task.n, task.m, task.queries)
        if scan > forecast + CLEARLY:
            found.append(Noticed(kind="scan_better", values={"accuracy": scan}))
    step = 0.0 if task.digits is None else 10.0**-task.digits
    if task.attack == "linear-scan" and step > 1 / task.n:
        found.append(Noticed(kind="unseen_step", values={"step": 1 / task.n, "answers": str(task.mechanism)}))
    if task.attack == "reconstruction":
        solved = sum(trial.solved for trial in trials)
        values: dict[str, float | int | str] = {"solved": solved, "trials": task.trials}
        found.append(Noticed(kind="reconstructed", values={**values, "points": trials[0].points}))
        if task.prior is None and isinstance(task.mechanism, Exact):
            nb = expected_accuracy(task.n, task.m, task.queries)
            if nb > forecast + CLEARLY:
                found.append(Noticed(kind="bayes_better", values={"accuracy": nb}))
    return found


def _gain_on_fourfold(task: Task, run: StressRun) -> float:
    """What the answers would give away on more examples; NaN where the forecast is not for all of them."""
    told = task.attack in VOTES and run.answers == "exact" and run.points == task.n and task.prior is None
    if not told or math.isnan(run.forecast[-1]):
        return math.nan
    return float(expected_accuracy(LARGER * task.n, task.m, task.queries, attack=task.attack) - 1 / task.m)


def _regime(n: int, m: int, k: int) -> dict[str, float]:
    """Section 4 of the paper for these numbers."""
    t = min(n, reconstructable(k, m))
    k_min = math.log(n) + m * math.log(m)
    return {
        "k_min": k_min,
        "theorem_4_3_applies": float(n >= k >= k_min),
        "rate": math.sqrt(k / n) / m,
        "reconstructable": float(t),
        "theorem_4_5_queries": theorem_4_5_queries(t, m),
        "corollary_4_6_applies": float(corollary_4_6_applies(k, m)),
        "corollary_4_6_accuracy": (t + (n - t) / m) / n,
    }
