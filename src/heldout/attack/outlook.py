"""What is to be expected of an attack, and what no attack can pass: curves over numbers of answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from heldout.attack.bounds import accuracy_bound, exact_accuracy_bound, possible_answers, prior_accuracy_bound
from heldout.attack.forecast import (
    EFFICIENCY,
    answer_efficiency,
    detectability,
    forced_choice,
    forced_choice_queries,
    win_probability,
)
from heldout.attack.knowledge import ROWS, Knowledge
from heldout.attack.learned import draw_learning, make_plan
from heldout.attack.linear_scan import expected_scan_accuracy
from heldout.attack.lucky import kept_after_search, worth_searching
from heldout.attack.majority import Majority, Plurality
from heldout.attack.naive_bayes import NaiveBayes
from heldout.attack.oracle import Exact, Mechanism, MechanismMaker, Rounded
from heldout.attack.parked import ParkedBayes, kept_signal, make_parking
from heldout.attack.pointwise import Pointwise
from heldout.attack.reading import answer_codes, answer_law, hits_law
from heldout.attack.score_law import discrete_forecast
from heldout.errors import InputError
from heldout.statistics.search import first_where

Curve = NDArray[np.float64]
QUANTILES = 41
RANKS = 5  # of a prior that labels may refute
SUMMED = 32  # options up to which a forecast sums over all of them
DRAWN = 20_000  # labels that are drawn from a prior otherwise, at least
LARGEST = 10**15  # queries
# Weights with mean zero leave the labels of a point uncorrelated; those of the plurality do not, unless they are many.
MANY = 10
DRAWINGS = 16  # of the hits of all queries, in a forecast for an analyst who moves along with the answers
VOTES: dict[str, type[Pointwise]] = {"nb": NaiveBayes, "majority": Majority, "plurality": Plurality}


def forecast_curve(
    attack: str,
    known: Knowledge,
    stops: NDArray[np.int64],
    *,
    mechanism: Mechanism | MechanismMaker,
    labels: NDArray[np.int64] | None = None,
    drawings: int = DRAWINGS,
) -> Curve:
    """(c,) expected accuracy after so many answers; NaN where it cannot be computed.

    Without a prior by the law of the scores themselves (`score_law`), which is the forced choice of `forecast` where
    each label is named often; that itself serves for a plurality over few classes, for rounded answers on some of the
    points, and, over the mixture of points, with a prior. Where naive Bayes moves along with rounded answers, numbers
    of hits are drawn, for which its choices are simulated; no labels and no queries are.

    Parameters
    ----------
    labels : (n,) int, optional
        With a prior: the labels themselves, where they are known; otherwise they are taken to be drawn from it.
    drawings : int
        Of the hits of all queries, where the analyst moves along with the answers.
    """
    digits = mechanism.digits if isinstance(mechanism, Rounded) else None
    if digits is None and not isinstance(mechanism, Exact):
        return np.full(len(stops), math.nan)
    if attack == "linear-scan":
        if digits is not None:
            return np.full(len(stops), math.nan)
        return np.array([expected_scan_accuracy(known.n, known.m, k) for k in stops.tolist()])
    if known.prior is None:
        labels = None  # any labels are the same to an analyst who knows nothing
    if attack == "reconstruction":  # if it succeeds
        return np.where(stops > 0, (known.n_points + _elsewhere(known, labels)[0]) / known.n, math.nan)
    if known.prior is None:
        return _without_prior(attack, known, stops, digits, drawings)
    return _with_prior(attack, known, stops, digits, labels, drawings)


def expected_accuracy(n: int, m: int, k: int, *, attack: str = "nb") -> float:
    """What k exact answers bring an analyst who knows nothing.

    Examples
    --------
    >>> round(expected_accuracy(10_000, 2, 1000), 4), round(expected_accuracy(10_000, 1000, 100), 5)
    (0.6241, 0.00194)
    """
    return float(forecast_curve(attack, Knowledge(n=n, m=m), np.array([k]), mechanism=Exact())[0])


def queries_to_reach(advantage: float, n: int, m: int, *, attack: str = "nb") -> int:
    """The smallest number of exact answers whose forecast is at least 1/m + advantage.

    Parameters
    ----------
    advantage : float
        What shall be gained over a guess.
    n, m : int
        Examples and classes of the test set.
    attack : {"nb", "majority", "plurality"}
        Whose forecast.

    Returns
    -------
    int
        Answers.

    Examples
    --------
    >>> from heldout import queries_to_reach
    >>> queries_to_reach(0.1, 10_000, 2)  # Φ(√(k/n)) = 0.6, k/n = 0.2533²
    642
    """
    if n < 1 or m < 2:
        raise InputError(f"{n} points and {m} classes: at least 1 point and 2 classes are needed.")
    if attack not in VOTES:
        raise InputError(f"`attack` is {attack!r}; there are {', '.join(VOTES)}.")
    if not 0 < advantage < 1 - 1 / m:
        raise InputError(f"`advantage` is {advantage}; over {m} classes it lies between 0 and {1 - 1 / m:g}.")
    goal = 1 / m + advantage - 1e-12
    high = max(1, round(forced_choice_queries(advantage, n, m, attack=attack)))
    low = high
    while low > 0 and expected_accuracy(n, m, low, attack=attack) >= goal:
        low = int(low * 0.9)
    while expected_accuracy(n, m, high, attack=attack) < goal:
        low, high = high, math.ceil(high * 1.1) + 1
        if high > LARGEST:
            raise InputError(f"{advantage:g} is out of reach for this attack on {n:,} points.")
    return first_where(lambda k: expected_accuracy(n, m, k, attack=attack) >= goal, low, high)


def _without_prior(attack: str, known: Knowledge, stops: NDArray[np.int64], digits: int | None, drawings: int) -> Curve:
    n, q, m = known.n, known.n_points, known.m
    elsewhere = (n - q) / m
    random = stops if q == n else np.maximum(0, stops - 1)  # one goes into what the other points have right
    if (m >= MANY or attack != "plurality") and (digits is None or q == n):
        hits, probability = hits_law(q, m)
        told = hits / q if digits is None else answer_codes(hits, n, digits=digits, outside=0.0) / 10**digits
        analyst = VOTES[attack](Knowledge(n=q, m=m), seed=0, digits=digits, sure=q == n)
        weights = analyst.weights(np.asarray(told))
        right = [discrete_forecast(weights, hits, probability, points=q, m=m, k=k) for k in random.tolist()]
        curve = np.asarray((q * np.array(right) + elsewhere) / n)
        plan = make_plan(n, m, digits, int(stops[-1])) if attack == "nb" and digits is not None else None
        if plan is not None and digits is not None:
            rng = np.random.default_rng(n)
            drawn = [draw_learning(n, m, digits, plan, stops, rng=rng) for _ in range(drawings)]
            curve = np.where(stops <= plan.starts[1], curve, np.mean(drawn, axis=0))
        return curve
    if attack == "nb" and digits is not None and worth_searching(n, q, m, digits, int(stops[-1])):
        rng = np.random.default_rng(n)
        laws = np.array([kept_after_search(n, q, m, digits, stops, rng=rng) for _ in range(drawings)])
        each = [
            [forced_choice(x * detectability(k, q, m), m) for x in row] for k, row in zip(stops, laws.T, strict=True)
        ]
        return np.asarray((q * np.mean(each, axis=1) + elsewhere) / n)
    kept = _kept(attack, known, digits, float(q), *_elsewhere(known, None))
    won = [forced_choice(x * detectability(k, q, m), m) for k in random.tolist() for x in kept]
    return np.asarray((q * np.reshape(won, (len(stops), -1)).mean(axis=1) + elsewhere) / n)


def _with_prior(
    attack: str,
    known: Knowledge,
    stops: NDArray[np.int64],
    digits: int | None,
    labels: NDArray[np.int64] | None,
    drawings: int,
) -> Curve:
    parked = ParkedBayes(known, seed=0, digits=digits) if attack == "nb" and digits is not None else None
    known = known if parked is None else parked.known
    n, options = known.n, known.n_options
    elsewhere, spread = _elsewhere(known, labels)
    option = None if labels is None else known.option_of(labels)
    inside = float(known.n_points)
    if known.options is not None:
        inside = known.option_shares()[0] * inside if option is None else float((option >= 0).sum())
    # To first order the gain is linear in what is kept, so its mean will do.
    if parked is not None and parked.lever is not None:
        kept, random = _kept_parked(parked, stops, inside, elsewhere, spread, labels, drawings), stops
    else:
        kept = np.full(len(stops), float(np.mean(_kept(attack, known, digits, inside, elsewhere, spread))))
        known_law = known.options is None and known.n_points == n
        random = np.maximum(0, stops - (known.options is not None) - (not known_law))  # one goes into the others' hits
    d = [x * detectability(k, max(1.0, inside), options) for x, k in zip(kept.tolist(), random.tolist(), strict=True)]
    if attack != "nb":  # the prior aims, it does not vote
        return np.array([(inside * forced_choice(x, options) + elsewhere) / n for x in d])
    won = np.zeros(len(stops))
    for a in range(0, known.n_points, ROWS):
        b = min(known.n_points, a + ROWS)
        logs = known.log_prior(a, b)
        won += _won(logs, d) if option is None else [win_probability(logs, option[a:b], x).sum() for x in d]
    return np.asarray((won + elsewhere) / n)


def _won(logs: NDArray[np.float64], d: list[float]) -> NDArray[np.float64]:
    """(c,) expected number of points won if the labels are drawn from the prior.

    Few options are summed over. With many, labels are drawn; what the draw was luckier than draws are is taken off.
    """
    prior = np.exp(logs)
    points, options = logs.shape
    if options <= SUMMED:
        return np.array(
            [
                sum(float(np.sum(prior[:, r] * win_probability(logs, np.full(points, r), x))) for r in range(options))
                for x in d
            ]
        )
    rng = np.random.default_rng(points)
    total = np.cumsum(prior, axis=1)
    found = np.zeros(len(d))
    for _ in range(draws := max(1, round(DRAWN / points))):
        drawn = np.minimum((total <= rng.random((points, 1)) * total[:, -1:]).sum(axis=1), options - 1)
        lucky = float((win_probability(logs, drawn, 0.0)).sum()) - float(prior.max(axis=1).sum())
        found += [float(win_probability(logs, drawn, x).sum()) - lucky for x in d]
    return np.asarray(found / draws)


def _elsewhere(known: Knowledge, labels: NDArray[np.int64] | None) -> tuple[float, float]:
    """Hits of the best guess on the points that are not attacked: expected, and their standard deviation."""
    if labels is not None:
        return float(known.hits_elsewhere(labels)), 0.0
    best = np.full(known.n, 1 / known.m) if known.prior is None else _best(known.prior)
    best[slice(None) if known.points is None else known.points] = 0.0
    return float(best.sum()), math.sqrt(float(np.sum(best * (1 - best))))


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


def _kept_parked(
    analyst: ParkedBayes,
    stops: NDArray[np.int64],
    points: float,
    outside: float,
    spread: float,
    labels: NDArray[np.int64] | None,
    drawings: int,
) -> NDArray[np.float64]:
    """(c,) the same for an analyst who parks the accuracy on an edge: the mean over some drawings of the hits."""
    known, lever = analyst.known, analyst.lever
    assert lever is not None
    assert analyst.digits is not None
    assert known.guess is not None
    rng = np.random.default_rng(known.n_points)
    kept = np.zeros(len(stops))
    for _ in range(drawings):
        kept += kept_signal(
            make_parking(known, lever, digits=analyst.digits),
            stops,
            outside=round(min(max(rng.normal(outside, spread), 0), known.n - known.n_points)),
            taken=lever.draw_taken(rng) if labels is None else lever.taken(known.guess, labels),
            points=max(1, round(points)),
            options=known.n_options,
            rng=rng,
        )
    return kept / drawings


def expected_guess(known: Knowledge) -> float:
    """Expected accuracy of the best guess without any answer."""
    return 1 / known.m if known.prior is None else float(_best(known.prior).mean())


def refutes(labels: NDArray[np.int64], known: Knowledge) -> bool:
    """Whether some rank of a prior is right far more often than it allows its first: by more than three sd."""
    if known.prior is None:
        return False
    best = _best(known.prior)
    most = float(best.sum()) + 3 * math.sqrt(float(np.sum(best * (1 - best)))) + 1e-9
    right = np.zeros(min(known.m, RANKS))
    for a in range(0, known.n, ROWS):
        rows, truth = np.asarray(known.prior[a : a + ROWS], dtype=np.float64), labels[a : a + ROWS]
        own = rows[np.arange(len(rows)), truth]
        above = (rows > own[:, None]).sum(axis=1)
        tied = (rows == own[:, None]).sum(axis=1)
        for rank in range(len(right)):  # a tie is a share of each of its ranks
            right[rank] += float(np.sum(((above <= rank) & (rank < above + tied)) / tied))
    return bool((right > most).any())


def _best(prior: NDArray[Any]) -> NDArray[np.float64]:
    """(n,) probability of the most probable label, in rows that sum to 1 exactly."""
    parts = (np.asarray(prior[a : a + ROWS], dtype=np.float64) for a in range(0, len(prior), ROWS))
    return np.concatenate([rows.max(axis=1) / rows.sum(axis=1) for rows in parts])


def bound_curves(
    n: int,
    m: int,
    stops: NDArray[np.int64],
    *,
    mechanism: Mechanism | MechanismMaker,
    prior: NDArray[Any] | None,
    delta: float,
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
