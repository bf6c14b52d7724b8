"""What a budget means and does not mean, what to do next, what it rests on, and what it lacks, in sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping

from heldout import summary as page
from heldout.reuse.result import Budget, BudgetResult, PoolResult
from heldout.reuse.score_result import ScoreBudgetResult

MOST_TASKS, LONGEST = 20, 48  # tasks that are named, and characters of a name
ROUND = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
WORTHWHILE = 0.2  # of an error bar that endlessly many trials would take off
NOT_TUNED = "models chosen without looking at this test set; a model tuned on it is not covered."
PLUG_IN = (
    "Errors and similarities are plugged in as if they were the true ones, and further models are taken to be like "
    f"these. The bounds hold for independent examples, and for {NOT_TUNED}"
)
GROUPED = (
    "Whole groups are the unit: error bars, intervals and comparisons rest on Student’s law for many independent "
    "groups, drawn with their sizes. Design effects are estimated from these groups, and further groups and models are "
    f"taken to be like these. It holds for {NOT_TUNED}"
)
SCORES = (
    "Error bars are over {}, which must be independent; the trials of an example are kept together. They hold for "
    f"{NOT_TUNED}"
)
WITHOUT_PREDICTIONS = (
    "Leaderboard with intervals for all models at once, rank ranges, and which differences are significant",
    "Who may be first, and what the winner’s score is worth",
    "Similarity of every pair, against chance and as a map",
    "Covering curve and Theorem 2",
    "Difficulty of the examples, and whether Assumption A1 fits",
)
WITHOUT_RIGHT_AND_WRONG = (
    "Similarity of every pair, similarity and Naive Bayes bounds, difficulty: they are for right and wrong. "
    "`--threshold 0.5` counts a score of 0.5 or more as right."
)


def points(*sentences: object) -> page.Points | None:
    """The sentences that apply: each is a text, or a condition `and` a text."""
    told = tuple(str(sentence) for sentence in sentences if sentence)
    return page.Points(told) if told else None


def rests_on(result: Budget) -> str:
    """What all of it rests on."""
    if isinstance(result, ScoreBudgetResult):
        return SCORES.format(result.pool.unit)
    return PLUG_IN if result.example_groups is None else GROUPED


def means(result: Budget) -> page.Points | None:
    """What the numbers say; of scores their names say it."""
    if not isinstance(result, BudgetResult):
        return None
    error = result.mean_error
    return points(
        result.pool is not None
        and "One model alone would have a narrower error bar; its width is the price of looking at so many.",
        error in (0.0, 1.0)
        and f"Every model has the error {error:g}: the set is too easy or too hard. That so many fit says no more.",
        result.example_groups is None
        and "Similar models cost less: a sample that is too easy for one of them tends to be too easy for the others. "
        "The union bound takes every model for a stranger; the similarity bound does not.",
    )


def not_means(result: Budget) -> page.Points | None:
    """What must not be read into the numbers."""
    pool, bar = result.pool, page.bar_text(result.epsilon)
    if not isinstance(result, BudgetResult):
        return None
    return points(
        "It does not cover models chosen by looking at this test set. Tuning, early stopping, or picking what to try "
        "next by its scores is adaptive use, and none of the numbers here hold for it.",
        f"An error bar of {bar} on every model is not a ranking: two models less than {2 * result.epsilon:g} apart may "
        "still be in the wrong order. Ranks need the paired comparison.",
        result.testable.naive_bayes
        and "The Naive Bayes number rests on Assumption A1: on examples that are not easy for all, models err "
        "independently. No data can promise that; where they contradict it, the table of every bound says so.",
        isinstance(pool, PoolResult)
        and pool.alike.below_chance
        and "Pairs that are wrong together less often than independent models would be leave no common cause of errors "
        "to build on; the pool’s error bar takes the exact joint law instead.",
        pool is not None
        and pool.n_missing
        and "Missing predictions are left out, never filled in. That is fair only if they are missing for reasons that "
        "have nothing to do with the prediction. They can move places, so places and ranks need not agree.",
    )


def next_steps(result: Budget) -> page.Points | None:
    """What to do with it."""
    if isinstance(result, ScoreBudgetResult):
        known = math.isfinite(result.median_trial_share)
        pay = known and 1 - result.shrinks(math.inf) >= WORTHWHILE
        return points(
            "Publish the interval and the range of ranks with every score.",
            pay and "More trials pay: see what they would bring.",
            known and not pay and "Spend on examples before trials: four times as many examples halve the error bars.",
            int(result.trials[2]) <= 1 and "Run some examples twice, to see how much of a score is chance.",
            result.pool.n_missing and "Missing cells are left out: that is fair only if they are missing by chance.",
        )
    pool, room, groups = result.pool is not None, result.further_models, result.example_groups
    least = max((k for k in ROUND if k <= room), default=0)  # an alarm is of use while there is room
    named = " --groups SPEC" if groups is not None and groups.named is not None else ""
    command = f"heldout budget FILE --epsilon {result.epsilon:g} --delta {result.delta:g} --fail-under {least}{named}"
    return points(
        result.too_few and "Collect examples from more groups: those there are say nothing.",
        not room and "Ask for a wider error bar, or collect more examples: see how many are needed.",
        pool
        and "Publish the interval and the range of ranks with every score, and announce no winner among those that may "
        "be first; give the first its corrected score.",
        "Count every model that was ever scored on this set, also those nobody published: they use up the same budget.",
        room and pool and f"In CI, `{command}` fails once fewer further models fit.",
        not pool
        and "With the models’ predictions, `heldout budget predictions.npz` adds error bars for all of them at once, "
        "which differences are significant, and how alike they are.",
    )


def not_computed(result: Budget) -> page.Points | None:
    """What the page lacks, and why; silence must not read as "nothing to see"."""
    if not isinstance(result, BudgetResult):
        return page.Points((WITHOUT_RIGHT_AND_WRONG,))
    if (pool := result.pool) is None:
        return page.Points(WITHOUT_PREDICTIONS)
    complete, sizes = pool.similarity.n_complete, pool.cover.size
    why = result.testable.reason or "there is no common cause of errors"
    return points(
        not complete and "Difficulty of the examples: none has a prediction of every model",
        complete and pool.difficulty_forecast is None and f"Forecast of Assumption A1: {why}",
        result.equal is None
        and "Curves, and what would fit were all models equal: examples come in groups, or no models have the mean "
        "error and the mean similarity",
        sizes[0] == sizes[-1] and "Covering curve: it takes all models at every similarity",
        pool.ranks is None and "Rank ranges: the pool is too large to compare every pair",
    )


def notes_of(tasks: Mapping[str, int], *, trials_agree: bool = False) -> tuple[str, ...]:
    """What else is to be known of a table: how its tasks were pooled, that all trials agree.

    Examples
    --------
    >>> notes_of({"a": 2, "b": 1})[0][:88]
    'All 2 tasks pooled: every example counts once, so that a task counts by its size (a 2, b'
    """
    sizes = [page.shorten(f"{name} {size:,}", LONGEST) for name, size in tasks.items()]
    rest = f" and {len(sizes) - MOST_TASKS:,} more" if len(sizes) > MOST_TASKS else ""
    pooled = (
        f"All {len(tasks):,} tasks pooled: every example counts once, so that a task counts by its size "
        f"({', '.join(sizes[:MOST_TASKS])}{rest}), and the mean over tasks may differ."
    )
    agree = "All trials of an example agree everywhere, so that more trials would bring nothing."
    return tuple(note for note, told in ((pooled, tasks), (agree, trials_agree)) if told)
