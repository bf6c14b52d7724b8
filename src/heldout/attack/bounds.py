"""What nobody can beat: upper bounds on the accuracy that k answers of an oracle can buy.

The labels are uniform over m classes and the analyst knows nothing else of them; with prior knowledge, n stands for the
points that are hard and m for the labels that are still open there. An analyst who sees k answers, each one of A
possible values, can end in at most A^k classifiers, each right on Bin(n, 1/m) points.

References
----------
Feldman, Frostig, Hardt (2019). The advantages of multiple classes for reducing overfitting from test set reuse. ICML.
"""

from __future__ import annotations

import math

from heldout.errors import InputError
from heldout.statistics.binomial import log_upper_tail
from heldout.statistics.search import first_where


def possible_answers(n: int, digits: int | None = None) -> int:
    """How many values an accuracy on n points can take; rounded to some digits, no more than those leave.

    Examples
    --------
    >>> possible_answers(10_000), possible_answers(10_000, digits=2), possible_answers(50, digits=2)
    (10001, 101, 51)
    """
    return n + 1 if digits is None else min(n, 10**digits) + 1


def information(k: int, answers: int, delta: float) -> float:
    """b = k ln A + ln(1/delta) of Theorem 3.1 and Remark 3.2."""
    return k * math.log(answers) + math.log(1 / delta)


def accuracy_bound(n: int, m: int, k: int, *, delta: float, answers: int | None = None) -> float:
    """Theorem 3.1: with probability 1 - delta no analyst reaches this accuracy with k answers; 1 is vacuous.

    Examples
    --------
    >>> round(accuracy_bound(10_000, 2, 50, delta=0.05), 3)
    0.804
    >>> accuracy_bound(10_000, 2, 136, delta=0.05)
    1.0
    """
    _check(n, m, k, delta)
    b = information(k, n + 1 if answers is None else answers, delta)
    return min(1.0, 1 / m + 2 * max(math.sqrt(b / (n * m)), b / n))


def expected_accuracy_bound(n: int, m: int, k: int) -> float:
    """The same for the expected accuracy, with delta = 1/n (after Remark 3.2); 1 is vacuous."""
    _check(n, m, k, 0.5)
    b = (k + 1) * math.log(n + 1)
    return min(1.0, 1 / m + 1 / n + 2 * max(math.sqrt(b / (n * m)), b / n))


def exact_accuracy_bound(n: int, m: int, k: int, *, delta: float, answers: int | None = None) -> float:
    """The tighter bound behind Theorem 3.1: the smallest s/n with A^k P(Bin(n, 1/m) >= s) <= delta.

    It is 1 + 1/n, past every accuracy there is, where nothing can be excluded; at most 1 is returned then.

    Examples
    --------
    >>> exact_accuracy_bound(10_000, 2, 50, delta=0.05)
    0.6505
    """
    _check(n, m, k, delta)
    b = information(k, n + 1 if answers is None else answers, delta)
    smallest = first_where(lambda s: log_upper_tail(s, n, 1 / m) <= -b, n // m, n + 1)
    return min(1.0, smallest / n)


def _check(n: int, m: int, k: int, delta: float) -> None:
    if n < 1 or m < 2 or k < 0:
        raise InputError(f"{n} points, {m} classes, {k} queries: at least 1 point, 2 classes and 0 queries are needed.")
    if not 0 < delta < 1:
        raise InputError(f"`delta` is {delta}; it must lie strictly between 0 and 1.")
