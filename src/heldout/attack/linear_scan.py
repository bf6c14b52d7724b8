"""One label at a time: the baseline of the paper's supplement, with its expectation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from heldout.attack.kept import Replay
from heldout.attack.oracle import AccuracyOracle, Exact, Rounded, check_answer
from heldout.attack.pointwise import SAME

SCAN = "scan"  # its state among the notes of a replay


class LinearScan:
    """Start from random labels, change one, and see whether the accuracy moves.

    If it rises the new label is right, if it falls the old one was, if it stays neither is and the next label is tried;
    the last one left needs no query. Labels that are not known yet keep their random guess.

    Parameters
    ----------
    n, m : int
        Examples and classes.
    seed : int
        Of the first guess and of the order of the points.

    Examples
    --------
    >>> from heldout.attack.oracle import AccuracyOracle
    >>> oracle, attack = AccuracyOracle([0, 2, 1, 1]), LinearScan(4, 3, seed=0)
    >>> for _ in range(5):  # three classes: one answer for the first guess, one for each label
    ...     attack.tell(oracle.accuracy(attack.ask()))
    >>> attack.predict().tolist()
    [0, 2, 1, 1]
    """

    parked = False  # on no rounding edge

    def __init__(self, n: int, m: int, *, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.m = m
        self._labels = rng.integers(0, m, n)
        self._order = rng.permutation(n)
        self._accuracy: float | None = None
        self._place, self._tried = 0, 0  # of the point that is scanned, and labels found wrong there beside the first
        self.asked = 0

    @property
    def done(self) -> bool:
        """Whether every label is known."""
        return self._place == len(self._order)

    def ask(self) -> NDArray[np.int64]:
        """(n,) labels of the next query; once all labels are known, these."""
        query = self._labels.copy()
        if self._accuracy is not None and not self.done:
            point = self._order[self._place]
            query[point] = (query[point] + self._tried + 1) % self.m
        return query

    def tell(self, accuracy: float) -> None:
        """The answer to it, from 0 to 1."""
        self.take(check_answer(accuracy))

    def take(self, accuracy: float) -> None:
        """An answer, whatever it is."""
        self.asked += 1
        if self._accuracy is None:
            self._accuracy = accuracy
            return
        if self.done:
            return
        change = accuracy - self._accuracy
        if abs(change) > SAME:
            if change > 0:
                self._settle(self._tried + 1)
                self._accuracy = accuracy
            self._next()
            return
        self._tried += 1
        if self._tried >= self.m - 2:  # all but one are wrong
            if self._tried == self.m - 2:
                self._settle(self.m - 1)
                self._accuracy += 1 / len(self._order)
            self._next()

    def predict(self) -> NDArray[np.int64]:
        """(n,) what is known, and guesses elsewhere; where some labels are ruled out, one of the others."""
        labels = self._labels.copy()
        if not self.done and self._tried:
            point = self._order[self._place]
            labels[point] = (labels[point] + self._tried + 1) % self.m
        return labels

    def state(self) -> NDArray[np.float64]:
        """What it knows, in a row of numbers from which `take_up` goes on."""
        accuracy = math.nan if self._accuracy is None else self._accuracy
        return np.array([accuracy, self._place, self._tried, self.asked, *self._labels], dtype=np.float64)

    def take_up(self, state: NDArray[np.float64]) -> None:
        """Go on from there."""
        self._accuracy = None if math.isnan(state[0]) else float(state[0])
        self._place, self._tried, self.asked = (int(v) for v in state[1:4])
        self._labels = state[4:].astype(self._labels.dtype)

    def _settle(self, distance: int) -> None:
        point = self._order[self._place]
        self._labels[point] = (self._labels[point] + distance) % self.m

    def _next(self) -> None:
        self._place, self._tried = self._place + 1, 0


def scan_until(scan: LinearScan, oracle: AccuracyOracle, stop: int, replay: Replay) -> NDArray[np.int64]:
    """(n,) the labels of a linear scan after so many answers; it goes on from the last ones that are kept."""
    if f"{SCAN} {stop}" in replay.notes:  # was there before the work was stopped
        return replay.notes[f"{SCAN} {stop}"]
    if SCAN in replay.notes and replay.notes[SCAN][3] > scan.asked:
        scan.take_up(replay.notes[SCAN])
    repeatable = isinstance(oracle.mechanism, Exact | Rounded)  # answers alike whatever it was asked before
    while scan.asked < stop:
        scan.take(oracle.accuracy(scan.ask()))
        if repeatable and replay.due():
            replay.note(SCAN, scan.state())
    labels = scan.predict()
    if repeatable:
        replay.note(f"{SCAN} {stop}", labels)
    return labels


def scan_length(m: int) -> NDArray[np.float64]:
    """P(a point takes j answers), j = 0, 1, …: two labels are tested by the first, one by each that follows.

    Examples
    --------
    >>> scan_length(2).tolist(), scan_length(3).tolist(), scan_length(5).round(3).tolist()
    ([0.0, 1.0], [0.0, 1.0], [0.0, 0.4, 0.2, 0.4])
    """
    if m <= 3:
        return np.array([0.0, 1.0])
    law = np.full(m - 1, 1 / m)
    law[0], law[1], law[-1] = 0.0, 2 / m, 2 / m
    return law


def expected_scan_accuracy(n: int, m: int, k: int) -> float:
    """Expected accuracy of a linear scan after k exact answers.

    The answers that points take are independent with the law of `scan_length`, so the points that are settled form a
    renewal process that ends after n of them. Points not reached are right with probability 1/m; the one that is being
    scanned, with a labels ruled out beside the first, with probability 1/(m - 1 - a).

    Examples
    --------
    >>> expected_scan_accuracy(100, 2, 0), expected_scan_accuracy(100, 2, 41), expected_scan_accuracy(100, 2, 101)
    (0.5, 0.7, 1.0)
    """
    tests = max(0, k - 1)  # the first answer is that of the guess itself
    law = scan_length(m)
    longest = len(law) - 1
    if tests >= n * longest:
        return 1.0
    starts = _scans_begun(law, n, tests)
    settled = float(np.sum(starts)) - _in_progress(law, starts)
    waiting = 0.0  # of the point being scanned: expected rightness, beyond 1/m
    for ruled_out in range(1, min(longest, tests + 1)):
        begun = float(starts[tests - ruled_out]) * float(law[ruled_out + 1 :].sum())
        waiting += begun * (1 / (m - 1 - ruled_out) - 1 / m)
    return (settled + (n - settled) / m + waiting) / n


def _in_progress(law: NDArray[np.float64], starts: NDArray[np.float64]) -> float:
    """P(the point scanned last is not settled)."""
    total = 0.0
    for age in range(min(len(law) - 1, len(starts))):
        total += float(starts[len(starts) - 1 - age]) * float(law[age + 1 :].sum())
    return total


def _scans_begun(law: NDArray[np.float64], n: int, tests: int) -> NDArray[np.float64]:
    """(tests + 1,) P(a scan of one of the n points begins after exactly so many tests)."""
    begun = np.zeros(tests + 1)  # u(s) = Σ_r P(S_r = s), without an end
    begun[0] = 1.0
    backwards = law[:0:-1]
    for s in range(1, tests + 1):
        width = min(s, len(backwards))
        begun[s] = np.dot(begun[s - width : s], backwards[len(backwards) - width :])
    if tests < n:  # every point takes at least one answer
        return begun
    j = np.arange(len(law))
    mean = float(np.sum(j * law))
    spread = math.sqrt(max(0.0, float(np.sum(j * j * law)) - mean**2) * n)
    size = next_fast_len(int(max(tests + 1, n * mean + 40 * spread + 2 * len(law))) + 1, real=True)
    all_settled = np.maximum(irfft(rfft(law, size) ** n, size)[: tests + 1], 0.0)  # P(S_n = s)
    # A scan that would begin after the n-th point does not: take off (S_n's law) * u.
    twice = next_fast_len(2 * tests + 1, real=True)
    late = irfft(rfft(all_settled, twice) * rfft(begun, twice), twice)[: tests + 1]
    return np.asarray(np.maximum(begun - late, 0.0))
