"""What a budget says: every sentence, table and chart of it."""

from __future__ import annotations

from collections.abc import Iterator

from heldout import summary as page
from heldout.reuse.budget_summary import bounds, labels, models, shared
from heldout.reuse.result import BudgetResult

METHOD = (
    "H. Mania, J. Miller, L. Schmidt, M. Hardt, B. Recht (2019), “Model similarity mitigates test set overuse”, "
    "NeurIPS 2019, <https://arxiv.org/abs/1905.12580>. Spanning-tree bound: D. Hunter (1976), K. J. Worsley (1982)."
)
PLUG_IN = (
    "Errors and similarities are plugged in as if they were the true ones, and further models are taken to be like "
    "these. The bounds hold for independent examples, and for models chosen without looking at this test set; a model "
    "tuned on it is not covered."
)
GROUPED = (
    "Whole groups are the unit: error bars, intervals and comparisons rest on Student’s law for many independent "
    "groups, drawn with their sizes. Design effects are estimated from these groups, and further groups and models are "
    "taken to be like these. It holds for models chosen without looking at this test set; a model tuned on it is not "
    "covered."
)
ROUND = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
WITHOUT_PREDICTIONS = (
    "Leaderboard with intervals for all models at once, rank ranges, and which differences are significant",
    "Who may be first, and what the winner’s score is worth",
    "Similarity of every pair, against chance and as a map",
    "Covering curve and Theorem 2",
    "Difficulty of the examples, and whether Assumption A1 fits",
)


def summarise(result: BudgetResult) -> page.Summary:
    """What the result says."""
    return shared.summary_of(
        result,
        kind="Budget",
        measured="measured error",
        meaning=_meaning(result),
        facts=tuple(dict.fromkeys((*models.alike(result), *_facts(result)))),
        sections=_sections(result),
        closing=PLUG_IN if result.example_groups is None else GROUPED,
        method=METHOD,
    )


def _meaning(result: BudgetResult) -> shared.Rows:
    """The error bar, and how much of the order is significant."""
    narrowest = None if result.testable.count or result.narrowest is None else page.bar_text(result.narrowest)
    return page.kept_facts(
        *shared.error_bar(result),
        *(() if result.pool is None else shared.order(result.pool)),
        ("Narrowest error bar of one model", narrowest),
    )


def _facts(result: BudgetResult) -> shared.Rows:
    pool, error = result.pool, f"{result.mean_error:.4f}"
    if pool is None:
        return shared.went_in(result, ("Error, as stated", error), *models.alike(result))
    errors, cells = pool.values, pool.values.size * result.n_examples
    return shared.went_in(
        result,
        ("Error, mean over models", f"{error} ({errors.min():.4f} to {errors.max():.4f})"),
        ("Missing predictions", page.of_text(pool.n_missing, cells)),
    )


def _sections(result: BudgetResult) -> Iterator[page.Section]:
    pool = result.pool
    yield page.Section.of("What this means", page.Facts(_meaning(result)), _means(result))
    yield page.Section.of("What it does not mean", _not_means(result))
    yield page.Section.of("What to do next", _next(result))
    yield from bounds.sections(result)
    yield shared.needed_section(result)
    if pool is not None:
        yield from shared.leaderboard(result, pool)
        yield shared.who_is_first(result, pool)
        yield from labels.sections(pool)
        yield from models.sections(result, pool)
    yield bounds.depends(result)
    if pool is not None:
        yield models.structure(pool)
    yield page.Section.of("What went in", page.Facts(_facts(result)))
    yield shared.notes_section(result)
    yield page.Section.of("Not computed", _not_computed(result))


def _means(result: BudgetResult) -> page.Points | None:
    """What the numbers say."""
    pool, error = result.pool is not None, result.mean_error
    return shared.points(
        (pool, "One model alone would have a narrower error bar; its width is the price of looking at so many."),
        (
            error in (0.0, 1.0),
            f"Every model has the error {error:g}: the set is too easy or too hard. That so many fit says no more.",
        ),
        (
            result.example_groups is None,
            "Similar models cost less: a sample that is too easy for one of them tends to be too easy for the others. "
            "The union bound takes every model for a stranger; the similarity bound does not.",
        ),
    )


def _not_means(result: BudgetResult) -> page.Points | None:
    """What must not be read into the numbers."""
    pool, bar = result.pool, page.bar_text(result.epsilon)
    return shared.points(
        (
            True,
            "It does not cover models chosen by looking at this test set. Tuning, early stopping, or picking what to "
            "try next by its scores is adaptive use, and none of the numbers here hold for it.",
        ),
        (
            True,
            f"An error bar of {bar} on every model is not a ranking: two models less than {2 * result.epsilon:g} apart "
            "may still be in the wrong order. Ranks need the paired comparison.",
        ),
        (
            result.testable.naive_bayes,
            "The Naive Bayes number rests on Assumption A1: on examples that are not easy for all, models err "
            "independently. No data can promise that; where they contradict it, the table of every bound says so.",
        ),
        (
            pool is not None and pool.alike.below_chance,
            "Pairs that are wrong together less often than independent models would be leave no common cause of errors "
            "to build on; the pool’s error bar takes the exact joint law instead.",
        ),
        (
            pool is not None and pool.n_missing,
            "Missing predictions are left out, never filled in. That is fair only if they are missing for reasons that "
            "have nothing to do with the prediction. They can move places, so places and ranks need not agree.",
        ),
    )


def _next(result: BudgetResult) -> page.Points | None:
    """What to do with it."""
    pool, room, groups = result.pool is not None, result.further_models, result.example_groups
    least = max((k for k in ROUND if k <= room), default=0)  # an alarm is of use while there is room
    named = " --groups SPEC" if groups is not None and groups.named is not None else ""
    command = f"heldout budget FILE --epsilon {result.epsilon:g} --delta {result.delta:g} --fail-under {least}{named}"
    return shared.points(
        (result.too_few, "Collect examples from more groups: those there are say nothing."),
        (not room, "Ask for a wider error bar, or collect more examples: see how many are needed."),
        (
            pool,
            "Publish the interval and the range of ranks with every score, and announce no winner among those that may "
            "be first; give the first its corrected score.",
        ),
        (
            True,
            "Count every model that was ever scored on this set, also those nobody published: they use up the same "
            "budget.",
        ),
        (room and pool, f"In CI, `{command}` fails once fewer further models fit."),
        (
            not pool,
            "With the models’ predictions, `heldout budget predictions.npz` adds error bars for all of them at once, "
            "which differences are significant, and how alike they are.",
        ),
    )


def _not_computed(result: BudgetResult) -> page.Points | None:
    """What the page lacks, and why; silence must not read as "nothing to see"."""
    pool, why = result.pool, result.testable.reason or "there is no common cause of errors"
    if pool is None:
        return page.Points(WITHOUT_PREDICTIONS)
    complete, sizes = pool.similarity.n_complete, pool.cover.size
    return shared.points(
        (not complete, "Difficulty of the examples: none has a prediction of every model"),
        (complete and pool.difficulty_forecast is None, f"Forecast of Assumption A1: {why}"),
        (
            result.equal is None,
            "Curves, and what would fit were all models equal: examples come in groups, or no models have the mean "
            "error and the mean similarity",
        ),
        (sizes[0] == sizes[-1], "Covering curve: it takes all models at every similarity"),
        (pool.ranks is None, "Rank ranges: the pool is too large to compare every pair"),
    )
