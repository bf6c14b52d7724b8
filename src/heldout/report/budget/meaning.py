"""What a budget means, what it does not mean, what to do next."""

from __future__ import annotations

from heldout.report.budget.words import (
    confidence_text,
    first_text,
    models_text,
    models_that_fit,
    narrowest_text,
    pairs_text,
    points_text,
    similarity_text,
    steps_text,
)
from heldout.report.numbers import bar_text, count_text, percent, share_text, times_text
from heldout.reuse.result import BudgetResult, PoolResult


def means(result: BudgetResult) -> list[str]:
    """What the numbers say."""
    t, pool = result.testable, result.pool
    points = [_bars(result, pool), _ties(pool)] if pool is not None else []
    narrowest = narrowest_text(result)
    if result.further_models == 0 and models_that_fit(result) == 0:
        alone = f": about {narrowest} is the narrowest" if narrowest else ""
        points.append(f"Even one model alone, picked before any data were seen, needs a wider error bar{alone}.")
    if t.reason:
        points.append(f"Only the union bound applies: {t.reason}.")
    elif t.similarity:
        points.append(_gain(result))
    return points


def _gain(result: BudgetResult) -> str:
    """What similarity buys."""
    t = result.testable
    assert t.similarity is not None
    gain = (
        f"{times_text(t.similarity / t.union)} as many"
        if t.union
        else f"{count_text(t.similarity)} where that allows none"
    )
    small = " Here that is little." if t.similarity < 1.1 * t.union else ""
    return (
        f"Similar models cost less: {similarity_text(result)}. A sample that is too easy for one of them tends to be "
        f"too easy for the others. The union bound takes every model for a stranger; with similarity the set can take "
        f"{gain}.{small}"
    )


def _bars(result: BudgetResult, pool: PoolResult) -> str:
    """The error bar of the pool, and how little or much similarity changes it."""
    union, alike = pool.epsilon["union"], pool.epsilon["similarity"]
    less = f"{percent(1 - alike / union)} narrower than the union bound’s {bar_text(union, full=True)}"
    gain = less if alike < union else f"the union bound says the same, {bar_text(union, full=True)}"
    price = "both" if len(pool.order) == 2 else f"{len(pool.order):,}"
    return (
        f"The error bar that holds for {models_text(result)} at once, with probability {confidence_text(result)}, is "
        f"{bar_text(alike, full=True)}: {gain}. One model alone would have a narrower one; this is the price of "
        f"looking at {price}."
    )


def _ties(pool: PoolResult) -> str:
    """How much of the leaderboard's order is real."""
    if len(pool.neighbours) == 1:
        told = "are told apart" if pool.neighbours[0].survives else "cannot be told apart"
        return f"The two models {told} by the examples that only one of them gets right."
    return f"{steps_text(pool)}. {first_text(pool)}."


def not_means(result: BudgetResult) -> list[str]:
    """What must not be read into them."""
    pool = result.pool
    points = [
        "It does not cover models chosen by looking at this test set. Tuning, early stopping, or picking what to try "
        "next by its scores is adaptive use, and none of the numbers here hold for it.",
        "It is no certificate: error and similarity are plugged in as "
        f"{'measured' if pool is not None else 'stated'}, as if they were the true ones, and "
        f"{'further models are taken to be like these' if pool is not None else 'all models are taken to be alike'} "
        f"(error about {percent(result.mean_error)}, similarity about {result.mean_similarity:.3g}).",
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
        f"The {count_text(result.testable.naive_bayes)} of the Naive Bayes bound rest on Assumption A1: on examples "
        "that are not easy for all, models err independently."
    )
    pool = result.pool
    forecast = pool.difficulty_forecast if pool is not None else None
    if pool is None or forecast is None or not pool.similarity.n_complete:
        return f"{opening} Nothing here can check it."
    return (
        f"{opening} It predicts {percent(float(forecast[0]))} of the examples to be right for all models; "
        f"{percent(float(pool.similarity.difficulty_curve()[0]))} are."
    )


def _caveats(pool: PoolResult) -> list[str]:
    """Pairs without a coupling, and cells without an answer."""
    s, points = pool.similarity, []
    if s.below_chance:
        points.append(
            f"{s.below_chance:,} of {pairs_text(s.n_pairs)} ({share_text(s.below_chance / s.n_pairs)}) are wrong "
            "together less often than independent models would be. They have no common cause of errors to build on; "
            "the pool’s error bar takes their exact joint law instead."
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
    pool, n = result.pool, result.n_examples
    points = []
    if result.further_models == 0:
        bar = (
            f" {bar_text(pool.epsilon['similarity'], full=True)} holds for {models_text(result)} today;" if pool else ""
        )
        points.append(
            f"Ask for less or collect more:{bar} half as wide an error bar needs about four times the {n:,} examples."
        )
    if pool is not None:
        points.append(
            "Publish the interval and the range of ranks with every score, and announce no winner inside a tied group."
        )
    points.append(
        "Count every model that was ever scored on this set, also those nobody published: they use up the same budget."
    )
    points.append("In CI, `heldout budget FILE --fail-under 1000` fails once fewer than 1,000 further models fit.")
    if pool is None:
        points.append(
            "With the models’ predictions, `heldout budget predictions.npz` adds error bars for all of them at once, "
            "ties, and how alike they are."
        )
    return points
