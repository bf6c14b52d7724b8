"""What a budget says, of right and wrong or of scores: headline, key figures, and what stands where on the page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from heldout import summary as page
from heldout.reuse.budget_summary import board, evidence
from heldout.reuse.doubted import doubted
from heldout.reuse.result import Budget, BudgetResult, PoolResult, ScoreBudgetResult
from heldout.reuse.unit import Unit

FEW_EXAMPLES = 10
MEANS, NEEDED, TRIALS = "What this means", "How many examples are needed", "What more trials would bring"
METHOD = (
    "Bounds by similarity: H. Mania, J. Miller, L. Schmidt, M. Hardt, B. Recht (2019), “Model similarity mitigates "
    "test set overuse”, NeurIPS 2019, <https://arxiv.org/abs/1905.12580>; their spanning tree: D. Hunter (1976), K. J. "
    "Worsley (1982). Scores and groups: E. L. Korn, B. I. Graubard (1998), Survey Methodology 24(2), 193–201. Pairs: "
    "S. Holm (1979), Scandinavian Journal of Statistics 6(2), 65–70."
)
MOST_TASKS, LONGEST = 20, 48  # tasks that are named, and characters of a name
ROUND = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
WORTHWHILE = 0.2  # of an error bar that endlessly many trials would take off
NOT_TUNED = (
    "models chosen without looking at this test set. Tuning, early stopping, or picking what to try next by its scores "
    "is adaptive use, which no number here covers."
)
PLUG_IN = (
    "Errors and similarities are plugged in as if they were the true ones, and further models are taken to be like "
    f"these. The bounds hold for independent examples, and for {NOT_TUNED}"
)
GROUPED = (
    "Whole groups are the unit: error bars and intervals rest on Student’s law for many independent groups, drawn with "
    "their sizes, comparisons on no group that might have been drawn being larger than the largest here (of two models "
    "`heldout compare --largest-group` takes a larger one). Design effects are estimated from these groups, and "
    f"further groups and models are taken to be like these. It holds for {NOT_TUNED}"
)
SCORES = (
    "Error bars are over {}, which must be independent; the trials of an example are kept together. They hold for "
    f"{NOT_TUNED}"
)
WITHOUT_PREDICTIONS = (
    "What needs predictions (`heldout budget predictions.npz`): the leaderboard with intervals and ranks, who may be "
    "first, similarity of every pair, covering curve and Theorem 2, difficulty, and whether Assumption A1 fits."
)
WITHOUT_RIGHT_AND_WRONG = (
    "What is for right and wrong (`--threshold 0.5` counts a score of 0.5 or more as right): similarity of every pair, "
    "similarity and Naive Bayes bounds, difficulty."
)


def summarise(result: Budget) -> page.Summary:
    """What the result says."""
    unit = Unit.of_budget(result)
    bar, room, fit, k = unit.bar(result.epsilon), result.further_models, result.testable.count, result.n_models
    more, there = ("", "") if k is None else ("more ", f"; there are {k:,}")
    scored, groups = isinstance(result, ScoreBudgetResult), result.example_groups
    headline = f"Room for {page.count_words(room)} {more}{'model' if room == 1 else 'models'} at {bar}"
    sentence = (
        f"These {result.n_examples:,} examples can measure {page.exact_text(fit)} {'model' if fit == 1 else 'models'} "
        f"of this kind, each with a {'mean score' if scored else 'measured error'} within {bar} of the true one, all "
        f"at once with probability {page.sure_text(result.delta)}{there}."
    )
    if result.too_few:
        headline = f"Too few {'examples' if groups is None else 'groups'} to say anything"
        sentence = (
            f"The error bar for the {k} models is {unit.bar(result.error_bar)}, and neither how many models fit nor "
            "how many examples are needed can be told."
        )
    few = (
        f"There {'is' if result.n_examples == 1 else 'are'} only {page.counted(result.n_examples, 'example')}: below "
        f"{FEW_EXAMPLES}, little can be told. Are these averages? Give one row or column for each example."
    )
    then = "the law for many groups is rough, and intervals are very wide"
    few_groups = page.few_groups(None if groups is None else groups.n_groups, then=then)
    lines = (*_meaning(result), *_needed(result), *_beside(result), *_went_in(result))
    return page.Summary(
        kind="Budget, from scores" if scored else "Budget",
        headline=headline,
        sentences=(sentence,),
        tone="quiet" if room else "found",
        subject=_subject(result),
        figures=() if result.too_few else _figures(result),
        warnings=(*([few] if result.n_examples < FEW_EXAMPLES else []), *few_groups, *doubted(result.doubts)),
        lines=tuple(dict.fromkeys(lines)),
        sections=tuple(section for section in _sections(result) if section.blocks),
        closing=(_rests_on(result),),
        origin=page.origin(result),
        method=METHOD,
    )


def summarise_needed(result: Budget) -> page.Summary:
    """How many examples are needed, alone."""
    whole = result.summary()
    kept = (replace(section, printed=True) for section in whole.sections if section.title in (NEEDED, TRIALS))
    return replace(
        whole,
        headline=whole.subject,
        sentences=whole.sentences if result.too_few else (),
        tone="neutral",
        figures=(),
        lines=_error_bar(result),
        sections=tuple(kept),
    )


def _subject(result: Budget) -> str:
    n, groups = f"{result.n_examples:,} examples", result.example_groups
    if isinstance(result, BudgetResult) and result.pool is None:
        error = f"{100 * result.mean_error:g}{page.PERCENT}"
        return f"From numbers: {n}, error {error} and similarity {result.mean_similarity:g}"
    inside = "" if groups is None else f" in {groups.n_groups:,} groups"
    return f"{result.source}: {result.n_models:,} models on {n}{inside}"


def _figures(result: Budget) -> tuple[page.Figure, ...]:
    """The answer, and what stands around it."""
    unit, need, k = Unit.of_budget(result), result.needed, result.n_models
    bar = unit.bar(result.epsilon)
    left, fit = page.count_words(result.further_models), page.count_words(result.testable.count)
    all_of_them = "" if k is None else unit.bar(result.error_bar, full=True)
    power = f"{100 * need.power:g}{page.PERCENT} power, named beforehand"
    return page.figures(
        (f"More models at {bar}" if k else f"Models at {bar}", left, f"{fit} in all"),
        (f"Error bar for the {k} models at once", all_of_them, f"with probability {page.sure_text(result.delta)}"),
        (f"Examples for {bar}", _examples(need.examples_for_epsilon), f"there are {result.n_examples:,}"),
        ("Gap between two models that can be told", unit.gap(need.gap_now), power),
    )


def _sections(result: Budget) -> Iterator[page.Section]:
    """In reading order; those without anything to say are left out."""
    pool = result.pool
    for title, points in _advice(result).items():
        yield page.Section.of(title, page.Facts(_meaning(result) if title == MEANS else ()), points)
    if isinstance(result, BudgetResult):
        yield from () if result.too_few else evidence.bounds(result)
    else:
        yield page.Section.of(TRIALS, page.Facts(_beside(result)))
    yield _needed_section(result)
    if pool is not None:
        yield from board.sections(result, pool)
    if isinstance(result, BudgetResult) and isinstance(pool, PoolResult):
        yield from board.wrong_labels(pool)
        yield from evidence.similarity(result, pool)
    if isinstance(result, BudgetResult):
        yield evidence.depends(result)
    if isinstance(pool, PoolResult):
        yield evidence.structure(pool)
    yield page.Section.of("What went in", page.Facts(_went_in(result)))
    yield page.Section.of("Notes", page.Points(result.notes), level=3, printed=True)
    yield page.Section.of("Not computed", _not_computed(result))


def _meaning(result: Budget) -> page.Rows:
    """The error bar, and how much of the order is significant."""
    one = result.narrowest if isinstance(result, BudgetResult) and not result.testable.count else None
    return page.kept_facts(
        *_error_bar(result),
        *(() if result.pool is None else board.order(result.pool)),
        ("Narrowest error bar of one model", None if one is None else Unit.of_budget(result).bar(one)),
    )


def _error_bar(result: Budget) -> page.Rows:
    """The error bar that holds for all."""
    if result.pool is None:
        return ()
    unit, bar, union = Unit.of_budget(result), result.error_bar, result.pool.epsilon["union"]
    narrower = bar < union or result.testable.similarity is not None
    less = f"{page.share_text(1 - bar / union)} less than" if narrower else "as"
    own, other = (unit.bar(width, full=True) for width in (bar, union))
    told = f"{own} with probability {page.sure_text(result.delta)}, {less} by the union bound ({other})"
    return ((f"Error bar for the {result.n_models:,} models", told),)


def _needed(result: Budget) -> page.Rows:
    """Examples for the error bar and for a gap, and the gap that can be told now."""
    unit, need, n = Unit.of_budget(result), result.needed, result.n_examples
    if result.too_few:
        return ()

    def compared(count: int | None) -> str:
        return _examples(count) + ("" if count is None else f", {page.times_text(count / n)} those there are")

    power = f"{100 * need.power:g}{page.PERCENT} power"
    both = " on the examples that both have" if result.pool is not None and result.pool.n_missing else ""
    part = f", parting on {page.percent(need.disagreement)} of examples" if isinstance(result, BudgetResult) else ""
    who = "one such model" if need.n_models == 1 else f"{need.n_models:,} models like these at once"
    first = f"{compared(need.examples_for_first)} ({unit.gap(need.first_gap or 0)} apart{both})"
    return page.kept_facts(
        (f"Examples for {unit.bar(need.epsilon)}", f"{compared(need.examples_for_epsilon)} ({who})"),
        ("Gap that can be told now", f"{unit.gap(need.gap_now)} (two models named beforehand, {power}{part})"),
        (f"Examples for a gap of {unit.gap(need.gap)}", compared(need.examples_for_gap)),
        ("Examples, first from second", None if need.first_gap is None else first),
    )


def _needed_section(result: Budget) -> page.Section:
    """The same on a page."""
    note = (
        f"A gap is told where the paired test of two models has p at most {result.delta:g}; the numbers are for a "
        f"chance of {100 * result.needed.power:g}{page.PERCENT} that it does, for models and groups like these. All "
        "pairs at once take more."
    )
    return page.Section.of(NEEDED, page.Facts(_needed(result)), None if result.too_few else page.Note(note))


def _examples(count: int | None) -> str:
    return "over 10¹²" if count is None else f"{count:,}"


def _beside(result: Budget) -> page.Rows:
    """What is known beside errors and beside scores: how alike the models are, and what trials would bring."""
    if isinstance(result, ScoreBudgetResult):
        return trials(result)
    return evidence.alike(result) if isinstance(result, BudgetResult) else ()


def _went_in(result: Budget) -> page.Rows:
    """Models, examples, groups, and what was asked for."""
    pool, groups, unit = result.pool, result.example_groups, Unit.of_budget(result)
    rows: list[tuple[str, str | None]] = []
    if isinstance(result, BudgetResult) and pool is None:
        rows += [("Error, as stated", unit.score(result.mean_error)), *_beside(result)]
    if pool is not None:
        what, cells = ("Error", "predictions") if isinstance(pool, PoolResult) else ("Score", "cells")
        ends = unit.scores(pool.values.min(), pool.values.max())
        rows.append((f"{what}, mean over models", f"{unit.score(pool.values.mean())} ({ends})"))
        missing = page.of_text(pool.n_missing, pool.values.size * result.n_examples)
        left_out = ", left out (they must be missing by chance)" if pool.n_missing else ""
        rows.append((f"Missing {cells}", f"{missing}{left_out}"))
    if groups is not None:
        unequal = f"{groups.smallest:,} to " if groups.smallest < groups.largest else ""
        sizes = f"{groups.n_groups:,} of {unequal}{page.counted(groups.largest, 'example')}"
        effects = (page.fixed(effect, 2) for effect in (groups.median_effect, groups.largest_effect))
        known = math.isfinite(groups.median_effect) and not result.too_few
        worth = page.fixed(result.n_examples / max(1.0, groups.median_effect), 0) if known else None
        repeated = f"{groups.n_repeated:,} ({', '.join(groups.repeated_in)}), put into one group"
        rows += [
            ("Groups", sizes + (f" ({page.quoted(groups.named)})" if groups.named else "")),
            ("Design effect", "{}, median over models; largest {}".format(*effects)),
            ("Worth in independent examples", worth),
            ("Examples that share their input", repeated if groups.n_repeated else None),
        ]
    if result.groups_of_one is not None:
        rows.append(("Groups", f"{page.groups_of_one(result.n_examples)} ({page.quoted(result.groups_of_one)})"))
    asked = f"{unit.bar(result.epsilon)} for all models at once, with probability {page.sure_text(result.delta)}"
    return page.kept_facts(*rows, ("Scored by", result.scored_by), ("Asked for", asked))


def trials(result: ScoreBudgetResult) -> page.Rows:
    """How much of an error bar is chance inside examples, and what more trials would bring."""
    t = result.trials
    count = f"{t.fewest:,} to {t.most:,}, median {t.median:,}" if t.most else "not known"
    if not math.isfinite(t.share_of_error_bar):
        return ("Trials per cell", count), ("More trials would bring", page.NOT_DEFINED)
    both = (t.with_twice_as_many, t.with_endlessly_many), (t.gap_with_twice_as_many, t.gap_with_endlessly_many)
    by = "{} with twice as many, {} with endlessly many"
    bars, gaps = (by.format(*(page.percent(1 - factor) for factor in factors)) for factors in both)
    return page.kept_facts(
        ("Trials per cell", count),
        ("Variance between examples", f"{page.fixed(t.between)}, median over models"),
        ("Variance inside an example", f"{page.fixed(t.within)} for one trial, median over models"),
        ("Chance inside examples", f"{page.percent(t.share_of_error_bar)} of the squared error bar"),
        ("Trials shorten error bars by", bars),
        ("Trials narrow gaps by", gaps if math.isfinite(t.share_of_gap) else None),
    )


def _rests_on(result: Budget) -> str:
    """What all of it rests on."""
    if isinstance(result, ScoreBudgetResult):
        return SCORES.format(result.pool.unit)
    return PLUG_IN if result.example_groups is None else GROUPED


def _advice(result: Budget) -> dict[str, page.Points]:
    """What the numbers say, what must not be read into them, and what to do with them."""
    pool, groups, unit = result.pool, result.example_groups, Unit.of_budget(result)
    bar = unit.bar(result.epsilon)
    flat = None if pool is None or np.ptp(pool.values) else pool.values[0]
    room, named = result.further_models, " --groups SPEC" if groups is not None and groups.named is not None else ""
    least = max((k for k in ROUND if k <= room), default=0)  # an alarm is of use while there is room
    command = f"heldout budget FILE --epsilon {result.epsilon:g} --delta {result.delta:g} --fail-under {least}{named}"
    gain = 1 - result.trials.with_endlessly_many if isinstance(result, ScoreBudgetResult) else None
    return {
        MEANS: page.Points.of(
            (pool is not None, "One model alone would have a narrower error bar: its width is the price of many."),
            (flat in (0.0, 1.0), f"Every model has the mean {flat or 0:g}: too easy or too hard a set to say more."),
            (isinstance(result, BudgetResult) and groups is None,
             "Similar models cost less: a sample that is too easy for one of them tends to be too easy for the others. "
             "The union bound takes every model for a stranger; the similarity bound does not."),
        ),
        "What it does not mean": page.Points.of(
            (True, f"An error bar of {bar} on every model is not a ranking: two models less than "
                   f"{unit.gap(2 * result.epsilon)} apart may still be in the wrong order. Ranks need the paired "
                   "comparison."),
            (result.testable.naive_bayes,
             "The Naive Bayes number rests on Assumption A1: on examples that are not easy for all, models err "
             "independently. No data can promise that; where they contradict it, the table of every bound says so."),
            (isinstance(pool, PoolResult) and pool.alike.below_chance,
             "Pairs less alike than chance leave no common cause of errors to build on; the exact law is used."),
            (pool is not None and pool.n_missing,
             "What is missing is left out, which is fair only if it is missing for reasons that have nothing to do "
             "with the prediction. It can move places, so places and ranks need not agree."),
        ),
        "What to do next": page.Points.of(
            (result.too_few, f"Collect {'more examples' if groups is None else 'examples from more groups'}: those "
                             "there are say nothing."),
            (not (room or result.too_few), "Ask for a wider error bar, or collect more examples (how many: below)."),
            (pool is not None, "Publish intervals and ranks with scores, and no winner where several may be first."),
            (True, "Count every model that was ever scored on this set, published or not: all use up the same budget."),
            (gain is not None and gain >= WORTHWHILE, "More trials pay: see what they would bring."),
            (gain is not None and gain < WORTHWHILE, "Spend on examples: four times as many halve error bars."),
            (gain is not None and math.isnan(gain), "Run some examples twice, to see how much of a score is chance."),
            (room and pool is not None, f"In CI, `{command}` fails once fewer further models fit."),
        ),
    }  # fmt: skip


def _not_computed(result: Budget) -> page.Points:
    """What the page lacks, and why; silence must not read as "nothing to see"."""
    if not isinstance(result, BudgetResult) or (pool := result.pool) is None:
        return page.Points((WITHOUT_PREDICTIONS if result.pool is None else WITHOUT_RIGHT_AND_WRONG,))
    complete, sizes = pool.similarity.n_complete, pool.cover.size
    why = result.testable.reason or "there is no common cause of errors"
    return page.Points.of(
        (result.too_few, f"Every bound: {why}"),
        (not complete, "Difficulty of the examples: none has a prediction of every model"),
        (complete and pool.difficulty_forecast is None, f"Forecast of Assumption A1: {why}"),
        (
            result.equal is None,
            "What would fit were all models equal: grouped or too few examples, or no model has both means",
        ),
        (sizes[0] == sizes[-1], "Covering curve: it takes all models at every similarity"),
        (pool.ranks is None, "Rank ranges: the pool is too large to compare every pair"),
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
