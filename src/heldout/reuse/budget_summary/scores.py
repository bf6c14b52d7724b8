"""What a budget of scores says."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from heldout.reuse.budget_summary.board import TITLE, board, first_blocks, key
from heldout.reuse.budget_summary.words import (
    all_text,
    count_text,
    effect_text,
    few_warnings,
    first_text,
    groups_text,
    models_text,
    needed_facts,
    needed_lines,
    needed_text,
    points_text,
    too_few_text,
    winner_text,
)
from heldout.reuse.first import TOPS
from heldout.reuse.score_result import MORE_TRIALS, ScoreBudgetResult
from heldout.summary import Facts, Figure, Note, Points, Prose, Section, Summary
from heldout.summary.numbers import PERCENT, bar_text, percent, scientific, sure_text

METHOD = (
    "E. L. Korn, B. I. Graubard (1998), Survey Methodology 24(2), 193–201; S. Holm (1979), Scandinavian Journal of "
    "Statistics 6(2), 65–70."
)
WORTHWHILE = 0.2  # of an error bar that endlessly many trials would take off


def summarise(result: ScoreBudgetResult) -> Summary:
    """What the result says."""
    return Summary(
        kind="Budget, from scores",
        headline="Too few groups to say anything"
        if result.too_few
        else f"{all_text(result.n_models).capitalize()} mean scores are within {bar_text(result.error_bar)}",
        sentences=(_sentence(result),),
        subject=_subject(result),
        figures=() if result.too_few else tuple(_figures(result)),
        warnings=few_warnings(result.n_examples, result.example_groups),
        lines=tuple(_lines(result)),
        sections=tuple(_sections(result)),
        closing=(_rests_on(result),),
        origin=(
            ("heldout", result.version),
            ("Date", result.created),
            ("Source", result.source),
            ("Seed", f"{result.seed}"),
            ("Data digest", result.data_digest),
        ),
        method=METHOD,
    )


def summarise_needed(result: ScoreBudgetResult) -> Summary:
    """How many examples are needed, alone."""
    return Summary(
        kind="Budget, from scores: examples needed",
        headline=f"This test set has {result.n_examples:,} examples, {result.n_models:,} models with scores.",
        sentences=(_sentence(result),) if result.too_few else (),
        tone="neutral",
        subject=_subject(result),
        warnings=few_warnings(result.n_examples, result.example_groups),
        lines=(_bar_line(result), *_needed_lines(result)),
        closing=(_trials(result),),
    )


def _sentence(result: ScoreBudgetResult) -> str:
    if result.example_groups is not None and result.too_few:
        return too_few_text(result.example_groups, result.n_models, result.error_bar)
    fit, left = result.testable.union, result.further_models
    text = (
        f"These {result.n_examples:,} examples measure the mean scores of {models_text(result.n_models)} to within "
        f"±{result.error_bar:.3g}, all at once, with probability {sure_text(result.delta)}."
    )
    if fit == 0:
        return f"{text} They cannot measure even one to within ±{result.epsilon:g}."
    more = f"{count_text(left)} more fit" if left else "no more fit"
    return f"{text} To within ±{result.epsilon:g} they can measure {count_text(fit)} like these: {more}."


def _subject(result: ScoreBudgetResult) -> str:
    inside = "" if result.example_groups is None else f" in {groups_text(result.example_groups)}"
    return f"{result.source}: {result.n_models:,} models on {result.n_examples:,} examples{inside}"


def _rests_on(result: ScoreBudgetResult) -> str:
    return (
        f"Error bars are over {result.unit}, which must be independent; the trials of an example are kept together. "
        "They hold for models chosen without looking at this test set; a model tuned on it is not covered. What is for "
        "right and wrong only (similarity, attacks) needs --threshold 0.5."
    )


def _figures(result: ScoreBudgetResult) -> Iterator[Figure]:
    need, bar = result.needed, bar_text(result.epsilon)
    yield Figure(
        name=f"Models like these at {bar}",
        value=count_text(result.testable.union),
        note=f"{count_text(result.further_models)} more than there are",
    )
    yield Figure(
        name=f"Examples for {bar} on all",
        value=needed_text(need.examples_for_epsilon),
        note=f"there are {result.n_examples:,}",
        strong=False,
    )
    if math.isfinite(need.gap_now):
        yield Figure(
            name="Gap between two models that can be told",
            value=points_text(need.gap_now),
            note=f"{100 * need.power:g}{PERCENT} power, named beforehand",
            strong=False,
        )


def _lines(result: ScoreBudgetResult) -> Iterator[tuple[str, str]]:
    """The numbers that are printed."""
    yield "score (mean)", f"{result.mean_score:.4f}"
    yield _bar_line(result)
    if not result.too_few:
        yield "models like these", f"{count_text(result.testable.union)} fit at ±{result.epsilon:g}"
        yield from _needed_lines(result)
    if (groups := result.example_groups) is not None:
        yield "groups of examples", groups_text(groups)
    if result.n_missing:
        yield "missing cells", f"{result.n_missing:,}, left out (they must be missing by chance)"


def _bar_line(result: ScoreBudgetResult) -> tuple[str, str]:
    name = f"{all_text(result.n_models)} within, at {sure_text(result.delta)}"
    return name, f"±{result.error_bar:.5f} (union bound over {result.unit})"


def _needed_lines(result: ScoreBudgetResult) -> tuple[tuple[str, str], ...]:
    who = f"{models_text(result.needed.n_models)} like these at once"
    return () if result.too_few else needed_lines(result.needed, result.delta, who=who)


def _trials(result: ScoreBudgetResult) -> str:
    """What more trials would bring."""
    fewest, _, most = result.trials.tolist()
    if most <= 1:
        return "How many trials are behind a score is not known, so what more of them would bring cannot be told."
    count = f"{fewest:,} trials" if fewest == most else f"{fewest:,} to {most:,} trials"
    if not math.isfinite(result.median_trial_share):
        return f"{count} per cell, not known one by one, so what more of them would bring cannot be told."
    between, within = (float(np.nanmedian(v)) for v in (result.between, result.within))
    twice, all_of_them = (100 * (1 - result.shrinks(m)) for m in (MORE_TRIALS, math.inf))
    text = (
        f"{count} per cell: variance {within:.4f} inside an example (one trial), {between:.4f} between examples "
        f"(medians over models). Twice as many trials would shorten the error bars by {twice:.1f}{PERCENT}, endlessly "
        f"many by {all_of_them:.1f}{PERCENT}"
    )
    if math.isfinite(result.pair_trial_share):
        gap, least = (100 * (1 - result.shrinks(m, pairs=True)) for m in (MORE_TRIALS, math.inf))
        text += f", and the gap that can be told between two models by {gap:.1f}{PERCENT} and {least:.1f}{PERCENT}"
    return f"{text}; four times as many examples would halve them."


def _pairs(result: ScoreBudgetResult) -> str:
    """How many differences are significant."""
    survive = sum(c.survives for c in result.neighbours)
    return (
        f"{survive:,} of the {len(result.neighbours):,} steps down the leaderboard "
        f"{'is' if survive == 1 else 'are'} significant, of all {result.n_pairs:,} pairs {result.n_significant:,} "
        f"(paired over {result.unit}, family-wise {sure_text(result.delta)} by Holm’s procedure)."
    )


def _sections(result: ScoreBudgetResult) -> Iterator[Section]:
    who = first_text(len(result.first), result.n_models, result.first[0], result.winner.name)
    worth = winner_text(result.winner, result.unit, "has a mean score of {:.4f}")
    told = Points((f"{who}. {worth}.", _pairs(result), _trials(result)))
    yield Section(title="What this means", blocks=(told,), printed=True)
    yield Section(title="What it does not mean", blocks=(Points((_rests_on(result),)),))
    yield Section(title="What to do next", blocks=(Points(tuple(_next(result))),))
    if not result.too_few:
        rows = needed_facts(result.needed, result.n_examples, result.delta)
        yield Section(title="How many examples are needed", blocks=(Facts(rows),))
    yield from _leaderboard(result)
    sets = [(top, [result.names[i] for i in result.top[top]]) for top in TOPS if top < result.n_models]
    yield Section(title="Who may be first", blocks=first_blocks(sets, result.delta, result.unit), printed=True)
    yield Section(title="What went in", blocks=(Facts(tuple(_facts(result))),))
    if result.notes:
        yield Section(title="Notes", blocks=(Points(result.notes),), level=3, printed=True)
    lacking = (
        "Similarity of every pair, similarity and Naive Bayes bounds, difficulty: they are for answers that are right "
        "or wrong. `--threshold 0.5` counts a score of 0.5 or more as right."
    )
    yield Section(title="Not computed", blocks=(Points((lacking,)),))


def _next(result: ScoreBudgetResult) -> Iterator[str]:
    yield "Publish the interval and the range of ranks with every score."
    if math.isfinite(result.median_trial_share):
        most = 1 - result.shrinks(math.inf)
        yield (
            f"Spend on examples before trials: error bars cannot shrink by more than {100 * most:.1f}{PERCENT} however "
            "often these are repeated."
            if most < WORTHWHILE
            else f"More trials pay: they can shorten error bars by up to {100 * most:.1f}{PERCENT}."
        )
    elif int(result.trials[2]) <= 1:
        yield "Run some examples twice, to see how much of a score is chance."


def _leaderboard(result: ScoreBudgetResult) -> Iterator[Section]:
    ranges = board(
        result.names,
        result.scores,
        result.low,
        result.high,
        columns=("Rank", "Model", "Score", "Interval", "Next (p)"),
        order=result.order,
        ranks=result.ranks,
        bands=result.bands,
        neighbours=result.neighbours,
        digits=4,
    )
    sure = sure_text(result.delta)
    told = Prose(f"With probability {sure} every interval below covers its model’s true mean score, all together.")
    yield Section(title=TITLE, blocks=(told, ranges), printed=True, anchor="leaderboard")
    points = key(
        result.delta,
        compared="Both are compared example by example",
        adjusted="is adjusted for all pairs by Holm’s procedure and ",
        turned=any(c.contradicted for c in result.neighbours),
    )
    note = (
        "Intervals are Clopper–Pearson’s at as many examples as the variance of the scores is worth, with Student’s "
        f"law, at level {scientific(result.level)} each. Overlapping intervals do not mean a tie: the paired "
        "comparison is far sharper."
    )
    yield Section(title="How to read the leaderboard", blocks=(Points(tuple(points)), Note(note)), level=3)


def _facts(result: ScoreBudgetResult) -> Iterator[tuple[str, str]]:
    low, mid, high = result.trials.tolist()
    yield "Test set", f"n = {result.n_examples:,} examples"
    yield "Models", f"k = {result.n_models:,}, from {result.source}"
    yield "Mean score", f"{result.mean_score:.4f} ({result.scores.min():.4f} to {result.scores.max():.4f})"
    trials = f"{low:,} each" if low == high else f"{low:,} to {high:,}, median {mid:,}"
    yield "Trials per cell", trials if high else "not known"
    if math.isfinite(result.median_trial_share):
        between, within = (float(np.nanmedian(v)) for v in (result.between, result.within))
        yield "Variance between examples", f"{between:.4f}, median over models"
        yield "Variance inside an example", f"{within:.4f} for one trial, the same"
        yield "Share of chance inside", f"{percent(result.median_trial_share)} of the squared error bar"
    yield "Missing cells", f"{result.n_missing:,}"
    if (groups := result.example_groups) is not None:
        yield "Groups", groups_text(groups) + (f", by {groups.named}" if groups.named else "")
        yield "Design effect", effect_text(groups)
    yield (
        "Asked for",
        f"{bar_text(result.epsilon)} (epsilon = {result.epsilon:g}) for all models at once, with probability "
        f"{sure_text(result.delta)} (delta = {result.delta:g})",
    )
