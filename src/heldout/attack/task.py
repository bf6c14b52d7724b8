"""What is to be simulated, checked once: a test set, an analyst, an oracle."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.attack.aim import choose_aim
from heldout.attack.knowledge import ROWS, Knowledge, check_prior, with_prior
from heldout.attack.learned import LearningBayes, make_plan
from heldout.attack.lucky import LuckyBayes, worth_searching
from heldout.attack.oracle import Exact, Mechanism, MechanismMaker, Rounded, is_maker
from heldout.attack.outlook import VOTES
from heldout.attack.parked import ParkedBayes
from heldout.attack.pointwise import Pointwise
from heldout.attack.prior_classes import in_class_order
from heldout.attack.reconstruction import ReconstructionAttack, usual_size
from heldout.checks import check_count, check_labels, check_seed, number_labels
from heldout.errors import InputError

POINTWISE: dict[str, type[Pointwise]] = {**VOTES, "reconstruction": ReconstructionAttack}
ATTACKS = (*POINTWISE, "linear-scan")
STOPS = 10  # numbers of answers after which the accuracy is taken
MOST_EXAMPLES, MOST_CLASSES = 100_000_000, 1_000_000
MOST_QUERIES, MOST_TRIALS = 10_000_000, 100_000
MOST_WORK = 10**14  # examples times answers times trials; a core does some 10^8 of them a second


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """One attack that is to be simulated."""

    n: int
    m: int
    queries: int
    labels: NDArray[np.int64] | None
    prior: NDArray[Any] | None
    top: int | None
    points: int | None
    attack: str
    mechanism: Mechanism | MechanismMaker
    trials: int
    seed: int
    chosen: bool = False  # top and points, by forecast

    @property
    def label_words(self) -> str:
        """Where the labels come from."""
        if self.labels is not None:
            return "given"
        return "uniform at random" if self.prior is None else "drawn from the prior"

    @property
    def digits(self) -> int | None:
        """Of a rounded answer."""
        return self.mechanism.digits if isinstance(self.mechanism, Rounded) else None

    @property
    def stops(self) -> NDArray[np.int64]:
        """Numbers of answers after which the accuracy is taken."""
        if self.attack == "reconstruction":  # each is a programme to solve
            return np.unique(np.ceil(np.array([0.25, 0.5, 0.75, 1.0]) * self.queries).astype(np.int64))
        return np.unique(np.rint(np.geomspace(max(1, self.queries / 100), self.queries, STOPS)).astype(np.int64))

    def seeds(self) -> list[np.random.SeedSequence]:
        """One a trial, and one for what all trials share."""
        return np.random.SeedSequence(self.seed).spawn(self.trials + 1)

    def aimed(self) -> Task:
        """The same with top and points chosen by forecast, where that is asked for."""
        if not self.chosen:
            return self
        assert self.prior is not None
        rng = np.random.default_rng(self.seeds()[-1].spawn(1)[0])
        top, points = choose_aim(self.prior, self.queries, attack=self.attack, mechanism=self.mechanism, rng=rng)
        return replace(self, top=top, points=points)

    def shared(self) -> Knowledge | None:
        """What is known in every trial alike: all that follows from a prior."""
        if self.prior is None:
            return None
        return with_prior(self.prior, top=self.top, points=self.points, rng=np.random.default_rng(self.seeds()[-1]))

    def draw_labels(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Labels nobody knows: uniform, or from the prior."""
        if self.prior is None:
            return rng.integers(0, self.m, self.n)
        labels = np.empty(self.n, dtype=np.int64)
        for a in range(0, self.n, ROWS):
            rows = np.cumsum(np.asarray(self.prior[a : a + ROWS], dtype=np.float64), axis=1)
            labels[a : a + ROWS] = (rows <= rng.random((len(rows), 1)) * rows[:, -1:]).sum(axis=1)
        return np.minimum(labels, self.m - 1)

    def digest(self) -> str | None:
        """Of the labels and the prior; None where there are none."""
        if self.labels is None and self.prior is None:
            return None
        digest = hashlib.sha256()
        for array in (self.labels, self.prior):
            if array is not None:
                digest.update(f"{array.shape} {array.dtype}".encode())
                for a in range(0, len(array), ROWS):
                    digest.update(np.ascontiguousarray(array[a : a + ROWS]).tobytes())
        return digest.hexdigest()

    @property
    def mechanism_name(self) -> str:
        """What the answers are called."""
        mechanism = self.mechanism
        if isinstance(mechanism, Exact | Rounded):
            return str(mechanism)
        return str(getattr(mechanism, "__name__", "mechanism")) if is_maker(mechanism) else type(mechanism).__name__


def make_analyst(task: Task, known: Knowledge, *, seed: int) -> Pointwise:
    """Who asks: where answers are rounded, naive Bayes makes use of it."""
    digits, sure = task.digits, isinstance(task.mechanism, Exact)
    if task.attack == "nb" and digits is not None:
        if known.prior is not None:
            return ParkedBayes(known, seed=seed, digits=digits)
        if known.points is not None and worth_searching(known.n, known.n_points, known.m, digits, task.queries):
            return LuckyBayes(known, seed=seed, digits=digits, queries=task.queries)
        plan = make_plan(known.n, known.m, digits, task.queries) if known.points is None else None
        if plan is not None:
            return LearningBayes(known, seed=seed, digits=digits, plan=plan)
    return POINTWISE[task.attack](known, seed=seed, digits=digits, sure=sure)


def make_task(
    n: int | None,
    m: int | None,
    queries: int,
    labels: ArrayLike | None,
    prior: ArrayLike | None,
    prior_classes: Sequence[Any] | None,
    top: int | None,
    points: int | None,
    attack: str,
    digits: int | None,
    mechanism: Mechanism | MechanismMaker | None,
    trials: int,
    seed: int,
) -> Task:
    """Everything that was handed in, checked once."""
    n, m, top, points, digits = (
        None if value is None else check_count(value, name, least=least, most=most)
        for name, value, least, most in (
            ("n_examples", n, 1, MOST_EXAMPLES),
            ("n_classes", m, 2, MOST_CLASSES),
            ("top", top, 2, None),
            ("points", points, 1, None),
            ("digits", digits, 0, None),
        )
    )
    queries = check_count(queries, "queries", most=MOST_QUERIES)
    trials, seed = check_count(trials, "trials", most=MOST_TRIALS), check_seed(seed)
    if mechanism is not None and not callable(mechanism if is_maker(mechanism) else mechanism.answer):
        raise InputError("`mechanism` needs a method `answer(losses) -> float`, or must be a function that makes one.")
    if attack not in ATTACKS:
        raise InputError(f"`attack` is {attack!r}; there are {', '.join(ATTACKS)}.")
    if digits is not None and mechanism is not None:
        raise InputError("give `digits` or a `mechanism`, not both.")
    if digits is not None:
        mechanism = Rounded(digits)
    truth, names = None, None
    if labels is not None:
        numbers, names = number_labels(labels)
        truth = check_labels(numbers, classes=m)
        if n is not None and len(truth) != n:
            raise InputError(f"`labels` has {len(truth):,} examples, `n_examples` is {n:,}.")
        n = len(truth)
    table = None if prior is None else check_prior(prior, n, m)
    if prior_classes is not None:
        if table is None or truth is None:
            raise InputError(
                "`prior_classes` says which class of the labels each column of the prior is; give `labels` and "
                "`prior`, or leave it out."
            )
        table = in_class_order(table, prior_classes, names)
    if table is not None:
        n, m = table.shape
    if truth is not None:
        if m is None and truth.min() > 0:
            raise InputError(
                f"`labels` run from {truth.min()} to {truth.max()}, but classes are numbered from 0: subtract "
                f"{truth.min()}, or say how many classes there are."
            )
        m = max(2, int(truth.max()) + 1) if m is None else m
        check_labels(truth, classes=m)
    if n is None or m is None:
        raise InputError("the test set is not known: give `n_examples` and `n_classes`, or labels, or a prior.")
    check_count(n, "n_examples", most=MOST_EXAMPLES)
    check_count(m, "n_classes", least=2, most=MOST_CLASSES)
    if n * queries * trials > MOST_WORK:
        raise InputError(
            f"{n:,} examples, {queries:,} answers to each of {trials:,} trials: that is {n * queries * trials:.0e} "
            f"steps, days of work; `queries` or `trials` must be smaller, {MOST_WORK:.0e} steps in all."
        )
    if top is not None and not 2 <= top <= m:
        raise InputError(f"`top` is {top}; of {m:,} classes it can take 2 to {m:,}.")
    if top is not None and top < m and table is None:
        raise InputError("`top` needs a prior: without one no label is likelier than another.")
    if points is not None and not 1 <= points <= n:
        raise InputError(f"`points` is {points:,}; of the test set's {n:,} examples 1 to {n:,} can be attacked.")
    if attack == "linear-scan" and (table is not None or points is not None):
        raise InputError("a linear scan uses no prior and goes through all points; leave out `prior` and `points`.")
    if attack == "reconstruction":
        if top is not None and top < m:
            raise InputError("a reconstruction considers all classes; leave out `top`.")
        points = min(n, usual_size(queries, m)) if points is None else points
    return Task(
        n=n,
        m=m,
        queries=queries,
        labels=truth,
        prior=table,
        top=top,
        points=points,
        attack=attack,
        mechanism=Exact() if mechanism is None else mechanism,
        trials=trials,
        seed=seed,
        chosen=table is not None and top is None and points is None and attack in VOTES,
    )
