"""What a budget means, what it does not mean, what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator

from heldout.reuse.budget_summary.words import (
    LITTLE,
    LONGEST,
    effect_text,
    enough_text,
    first_text,
    groups_text,
    models_text,
    pairs_text,
    points_text,
    ratio_text,
    repeated_text,
    similarity_text,
    winner_text,
    worth_text,
)
from heldout.reuse.like_these import AssumptionFit
from heldout.reuse.result import BudgetResult, PoolResult
from heldout.summary.names import shorten
from heldout.summary.numbers import PERCENT, bar_text, count_words, percent, share_text, sure_text

ROUND = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)


def means(result: BudgetResult) -> Iterator[str]:
    """What the numbers say."""
    t, pool = result.testable, result.pool
    if pool is not None:
        yield _bars(result, pool)
        yield from _grouped(pool)
        yield _order(result, pool)
        yield f"{who_is_first(pool)}. {winner_of(pool)}."
    if result.fitting_models == 0:
        of = " of the mean error" if pool is not None else ""
        narrowest = "" if result.narrowest is None else f": about {bar_text(result.narrowest)} is the narrowest"
        yield f"Even one model{of} alone, picked before any data were seen, needs a wider error bar{narrowest}."
    if unequal := _unequal(result):
        yield unequal
    if t.similarity is None:
        yield _sentence(t.reason or "only the union bound applies")
    elif result.mean_error in (0.0, 1.0):
        right, easy = ("right", "easy") if result.mean_error == 0 else ("wrong", "hard")
        yield f"Every model is {right} on every example: the set is too {easy} for them. That so many fit says no more."
    elif t.similarity and result.equal is not None:
        yield _gain(result)
    if t.similarity is not None and t.naive_bayes is None and t.reason:
        yield f"There is no Naive Bayes number: {t.reason}."


def who_is_first(pool: PoolResult) -> str:
    """How many may be first."""
    first = pool.names(pool.top[1])
    return first_text(len(first), len(pool.order), first[0], pool.winner.name)


def winner_of(pool: PoolResult) -> str:
    """What the winner's score is worth."""
    return winner_text(pool.winner, pool.unit, "is right on {:.4f} of the examples")


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
    t, alike = result.testable, _sentence(similarity_text(result))
    assert t.similarity is not None
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
    gain = "similarity does not narrow it"
    if pool.example_groups is not None:
        gain = "each model at its own design effect, all models added up"
    elif alike < union:
        gain = f"{share_text(1 - alike / union)} less, relatively, than the union bound’s {bar_text(union, full=True)}"
    price = "both" if len(pool.order) == 2 else f"{len(pool.order):,}"
    return (
        f"The error bar that holds for {models_text(result.n_models)} at once, with probability "
        f"{sure_text(result.delta)}, is {bar_text(alike, full=True)}: {gain}. One model alone would have a narrower "
        f"one; this is the price of looking at {price}."
    )


def _grouped(pool: PoolResult) -> Iterator[str]:
    """What groups cost, and what is said then."""
    groups, n = pool.example_groups, pool.similarity.n_examples
    if groups is None:
        return
    if groups.n_repeated:
        yield f"{repeated_text(groups)}: each input is one group."
    cost = ""
    if math.isfinite(groups.median_effect):
        cost = f" The design effect is {effect_text(groups)}: {worth_text(groups, n)}."
    yield (
        f"The examples come in {groups_text(groups)}, and whole groups are the unit.{cost} Error bars and intervals "
        "rest on Student’s law for the groups there are, not on exact binomial tails."
    )


def _order(result: BudgetResult, pool: PoolResult) -> str:
    """How much of the leaderboard's order is significant."""
    turned = contradicted_text(pool)
    if len(pool.neighbours) == 1:
        told = "are told apart" if pool.neighbours[0].survives else "cannot be told apart"
        return f"{turned}." if turned else f"The two models {told} by the examples that only one of them gets right."
    return order_text(result, pool)


def order_text(result: BudgetResult, pool: PoolResult) -> str:
    """Who leads, how many differences are significant, and which the common examples turn round."""
    return " ".join(f"{t}." for t in (steps_text(result, pool), _leader(pool), contradicted_text(pool)) if t)


def _leader(pool: PoolResult) -> str:
    """Who may be the best."""
    group = pool.groups[0]
    name = shorten(pool.similarity.names[group[0]], LONGEST)
    if len(group) == 2:
        return f"The second cannot be told from the first, {name}"
    if len(group) > 2:
        return f"None of the next {len(group) - 1:,} can be told from the first, {name}"
    if pool.ranks is not None and tuple(pool.ranks[group[0]]) == (1, 1):
        return f"The first, {name}, is significantly better than every other"
    if pool.neighbours and pool.neighbours[0].contradicted:
        return f"The first, {name}, is worse than the second on the examples that both have"
    return f"The first, {name}, is significantly better than the second"


def contradicted_text(pool: PoolResult) -> str | None:
    """Places that the common examples turn round; only where answers are missing."""
    n = sum(c.contradicted for c in pool.neighbours)
    if not n:
        return None
    steps = "One step down the leaderboard goes" if n == 1 else f"{n:,} steps down the leaderboard go"
    return (
        f"{steps} the wrong way: on the examples that both models have, the lower one is significantly better. Missing "
        "answers moved them"
    )


def steps_text(result: BudgetResult, pool: PoolResult) -> str:
    """How many differences are significant, between neighbours on the leaderboard and in all, and in what sense."""
    survive, n, pairs = sum(c.survives for c in pool.neighbours), len(pool.neighbours), pool.similarity.n_pairs
    sense = f"(paired, family-wise {sure_text(result.delta)}, for independent {pool.unit})"
    if n == 1:
        return f"The one step down the leaderboard is {'' if survive else 'not '}significant {sense}"
    all_pairs = "" if pool.n_significant is None else f", of all {pairs:,} pairs {pool.n_significant:,}"
    if survive == 0:
        return f"None of the {n:,} steps down the leaderboard is significant{all_pairs} {sense}"
    are = "is" if survive == 1 else "are"
    return f"{survive:,} of the {n:,} steps down the leaderboard {are} significant{all_pairs} {sense}"


def not_means(result: BudgetResult) -> Iterator[str]:
    """What must not be read into the numbers."""
    pool = result.pool
    yield (
        "It does not cover models chosen by looking at this test set. Tuning, early stopping, or picking what to try "
        "next by its scores is adaptive use, and none of the numbers here hold for it."
    )
    if result.example_groups is not None:
        yield (
            "It is not a certificate: design effects are estimated from these groups, and further groups and models "
            "are taken to be like these."
        )
    else:
        plugged = (
            "measured, as if they were the true ones, and further models are taken to be like these: as good and as "
            "bad, as alike and as different"
            if pool is not None
            else "stated, as if they were the true ones, and all models are taken to be alike"
        )
        yield f"It is not a certificate: error and similarity are plugged in as {plugged}."
    yield (
        f"An error bar of {bar_text(result.epsilon)} on every model is not a ranking: two models less than "
        f"{points_text(2 * result.epsilon)} apart may still be in the wrong order. Ranks need the paired comparison."
    )
    if result.testable.naive_bayes:
        yield _naive_bayes(result)
    if pool is not None:
        yield from _caveats(pool)


def _naive_bayes(result: BudgetResult) -> str:
    """What the largest number rests on, and how far off that is."""
    pool = result.pool
    opening = (
        f"The Naive Bayes number, {count_words(result.testable.naive_bayes)} in all, rests on Assumption A1: on "
        "examples that are not easy for all, models err independently."
    )
    if pool is not None and pool.assumption is not None and not pool.assumption.fits:
        opening += f" {_misfit(pool, pool.assumption)}"
    forecast = pool.difficulty_forecast if pool is not None else None
    if pool is None or forecast is None or pool.right_for_all is None:
        return f"{opening} Nothing here can check it."
    return (
        f"{opening} It predicts {percent(float(forecast[0]))} of the examples to be right for all models; "
        f"{percent(pool.right_for_all)} are."
    )


def _misfit(pool: PoolResult, fit: AssumptionFit) -> str:
    """Where Assumption A1 and the data part."""
    names = [shorten(pool.similarity.names[i], LONGEST) for i in (fit.first, fit.second)]
    return (
        f"It does not fit: in {fit.n_off:,} of {pairs_text(fit.n_pairs)} the share of examples that both get wrong is "
        f"off by more than {100 * fit.tolerance:g}{PERCENT} beyond sampling error. Farthest off are {names[0]} and "
        f"{names[1]}: {percent(fit.implied)} by A1, {percent(fit.observed)} observed."
    )


def _caveats(pool: PoolResult) -> Iterator[str]:
    """Pairs without a coupling, and cells without an answer."""
    s, below = pool.similarity, pool.alike.below_chance
    if below:
        share = f"({share_text(below / s.n_pairs)}) {'is' if below == 1 else 'are'}"
        which = f"{below:,} of {pairs_text(s.n_pairs)} {share}" if s.n_pairs > 1 else "The two models are"
        yield (
            f"{which} wrong together less often than independent models would be. There is no common cause of errors "
            "to build on; the pool’s error bar takes the exact joint law instead."
        )
    if pool.n_missing:
        cells = s.n_models * s.n_examples
        yield (
            f"{pool.n_missing:,} of {cells:,} answers ({share_text(pool.n_missing / cells)}) are missing and left out, "
            "never filled in. That is fair only if they are missing for reasons that have nothing to do with the "
            "answer."
        )


def next_steps(result: BudgetResult) -> Iterator[str]:
    """What to do with it."""
    pool, room = result.pool, result.further_models
    if result.too_few:
        yield "Collect examples from more groups: those there are say nothing."
    elif room == 0:
        bar = ""
        if pool is not None:
            bar = f" {bar_text(pool.epsilon['similarity'], full=True)} holds for {models_text(result.n_models)} today;"
        yield (
            f"Ask for less or collect more:{bar} for {bar_text(result.epsilon)} {enough_text(result.needed)}, where "
            f"there are {result.n_examples:,}."
        )
    if pool is not None:
        yield (
            "Publish the interval and the range of ranks with every score, and announce no winner among those that may "
            "be first; give the first its corrected score."
        )
    yield (
        "Count every model that was ever scored on this set, also those nobody published: they use up the same budget."
    )
    if room and pool is not None:
        least, named = alarm(room), pool.example_groups is not None and pool.example_groups.named is not None
        yield (
            f"In CI, `heldout budget FILE --epsilon {result.epsilon:g} --delta {result.delta:g} --fail-under {least}"
            f"{' --groups SPEC' if named else ''}` fails once fewer than {least:,} further models fit."
        )
    if pool is None:
        yield (
            "With the models’ predictions, `heldout budget predictions.npz` adds error bars for all of them at once, "
            "which differences are significant, and how alike they are."
        )


def alarm(room: int) -> int:
    """A round number of further models not above `room`: an alarm is of use while there is room.

    Examples
    --------
    >>> [alarm(room) for room in (1, 12, 499, 787, 10**18)]
    [1, 10, 200, 500, 1000]
    """
    return max(k for k in ROUND if k <= room)
