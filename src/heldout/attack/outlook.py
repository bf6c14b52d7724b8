"""What is to be expected of an attack, and what no attack can pass: curves over numbers of answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from heldout.attack.bounds import accuracy_bound, exact_accuracy_bound, possible_answers, prior_accuracy_bound
from heldout.attack.forecast import EFFICIENCY, answer_efficiency, detectability, forced_choice, win_probability
from heldout.attack.knowledge import ROWS, Knowledge
from heldout.attack.linear_scan import expected_scan_accuracy
from heldout.attack.majority import Majority, Plurality
from heldout.attack.naive_bayes import NaiveBayes
from heldout.attack.oracle import Exact, Mechanism, Rounded
from heldout.attack.pointwise import Pointwise
from heldout.attack.reading import answer_codes, answer_law, hits_law
from heldout.attack.score_law import discrete_forecast

Curve = NDArray[np.float64]
QUANTILES = 41
MANY = 10  # classes from which on labels are as good as independent, so that the law of their scores can be used
VOTES: dict[str, type[Pointwise]] = {"nb": NaiveBayes, "majority": Majority, "plurality": Plurality}


def forecast_curve(
    attack: str,
    known: Knowledge,
    stops: NDArray[np.int64],
    *,
    mechanism: Mechanism,
    labels: NDArray[np.int64] | None = None,
    drawn: bool = False,
) -> Curve:
    """(c,) expected accuracy after so many answers; NaN where it cannot be computed.

    Without a prior and with few classes by the forced choice of `forecast`, with many by the law of the scores
    themselves (`score_law`): the two agree where each label is named often. With a prior by the forced choice over the
    mixture of points.

    Parameters
    ----------
    labels : (n,) int, optional
        The labels, needed with a prior: how far it is right decides.
    drawn : bool
        Whether these labels are a draw from the prior; the forecast is then for any such draw.
    """
    digits = mechanism.digits if isinstance(mechanism, Rounded) else None
    if digits is None and not isinstance(mechanism, Exact):
        return np.full(len(stops), math.nan)
    if attack == "linear-scan":
        if digits is not None:
            return np.full(len(stops), math.nan)
        return np.array([expected_scan_accuracy(known.n, known.m, k) for k in stops.tolist()])
    n, q = known.n, known.n_points
    if attack == "reconstruction":  # if it succeeds
        guessed = (n - q) / known.m if labels is None else known.hits_elsewhere(labels)
        return np.where(stops > 0, (q + guessed) / n, math.nan)
    if known.prior is None:
        return _without_prior(attack, known, stops, digits)
    assert labels is not None
    return _with_prior(attack, known, stops, digits, labels, drawn)


def _without_prior(attack: str, known: Knowledge, stops: NDArray[np.int64], digits: int | None) -> Curve:
    n, q, m = known.n, known.n_points, known.m
    elsewhere = (n - q) / m
    if m >= MANY and (digits is None or q == n):
        hits, probability = hits_law(q, m)
        told = hits / q if digits is None else answer_codes(hits, n, digits=digits, outside=0.0) / 10**digits
        weights = VOTES[attack](Knowledge(n=q, m=m), seed=0, digits=digits, sure=False).weights(np.asarray(told))
        right = [discrete_forecast(weights, hits, probability, points=q, m=m, k=k) for k in stops.tolist()]
        return np.asarray((q * np.array(right) + elsewhere) / n)
    kept = _kept(attack, known, digits, float(q), elsewhere, math.sqrt(elsewhere * (1 - 1 / m)))
    won = [forced_choice(x * detectability(k, q, m), m) for k in stops.tolist() for x in kept]
    return np.asarray((q * np.reshape(won, (len(stops), -1)).mean(axis=1) + elsewhere) / n)


def _with_prior(
    attack: str, known: Knowledge, stops: NDArray[np.int64], digits: int | None, labels: NDArray[np.int64], drawn: bool
) -> Curve:
    assert known.prior is not None
    assert known.guess is not None
    n, options = known.n, known.n_options
    option = known.option_of(labels)
    inside = int(((option >= 0) & (option < options)).sum())
    elsewhere = known.hits_elsewhere(labels)
    spread = 0.0
    if drawn and digits is not None:
        best = _best(known.prior)
        best[np.arange(n) if known.points is None else known.points] = 0.0
        spread = math.sqrt(float(np.sum(best * (1 - best))))
    # To first order the gain is linear in what is kept, so its mean will do.
    kept = float(np.mean(_kept(attack, known, digits, float(inside), elsewhere, spread)))
    random = np.maximum(0, stops - (known.options is not None))
    d = [kept * detectability(k, max(1, inside), options) for k in random.tolist()]
    if attack != "nb":  # the prior aims, it does not vote
        return np.array([(inside * forced_choice(x, options) + elsewhere) / n for x in d])
    won = np.zeros(len(stops))
    for a in range(0, known.n_points, ROWS):
        b = min(known.n_points, a + ROWS)
        logs = known.log_prior(a, b)
        won += [win_probability(logs, option[a:b], x).sum() for x in d]
    accuracy = (won + elsewhere) / n
    if drawn:  # less what this draw was luckier than draws are
        accuracy += float(_best(known.prior).mean()) - float((known.guess == labels).mean())
    return accuracy


def _kept(
    attack: str, known: Knowledge, digits: int | None, points: float, outside: float, spread: float
) -> NDArray[np.float64]:
    """What the attack's weights and the answers keep of the signal.

    How much a rounded answer says depends on where the hits on the other points, the same for all queries, leave the
    accuracy between two steps; so where these are random, there is one value for each of some quantiles of theirs.
    """
    if digits is None:
        return np.array([EFFICIENCY[attack]])
    places = outside + spread * ndtri((np.arange(QUANTILES) + 0.5) / QUANTILES) if spread > 0 else np.array([outside])
    laws = [
        answer_law(known.n, points=points, options=known.n_options, digits=digits, outside=float(place))
        for place in np.clip(places, 0, known.n - points)
    ]
    return np.array([answer_efficiency(attack, *law, n=known.n) for law in laws])


def _best(prior: NDArray[Any]) -> NDArray[np.float64]:
    """(n,) probability of the most probable label."""
    parts = [np.asarray(prior[a : a + ROWS]).max(axis=1) for a in range(0, len(prior), ROWS)]
    return np.concatenate(parts).astype(np.float64)


def bound_curves(
    n: int, m: int, stops: NDArray[np.int64], *, mechanism: Mechanism, prior: NDArray[Any] | None, delta: float
) -> tuple[Curve, Curve]:
    """(c,) the exact tail's bound and Theorem 3.1's on the accuracy after so many answers.

    NaN where the answers cannot be counted; the theorem knows no prior.
    """
    if isinstance(mechanism, Exact | Rounded):
        answers = possible_answers(n, getattr(mechanism, "digits", None))
    else:
        return np.full(len(stops), math.nan), np.full(len(stops), math.nan)
    if prior is not None:
        best = _best(prior)
        bound = [prior_accuracy_bound(best, k, delta=delta, answers=answers) for k in stops.tolist()]
        return np.array(bound), np.full(len(stops), math.nan)
    return (
        np.array([exact_accuracy_bound(n, m, k, delta=delta, answers=answers) for k in stops.tolist()]),
        np.array([accuracy_bound(n, m, k, delta=delta, answers=answers) for k in stops.tolist()]),
    )
