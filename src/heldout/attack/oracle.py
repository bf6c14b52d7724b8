"""The only thing an analyst may ask: how accurate is this on the hidden labels?

A mechanism decides what is said. It has one method, `answer(losses) -> float`: the 0/1 losses of a query go in, the
loss that is shown comes out, so that every mechanism that can guard a test set can also be attacked. One that looks at
nothing but the number of losses may have a second, `answer_counts`, which answers many queries at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.attack.queries import Queries, count_hits
from heldout.checks import check_labels
from heldout.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import TypeIs

PERCENT = 100
SLACK = 1e-9  # by which sums of floats may miss 0 and 1
MOST_DIGITS = 9  # so that 2 n 10^digits stays far inside 64 bits


class Mechanism(Protocol):
    """What hands out losses."""

    def answer(self, losses: NDArray[np.bool_]) -> float:
        """The loss that is shown for a query."""
        ...


MechanismMaker = Callable[[np.random.Generator], Mechanism]


def is_maker(mechanism: Mechanism | MechanismMaker) -> TypeIs[MechanismMaker]:
    """Whether this makes mechanisms rather than being one: a class, or a function."""
    return isinstance(mechanism, type) or not hasattr(mechanism, "answer")


def made_by(maker: MechanismMaker, rng: np.random.Generator) -> Mechanism:
    """The mechanism that a function or a class makes.

    Examples
    --------
    >>> made_by(lambda rng: None, np.random.default_rng(0))
    Traceback (most recent call last):
        ...
    heldout.errors.InputError: `mechanism`: <lambda> made None; it must return an object with `answer(losses) -> float`.
    """
    made: object = maker(rng)
    if not callable(getattr(made, "answer", None)):
        name = getattr(maker, "__name__", type(maker).__name__)
        raise InputError(f"`mechanism`: {name} made {made!r}; it must return an object with `answer(losses) -> float`.")
    return made  # type: ignore[return-value]


@dataclass(frozen=True)
class Exact:
    """Says the mean loss."""

    def answer(self, losses: NDArray[np.bool_]) -> float:
        """The mean loss itself."""
        return float(self.answer_counts(np.array([losses.sum()]), len(losses))[0])

    def answer_counts(self, wrong: NDArray[np.int64], n: int) -> NDArray[np.float64]:
        """The same for numbers of losses among n."""
        return wrong / n

    def __str__(self) -> str:
        return "exact"


@dataclass(frozen=True)
class Rounded:
    """Says the mean loss rounded to some digits, halves up.

    Examples
    --------
    >>> Rounded(2).answer(np.arange(1000) < 125)
    0.13
    """

    digits: int

    def __post_init__(self) -> None:
        if self.digits < 1:
            raise InputError(f"`digits` is {self.digits}; an answer needs at least one digit after the point.")

        if self.digits > MOST_DIGITS:
            raise InputError(f"`digits` is {self.digits}; more than {MOST_DIGITS} are as good as exact.")

    def answer(self, losses: NDArray[np.bool_]) -> float:
        """The rounded mean loss."""
        return float(self.answer_counts(np.array([losses.sum()]), len(losses))[0])

    def answer_counts(self, wrong: NDArray[np.int64], n: int) -> NDArray[np.float64]:
        """The same for numbers of losses, in whole numbers: in floats 0.125 · 100 may fall on either side of a half."""
        scale = 10**self.digits
        return np.asarray((2 * wrong.astype(np.int64) * scale + n) // (2 * n) / scale)

    def __str__(self) -> str:
        return f"{self.digits} digit" + ("s" if self.digits > 1 else "")


def check_answer(accuracy: Any, *, noisy: bool = False) -> float:
    """An answer to a query: an accuracy, which noise may carry out of 0 to 1, if not far.

    Examples
    --------
    >>> check_answer(0.25), check_answer(-0.01, noisy=True)
    (0.25, -0.01)
    >>> check_answer(25.0)
    Traceback (most recent call last):
        ...
    heldout.errors.InputError: `accuracy` is 25.0; an answer is a number from 0 to 1. In percent? Divide it by 100.
    """
    try:
        value = math.nan if isinstance(accuracy, str | bytes) or np.ndim(accuracy) else float(accuracy)
    except (TypeError, ValueError):
        value = math.nan
    low, high = (-1.0, 2.0) if noisy else (0.0, 1.0)
    if not low - SLACK <= value <= high + SLACK:
        percent = " In percent? Divide it by 100." if high < value <= PERCENT else ""
        raise InputError(f"`accuracy` is {accuracy!r}; an answer is a number from 0 to 1.{percent}")
    return value


class Aim(Protocol):
    """What random queries are asked about: `Knowledge`, or anything that names labels as it does."""

    def labels(self, drawn: NDArray[Any]) -> NDArray[np.int64]:
        """(n,) the query, where drawn[i] was drawn."""
        ...

    def option_of(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """What has to be drawn to name the true label; -1 where that cannot be."""
        ...

    def hits_elsewhere(self, labels: NDArray[Any]) -> int:
        """Hits that every query has."""
        ...


class AccuracyOracle:
    """Hidden labels behind a counter.

    Parameters
    ----------
    labels : (n,) int
        The labels, which the analyst does not see.
    mechanism : Mechanism
        What is said of a query; the exact loss by default.
    public : (n,) bool, optional
        Examples that the answers are about; all by default.

    Examples
    --------
    >>> oracle = AccuracyOracle([0, 1, 1, 0])
    >>> oracle.accuracy([0, 1, 0, 0]), oracle.queries
    (0.75, 1)
    """

    def __init__(
        self, labels: ArrayLike, mechanism: Mechanism | None = None, *, public: NDArray[np.bool_] | None = None
    ) -> None:
        self._labels = check_labels(labels)
        self._public = public
        self.mechanism: Mechanism = Exact() if mechanism is None else mechanism
        self.queries = 0

    def __len__(self) -> int:
        return len(self._labels)

    def accuracy(self, query: ArrayLike) -> float:
        """What the mechanism says of a query: 1 less the loss it shows."""
        labels = np.asarray(query)
        if labels.shape != self._labels.shape:
            raise InputError(f"a query has {labels.shape} labels; the test set has {len(self)}.")
        self.queries += 1
        losses = labels != self._labels
        loss: object = self.mechanism.answer(losses if self._public is None else losses[self._public])
        if not isinstance(loss, float | int | np.floating | np.integer) or not math.isfinite(loss):
            raise InputError(f"the mechanism answered {loss!r} to query {self.queries}; a finite loss is needed.")
        return 1.0 - float(loss)

    def accuracies(
        self,
        known: Aim,
        queries: Queries,
        start: int,
        stop: int,
        *,
        n_jobs: int = 1,
        tell: Callable[[float], None] | None = None,
    ) -> NDArray[np.float64]:
        """The same for random queries start … stop - 1 on the points that are attacked, without writing them out.

        A mechanism that wants to see whole vectors of losses gets them, one after the other.
        """
        by_count = getattr(self.mechanism, "answer_counts", None)
        if by_count is None:
            answers = np.empty(stop - start)
            for j in range(start, stop):
                answers[j - start] = self.accuracy(known.labels(queries.labels(j)))
                if tell is not None:
                    tell(1 / (stop - start))
            return answers
        labels, n = self._labels, len(self)
        if self._public is not None:  # a label that nobody can name is never hit
            labels, n = np.where(self._public, labels, -1), int(np.count_nonzero(self._public))
        hits = count_hits(queries, known.option_of(labels), start, stop, n_jobs=n_jobs, tell=tell)
        self.queries += stop - start
        return np.asarray(1.0 - by_count(n - known.hits_elsewhere(labels) - hits, n))

    def true_accuracy(self, query: ArrayLike) -> float:
        """The accuracy itself, uncounted: for judging an attack, not for making it."""
        return float(np.mean(np.asarray(query) == self._labels))
