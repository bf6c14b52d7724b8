"""What a budget of scores says."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from heldout import summary as page
from heldout.reuse.budget_summary import shared
from heldout.reuse.score_result import MORE_TRIALS, ScoreBudgetResult

METHOD = (
    "E. L. Korn, B. I. Graubard (1998), Survey Methodology 24(2), 193–201; S. Holm (1979), Scandinavian Journal of "
    "Statistics 6(2), 65–70."
)
WORTHWHILE = 0.2  # of an error bar that endlessly many trials would take off
CLOSING = (
    "Error bars are over {unit}, which must be independent; the trials of an example are kept together. They hold for "
    "models chosen without looking at this test set; a model tuned on it is not covered."
)
LACKING = (
    "Similarity of every pair, similarity and Naive Bayes bounds, difficulty: they are for right and wrong. "
    "`--threshold 0.5` counts a score of 0.5 or more as right."
)


def summarise(result: ScoreBudgetResult) -> page.Summary:
    """What the result says."""
    return shared.summary_of(
        result,
        kind="Budget, from scores",
        measured="mean score",
        meaning=_meaning(result),
        facts=(*trials(result), *_facts(result)),
        sections=_sections(result),
        closing=CLOSING.format(unit=result.pool.unit),
        method=METHOD,
    )


def _meaning(result: ScoreBudgetResult) -> shared.Rows:
    return (*shared.error_bar(result), *shared.order(result.pool))


def trials(result: ScoreBudgetResult) -> shared.Rows:
    """How much of an error bar is chance inside examples, and what more trials would bring."""
    fewest, median, most = result.trials.tolist()
    count = f"{fewest:,} to {most:,}, median {median:,}" if most else "not known"
    rows = (("Trials per cell", count),)
    if not math.isfinite(result.median_trial_share):
        return (*rows, ("More trials would bring", page.NOT_DEFINED))
    between, within = (page.fixed(float(np.nanmedian(v))) for v in (result.pool.between, result.pool.within))

    def shrink(pairs: bool) -> str:
        twice, endlessly = (page.percent(1 - result.shrinks(more, pairs=pairs)) for more in (MORE_TRIALS, math.inf))
        return f"{twice} with twice as many, {endlessly} with endlessly many"

    return (
        *rows,
        ("Variance between examples", f"{between}, median over models"),
        ("Variance inside an example", f"{within} for one trial, median over models"),
        ("Chance inside examples", f"{page.percent(result.median_trial_share)} of the squared error bar"),
        ("Trials shorten error bars by", shrink(pairs=False)),
        *([("Trials narrow gaps by", shrink(pairs=True))] if math.isfinite(result.pair_trial_share) else []),
    )


def _facts(result: ScoreBudgetResult) -> shared.Rows:
    scores = result.pool.values
    return shared.went_in(
        result,
        ("Score, mean over models", f"{result.mean_score:.4f} ({scores.min():.4f} to {scores.max():.4f})"),
        ("Missing cells", page.of_text(result.pool.n_missing, scores.size * result.n_examples)),
    )


def _sections(result: ScoreBudgetResult) -> Iterator[page.Section]:
    yield page.Section.of("What this means", page.Facts(_meaning(result)))
    yield page.Section.of("What to do next", _next(result))
    yield page.Section.of(shared.TRIALS, page.Facts(trials(result)))
    yield shared.needed_section(result)
    yield from shared.leaderboard(result, result.pool)
    yield shared.who_is_first(result, result.pool)
    yield page.Section.of("What went in", page.Facts(_facts(result)))
    yield shared.notes_section(result)
    yield page.Section.of("Not computed", page.Points((LACKING,)))


def _next(result: ScoreBudgetResult) -> page.Points | None:
    known = math.isfinite(result.median_trial_share)
    pay = known and 1 - result.shrinks(math.inf) >= WORTHWHILE
    return shared.points(
        (True, "Publish the interval and the range of ranks with every score."),
        (pay, "More trials pay: see what they would bring."),
        (known and not pay, "Spend on examples before trials: four times as many examples halve the error bars."),
        (int(result.trials[2]) <= 1, "Run some examples twice, to see how much of a score is chance."),
        (result.pool.n_missing, "Missing cells are left out: that is fair only if they are missing by chance."),
    )
