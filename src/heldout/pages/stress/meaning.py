"""What a stress test means, what it does not mean, what to do next."""

from __future__ import annotations

import math

from heldout.attack.outlook import expected_accuracy
from heldout.attack.result import LITTLE, StressResult
from heldout.pages.numbers import percent
from heldout.pages.stress.classes import by_classes
from heldout.pages.stress.compare import at_same_answers
from heldout.pages.stress.words import (
    answers_text,
    bound_value,
    confidence_text,
    count_text,
    forecast_words,
    last_telling,
    points_text,
)

HARDLY = 0.8  # of the gain; answers that still give away more are hardly coarser
PARKED = {
    True: " It answers some examples wrongly on purpose, so many that its scores lie where the rounding changes.",
    False: " It keeps its labels fixed at some examples, chosen so that its scores lie where the rounding changes.",
}  # with a prior, and without
POINTWISE = ("nb", "majority", "plurality")
BEST = ", though the best that works point by point on random submissions (Theorem 4.2)"
HOW = {
    "nb": "The analyst submits random labels and weighs each submission by its score",
    "majority": "The analyst submits random labels; those above chance vote for their labels, the others against",
    "plurality": "The analyst submits random labels, and those that scored one standard deviation above the mean vote",
    "linear-scan": "The analyst changes one label at a time and keeps what raises the score",
    "reconstruction": "The analyst submits random labels and searches for the labels that fit all scores",
}


def means(result: StressResult) -> list[str]:
    """What the numbers say."""
    points = [_gain(result), _forecast(result), _attacks(result), _classes(result), _bound(result)]
    return [text for text in points if text]


def _gain(result: StressResult) -> str:
    run = result.run
    how = f"{HOW[run.attack]}{', starting from a prior' if result.prior is not None else ''}."
    if run.parked:
        how += PARKED[result.prior is not None]
    if result.advantage <= -LITTLE:
        return (
            f"{how} Here that does harm: {percent(result.accuracy, 2)} after, {percent(run.baseline, 2)} before. This "
            "analyst had better keep the guess it started from."
        )
    if result.advantage < LITTLE:
        return (
            f"{how} Here that moves the score by {points_text(result.advantage, sign=True)} points: "
            f"{percent(result.accuracy, 2)} after, {percent(run.baseline, 2)} before. Another analyst may gain more."
        )
    return (
        f"{how} That leads from {percent(run.baseline, 2)} to {percent(result.accuracy, 2)}: of a score on this "
        f"set, {points_text(result.advantage)} points can come from {count_text(result.queries, 'answer')} alone."
    )


def _forecast(result: StressResult) -> str | None:
    value = float(result.run.forecast[-1])
    if math.isnan(value):
        return None
    off = result.accuracy - value
    side = "above" if off > 0 else "below"
    return (
        f"The forecast is {percent(value, 2)} ({forecast_words(result.run)}); the simulation lies "
        f"{points_text(abs(off))} points {side} it."
    )


def _attacks(result: StressResult) -> str | None:
    runs = result.by_attack
    if len(runs) < 2 or not at_same_answers(runs):
        return None
    first, *rest = sorted(runs, key=lambda r: -r.advantage[-1])
    others = ", ".join(f"{r.title} {points_text(float(r.advantage[-1]), sign=True)}" for r in rest)
    return (
        f"Of the attacks compared, {first.title} does best: {points_text(float(first.advantage[-1]), sign=True)} "
        f"points; {others}."
    )


def _classes(result: StressResult) -> str | None:
    runs = by_classes(result)
    if len(runs) < 2 or not at_same_answers(runs):
        return None
    few, many = runs[0], runs[-1]
    gains = [float(r.advantage[-1]) for r in (few, many)]
    opening = "The more classes, the less an answer gives away. " if gains[0] > gains[1] else ""
    return (
        f"{opening}As many answers bring {points_text(gains[0], sign=True)} points with {few.n_classes:,} classes and "
        f"{points_text(gains[1], sign=True)} with {many.n_classes:,}."
    )


def _bound(result: StressResult) -> str:
    run = result.run
    bound = float(run.upper_bound[-1])
    if math.isnan(bound):
        return f"What a cleverer analyst could gain is unknown: {result.no_bound}."
    if not run.vacuous:
        return (
            f"No attack passes {bound_value(bound)} with so many answers: that holds with probability "
            f"{confidence_text(result)}, {result.condition}, also for attacks nobody has thought "
            "of, and for analysts who choose each question by the answers so far."
        )
    last = last_telling(run)
    until = (
        f" Of the stops on the way, {count_text(last, 'answer')} is the last at which it excludes something."
        if last
        else ""
    )
    return (
        "What a cleverer analyst could gain is open. The upper bound is vacuous: it excludes nothing at "
        f"{count_text(result.queries, 'answer')}.{until}"
    )


def not_means(result: StressResult) -> list[str]:
    """What must not be read into them."""
    run = result.run
    whole = run.top is None and run.points == run.n_examples
    best = BEST if run.attack == "nb" and run.answers == "exact" and whole else ""
    points = [
        "It accuses nobody. The analyst is simulated, and does nothing but game the score. Nothing here "
        "says that anybody did.",
        "A gain is no skill. On fresh data the accuracy stays where it was.",
        _blind(result),
        f"It is one attack and no worst case{best}. Only the upper bound is for all attacks.",
    ]
    if result.prior is not None:
        points.append(
            "With a prior the upper bound holds only if the prior is right: it takes every label to be drawn with the "
            "probabilities that the prior gives it."
        )
    else:
        points.append(
            "It starts from no knowledge: every label is taken to be equally likely. Who knows more, from a good "
            "model, from looking at the examples or from how common a class is, starts higher and may pass the upper "
            "bound."
        )
    if not math.isnan(result.run.forecast[-1]) and result.run.attack in POINTWISE:
        points.append("The forecast is of first order: small test sets and few answers may be off.")
    return points


def _blind(result: StressResult) -> str:
    """What the attack gets to see."""
    prior = " and what its prior knows" if result.prior is not None else ""
    if result.run.attack in POINTWISE:
        return (
            "Hiding the examples is no protection. The attack works point by point and needs no pictures, only "
            f"scores{prior}."
        )
    return (
        "Hiding the pictures is no protection. The attack has to tell the examples apart, by a number say, but needs "
        f"to see none of them, only scores{prior}."
    )


def next_steps(result: StressResult) -> list[str]:
    """What to do with it."""
    run = result.run
    points = [
        _digits(result),
        _limit(result),
        _examples(result),
        "When the answers are used up, take a fresh set, or keep a second one from the start on which nothing is "
        "reported.",
    ]
    if run.trials == 1:
        points.append("Repeat the simulation: one trial says nothing about its spread.")
    return points


def _digits(result: StressResult) -> str:
    opening = "Hold back digits: nobody needs more of them than the error bar of a score allows."
    run = result.run
    coarser = [r for r in result.by_digits if r is not run and r.digits is not None]
    if not coarser or not at_same_answers([run, *coarser]) or result.advantage < LITTLE:
        return opening
    gains = "; ".join(f"{answers_text(r)} {points_text(float(r.advantage[-1]), sign=True)} points" for r in coarser)
    best = min(float(r.advantage[-1]) for r in coarser)
    little = " Alone that is not enough here." if best > HARDLY * result.advantage else ""
    here = f"Here {answers_text(run)} give this analyst {points_text(result.advantage, sign=True)}"
    return f"{opening} {here}; {gains}.{little}"


def _limit(result: StressResult) -> str:
    opening = "Limit the number of answers, over all submitters together: who may open a second account has no limit."
    if not result.reach:
        return opening
    gain, k = min(result.reach.items())
    unit = "point" if f"{100 * gain:g}" == "1" else "points"
    return (
        f"{opening} By the forecast for naive Bayes and exact answers, {count_text(k, 'answer')} "
        f"{'brings' if k == 1 else 'bring'} {100 * gain:g} {unit}."
    )


def _examples(result: StressResult) -> str:
    run = result.run
    n = run.n_examples
    told = run.attack in POINTWISE and run.answers == "exact" and run.points == n and result.prior is None
    if not told or math.isnan(run.forecast[-1]):
        return f"Use more examples than {n:,}: the same answers then give away less."
    left = expected_accuracy(4 * n, run.n_classes, result.queries, attack=run.attack) - 1 / run.n_classes
    return (
        f"Use more examples: on {4 * n:,} as many answers would bring {points_text(left, sign=True)} points, by the "
        "forecast."
    )
