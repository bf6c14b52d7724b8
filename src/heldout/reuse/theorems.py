"""Lemma 3, Theorem 2 and Corollary 4 of Mania et al. in closed form.

They need no error rates, but a similarity cover: on a given pool, that is plugged in too. They are far looser than the
numerical bounds beside them. Theorem 2 is for models chosen without looking at the test set; only Corollary 4 is for
adaptive use, and what it asks for, a cover of every query the analyst *might* have sent, cannot be read off the models
that were seen.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from heldout.errors import InputError
from heldout.reuse.thresholds import check_exact_share


def trinomial_tail_bound(n: int, plus: float, minus: float, t: float) -> float:
    """Lemma 3: bound on P(mean of X >= E X + t), X in {-1, 0, 1} with P(1) = plus, P(-1) = minus.

    The proof is Chernoff's, so the bound holds for ">=" as well as for the printed ">".

    Examples
    --------
    >>> round(trinomial_tail_bound(100, 0.2, 0.1, 0.2), 6)
    0.017342
    """
    if not (min(plus, minus) >= 0 and plus + minus <= 1):
        raise InputError(f"P(1) = {plus:g} and P(-1) = {minus:g} are no probabilities of one variable.")
    if not (t >= 0 and plus - minus + t / 2 >= 0):
        raise InputError(f"Lemma 3 needs t >= 0 and P(1) - P(-1) + t/2 >= 0; got t = {t:g}, {plus:g} and {minus:g}.")
    if t == 0:
        return 1.0
    if plus == 0:
        return 0.0
    return math.exp(-n * t / 2 * math.log1p(t / (2 * plus)))


def theorem2_log_probability(n: int, k: float, epsilon: float, *, eta: float, cover: float) -> float:
    """(4): log of the bound on P(some of k models is off by epsilon), given an eta-similarity cover of `cover` models.

    At eta = 1 the second term vanishes.
    """
    anchors = math.log(2 * cover) - n * epsilon**2 / 2
    if eta >= 1:
        return anchors
    others = math.log(2 * k) - n * epsilon / 4 * math.log1p(epsilon / (4 * (1 - eta)))
    return float(np.logaddexp(anchors, others))


def theorem2_epsilon(n: int, k: float, *, eta: float, cover: float, delta: float) -> float:
    """The smallest epsilon at which (4) is at most delta; NaN where even epsilon = 1 is not enough."""
    _check(n, k, eta, delta)

    def excess(epsilon: float) -> float:
        return theorem2_log_probability(n, k, epsilon, eta=eta, cover=cover) - math.log(delta)

    if excess(1.0) > 0:
        return math.nan
    return float(brentq(excess, 0.0, 1.0, xtol=1e-12, rtol=1e-12))


def theorem2_equation5(n: int, k: float, *, eta: float, cover: float, delta: float) -> float:
    """(5): an epsilon in closed form for eta bounded away from 1; NaN where its condition on eta fails."""
    _check(n, k, eta, delta)
    anchors, others = math.log(4 * cover / delta), math.log(4 * k / delta)
    if eta > 1 - max(2 * others / n, math.sqrt(anchors / (2 * n))):
        return math.nan
    return max(math.sqrt(2 * anchors / n), math.sqrt(32 * (1 - eta) * others / n))


def theorem2_equation6(n: int, k: float, *, eta: float, cover: float, delta: float) -> float:
    """(6): an epsilon that depends on the cover alone, for eta near 1; NaN where its condition on eta fails.

    The printed sqrt(log((2N + 1)/δ)/n) lacks a factor 2: (4) becomes (2N + 1) exp(-n ε²/2), which is δ at
    ε = sqrt(2 log((2N + 1)/δ)/n).
    """
    _check(n, k, eta, delta)
    epsilon = math.sqrt(2 * math.log((2 * cover + 1) / delta) / n)
    needed = 1 - epsilon / (4 * _expm1(2 * epsilon + 4 * math.log(2 * k) / (n * epsilon)))
    return epsilon if eta >= needed else math.nan


def corollary4(n: int, k: int, *, alpha: float, delta: float, answers: int | None = None) -> tuple[float, float, float]:
    """Corollary 4, for models chosen adaptively from the answers of a mechanism.

    Parameters
    ----------
    n, k : int
        Examples, and queries asked one after the other.
    alpha : float
        Between 0 (no assumption on similarity) and 1.
    answers : int, optional
        How many answers the mechanism can give to one query: n + 1 for the exact error (the default), fewer for a
        rounded one or the Ladder.

    Returns
    -------
    epsilon, eta, log_cover : float
        All k errors are within epsilon with probability 1 - delta, *if* the set of all queries that this analyst
        might ask has an eta-similarity cover of at most exp(log_cover) queries. That is an assumption about queries
        nobody has seen: it cannot be checked on the k models at hand. With alpha = 0 it always holds. The analyst is
        fixed beforehand (a randomised one, given its coins). An epsilon of 1 or more says nothing.

    Examples
    --------
    >>> epsilon, eta, log_cover = corollary4(50_000, 100, alpha=0.0, delta=0.05)
    >>> round(epsilon, 4)
    0.2947
    """
    _check(n, k, 1.0, delta)
    if not 0 <= alpha <= 1:
        raise InputError(f"`alpha` is {alpha:g}; Corollary 4 takes 0 to 1.")
    possible = n + 1 if answers is None else answers
    if possible < 2:
        raise InputError(f"`answers` is {possible}; a mechanism that says anything has at least 2 answers.")
    log_cover = k ** (1 - alpha) * math.log(possible)
    epsilon = math.sqrt(4 * (log_cover + math.log(2 / delta)) / n)
    eta = 1 - epsilon / (4 * _expm1(epsilon * k**alpha))
    return epsilon, eta, log_cover


def _expm1(x: float) -> float:
    """exp(x) - 1, infinite where it overflows."""
    return math.expm1(x) if x < 700 else math.inf


def _check(n: int, k: float, eta: float, delta: float) -> None:
    if n < 1 or k < 1:
        raise InputError(f"{n} examples and {k} models: both must be at least 1.")
    if not 0 <= eta <= 1:
        raise InputError(f"`eta` is {eta:g}; a similarity lies between 0 and 1.")
    check_exact_share("delta", delta)
