"""What the point-wise attacks share: random queries, a weight for each answer, the label with the most weight.

The queries are uniform over the labels that are considered at each attacked point, and do not depend on the answers. A
point's label is the one with the highest sum of weights; with a prior, NB adds its logarithm.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.attack.kept import Replay
from heldout.attack.knowledge import Knowledge
from heldout.attack.oracle import AccuracyOracle, check_answer
from heldout.attack.queries import Queries, winners
from heldout.attack.reading import answer_law, expected_hits
from heldout.errors import InputError

SAME = 1e-9  # answers closer than this are the same
MANY = 30  # answers whose spread tells something
PRIOR_BLUR = 0.1**2  # how far a prior's share of labels among the likeliest is trusted


class Pointwise(ABC):
    """A non-adaptive attack that decides every point for itself.

    Where only some labels are considered, the first query finds out how many of the points that are not attacked are
    right (it names the least probable label at the attacked ones), so that this constant can be taken off the answers.

    Parameters
    ----------
    known : Knowledge
        Where to aim.
    seed : int
        Of the queries and of ties.
    digits : int, optional
        How the answers are rounded; exact by default.
    sure : bool
        Whether an answer of exactly 0 or 1 is meant literally: not where the answers may be noisy.
    public : float
        Share of the examples that the answers are about, drawn at random.
    """

    uses_prior: ClassVar[bool] = False

    def __init__(
        self, known: Knowledge, *, seed: int, digits: int | None = None, sure: bool = True, public: float = 1.0
    ) -> None:
        self.known, self.digits, self.sure, self.public = known, digits, sure and digits is None, public
        self._noisy = not sure
        self._queries = Queries(known.n_points, known.n_options, seed)
        self._answers = np.zeros(0)
        self._constant: float | None = None

    def keep(self, replay: Replay) -> None:
        """Have the long passes over the queries kept, and those taken up that are.

        Parameters
        ----------
        replay : Replay
            Where they are kept.
        """
        self._queries.replay = replay

    @property
    def parked(self) -> bool:
        """Whether the accuracy is put on a rounding edge."""
        return False

    @property
    def extra(self) -> int:
        """Queries that are not random: one where only some labels are considered."""
        return 0 if self.known.options is None else 1

    @property
    def asked(self) -> int:
        """Answers so far."""
        return len(self._answers) + (self._constant is not None)

    def ask(self) -> NDArray[np.int64]:
        """(n,) labels of the next query.

        Returns
        -------
        (n,) int
            To be handed in.
        """
        if self.extra and self._constant is None:
            return self.known.constant()
        return self.known.labels(self._queries.labels(len(self._answers)))

    def tell(self, accuracy: float) -> None:
        """The answer to it.

        Answers of an earlier session can be told in their order without asking again: equal seeds give equal queries.

        Parameters
        ----------
        accuracy : float
            As it was answered, from 0 to 1.
        """
        self._take(check_answer(accuracy, noisy=self._noisy))

    def _take(self, accuracy: float) -> None:
        """An answer, whatever it is."""
        if self.extra and self._constant is None:
            self._constant = accuracy
        else:
            self._answers = np.append(self._answers, accuracy)

    def play(
        self, oracle: AccuracyOracle, k: int, *, n_jobs: int = 1, tell: Callable[[float], None] | None = None
    ) -> None:
        """Ask until there are k answers: the same as `ask` and `tell` in turn, all at once.

        Parameters
        ----------
        oracle : AccuracyOracle
            Whom to ask.
        k : int
            Answers in all.
        n_jobs : int
            Processes.
        tell : function of a float, optional
            Told the share of the work as it is done.
        """
        while self.extra > self.asked and self.asked < k:
            self._take(oracle.accuracy(self.ask()))
        first, last = len(self._answers), k - self.extra
        if last > first:
            more = oracle.accuracies(self.known, self._queries, first, last, n_jobs=n_jobs, tell=tell)
            self._answers = np.concatenate((self._answers, more))

    def predict(self) -> NDArray[np.int64]:
        """(n,) labels that all answers so far speak for.

        Returns
        -------
        (n,) int
            One label per example.
        """
        return np.asarray(self.predict_after([self.asked])[0])

    def predict_after(
        self, stops: Sequence[int], *, n_jobs: int = 1, tell: Callable[[float], None] | None = None
    ) -> NDArray[np.int64]:
        """(stops, n) the same after the first so many answers, stops growing.

        Parameters
        ----------
        stops : sequence of int
            Numbers of answers.
        n_jobs, tell
            As in `play`.

        Returns
        -------
        (stops, n) int
            One row per number of answers.
        """
        counts = [max(0, stop - self.extra) for stop in stops]
        if counts[-1] > len(self._answers):
            raise InputError(f"{stops[-1]:,} answers are looked back on, {self.asked:,} were given.")
        weights = [self.weights(self._answers[:count]) for count in counts]
        prior = self.known.log_prior if self.uses_prior and self.known.prior is not None else None
        if all(np.array_equal(w, weights[-1][: len(w)]) for w in weights):
            drawn = winners(self._queries, weights[-1], counts, prior=prior, n_jobs=n_jobs, tell=tell)
        else:  # what earlier answers weigh depends on later ones
            share = 1 / len(counts)
            told = None if tell is None else (lambda part: tell(part * share))
            drawn = np.concatenate(
                [
                    winners(self._queries, w, [count], prior=prior, n_jobs=n_jobs, tell=told)
                    for w, count in zip(weights, counts, strict=True)
                ]
            )
        return np.array([self.known.labels(row) for row in drawn])

    @abstractmethod
    def weights(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """(k,) what each query adds to the score of the labels it named, given these answers.

        Parameters
        ----------
        answers : (k,) float
            Accuracies, as they were told.

        Returns
        -------
        (k,) float
            One per query.
        """

    def reachable(self, answers: NDArray[np.float64]) -> float:
        """Attacked points whose label is among those considered, as far as the answers tell: q a.

        A random query has q a / R hits on the attacked points, the first one, which names the least probable label,
        about q (1 - a) ρ, where ρ is the prior's share of that label among those not considered. So the difference Δ of
        their answers gives a = (n Δ / q + ρ) / (1/R + ρ). Rounding blurs it; then the prior's own a has its say, as if
        it were known to a tenth.

        Parameters
        ----------
        answers : (k,) float
            Accuracies, as they were told.

        Returns
        -------
        float
            Between 1 and q.
        """
        known, options = self.known, self.known.n_options
        q = known.n_points
        if known.options is None:
            return float(q)
        assert self._constant is not None
        believed, least = self._shares
        scale = known.n / q / (1 / options + least)
        share = (float(answers.mean()) - self._constant) * scale + least / (1 / options + least)
        blur = 0.0 if self.digits is None else (scale * 10.0**-self.digits) ** 2 / 6  # two answers, each by step²/12
        share = (share * PRIOR_BLUR + believed * blur) / (PRIOR_BLUR + blur)
        if self.digits is None and len(answers) >= MANY:
            # The spread of the answers tells a without the prior, if less sharply: q a (R-1)/R² hits².
            seen = float(answers.var(ddof=1)) * self.public * known.n**2 * options**2 / (q * (options - 1))
            if abs(share - seen) > 4 * seen * math.sqrt(2 / (len(answers) - 1)):  # ρ is wrong
                share = seen
        if share <= 0:
            share = believed
        return min(max(share * q, 1.0), float(q))

    @cached_property
    def _shares(self) -> tuple[float, float]:
        return self.known.option_shares()

    @property
    def whole(self) -> bool:
        """Whether every label of every example is in play, so that the answers' law is known."""
        return self.known.n_points == self.known.n and self.known.options is None

    def standard(self, answers: NDArray[np.float64]) -> tuple[float, float]:
        """Mean of the answers to random queries, and the standard deviation of the accuracies behind them.

        Parameters
        ----------
        answers : (k,) float
            Accuracies, as they were told.

        Returns
        -------
        mean, sd : float
            Of accuracies.
        """
        n, options = self.known.n, self.known.n_options
        points = self.reachable(answers)
        mean = float(answers.mean())
        if self.whole and self.digits is None:
            mean = 1 / options
        elif self.whole and self.digits is not None:
            _, probability, told = answer_law(n, points=points, options=options, digits=self.digits, outside=0.0)
            mean = float(np.sum(probability * told))
        return mean, math.sqrt(points / options * (1 - 1 / options) / self.public) / n

    def hit_rates(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """(k,) α' of each query: the share it gets right of the attacked points whose label is considered.

        Where the hits on the other points are unknown, only differences between answers tell anything.

        Parameters
        ----------
        answers : (k,) float
            Accuracies, as they were told.

        Returns
        -------
        (k,) float
            Between 0 and 1.
        """
        known, options = self.known, self.known.n_options
        points = self.reachable(answers)
        if self.digits is not None:
            outside = 0.0 if self.whole else None
            hits = expected_hits(answers, known.n, points=points, options=options, digits=self.digits, outside=outside)
        else:
            hits = answers * known.n
        rates = hits / points if self.whole else 1 / options + (hits - hits.mean()) / points
        if self.whole and self.sure:
            return rates
        least = 0.5 / (points * options)  # below chance, however few points there are
        return np.clip(rates, least, 1 - least)
