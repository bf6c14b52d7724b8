"""What a budget means, what it does not mean, what to do next."""

from __future__ import annotations

import math

from heldout.groups import FEW
from heldout.pages.budget.first import first_sentence, winner_sentence
from heldout.pages.budget.needed import enough_text
from heldout.pages.budget.words import (
    LITTLE,
    LONGEST,
    confidence_text,
    contradicted_text,
    first_text,
    groups_of,
    groups_text,
    models_text,
    narrowest_text,
    pairs_text,
    points_text,
    ratio_text,
    similarity_text,
    steps_text,
)
from heldout.pages.numbers import PERCENT, bar_text, count_words, percent, share_text
from heldout.pages.svg.shapes import shorten
from heldout.reuse.like_these import AssumptionFit
from heldout.reuse.result import BudgetResult, PoolResult

ROUND = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)


def means(result: BudgetResult) -> list[str]:
    """What the numbers say."""
    t, pool = result.testable, result.pool
    points = []
    if pool is not None:
        first = f"{first_sentence(pool)}. {winner_sentence(pool)}."
        points = [_bars(result, pool), *_grouped(pool), _order(result, pool), first]
    if result.fitting_models == 0:
        narrowest = narrowest_text(result)
        of = " of the mean error" if pool is not None else ""
        alone = f": about {narrowest} is the narrowest" if narrowest else ""
        points.append(f"Even one model{of} alone, picked before any data were seen, needs a wider error bar{alone}.")
    unequal = _unequal(result)
    if unequal:
        points.append(unequal)
    if t.similarity is None:
        points.append(_sentence(t.reason or "only the union bound applies"))
    elif result.mean_error in (0.0, 1.0):
        right, easy = ("right", "easy") if result.mean_error == 0 else ("wrong", "hard")
        points.append(
            f"Every model is {right} on every example: the set is too {easy} for them. That so many fit says no more."
        )
    elif t.similarity and result.equal is not None:
        points.append(_gain(result))
    if t.similarity is not None and t.naive_bayes is None and t.reason:
        points.append(f"There is no Naive Bayes number: {t.reason}.")
    return points


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _unequal(result: BudgetResult) -> str | None:
    """What the paper's plug-in would say instead, and why models as unequal as these differ."""
    pool, equal = result.pool, result.equal
    if pool is None or equal is None:
        return None
    instead = equal.union if equal.similarity is None else equal.similarity
    fit = result.fitting_models
    if max(instead, fit) <= LITTLE * min(instead, fit):
        return None
    errors = pool.similarity.errors
    return (
        f"These models are unequal: errors run from {percent(float(errors.min()))} to {percent(float(errors.max()))}, "
        f"and the nearer an error is to 50{PERCENT}, the wider an error bar it needs. {count_words(fit)} like these "
        f"fit in all. Had every model the mean error {percent(result.mean_error)} and the mean similarity "
        f"{result.mean_similarity:.3f}, as the paper assumes, it would be {count_words(instead)}."
    )


def _gain(result: BudgetResult) -> str:
    """What similarity buys."""
    t = result.testable
    assert t.similarity is not None
    alike = _sentence(similarity_text(result))
    if t.similarity == t.union:
        return f"{alike} That brings nothing for further models here: both bounds say the same."
    little = " Here that is little." if t.union and t.similarity < LITTLE * t.union else ""
    return (
        f"Similar models cost less. {alike} A sample that is too easy for one of them tends to be too easy for the "
        "others. The union bound takes every model for a stranger; the similarity bound does not, and allows "
        f"{count_words(t.similarity)}, {ratio_text(t.similarity, t.union)}.{little}"
    )


def _bars(result: BudgetResult, pool: PoolResult) -> str:
    """The error bar of the pool, and how little or much similarity changes it."""
    union, alike = pool.epsilon["union"], pool.epsilon["similarity"]
    less = f"{share_text(1 - alike / union)} less, relatively, than the union bound’s {bar_text(union, full=True)}"
    gain = less if alike < union else "similarity does not narrow it"
    if pool.example_groups is not None:
        gain = "each model at its own design effect, all models added up"
    price = "both" if len(pool.order) == 2 else f"{len(pool.order):,}"
    return (
        f"The error bar that holds for {models_text(result)} at once, with probability {confidence_text(result)}, is "
        f"{bar_text(alike, full=True)}: {gain}. One model alone would have a narrower one; this is the price of "
        f"looking at {price}."
    )


def _grouped(pool: PoolResult) -> list[str]:
    """What groups cost, and what is said then."""
    groups = pool.example_groups
    if groups is None:
        return []
    n = pool.similarity.n_examples
    points = []
    if groups.n_repeated:
        points.append(
            f"{groups.n_repeated:,} examples have the same input ({', '.join(groups.repeated_in)}) as another one: "
            "each input is one group."
        )
    cost = ""
    if math.isfinite(groups.median_effect):
        worth = n / max(1.0, groups.median_effect)
        cost = (
            f" The design effect is {groups.median_effect:.2f} (median over models; at most "
            f"{groups.largest_effect:.2f}), so that {n:,} examples are worth about {worth:,.0f} independent ones."
        )
    points.append(
        f"The examples come in {groups_text(groups)}, and whole groups are the unit.{cost} Error bars and intervals "
        "rest on Student’s law for the groups there are, not on exact binomial tails."
    )
    if groups.few:
        points.append(
            f"{groups.n_groups} groups are few: below {FEW} that law is rough, and intervals are so wide that little "
            "can be told."
        )
    return points


def _order(result: BudgetResult, pool: PoolResult) -> str:
    """How much of the leaderboard's order is significant."""
    turned = contradicted_text(pool)
    if len(pool.neighbours) == 1:
        told = "are told apart" if pool.neighbours[0].survives else "cannot be told apart"
        return f"{turned}." if turned else f"The two models {told} by the examples that only one of them gets right."
    return " ".join(f"{text}." for text in (steps_text(result, pool), first_text(pool), turned) if text)


def not_means(result: BudgetResult) -> list[str]:
    """What must not be read into them."""
    pool = result.pool
    plugged = (
        "measured, as if they were the true ones, and further models are taken to be like these: as good and as bad, "
        "as alike and as different"
        if pool is not None
        else "stated, as if they were the true ones, and all models are taken to be alike"
    )
    points = [
        "It does not cover models chosen by looking at this test set. Tuning, early stopping, or picking what to try "
        "next by its scores is adaptive use, and none of the numbers here hold for it.",
        f"It is no certificate: error and similarity are plugged in as {plugged}."
        if groups_of(result) is None
        else "It is no certificate: design effects are estimated from these groups, and further groups and models are "
        "taken to be like these.",
        f"An error bar of {bar_text(result.epsilon)} on every model is no ranking: two models less than "
        f"{points_text(2 * result.epsilon)} apart may still be in the wrong order. Ranks need the paired comparison.",
    ]
    if result.testable.naive_bayes:
        points.append(_naive_bayes(result))
    if pool is not None:
        points += _caveats(pool)
    return points


def _naive_bayes(result: BudgetResult) -> str:
    """What the largest number rests on, and how far off that is."""
    opening = (
        f"The Naive Bayes number, {count_words(result.testable.naive_bayes)} in all, rests on Assumption A1: on "
        "examples that are not easy for all, models err independently."
    )
    pool = result.pool
    if pool is not None and pool.assumption is not None and not pool.assumption.fits:
        opening += f" {_misfit(pool, pool.assumption)}"
    forecast = pool.difficulty_forecast if pool is not None else None
    if pool is None or forecast is None or not pool.similarity.n_complete:
        return f"{opening} Nothing here can check it."
    return (
        f"{opening} It predicts {percent(float(forecast[0]))} of the examples to be right for all models; "
        f"{percent(float(pool.similarity.difficulty_curve()[0]))} are."
    )


def _misfit(pool: PoolResult, fit: AssumptionFit) -> str:
    """Where Assumption A1 and the data part."""
    names = [shorten(pool.similarity.names[i], LONGEST) for i in (fit.first, fit.second)]
    return (
        f"It does not fit: in {fit.n_off:,} of {pairs_text(fit.n_pairs)} the share of examples that both get wrong is "
        f"off by more than {100 * fit.tolerance:g}{PERCENT} beyond sampling error. Farthest off are {names[0]} and "
        f"{names[1]}: {percent(fit.implied)} by A1, {percent(fit.observed)} observed."
    )


def _caveats(pool: PoolResult) -> list[str]:
    """Pairs without a coupling, and cells without an answer."""
    s, points = pool.similarity, []
    if s.below_chance:
        share = f"({share_text(s.below_chance / s.n_pairs)}) {'is' if s.below_chance == 1 else 'are'}"
        which = f"{s.below_chance:,} of {pairs_text(s.n_pairs)} {share}" if s.n_pairs > 1 else "The two models are"
        points.append(
            f"{which} wrong together less often than independent models would be. There is no common cause of errors "
            "to build on; the pool’s error bar takes the exact joint law instead."
        )
    if pool.n_missing:
        cells = s.n_models * s.n_examples
        points.append(
            f"{pool.n_missing:,} of {cells:,} answers ({share_text(pool.n_missing / cells)}) are missing and left out, "
            "never filled in. That is fair only if they are missing for reasons that have nothing to do with the "
            "answer."
        )
    return points


def next_steps(result: BudgetResult) -> list[str]:
    """What to do with it."""
    pool, n, room = result.pool, result.n_examples, result.further_models
    points = []
    if room == 0:
        bar = (
            f" {bar_text(pool.epsilon['similarity'], full=True)} holds for {models_text(result)} today;" if pool else ""
        )
        points.append(
            "Collect examples from more groups: those there are say nothing."
            if result.too_few
            else f"Ask for less or collect more:{bar} for {bar_text(result.epsilon)} {enough_text(result)}, where "
            f"there are {n:,}."
        )
    if pool is not None:
        points.append(
            "Publish the interval and the range of ranks with every score, and announce no winner among those that may "
            "be first; give the first its corrected score."
        )
    points.append(
        "Count every model that was ever scored on this set, also those nobody published: they use up the same budget."
    )
    if room and pool is not None:
        least = alarm(room)
        points.append(
            f"In CI, `heldout budget FILE --epsilon {result.epsilon:g} --delta {result.delta:g} --fail-under {least}"
            f"{_groups_option(pool)}` "
            f"fails once fewer than {least:,} further models fit."
        )
    if pool is None:
        points.append(
            "With the models’ predictions, `heldout budget predictions.npz` adds error bars for all of them at once, "
            "which differences are significant, and how alike they are."
        )
    return points


def _groups_option(pool: PoolResult) -> str:
    groups = pool.example_groups
    return "" if groups is None or groups.named is None else " --groups SPEC"


def alarm(room: int) -> int:
    """A round number of further models not above `room`: an alarm is of use while there is room.

    Examples
    --------
    >>> [alarm(room) for room in (1, 12, 499, 787, 10**18)]
    [1, 10, 200, 500, 1000]
    """
    return max(k for k in ROUND if k <= room)
